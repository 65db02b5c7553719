"""A filter is a wall on every leg: two tenants and 10,000 random filters, judged by an oracle.

A filter of 24 branches, each for documents of its own, asks 24 random filters at once, which
makes 9,600 of them in 400 calls; 400 more are asked one by one, over all documents.
"""

from __future__ import annotations

import operator
import random
from datetime import UTC, date, datetime
from typing import Any

import pytest
from langchain_core.documents import Document

from langchain_safe_retrievers.retrievers.hybrid import HybridRetriever
from tests.unit_tests.vector.cases import Angles

BRANCHES = 24
TENANTS = ("red", "blue")
NOTHING = object()


# The oracle: what docs/filters.md says, written apart from filters.py -----------------------------


def holds(written: dict[str, Any], metadata: dict[str, Any]) -> bool:
    return all(entry_holds(key, asked, metadata) for key, asked in written.items())


def entry_holds(key: str, asked: Any, metadata: dict[str, Any]) -> bool:
    if key == "$and":
        return all(holds(part, metadata) for part in asked)
    if key == "$or":
        return any(holds(part, metadata) for part in asked)
    if key == "$not":
        return not any(
            holds(part, metadata) for part in (asked if type(asked) is list else [asked])
        )
    return value_holds(value_at(metadata, key), asked)


def value_at(metadata: dict[str, Any], path: str) -> Any:
    if path in metadata:
        return metadata[path]
    value: Any = metadata
    for step in path.split("."):
        value = value.get(step, NOTHING) if type(value) is dict else NOTHING
    return value


def value_holds(value: Any, asked: Any) -> bool:
    if type(asked) is not dict or not any(name.startswith("$") for name in asked):
        asked = {"$eq": asked}
    return all(operator_holds(value, name, operand) for name, operand in asked.items())


def operator_holds(value: Any, name: str, operand: Any) -> bool:  # noqa: PLR0911 - one each
    positive = {"$ne": "$eq", "$nin": "$in", "$not_contains": "$contains"}.get(name)
    if positive is not None:
        return not operator_holds(value, positive, operand)
    if name == "$not":
        return not value_holds(value, operand)
    if name == "$exists":
        return (value is not NOTHING) is operand
    if value is NOTHING:
        return False
    if name == "$between":
        return in_order(operand[0], operator.le, value) and in_order(value, operator.le, operand[1])
    if name == "$eq":
        return is_equal(value, operand)
    if name == "$in":
        return any(is_equal(value, each) for each in operand)
    if name == "$contains":
        return type(value) in (list, tuple) and any(is_equal(each, operand) for each in value)
    if name == "$like":  # only "x%" is asked here
        return type(value) is str and value.startswith(operand[:-1])
    return in_order(value, RANGES[name], operand)


RANGES = {"$gt": operator.gt, "$gte": operator.ge, "$lt": operator.lt, "$lte": operator.le}


def kind(value: Any) -> str:
    return "number" if type(value) in (int, float) else type(value).__name__


def is_equal(one: Any, other: Any) -> bool:
    if kind(one) == "list" == kind(other):
        return len(one) == len(other) and all(map(is_equal, one, other))
    return kind(one) == kind(other) and one == other


def in_order(one: Any, compare: Any, other: Any) -> bool:
    if kind(one) == kind(other) in ("number", "str"):
        return bool(compare(one, other))
    if not {kind(one), kind(other)} & {"date", "datetime"}:
        return False
    one, other = moment(one), moment(other)
    return one is not None and other is not None and bool(compare(one, other))


def moment(value: Any) -> datetime | None:
    if type(value) is str:
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return None
    if type(value) is date:
        value = datetime(value.year, value.month, value.day)  # noqa: DTZ001 - the next line's
    if type(value) is not datetime:
        return None
    return value if value.tzinfo else value.replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ({"page": 1}, "a"),
        ({"page": {"$ne": 1}}, "bc"),
        ({"law.chapter": {"$in": ["x", "y"]}}, "ab"),
        ({"page": {"$between": [1, 2]}}, "ab"),
        ({"day": {"$gte": date(2024, 1, 2)}}, "b"),
        ({"day": {"$lt": "2024-01-02"}}, "a"),
        ({"$not": [{"page": 1}, {"law.chapter": "y"}]}, "c"),
        ({"tags": {"$contains": 1}}, "a"),
        ({"law.chapter": {"$exists": False}}, "c"),
        ({"law": {"chapter": "x"}}, "a"),
        ({"law.chapter": {"$not": {"$like": "x%"}}}, "bc"),
        ({"$or": [{"page": True}, {"page": "1"}]}, "c"),
    ],
)
def test_the_oracle_says_what_a_pencil_says(written: dict[str, Any], expected: str) -> None:
    metadatas = {
        "a": {"page": 1, "law": {"chapter": "x"}, "day": "2024-01-01", "tags": ["x", 1]},
        "b": {"page": 1.5, "law": {"chapter": "y"}, "day": datetime(2024, 1, 2, tzinfo=UTC)},
        "c": {"page": "1", "law": "x", "tags": 1},
    }
    assert "".join(name for name, own in metadatas.items() if holds(written, own)) == expected


# Random documents and filters ---------------------------------------------------------------------


