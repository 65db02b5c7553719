"""Hypothesis strategies: metadata that can be stored, and portable filters that fit it."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from hypothesis import strategies as st

_ZONES = st.sampled_from(
    [None, UTC, timezone(timedelta(hours=-3, minutes=-30)), ZoneInfo("Europe/Berlin")]
)
numbers = st.one_of(
    st.integers(-3, 3),
    st.integers(2**53 - 2, 2**53 + 2),
    st.sampled_from([2**63, -(2**63) - 1]),
    st.sampled_from([1, -1]).map(lambda sign: sign * 10**400),
    st.sampled_from([0.0, -0.0, 0.5, 1.0, 2.0**53, float("inf"), float("-inf"), float("nan")]),
    st.sampled_from(list(map(Decimal, ["0", "1", "1.0", "0.1", "0.5", "1E+1000", "NaN"]))),
)
dates = st.one_of(
    st.dates(date(2024, 1, 1), date(2024, 1, 3)),
    st.builds(
        lambda day, hour, zone: datetime(2024, 1, day, hour, tzinfo=zone),
        st.integers(1, 3),
        st.sampled_from([0, 12, 23]),
        _ZONES,
    ),
    st.sampled_from([date.min, date.max]),
)
strings = st.one_of(
    st.sampled_from(["", "a", "ab", "b", "1", "True", "é", "劳动", "a.b", "$in", "\ud800", "\x00"]),
    st.sampled_from(["2024-01-02", "2024-01-02T12:00:00+01:00", "20240102", "2024", "99991231"]),
    st.builds(lambda n, end: "w" * n + end, st.integers(62, 66), st.sampled_from(["", "a", "z"])),
)
scalars = st.one_of(st.none(), st.booleans(), numbers, dates, strings)
rare = st.one_of(
    st.binary(max_size=3),
    st.builds(UUID, int=st.integers(0, 2**128 - 1)),
    st.timedeltas(),
    st.builds(lambda hour, zone: time(hour, tzinfo=zone), st.integers(0, 23), st.none()),
    st.frozensets(st.one_of(st.integers(), st.text()), max_size=2),
    st.text(max_size=5),
    st.floats(),
    st.decimals(),
)


def values(leaves: st.SearchStrategy[Any] = scalars) -> st.SearchStrategy[Any]:
    """Return a strategy of values: leaves, and containers of containers of them."""
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.lists(inner, max_size=3),
            st.lists(inner, max_size=2).map(tuple),
            st.dictionaries(st.sampled_from(["a", "b", "a.b", "", "$", "é"]), inner, max_size=3),
            st.dictionaries(st.one_of(st.integers(), st.none(), st.text()), inner, max_size=2),
        ),
        max_leaves=6,
    )


def metadata(leaves: st.SearchStrategy[Any] = scalars) -> st.SearchStrategy[dict[str, Any]]:
    """Return a strategy of metadata whose keys meet those of `filters`."""
    keys = st.sampled_from(["a", "b", "a.b", "a.a", "b.a", "$"])
    return st.dictionaries(keys, values(leaves), max_size=4)


_paths = st.sampled_from(["a", "b", "a.b", "a.a", "b.a", "a.b.a"])
_bounds = st.one_of(numbers.filter(lambda n: n == n), dates, strings)  # noqa: PLR0124 - no NaN
_range = st.sampled_from(["$gt", "$gte", "$lt", "$lte"])
_operators = st.one_of(
    st.dictionaries(
        st.sampled_from(["$eq", "$ne", "$contains", "$not_contains"]),
        values(),
        min_size=1,
        max_size=2,
    ),
    st.dictionaries(st.sampled_from(["$in", "$nin"]), st.lists(values(), max_size=3), min_size=1),
    st.dictionaries(_range, _bounds, min_size=1, max_size=2),
    st.builds(lambda low, high: {"$between": [low, high]}, _bounds, _bounds),
    st.builds(lambda there: {"$exists": there}, st.booleans()),
    st.builds(
        lambda name, text: {name: text},
        st.sampled_from(["$like", "$ilike"]),
        st.sampled_from(["a%", "_", "%W%"]),
    ),
)
_conditions = st.one_of(_operators, _operators, _operators.map(lambda inner: {"$not": inner}))
filters: st.SearchStrategy[dict[str, Any]] = st.recursive(
    st.dictionaries(_paths, st.one_of(_conditions, scalars), min_size=1, max_size=2),
    lambda inner: st.one_of(
        st.builds(
            lambda name, parts: {name: parts},
            st.sampled_from(["$and", "$or", "$not"]),
            st.lists(inner, min_size=1, max_size=3),
        ),
        inner.map(lambda part: {"$not": part}),
    ),
    max_leaves=4,
)
