"""A row becomes a document."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, TypeAlias

from langchain_core.documents import Document

from langchain_safe_retrievers.merging.values import is_number

Scored: TypeAlias = tuple[Document, float | None]


@dataclass(frozen=True)
class Layout:
    """Which column of a row becomes what.

    Args:
        text: The column of the text.
        id: The column of the id, or None.
        metadata: The columns that become metadata keys; None for all others.
        spread: The column whose JSON object's keys become metadata keys too, or None.
        score: The column of the score, or None.
        decoders: How to read a column whose engine has no type for it.

    Example:
        >>> Layout("body", id="n").document({"n": 7, "body": "bees", "year": 2024})[0]
        Document(id='7', metadata={'year': 2024}, page_content='bees')
    """

    text: str
    id: str | None = None
    metadata: tuple[str, ...] | None = None
    spread: str | None = None
    score: str | None = None
    decoders: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)

    def names(self) -> list[str]:
        """Return the columns that are named here, each once."""
        named = (self.text, self.id, *(self.metadata or ()), self.spread, self.score)
        return list(dict.fromkeys(name for name in named if name is not None))

    def document(self, row: Mapping[str, Any]) -> Scored:
        """Return a row as a document and its score.

        Args:
            row: The values under their columns' names.

        Returns:
            The document, and its score or None.
        """
        values = {name: self._value(name, value) for name, value in row.items()}
        inside = read_json(values[self.spread]) if self.spread else None
        names = self._others(values) if self.metadata is None else self.metadata
        metadata = {**inside} if isinstance(inside, dict) else {}
        metadata.update((name, values[name]) for name in names)
        number = values.get(self.id) if self.id else None
        return (
            Document(
                page_content=_text(values[self.text]),
                metadata=metadata,
                id=None if number is None else _id(number),
            ),
            _score(values.get(self.score) if self.score else None),
        )

    def _value(self, name: str, value: Any) -> Any:
        if isinstance(value, memoryview):
            value = value.tobytes()
        return self.decoders[name](value) if name in self.decoders else value

    def _others(self, names: Iterable[str]) -> list[str]:
        taken = {self.text, self.id, self.spread, self.score}
        return [name for name in names if name not in taken]


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _id(value: Any) -> str:
    """Return an id as text: bytes that are none in hexadecimal, so that no two become one."""
    if not isinstance(value, bytes):
        return str(value)
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.hex()


def _score(value: Any) -> float | None:
    return float(value) if is_number(value) else None


# Reading SQLite, which has no types for these: what is not written as they are stays as it is -----


def read_json(value: Any) -> Any:
    """Return the value of JSON text, anything else as it is.

    Args:
        value: What a column declared JSON holds.

    Returns:
        The decoded value.

    Example:
        >>> read_json('{"a": [1]}'), read_json("no JSON")
        ({'a': [1]}, 'no JSON')
    """
    try:
        return json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return value


def read_bool(value: Any) -> Any:
    """Return 0 and 1 as False and True, anything else as it is.

    Args:
        value: What a column declared BOOLEAN holds.

    Returns:
        The decoded value.
    """
    return bool(value) if type(value) is int and value in (0, 1) else value


def read_date(value: Any) -> Any:
    """Return text such as `2024-05-01` as a date, anything else as it is.

    Args:
        value: What a column declared DATE holds.

    Returns:
        The decoded value.
    """
    return _read_time(value, date.fromisoformat) if _DAY.fullmatch(str(value)) else value


def read_datetime(value: Any) -> Any:
    """Return text such as `2024-05-01 12:30:00` as a datetime, anything else as it is.

    Args:
        value: What a column declared DATETIME or TIMESTAMP holds.

    Returns:
        The decoded value.
    """
    return _read_time(value, datetime.fromisoformat) if _DAY.match(str(value)) else value


def _read_time(value: Any, read: Callable[[str], date]) -> Any:
    try:
        return read(value)
    except (TypeError, ValueError):
        return value


_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
