"""The filter that a leg is given, against a real Chroma where its store decides."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_chroma import Chroma
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.runnables import RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_safe_retrievers import FilterError, SafeEnsembleRetriever, UnacceptedArgumentError
from langchain_safe_retrievers.legs.filters import filter_for
from langchain_safe_retrievers.testing import texts

_EMBEDDING = DeterministicFakeEmbedding(size=8)
_DOCUMENTS = [
    Document("a", metadata={"lang": "en", "year": 2024, "tenant": 1}),
    Document("b", metadata={"lang": "en", "year": 2020, "tenant": 1}),
    Document("c", metadata={"lang": "de", "year": 2024, "tenant": 1}),
    Document("d", metadata={"lang": "en", "year": 2024, "tenant": 2}),
]


@pytest.fixture
def chroma() -> Any:
    store = Chroma("filters", _EMBEDDING)
    store.reset_collection()
    store.add_documents(_DOCUMENTS)
    return store


def _found(retriever: Any, wanted: Any) -> list[str]:
    return sorted(texts(SafeEnsembleRetriever(retrievers=[retriever]).invoke("q", filter=wanted)))


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"lang": "en", "year": {"$gte": 2023}}, ["a", "d"]),
        ({"year": {"$gte": 2020, "$lt": 2024}}, ["b"]),
        ({"$or": [{"lang": "de", "year": 2024}, {"year": 2020}]}, ["b", "c"]),
    ],
)
def test_chroma_takes_filters_of_several_keys(chroma: Any, wanted: Any, found: list[str]):
    assert _found(chroma.as_retriever(), wanted) == found
    assert _found(chroma.as_retriever().with_config(tags=["t"]), wanted) == found


def test_a_filter_that_a_leg_was_given_for_good_is_joined_with_the_calls(chroma: Any):
    tenant = chroma.as_retriever(search_kwargs={"filter": {"tenant": 1}})

    assert _found(tenant, {"lang": "en"}) == ["a", "b"]
    assert _found(chroma.as_retriever().bind(filter={"tenant": 2}), {"lang": "en"}) == ["d"]


def test_filters_that_cannot_be_joined_are_refused():
    leg = RunnableLambda(lambda query, filter=None: []).bind(filter="tenant == 1")

    with pytest.raises(FilterError, match="for good"):
        filter_for(leg, {"lang": "en"})


def test_the_same_filter_twice_is_one():
    leg = RunnableLambda(lambda query, filter=None: []).bind(filter={"tenant": 1})

    assert filter_for(leg, {"tenant": 1}) == {"tenant": 1}


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"lang": "en", "year": 2024}, ["a", "d"]),
        ({"tenant": {"$exists": True}, "lang": {"$like": "d%"}}, ["c"]),
        ({"$not": {"lang": "en"}}, ["c"]),
        (lambda document: document.page_content == "b", ["b"]),
    ],
)
def test_a_store_that_does_not_speak_the_portable_filter_is_given_its_own(
    chroma: Any, wanted: Any, found: list[str]
):
    memory = InMemoryVectorStore(_EMBEDDING)
    memory.add_documents(_DOCUMENTS)

    assert _found(chroma.as_retriever(), wanted) == found
    assert _found(memory.as_retriever(), wanted) == found


def test_an_argument_that_no_search_of_the_store_declares_is_an_error(chroma: Any):
    for store in (chroma, InMemoryVectorStore(_EMBEDDING)):
        retriever = SafeEnsembleRetriever(retrievers=[store.as_retriever()], on_leg_error="skip")
        with pytest.raises(UnacceptedArgumentError, match="fitler"):
            retriever.invoke("q", fitler={"lang": "en"})
