"""CSV: a row a document, typed column by column."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Sequence
from typing import Any

from langchain_safe_retrievers.reading.parts import (
    Broken,
    Part,
    ReadingOptions,
    UnreadableFileError,
)
from langchain_safe_retrievers.reading.records import record_part
from langchain_safe_retrievers.reading.text import decode

_DELIMITERS = ",;\t|"
_DIGITS = 25  # of a number, at most
_Row = tuple[int, list[str]]  # where it begins, and its cells


def read_csv(data: bytes, options: ReadingOptions) -> Iterator[Part | Broken]:
    r"""Read a table whose first row names its columns, separated by comma, semicolon, tab or bar.

    A column becomes numbers if each of its values reads back as it is written: `7` does, `007`
    and `1.10` do not. An empty cell in such a column is None.

    Args:
        data: The file.
        options: How to read it.

    Yields:
        A row; one that has more or fewer cells than there are columns is told of and left out.

    Raises:
        UnreadableFileError: It is no text, or no table.

    Example:
        >>> data = b"\xef\xbb\xbftext;year;zip\nBees make honey.;2024;007\nWasps\n"
        >>> for part in read_csv(data, ReadingOptions()):
        ...     print(part)
        Broken(place=3, problem='has 1 cells; expected 3')
        Part(text='Bees make honey.', metadata={'year': 2024, 'zip': '007'}, place={'line': 2})
    """
    names, rows = _table(decode(data, options.encoding))
    whole = []
    for line, cells in rows:
        if len(cells) == len(names):
            whole.append((line, cells))
        else:
            yield Broken(line, f"has {len(cells)} cells; expected {len(names)}")
    texts = {options.text_key, *(() if options.text_key else ("text", "page_content"))}
    columns = [
        _typed([cells[place] for _, cells in whole], is_text=name in texts)
        for place, name in enumerate(names)
    ]
    for place, (line, _) in enumerate(whole):
        record = {name: column[place] for name, column in zip(names, columns, strict=True)}
        yield record_part(record, line, options.text_key)


def _table(text: str) -> tuple[list[str], list[_Row]]:
    head = text.partition("\n")[0]
    delimiter = max(_DELIMITERS, key=head.count)  # of equals the first
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows, line = [], 1
    try:
        for cells in reader:
            if cells:
                rows.append((line, cells))
            line = reader.line_num + 1
    except csv.Error as error:
        msg = f"is no CSV: {error} (in the row that begins in line {line})"
        raise UnreadableFileError(msg) from None
    if not rows:
        return [], []
    return _unique(rows[0][1]), rows[1:]


def _unique(names: Sequence[str]) -> list[str]:
    """Return column names that are all there and all different."""
    found: dict[str, None] = {}
    for place, name in enumerate(names, start=1):
        own, number = name.strip() or f"column_{place}", 1
        while (shown := own if number == 1 else f"{own}_{number}") in found:
            number += 1
        found[shown] = None
    return list(found)


def _typed(cells: list[str], *, is_text: bool) -> list[Any]:
    """Return a column's values: numbers if each reads back as it is written."""
    values = [_number(cell) if cell else None for cell in cells]
    if is_text or not any(cells) or any(isinstance(value, str) for value in values):
        return list(cells)
    return list(values)


def _number(cell: str) -> int | float | str:
    """Return a cell as a number, or as it is if it would not read back so."""
    for kind in (int, float):
        try:
            value = kind(cell[:_DIGITS])
        except ValueError:
            continue
        if repr(value) == cell and math.isfinite(value):
            return value
    return cell
