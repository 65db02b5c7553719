"""What SQLite's columns can be asked; a value has its own type there, whatever the column says."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Any, ClassVar

from sqlalchemy import ColumnElement, and_, case, collate, false, func, literal, or_, true, types

from langchain_safe_retrievers.sql.fields import (
    COMPARE,
    Bound,
    ColumnField,
    Field,
    ScalarField,
    Unsure,
    Verdict,
    among,
    around,
    can_be_sent,
    instant,
    near,
    of_type,
)
from langchain_safe_retrievers.sql.pushed import UNKNOWN, Pushed, any_of

_BIG = 2**63
_A_DAY = timedelta(days=1)
_TEXT, _NUMBER = ("text",), ("integer", "real")


def field_of(column: ColumnElement[Any], declared: Any, by_code_point: bool) -> Field:  # noqa: FBT001
    """Return what a column can be asked.

    Args:
        column: The column, with no type.
        declared: The type it was declared with.
        by_code_point: Whether text is ordered by code point (in UTF-8 it is).

    Returns:
        The field.
    """
    field = next((field for kind, field in _FIELDS if isinstance(declared, kind)), ColumnField)
    if not by_code_point and field is not NumberField:
        return ColumnField(column)
    return field(column)


def _text(operand: str) -> Bound:
    return literal(operand) if can_be_sent(operand) else Verdict.UNSURE


def _number(operand: Any) -> Bound:
    if type(operand) is int and -_BIG <= operand < _BIG:
        return literal(operand)
    if type(operand) is float and abs(operand) < float("inf"):
        return literal(operand)
    return Verdict.UNSURE


class TextField(ScalarField):
    """A column of text affinity: text, or bytes."""

    kinds: ClassVar[tuple[str, ...]] = _TEXT

    def equal_to(self, operand: Any) -> Bound:
        """Strings equal strings."""
        fits = of_type(operand, str)
        return _text(operand) if fits is True else fits  # type: ignore[return-value]

    def ordered_by(self, bound: Any) -> Bound:
        """Strings are ordered among strings; beside a date they are read as times."""
        if type(bound) in (int, float, Decimal):
            return Verdict.NO
        return _text(bound) if type(bound) is str else Verdict.UNSURE

    def comparable(self) -> ColumnElement[bool]:
        """Return whether the value has one of the kinds."""
        return func.typeof(self.column).in_([literal(kind) for kind in self.kinds])

    def is_one_of(self, values: Sequence[ColumnElement[Any]]) -> ColumnElement[bool]:
        """Compare byte by byte, whatever the column's collation."""
        return among(collate(self.column, "BINARY"), values)

    def lies(self, name: str, bound: ColumnElement[Any]) -> ColumnElement[bool]:
        """Order byte by byte, that is by code point."""
        test: ColumnElement[bool] = COMPARE[name](collate(self.column, "BINARY"), bound)
        return test


class NumberField(ScalarField):
    """A column of a numeric affinity; SQLite compares integers with floats exactly."""

    def equal_to(self, operand: Any) -> Bound:
        """Numbers equal numbers; text in such a column is left to Python."""
        if type(operand) is bool:
            return Verdict.NO
        return _number(operand)

    def ordered_by(self, bound: Any) -> Bound:
        """Numbers are ordered among numbers."""
        return _number(bound)

    def comparable(self) -> ColumnElement[bool]:
        """Return whether the value is a number."""
        return func.typeof(self.column).in_([literal(kind) for kind in _NUMBER])


class AnyField(TextField):
    """A column without a type, as FTS5 has them: what was put in comes out."""

    kinds: ClassVar[tuple[str, ...]] = (*_TEXT, *_NUMBER)

    def equal_to(self, operand: Any) -> Bound:
        """Strings equal strings, numbers numbers."""
        if type(operand) in (int, float, Decimal):
            return _number(operand)
        return super().equal_to(operand)

    def compares(self, name: str, bound: Any) -> Pushed:
        """Order a value among those of its kind."""
        value = _number(bound) if type(bound) in (int, float) else self.ordered_by(bound)
        if isinstance(value, Verdict) or type(bound) is Decimal:
            return UNKNOWN
        kinds = _TEXT if type(bound) is str else _NUMBER
        same_kind = func.typeof(self.column).in_([literal(kind) for kind in kinds])
        return Pushed(and_(same_kind, self.lies(name, value)), exact=True)


