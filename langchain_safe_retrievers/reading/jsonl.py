"""JSON lines: an object a line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from langchain_safe_retrievers.reading.parts import Broken, Part, ReadingOptions
from langchain_safe_retrievers.reading.records import record_part
from langchain_safe_retrievers.reading.text import decode


def read_jsonl(data: bytes, options: ReadingOptions) -> Iterator[Part | Broken]:
    r"""Read JSON lines; a line that is no object or text is told of and left out.

    Args:
        data: The file.
        options: How to read it.

    Yields:
        A line; empty ones are passed over.

    Raises:
        UnreadableFileError: It is no text.

    Example:
        >>> data = b'{"text": "Bees make honey.", "year": 2024}\n{"text":\n'
        >>> for part in read_jsonl(data, ReadingOptions()):
        ...     print(part)
        Part(text='Bees make honey.', metadata={'year': 2024}, place={'line': 1})
        Broken(place=2, problem='is no JSON: Expecting value (character 9)')
    """
    for number, line in enumerate(decode(data, options.encoding).split("\n"), start=1):
        if line.strip():
            yield _part(line, number, options.text_key)


def _part(line: str, number: int, text_key: str | None) -> Part | Broken:
    try:
        found = json.loads(line, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        return Broken(number, f"is no JSON: {error.msg} (character {error.pos + 1})")
    except (ValueError, RecursionError) as error:  # a name twice, 5,000 digits, 10,000 brackets
        return Broken(number, f"is no JSON that can be kept: {error}")
    if isinstance(found, str):
        return Part(found, {}, {"line": number})
    if isinstance(found, dict):
        return record_part(found, number, text_key)
    return Broken(number, f'is {line[:40]}; expected an object, such as {{"text": "…"}}')


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    names = [name for name, _ in pairs]
    twice = next(name for name in names if names.count(name) > 1)
    msg = f"the name {twice!r} stands twice in one object"
    raise ValueError(msg)
