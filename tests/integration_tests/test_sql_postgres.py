"""`SQLRetriever` on a real PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import product
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy
from hypothesis import example, given, settings
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_tests.integration_tests import RetrieversIntegrationTests
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import create_async_engine

from langchain_safe_retrievers.errors import ConfigurationError, LegTimeoutError
from langchain_safe_retrievers.filters import compile_filter
from langchain_safe_retrievers.retrievers.sql import SQLRetriever
from langchain_safe_retrievers.testing import texts
from tests.unit_tests.sql.cases import INJECTIONS, check_filter, fill, filters, is_exact, queries

SCHEMA = """
CREATE EXTENSION IF NOT EXISTS vector;
CREATE TABLE docs (
    id bigint PRIMARY KEY, text text, lang varchar(8), year integer, price numeric(10, 2),
    ratio double precision, small real, ok boolean, day date, moment timestamp, zoned timestamptz,
    tenant uuid, meta jsonb, loose json, raw bytea, tags text[], embedding vector(2),
    search tsvector GENERATED ALWAYS AS (to_tsvector('english', text)) STORED
);
INSERT INTO docs VALUES
    (1, 'Bees make honey', 'en', 2020, 1.50, 0.5, 0.1, true, '2024-01-01', '2024-01-01 10:00',
     '2024-01-01 10:00+02', '00000000-0000-0000-0000-000000000001', '{"a": {"b": 1}}', '{"q": [1]}',
     '\\x00ff', '{x,y}', '[1,2]'),
    (2, 'A wasp makes no honey, honey, honey', 'en', 2021, NULL, 'NaN', NULL, false, NULL, NULL,
     NULL, NULL, '{"a": {"b": "x"}}', NULL, NULL, NULL, NULL),
    (3, '100%% wool_en "coat"', 'de', 2022, 'NaN', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
     NULL, NULL, NULL, NULL);
CREATE TABLE notes AS SELECT id, text, lang, year, meta FROM docs;
CREATE SCHEMA other;
CREATE TABLE other.letters AS SELECT * FROM notes;
"""
INDEXED = [
    "CREATE TABLE big AS SELECT n AS id, 'bees ' || n AS text FROM generate_series(1, 5000) n",
    "CREATE INDEX big_text ON big USING gin (to_tsvector('english', text))",
    "ANALYZE big",
]
SCANS = "SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = 'big_text'"
WAYS: list[dict[str, Any]] = [
    {"table": "docs"},
    {"table": "notes", "language": "simple"},
    {"table": "notes", "full_text": False},
    {"statement": "SELECT * FROM notes WHERE strpos(text, :query) > 0 LIMIT :k"},
    {
        "statement": "SELECT *, ts_rank(search, websearch_to_tsquery('english', :terms)) AS s "
        "FROM docs WHERE search @@ websearch_to_tsquery('english', :terms) "
        "AND lang = coalesce(:lang, lang) ORDER BY s DESC",
        "parameters": {"lang": None},
        "score_column": "s",
    },
]


@pytest.fixture(scope="module")
def engine(postgres_url: str) -> Iterator[sqlalchemy.Engine]:
    """Return an engine over a database with documents."""
    engine = sqlalchemy.create_engine(postgres_url)
    with engine.begin() as connection:
        for statement in filter(str.strip, SCHEMA.split(";\n")):
            connection.exec_driver_sql(statement)
    yield engine
    engine.dispose()


@pytest.fixture(scope="module")
def samples(engine: sqlalchemy.Engine) -> tuple[SQLRetriever, list[Document]]:
    """Return a retriever and every document it can find."""
    fill(engine)
    retriever = SQLRetriever(engine, table="samples", language="simple")
    everything = retriever.invoke("bees", k=1000)
    assert len(everything) == 100
    return retriever, everything


class TestStandard(RetrieversIntegrationTests):
    """LangChain's standard tests."""

    @pytest.fixture(autouse=True)
    def _database(self, samples: tuple[SQLRetriever, list[Document]]) -> None:
        self.engine = samples[0].database

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        """The class under test."""
        return SQLRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        """A table in which every row has bees."""
        return {"database": self.engine, "table": "samples"}

    @property
    def retriever_query_example(self) -> str:
        """A query that finds a hundred documents."""
        return "bees"


def ids(documents: Iterable[Document]) -> list[str | None]:
    """Return the documents' ids, in order."""
    return [document.id for document in documents]


def content(engine: sqlalchemy.Engine) -> list[Any]:
    """Return what is in the database."""
    with engine.connect() as connection:
        names = sorted(sqlalchemy.inspect(connection).get_table_names())
        rows = [
            connection.exec_driver_sql(f"SELECT t::text FROM {name} t ORDER BY id").scalars().all()  # noqa: S608
            for name in ("docs", "notes")
        ]
    return [names, *rows]


