"""Metadata goes into JSON and comes back equal, type for type, or is refused by name."""

from __future__ import annotations

import json
import math
from collections import OrderedDict, namedtuple
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_safe_retrievers.codec import MAX_DEPTH, decode, encode
from langchain_safe_retrievers.errors import MetadataError
from tests.unit_tests.keyword.strategies import metadata, rare, scalars, values


def same_types(a: Any, b: Any) -> bool:  # noqa: PLR0911 - one return a kind of value
    """Tell whether two values are equal and of the same types all the way down, NaN being NaN."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return len(a) == len(b) and all(
            same_types(x, y) for x, y in zip(a.items(), b.items(), strict=True)
        )
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(same_types(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, datetime | time):
        return (
            a.replace(tzinfo=None) == b.replace(tzinfo=None)
            and a.fold == b.fold
            and (a.tzinfo == b.tzinfo)
        )
    if isinstance(a, float):
        return str(a) == str(b)
    if isinstance(a, Decimal):
        return a.as_tuple() == b.as_tuple()
    return bool(a == b)


@given(st.one_of(metadata(st.one_of(scalars, rare)), values(st.one_of(scalars, rare))))
def test_what_goes_in_comes_out_equal_and_of_the_same_types(value):
    text = encode(value)
    assert same_types(decode(text), value)
    text.encode()
    json.loads(text, parse_constant=pytest.fail)


KEPT = [
    {},
    [],
    (),
    set(),
    frozenset(),
    "",
    b"",
    {"$": 1},
    {"$": ["tuple", [1]]},
    {"$": {"$": {}}},
    {"a": {"$": None, "b": 1}},
    {1: "int", "1": "str", None: 0, True + 1: 2, (1, "x"): 3},
    {"": {"": []}},
    [1, True, 1.0, "1", None],
    [math.nan, math.inf, -math.inf, -0.0, 5e-324, 1.7976931348623157e308],
    [2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 10**5000],
    (1, (2, [3, {"four": (5,)}])),
    {frozenset({"a"}): {1, 2}},
    "\ud800",
    "\ud83d\ude00",
    {"\udfff": 1},
    datetime(2024, 5, 1, 12, 30, 0, 1),  # noqa: DTZ001 - naive on purpose
    datetime(2024, 5, 1, tzinfo=UTC),
    datetime(2024, 10, 27, 2, 30, fold=1, tzinfo=ZoneInfo("Europe/Berlin")),
    datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14))),
    datetime(9999, 12, 31, tzinfo=timezone(-timedelta(hours=14, seconds=1))),
    date(2024, 5, 1),
    time(1, 2, 3, 4),
    time(1, tzinfo=UTC),
    timedelta(days=-1, microseconds=1),
    [Decimal("1.10"), Decimal("-0"), Decimal("NaN"), Decimal("sNaN"), Decimal("1E+999999")],
    UUID(int=7),
    bytes(range(256)),
]


@pytest.mark.parametrize(
    "value", KEPT, ids=lambda value: repr(value)[:40] if value != KEPT[15] else "big"
)
def test_each_kind_of_value_is_kept(value):
    assert same_types(decode(encode(value)), value)


def test_plain_json_is_written_as_it_is():
    assert encode({"a": [1, None, "é", {"b": 0.5}]}) == '{"a":[1,null,"é",{"b":0.5}]}'


def test_equal_sets_give_equal_texts_and_key_order_can_be_ignored():
    assert encode({"c", "b", "a"}) == encode({"a", "b", "c"})
    assert encode({"b": 1, "a": 2}) != encode({"a": 2, "b": 1})
    assert encode({"b": 1, "a": 2}, sort_keys=True) == encode({"a": 2, "b": 1}, sort_keys=True)


class Colour(Enum):
    RED = "red"


class Size(IntEnum):
    ONE = 1


class Zone(tzinfo):
    def utcoffset(self, _moment):
        return timedelta(0)


Point = namedtuple("Point", "x y")  # noqa: PYI024 - the untyped kind is what people put there


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        (Colour.RED, "store value.value"),
        (Size.ONE, "store value.value"),
        (np.float64(1), r"store float\(value\)"),
        (np.int64(1), r"store value.tolist\(\)"),
        (np.array([1, 2]), r"store value.tolist\(\)"),
        (Point(1, 2), r"store tuple\(value\)"),
        (OrderedDict(a=1), r"store dict\(value\)"),
        (object(), "store its parts or its text"),
        (type("Day", (date,), {})(2024, 5, 1), r"store value.isoformat\(\)"),
        (datetime(2024, 5, 1, tzinfo=Zone()), "expected datetime.timezone"),
    ],
)
def test_what_would_come_back_as_something_else_is_refused_with_what_to_write(value, hint):
    with pytest.raises(MetadataError, match=hint):
        encode(value)


def test_the_error_names_the_owner_and_the_path():
    with pytest.raises(
        MetadataError, match=r"^metadata of document '7' at law\.articles\.1\.owner: got"
    ):
        encode({"law": {"articles": [1, {"owner": object()}]}}, owner="metadata of document '7'")


def test_cycles_and_endless_nesting_are_refused_and_a_hundred_levels_kept():
    deep: Any = ()
    for _ in range(MAX_DEPTH):
        deep = (deep,)
    assert decode(encode(deep)) == deep
    with pytest.raises(MetadataError, match="more than 100 levels"):
        encode((deep,))
    cycle: dict[str, Any] = {}
    cycle["me"] = [cycle, cycle]
    with pytest.raises(MetadataError, match="or a cycle"):
        encode(cycle)
