"""PostgreSQL is the vector leg through pgvector and the SQL leg through full text, of one table."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_postgres import Column, PGEngine, PGVectorStore
from langchain_postgres.v2.indexes import DistanceStrategy, HNSWIndex
from sqlalchemy.ext.asyncio import create_async_engine

from langchain_safe_retrievers.errors import MetadataError
from langchain_safe_retrievers.report import collect_reports
from langchain_safe_retrievers.retrievers.hybrid import HybridRetriever
from langchain_safe_retrievers.retrievers.keyword import KeywordRetriever
from langchain_safe_retrievers.retrievers.sql import SQLRetriever
from langchain_safe_retrievers.retrievers.vector import VectorRetriever
from langchain_safe_retrievers.vector.stores import adapter_of
from tests.unit_tests.keyword.strategies import filters, metadata
from tests.unit_tests.vector.cases import (
    DOCUMENTS,
    FILTERS,
    Angles,
    check_filters,
    check_metadata,
    check_scores,
    check_writing,
    matching,
)

Opened = Callable[..., PGVectorStore]


@pytest.fixture(scope="module")
def pg_engine(postgres_url: str) -> Iterator[PGEngine]:
    """Return an engine that uses an index if there is one, and scans it until enough match."""
    options = "-c hnsw.iterative_scan=strict_order -c enable_seqscan=off"
    engine = PGEngine.from_connection_string(postgres_url, connect_args={"options": options})
    yield engine
    engine._run_as_sync(engine.close())


@pytest.fixture(scope="module")
def opened(pg_engine: PGEngine) -> Opened:
    """Return what makes an empty table with ids of any text, and its store."""

    def make(**settings: Any) -> PGVectorStore:
        name = f"docs_{uuid.uuid4().hex}"
        columns = settings.pop("columns", [])
        pg_engine.init_vectorstore_table(
            name, 2, id_column=Column("langchain_id", "TEXT"), metadata_columns=columns
        )
        names = [column.name for column in columns]
        return PGVectorStore.create_sync(
            pg_engine, Angles(), name, metadata_columns=names, **settings
        )

    return make


@pytest.fixture(scope="module")
def hybrid(opened: Opened, postgres_url: str) -> Iterator[HybridRetriever]:
    """Return a retriever with two legs over one table of 40 documents."""
    store = opened()
    vector = VectorRetriever(store)
    vector.add_documents(DOCUMENTS)
    sql = SQLRetriever(
        postgres_url,
        table=store.get_table_name(),
        text_column="content",
        id_column="langchain_id",
        metadata_columns=[],
        metadata_json_column="langchain_metadata",
    )
    yield HybridRetriever(vector=vector, sql=sql, provenance_key="found_by")
    sql.database.engine.dispose()


def test_both_legs_answer_with_one_id_and_equal_metadata(hybrid: HybridRetriever) -> None:
    with collect_reports() as reports:
        found = hybrid.invoke("40 honey", k=100)
    assert {leg.leg: leg.status for leg in reports[0].legs} == {"vector": "ok", "sql": "ok"}
    assert [document.id for document in found[:1]] == ["law-10"]
    assert len(found) == len(DOCUMENTS)
    by_id = {document.id: document for document in DOCUMENTS}
    for document in found:
        hits = document.metadata.pop("found_by")
        assert {hit["leg"] for hit in hits} == {"vector", "sql"}
        assert document == by_id[document.id]  # no _conflicts either


def test_every_filter_finds_what_matches_and_no_more_on_both_legs(hybrid: HybridRetriever) -> None:
    check_filters(hybrid, DOCUMENTS)
    for written in FILTERS:
        wanted = matching(written, DOCUMENTS)
        for leg in ("vector", "sql"):
            found = hybrid.leg(leg).invoke("40 honey", k=50, filter=written)
            assert {document.id for document in found} == wanted, (leg, written)


async def test_a_filter_holds_when_it_is_awaited(hybrid: HybridRetriever) -> None:
    found = await hybrid.ainvoke("40 honey", k=50, filter={"law.article.number": 7})
    assert [document.id for document in found] == ["law-7"]


def test_what_is_pushed_down_is_what_postgres_reads_as_we_do(hybrid: HybridRetriever) -> None:
    adapter = adapter_of(hybrid.leg("vector").store)

    def pushed(written: Any) -> Any:
        return adapter.filter(written, lambda document: True, flat=False)

    assert pushed({"tenant": "a", "page": 1}) == {"tenant": {"$in": ["a"]}}
    assert pushed({"$or": [{"tenant": "a"}, {"lang": {"$like": "e%"}}]}) == {
        "$or": [{"tenant": {"$in": ["a"]}}, {"lang": {"$like": "e%"}}]
    }
    for own_way in (
        {"page": 1},
        {"law.chapter": "literal"},
        {"tenant": {"$ne": "a"}},
        {"content": "40 honey"},
        {"a'b": "x"},
        {"tenant": "\0"},
        lambda document: False,
    ):
        assert pushed(own_way) is None


@settings(deadline=None, max_examples=40)
@given(
    st.lists(metadata().filter(lambda own: "\\x00" not in repr(own)), min_size=1, max_size=4),
    st.lists(filters, min_size=1, max_size=4),
)
def test_random_filters_find_what_matches_and_no_more(
    cleared: VectorRetriever, metadatas: list[dict[str, Any]], some: list[dict[str, Any]]
) -> None:
    documents = [
        Document(page_content="text", metadata=own, id=str(n)) for n, own in enumerate(metadatas)
    ]
    cleared.delete(list("0123"))
    cleared.add_documents(documents)
    for written in some:
        found = cleared.invoke("text", k=9, filter=written)
        assert {document.id for document in found} == matching(written, documents)


@pytest.fixture(scope="module")
def cleared(opened: Opened) -> VectorRetriever:
    """Return a retriever that is filled again and again."""
    return VectorRetriever(opened())


def test_metadata_comes_back_type_for_type(opened: Opened) -> None:
    check_metadata(VectorRetriever(opened()))


def test_metadata_may_have_columns_of_its_own(opened: Opened) -> None:
    columns = [Column("page", "INTEGER"), Column("lang", "TEXT")]
    retriever = VectorRetriever(opened(columns=columns))
    both = [
        Document(page_content="1", metadata={"page": 1, "lang": "en", "a": (1,)}, id="1"),
        Document(page_content="2", metadata={"page": 2, "lang": None, "a": {}}, id="2"),
    ]
    retriever.add_documents(both)
    for written in ({"page": 2}, {"page": "2"}, {"lang": "en"}, {"page": {"$lt": 9}, "a": (1,)}):
        found = retriever.invoke("1", filter=written)
        assert [document.id for document in found] == sorted(matching(written, both))
    assert sorted(retriever.documents(), key=lambda own: own.id or "") == both


def test_what_postgres_would_lose_or_not_take_is_refused_by_name(opened: Opened) -> None:
    retriever = VectorRetriever(opened())
    nul = Document(page_content="1", metadata={"a": ["\0"]}, id="7")
    with pytest.raises(MetadataError, match="metadata of document '7': got a NUL character"):
        retriever.add_documents([Document(page_content="1", id="6"), nul])
    assert list(retriever.documents()) == []
    written_out = Document(page_content="1", metadata={"a": r"\u0000 \\u0000"}, id="8")
    retriever.add_documents([written_out])
    assert retriever.get_by_ids(["8"]) == [written_out]
    closed = VectorRetriever(opened(metadata_json_column="nothing"))
    with pytest.raises(MetadataError, match="the store has no metadata_json_column"):
        closed.add_documents([written_out])


@pytest.mark.parametrize("strategy", list(DistanceStrategy), ids=lambda each: each.name)
def test_scores_are_cosines_whichever_distance_is_measured(
    opened: Opened, strategy: DistanceStrategy
) -> None:
    check_scores(VectorRetriever(opened(distance_strategy=strategy)))


def test_a_keyword_leg_is_kept_in_step_with_the_table(opened: Opened) -> None:
    store = opened()
    VectorRetriever(store).add_documents(DOCUMENTS[:9])
    retriever = HybridRetriever.from_vectorstore(store)
    assert isinstance(retriever.leg("keyword"), KeywordRetriever)
    assert retriever.leg("keyword").get(["law-7"]) == [DOCUMENTS[7]]
    check_writing(retriever)


def test_an_index_is_scanned_on_until_enough_match_if_it_may(
    opened: Opened, postgres_url: str
) -> None:
    store = opened()
    VectorRetriever(store).add_documents(
        Document(page_content=f"{n}", metadata={"last": n >= 190}, id=str(n)) for n in range(200)
    )
    store.apply_vector_index(HNSWIndex())
    found = VectorRetriever(store).invoke("0", k=5, filter={"last": True})
    assert {document.id for document in found} == {"195", "196", "197", "198", "199"}
    off = PGEngine.from_connection_string(
        postgres_url, connect_args={"options": "-c enable_seqscan=off"}
    )
    same = PGVectorStore.create_sync(off, Angles(), store.get_table_name())
    assert len(VectorRetriever(same).invoke("0", k=50)) == 40  # rows that pgvector looks at
    off._run_as_sync(off.close())


async def test_an_async_engine_of_ones_own_is_awaited(
    postgres_url: str, hybrid: HybridRetriever
) -> None:
    own = create_async_engine(postgres_url)
    table = hybrid.leg("vector").store.get_table_name()
    store = await PGVectorStore.create(PGEngine.from_engine(own), Angles(), table)
    found = await VectorRetriever(store).ainvoke("40 bees", k=1, filter={"tenant": "a"})
    assert found == [DOCUMENTS[10]]
    await own.dispose()
