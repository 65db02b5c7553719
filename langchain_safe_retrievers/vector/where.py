"""The portable filter as Chroma's `where` over the copies that `flat` makes.

Chroma has no negation, no test for a key's being there, no patterns, ranges over numbers alone,
and cuts the fraction off an operand beside a stored integer. What it cannot say is left out, so a
`where` may let too much through, never too little; `compile_filter` has the last word.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple

from langchain_safe_retrievers.vector.flat import (
    METADATA,
    WHOLE,
    is_filterable,
    is_storable,
    number_copy,
)

MOST = 1_000  # operands in a `where`; engines refuse expressions without end


class Where(NamedTuple):
    """A filter for the store.

    Args:
        test: Every document that matches the portable filter passes it; None for no filter.
        exact: Whether no other document does.
        size: How many operands it has.
    """

    test: dict[str, Any] | None
    exact: bool
    size: int = 1


UNKNOWN = Where(None, exact=False)
ALWAYS = Where(None, exact=True)
NEVER = Where({METADATA: ""}, exact=True)  # no JSON text is empty


def to_where(filter: Mapping[str, Any]) -> Where:  # noqa: A002 - LangChain's name
    """Return what of a portable filter the store can hold.

    Args:
        filter: A filter that `compile_filter` has accepted.

    Returns:
        The store's filter.

    Example:
        >>> to_where({"lang": "en", "law.chapter": {"$gte": 2}}).test
        {'$and': [{'lang': 'en'}, {'law.chapter': {'$gte': 2}}]}
        >>> to_where({"lang": {"$like": "e%"}})
        Where(test=None, exact=False, size=1)
    """
    return _filter(filter, negated=False)


# Combining ----------------------------------------------------------------------------------------


def _all(parts: Sequence[Where]) -> Where:
    known = [part for part in parts if part.test is not None]
    exact = all(part.exact for part in parts)
    return _joined("$and", known, exact=exact) if known else Where(None, exact)


def _any(parts: Sequence[Where]) -> Where:
    if any(part.test is None for part in parts):
        return ALWAYS if ALWAYS in parts else UNKNOWN
    return _joined("$or", parts, exact=all(part.exact for part in parts))


def _joined(name: str, parts: Sequence[Where], *, exact: bool) -> Where:
    size = sum(part.size for part in parts)
    if size > MOST:
        return UNKNOWN
    tests = [part.test for part in parts]
    return Where(tests[0] if len(tests) == 1 else {name: tests}, exact, size)


# Reading ------------------------------------------------------------------------------------------


def _filter(written: Mapping[str, Any], *, negated: bool) -> Where:
    combine = _any if negated else _all
    return combine([_entry(key, value, negated=negated) for key, value in written.items()])


def _entry(key: str, written: Any, *, negated: bool) -> Where:
    name = key.lower()
    if name == "$not":
        parts = [written] if isinstance(written, Mapping) else written
        combine = _any if negated else _all  # none of them
        return combine([_filter(part, negated=not negated) for part in parts])
    if name in ("$and", "$or"):
        combine = _all if (name == "$and") != negated else _any
        return combine([_filter(part, negated=negated) for part in written])
    operators = written if _has_operators(written) else {"$eq": written}
    return _operators(key, operators, negated=negated)


def _has_operators(written: Any) -> bool:
    return isinstance(written, Mapping) and any(str(name).startswith("$") for name in written)


def _operators(path: str, written: Mapping[str, Any], *, negated: bool) -> Where:
    combine = _any if negated else _all
    return combine([_operator(path, *entry, negated=negated) for entry in written.items()])


def _operator(  # noqa: PLR0911 - one return an operator
    path: str, name: str, operand: Any, *, negated: bool
) -> Where:
    if name == "$not":
        return _operators(path, operand, negated=not negated)
    if name in _NEGATIONS:
        name, negated = _NEGATIONS[name], not negated
    if not is_filterable(path):
        return UNKNOWN
    if name in ("$eq", "$in"):
        return _equal(path, [operand] if name == "$eq" else list(operand), negated=negated)
    if name == "$contains":
        return _contains(path, operand, negated=negated)
    if negated:
        return UNKNOWN
    if name == "$between":
        return _all([_range(path, "$gte", operand[0]), _range(path, "$lte", operand[1])])
    return _range(path, name, operand) if name in _ROUNDED else UNKNOWN


_NEGATIONS = {"$ne": "$eq", "$nin": "$in", "$not_contains": "$contains"}


# Asking -------------------------------------------------------------------------------------------


def _equal(path: str, operands: Sequence[Any], *, negated: bool) -> Where:
    """Ask for values that equal an operand, of one type at a time."""
    by_type: dict[type, list[Any]] = {}
    for operand in operands:
        plain = _plain(operand)
        if plain is None:
            return UNKNOWN
        by_type.setdefault(type(plain), []).append(plain)
    if negated and float in by_type:  # not exact
        return UNKNOWN
    parts = [_one_of(path, list(dict.fromkeys(own)), negated=negated) for own in by_type.values()]
    if not parts:
        return ALWAYS if negated else NEVER
    return _all(parts) if negated else _any(parts)


def _one_of(path: str, operands: list[Any], *, negated: bool) -> Where:
    exact = type(operands[0]) is not float
    if len(operands) == 1:
        return Where({path: {"$ne": operands[0]} if negated else operands[0]}, exact)
    if len(operands) > MOST:
        return UNKNOWN
    return Where({path: {"$nin" if negated else "$in": operands}}, exact, len(operands))


def _plain(operand: Any) -> str | bool | int | float | None:
    """Return an operand as a value that the store compares, a float if it has a fraction."""
    if isinstance(operand, str):
        return str.__str__(operand) if is_storable(operand) else None
    if isinstance(operand, bool):
        return operand
    if not isinstance(operand, Real | Decimal):
        return None
    number = number_copy(operand)
    return None if number is None or abs(number) > WHOLE else number


def _contains(path: str, operand: Any, *, negated: bool) -> Where:
    """Ask for lists with an element; only their strings are copied."""
    if not isinstance(operand, str) or not is_storable(operand):
        return UNKNOWN
    name = "$not_contains" if negated else "$contains"
    return Where({path: {name: str.__str__(operand)}}, exact=True)


def _range(path: str, name: str, bound: Any) -> Where:
    """Ask for numbers on one side of a bound; beside integers a fraction is rounded outwards."""
    plain = _plain(bound)
    if isinstance(plain, str | bool) or plain is None:
        return UNKNOWN
    if isinstance(plain, int):
        return Where({path: {name: plain}}, exact=True)
    ends, rounded = _ROUNDED[name]
    tests = [{path: {ends: plain}}, {path: {ends: rounded(plain)}}]
    return Where({"$or": tests}, exact=False, size=2)


_ROUNDED: dict[str, Any] = {
    "$gt": ("$gte", math.ceil),
    "$gte": ("$gte", math.ceil),
    "$lt": ("$lte", math.floor),
    "$lte": ("$lte", math.floor),
}
