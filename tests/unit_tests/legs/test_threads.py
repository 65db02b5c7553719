"""Jobs side by side in threads."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from typing import TYPE_CHECKING, Any

import pytest

from langchain_safe_retrievers.legs import threads
from langchain_safe_retrievers.legs.outcome import Limits
from langchain_safe_retrievers.legs.threads import abandoned_threads, run_in_threads
from tests.unit_tests.ways import PATIENCE, eventually

if TYPE_CHECKING:
    from collections.abc import Callable

_place = contextvars.ContextVar("place", default="nowhere")
_SKIP = Limits(stop_on_error=False)


def _run(jobs: list[Callable[[], Any]], limits: Limits = Limits(), owner: Any = "owner") -> Any:  # noqa: B008
    return run_in_threads(jobs, limits, [owner] * len(jobs))


def _fail(error: BaseException) -> Callable[[], Any]:
    def job() -> Any:
        raise error

    return job


def test_no_jobs_give_no_outcomes():
    assert _run([]) == []


def test_outcomes_are_in_the_jobs_order_whoever_ends_first():
    second_is_done = threading.Event()

    def first() -> str:
        assert second_is_done.wait(PATIENCE)
        return "first"

    def second() -> str:
        second_is_done.set()
        return "second"

    assert [outcome.value for outcome in _run([first, second])] == ["first", "second"]


def test_jobs_that_wait_for_each_other_all_end():
    barrier = threading.Barrier(5)

    outcomes = _run([lambda: barrier.wait(PATIENCE)] * 5)

    assert sorted(outcome.value for outcome in outcomes) == [0, 1, 2, 3, 4]


def test_one_worker_runs_one_job_after_the_other_in_the_calling_thread():
    ran: list[tuple[int, int]] = []
    jobs = [lambda i=i: ran.append((i, threading.get_ident())) for i in range(4)]

    _run(jobs, Limits(workers=1))

    assert ran == [(i, threading.get_ident()) for i in range(4)]


def test_each_job_has_its_own_copy_of_the_callers_context():
    _place.set("outside")
    seen = []

    def job() -> None:
        seen.append(_place.get())
        _place.set("inside")

    _run([job] * 3, Limits(workers=1))
    _run([job] * 3)

    assert seen == ["outside"] * 6
    assert _place.get() == "outside"


def test_calls_nested_many_levels_deep_end_even_with_one_worker_each():
    def nested(levels: int) -> int:
        if not levels:
            return 1
        outcomes = _run([lambda: nested(levels - 1)] * 2, Limits(workers=1))
        return sum(outcome.value for outcome in outcomes)

    assert nested(6) == 64


def test_it_works_inside_a_running_loop():
    async def inside() -> Any:
        return _run([lambda: 1, lambda: 2])

    assert [outcome.value for outcome in asyncio.run(inside())] == [1, 2]


def test_after_a_failure_the_jobs_that_wait_are_cancelled_and_never_run():
    error = ValueError("broken")
    ran: list[int] = []

    outcomes = _run([_fail(error), lambda: ran.append(1)], Limits(workers=1))

    assert [outcome.status for outcome in outcomes] == ["failed", "cancelled"]
    assert outcomes[0].error is error
    assert ran == []


def test_with_stop_on_error_off_all_jobs_run():
    outcomes = _run([_fail(ValueError()), lambda: "ok"], _SKIP)

    assert [outcome.status for outcome in outcomes] == ["failed", "ok"]


@pytest.mark.parametrize("stop_on_error", [True, False])
@pytest.mark.parametrize("timeout", [None, PATIENCE])
@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(), asyncio.CancelledError()])
def test_what_is_no_exception_passes_through(
    error: BaseException, timeout: float | None, stop_on_error: bool
):
    limits = Limits(workers=1, timeout=timeout, stop_on_error=stop_on_error)
    ran: list[int] = []

    with pytest.raises(type(error)) as raised:
        _run([_fail(error), lambda: ran.append(1)], limits)

    assert raised.value is error
    assert ran == []


def test_a_job_that_is_late_is_given_up_and_the_others_end():
    gate = threading.Event()
    jobs = [lambda: gate.wait(PATIENCE), lambda: "quick"]

    outcomes = _run(jobs, Limits(timeout=0.05, stop_on_error=False))
    gate.set()

    assert [outcome.status for outcome in outcomes] == ["timed out", "ok"]
    assert outcomes[0].seconds >= 0.05


def test_jobs_that_hang_do_not_hold_up_those_that_wait_for_a_worker():
    gate = threading.Event()
    jobs = [lambda: gate.wait(PATIENCE)] * 2 + [lambda: "quick"] * 2

    outcomes = _run(jobs, Limits(workers=1, timeout=0.05, stop_on_error=False))
    gate.set()

    assert [outcome.status for outcome in outcomes] == ["timed out", "timed out", "ok", "ok"]


def test_a_given_up_thread_is_counted_under_its_owner_until_it_ends():
    gate = threading.Event()
    limits = Limits(timeout=0.02, stop_on_error=False)

    run_in_threads([lambda: gate.wait(PATIENCE), lambda: 1], limits, ["slow", "quick"])

    assert (abandoned_threads("slow"), abandoned_threads("quick")) == (1, 0)
    assert abandoned_threads() >= 1
    gate.set()
    assert eventually(lambda: abandoned_threads("slow") == 0)


def test_without_new_threads_the_calling_thread_does_it_all(monkeypatch: pytest.MonkeyPatch):
    def refuse(work: Any) -> None:
        msg = "can't start new thread"
        raise RuntimeError(msg)

    monkeypatch.setattr(threads, "start_in_thread", refuse)

    assert [outcome.value for outcome in _run([lambda: 1, lambda: 2, lambda: 3])] == [1, 2, 3]


def test_without_any_thread_a_timeout_cannot_be_held_which_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
):
    def refuse(work: Any) -> None:
        msg = "can't start new thread"
        raise RuntimeError(msg)

    monkeypatch.setattr(threads, "start_in_thread", refuse)

    with pytest.raises(RuntimeError, match="can't start new thread"):
        _run([lambda: 1], Limits(timeout=PATIENCE))
