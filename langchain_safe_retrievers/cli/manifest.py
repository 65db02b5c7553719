"""Which files an index holds, as they were when they were read; and the lock of who writes it."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path

from langchain_safe_retrievers.errors import ConfigurationError, IndexLockedError

_FILE = "files.sqlite3"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS roots (name TEXT PRIMARY KEY, path TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS files (
    name TEXT PRIMARY KEY, chunks INTEGER NOT NULL, digest TEXT NOT NULL,
    size INTEGER NOT NULL, changed INTEGER NOT NULL, recipe TEXT NOT NULL, broken INTEGER NOT NULL
);
"""


@dataclass(frozen=True)
class Entry:
    """A file in an index.

    Args:
        name: What it is called: its folder's name and the path from there.
        chunks: How many chunks it has at most, numbered from 1.
        digest: The hash of its bytes and of how they were read; "" while it is being written.
        size: Its size in bytes.
        changed: When it was last changed, in nanoseconds; 0 if that was too short a time ago to
            tell whether it changed since.
        recipe: How it was read.
        broken: How many pieces of it were left out.
    """

    name: str
    chunks: int
    digest: str = ""
    size: int = 0
    changed: int = 0
    recipe: str = ""
    broken: int = 0

    @property
    def seen(self) -> tuple[int, int, str]:
        """What tells, without opening the file, that it is as it was: size, time, and recipe."""
        return self.size, self.changed, self.recipe


class Manifest:
    """The files of an index.

    While it is open to write, nobody else can open it to write. The lock is the operating
    system's: it ends with the process, however that ends.

    Args:
        directory: The index.
        read_only: Whether nothing is to be written.

    Raises:
        IndexLockedError: Someone else is writing.
        ConfigurationError: The file is damaged.
        OSError: It cannot be written or read.
    """

    def __init__(self, directory: Path, *, read_only: bool = False) -> None:
        """Open it, or make an empty one."""
        self._place = directory
        file = directory / _FILE
        with self._errors():
            if read_only and not file.exists():
                self._rows = sqlite3.connect(":memory:", isolation_level=None)
            else:
                self._rows = sqlite3.connect(file, timeout=0, isolation_level=None)
        try:
            with self._errors():
                self._begin(read_only=read_only)
        except BaseException:
            self._rows.close()
            raise

    def _begin(self, *, read_only: bool) -> None:
        if not read_only:
            self._rows.execute("PRAGMA locking_mode=EXCLUSIVE")
            self._rows.execute("BEGIN EXCLUSIVE")
            self._rows.execute("COMMIT")
        self._rows.executescript(_SCHEMA)
        found = self._rows.execute("SELECT path, name FROM roots").fetchall()
        self._roots = {Path(path): name for path, name in found}

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                raise OSError(errno.EIO, str(error), str(self._place / _FILE)) from None
            msg = f"{str(self._place)!r} is being written by another process; try again later"
            raise IndexLockedError(msg) from None
        except sqlite3.DatabaseError as error:
            msg = (
                f"{str(self._place / _FILE)!r} is damaged ({error}); delete it and index again: "
                "nothing that is unchanged is embedded again"
            )
            raise ConfigurationError(msg) from None

    def close(self) -> None:
        """Give the lock back."""
        self._rows.close()

    # Names ----------------------------------------------------------------------------------------

    def add_root(self, path: Path) -> None:
        """Give a folder a name, unless it is in one that has a name.

        Args:
            path: The folder, resolved. It is called by its last part; by its whole path, if
                there is another folder of that name; and takes that name over, if the other
                folder is no longer there.
        """
        if any(root == path or root in path.parents for root in self._roots):
            return
        name = _utf8(path.name) or "root"
        other = next((root for root, own in self._roots.items() if own == name), None)
        if other is not None and other.exists():
            name = _utf8(path)
        elif other is not None:
            del self._roots[other]
        self._roots[path] = name
        self._rows.execute("INSERT OR REPLACE INTO roots VALUES (?, ?)", (name, _utf8(path)))

    def name_of(self, path: Path) -> str:
        """Return what a file or folder is called.

        Args:
            path: It, resolved, in a folder that has a name.

        Returns:
            The name, with "/" between its parts.
        """
        root = next(each for each in (path, *path.parents) if each in self._roots)
        rest = path.relative_to(root)
        return self._roots[root] if root == path else f"{self._roots[root]}/{_utf8(rest)}"

    def below(self, folder: Path) -> list[Entry]:
        """Return the files that are in a folder or in one below.

        Args:
            folder: The folder, resolved, in one that has a name or above.

        Returns:
            What is known of them.
        """
        inside = [root for root in self._roots if folder in root.parents]
        known = any(root == folder or root in folder.parents for root in self._roots)
        starts = [f"{self.name_of(each)}/" for each in [*inside, *([folder] if known else [])]]
        return [entry for entry in self.entries() if entry.name.startswith(tuple(starts))]

    # Files ----------------------------------------------------------------------------------------

    def entries(self) -> list[Entry]:
        """Return all files."""
        return [Entry(*row) for row in self._rows.execute("SELECT * FROM files ORDER BY name")]

    def get(self, name: str) -> Entry | None:
        """Return what is known of a file, or None."""
        row = self._rows.execute("SELECT * FROM files WHERE name = ?", (name,)).fetchone()
        return None if row is None else Entry(*row)

    def begin(self, chunks: Mapping[str, int]) -> None:
        """Note that files are about to be written, before the first chunk is.

        Args:
            chunks: File to how many chunks it has or is to have.
        """
        self.put(Entry(name, count) for name, count in chunks.items())

    def put(self, entries: Iterable[Entry]) -> None:
        """Note how files were when they were read, after their last chunk was written."""
        rows = [astuple(entry) for entry in entries]
        self._write("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?)", rows)

    def forget(self, names: Iterable[str]) -> None:
        """Forget files."""
        self._write("DELETE FROM files WHERE name = ?", [(name,) for name in names])

    def distrust(self) -> None:
        """Have every file read again."""
        self._rows.execute("UPDATE files SET digest = ''")

    def _write(self, statement: str, rows: list[tuple[object, ...]]) -> None:
        self._rows.execute("BEGIN")
        self._rows.executemany(statement, rows)
        self._rows.execute("COMMIT")


def _utf8(path: str | Path) -> str:
    """Return a path as valid Unicode, with "/" between its parts."""
    text = path if isinstance(path, str) else path.as_posix()
    return os.fsencode(text).decode("utf-8", "backslashreplace")
