"""The portable filter as SQL, with every operand a bound parameter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from langchain_safe_retrievers.sql.fields import COMPARE, Field
from langchain_safe_retrievers.sql.pushed import MOST, UNKNOWN, Pushed, all_of, any_of, negated

FieldOf: TypeAlias = Callable[[str], Field]


def push(written: Mapping[str, Any], field_of: FieldOf) -> Pushed:
    """Return a filter as a test for a WHERE clause.

    Args:
        written: A filter that `compile_filter` has read without an error.
        field_of: What a metadata key is in the table.

    Returns:
        The test.
    """
    return all_of([_entry(key, value, field_of) for key, value in written.items()])


def _entry(key: str, written: Any, field_of: FieldOf) -> Pushed:
    if not key.startswith("$"):
        return _field(field_of(key), written)
    if isinstance(written, Mapping):
        return negated(push(written, field_of))
    if len(written) > MOST:
        return UNKNOWN
    parts = [push(part, field_of) for part in written]
    name = key.lower()
    return all_of(parts) if name == "$and" else _or(name, any_of(parts))


def _or(name: str, found: Pushed) -> Pushed:
    return negated(found) if name == "$not" else found


def _field(field: Field, written: Any) -> Pushed:
    if isinstance(written, Mapping) and any(str(name).startswith("$") for name in written):
        return all_of([_operator(field, name, operand) for name, operand in written.items()])
    return field.equals([written])


def _operator(field: Field, name: str, operand: Any) -> Pushed:
    if name in _NEGATIONS:
        return negated(_operator(field, _NEGATIONS[name], operand))
    read = _OPERATORS.get(name)
    if read is not None:
        return read(field, operand)
    return field.compares(name, operand) if name in COMPARE else UNKNOWN


def _exists(field: Field, operand: bool) -> Pushed:  # noqa: FBT001 - the filter's own
    return field.present if operand else negated(field.present)


_OPERATORS: dict[str, Callable[[Field, Any], Pushed]] = {
    "$eq": lambda field, operand: field.equals([operand]),
    "$in": lambda field, operands: field.equals(list(operands)),
    "$between": lambda field, ends: all_of(
        [field.compares("$gte", ends[0]), field.compares("$lte", ends[1])]
    ),
    "$exists": _exists,
    "$not": lambda field, operand: negated(_field(field, operand)),
}

_NEGATIONS = {"$ne": "$eq", "$nin": "$in"}