def test_any_word_finds_and_stems_match(engine: sqlalchemy.Engine) -> None:
    found = SQLRetriever(engine, table="docs").invoke("Which bee is making honey?")
    assert [document.id for document in found] == ["1", "2"]
    assert found.scores[0] > found.scores[1] > 0
    unstemmed = SQLRetriever(engine, table="notes", language="simple").invoke("bee make")
    assert texts(unstemmed) == ["Bees make honey"]


def test_values_go_through_typed(engine: sqlalchemy.Engine) -> None:
    (found,) = SQLRetriever(engine, table="docs").invoke("bees")
    zoned = found.metadata.pop("zoned")
    assert zoned == datetime(2024, 1, 1, 8, tzinfo=UTC)
    assert found.metadata == {
        "lang": "en",
        "year": 2020,
        "price": Decimal("1.50"),
        "ratio": 0.5,
        "small": 0.1,
        "ok": True,
        "day": date(2024, 1, 1),
        "moment": datetime(2024, 1, 1, 10),  # noqa: DTZ001
        "tenant": UUID(int=1),
        "meta": {"a": {"b": 1}},
        "loose": {"q": [1]},
        "raw": b"\x00\xff",
        "tags": ["x", "y"],
    }


@pytest.mark.parametrize(
    "written",
    [
        {"lang": "en"},
        {"year": {"$lt": 2020.5}},
        {"price": 1.5},
        {"price": {"$gt": 1}},
        {"ratio": {"$gte": 0.5}},
        {"ok": True},
        {"day": date(2024, 1, 1)},
        {"day": {"$gte": "2024-01-01T00:00:00Z"}},
        {"day": {"$lt": datetime(2024, 1, 1, 0, 0, 1, tzinfo=UTC)}},
        {"moment": datetime(2024, 1, 1, 10)},  # noqa: DTZ001
        {"zoned": {"$lte": datetime(2024, 1, 1, 8)}},  # noqa: DTZ001
        {"zoned": {"$lt": "2024-01-01T09:00:00+00:00"}},
        {"tenant": UUID(int=1)},
        {"meta.a.b": {"$exists": True}, "year": 2020},
    ],
)
def test_filters_over_columns_become_sql_as_a_whole(
    engine: sqlalchemy.Engine, written: dict[str, Any]
) -> None:
    retriever = SQLRetriever(engine, table="docs")
    everything = retriever.invoke("bees honey coat", k=10)
    matches = compile_filter(written)
    negated = compile_filter({"$not": written})
    assert is_exact(retriever, written)
    assert matches is not None
    assert negated is not None
    for test, asked in ((matches, written), (negated, {"$not": written})):
        found = retriever.invoke("bees honey coat", k=10, filter=asked)
        assert ids(found) == ids(document for document in everything if test(document))
    assert "1" in {document.id for document in everything if matches(document)}


@pytest.mark.parametrize(
    "written",
    [
        {"meta.0": {"$exists": True}},  # a place in an array for PostgreSQL, no key
        {"meta.b.0": {"$exists": True}},
        {"word": "A"},
        {"word": {"$gt": "a"}},
        {"word": {"$in": ["a", "z"]}},
        {"meta.b.c": "x"},
        {"meta.b.c": None},
        {"meta": None},
    ],
)
def test_what_postgres_reads_in_its_own_way_is_read_as_in_python(
    samples: tuple[SQLRetriever, list[Document]], written: dict[str, Any]
) -> None:
    check_filter(*samples, written)
    check_filter(*samples, {"$not": written})


@given(written=filters)
@settings(max_examples=300)
def test_pushed_filter_agrees_with_python(
    samples: tuple[SQLRetriever, list[Document]], written: dict[str, Any]
) -> None:
    check_filter(*samples, written)


@given(written=filters)
@example({"b.c": {"$ne": "x"}})  # the key hides the path
def test_pushed_filter_agrees_where_a_json_column_is_spread(
    samples: tuple[SQLRetriever, list[Document]], written: dict[str, Any]
) -> None:
    retriever = SQLRetriever(
        samples[0].database,
        table="samples",
        metadata_columns=["word", "number"],
        metadata_json_column="meta",
    )
    matches = compile_filter(written)
    assert matches is not None
    everything = retriever.invoke("bees", k=1000)
    found = retriever.invoke("bees", k=1000, filter=written)
    assert ids(found) == ids(document for document in everything if matches(document))


