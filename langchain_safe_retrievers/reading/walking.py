"""Which files there are to read below a path."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from langchain_safe_retrievers.reading.kinds import reader_of


@dataclass
class Walk:
    """What was found below some paths.

    Args:
        files: Files of a kind that is read, in order of their paths, each once.
        others: How many files of other kinds were passed over.
        closed: Folders that may not be looked into, and why.
    """

    files: dict[Path, None] = field(default_factory=dict)
    others: int = 0
    closed: dict[Path, str] = field(default_factory=dict)


def walk(paths: Iterable[Path], mark: str) -> Walk:
    """Find the files below some paths.

    Symbolic links below a path are not followed (so that nothing outside of it is read, and no
    loop is run), and hidden files and folders are passed over, and so are indexes.

    Args:
        paths: Files or folders, resolved.
        mark: A folder that has a file of this name is an index.

    Returns:
        What was found.
    """
    found = Walk()
    for path in paths:
        for file in _below(path, mark, found) if path.is_dir() else [path]:
            if reader_of(file) is None:
                found.others += 1
            else:
                found.files[file] = None
    return found


def _below(path: Path, mark: str, found: Walk) -> Iterator[Path]:
    def refused(error: OSError) -> None:
        found.closed[Path(error.filename)] = error.strerror or str(error)

    for folder, folders, files in os.walk(path, onerror=refused):
        if mark in files:
            folders.clear()
            continue
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            file = Path(folder, name)
            if not name.startswith(".") and not file.is_symlink():
                yield file
