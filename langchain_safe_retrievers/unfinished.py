"""Notes of what is being written to two indexes, which outlive a process that is killed.

A killed update leaves both indexes with as many documents as before, so that counting them does
not tell. Each write to both is noted beside the keyword index, with its ids, until it is done.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from langchain_safe_retrievers.content_id import id_of_text

_PREFIX = "unfinished-"


@contextmanager
def noted(directory: Path | None, ids: Iterable[str]) -> Iterator[None]:
    """Note what is written in the block, until it ends without an error.

    Args:
        directory: Where the keyword index is; None for memory, which nothing outlives.
        ids: The ids of the documents. The note of an earlier write of just these is replaced.
    """
    if directory is None:
        yield
        return
    text = json.dumps(list(ids))
    note = directory / f"{_PREFIX}{id_of_text(text)}.json"
    note.write_text(text, encoding="utf-8")
    yield
    note.unlink(missing_ok=True)


def notes(directory: Path | None) -> dict[Path, list[str]]:
    """Return the writes that are under way, or were cut short.

    Args:
        directory: Where the keyword index is, or None for memory.

    Returns:
        The ids by the file that notes them.
    """
    files = [] if directory is None else sorted(directory.glob(f"{_PREFIX}*.json"))
    return {file: _read(file) for file in files}


def _read(file: Path) -> list[str]:
    try:
        found: list[str] = json.loads(file.read_text(encoding="utf-8"))
    except (
        OSError,
        ValueError,
    ):  # done meanwhile; or cut short itself, before anything was written
        return []
    return found
