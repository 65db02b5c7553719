"""Run jobs side by side in threads; each gives one outcome, in the jobs' order."""

from __future__ import annotations

import asyncio
import contextvars
import os
import threading
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any

from langchain_safe_retrievers.legs.outcome import Limits, Outcome, passes_through
from langchain_safe_retrievers.legs.workers import start_in_thread

_Numbered = tuple[int, contextvars.Context, Callable[[], Any]]

MAX_ABANDONED = 16
"""How many threads one leg may leave hanging; after that it is not asked, and fails at once."""

MAX_WORKERS = 32
"""How many threads one call uses at once where nobody says how many."""

_abandoned: Counter[Hashable] = Counter()
_abandoned_lock = threading.Lock()


def _forget_threads() -> None:
    """Start anew in a forked child: it has none of the parent's threads, and may hold its lock."""
    global _abandoned_lock  # noqa: PLW0603 - the lock of another process is of no use
    _abandoned_lock = threading.Lock()
    _abandoned.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)


def abandoned_threads(owner: Hashable | None = None) -> int:
    """Return how many threads still run a job that nobody waits for any more.

    Args:
        owner: Whose threads, as given to `run_in_threads`; None for all.

    Returns:
        The number of threads.
    """
    with _abandoned_lock:
        return _abandoned.total() if owner is None else _abandoned[owner]


def run_in_threads(
    jobs: Sequence[Callable[[], Any]], limits: Limits, owners: Sequence[Hashable]
) -> list[Outcome]:
    """Run jobs in threads, each in its own copy of the context; works inside a running loop.

    The calling thread does its share, so nested calls cannot starve each other, and instant
    jobs cost little. With a timeout it only waits: a job that hangs is abandoned in its
    daemon thread, which is counted under its owner until it ends.

    Args:
        jobs: What to run.
        limits: How.
        owners: Who is to blame for each job's thread.

    Returns:
        One outcome for each job.

    Raises:
        BaseException: What a job raised that is no `Exception` (KeyboardInterrupt …).

    Example:
        >>> [outcome.value for outcome in run_in_threads([lambda: 1, lambda: 2], Limits(), "ab")]
        [1, 2]
    """
    return _Call(jobs, limits, owners).run()


async def run_in_own_thread(job: Callable[[], Any], owner: Hashable) -> Any:
    """Run a job that may hang in a thread of its own, without blocking the loop.

    A loop that ends waits for the threads of its executor; it does not wait for this one.

    Args:
        job: What to run.
        owner: Who is to blame for its thread, if nobody waits for it any more.

    Returns:
        What the job returned.

    Raises:
        BaseException: What the job raised.

    Example:
        >>> import asyncio
        >>> asyncio.run(run_in_own_thread(lambda: 42, owner="a"))
        42
    """
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[Outcome] = loop.create_future()
    context = contextvars.copy_context()
    state = "running"  # then "ended" or "given up", whichever comes first

    def deliver(outcome: Outcome) -> None:
        if not ended.done():
            ended.set_result(outcome)

    def work() -> None:
        nonlocal state
        outcome = context.run(_attempt, job)
        with _abandoned_lock:
            if state == "given up":
                _abandoned.subtract([owner])
            state = "ended"
        with suppress(RuntimeError):  # the loop is closed: nobody asks any more
            loop.call_soon_threadsafe(deliver, outcome)

    start_in_thread(work)
    try:
        outcome = await ended
    except asyncio.CancelledError:
        with _abandoned_lock:
            if state == "running":
                state = "given up"
                _abandoned.update([owner])
        raise
    if outcome.error is not None:
        raise outcome.error
    return outcome.value


