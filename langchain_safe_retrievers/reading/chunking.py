"""A file as documents: its parts, cut to size, each with an id and metadata."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langchain_core.documents import Document

from langchain_safe_retrievers.codec import encode
from langchain_safe_retrievers.errors import MetadataError
from langchain_safe_retrievers.extras import load
from langchain_safe_retrievers.reading.kinds import MARKED_UP, reader_of
from langchain_safe_retrievers.reading.parts import (
    Broken,
    Part,
    ReadingOptions,
    UnreadableFileError,
)

_SENTENCES = ["\n\n", "\n", ". ", "! ", "? ", "。", "！", "？", " ", ""]  # noqa: RUF001 - Chinese


@dataclass(frozen=True)
class Chunking:
    """How long chunks are.

    Args:
        size: Characters in a chunk, at most; at least 1.
        overlap: Characters that a chunk repeats of the one before, at most; less than `size`.
    """

    size: int = 1000
    overlap: int = 100

    def splitter(self, suffix: str) -> Any:
        """Return a text splitter for a kind of file."""
        found = load("langchain_text_splitters", "cli")
        splitter = found.RecursiveCharacterTextSplitter
        sizes = {"chunk_size": self.size, "chunk_overlap": self.overlap}
        if suffix.lower() in MARKED_UP:
            return splitter.from_language(found.Language.MARKDOWN, **sizes)
        return splitter(separators=_SENTENCES, keep_separator="end", **sizes)


@dataclass(frozen=True)
class Reading:
    """What was read of a file.

    Args:
        documents: Its chunks, in order.
        broken: What was left out.
    """

    documents: list[Document] = field(default_factory=list)
    broken: list[Broken] = field(default_factory=list)


def read_file(
    path: Path, data: bytes, name: str, options: ReadingOptions, chunking: Chunking
) -> Reading:
    """Read a file.

    Args:
        path: Where it is; its suffix tells its kind.
        data: What is in it.
        name: What it is called in ids and metadata.
        options: How to read it.
        chunking: How long chunks are.

    Returns:
        A document a chunk, with the id `NAME#NUMBER`, and as metadata what the file says of it,
        and `source`, `page` or `line`, and `part` if there are several chunks. If the file has
        such a name of its own, ours has an underscore before it.

    Raises:
        UnreadableFileError: It cannot be read.

    Example:
        >>> data = b"Bees make honey."
        >>> read_file(Path("a.txt"), data, "a.txt", ReadingOptions(), Chunking()).documents
        [Document(id='a.txt#1', metadata={'source': 'a.txt'}, page_content='Bees make honey.')]
    """
    reader = reader_of(path)
    if reader is None:
        msg = f"is of a kind that is not read ({path.suffix or 'no suffix'})"
        raise UnreadableFileError(msg)
    splitter, found = chunking.splitter(path.suffix), Reading()
    for part in reader(data, options):
        problem = part if isinstance(part, Broken) else _problem(part)
        if problem is not None:
            found.broken.append(problem)
        elif isinstance(part, Part):
            texts = splitter.split_text(part.text)
            found.documents.extend(_documents(part, texts, name, len(found.documents)))
    return found


def _documents(part: Part, texts: list[str], name: str, before: int) -> Iterator[Document]:
    for number, text in enumerate(texts, start=1):
        own = {"source": name, **part.place}
        if len(texts) > 1:
            own["part"] = number
        clear = {f"_{key}" if key in part.metadata else key: own[key] for key in own}
        metadata = {**part.metadata, **clear}
        yield Document(page_content=text, metadata=metadata, id=chunk_id(name, before + number))


def chunk_id(name: str, number: int) -> str:
    """Return the id of a file's chunk.

    Args:
        name: The file's name in the index.
        number: Which chunk, from 1.

    Returns:
        The id.

    Example:
        >>> chunk_id("docs/bees.md", 3)
        'docs/bees.md#3'
    """
    return f"{name}#{number}"


def _problem(part: Part) -> Broken | None:
    """Return what is wrong with text or metadata that no index could keep."""
    place = next(iter(part.place.values()), 1)
    try:
        part.text.encode()
        encode(part.metadata)
    except UnicodeEncodeError:
        return Broken(place, "its text holds half of a surrogate pair")
    except MetadataError as error:
        return Broken(place, str(error))
    return None
