"""The portable filter as a store's own, as far as the store can hold it.

What a store cannot say is left out, so its filter may let too much through, never too little;
`compile_filter` has the last word. How one condition is said is the store's `Leaf`; how
conditions combine is the same for all. Chroma's leaf asks the copies that `flat` makes. Chroma
has no negation, no test for a key's being there, no patterns, ranges over numbers alone, and cuts
the fraction off an operand beside a stored integer. A range of dates is asked of the copies of
their days; what has no such copy passes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple, TypeAlias

from langchain_safe_retrievers.vector.flat import (
    METADATA,
    WHOLE,
    day_key,
    days_of,
    has_day_key,
    is_filterable,
    is_storable,
    number_copy,
)

MOST = 1_000  # operands in a filter; engines refuse expressions without end


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

Leaf: TypeAlias = Callable[[str, str, Any, bool], Where]
"""Says one condition: of a path, a positive operator (`$in`, `$contains`, `$gt`, `$gte`, `$lt`,
`$lte`, `$like`, `$ilike`, or `$exists` with True), its operand, and whether it is to fail."""


def to_where(filter: Mapping[str, Any], leaf: Leaf | None = None) -> Where:  # noqa: A002 - LangChain's name
    """Return what of a portable filter a store can hold.

    Args:
        filter: A filter that `compile_filter` has accepted.
        leaf: How the store says one condition; None for Chroma's way.

    Returns:
        The store's filter; its conditions are joined by `{"$and": [...]}` and `{"$or": [...]}`.

    Example:
        >>> to_where({"lang": "en", "law.chapter": {"$gte": 2}}).test
        {'$and': [{'lang': 'en'}, {'law.chapter': {'$gte': 2}}]}
        >>> to_where({"lang": {"$like": "e%"}})
        Where(test=None, exact=False, size=1)
    """
    return _Reader(leaf or chroma_leaf).filter(filter, negated=False)


# Combining ----------------------------------------------------------------------------------------


def all_of(parts: Sequence[Where]) -> Where:
    """Return what passes every part.

    Args:
        parts: Any number.

    Returns:
        The parts that say something, joined.
    """
    known = [part for part in parts if part.test is not None]
    exact = all(part.exact for part in parts)
    return _joined("$and", known, exact=exact) if known else Where(None, exact)


def any_of(parts: Sequence[Where]) -> Where:
    """Return what passes at least one part.

    Args:
        parts: At least one.

    Returns:
        The parts, joined; nothing if one of them says nothing.
    """
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


class _Reader(NamedTuple):
    """Reads a filter, and says its conditions one store's way."""

    leaf: Leaf

    def filter(self, written: Mapping[str, Any], *, negated: bool) -> Where:
        combine = any_of if negated else all_of
        return combine([self.entry(*entry, negated=negated) for entry in written.items()])

    def entry(self, key: str, written: Any, *, negated: bool) -> Where:
        name = key.lower()
        if name == "$not":
            parts = [written] if isinstance(written, Mapping) else written
            combine = any_of if negated else all_of  # none of them
            return combine([self.filter(part, negated=not negated) for part in parts])
        if name in ("$and", "$or"):
            combine = all_of if (name == "$and") != negated else any_of
            return combine([self.filter(part, negated=negated) for part in written])
        operators = written if _has_operators(written) else {"$eq": written}
        return self.operators(key, operators, negated=negated)

    def operators(self, path: str, written: Mapping[str, Any], *, negated: bool) -> Where:
        combine = any_of if negated else all_of
        return combine([self.operator(path, *entry, negated=negated) for entry in written.items()])

    def operator(self, path: str, name: str, operand: Any, *, negated: bool) -> Where:
        if name == "$not":
            return self.operators(path, operand, negated=not negated)
        if name in _NEGATIONS:
            name, negated = _NEGATIONS[name], not negated
        if name == "$between":
            ends = {"$gte": operand[0], "$lte": operand[1]}
            return self.operators(path, ends, negated=negated)
        if name == "$exists":
            return self.leaf(path, name, True, negated is operand)  # noqa: FBT003 - its operand
        if name in ("$eq", "$in"):
            return self.leaf(path, "$in", [operand] if name == "$eq" else list(operand), negated)
        return self.leaf(path, name, operand, negated)


_NEGATIONS = {"$ne": "$eq", "$nin": "$in", "$not_contains": "$contains"}


def _has_operators(written: Any) -> bool:
    return isinstance(written, Mapping) and any(str(name).startswith("$") for name in written)


# Asking Chroma ------------------------------------------------------------------------------------


def chroma_leaf(path: str, name: str, operand: Any, negated: bool) -> Where:  # noqa: FBT001 - a `Leaf`
    """Say one condition as Chroma's `where` over the copies.

    Args:
        path: A metadata key or dotted path.
        name: A positive operator.
        operand: What it is given.
        negated: Whether it is to fail.

    Returns:
        The condition.
    """
    if not is_filterable(path):
        return UNKNOWN
    if name == "$in":
        return _equal(path, operand, negated=negated)
    if name == "$contains":
        return _contains(path, operand, negated=negated)
    if negated or name not in _ROUNDED:
        return UNKNOWN
    return _days(path, name, operand) or _range(path, name, operand)