class BoolField(ScalarField):
    """A column declared BOOLEAN: 1 and 0 are True and False."""

    def equal_to(self, operand: Any) -> Bound:
        """A bool equals bools; whatever else is in there is left to Python."""
        return literal(int(operand)) if type(operand) is bool else Verdict.UNSURE

    def comparable(self) -> ColumnElement[bool]:
        """Return whether the value is a whole number."""
        return func.typeof(self.column) == literal("integer")


class DayField(ScalarField):
    """A column declared DATE, DATETIME or TIMESTAMP: text, narrowed to a few days around."""

    def compares(self, name: str, bound: Any) -> Pushed:
        """Let through what lies within a day of the bound, and what is not written as a day."""
        if not isinstance(bound, date) and not (isinstance(bound, str) and _DAY.match(bound)):
            return UNKNOWN
        try:
            moment = instant(bound)
            if moment is None:
                return UNKNOWN
            first, last = moment.date() - _A_DAY, moment.date() + 2 * _A_DAY
        except OverflowError:
            return UNKNOWN
        above = name in ("$gt", "$gte")
        near_it = (
            self.column >= literal(first.isoformat())
            if above
            else (self.column < literal(last.isoformat()))
        )
        odd = func.glob(literal("[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*"), self.column) == 0
        return Pushed(func.coalesce(or_(near_it, odd), false()), exact=False)


@dataclass(frozen=True)
class JsonField(ColumnField):
    """A column declared JSON, or what lies at a path into it. Text that is no JSON passes.

    Args:
        path: The keys that lead there.
    """

    path: tuple[str, ...] = ()

    @property
    def present(self) -> Pushed:  # type: ignore[override]
        """Whether it is there; the column itself always is."""
        return self._if_json(self._kind.is_not(None)) if self.path else ColumnField.present

    def at(self, steps: Sequence[str]) -> Field:
        """Return what lies at a path of plain words; others are left to Python."""
        if not all(map(_WORD.fullmatch, steps)):
            return Unsure()
        return JsonField(self.column, (*self.path, *steps))

    def equals(self, operands: Sequence[Any]) -> Pushed:
        """Whether it may equal one of the operands."""
        return any_of([self._equals(operand) for operand in operands])

    def compares(self, name: str, bound: Any) -> Pushed:
        """Whether it may lie where it should."""
        if type(bound) in (int, float, Decimal):
            return self._near(name, bound)
        if type(bound) is not str or not can_be_sent(bound):
            return UNKNOWN
        if name == "$gt":
            name = "$gte"  # older versions cut text at a NUL
        return self._if_json(and_(self._is("text"), COMPARE[name](self._value, literal(bound))))

    def _equals(self, operand: Any) -> Pushed:
        if operand is None:
            return self._if_json(self._is("null"))
        if type(operand) is bool:
            return self._if_json(self._is("true" if operand else "false"))
        if type(operand) in (int, float, Decimal):
            return self._near("$eq", operand)
        if type(operand) is not str or not can_be_sent(operand):
            return UNKNOWN
        return self._if_json(and_(self._is("text"), self._value == literal(operand)))

    def _near(self, name: str, number: Any) -> Pushed:
        bounds = around(number)
        if bounds is None:
            return UNKNOWN
        low, high = map(literal, bounds)
        return self._if_json(and_(self._is(*_NUMBER), near(name, self._value, (low, high))))

    def _if_json(self, test: ColumnElement[bool]) -> Pushed:
        text = func.typeof(self.column) == literal("text")
        json = case((text, func.json_valid(self.column)), else_=0)
        return Pushed(case((json == 1, func.coalesce(test, false())), else_=true()), exact=False)

    def _is(self, *kinds: str) -> ColumnElement[bool]:
        return self._kind.in_([literal(kind) for kind in kinds])

    @property
    def _kind(self) -> ColumnElement[Any]:
        return func.json_type(self.column, self._path)

    @property
    def _value(self) -> ColumnElement[Any]:
        return func.json_extract(self.column, self._path)

    @property
    def _path(self) -> str:
        return "$" + "".join(f'."{step}"' for step in self.path)


_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_WORD = re.compile(r"[A-Za-z0-9_ -]+")

_FIELDS: tuple[tuple[type | tuple[type, ...], type[ColumnField]], ...] = (
    (types.JSON, JsonField),
    (types.Boolean, BoolField),
    ((types.Date, types.DateTime), DayField),
    (types.String, TextField),
    ((types.Integer, types.Numeric, types.Float), NumberField),
    (types.NullType, AnyField),
)
