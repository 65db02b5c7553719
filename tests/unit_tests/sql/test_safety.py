"""Nothing a user types is SQL; nothing is written; nothing runs for ever."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy.exc import OperationalError

from langchain_safe_retrievers.errors import LegTimeoutError
from langchain_safe_retrievers.filters import compile_filter
from langchain_safe_retrievers.retrievers.sql import SQLRetriever
from tests.unit_tests.sql.cases import INJECTIONS, filters, queries

ENDLESS = (
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
    "SELECT 'x' AS text, i FROM n WHERE i < 0"
)
WAYS: list[dict[str, Any]] = [
    {"table": "docs"},
    {"table": "notes"},
    {"table": "plain"},
    {"statement": "SELECT * FROM docs WHERE instr(text, :query) LIMIT :k"},
    {
        "statement": "SELECT d.* FROM docs_index i JOIN docs d ON d.id = i.rowid "
        "WHERE docs_index MATCH :terms AND (:lang IS NULL OR d.lang = :lang)",
        "parameters": {"lang": None},
    },
]


def content(path: Path) -> list[Any]:
    """Return everything in the database."""
    with sqlite3.connect(path) as connection:
        rows = list(connection.iterdump())
    connection.close()
    return rows


def test_injections_and_1000_fuzzed_inputs_do_nothing_but_find(path: Path, url: str) -> None:
    retrievers = [SQLRetriever(url, **way) for way in WAYS]
    before = content(path)

    def ask(retriever: SQLRetriever, query: str, written: Any) -> None:
        matches = compile_filter(written)
        assert matches is not None
        assert all(matches(document) for document in retriever.invoke(query, filter=written))

    for text, retriever in product(INJECTIONS, retrievers):
        ask(retriever, text, {"lang": text})
        ask(retriever, "bees", {"$not": {"lang": {"$in": [text]}}, f"lang{text}": text})

    @given(retriever=st.sampled_from(retrievers), query=queries, written=filters)
    @settings(max_examples=1000)
    def fuzz(retriever: SQLRetriever, query: str, written: Any) -> None:
        ask(retriever, query, written)

    fuzz()
    assert content(path) == before


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO docs (text) VALUES (:query) RETURNING text",
        "UPDATE docs SET text = :query RETURNING text",
        "DELETE FROM docs RETURNING text",
        "DROP TABLE docs",
    ],
)
def test_a_statement_that_writes_is_refused(path: Path, url: str, statement: str) -> None:
    before = content(path)
    with pytest.raises(OperationalError, match="readonly"):
        SQLRetriever(url, statement=statement).invoke("bees")
    assert content(path) == before


def test_an_engine_can_write_again_afterwards(url: str) -> None:
    engine = sqlalchemy.create_engine(url, pool_size=1, max_overflow=0)
    SQLRetriever(engine, table="docs").invoke("bees")
    with pytest.raises(OperationalError):
        SQLRetriever(engine, statement="DROP TABLE docs").invoke("bees")
    with engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM docs")
    engine.dispose()


def test_a_statement_that_takes_too_long_is_stopped(url: str) -> None:
    retriever = SQLRetriever(url, statement=ENDLESS, statement_timeout=0.05)
    with pytest.raises(LegTimeoutError, match=r"statement_timeout=0\.05 s"):
        retriever.invoke("bees")


def test_rows_without_end_are_read_up_to_the_limit(url: str) -> None:
    endless = ENDLESS.replace("WHERE i < 0", "")
    found = SQLRetriever(url, statement=endless, row_limit=300).invoke("bees", k=1000)
    assert len(found) == 300


def test_sixteen_threads_get_what_one_gets(url: str) -> None:
    retriever = SQLRetriever(url, table="docs")
    asked = ["bees", "honey", "wool", "wasps make"] * 40
    expected = [SQLRetriever(url, table="docs").invoke(query) for query in asked]
    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(retriever.invoke, asked)) == expected