def _equal(path: str, operands: Sequence[Any], *, negated: bool) -> Where:
    """Ask for values that equal an operand, of one type at a time."""
    by_type = plain_by_type(operands)
    if by_type is None or (negated and float in by_type):  # fractions are not exact
        return UNKNOWN
    parts = [_one_of(path, list(dict.fromkeys(own)), negated=negated) for own in by_type.values()]
    if not parts:
        return ALWAYS if negated else NEVER
    return all_of(parts) if negated else any_of(parts)


def _one_of(path: str, operands: list[Any], *, negated: bool) -> Where:
    exact = type(operands[0]) is not float
    if len(operands) == 1:
        return Where({path: {"$ne": operands[0]} if negated else operands[0]}, exact)
    if len(operands) > MOST:
        return UNKNOWN
    return Where({path: {"$nin" if negated else "$in": operands}}, exact, len(operands))


def _contains(path: str, operand: Any, *, negated: bool) -> Where:
    """Ask for lists with an element; only their strings are copied."""
    if not isinstance(operand, str) or not is_storable(operand):
        return UNKNOWN
    name = "$not_contains" if negated else "$contains"
    return Where({path: {name: str.__str__(operand)}}, exact=True)


def _range(path: str, name: str, bound: Any) -> Where:
    """Ask for numbers on one side of a bound; beside integers a fraction is rounded outwards."""
    plain = plain_operand(bound)
    if isinstance(plain, str | bool) or plain is None:
        return UNKNOWN
    if isinstance(plain, int):
        return Where({path: {name: plain}}, exact=True)
    ends, rounded = _ROUNDED[name]
    tests = [{path: {ends: plain}}, {path: {ends: rounded(plain)}}]
    return Where({"$or": tests}, exact=False, size=2)


def _days(path: str, name: str, bound: Any) -> Where | None:
    """Ask for the days on one side of a date; what is not marked as having a day passes."""
    day = day_bound(name, bound)
    if day is None:
        return None
    tests = [{day_key(path): {_ROUNDED[name][0]: day}}, {has_day_key(path): {"$ne": True}}]
    return Where({"$or": tests}, exact=False, size=2)


_ROUNDED: dict[str, Any] = {
    "$gt": ("$gte", math.ceil),
    "$gte": ("$gte", math.ceil),
    "$lt": ("$lte", math.floor),
    "$lte": ("$lte", math.floor),
}


# Operands, for any store --------------------------------------------------------------------------


def plain_operand(operand: Any) -> str | bool | int | float | None:
    """Return an operand as a value that stores compare, a float only if it has a fraction.

    Args:
        operand: What a filter compares with.

    Returns:
        The value; None if stores have none.

    Example:
        >>> plain_operand(Decimal("2.0")), plain_operand(2**60)
        (2, None)
    """
    if isinstance(operand, str):
        return str.__str__(operand) if is_storable(operand) else None
    if isinstance(operand, bool):
        return operand
    if not isinstance(operand, Real | Decimal):
        return None
    number = number_copy(operand)
    return None if number is None or abs(number) > WHOLE else number


def plain_by_type(operands: Sequence[Any]) -> dict[type, list[Any]] | None:
    """Return operands as values that stores compare, by type.

    Args:
        operands: What a filter compares with.

    Returns:
        The values; None if stores have none for one of them.

    Example:
        >>> plain_by_type(["a", 1, 2.0])
        {<class 'str'>: ['a'], <class 'int'>: [1, 2]}
    """
    by_type: dict[type, list[Any]] = {}
    for operand in operands:
        plain = plain_operand(operand)
        if plain is None:
            return None
        by_type.setdefault(type(plain), []).append(plain)
    return by_type


def day_bound(name: str, bound: Any) -> int | None:
    """Return the first, or last, day that a value in a range of dates may have.

    Strings are compared with strings as text, dates as times, so the copy of a value's day may
    be one off: one more is let through.

    Args:
        name: `$gt` or `$gte`, or `$lt` or `$lte`.
        bound: Where the range begins, or ends.

    Returns:
        The day as a number YYYYMMDD; None if the bound is no date.

    Example:
        >>> day_bound("$gte", "2024-01-01T12:00"), day_bound("$lt", date(2024, 1, 1))
        (20231231, 20240102)
    """
    step = timedelta(days=-1 if name in ("$gt", "$gte") else 1)
    try:
        moved = [date(day // 10_000, day // 100 % 100, day % 100) + step for day in days_of(bound)]
    except (ValueError, OverflowError):  # no day of the calendar
        return None
    if not moved:
        return None
    day = min(moved) if step.days < 0 else max(moved)
    return day.year * 10_000 + day.month * 100 + day.day