def random_metadata(chance: random.Random, n: int) -> dict[str, Any]:
    """Return nested metadata in which every key is sometimes missing, None or of another type."""
    law = {"chapter": chance.choice("abc"), "article": {"number": chance.randrange(9)}}
    day = chance.randint(1, 28)
    some = {
        "page": chance.choice([0, 1, 2, 2.5, 7, -1, None, "2", True]),
        "law": chance.choice([law, law, law, {"chapter": None}, "a"]),
        "law.chapter": chance.choice("abc"),
        "tags": chance.choice([[], ["x"], ["x", 1], ("y", "x"), [2.5], "x"]),
        "day": chance.choice(
            [
                f"2024-01-{day:02}",
                f"2024-01-{day:02}T22:30:00-05:00",
                date(2024, 1, day),
                datetime(2024, 1, day, 12, tzinfo=UTC),
                "soon",
            ]
        ),
        "draft": chance.choice([True, False, 1, None]),
    }
    rare = {"law.chapter": 0.1, "page": 0.9, "day": 0.9}
    kept = {key: own for key, own in some.items() if chance.random() < rare.get(key, 0.8)}
    return {"tenant": TENANTS[n % 2], "branch": n // 2 % BRANCHES, **kept}


def random_filter(chance: random.Random, depth: int = 2) -> dict[str, Any]:
    if depth and chance.random() < 0.35:
        name = chance.choice(["$and", "$or", "$not"])
        return {
            name: [random_filter(chance, depth - 1) for _ in range(chance.randint(1, 1 + depth))]
        }
    condition = random_condition(chance)
    if chance.random() < 0.15:
        ((key, asked),) = condition.items()
        asked = (
            asked if isinstance(asked, dict) and any(n[0] == "$" for n in asked) else {"$eq": asked}
        )
        condition = {key: {"$not": asked}}
    return {**condition, **(random_condition(chance) if chance.random() < 0.2 else {})}


def random_condition(chance: random.Random) -> dict[str, Any]:
    number, letter = chance.choice([-1, 0, 1, 2, 2.0, 2.5, 7]), chance.choice("abcd")
    start, end = sorted(chance.sample(range(1, 29), 2))
    first = chance.choice([f"2024-01-{start:02}", date(2024, 1, start)])
    last = chance.choice([f"2024-01-{end:02}T12:00:00Z", datetime(2024, 1, end, 6, tzinfo=UTC)])
    ends = chance.choice(["$gt", "$gte"]), chance.choice(["$lt", "$lte"])
    path = chance.choice(["page", "law", "law.chapter", "law.article.number", "day", "nothing"])
    return chance.choice(
        [
            {"page": number},
            {"page": {chance.choice(["$eq", "$ne"]): chance.choice([number, "2", True, None])}},
            {"page": {chance.choice(ends): number}},
            {"law.article.number": {"$between": sorted((chance.randrange(9), number))}},
            {"law.article.number": {chance.choice(["$in", "$nin"]): chance.sample(range(9), 4)}},
            {"law.chapter": letter},
            {"law.chapter": {chance.choice(["$in", "$nin"]): chance.sample([*"abcd", 1, None], 2)}},
            {"law.chapter": {chance.choice(["$gt", "$lte"]): letter}},
            {"law": {"chapter": None}},
            {"tags": {chance.choice(["$contains", "$not_contains"]): chance.choice(["x", 1, 2.5])}},
            {"tags": chance.choice([["x"], "x"])},
            {"day": {ends[0]: first}},
            {"day": {ends[0]: first, ends[1]: last}},
            {"day": {"$between": [first, last]}},
            {"day": {"$like": f"2024-01-{chance.randrange(3)}%"}},
            {"draft": chance.choice([True, False, 1])},
            {path: {"$exists": chance.random() < 0.5}},
        ]
    )


CHANCE = random.Random(20260501)
DOCUMENTS = [
    Document(page_content=f"{n} bees", metadata=random_metadata(CHANCE, n), id=str(n))
    for n in range(2 * BRANCHES * 2)
]


@pytest.fixture(scope="module")
def hybrid() -> HybridRetriever:
    """Return a retriever over Chroma and a keyword index of 96 documents of two tenants."""
    return HybridRetriever.from_documents(
        DOCUMENTS, Angles(), k=len(DOCUMENTS), provenance_key="found_by"
    )


def check(hybrid: HybridRetriever, written: dict[str, Any], k: int = len(DOCUMENTS)) -> int:
    """Both legs find all that match, or `k` of them, and nothing else; return how many."""
    found = hybrid.invoke("1 bees", filter=written, k=k)
    expected = {own.id for own in DOCUMENTS if holds(written, own.metadata)}
    assert {document.id for document in found} <= expected, written
    assert len(found) == min(k, len(expected)), written
    for document in found:
        assert document.metadata["tenant"] == written["tenant"], written
        legs = {hit["leg"] for hit in document.metadata["found_by"]}
        assert legs == {"vector", "keyword"} or k < len(DOCUMENTS), written
    return len(found)


def test_9600_filters_find_on_both_legs_what_matches_of_one_tenant(hybrid: HybridRetriever) -> None:
    chance = random.Random(1)
    sizes = set()
    for turn in range(400):
        branches = [
            {"branch": n, "$and": [random_filter(chance, depth=1)]} for n in range(BRANCHES)
        ]
        sizes.add(check(hybrid, {"tenant": TENANTS[turn % 2], "$or": branches}))
    assert len(sizes) > 9  # they let through few, some and many


def test_400_filters_one_by_one_find_on_both_legs_what_matches_of_one_tenant(
    hybrid: HybridRetriever,
) -> None:
    chance = random.Random(2)
    sizes = set()
    for turn in range(400):
        written = {"tenant": TENANTS[turn % 2], "$and": [random_filter(chance)]}
        sizes.add(check(hybrid, written, k=3 if turn % 4 == 0 else len(DOCUMENTS)))
    assert {0, 1, 2, 3, len(DOCUMENTS) // 2} <= sizes
