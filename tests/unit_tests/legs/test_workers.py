"""Threads that are kept for a moment after their work."""

from __future__ import annotations

import subprocess
import sys
import threading
import weakref

import pytest

from langchain_safe_retrievers.legs import workers
from langchain_safe_retrievers.legs.workers import start_in_thread
from tests.unit_tests.ways import PATIENCE, eventually


@pytest.fixture(autouse=True)
def _no_idle_threads() -> None:
    assert eventually(lambda: not workers._idle), "idle threads end by themselves"


def _threads_of(number: int) -> set[threading.Thread]:
    """Run as many works at the same time, and return their threads."""
    barrier = threading.Barrier(number + 1)
    ran_in: set[threading.Thread] = set()

    def work() -> None:
        ran_in.add(threading.current_thread())
        barrier.wait(PATIENCE)

    for _ in range(number):
        start_in_thread(work)
    barrier.wait(PATIENCE)
    return ran_in


def test_work_runs_in_as_many_threads_as_are_needed_and_they_are_daemons():
    ran_in = _threads_of(4)

    assert len(ran_in) == 4
    assert threading.current_thread() not in ran_in
    assert all(thread.daemon for thread in ran_in)


def test_an_idle_thread_is_used_again(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(workers, "_KEEP_ALIVE", 3)
    first = _threads_of(1)

    assert eventually(lambda: first <= _threads_of(10))  # threads of other tests may be idle too


def test_an_idle_thread_ends_after_a_moment(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(workers, "_KEEP_ALIVE", 0.01)

    (thread,) = _threads_of(1)
    thread.join(PATIENCE)

    assert not thread.is_alive()
    assert eventually(lambda: workers._idle == [])


def test_nothing_of_work_that_is_over_is_kept_alive():
    class Work:
        def __call__(self) -> None:
            """Do nothing."""

    work = Work()
    known = weakref.ref(work)

    start_in_thread(work)
    del work

    assert eventually(lambda: known() is None)


def _run(program: str) -> None:
    command = [sys.executable, "-W", "ignore", "-c", program]
    subprocess.run(command, check=True, timeout=60)  # noqa: S603 - our own program


def test_a_thread_that_hangs_does_not_keep_the_interpreter_from_exiting():
    _run(
        "import threading\n"
        "from langchain_safe_retrievers.legs.workers import start_in_thread\n"
        "start_in_thread(threading.Event().wait)\n"
    )


def test_a_forked_child_starts_threads_of_its_own():
    _run(
        "import os, threading, time\n"
        "from langchain_safe_retrievers.legs import workers\n"
        "workers._KEEP_ALIVE = 30\n"
        "workers.start_in_thread(lambda: None)\n"
        "while not workers._idle: time.sleep(0.001)\n"
        "child = os.fork() if hasattr(os, 'fork') else None\n"
        "if child is None: raise SystemExit\n"
        "if not child:\n"
        "    done = threading.Event()\n"
        "    workers.start_in_thread(done.set)\n"
        "    os._exit(0 if done.wait(20) else 1)\n"
        "assert os.waitpid(child, 0)[1] == 0\n"
    )
