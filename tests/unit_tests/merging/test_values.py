"""When two values are the same value."""

from __future__ import annotations

from collections import OrderedDict
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_safe_retrievers.merging.copying import copy_containers
from langchain_safe_retrievers.merging.values import (
    Interner,
    bucket,
    distinct,
    family,
    is_dict,
    is_number,
    same,
    surely_same,
)
from tests.unit_tests import laws
from tests.unit_tests.strategies import (
    HOSTILE,
    Colour,
    EqRaises,
    Model,
    Record,
    Size,
    Tags,
    Tongue,
    any_values,
    cyclic_dict,
    cyclic_list,
    nested,
    twin,
)

SAME = {
    "int and float": (1, 1.0),
    "int and Decimal": (1, Decimal("1.00")),
    "float and Fraction": (0.5, Fraction(1, 2)),
    "int and numpy int": (1, np.int64(1)),
    "float and numpy float32": (0.5, np.float32(0.5)),
    "int and IntEnum": (1, Size.LARGE),
    "bool and numpy bool": (True, np.bool_(True)),
    "str and StrEnum": ("en", Tongue.EN),
    "str and numpy str": ("en", np.str_("en")),
    "NaN": (float("nan"), float("nan")),
    "NaN of other kinds": (float("nan"), np.float32("nan")),
    "Decimal NaN": (Decimal("NaN"), Decimal("NaN")),
    "negative zero": (0.0, -0.0),
    "dicts in another order": ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    "dict and its subclass": ({"a": [1]}, OrderedDict(a=[1.0])),
    "list and its subclass": ([1], Tags([1])),
    "tuples": ((1, "a"), (1, "a")),
    "set and frozenset": ({1, 2}, frozenset({2, 1})),
    "sets of NaN": ({float("nan")}, {float("nan")}),
    "arrays": (np.array([1, 2]), np.array([1, 2])),
    "arrays of int and float": (np.array([1, 2]), np.array([1.0, 2.0])),
    "arrays with NaN": (np.array([1, np.nan]), np.array([1, np.nan])),
    "0-d arrays": (np.array(3), np.array(3)),
    "empty arrays": (np.zeros((0, 2)), np.zeros((0, 2))),
    "not-a-time": (np.datetime64("NaT"), np.datetime64("NaT")),
    "models": (Model(n=1), Model(n=1)),
    "dataclasses": (Record(1), Record(1)),
    "cyclic dicts": (cyclic_dict(1), cyclic_dict(1)),
    "cyclic lists": (cyclic_list(1), cyclic_list(1)),
    "1,000 levels": (nested(1000, 1), nested(1000, 1.0)),
    "10,000 levels": (nested(10_000, 1), nested(10_000, 1)),
    "odd keys": ({None: 1, (1, 2): 2}, {(1, 2): 2, None: 1}),
}
DIFFERENT = {
    "int and bool": (1, True),
    "float and bool": (0.0, False),
    "int and str": (1, "1"),
    "bool and str": (True, "True"),
    "None and zero": (None, 0),
    "None and False": (None, False),
    "numpy int and numpy bool": (np.int64(1), np.bool_(True)),
    "int and bool in a list": ([1], [True]),
    "int and bool in a dict": ({"a": {"b": 1}}, {"a": {"b": True}}),
    "int and bool as keys": ({1: "a"}, {True: "a"}),
    "int and bool in a set": ({1}, {True}),
    "int and bool in a tuple": ((1, (0,)), (1, (False,))),
    "int and bool arrays": (np.array([1, 0]), np.array([True, False])),
    "int and bool 0-d arrays": (np.array(1), np.array(True)),
    "int and bool in object arrays": (np.array([1], object), np.array([True], object)),
    "arrays of other shapes": (np.zeros((2, 3)), np.zeros((3, 2))),
    "empty arrays of other shapes": (np.zeros((0, 2)), np.zeros((0, 3))),
    "array and list": (np.array([1, 2]), [1, 2]),
    "times and ints in arrays": (np.array(["1970-01-01"], "M8[ns]"), np.array([0])),
    "timedelta and int": (np.timedelta64(1, "s"), 1),
    "list and tuple": ([1, 2], (1, 2)),
    "list and set": ([1], {1}),
    "empty list and empty dict": ([], {}),
    "lists in another order": ([1, 2], [2, 1]),
    "lists of other lengths": ([1], [1, 1]),
    "dicts of other keys": ({"a": 1}, {"b": 1}),
    "bytes and bytearray": (b"a", bytearray(b"a")),
    "bytes and str": (b"a", "a"),
    "enum and its value": (Colour.BLUE, 1),
    "aware and naive datetimes": (datetime(2024, 1, 1), datetime(2024, 1, 1, tzinfo=UTC)),  # noqa: DTZ001
    "model and dataclass": (Model(n=1), Record(1)),
    "objects that cannot be compared": (EqRaises(), EqRaises()),
    "cyclic dicts of other values": (cyclic_dict(1), cyclic_dict(2)),
    "1,000 levels over other values": (nested(1000, 1), nested(1000, True)),
    "a string and its list": ("a", ["a"]),
}
same_pairs = pytest.mark.parametrize(("a", "b"), SAME.values(), ids=SAME)
different_pairs = pytest.mark.parametrize(("a", "b"), DIFFERENT.values(), ids=DIFFERENT)


