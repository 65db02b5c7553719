"""What the index knows of a document's metadata: for each path, terms that filters ask for.

A term is a letter that says of which kind a value is, and what orders or identifies it within
the kind. Terms of one kind sort as their values do, which makes ranges of them possible.

======  ===========================================  ==============================================
kind    value                                        term
======  ===========================================  ==============================================
`n`     number other than NaN                        sortable bits of the nearest float; where the
                                                     float is not the number: `x` and its hash
                                                     (and `x` as a second term)
`s`     string                                       UTF-8 in hexadecimal, the first 64 bytes; of
                                                     longer ones: `x` and a digest
`d`     date, datetime                               microseconds since 1970, as the filter reads it
`i`     string that is an ISO 8601 date, too         the same
`b`     bool                                         `b0`, `b1`
`m`     NaN                                          `m`
`z`     None                                         `z`
`v`     anything else (a list, a dict, bytes …)      `v`
`x`     what the index cannot tell                   `x`
`c…`    an element of a list, tuple or set           `c` and the element's term
======  ===========================================  ==============================================
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from hashlib import blake2b
from numbers import Real
from typing import Any

from langchain_safe_retrievers.ordering import time_of

KEPT = 64  # bytes of a string that a term holds
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_EXACT = 2**53  # whole numbers up to here are floats
_read_bits, _write_float = struct.Struct(">Q").unpack, struct.Struct(">d").pack


def facts_of(metadata: Mapping[Any, Any]) -> dict[str, list[str]]:
    """Return the terms of a document's metadata, by the key of their path.

    Args:
        metadata: The metadata, as stored.

    Returns:
        For each path that a filter can name, the terms of the value there.

    Example:
        >>> facts_of({"law": {"chapter": "a"}}) == {
        ...     path_key("law"): ["v"],
        ...     path_key("law.chapter"): ["s61"],
        ... }
        True
    """
    return {path_key(path): terms_at(value) for path, value in by_path(metadata).items()}


@lru_cache(maxsize=4096)
def path_key(path: str) -> str:
    """Return the name under which the index keeps a path: letters and digits only.

    Args:
        path: A metadata key or dotted path.

    Returns:
        `p` and a digest.
    """
    return "p" + blake2b(path.encode(errors="surrogatepass"), digest_size=8).hexdigest()


def by_path(metadata: Mapping[Any, Any]) -> dict[str, Any]:
    """Return each value by the path that a filter finds it under: a literal key comes first."""
    found: dict[str, Any] = {}
    for key, value in metadata.items():
        if isinstance(value, dict) and isinstance(key, str) and "." not in key:
            found.update(_below(key, value))
    found.update((key, value) for key, value in metadata.items() if isinstance(key, str))
    return found


def _below(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    yield path, value
    if isinstance(value, dict):
        for key, item in value.items():
            if isinstance(key, str) and "." not in key:
                yield from _below(f"{path}.{key}", item)


def terms_at(value: Any) -> list[str]:
    """Return the terms of the value at one path.

    Args:
        value: A metadata value.

    Returns:
        At least one term.
    """
    if type(value) is dict:
        return ["v"]
    term = scalar_term(value)
    if term is None:
        elements = value if isinstance(value, list | tuple | set | frozenset) else ()
        return ["v", *dict.fromkeys("c" + (scalar_term(element) or "v") for element in elements)]
    if term[0] == "n" and "x" in term:
        return [term, "x"]
    if type(value) is str and value[:4].isdigit() and (iso := _iso_term(value)) is not None:
        return [term, iso]
    return [term]


def scalar_term(value: Any) -> str | None:
    """Return the term that exactly the values equal to this scalar have.

    Args:
        value: Any value.

    Returns:
        The term; `x` if the index cannot tell; None for what is no scalar. Different dates may
        share a term.
    """
    kind = type(value)
    if kind is int and -_EXACT <= value <= _EXACT:  # the usual ones first
        return f"n{_sortable(value):016x}"
    if kind is str or isinstance(value, str):
        return string_term(str.__str__(value))
    if value is None:
        return "z"
    if isinstance(value, bool):
        return "b1" if value else "b0"
    if isinstance(value, Real | Decimal):
        return number_term(value)
    return time_term("d", value) if isinstance(value, date) else None


def string_term(text: str) -> str:
    """Return a string's term: up to 64 bytes the string itself, in hexadecimal.

    Args:
        text: Any string.

    Returns:
        Its term; `x` for one with lone surrogates.

    Example:
        >>> string_term("ab"), len(string_term("a" * 1000))
        ('s6162', 146)
    """
    try:
        data = text.encode()
    except UnicodeEncodeError:
        return "x"
    if len(data) <= KEPT:
        return "s" + data.hex()
    return f"s{data[:KEPT].hex()}x{blake2b(data, digest_size=8).hexdigest()}"


def number_term(value: Any) -> str:
    """Return a number's term: equal for equal numbers of any type, and in their order.

    Args:
        value: A real number.

    Returns:
        Its term; `m` for NaN, `x` for one that cannot be compared.

    Example:
        >>> number_term(1) == number_term(1.0) < number_term(1.5) < number_term(10**400)
        True
    """
    try:
        if value != value:  # noqa: PLR0124 - only NaN differs from itself
            return "m"
        nearest = _nearest(value)
        term = f"n{_sortable(nearest):016x}"
        return term if value == nearest else f"{term}x{hash(value) & 0xFFFFFFFFFFFFFFFF:016x}"
    except Exception:  # noqa: BLE001 - a signalling NaN, a number of a strange type
        return "x"


def _nearest(value: Any) -> float:
    try:
        return float(value) + 0.0  # no negative zero
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _sortable(value: float) -> int:
    """Return a float's bits as a number that sorts as the float does."""
    bits: int = _read_bits(_write_float(value))[0]
    return bits ^ (0xFFFFFFFFFFFFFFFF if bits >> 63 else 1 << 63)


def time_term(kind: str, value: Any) -> str | None:
    """Return the term of a point in time, as the filter compares it.

    Args:
        kind: `d` or `i`.
        value: A date, a datetime, or an ISO 8601 string.

    Returns:
        Its term, or None for another string.
    """
    time = time_of(value)
    return None if time is None else f"{kind}{(time - _EPOCH) // _MICROSECOND + (1 << 63):016x}"


@lru_cache(maxsize=4096)
def _iso_term(text: str) -> str | None:
    return time_term("i", text) if len(text) <= KEPT else None
