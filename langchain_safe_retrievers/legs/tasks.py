"""Run jobs side by side in asyncio tasks; each gives one outcome, in the jobs' order."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Sequence
from time import monotonic
from typing import Any

from langchain_core.callbacks.manager import ahandle_event

from langchain_safe_retrievers.legs.outcome import Limits, Outcome, passes_through

_GRACE = 0.1  # seconds that cancelled tasks are given to end

Job = Callable[[], Coroutine[Any, Any, Any]]


async def run_in_tasks(jobs: Sequence[Job], limits: Limits) -> list[Outcome]:
    """Run jobs in tasks, each in its own copy of the context.

    However the call ends, no task is left running, unless it will not be cancelled.

    Args:
        jobs: Functions that return a coroutine.
        limits: How.

    Returns:
        One outcome for each job.

    Raises:
        CancelledError: The call, or a job by itself, was cancelled.

    Example:
        >>> async def answer():
        ...     return 42
        >>> [outcome.value for outcome in asyncio.run(run_in_tasks([answer, answer], Limits()))]
        [42, 42]
    """
    call = _Call(jobs, limits)
    try:
        while (call.todo or call.running) and not call.stopped():
            call.start()
            await call.collect()
    finally:
        await call.close()
    return [call.outcomes.get(i, Outcome("cancelled")) for i in range(len(jobs))]


class _Call:
    """One call of `run_in_tasks`: what is still to do, runs, and has ended."""

    def __init__(self, jobs: Sequence[Job], limits: Limits) -> None:
        self.limits = limits
        self.workers = limits.workers or len(jobs)
        self.todo = deque(enumerate(jobs))
        self.running: dict[asyncio.Task[Any], tuple[int, float]] = {}
        self.late: list[asyncio.Task[Any]] = []
        self.outcomes: dict[int, Outcome] = {}

    def start(self) -> None:
        while self.todo and len(self.running) < self.workers:
            index, job = self.todo.popleft()
            self.running[asyncio.create_task(job())] = (index, monotonic())

    async def collect(self) -> None:
        """Wait for the next job to end, or for the first deadline."""
        done, _ = await asyncio.wait(
            self.running, timeout=self.until_deadline(), return_when=asyncio.FIRST_COMPLETED
        )
        now, given_up = monotonic(), []
        for task, (index, start) in list(self.running.items()):
            late = self.limits.timeout is not None and now - start >= self.limits.timeout
            if task in done:
                self.outcomes[index] = _outcome(task, now - start)
            elif late:
                self.outcomes[index] = Outcome("timed out", seconds=now - start)
                given_up.append(task)
            if task in done or late:
                del self.running[task]
        self.late.extend(given_up)
        await _cancel(given_up)

    def stopped(self) -> bool:
        return self.limits.stop_on_error and any(o.status != "ok" for o in self.outcomes.values())

    def until_deadline(self) -> float | None:
        if self.limits.timeout is None:
            return None
        first = min(start for _, start in self.running.values())
        return max(first + self.limits.timeout - monotonic(), 0.0)

    async def close(self) -> None:
        """Cancel what still runs, and give it a moment to end."""
        tasks = [*self.running, *self.late]
        await _cancel(list(self.running))
        if tasks:
            await asyncio.wait(tasks, timeout=_GRACE)
        _forget(tasks)


async def _cancel(tasks: Sequence[asyncio.Task[Any]]) -> None:
    """Cancel tasks, once all handlers have heard of the runs that they start."""
    until = monotonic() + _GRACE
    try:
        while any(map(_is_telling, tasks)) and monotonic() < until:  # noqa: ASYNC110 - core's own
            await asyncio.sleep(0.001)
    finally:
        for task in tasks:
            task.cancel()


def _is_telling(task: asyncio.Task[Any]) -> bool:
    """Tell whether a task waits for handlers: a cancel would reach the threads that they run in."""
    awaited: Any = task.get_coro()
    while awaited is not None:
        if getattr(awaited, "cr_code", None) is ahandle_event.__code__:
            return True
        awaited = getattr(awaited, "cr_await", None)
    return False


def _outcome(task: asyncio.Task[Any], seconds: float) -> Outcome:
    if task.cancelled():
        raise asyncio.CancelledError
    error = task.exception()
    if passes_through(error):
        raise error
    if error is None:
        return Outcome("ok", value=task.result(), seconds=seconds)
    return Outcome("failed", error=error, seconds=seconds)


def _forget(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Retrieve the errors of tasks that nobody asks about, so that none is logged as lost."""
    for task in tasks:
        task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
