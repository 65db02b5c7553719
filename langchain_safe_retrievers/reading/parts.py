"""What a reader makes of a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from langchain_safe_retrievers.errors import SafeRetrieverError


class UnreadableFileError(SafeRetrieverError, ValueError):
    """A file that holds nothing that can be read."""


@dataclass(frozen=True)
class ReadingOptions:
    """How to read files.

    Args:
        encoding: The encoding of files that are not in UTF-8; None if all are.
        text_key: The column or field that is a record's text; None for the first of `text`,
            `page_content`, `content` and `body`.
    """

    encoding: str | None = None
    text_key: str | None = None


@dataclass(frozen=True)
class Part:
    """One piece of a file: all of a text, a page, a row.

    Args:
        text: Its text.
        metadata: What the file says of it.
        place: Where in the file it is: `page` or `line`, from 1.
    """

    text: str
    metadata: Mapping[str, Any] = field(default_factory=dict)
    place: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Broken:
    """A piece of a file that is left out.

    Args:
        place: Its line or page, from 1.
        problem: What came, and what was expected.
    """

    place: int
    problem: str


Reader: TypeAlias = Callable[[bytes, ReadingOptions], Iterator[Part | Broken]]
