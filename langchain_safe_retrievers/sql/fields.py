"""What a metadata key is in a table: a column, a path into JSON, or nothing."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any, ClassVar, Protocol, TypeAlias

from sqlalchemy import BindParameter, ColumnElement, and_, bindparam, or_

from langchain_safe_retrievers.ordering import time_of as read_time
from langchain_safe_retrievers.sql.pushed import ALWAYS, NEVER, UNKNOWN, Pushed, any_of

COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}


class Verdict(Enum):
    """Why an operand is not compared in SQL."""

    NO = "no value of the column can match it"
    UNSURE = "only Python can tell"


Bound: TypeAlias = ColumnElement[Any] | Verdict


class Field(Protocol):
    """What can be asked of the value under a metadata key."""

    @property
    def present(self) -> Pushed:
        """Whether it is there, None too."""

    def equals(self, operands: Sequence[Any]) -> Pushed:
        """Whether it equals one of the operands."""

    def compares(self, name: str, bound: Any) -> Pushed:
        """Whether it lies where `$gt`, `$gte`, `$lt` or `$lte` says."""

    def at(self, steps: Sequence[str]) -> Field:
        """Return the field below this one."""


class Absent:
    """A key that no document has."""

    present = NEVER

    def equals(self, _operands: Sequence[Any]) -> Pushed:
        """Nothing is there."""
        return NEVER

    def compares(self, _name: str, _bound: Any) -> Pushed:
        """Nothing is there."""
        return NEVER

    def at(self, _steps: Sequence[str]) -> Field:
        """Nothing is below it."""
        return self


class Unsure:
    """A place of which only Python can tell what is there."""

    present = UNKNOWN

    def equals(self, _operands: Sequence[Any]) -> Pushed:
        """Nothing is known."""
        return UNKNOWN

    def compares(self, _name: str, _bound: Any) -> Pushed:
        """Nothing is known."""
        return UNKNOWN

    def at(self, _steps: Sequence[str]) -> Field:
        """Nothing is known below it either."""
        return self


@dataclass(frozen=True)
class Either:
    """A dotted key: itself a key of a JSON object, or a path into it."""

    fields: tuple[Field, ...]

    @property
    def present(self) -> Pushed:
        """Whether one is there."""
        return self._one([field.present for field in self.fields])

    def equals(self, operands: Sequence[Any]) -> Pushed:
        """Whether one equals one of the operands."""
        return self._one([field.equals(operands) for field in self.fields])

    def compares(self, name: str, bound: Any) -> Pushed:
        """Whether one lies where it should."""
        return self._one([field.compares(name, bound) for field in self.fields])

    def at(self, _steps: Sequence[str]) -> Field:
        """Leave it to Python."""
        return Unsure()

    def _one(self, parts: Sequence[Pushed]) -> Pushed:
        return any_of(parts)._replace(exact=False)  # the key hides the path


@dataclass(frozen=True)
class ColumnField:
    """A column of which only NULL is understood; the base of those that know their type.

    Args:
        column: The column.
    """

    column: ColumnElement[Any]
    present: ClassVar[Pushed] = ALWAYS
    exact_equality: ClassVar[bool] = True

    def equals(self, operands: Sequence[Any]) -> Pushed:
        """Whether its value equals one of the operands."""
        bounds = [self.equal_to(operand) for operand in operands if operand is not None]
        if Verdict.UNSURE in bounds:
            return UNKNOWN
        parts = [Pushed(self.column.is_(None), exact=True)] if None in operands else []
        known = [bound for bound in bounds if not isinstance(bound, Verdict)]
        if known:
            test = and_(self.comparable(), self.is_one_of(known))
            parts.append(Pushed(test, self.exact_equality, 2 + len(known) // 100))
        return any_of(parts)

    def compares(self, name: str, bound: Any) -> Pushed:
        """Whether its value lies where it should."""
        value = self.ordered_by(bound)
        if isinstance(value, Verdict):
            return NEVER if value is Verdict.NO else UNKNOWN
        return Pushed(and_(self.comparable(), self.lies(name, value)), exact=True)

    def at(self, _steps: Sequence[str]) -> Field:
        """Return what is below it: nobody knows."""
        return Unsure()

    def equal_to(self, _operand: Any) -> Bound:
        """Return an operand as a parameter to compare for equality."""
        return Verdict.UNSURE

    def ordered_by(self, _bound: Any) -> Bound:
        """Return an operand as a parameter to compare for order."""
        return Verdict.UNSURE

    def comparable(self) -> ColumnElement[bool]:
        """Return whether a row's value is of the column's type at all."""
        return self.column.is_not(None)

    def is_one_of(self, values: Sequence[ColumnElement[Any]]) -> ColumnElement[bool]:
        """Return whether a comparable value is one of some."""
        return among(self.column, values)

    def lies(self, name: str, bound: ColumnElement[Any]) -> ColumnElement[bool]:
        """Return whether a comparable value lies where it should."""
        test: ColumnElement[bool] = COMPARE[name](self.column, bound)
        return test


class ScalarField(ColumnField):
    """A column whose values are never dicts."""

    def at(self, _steps: Sequence[str]) -> Field:
        """Nothing is below it."""
        return Absent()


@dataclass(frozen=True)
class Fields:
    """The fields of a table, by metadata key.

    Args:
        columns: The columns that are metadata keys.
        spread: The JSON column whose keys are metadata keys too, or None.
    """

    columns: Mapping[str, Field]
    spread: Field | None = None

    def __call__(self, key: str) -> Field:
        """Return what is under a key or dotted path."""
        if key in self.columns:
            return self.columns[key]
        first, *rest = key.split(".")
        inside = self.spread or Absent()
        if not rest:
            return inside.at([key])
        below = self.columns[first].at(rest) if first in self.columns else inside.at([first, *rest])
        return below if self.spread is None else Either((inside.at([key]), below))


def among(column: ColumnElement[Any], values: Sequence[Any]) -> ColumnElement[bool]:
    """Return whether a column has one of some values: one parameter for all of a type.

    Args:
        column: The column.
        values: Literals.

    Returns:
        The test.
    """
    by_type: dict[type, list[Any]] = {}
    for value in values:
        by_type.setdefault(type(value.type), []).append(value)
    return or_(*(column.in_(_list_of(some)) for some in by_type.values()))


def _list_of(values: Sequence[Any]) -> BindParameter[Any]:
    return bindparam(None, [each.value for each in values], values[0].type, expanding=True)


# Operands -----------------------------------------------------------------------------------------

PLAIN = (str, bool, int, float, Decimal, date, datetime)


def of_type(operand: Any, *kinds: type) -> bool | Verdict:
    """Tell whether an operand has one of a column's types.

    Args:
        operand: Any value.
        *kinds: The types whose values can equal a value of the column.

    Returns:
        True, or the verdict: NO for another plain type, UNSURE for anything odd.
    """
    kind = type(operand)
    if kind in kinds:
        return True
    return Verdict.NO if kind in PLAIN else Verdict.UNSURE


def can_be_sent(text: str) -> bool:
    """Tell whether engines take a string: no NUL, no half of a surrogate pair.

    Args:
        text: Any string.

    Returns:
        Whether it can be a parameter.
    """
    return "\0" not in text and not any("\ud800" <= char <= "\udfff" for char in text)


def around(number: Any) -> tuple[float, float] | None:
    """Return bounds around a number that no rounding crosses, or None for one out of range.

    Args:
        number: Any number.

    Returns:
        One just below it and one just above.
    """
    try:
        near = float(number)
    except (OverflowError, ValueError):
        return None
    if not abs(near) < 1e300:  # noqa: PLR2004 - NaN too
        return None
    slack = abs(near) * 1e-9 + 1e-300
    return near - slack, near + slack


def near(name: str, value: Any, bounds: tuple[Any, Any]) -> Any:
    """Return a test that a number passes if it may lie where it should.

    Args:
        name: `$eq`, or the operator of a range.
        value: The number in SQL.
        bounds: What `around` returned, as parameters.

    Returns:
        The test.
    """
    low, high = bounds
    if name == "$eq":
        return value.between(low, high)
    return value >= low if name in ("$gt", "$gte") else value <= high


def instant(bound: Any) -> datetime | None:
    """Return the time a bound names, in UTC, or None for no time.

    Args:
        bound: A date, a datetime or an ISO 8601 string.

    Returns:
        The time.

    Raises:
        OverflowError: It is beyond the years 1 to 9999 in UTC.
    """
    time = read_time(bound)
    return None if time is None else time.astimezone(UTC)