class _Call:
    """One call of `run_in_threads`: what is still to do, runs, and has ended."""

    def __init__(
        self, jobs: Sequence[Callable[[], Any]], limits: Limits, owners: Sequence[Hashable]
    ) -> None:
        self.limits = limits
        self.owners = owners
        self.count = len(jobs)
        self.lock = threading.Lock()
        self.todo = deque((i, contextvars.copy_context(), job) for i, job in enumerate(jobs))
        self.running: dict[int, float] = {}  # when each job started
        self.given_up: set[int] = set()
        self.ended: SimpleQueue[tuple[int, Outcome]] = SimpleQueue()
        self.outcomes: dict[int, Outcome] = {}

    def run(self) -> list[Outcome]:
        try:
            workers = min(self.count, self.limits.workers or MAX_WORKERS)
            if self.limits.timeout is None and self.todo:
                first = self.take()  # before a worker can: which job is ours is not left to chance
                self.start_workers(workers - 1)
                self.work(first)
            else:  # each may be left hanging
                self.start_workers(min(workers, MAX_ABANDONED))
            while len(self.outcomes) < self.count and not self.stopped():
                self.collect()
        finally:
            self.todo.clear()
            self.give_up(self.running.copy())
        return [self.outcomes.get(i, Outcome("cancelled")) for i in range(self.count)]

    def start_workers(self, number: int) -> None:
        for _ in range(number):
            try:
                start_in_thread(self.work)
            except RuntimeError:  # no more threads to be had: those there are do it all
                if self.limits.timeout is not None and not self.running:
                    raise

    def take(self) -> _Numbered | None:
        """Take the next job, or None if none is left."""
        with self.lock:
            if not self.todo:
                return None
            taken = self.todo.popleft()
            self.running[taken[0]] = monotonic()
            return taken

    def work(self, taken: _Numbered | None = None) -> None:
        """Do jobs until none is left; every worker does this, and the calling thread."""
        while taken := taken or self.take():
            index, context, job = taken
            taken = None
            outcome = context.run(_attempt, job)
            with self.lock:
                del self.running[index]
                if index in self.given_up:
                    with _abandoned_lock:
                        _abandoned.subtract([self.owners[index]])
                    return
                if outcome.error is not None and (
                    self.limits.stop_on_error or passes_through(outcome.error)
                ):
                    self.todo.clear()
                self.ended.put((index, outcome))

    def collect(self) -> None:
        """Wait for the next job to end, or for the first deadline."""
        try:
            index, outcome = self.ended.get(timeout=self.until_deadline())
        except Empty:
            self.give_up_late_jobs()
            return
        self.outcomes[index] = outcome
        if passes_through(outcome.error):
            raise outcome.error

    def stopped(self) -> bool:
        failed = any(outcome.status != "ok" for outcome in self.outcomes.values())
        return self.limits.stop_on_error and failed and self.ended.empty()

    def until_deadline(self) -> float | None:
        if self.limits.timeout is None:
            return None
        first = min(self.running.copy().values(), default=monotonic())
        left = max(first + self.limits.timeout - monotonic(), 0.0)
        return min(left, threading.TIMEOUT_MAX)

    def give_up_late_jobs(self) -> None:
        now, timeout = monotonic(), self.limits.timeout or 0.0
        late = {i: start for i, start in self.running.copy().items() if now - start >= timeout}
        for index in self.give_up(late):
            self.outcomes[index] = Outcome("timed out", seconds=now - late[index])
            alive = len(self.running) - len(self.given_up)
            if self.todo and (len(self.running) < MAX_ABANDONED or not alive):
                self.start_workers(1)

    def give_up(self, indexes: Iterable[int]) -> list[int]:
        """Wait no longer for these jobs; return those that really still run."""
        with self.lock, _abandoned_lock:
            hanging = [i for i in indexes if i in self.running and i not in self.given_up]
            self.given_up.update(hanging)
            _abandoned.update(self.owners[index] for index in hanging)
        return hanging


def _attempt(job: Callable[[], Any]) -> Outcome:
    start = monotonic()
    try:
        return Outcome("ok", value=job(), seconds=monotonic() - start)
    except BaseException as error:  # noqa: BLE001 - the calling thread raises it
        return Outcome("failed", error=error, seconds=monotonic() - start)
