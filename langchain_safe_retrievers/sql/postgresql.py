"""What PostgreSQL's columns can be asked, type by type; exactly, or else left to Python."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, ClassVar
from uuid import UUID

from sqlalchemy import (
    JSON,
    BigInteger,
    ColumnElement,
    Date,
    DateTime,
    Numeric,
    Text,
    and_,
    case,
    collate,
    false,
    func,
    literal,
    types,
)
from sqlalchemy.dialects.postgresql import (
    ARRAY,
    BOOLEAN,
    DATE,
    DOUBLE_PRECISION,
    JSONB,
    NUMERIC,
    TEXT,
    TIMESTAMP,
    VARCHAR,
)

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
from langchain_safe_retrievers.sql.pushed import ALWAYS, UNKNOWN, Pushed, any_of

_BIG = 2**63
_EXACT_IN_FLOAT = 2**53
_MOST_DIGITS = 1000


def field_of(column: ColumnElement[Any], by_code_point: bool) -> Field:  # noqa: FBT001
    """Return what a column can be asked.

    Args:
        column: A column with its reflected type.
        by_code_point: Whether the collation "C" orders text by code point (in UTF-8 it does).

    Returns:
        The field.
    """
    kind = type(column.type)
    if kind is TIMESTAMP or kind is types.TIMESTAMP:
        return ZonedField(column) if column.type.timezone else TimeField(column)  # type: ignore[attr-defined]
    field = next((field for kinds, field in _FIELDS if kind in kinds), ColumnField)
    if not by_code_point and field in (TextField, JsonbField):
        return ColumnField(column)
    return field(column)


def _text(operand: str) -> Bound:
    return literal(operand, Text()) if can_be_sent(operand) else Verdict.UNSURE


class TextField(ScalarField):
    """TEXT and VARCHAR; compared byte by byte, whatever the column's collation."""

    def equal_to(self, operand: Any) -> Bound:
        """Strings equal strings."""
        fits = of_type(operand, str)
        return _text(operand) if fits is True else fits  # type: ignore[return-value]

    def ordered_by(self, bound: Any) -> Bound:
        """Strings are ordered among strings; beside a date they are read as times."""
        if type(bound) in (int, float, Decimal):
            return Verdict.NO
        return _text(bound) if type(bound) is str else Verdict.UNSURE

    def is_one_of(self, values: Sequence[ColumnElement[Any]]) -> ColumnElement[bool]:
        """Let an index find them, and the bytes decide."""
        return and_(among(self.column, values), among(collate(self.column, "C"), values))

    def lies(self, name: str, bound: ColumnElement[Any]) -> ColumnElement[bool]:
        """Order by code point."""
        test: ColumnElement[bool] = COMPARE[name](collate(self.column, "C"), bound)
        return test


class BoolField(ScalarField):
    """BOOLEAN."""

    def equal_to(self, operand: Any) -> Bound:
        """A bool equals bools only."""
        fits = of_type(operand, bool)
        return literal(operand, BOOLEAN()) if fits is True else fits  # type: ignore[return-value]

    def ordered_by(self, bound: Any) -> Bound:
        """Bools have no order."""
        return Verdict.NO if type(bound) in (str, int, float, Decimal) else Verdict.UNSURE


class UuidField(ScalarField):
    """UUID."""

    def equal_to(self, operand: Any) -> Bound:
        """A UUID equals UUIDs only."""
        fits = of_type(operand, UUID)
        return literal(operand, types.Uuid()) if fits is True else fits  # type: ignore[return-value]


class ExactNumberField(ScalarField):
    """SMALLINT, INTEGER, BIGINT and NUMERIC: compared as NUMERIC, without any rounding."""

    def equal_to(self, operand: Any) -> Bound:
        """Numbers equal numbers."""
        fits = of_type(operand, int, float, Decimal)
        return _number(operand) if fits is True else fits  # type: ignore[return-value]

    def ordered_by(self, bound: Any) -> Bound:
        """Numbers are ordered among numbers."""
        return _number(bound) if type(bound) in (int, float, Decimal) else Verdict.UNSURE

    def lies(self, name: str, bound: ColumnElement[Any]) -> ColumnElement[bool]:
        """NaN lies nowhere."""
        test = super().lies(name, bound)
        if isinstance(self.column.type, types.Integer):
            return test
        return and_(self.column != literal(Decimal("NaN"), Numeric()), test)


