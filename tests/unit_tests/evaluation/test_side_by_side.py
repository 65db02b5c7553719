"""Many things are done so many at a time, and come back in order."""

from __future__ import annotations

import asyncio
import threading
from contextvars import ContextVar

import pytest

from langchain_safe_retrievers.errors import ConfigurationError
from langchain_safe_retrievers.evaluation.side_by_side import aside_by_side, side_by_side

MARK: ContextVar[str] = ContextVar("mark", default="none")


@pytest.mark.parametrize("ways", [1, 4])
def test_each_is_done_in_a_copy_of_the_context(ways):
    def do(item: int) -> str:
        before = MARK.get()
        MARK.set(str(item))
        return before

    token = MARK.set("outside")
    try:
        assert side_by_side(do, range(8), ways) == ["outside"] * 8
        assert MARK.get() == "outside"
    finally:
        MARK.reset(token)


def test_with_one_everything_is_done_in_this_thread():
    assert side_by_side(lambda _: threading.get_ident(), "ab", 1) == [threading.get_ident()] * 2


def test_an_error_ends_it_and_what_has_not_begun_is_not_begun():
    begun, gate = [], threading.Event()

    def do(item: int) -> None:
        begun.append(item)
        if item:
            gate.wait(timeout=5)
            return
        gate.set()
        msg = "the first"
        raise OSError(msg)

    with pytest.raises(OSError, match="the first"):
        side_by_side(do, range(10_000), 2)
    assert len(begun) < 10_000


async def test_async_an_error_cancels_the_others():
    cancelled = []

    async def do(item: int) -> None:
        if not item:
            await asyncio.sleep(0)
            msg = "the first"
            raise OSError(msg)
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(item)
            raise

    with pytest.raises(OSError, match="the first"):
        await aside_by_side(do, range(3), 3)
    assert sorted(cancelled) == [1, 2]


@pytest.mark.parametrize("number", [0, -1, True, 1.0, None])
async def test_a_number_that_is_none_is_refused(number):
    with pytest.raises(ConfigurationError, match="max_concurrency is"):
        side_by_side(str, "a", number)
    with pytest.raises(ConfigurationError, match="max_concurrency is"):
        await aside_by_side(asyncio.sleep, [0], number)
