"""Keep an index in step with files: read what is new or changed, delete what is gone."""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from langchain_safe_retrievers.cli.manifest import Entry, Manifest
from langchain_safe_retrievers.errors import MissingExtraError, SafeRetrieverError
from langchain_safe_retrievers.evaluation.table import count
from langchain_safe_retrievers.in_step import pages
from langchain_safe_retrievers.reading.chunking import Chunking, Reading, chunk_id, read_file
from langchain_safe_retrievers.reading.parts import ReadingOptions, UnreadableFileError
from langchain_safe_retrievers.reading.walking import Walk
from langchain_safe_retrievers.retrievers.hybrid import HybridRetriever

_BATCH = 1000  # chunks that are written together, at least
_READ_AS = 1  # raised when a file is read otherwise than before
_FRESH = 2_000_000_000  # nanoseconds within which a file may change and its time stay


class StrictError(SafeRetrieverError, ValueError):
    """Something could not be read, and that was not to be passed over."""


@dataclass(frozen=True)
class IndexingOptions:
    """How to index.

    Args:
        reading: How to read files.
        chunking: How long chunks are.
        max_bytes: Files that are larger are left out.
        strict: Whether to stop at the first thing that cannot be read.
    """

    reading: ReadingOptions = field(default_factory=ReadingOptions)
    chunking: Chunking = field(default_factory=Chunking)
    max_bytes: int = 100_000_000
    strict: bool = False

    @property
    def recipe(self) -> str:
        """What makes of the same bytes other chunks."""
        chunking = self.chunking
        return f"{_READ_AS} {chunking.size} {chunking.overlap} {self.reading!r}"


@dataclass
class Counts:
    """What indexing did, in files; `chunks` and what follows in chunks."""

    new: int = 0
    changed: int = 0
    unchanged: int = 0
    deleted: int = 0
    skipped: int = 0
    chunks: int = 0
    broken: int = 0

    def to_dict(self) -> dict[str, int]:
        """Return the counts by name."""
        return asdict(self)

    def __str__(self) -> str:
        """Return one line."""
        files = [
            f"{number} {name}"
            for name, number in self.to_dict().items()
            if name not in ("chunks", "broken") and (number or name in ("new", "unchanged"))
        ]
        broken = f", {count(self.broken, 'broken piece')} left out" if self.broken else ""
        return f"files: {', '.join(files)}; {count(self.chunks, 'chunk')} written{broken}"


@dataclass(frozen=True)
class _Read:
    entry: Entry
    old: Entry | None
    reading: Reading

    @property
    def chunks_before(self) -> int:
        return self.old.chunks if self.old else 0


