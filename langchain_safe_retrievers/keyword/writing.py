"""One writer at a time, across processes; all of what it writes, or nothing."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from langchain_safe_retrievers.errors import IndexLockedError

_BUFFER = 64_000_000  # bytes; a fuller buffer is written out, uncommitted
_PATIENCE = 0.02  # seconds between two attempts to get the lock


@contextmanager
def transaction(index: Any, place: str, lock_timeout: float) -> Iterator[Any]:
    """Hold the index's lock and commit what is written in the block, if it does not raise.

    The lock is the operating system's: it ends with the process, however that ends.

    Args:
        index: A tantivy index.
        place: Where it is, for the error.
        lock_timeout: Seconds to wait for another writer, at least 0.

    Yields:
        A writer.

    Raises:
        IndexLockedError: Another writer did not finish in time.
    """
    writer = _locked_writer(index, place, lock_timeout)
    try:
        writer.garbage_collect_files()  # what a killed writer left would be in this one's way
        yield writer
        writer.commit()
    except BaseException:
        writer.rollback()
        raise
    finally:
        writer.wait_merging_threads()  # gives the lock back


def _locked_writer(index: Any, place: str, lock_timeout: float) -> Any:
    deadline = time.monotonic() + lock_timeout
    while True:
        try:
            return index.writer(_BUFFER, 1)  # one thread: segments hold documents in their order
        except ValueError as error:
            if "LockBusy" not in str(error):
                raise
            if time.monotonic() >= deadline:
                msg = (
                    f"the keyword index in {place} is being written by another process or "
                    f"retriever, and lock_timeout is {lock_timeout} seconds; try again later, "
                    "or give a longer lock_timeout to wait"
                )
                raise IndexLockedError(msg) from None
        time.sleep(_PATIENCE)
