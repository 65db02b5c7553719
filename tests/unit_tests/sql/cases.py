"""Rows, queries and filters to try on a real database."""

from __future__ import annotations

import random
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID

import sqlalchemy
from hypothesis import strategies as st
from langchain_core.documents import Document
from sqlalchemy import JSON, BigInteger, Boolean, Column, Date, DateTime, Double, Numeric, String
from sqlalchemy.dialects.postgresql import JSONB

from langchain_safe_retrievers.filters import compile_filter
from langchain_safe_retrievers.retrievers.sql import SQLRetriever
from langchain_safe_retrievers.sql.found import Wanted

INJECTIONS = [
    "'; DROP TABLE docs; --",
    "' OR '1'='1",
    '" OR ""="',
    "1); DELETE FROM docs WHERE (1=1",
    "') UNION SELECT name, sql, 1, 2, 3 FROM sqlite_master --",
    "'; SELECT pg_sleep(10); --",
    "\\'; DROP TABLE docs; --",
    "%' OR text LIKE '%",
    "100%_\\",
    ":query :k %(k)s {k} $1 ? ??",
    "$$; DROP TABLE docs; $$",
    "/* */ -- #",
    "bees AND",
    "NOT NEAR(bees honey, 2) ^bees bees* text:bees {text}:bees -bees +bees",
    "AND OR NOT",
    '"""',
    "(((",
    "bees & | ! <-> :* 'bees':A",
    "\x00bees\x00'; DROP TABLE docs",
    "\ud800'; DROP TABLE docs",
    "\u02bc; DROP TABLE docs\uff07; --",
    "bees " * 5000,
    "b" * 100_000,
    "🐝 蜜蜂 النحل मधुमक्खी",
]

POOL: dict[str, list[Any]] = {
    "word": [None, "", "a", "A", "a ", "ä", "z", "é", "中", "\U0001f41d", "2024-01-02", "1", "%"],
    "number": [None, -1, 0, 1, 2, 2**53, 2**53 + 1, 2**63 - 1, -(2**63)],
    "exact": [None, 0, 1, 2, 7],
    "ratio": [None, 0.0, 0.1, 0.5, 1.0, 2.0**53, -1e300, 5e-324, float("inf")],
    "flag": [None, True, False],
    "day": [None, date(2024, 1, 1), date(2024, 1, 2), date(2024, 1, 3)],
    "moment": [None, datetime(2024, 1, 2), datetime(2024, 1, 2, 12, 30, 0, 5)],  # noqa: DTZ001
    "meta": [
        None,
        {},
        {"a": 1, "b": {"c": "x"}},
        {"a": 1.0, "b": {"c": None}},
        {"a": True, "b": {"c": "y", "0": "zero"}},
        {"a": "1", "b": ["x"], "a.b": 2},
        {"a": [1, 2], "b": "x", "é": "é", 'q"': "'"},
        {"a": 2**53 + 1, "b": {"c": ["x"]}, "🐝": 1},
        {"a": None, "b": {"c": "2024-01-02"}},
        {"a": 0.1, "b": {"c": {"d": "deep"}}},
        {"a": 10**30, "b": {"c": ""}},
        {"b.c": "key", "b": {"c": "x"}},
        [1, 2],
        "text",
        7,
    ],
}
"""Values that a column holds, by column."""


def metadata_of(engine: sqlalchemy.Engine) -> sqlalchemy.Table:
    """Return the table of the differential tests, for an engine."""
    lite = engine.dialect.name == "sqlite"
    meta = JSON(none_as_null=True) if lite else JSONB(none_as_null=True)
    return sqlalchemy.Table(
        "samples",
        sqlalchemy.MetaData(),
        Column("id", BigInteger, primary_key=True),
        Column("text", String(100), nullable=False),
        Column("word", String(100, collation="NOCASE" if lite else None)),
        Column("number", BigInteger),
        Column("exact", Numeric(30, 4, asdecimal=not lite)),
        Column("ratio", Double),
        Column("flag", Boolean),
        Column("day", Date),
        Column("moment", DateTime),
        Column("meta", meta),
    )


def fill(engine: sqlalchemy.Engine, rows: int = 100) -> sqlalchemy.Table:
    """Make the table and put rows with values drawn from the pool into it."""
    table = metadata_of(engine)
    table.create(engine)
    drawn = random.Random(0)
    with engine.begin() as connection:
        connection.execute(
            table.insert(),
            [
                {
                    "id": n,
                    "text": f"bees {n}",
                    **{key: drawn.choice(pool) for key, pool in POOL.items()},
                }
                for n in range(rows)
            ],
        )
    return table