@dataclass
class Indexing:
    """One run over some files.

    Args:
        retriever: Where the chunks go.
        manifest: What is known of the files, open to write.
        options: How to index.
        tell: Is told of what cannot be read: where, and why.
    """

    retriever: HybridRetriever
    manifest: Manifest
    options: IndexingOptions
    tell: Callable[[str, str], None]
    counts: Counts = field(default_factory=Counts)
    _batch: list[_Read] = field(default_factory=list)

    def run(self, paths: Sequence[Path], found: Walk, files: Iterable[Path]) -> Counts:
        """Index files, and delete what is gone below paths.

        Args:
            paths: What the user named, resolved.
            found: What is below.
            files: Its files, behind a progress bar.

        Returns:
            What was done.
        """
        for path in paths:
            self.manifest.add_root(path if path.is_dir() else path.parent)
        for folder, why in found.closed.items():
            self._problem(shown_path(folder), f"cannot be looked into: {why}")
        for file in files:
            self._take(file)
            if sum(len(each.reading.documents) for each in self._batch) >= _BATCH:
                self._write()
        self._write()
        self._delete_gone(paths, found)
        return self.counts

    def _take(self, path: Path) -> None:
        name = self.manifest.name_of(path)
        old = self.manifest.get(name)
        try:
            read = self._read(path, name, old)
        except (MissingExtraError, StrictError):
            raise
        except Exception as error:  # noqa: BLE001 - one hostile file must not stop the others
            self.counts.skipped += 1
            kept = "; what was read of it before stays" if old and old.chunks else ""
            self._problem(shown_path(path), f"{_why(error)}{kept}")
            return
        if read is None:
            self.counts.unchanged += 1
            return
        self._batch.append(read)
        for broken in read.reading.broken:
            self._problem(f"{shown_path(path)}:{broken.place}", broken.problem)

    def _read(self, path: Path, name: str, old: Entry | None) -> _Read | None:
        """Return what is in a file, or None if that is in the index already."""
        known, recipe, about = self._known(old), self.options.recipe, path.stat()
        changed = 0 if time.time_ns() - about.st_mtime_ns < _FRESH else about.st_mtime_ns
        if known and changed and known.seen == (about.st_size, changed, recipe):
            return None
        data = _bytes(path, about, self.options.max_bytes)
        digest = hashlib.sha256(f"{recipe}\n".encode() + data).hexdigest()
        if known and known.digest == digest:
            self.manifest.put([replace(known, changed=changed)])
            return None
        reading = read_file(path, data, name, self.options.reading, self.options.chunking)
        chunks, broken = len(reading.documents), len(reading.broken)
        entry = Entry(name, chunks, digest, len(data), changed, recipe, broken)
        return _Read(entry, old, reading)

    def _known(self, old: Entry | None) -> Entry | None:
        """Return what may be trusted of what is known."""
        if old is None or not old.digest or (self.options.strict and old.broken):
            return None
        return old

    def _problem(self, where: str, why: str) -> None:
        if self.options.strict:
            msg = f"{where}: {why}"
            raise StrictError(msg)
        self.tell(where, why)

    def _write(self) -> None:
        """Write what was read; if it is cut short, the next run does it again."""
        batch, self._batch = self._batch, []
        self.manifest.begin(
            {each.entry.name: max(each.entry.chunks, each.chunks_before) for each in batch}
        )
        documents = [document for each in batch for document in each.reading.documents]
        self.retriever.add_documents(documents)
        self._delete(
            chunk_id(each.entry.name, number)
            for each in batch
            for number in range(each.entry.chunks + 1, each.chunks_before + 1)
        )
        self.manifest.put(each.entry for each in batch)
        self.counts.chunks += len(documents)
        self.counts.new += sum(each.old is None for each in batch)
        self.counts.changed += sum(each.old is not None for each in batch)
        self.counts.broken += sum(each.entry.broken for each in batch)

    def _delete_gone(self, paths: Sequence[Path], found: Walk) -> None:
        there = {self.manifest.name_of(file) for file in found.files}
        closed = tuple(f"{self.manifest.name_of(folder)}/" for folder in found.closed)
        known = {
            each.name: each for path in paths if path.is_dir() for each in self.manifest.below(path)
        }
        gone = [
            entry
            for name, entry in known.items()
            if name not in there and not name.startswith(closed)
        ]
        self._delete(
            chunk_id(entry.name, number) for entry in gone for number in range(1, entry.chunks + 1)
        )
        self.manifest.forget(entry.name for entry in gone)
        self.counts.deleted += len(gone)

    def _delete(self, ids: Iterable[str]) -> None:
        for page in pages(ids, _BATCH):
            self.retriever.delete(page)


def shown_path(path: Path) -> str:
    """Return a path as the user would write it here.

    Args:
        path: The path.

    Returns:
        From the current directory on, if it is below it.
    """
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def _bytes(path: Path, about: os.stat_result, most: int) -> bytes:
    if not stat.S_ISREG(about.st_mode):
        msg = "is no regular file"
        raise UnreadableFileError(msg)
    with path.open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        size = max(about.st_size, len(data)) / 1e6
        msg = f"has {size:.1f} MB; expected at most {most / 1e6:g}: --max-size {size + 1:.0f}"
        raise UnreadableFileError(msg)
    return data


def _why(error: Exception) -> str:
    if isinstance(error, UnreadableFileError):
        return str(error)
    if isinstance(error, OSError):
        return f"cannot be read: {error.strerror or error}"
    return f"cannot be read: {type(error).__name__}: {error}"