def _number(operand: Any) -> Bound:
    """Return a number as BIGINT, which an index takes, or as NUMERIC."""
    if type(operand) is int and -_BIG <= operand < _BIG:
        return literal(operand, BigInteger())
    if type(operand) is int and operand.bit_length() > 3 * _MOST_DIGITS:
        return Verdict.UNSURE
    exact = Decimal(operand)
    if not exact.is_finite() or abs(exact.adjusted()) > _MOST_DIGITS:
        return Verdict.UNSURE
    if len(exact.as_tuple().digits) > 2 * _MOST_DIGITS:
        return Verdict.UNSURE
    return literal(exact, Numeric())


class FloatField(ScalarField):
    """DOUBLE PRECISION: compared with floats, and with whole numbers that are floats too."""

    def equal_to(self, operand: Any) -> Bound:
        """Numbers equal numbers."""
        fits = of_type(operand, int, float, Decimal)
        return _double(operand) if fits is True else fits  # type: ignore[return-value]

    def ordered_by(self, bound: Any) -> Bound:
        """Numbers are ordered among numbers."""
        return _double(bound) if type(bound) in (int, float, Decimal) else Verdict.UNSURE

    def lies(self, name: str, bound: ColumnElement[Any]) -> ColumnElement[bool]:
        """NaN lies nowhere."""
        return and_(self.column != literal(math.nan, types.Double()), super().lies(name, bound))


def _double(operand: Any) -> Bound:
    whole = type(operand) is int and abs(operand) <= _EXACT_IN_FLOAT
    if whole or (type(operand) is float and math.isfinite(operand)):
        return literal(float(operand), types.Double())
    return Verdict.UNSURE


class DateField(ScalarField):
    """DATE; beside a time it is its own midnight, in UTC."""

    def equal_to(self, operand: Any) -> Bound:
        """A date equals dates only, no datetime and no string."""
        fits = of_type(operand, date)
        return literal(operand, Date()) if fits is True else fits  # type: ignore[return-value]

    def compares(self, name: str, bound: Any) -> Pushed:
        """Compare days: one that began before noon lies below noon, and its morrow above."""
        if isinstance(bound, str | date):
            moment = _moment(bound)
            if isinstance(moment, datetime) and moment.time() != time.min:
                name = {"$gte": "$gt", "$lt": "$lte"}.get(name, name)
        return super().compares(name, bound)

    def ordered_by(self, bound: Any) -> Bound:
        """Return the day of a time."""
        moment = _moment(bound)
        return moment if isinstance(moment, Verdict) else literal(moment.date(), Date())


class TimeField(ScalarField):
    """TIMESTAMP, read as UTC."""

    def equal_to(self, operand: Any) -> Bound:
        """A datetime without a zone equals those without a zone."""
        fits = of_type(operand, datetime)
        if fits is True and operand.tzinfo is not None:
            return Verdict.NO if operand.utcoffset() is not None else Verdict.UNSURE
        return literal(operand, DateTime()) if fits is True else fits  # type: ignore[return-value]

    def ordered_by(self, bound: Any) -> Bound:
        """Return a time in UTC."""
        moment = _moment(bound)
        if isinstance(moment, Verdict):
            return moment
        return literal(moment.replace(tzinfo=None), DateTime())


