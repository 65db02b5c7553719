"""Jobs side by side in asyncio tasks."""

from __future__ import annotations

import asyncio
import contextvars
import gc
from typing import TYPE_CHECKING, Any

import pytest

from langchain_safe_retrievers.legs.outcome import Limits
from langchain_safe_retrievers.legs.tasks import run_in_tasks

if TYPE_CHECKING:
    from collections.abc import Callable

_place = contextvars.ContextVar("place", default="nowhere")


def _fail(error: BaseException) -> Callable[[], Any]:
    async def job() -> Any:
        raise error

    return job


def _value(value: Any) -> Callable[[], Any]:
    async def job() -> Any:
        return value

    return job


def _hang(ends: list[str]) -> Callable[[], Any]:
    async def job() -> Any:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ends.append("cancelled")
            raise

    return job


def _others() -> set[asyncio.Task[Any]]:
    return asyncio.all_tasks() - {asyncio.current_task()}  # type: ignore[operator,return-value]


async def test_no_jobs_give_no_outcomes():
    assert await run_in_tasks([], Limits()) == []


async def test_outcomes_are_in_the_jobs_order_whoever_ends_first():
    second_is_done = asyncio.Event()

    async def first() -> str:
        await second_is_done.wait()
        return "first"

    async def second() -> str:
        second_is_done.set()
        return "second"

    outcomes = await run_in_tasks([first, second], Limits())

    assert [outcome.value for outcome in outcomes] == ["first", "second"]


async def test_workers_limit_how_many_run_at_once():
    running: list[int] = []
    peak: list[int] = []

    async def job() -> None:
        running.append(1)
        peak.append(len(running))
        await asyncio.sleep(0.001)
        running.pop()

    await run_in_tasks([job] * 7, Limits(workers=2))

    assert max(peak) == 2
    assert len(peak) == 7


async def test_each_job_has_its_own_copy_of_the_callers_context():
    _place.set("outside")
    seen = []

    async def job() -> None:
        seen.append(_place.get())
        _place.set("inside")

    await run_in_tasks([job] * 3, Limits())

    assert seen == ["outside"] * 3
    assert _place.get() == "outside"


async def test_after_a_failure_those_that_run_are_cancelled_and_those_that_wait_never_start():
    error = ValueError("broken")
    ends: list[str] = []
    started: list[int] = []

    async def never() -> None:
        started.append(1)

    jobs = [_hang(ends), _fail(error), never]
    outcomes = await run_in_tasks(jobs, Limits(workers=2))

    assert [outcome.status for outcome in outcomes] == ["cancelled", "failed", "cancelled"]
    assert outcomes[1].error is error
    assert (ends, started, _others()) == (["cancelled"], [], set())


async def test_with_stop_on_error_off_all_jobs_run():
    jobs = [_fail(ValueError()), _value("ok")]

    outcomes = await run_in_tasks(jobs, Limits(stop_on_error=False))

    assert [outcome.status for outcome in outcomes] == ["failed", "ok"]


async def test_a_job_that_is_late_is_cancelled_and_the_others_end():
    ends: list[str] = []
    limits = Limits(timeout=0.03, stop_on_error=False)

    outcomes = await run_in_tasks([_hang(ends), _value("quick")], limits)

    assert [outcome.status for outcome in outcomes] == ["timed out", "ok"]
    assert (ends, _others()) == (["cancelled"], set())


async def test_a_late_job_makes_room_for_the_next():
    ends: list[str] = []
    limits = Limits(workers=1, timeout=0.03, stop_on_error=False)

    outcomes = await run_in_tasks([_hang(ends), _value("quick")], limits)

    assert [outcome.status for outcome in outcomes] == ["timed out", "ok"]


async def test_a_job_that_will_not_be_cancelled_does_not_hold_up_the_answer():
    gate = asyncio.Event()

    async def stubborn() -> None:
        while not gate.is_set():
            try:
                await gate.wait()
            except asyncio.CancelledError:
                continue

    outcomes = await run_in_tasks([stubborn], Limits(timeout=0.01, stop_on_error=False))

    assert [outcome.status for outcome in outcomes] == ["timed out"]
    gate.set()
    await asyncio.gather(*_others())


async def test_a_late_job_whose_cleaning_up_fails_is_not_logged_as_a_lost_error():
    lost: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: lost.append(context))

    async def job() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError as error:
            msg = "cleaning up failed"
            raise ValueError(msg) from error

    await run_in_tasks([job], Limits(timeout=0.01, stop_on_error=False))
    gc.collect()
    await asyncio.sleep(0)

    assert lost == []


async def test_a_cancel_from_outside_cancels_every_job_and_leaves_no_task():
    ends: list[str] = []
    call = asyncio.create_task(run_in_tasks([_hang(ends)] * 3, Limits()))
    await asyncio.sleep(0.01)

    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call

    assert ends == ["cancelled"] * 3
    assert _others() == set()


@pytest.mark.parametrize("stop_on_error", [True, False])
async def test_a_job_that_cancels_itself_cancels_the_call(stop_on_error: bool):
    ends: list[str] = []
    jobs = [_fail(asyncio.CancelledError()), _hang(ends)]

    with pytest.raises(asyncio.CancelledError):
        await run_in_tasks(jobs, Limits(stop_on_error=stop_on_error))

    assert (ends, _others()) == (["cancelled"], set())


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_keyboard_interrupt_and_system_exit_pass_through_and_cancel_the_others(
    error: type[BaseException],
):
    ends: list[str] = []

    with pytest.raises(error):
        asyncio.run(run_in_tasks([_hang(ends), _fail(error())], Limits(stop_on_error=False)))

    assert ends == ["cancelled"]