@same_pairs
def test_one_value_in_two_forms_is_the_same(a: Any, b: Any) -> None:
    assert same(a, b)
    assert same(b, a)


@same_pairs
def test_one_value_in_two_forms_has_one_key(a: Any, b: Any) -> None:
    seen = Interner()
    assert seen.key(a) == seen.key(b)
    assert bucket(a) == bucket(b)
    assert distinct([a, b, a])[0] is a
    assert len(distinct([a, b, a])) == 1


@different_pairs
def test_two_values_are_not_the_same(a: Any, b: Any) -> None:
    assert not same(a, b)
    assert not same(b, a)
    assert not surely_same(a, b)


@different_pairs
def test_two_values_have_two_keys(a: Any, b: Any) -> None:
    seen = Interner()
    assert seen.key(a) != seen.key(b)
    assert len(distinct([a, b, a, b])) == 2


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_value_of_any_kind_is_itself_and_its_own_key(kind: str) -> None:
    value, seen = HOSTILE[kind](0), Interner()
    assert same(value, value)
    assert same([value], [value])
    assert seen.key(value) == seen.key(value)
    assert len(distinct([value, value, [value], [value]])) == 2


@pytest.mark.parametrize("kind", HOSTILE)
def test_any_two_kinds_are_compared_without_an_error_and_both_ways_alike(kind: str) -> None:
    a = HOSTILE[kind](0)
    for other, n in product(HOSTILE, (0, 1)):
        b = HOSTILE[other](n)
        assert same(a, b) is same(b, a) is laws.alike(a, b), (kind, other, n)


@given(st.data())
def test_same_agrees_with_a_slow_comparison_written_for_these_tests(data: st.DataObject) -> None:
    a = data.draw(any_values)
    b = data.draw(any_values | st.just(twin(a)))
    assert same(a, b) is laws.alike(a, b)
    assert same(a, twin(a))


@given(any_values, any_values)
def test_surely_same_is_never_wrong(a: Any, b: Any) -> None:
    assert not surely_same(a, b) or same(a, b)


@given(st.lists(any_values, max_size=6))
def test_keys_are_equal_exactly_where_values_are_the_same(values: list[Any]) -> None:
    keys = list(Interner().keys(values))
    for (a, key_a), (b, key_b) in combinations(zip(values, keys, strict=True), 2):
        assert (key_a == key_b) is same(a, b)


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ({}, "dict"),
        (OrderedDict(), "dict"),
        (Tags(), "list"),
        ((), "tuple"),
        (set(), "set"),
        (frozenset(), "set"),
        (np.array([1]), "array"),
        (np.array(1), None),
        (np.int64(1), None),
        ("text", None),
        (b"bytes", None),
        (None, None),
        (Record(1), None),
    ],
)
def test_a_family_is_told_by_type(value: Any, name: str | None) -> None:
    assert family(value) == name
    assert is_dict(value) is (name == "dict")


@pytest.mark.parametrize(
    "value", [0, -1.5, float("nan"), Decimal(1), Fraction(1, 3), np.int8(1), np.float64(2), 1j]
)
def test_a_number_of_any_kind_is_a_number(value: Any) -> None:
    assert is_number(value)


@pytest.mark.parametrize(
    "value",
    [True, np.bool_(False), "1", None, [1], np.array([1]), Colour.RED, np.timedelta64(1, "s")],
)
def test_bools_texts_durations_and_arrays_are_no_numbers(value: Any) -> None:
    assert not is_number(value)


def test_distinct_keeps_the_first_of_each_in_order() -> None:
    assert distinct([3, 1, 3.0, "3", True, 1]) == [3, 1, "3", True]
    assert distinct([]) == []


def test_a_copy_has_containers_of_its_own_and_shares_everything_else() -> None:
    leaf = Record(1)
    value: dict[str, Any] = {"a": [leaf, {1, 2}], "t": (leaf,)}
    copied = copy_containers(value)
    assert copied == value
    assert copied["a"] is not value["a"]
    assert copied["a"][1] is not value["a"][1]
    assert copied["a"][0] is leaf


def test_a_copy_of_a_cycle_is_a_cycle_of_its_own() -> None:
    value = cyclic_dict(1)
    copied = copy_containers(value)
    assert copied["me"] is copied is not value


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_value_of_any_kind_can_be_copied_and_is_the_same_then(kind: str) -> None:
    value = HOSTILE[kind](0)
    assert same(copy_containers({"v": value}), {"v": value})