class ZonedField(ScalarField):
    """TIMESTAMP WITH TIME ZONE; Python denies that some equal times around a change are equal."""

    exact_equality: ClassVar[bool] = False

    def equal_to(self, operand: Any) -> Bound:
        """A datetime with a zone equals those with a zone."""
        fits = of_type(operand, datetime)
        if fits is not True:
            return fits  # type: ignore[return-value]
        if operand.utcoffset() is None:
            return Verdict.NO
        return literal(operand, DateTime(timezone=True))

    def ordered_by(self, bound: Any) -> Bound:
        """Return a time in UTC."""
        moment = _moment(bound)
        return moment if isinstance(moment, Verdict) else literal(moment, DateTime(timezone=True))


def _moment(bound: Any) -> datetime | Verdict:
    if not isinstance(bound, str | date):
        return Verdict.NO if type(bound) in (int, float, Decimal) else Verdict.UNSURE
    try:
        return instant(bound) or Verdict.NO
    except (OverflowError, ValueError):
        return Verdict.UNSURE


@dataclass(frozen=True)
class JsonbField(ColumnField):
    """JSONB, or what lies at a path into it.

    Args:
        path: The keys that lead there.
    """

    path: tuple[str, ...] = ()

    @property
    def present(self) -> Pushed:  # type: ignore[override]
        """Whether it is there; the column itself always is."""
        return Pushed(self._value.is_not(None), exact=True) if self.path else ALWAYS

    def at(self, steps: Sequence[str]) -> Field:
        """Return what lies at a path; a number would be read as a place in an array."""
        if any(_NUMBER.fullmatch(step) or not can_be_sent(step) for step in steps):
            return Unsure()
        return JsonbField(self.column, (*self.path, *steps))

    def equals(self, operands: Sequence[Any]) -> Pushed:
        """Whether it equals one of the operands."""
        return any_of([self._equals(operand) for operand in operands])

    def compares(self, name: str, bound: Any) -> Pushed:
        """Whether it lies where it should."""
        if type(bound) in (int, float, Decimal):
            return self._near(name, bound)
        if type(bound) is not str or not can_be_sent(bound):
            return UNKNOWN
        text = collate(self.column.op("#>>", return_type=Text())(_path(self.path)), "C")
        test = and_(self._is("string"), COMPARE[name](text, literal(bound, Text())))
        return Pushed(func.coalesce(test, false()), exact=True)

    def _equals(self, operand: Any) -> Pushed:
        if operand is None:
            null = self._same(JSON.NULL)
            return null if self.path else any_of([null, Pushed(self.column.is_(None), exact=True)])
        if type(operand) in (int, float, Decimal):
            return self._near("$eq", operand)
        if type(operand) is bool or (type(operand) is str and can_be_sent(operand)):
            return self._same(operand)
        return UNKNOWN

    def _same(self, operand: Any) -> Pushed:
        test = self._value.op("=", is_comparison=True)(literal(operand, JSONB()))
        return Pushed(func.coalesce(test, false()), exact=True)

    def _near(self, name: str, number: Any) -> Pushed:
        bounds = around(number)
        if bounds is None:
            return UNKNOWN
        low, high = (literal(Decimal(bound), Numeric()) for bound in bounds)
        test = near(name, self._value.cast(Numeric()), (low, high))
        return Pushed(case((self._is("number"), test), else_=false()), exact=False)

    def _is(self, kind: str) -> ColumnElement[bool]:
        return func.jsonb_typeof(self._value) == literal(kind, Text())

    @property
    def _value(self) -> ColumnElement[Any]:
        return self.column.op("#>", return_type=JSONB())(_path(self.path))


def _path(steps: tuple[str, ...]) -> ColumnElement[Any]:
    return literal(list(steps), ARRAY(Text()))


_NUMBER = re.compile(r"\s*[+-]?[0-9]+\s*")

_FIELDS: tuple[tuple[tuple[type, ...], type[ColumnField]], ...] = (
    ((TEXT, VARCHAR), TextField),
    ((BOOLEAN,), BoolField),
    ((types.SMALLINT, types.INTEGER, types.BIGINT, NUMERIC), ExactNumberField),
    ((DOUBLE_PRECISION,), FloatField),
    ((DATE,), DateField),
    ((types.UUID,), UuidField),
    ((JSONB,), JsonbField),
)
