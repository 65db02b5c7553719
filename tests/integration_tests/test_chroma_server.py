"""A Chroma server is used by the same code as the embedded Chroma."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from chromadb import HttpClient
from langchain_chroma import Chroma

from langchain_safe_retrievers.report import collect_reports
from langchain_safe_retrievers.retrievers.hybrid import HybridRetriever
from langchain_safe_retrievers.retrievers.keyword import KeywordRetriever
from langchain_safe_retrievers.retrievers.vector import VectorRetriever
from tests.unit_tests.vector.cases import (
    DOCUMENTS,
    Angles,
    check_filters,
    check_metadata,
    check_scores,
    check_writing,
)

Opened = Callable[..., Chroma]


@pytest.fixture(scope="module", params=["embedded", "server"])
def opened(request: pytest.FixtureRequest) -> Iterator[Opened]:
    """Return what makes an empty collection."""
    at: dict[str, Any] = {}
    if request.param == "server":
        port = request.getfixturevalue("chroma_port")
        at = {"client": HttpClient("127.0.0.1", port)}

    def make(space: Any = "cosine") -> Chroma:
        configuration: Any = {"hnsw": {"space": space}}
        name = f"test-{uuid.uuid4()}"
        return Chroma(name, Angles(), collection_configuration=configuration, **at)

    yield make
    if at:
        at["client"]._server._session.close()  # its own close() leaves the connections open


@pytest.fixture(scope="module")
def hybrid(opened: Opened) -> HybridRetriever:
    """Return a retriever over 40 documents."""
    retriever = HybridRetriever(vector=opened(), keyword=KeywordRetriever())
    retriever.add_documents(DOCUMENTS)
    return retriever


def test_both_legs_answer_and_know_a_document_by_one_id(hybrid: HybridRetriever) -> None:
    with collect_reports() as reports:
        found = hybrid.invoke("40 bees", k=3)
    assert found[0] == DOCUMENTS[10]
    assert {leg.status for leg in reports[0].legs} == {"ok"}
    assert len({document.id for document in hybrid.invoke("40 bees", k=100)}) == len(DOCUMENTS)


def test_every_filter_finds_what_matches_and_no_more(hybrid: HybridRetriever) -> None:
    check_filters(hybrid, DOCUMENTS)


async def test_a_filter_holds_when_it_is_awaited(hybrid: HybridRetriever) -> None:
    found = await hybrid.ainvoke("40 bees", k=50, filter={"law.article.number": 7})
    assert found == [DOCUMENTS[7]]


def test_documents_are_added_changed_and_deleted_checked_and_mended(
    hybrid: HybridRetriever,
) -> None:
    check_writing(hybrid)


def test_the_keyword_leg_is_made_from_what_the_store_holds(opened: Opened) -> None:
    store = opened()
    VectorRetriever(store).add_documents(DOCUMENTS)
    retriever = HybridRetriever.from_vectorstore(store)
    assert retriever.leg("keyword").get([DOCUMENTS[7].id]) == [DOCUMENTS[7]]
    check_writing(retriever)


def test_metadata_comes_back_type_for_type(opened: Opened) -> None:
    check_metadata(VectorRetriever(opened()))


@pytest.mark.parametrize("space", ["cosine", "l2", "ip"])
def test_scores_are_cosines_whichever_distance_is_measured(opened: Opened, space: str) -> None:
    check_scores(VectorRetriever(opened(space)))