def test_injections_and_1000_fuzzed_inputs_do_nothing_but_find(engine: sqlalchemy.Engine) -> None:
    retrievers = [SQLRetriever(engine, **way) for way in WAYS]
    before = content(engine)

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
    assert content(engine) == before


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO notes (text) VALUES (:query) RETURNING text",
        "DELETE FROM notes RETURNING text",
        "WITH gone AS (DELETE FROM notes RETURNING text) SELECT text FROM gone LIMIT :k",
        "DROP TABLE notes",
    ],
)
@pytest.mark.parametrize("isolation_level", ["READ COMMITTED", "AUTOCOMMIT"])
def test_a_statement_that_writes_is_refused(
    engine: sqlalchemy.Engine, statement: str, isolation_level: str
) -> None:
    before = content(engine)
    own = engine.execution_options(isolation_level=isolation_level)
    with pytest.raises(DBAPIError):
        SQLRetriever(own, statement=statement).invoke("bees")
    assert content(engine) == before


def test_an_engine_can_write_again_afterwards(postgres_url: str) -> None:
    engine = sqlalchemy.create_engine(postgres_url, pool_size=1, max_overflow=0)
    statement = "SELECT 'x' AS text, current_setting('transaction_read_only') AS mode"
    (found,) = SQLRetriever(engine, statement=statement).invoke("bees")
    assert found.metadata == {"mode": "on"}
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE again ()")
        connection.exec_driver_sql("DROP TABLE again")
        assert connection.exec_driver_sql("SHOW statement_timeout").scalar() == "0"
    engine.dispose()


def test_a_statement_that_takes_too_long_is_stopped(engine: sqlalchemy.Engine) -> None:
    for statement in (
        "SELECT pg_sleep(60)::text AS text",
        "SELECT pg_sleep(60)::text AS text LIMIT :k",
    ):
        retriever = SQLRetriever(engine, statement=statement, statement_timeout=0.05)
        with pytest.raises(LegTimeoutError, match=r"statement_timeout=0\.05 s"):
            retriever.invoke("bees")
    assert len(SQLRetriever(engine, table="docs").invoke("bees")) == 1


def test_rows_without_end_are_read_up_to_the_limit(engine: sqlalchemy.Engine) -> None:
    statement = "SELECT generate_series(1, 100000000)::text AS text"
    found = SQLRetriever(engine, statement=statement, row_limit=300).invoke("bees", k=1000)
    assert texts(found)[::299] == ["1", "300"]


def test_sixteen_threads_get_what_one_gets(postgres_url: str, engine: sqlalchemy.Engine) -> None:
    retriever = SQLRetriever(postgres_url, table="docs")
    asked = ["bees", "honey", "wool", "wasp"] * 20
    expected = [ids(SQLRetriever(engine, table="docs").invoke(query)) for query in asked]
    with ThreadPoolExecutor(16) as pool:
        assert list(map(ids, pool.map(retriever.invoke, asked))) == expected
    retriever.database.engine.dispose()


async def test_an_async_engine_is_awaited(postgres_url: str, engine: sqlalchemy.Engine) -> None:
    awaited = create_async_engine(postgres_url)
    expected = SQLRetriever(engine, table="docs").invoke("honey", filter={"meta.a.b": 1})
    assert len(expected) == 1
    retriever = SQLRetriever(awaited, table="docs")
    assert await retriever.ainvoke("honey", filter={"meta.a.b": 1}) == expected
    slow = SQLRetriever(
        awaited, statement="SELECT pg_sleep(60)::text AS text", statement_timeout=0.05
    )
    with pytest.raises(LegTimeoutError):
        await slow.ainvoke("bees")
    await awaited.dispose()


@pytest.mark.parametrize(
    ("given_settings", "message"),
    [
        ({"table": "dosc"}, "no table 'dosc'; there is docs, .*notes"),
        ({"table": "docs", "text_column": "x"}, "it has day, embedding, id, lang"),
        (
            {"table": "docs", "language": "klingon"},
            "no text search configuration 'klingon'.*english",
        ),
        ({"table": "letters"}, "no table 'letters'"),
    ],
)
def test_names_are_checked_against_the_schema(
    engine: sqlalchemy.Engine, given_settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        SQLRetriever(engine, **given_settings).invoke("bees")


def test_a_table_in_another_schema_is_found(engine: sqlalchemy.Engine) -> None:
    found = SQLRetriever(engine, table="letters", schema_name="other", id_column="id").invoke(
        "bees"
    )
    assert [document.id for document in found] == ["1"]


def test_an_index_on_the_text_is_used(postgres_url: str, engine: sqlalchemy.Engine) -> None:
    """`to_tsvector(language, text)` is written as such an index is declared."""
    with engine.begin() as connection:
        for statement in INDEXED:
            connection.exec_driver_sql(statement)
    retriever = SQLRetriever(postgres_url, table="big", id_column="id")
    assert texts(retriever.invoke("4711")) == ["bees 4711"]
    retriever.database.engine.dispose()  # a session tells what it did when it ends
    for _ in range(100):
        with engine.connect() as connection:
            if connection.exec_driver_sql(SCANS).scalar():
                return
            connection.exec_driver_sql("SELECT pg_sleep(0.05)")
    pytest.fail("the index was not used")
