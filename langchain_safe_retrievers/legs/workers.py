"""Daemon threads that are kept for a moment after their work, because starting one is slow."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue

_KEEP_ALIVE = 0.5  # seconds that an idle thread waits for more work before it ends

Work = Callable[[], object]
_idle: list[SimpleQueue[Work]] = []  # the inboxes of threads that wait for work


def start_in_thread(work: Work) -> None:
    """Run `work` in an idle thread, or in a new one if there is none.

    There is no limit: whoever calls decides how many threads it needs. The threads are
    daemons, so one that hangs does not keep the interpreter from exiting.

    Args:
        work: Must not raise.

    Raises:
        RuntimeError: No thread can be started.
    """
    try:
        inbox = _idle.pop()
    except IndexError:
        threading.Thread(
            target=_serve, args=(work,), name="safe-retriever-leg", daemon=True
        ).start()
    else:
        inbox.put(work)


def _serve(work: Work) -> None:
    inbox: SimpleQueue[Work] = SimpleQueue()
    while True:
        work()
        del work  # nothing of the call that is over is kept alive
        _idle.append(inbox)
        try:
            work = inbox.get(timeout=_KEEP_ALIVE)
        except Empty:
            try:
                _idle.remove(inbox)
            except ValueError:  # taken by a caller this very moment
                work = inbox.get()
            else:
                return


if hasattr(os, "register_at_fork"):  # a forked child has none of the parent's threads
    os.register_at_fork(after_in_child=_idle.clear)
