"""One course for both worlds."""

from __future__ import annotations

import asyncio

import pytest

from langchain_safe_retrievers.resilience.waiting import Wait, arun, run


def _wait(value=None, error: BaseException | None = None) -> Wait:
    def now():
        if error is not None:
            raise error
        return value

    async def later():
        await asyncio.sleep(0)
        return now()

    return Wait(now, later)


async def _follow(course, world: str):
    return run(course) if world == "sync" else await arun(course)


@pytest.mark.parametrize("world", ["sync", "async"])
async def test_a_course_is_sent_what_it_waited_for_and_returns_its_own_value(world: str):
    def course():
        first = yield _wait(1)
        second = yield _wait(2)
        return [first, second]

    assert await _follow(course(), world) == [1, 2]


@pytest.mark.parametrize("world", ["sync", "async"])
@pytest.mark.parametrize("error", [ValueError("x"), KeyboardInterrupt(), asyncio.CancelledError()])
async def test_what_a_wait_raises_is_raised_at_its_yield(world: str, error: BaseException):
    def course():
        try:
            yield _wait(error=error)
        except BaseException as seen:  # noqa: BLE001 - any is handed in
            return seen

    assert await _follow(course(), world) is error


@pytest.mark.parametrize("world", ["sync", "async"])
async def test_what_a_course_does_not_catch_is_raised_to_who_follows_it(world: str):
    closed = []

    def course():
        try:
            yield _wait(error=ValueError("down"))
        finally:
            closed.append(True)

    with pytest.raises(ValueError, match="down"):
        await _follow(course(), world)
    assert closed == [True]


@pytest.mark.parametrize("world", ["sync", "async"])
async def test_a_course_that_waits_for_nothing_returns_at_once(world: str):
    def course():
        return 42
        yield

    assert await _follow(course(), world) == 42
