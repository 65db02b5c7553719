"""Qdrant, here the client's local mode, is the vector leg beside keywords and beside SQL."""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_qdrant import QdrantVectorStore
from qdrant_client import QdrantClient, models

from langchain_safe_retrievers.report import collect_reports
from langchain_safe_retrievers.retrievers.hybrid import HybridRetriever
from langchain_safe_retrievers.retrievers.keyword import KeywordRetriever
from langchain_safe_retrievers.retrievers.sql import SQLRetriever
from langchain_safe_retrievers.retrievers.vector import VectorRetriever
from langchain_safe_retrievers.vector.qdrant import point_id
from langchain_safe_retrievers.vector.stores import adapter_of
from tests.unit_tests.keyword.strategies import filters, metadata
from tests.unit_tests.vector.cases import (
    DOCUMENTS,
    Angles,
    check_filters,
    check_metadata,
    check_scores,
    check_writing,
    matching,
)

Opened = Callable[..., QdrantVectorStore]


@pytest.fixture(scope="module")
def opened() -> Iterator[Opened]:
    """Return what makes an empty collection."""
    client = QdrantClient(":memory:")

    def make(distance: models.Distance = models.Distance.COSINE) -> QdrantVectorStore:
        name = f"test-{uuid.uuid4()}"
        client.create_collection(name, models.VectorParams(size=2, distance=distance))
        return QdrantVectorStore(client, name, Angles(), distance=distance)

    yield make
    client.close()


@pytest.fixture(scope="module")
def hybrid(opened: Opened) -> HybridRetriever:
    """Return a retriever over 40 documents."""
    retriever = HybridRetriever(vector=opened(), keyword=KeywordRetriever())
    retriever.add_documents(DOCUMENTS)
    return retriever


def test_both_legs_answer_and_know_a_document_by_one_id(hybrid: HybridRetriever) -> None:
    with collect_reports() as reports:
        found = hybrid.invoke("40 bees", k=100)
    assert {leg.status for leg in reports[0].legs} == {"ok"}
    assert found[0] == DOCUMENTS[10]
    assert {own.id: own for own in found} == {own.id: own for own in DOCUMENTS}
    assert len(found) == len(DOCUMENTS)


def test_a_sql_leg_stands_beside_it(hybrid: HybridRetriever, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "laws.db") as connection:
        connection.execute("CREATE TABLE laws (id TEXT PRIMARY KEY, text TEXT, tenant TEXT)")
        rows = [(own.id, own.page_content, own.metadata["tenant"]) for own in DOCUMENTS]
        connection.executemany("INSERT INTO laws VALUES (?, ?, ?)", rows)
    connection.close()
    sql = SQLRetriever(f"sqlite:///{tmp_path / 'laws.db'}", table="laws", id_column="id")
    retriever = HybridRetriever(vector=hybrid.leg("vector"), sql=sql)
    found = retriever.invoke("40 honey", k=100, filter={"tenant": "a"})
    assert {own.id: own for own in found} == {own.id: own for own in DOCUMENTS[::2]}
    sql.database.engine.dispose()


def test_every_filter_finds_what_matches_and_no_more(hybrid: HybridRetriever) -> None:
    check_filters(hybrid, DOCUMENTS)


async def test_a_filter_holds_when_it_is_awaited(hybrid: HybridRetriever) -> None:
    found = await hybrid.ainvoke("40 bees", k=50, filter={"law.article.number": 7})
    assert found == [DOCUMENTS[7]]