_OPERANDS = [
    *(value for pool in POOL.values() for value in pool),
    *INJECTIONS[:20],
    1.5,
    "b",
    "x",
    "y",
    "zero",
    "deep",
    2.0**53,
    10**30,
    10**400,
    -1,
    float("nan"),
    float("-inf"),
    Decimal(1),
    Decimal("0.5"),
    Decimal("1E+9999"),
    Decimal("NaN"),
    b"x",
    UUID(int=1),
    {"c": "x"},
    ["x"],
    [1, 2.0],
    (1, 2),
    date.min,
    datetime.max,  # noqa: DTZ901
    datetime(2024, 1, 2, tzinfo=UTC),
    datetime(2024, 1, 2, 1, tzinfo=timezone(timedelta(hours=14))),
    "2024-01-02T00:00:00+14:00",
    "20240102",
    "2024-W01-2",
]
_KEYS = [
    *POOL,
    "meta.a",
    "meta.b",
    "meta.b.c",
    "meta.b.c.d",
    "meta.b.0",
    "meta.0",
    "meta.a.b",
    "meta.é",
    'meta.q"',
    "meta.🐝",
    "word.x",
    "number.x",
    "flag.x",
    "day.x",
    "missing",
    "id",
    "text",
    "a",
    "b.c",
    *INJECTIONS[:3],
]


def _is_ordered(value: Any) -> bool:
    ordered = isinstance(value, str | int | float | Decimal | date)
    return ordered and not isinstance(value, bool)


operands = st.integers(0, len(_OPERANDS) - 1).map(lambda n: _OPERANDS[n])  # a short repr
keys = st.integers(0, len(_KEYS) - 1).map(lambda n: _KEYS[n])
_ordered = operands.filter(_is_ordered)


def _tests() -> st.SearchStrategy[Any]:
    one = st.one_of(
        st.builds(lambda name, value: {name: value}, st.sampled_from(["$eq", "$ne"]), operands),
        st.builds(
            lambda name, value: {name: value},
            st.sampled_from(["$in", "$nin"]),
            st.lists(operands, max_size=4),
        ),
        st.builds(
            lambda name, value: {name: value},
            st.sampled_from(["$gt", "$gte", "$lt", "$lte"]),
            _ordered,
        ),
        st.builds(lambda low, high: {"$between": [low, high]}, _ordered, _ordered),
        st.builds(lambda there: {"$exists": there}, st.booleans()),
        st.builds(lambda value: {"$contains": value}, operands),
        st.builds(lambda value: {"$ilike": value}, st.sampled_from(["a%", "_", "%", "\\%"])),
    )
    return one | st.builds(lambda test: {"$not": test}, one) | operands


filters = st.recursive(
    st.dictionaries(
        keys.filter(lambda key: not key.startswith("$")), _tests(), min_size=1, max_size=2
    ),
    lambda inner: (
        st.builds(lambda parts: {"$and": parts}, st.lists(inner, min_size=1, max_size=3))
        | st.builds(lambda parts: {"$or": parts}, st.lists(inner, min_size=1, max_size=3))
        | st.builds(lambda part: {"$not": part}, inner)
    ),
    max_leaves=5,
)
"""Filters that `compile_filter` reads, over columns, paths and nothing."""

queries = (
    st.text(max_size=40)
    | st.integers(0, len(INJECTIONS) - 1).map(lambda n: INJECTIONS[n])
    | st.text("bes\"'%_\\*():-\0 ", max_size=30)
)
"""Anything a user may type."""


def check_filter(retriever: SQLRetriever, everything: list[Document], written: Any) -> None:
    """Hold that a filter finds what `compile_filter` keeps, and that its SQL drops none of it."""
    matches = compile_filter(written)
    assert matches is not None
    expected = sorted(document.id or "" for document in everything if matches(document))
    found = retriever.invoke("bees", k=1000, filter=written)
    assert sorted(document.id or "" for document in found) == expected
    passed = set(pushed_alone(retriever, written))
    assert passed >= set(expected)
    if is_exact(retriever, written):
        assert passed == set(expected)


def _plan(retriever: SQLRetriever) -> Any:
    return next(iter(retriever.database._known.values()))


def _wanted(written: Any) -> Wanted:
    return Wanted("bees", 1000, written, lambda _: True)


def is_exact(retriever: SQLRetriever, written: Any) -> bool:
    """Tell whether the whole filter became SQL."""
    return bool(_plan(retriever)._pushed(_wanted(written)).exact)


def pushed_alone(retriever: SQLRetriever, written: Any) -> list[str]:
    """Return the ids of the rows that pass the filter's SQL, without Python's last word."""
    found = retriever.database.read(
        lambda connection: _plan(retriever).find(connection, _wanted(written)), None
    )
    return [document.id or "" for document in found.documents]
