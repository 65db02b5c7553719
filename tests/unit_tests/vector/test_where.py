"""A filter for the store lets through all that match, and is as sharp as the store allows."""

from __future__ import annotations

import uuid
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from langchain_chroma import Chroma
from langchain_core.documents import Document

from langchain_safe_retrievers.retrievers.vector import VectorRetriever
from langchain_safe_retrievers.vector.flat import METADATA, day_key, days_of, has_day_key, to_flat
from langchain_safe_retrievers.vector.where import Where, day_bound, to_where
from tests.unit_tests.vector.cases import DOCUMENTS, FILTERS, Angles, matching


@pytest.fixture(scope="module")
def store() -> Chroma:
    """Return a store of 40 documents."""
    store = Chroma(f"test-{uuid.uuid4()}", Angles())
    VectorRetriever(store).add_documents(DOCUMENTS)
    return store


def through(store: Chroma, written: dict[str, Any]) -> set[str | None]:
    return set(store.get(where=to_where(written).test, include=[])["ids"])


def test_nothing_that_matches_is_kept_back(store):
    for written in FILTERS:
        for asked in (written, {"$not": written}, {"tenant": "a", "$or": [written]}):
            wanted = matching(asked, DOCUMENTS)
            assert through(store, asked) >= wanted, asked
            assert through(store, asked) == wanted or not to_where(asked).exact, asked


def test_a_range_of_days_is_held_by_the_store_to_the_day(store):
    days = {own.id: own.metadata["day"] for own in DOCUMENTS}
    for bound in ("2024-01-20", date(2024, 1, 20), datetime(2024, 1, 20, 23, tzinfo=UTC)):
        kept = through(store, {"day": {"$gte": bound}})
        assert kept == {own for own, day in days.items() if day >= "2024-01-19"}
    kept = through(store, {"day": {"$between": ["2024-01-05", "2024-01-07T12:00"]}})
    assert kept == {own for own, day in days.items() if "2024-01-04" <= day <= "2024-01-08"}


def test_what_has_no_copy_of_a_day_passes_a_range_of_days(store):
    store.add_texts(["foreign"], [{"day": "2024-06-01"}], ids=["foreign"])
    assert "foreign" in through(store, {"day": {"$gte": "2024-05-01"}})
    found = VectorRetriever(store).invoke("foreign", filter={"day": {"$gte": "2024-05-01"}})
    assert [document.id for document in found] == ["foreign"]
    store.delete(["foreign"])


def test_of_parts_that_cannot_be_said_those_that_can_stay():
    assert to_where({"a": 1, "b": {"$like": "x%"}}).test == {"a": 1}
    assert to_where({"$or": [{"a": 1}, {"b": {"$like": "x%"}}]}).test is None
    assert to_where({"$not": {"a": {"$gte": 1}}}).test is None
    assert to_where({"$not": {"a": {"$in": [1, "x"]}}}).test == {
        "$and": [{"a": {"$ne": 1}}, {"a": {"$ne": "x"}}]
    }
    assert to_where({"a": {"$in": list(range(1001))}}).test is None


def test_conditions_are_read_the_same_for_every_store():
    """A store says one condition; what is negated and joined is told it."""
    said: list[tuple[Any, ...]] = []

    def leaf(*condition: Any) -> Where:
        said.append(condition)
        return Where({"n": len(said)}, exact=True)

    written = {
        "a": {"$between": [1, 2], "$ne": 3},
        "$not": [{"b": {"$not": {"$exists": True}}}, {"c": {"$exists": False}}],
        "$OR": [{"d": {"$nin": [4]}}, {"e": {"$not_contains": 5}}],
    }
    assert to_where(written, leaf).test == {
        "$and": [
            {"$and": [{"$and": [{"n": 1}, {"n": 2}]}, {"n": 3}]},
            {"$and": [{"n": 4}, {"n": 5}]},
            {"$or": [{"n": 6}, {"n": 7}]},
        ]
    }
    assert said == [
        ("a", "$gte", 1, False),
        ("a", "$lte", 2, False),
        ("a", "$in", [3], True),
        ("b", "$exists", True, False),
        ("c", "$exists", True, False),
        ("d", "$in", [4], True),
        ("e", "$contains", 5, True),
    ]


# Days ---------------------------------------------------------------------------------------------


def test_dates_have_a_copy_of_their_day_and_a_mark():
    copies = to_flat({"a": {"b": date(2024, 5, 1)}, "c": "2024-05-02T23:00-05:00", "d": "soon"})
    assert {key: copies[key] for key in copies.keys() - {METADATA}} == {
        day_key("a.b"): 20240501,
        has_day_key("a.b"): True,
        "c": "2024-05-02T23:00-05:00",
        day_key("c"): 20240502,
        has_day_key("c"): True,
        "d": "soon",
    }


def test_a_user_s_key_is_never_taken_for_a_copy_of_a_day():
    assert set(to_flat({day_key("a"): 1, "a": "x"})) == {METADATA, "a"}


def test_a_bound_that_is_no_day_of_the_calendar_has_none():
    for bound in ("2024-13-45", "2024-02-30", "soon", 20240101, True, None, date.min):
        assert day_bound("$gte", bound) is None
    assert day_bound("$lte", date.max) is None
    assert day_bound("$gte", date.max) == 99991230
    far = timezone(timedelta(hours=14))
    assert days_of(datetime(1, 1, 1, tzinfo=far)) == []  # in UTC it is before the calendar


_days = st.dates(date(2024, 1, 1), date(2024, 1, 5))
_zones = st.sampled_from([None, UTC, timezone(timedelta(hours=14)), timezone(timedelta(hours=-12))])
_moments = st.builds(
    lambda day, hour, zone: datetime(day.year, day.month, day.day, hour, tzinfo=zone),
    _days,
    st.sampled_from([0, 1, 12, 23]),
    _zones,
)
_written = st.one_of(
    _days,
    _moments,
    _days.map(str),
    _moments.map(datetime.isoformat),
    st.sampled_from(["2024-01-02x", "2024-01-99", "20240103", "2024-W01-3", "2024-01", "soon", ""]),
)


@given(_written, _written, st.sampled_from(["$gt", "$gte", "$lt", "$lte"]))
@example("2024-01-03T23:00:00-12:00", datetime(2024, 1, 4, 11, tzinfo=UTC), "$lte")
def test_no_day_that_matches_lies_beyond_the_bound(value, bound, name):
    matching_ids = matching({"a": {name: bound}}, [Document("", metadata={"a": value}, id="1")])
    day, held = day_bound(name, bound), to_flat({"a": value}).get(day_key("a"))
    if matching_ids and day is not None and held is not None:
        assert held >= day if name in ("$gt", "$gte") else held <= day
