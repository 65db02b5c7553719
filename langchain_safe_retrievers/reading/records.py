"""A row or an object as text and metadata."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_safe_retrievers.reading.parts import Broken, Part

TEXT_KEYS = ("text", "page_content", "content", "body")
_DUMPED = frozenset({"id", "type", "page_content", "metadata"})


def record_part(record: Mapping[str, Any], line: int, text_key: str | None) -> Part | Broken:
    """Return a record as a part of a file.

    Args:
        record: Names and values.
        line: Where it begins in the file, from 1.
        text_key: Which value is the text; None for the first of `TEXT_KEYS` that is there and
            text, and if there is none, all names and values, a line each.

    Returns:
        The part: the other values are its metadata. (A dumped `Document` has its own.)

    Example:
        >>> record_part({"text": "Bees make honey.", "year": 2024}, 1, None)
        Part(text='Bees make honey.', metadata={'year': 2024}, place={'line': 1})
    """
    place = {"line": line}
    if text_key is None:
        keys = [key for key in TEXT_KEYS if isinstance(record.get(key), str)]
        if not keys:
            lines = (f"{key}: {value}" for key, value in record.items() if value not in ("", None))
            return Part("\n".join(lines), dict(record), place)
        text_key = keys[0]
    text = record.get(text_key)
    if not isinstance(text, str):
        names = ", ".join(map(str, record))
        return Broken(line, f"has no text under {text_key!r}; it has {names or 'nothing'}")
    if text_key == "page_content" and record.keys() <= _DUMPED:
        own = record.get("metadata")
        if isinstance(own, Mapping):
            return Part(text, dict(own), place)
    return Part(text, {key: value for key, value in record.items() if key != text_key}, place)
