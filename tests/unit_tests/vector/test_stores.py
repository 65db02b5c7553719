"""A store is known by its class's name, and of others only what LangChain promises is asked."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Any

import pytest
from langchain_chroma import Chroma
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_safe_retrievers.errors import ConfigurationError
from langchain_safe_retrievers.retrievers.vector import VectorRetriever
from langchain_safe_retrievers.vector.adapter import Adapter, InMemory
from langchain_safe_retrievers.vector.chroma import Chroma as ChromaAdapter
from langchain_safe_retrievers.vector.stores import adapter_of, open_chroma
from tests.unit_tests.vector.cases import (
    DOCUMENTS,
    Angles,
    check_filters,
    check_metadata,
    check_scores,
)


class Mine(InMemoryVectorStore):
    """A class of a user's own that inherits from a known one."""


class Unknown:
    """A store that is nobody's."""


def test_a_store_is_known_by_the_name_of_its_class_or_a_base():
    assert type(adapter_of(Mine(Angles()))) is InMemory
    assert type(adapter_of(open_chroma(Angles(), None))) is ChromaAdapter
    assert type(adapter_of(Unknown())) is Adapter


def test_a_store_that_is_not_known_gets_its_filter_and_gives_its_scores_as_they_are():
    adapter = adapter_of(Unknown())
    assert adapter.filter({"a": 1}, bool, flat=False) == {"a": 1}
    assert adapter.filter("a == 1", None, flat=True) == "a == 1"
    assert adapter.filter({"a": {"$like": "x"}, "b": 1}, bool, flat=True) == {"b": 1}
    assert adapter.similarities([0.1, 0.4]) == [-0.1, -0.4]
    assert adapter.similarities([0.4, 0.1]) == [0.4, 0.1]
    assert adapter.similarities([]) == []
    with pytest.raises(ConfigurationError, match="Unknown cannot be read from end to end"):
        adapter.documents()


@pytest.mark.parametrize("flat", [None, True])
def test_the_in_memory_store_is_written_filtered_and_scored_flat_or_not(flat):
    retriever = VectorRetriever(InMemoryVectorStore(Angles()), flat=flat)
    check_metadata(retriever)
    check_scores(retriever)
    retriever.add_documents(DOCUMENTS)
    check_filters(retriever, DOCUMENTS)


@pytest.fixture
def shallow(monkeypatch) -> VectorRetriever:
    """Return a retriever over a Chroma that gives 8 of its 40 documents at most."""
    asked: list[int] = []
    search = Chroma.similarity_search_with_score

    def limited(self: Chroma, query: str, k: int = 4, **more: Any) -> Any:
        asked.append(k)
        assert k <= 8, "too many SQL variables"
        return search(self, query, k, **more)

    monkeypatch.setattr(Chroma, "similarity_search_with_score", limited)
    monkeypatch.setattr(ChromaAdapter, "deepest", 8)
    monkeypatch.setattr("langchain_safe_retrievers.retrievers.vector.PAGE", 3)
    retriever = VectorRetriever(open_chroma(Angles(), None))
    retriever.add_documents(DOCUMENTS)
    return retriever


def test_what_few_of_many_match_is_found_beyond_what_the_store_returns_at_a_time(shallow):
    """Chroma fails when it is asked for more than 32,766 documents."""
    written = {"law.article.number": {"$gte": 30}, "tenant": {"$like": "a"}}
    wanted = ["law-30", "law-32", "law-34", "law-36", "law-38"]
    for k in (1, 3, 50):
        found = shallow.invoke("120 bees", k=k, filter=written)
        assert [document.id for document in found] == wanted[:k]
        assert found.scores == sorted(found.scores, reverse=True)
        assert asyncio.run(shallow.ainvoke("120 bees", k=k, filter=written)) == found


def test_all_documents_are_found_if_so_many_are_wanted(shallow):
    found: Any = shallow.invoke("0 bees", k=100)
    assert [document.id for document in found] == [document.id for document in DOCUMENTS]
    assert len(shallow.invoke("0 bees", k=20)) == 20
    assert shallow.invoke("0 bees", filter={"tenant": {"$like": "nobody"}}) == []


def test_an_id_may_be_anything_and_an_unknown_one_is_passed_over():
    retriever = VectorRetriever(open_chroma(Angles(), None))
    document = Document(page_content="a", id="§ 1/2")
    retriever.add_documents([document])
    assert retriever.get_by_ids(["§ 1/2", "x"]) == [document]
    retriever.delete([])
    retriever.delete(["x", "§ 1/2"])
    assert list(retriever.documents()) == []


def test_a_chroma_in_memory_opens_beside_a_client_of_other_settings():
    code = (
        "import chromadb; chromadb.EphemeralClient()\n"
        "from langchain_core.embeddings import DeterministicFakeEmbedding\n"
        "from langchain_safe_retrievers.vector.stores import open_chroma\n"
        "print(open_chroma(DeterministicFakeEmbedding(size=4), None)._collection.count())"
    )
    done = subprocess.run(  # noqa: S603 - our own code
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "0"