def test_what_qdrant_can_say_is_pushed_down(hybrid: HybridRetriever) -> None:
    """So that a query need not ask for more than `k`."""
    store = hybrid.leg("vector").store
    adapter = adapter_of(store)

    def passing(written: Any) -> int:
        own = adapter.filter(written, lambda document: True, flat=True)
        assert own is not None
        return store.client.count(store.collection_name, count_filter=own).count

    for written in (
        {"tenant": "a"},
        {"page": {"$gte": 1, "$lt": 3}},
        {"law.article.number": {"$in": [3, 5]}, "draft": False},
        {"$or": [{"tenant": "a", "page": 1}, {"law.chapter": "literal"}]},
        {"nothing": "there"},
        {"nothing": {"$exists": False}},
    ):
        assert passing(written) == len(matching(written, DOCUMENTS)), written
    assert passing({"day": {"$gte": "2024-01-20"}}) == 10  # the 19th, too: it may be the next zone
    assert passing({"page": {"$in": []}}) == 0
    assert adapter.filter({"tenant": {"$ne": "a"}}, lambda document: True, flat=True) is None


def test_documents_are_added_changed_and_deleted_checked_and_mended(
    hybrid: HybridRetriever,
) -> None:
    check_writing(hybrid)


def test_a_keyword_leg_is_made_from_a_collection_of_others(opened: Opened) -> None:
    """Their metadata is nested, and their points may be numbered."""
    store = opened()
    store.add_texts(
        ["10 bees", "20 wasps"],
        [{"law": {"chapter": "a"}, "n": 1.0, "day": "2024-01-02"}, {"law.chapter": "b"}],
        ids=[7, str(uuid.UUID(int=1))],
    )
    retriever = HybridRetriever.from_vectorstore(store)
    assert {own.id for own in retriever.leg("keyword").documents()} == {"7", str(uuid.UUID(int=1))}
    for written, wanted in (
        ({"law.chapter": "a"}, ["7"]),
        ({"law.chapter": {"$in": ["b"]}}, [str(uuid.UUID(int=1))]),
        ({"n": 1}, ["7"]),
        ({"day": {"$lt": "2024-02-01"}}, ["7"]),
    ):
        assert [own.id for own in retriever.invoke("10 bees", filter=written)] == wanted
    retriever.delete(["7"])
    assert store.client.count(store.collection_name).count == 1


@settings(deadline=None, max_examples=60)
@given(st.lists(metadata(), min_size=1, max_size=5), st.lists(filters, min_size=1, max_size=4))
def test_random_filters_find_what_matches_and_no_more(
    cleared: VectorRetriever, metadatas: list[dict[str, Any]], some: list[dict[str, Any]]
) -> None:
    documents = [
        Document(page_content="text", metadata=own, id=str(n)) for n, own in enumerate(metadatas)
    ]
    cleared.delete(list("01234"))
    cleared.add_documents(documents)
    for written in some:
        found = cleared.invoke("text", k=9, filter=written)
        assert {document.id for document in found} == matching(written, documents), written


@pytest.fixture(scope="module")
def cleared(opened: Opened) -> VectorRetriever:
    """Return a retriever that is filled again and again."""
    return VectorRetriever(opened())


def test_metadata_comes_back_type_for_type(opened: Opened) -> None:
    check_metadata(VectorRetriever(opened()))


def test_an_id_that_is_no_uuid_gets_one_of_its_own() -> None:
    own = str(uuid.UUID(int=5))
    assert point_id(own) == own
    others = ["law-1", "law-2", own.replace("-", ""), own.upper() + " ", "7"]
    assert len({uuid.UUID(point_id(other)) for other in [*others, own]}) == 6


@pytest.mark.parametrize(
    "distance", [models.Distance.COSINE, models.Distance.EUCLID, models.Distance.DOT]
)
def test_scores_are_cosines_whichever_distance_is_measured(
    opened: Opened, distance: models.Distance
) -> None:
    check_scores(VectorRetriever(opened(distance)))


def test_manhattan_distances_are_negated(opened: Opened) -> None:
    retriever = VectorRetriever(opened(models.Distance.MANHATTAN))
    retriever.add_documents([Document(page_content=text) for text in ("0", "90")])
    found: Any = retriever.invoke("0")
    assert found.scores == pytest.approx([0, -2], abs=1e-5)
