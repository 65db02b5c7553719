"""The portable filter as SQL finds exactly what it finds in Python."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy
from hypothesis import given
from langchain_core.documents import Document

from langchain_safe_retrievers.errors import FilterError
from langchain_safe_retrievers.retrievers.sql import SQLRetriever
from tests.unit_tests.sql.cases import check_filter, fill, filters, is_exact


@pytest.fixture(scope="module")
def samples(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[SQLRetriever, list[Document]]]:
    """Return a retriever and every document it can find."""
    engine = sqlalchemy.create_engine(
        f"sqlite:///{tmp_path_factory.mktemp('samples') / 'samples.db'}"
    )
    fill(engine)
    retriever = SQLRetriever(engine, table="samples")
    everything = retriever.invoke("bees", k=1000)
    assert len(everything) == 100
    yield retriever, everything
    engine.dispose()


@given(written=filters)
def test_pushed_filter_agrees_with_python(
    samples: tuple[SQLRetriever, list[Document]], written: dict[str, Any]
) -> None:
    check_filter(*samples, written)


@given(written=filters)
def test_pushed_filter_agrees_where_a_json_column_is_spread(
    samples: tuple[SQLRetriever, list[Document]], written: dict[str, Any]
) -> None:
    retriever = SQLRetriever(
        samples[0].database,
        table="samples",
        metadata_columns=["word", "number"],
        metadata_json_column="meta",
    )
    everything = retriever.invoke("bees", k=1000)
    matching = retriever.invoke("bees", k=1000, filter=written)
    assert {document.id for document in matching} == _kept(everything, written)


def _kept(documents: list[Document], written: Any) -> set[str | None]:
    from langchain_safe_retrievers.filters import compile_filter

    matches = compile_filter(written)
    return {document.id for document in documents if matches is None or matches(document)}


ODD = [
    None,
    1,
    1.0,
    2.5,
    "1",
    "a",
    "A",
    b"a",
    "2024-01-01",
    "2024-01-01 10:00",
    "{}",
    "[1]",
    "x\0y",
]


@pytest.mark.parametrize(
    "kind",
    ["INTEGER", "REAL", "NUMERIC", "TEXT", "BOOLEAN", "DATE", "DATETIME", "JSON", "BLOB", ""],
)
def test_any_value_in_any_column_is_filtered_as_in_python(tmp_path: Path, kind: str) -> None:
    """SQLite's columns hold values of every type, whatever type they were declared with."""
    connection = sqlite3.connect(tmp_path / "odd.db")
    connection.execute(
        f"CREATE TABLE samples (id INTEGER PRIMARY KEY, text TEXT, odd {kind} COLLATE NOCASE)"
    )
    connection.executemany(
        "INSERT INTO samples (text, odd) VALUES ('bees', ?)", [(v,) for v in ODD]
    )
    connection.commit()
    connection.close()
    retriever = SQLRetriever(f"sqlite:///{tmp_path / 'odd.db'}", table="samples")
    everything = retriever.invoke("bees", k=1000)
    for operand in [*ODD, True, False, 0, {}, [1], {"$ne": 1}, {"$in": [1, "a", None]}]:
        check_filter(retriever, everything, {"odd": operand})
        check_filter(retriever, everything, {"$not": {"odd": operand}})
        check_filter(retriever, everything, {"odd.a": operand})
    for bound in [1, 1.5, "a", "A", "1", "2024-01-01", "x"]:
        for name in ("$gt", "$gte", "$lt", "$lte"):
            check_filter(retriever, everything, {"odd": {name: bound}})
            check_filter(retriever, everything, {"odd": {"$not": {name: bound}}})


@pytest.mark.parametrize(
    "written",
    [
        {"word": "a"},
        {"word": {"$ne": "a"}},
        {"number": {"$in": [1, 2, None]}},
        {"ratio": {"$between": [0, 1]}},
        {"flag": True},
        {"missing": 1},
        {"$or": [{"word": "a"}, {"$not": {"number": {"$gt": 1}}}]},
        {"word": {"$in": [str(n) for n in range(5000)]}},
    ],
)
def test_filters_over_columns_become_sql_as_a_whole(
    samples: tuple[SQLRetriever, list[Document]], written: dict[str, Any]
) -> None:
    assert is_exact(samples[0], written)
    check_filter(*samples, written)


def test_a_filter_too_big_for_sql_is_held_all_the_same(
    samples: tuple[SQLRetriever, list[Document]],
) -> None:
    wide = {"$or": [{"number": n} for n in range(3000)]}
    deep: dict[str, Any] = {"number": 1}
    for _ in range(30):
        deep = {"$not": {"$and": [deep, {"word": {"$exists": True}}]}}
    check_filter(*samples, wide)
    check_filter(*samples, deep)


def test_a_function_is_a_filter_too(samples: tuple[SQLRetriever, list[Document]]) -> None:
    retriever, everything = samples
    found = retriever.invoke("bees", k=1000, filter=lambda document: document.id == "7")
    assert [document.id for document in found] == ["7"]
    assert len(everything) == 100


@pytest.mark.parametrize("written", [{"word": {"$gt": None}}, {"$nor": []}, "word = 'a'", 7])
def test_a_filter_that_cannot_be_read_is_refused(
    samples: tuple[SQLRetriever, list[Document]], written: Any
) -> None:
    with pytest.raises(FilterError):
        samples[0].invoke("bees", filter=written)


def test_a_row_limit_that_may_hide_documents_is_logged(
    samples: tuple[SQLRetriever, list[Document]], caplog: pytest.LogCaptureFixture
) -> None:
    retriever = samples[0].model_copy(update={"row_limit": 10})
    found = retriever.invoke("bees", k=5, filter=lambda document: document.id == "99")
    assert found == []
    assert "row_limit=10 rows were read and only 0 of k=5" in caplog.text
