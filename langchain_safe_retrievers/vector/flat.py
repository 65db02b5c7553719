"""Metadata as flat keys and scalars, for stores that hold nothing else, and back.

The metadata as a whole is one JSON text under `METADATA`. Beside it are copies for the store's
filter, under the dotted path that the filter would name:

=========================================  ======================================================
value                                      copy
=========================================  ======================================================
string, bool                               itself
whole number up to 2⁵³ in size             itself, as an int
number with a fraction                     the nearest float that has one
greater or infinite number                 ±2⁵⁴: beyond each of those
list, tuple, set                           its strings, as a list, if there are any
date, datetime, string that begins with    its day in UTC, or as written, as the int YYYYMMDD; and
a date                                     a mark that it is there; under keys of their own
anything else; a path the store could      none
not take
=========================================  ======================================================

Only the JSON is read back, so no key of a user's can be lost or mistaken for one of these.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, date
from decimal import Decimal
from functools import lru_cache
from typing import Any

from langchain_safe_retrievers.codec import decode, encode
from langchain_safe_retrievers.keyword.facts import by_path as values_by_path
from langchain_safe_retrievers.ordering import time_of

METADATA = "safe_retrievers:metadata"
WHOLE = 2**53  # up to here every whole number is a float
BEYOND = 2**54


def to_flat(metadata: Mapping[str, Any], *, owner: str = "metadata") -> dict[str, Any]:
    """Return metadata as a store with flat metadata takes it.

    Args:
        metadata: The metadata, of the types that `codec` knows.
        owner: What it belongs to, for the error.

    Returns:
        Flat keys and scalars (and lists of strings), never empty.

    Raises:
        MetadataError: A value cannot be represented; the error names `owner` and the path.

    Example:
        >>> to_flat({"law": {"chapter": 2}})
        {'safe_retrievers:metadata': '{"law":{"chapter":2}}', 'law.chapter': 2}
    """
    text = encode(metadata, owner=owner)
    values = values_by_path(metadata)
    copies = {key: copy for path in values for key, copy in _copies(path, values[path])}
    return {METADATA: text, **copies}


def from_flat(metadata: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the metadata that `to_flat` was given; other metadata as it is.

    Args:
        metadata: What the store holds, None for nothing.

    Returns:
        A new dict.

    Example:
        >>> from_flat(to_flat({"pages": (1, None)})), from_flat({"page": 1})
        ({'pages': (1, None)}, {'page': 1})
    """
    text = (metadata or {}).get(METADATA)
    return decode(text) if isinstance(text, str) else dict(metadata or {})


@lru_cache(maxsize=4096)
def is_filterable(path: str) -> bool:
    """Tell whether there are copies under a path, for a store's filter to read.

    Args:
        path: A metadata key or dotted path.

    Returns:
        False for names that stores keep for themselves, and for what is no valid Unicode.
    """
    kept = path.startswith(("$", "#", "chroma:", METADATA))
    return bool(path) and not kept and is_storable(path)


def is_storable(text: str) -> bool:
    """Tell whether a store takes a string.

    Args:
        text: Any string.

    Returns:
        False if it is no valid Unicode or has a NUL in it.
    """
    return "\0" not in text and (text.isascii() or text.encode(errors="replace").decode() == text)


def day_key(path: str) -> str:
    """Return the key of the day of the date under a path.

    Args:
        path: A metadata key or dotted path.

    Returns:
        A key that no user's copy has.
    """
    return f"{METADATA}:day:{path}"


def has_day_key(path: str) -> str:
    """Return the key of the mark that there is a day; Chroma can ask what is not marked.

    Args:
        path: A metadata key or dotted path.

    Returns:
        A key that no user's copy has.
    """
    return f"{METADATA}:has_day:{path}"


def days_of(value: Any) -> list[int]:
    """Return the days of a date, or of a text that begins with one.

    Args:
        value: Any value.

    Returns:
        Numbers YYYYMMDD: of a text the day as it is written (which need be none of the
        calendar) and the one in UTC if it is ISO 8601, of a date the one in UTC, of others none.

    Example:
        >>> days_of(date(2024, 5, 1)), days_of("2024-05-01T23:00-03:00"), days_of("May 1st")
        ([20240501], [20240501, 20240502], [])
    """
    days = (_day(value), _utc_day(value) if isinstance(value, str) else None)
    return [day for day in days if day is not None] if days[0] is not None else []


def _day(value: Any) -> int | None:
    """Return the day that is copied: of a text as it is written, of a date in UTC."""
    if isinstance(value, str):
        found = _DATE.match(value)
        return int("".join(found.groups())) if found else None
    return _utc_day(value) if isinstance(value, date) else None


_DATE = re.compile("([0-9]{4})-([0-9]{2})-([0-9]{2})")


def _utc_day(value: Any) -> int | None:
    try:
        time = time_of(value)
        day = None if time is None else time.astimezone(UTC)
    except OverflowError:  # in UTC it is not of this calendar
        return None
    return None if day is None else day.year * 10_000 + day.month * 100 + day.day


def _copies(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the copies of a value, by their keys."""
    if not is_filterable(path):
        return
    copy = _copy(value)
    if copy is not None:
        yield path, copy
    day = _day(value)
    if day is not None:
        yield day_key(path), day
        yield has_day_key(path), True


def _copy(value: Any) -> Any:
    if isinstance(value, str):
        return str.__str__(value) if is_storable(value) else None
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float | Decimal):
        return number_copy(value)
    if isinstance(value, list | tuple | set | frozenset):
        strings = [item for item in value if isinstance(item, str) and is_storable(item)]
        return list(dict.fromkeys(strings)) or None
    return None


def number_copy(value: Any) -> int | float | None:
    """Return what stands for a number: on the same side of every whole number up to 2⁵³.

    Args:
        value: A number.

    Returns:
        An int where the number is whole, else a finite float; None for NaN.

    Example:
        >>> number_copy(2**60) == number_copy(float("inf")) == BEYOND, number_copy(Decimal("0.5"))
        (True, 0.5)
    """
    try:
        if value != value:  # noqa: PLR0124 - only NaN differs from itself
            return None
        if abs(value) > WHOLE:
            return BEYOND if value > 0 else -BEYOND
        return int(value) if value == int(value) else _nearest(value)
    except ArithmeticError:  # a signalling NaN
        return None


def _nearest(value: Any) -> float:
    """Return the nearest float, but none that is whole."""
    nearest = float(value)
    if not nearest.is_integer():
        return nearest
    return math.nextafter(nearest, math.inf if value > nearest else -math.inf)
