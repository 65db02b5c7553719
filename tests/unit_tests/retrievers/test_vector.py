"""VectorRetriever finds by similarity, loses no metadata, and holds any filter."""

from __future__ import annotations

import asyncio
import math
import uuid
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from langchain_chroma import Chroma
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore
from langchain_tests.integration_tests import RetrieversIntegrationTests

from langchain_safe_retrievers.errors import ConfigurationError, FilterError, MetadataError
from langchain_safe_retrievers.filters import compile_filter
from langchain_safe_retrievers.legs.arguments import takes
from langchain_safe_retrievers.retrievers.vector import VectorRetriever
from langchain_safe_retrievers.vector.flat import METADATA, from_flat, number_copy, to_flat
from langchain_safe_retrievers.vector.where import to_where
from tests.unit_tests.keyword.strategies import filters, metadata, rare, scalars
from tests.unit_tests.test_codec import same_types


class Angles(Embeddings):
    """Embeds a number of degrees as the unit vector in that direction."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        angle = math.radians(float(text))
        return [math.cos(angle), math.sin(angle)]


FAKE = DeterministicFakeEmbedding(size=4)


def chroma(embedding: Embeddings = FAKE, space: str = "cosine") -> Chroma:
    """Return an empty collection of its own."""
    configuration: Any = {"hnsw": {"space": space}}
    return Chroma(f"test-{uuid.uuid4()}", embedding, collection_configuration=configuration)


@pytest.fixture(scope="module")
def flat() -> VectorRetriever:
    return VectorRetriever(chroma())


def refill(retriever: VectorRetriever, metadatas: list[dict[str, Any]]) -> list[Document]:
    """Put documents in the place of all that there are."""
    retriever.delete([document.id or "" for document in retriever.documents()])
    documents = [
        Document(page_content="text", metadata=each, id=str(n)) for n, each in enumerate(metadatas)
    ]
    retriever.add_documents(documents)
    return documents


class TestStandard(RetrieversIntegrationTests):
    """LangChain's own tests."""

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return VectorRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        store = chroma()
        VectorRetriever(store).add_documents([Document(page_content=f"a {n}") for n in range(5)])
        return {"store": store}

    @property
    def retriever_query_example(self) -> str:
        return "a"


# Metadata -----------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=60)
@given(st.lists(metadata(st.one_of(scalars, rare)), min_size=1, max_size=5))
@example([{METADATA: "mine"}, {}, {"#document": 1, "chroma:document": 2, "": 3, "$and": [4]}])
@example([{"a": None}, {"a": float("nan")}, {"a": 2**70}, {"a": (1, "x", [])}, {"z": 1, "a": {}}])
def test_metadata_comes_out_of_chroma_as_it_went_in_type_for_type(flat, metadatas):
    documents = refill(flat, metadatas)
    found = {document.id: document for document in flat.invoke("text", k=9)}
    again = {document.id: document for document in flat.get_by_ids(list(found))}
    for document in documents:
        assert same_types(found[document.id].metadata, document.metadata)
        assert same_types(again[document.id].metadata, document.metadata)


def test_what_cannot_be_represented_is_refused_by_name_and_nothing_is_written():
    retriever = VectorRetriever(chroma())
    bad = Document(page_content="b", metadata={"a": {"b": [object()]}}, id="7")
    with pytest.raises(MetadataError, match=r"metadata of document '7' at a\.b\.0: got"):
        retriever.add_documents([Document(page_content="a", id="6"), bad])
    assert list(retriever.documents()) == []


def test_a_text_or_id_that_is_no_unicode_is_refused_by_name():
    for document in (
        Document(page_content="\ud800", id="7"),
        Document.model_construct(page_content="", id="\udfff", metadata={}),
    ):
        with pytest.raises(ConfigurationError, match="is no valid Unicode"):
            VectorRetriever(chroma()).add_documents([document])


def test_the_store_s_own_filter_still_reads_plain_keys_and_nested_paths():
    store = chroma()
    VectorRetriever(store).add_documents(
        [Document(page_content="a", metadata={"page": 1, "law": {"chapter": "第二章"}}, id="1")]
    )
    assert store.get(where={"law.chapter": "第二章"})["ids"] == ["1"]
    assert store.get(where={"page": {"$gte": 1}})["ids"] == ["1"]


def test_documents_that_were_not_written_here_are_read_as_they_are():
    store = chroma()
    store.add_texts(["a", "b"], [{"page": 1}, {}], ids=["1", "2"])
    retriever = VectorRetriever(store)
    for found in (retriever.invoke("a"), retriever.get_by_ids(["1", "2"]), retriever.documents()):
        assert {own.id: own.metadata for own in found} == {"1": {"page": 1}, "2": {}}
    assert retriever.get_by_ids([]) == []


def test_numbers_are_copied_on_their_side_of_every_whole_number():
    assert number_copy(2**53) < number_copy(2**53 + 1) == number_copy(math.inf)
    assert number_copy(-math.inf) == number_copy(-(10**400)) < -(2**53)
    assert number_copy(math.nan) is None


def test_from_flat_makes_a_new_dict_of_foreign_metadata():
    held = {"page": 1}
    from_flat(held)["page"] = 2
    assert held == {"page": 1}
    assert from_flat(None) == {}
    assert from_flat(to_flat({})) == {}


# Filters ------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=150)
@given(st.lists(metadata(), min_size=1, max_size=6), st.lists(filters, min_size=1, max_size=4))
@example(
    [{"a": n} for n in (-2, -1.5, -1, 0, 0.5, 1, 1.5, 2, 2**53 + 1, float("inf"), True, "1")],
    [{"a": {name: n}} for name in ("$lt", "$lte", "$gt", "$gte", "$ne") for n in (-1.5, 0.5, 1)],
)
@example([{"a": ["x", 1]}, {"a": "x"}, {}], [{"a": {"$contains": "x"}}, {"a": {"$nin": []}}])
def test_the_store_lets_through_what_matches_and_no_more_where_it_is_exact(flat, metadatas, some):
    documents = refill(flat, metadatas)
    for written in some:
        matches = compile_filter(written)
        assert matches is not None
        wanted = {document.id for document in documents if matches(document)}
        where = to_where(written)
        through = set(flat.store.get(where=where.test, include=[])["ids"])
        assert through == wanted if where.exact else through >= wanted
        assert {document.id for document in flat.invoke("text", k=20, filter=written)} == wanted


def test_foreign_integers_beside_a_fraction_are_not_lost():
    store = chroma()
    store.add_texts(["a"] * 4, [{"n": n} for n in (0, 1, 2, 1.5)], ids=["0", "1", "2", "1.5"])
    retriever = VectorRetriever(store)

    def found(written):
        return {document.id for document in retriever.invoke("a", k=9, filter={"n": written})}

    assert found({"$lt": 1.5}) == {"0", "1"}
    assert found({"$gt": 0.5}) == {"1", "1.5", "2"}
    assert found(0.5) == set()


@pytest.mark.parametrize("store", [chroma(), InMemoryVectorStore(FAKE)])
def test_k_documents_are_found_though_the_store_cannot_filter(store: VectorStore):
    """What few of many match is still found: the store is asked for more."""
    retriever = VectorRetriever(store)
    retriever.add_documents(
        Document(page_content=str(n), metadata={"day": f"2024-01-{n % 30 + 1:02}"})
        for n in range(300)
    )
    for written in ({"day": {"$gte": "2024-01-30"}}, lambda document: "01-30" in str(document)):
        found = retriever.invoke("7", k=10, filter=written)
        assert [document.metadata["day"] for document in found] == ["2024-01-30"] * 10
        again = asyncio.run(retriever.ainvoke("7", k=10, filter=written))
        assert again == found
        assert found.scores == sorted(found.scores, reverse=True)


def test_a_filter_that_cannot_be_read_is_an_error():
    with pytest.raises(FilterError):
        VectorRetriever(chroma()).invoke("a", filter={"a": {"$near": 1}})


# Scores -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "store",
    [*(chroma(Angles(), space) for space in ("cosine", "l2", "ip")), InMemoryVectorStore(Angles())],
)
def test_scores_of_unit_vectors_are_cosines_whichever_distance_the_store_uses(store: VectorStore):
    retriever = VectorRetriever(store)
    retriever.add_documents([Document(page_content=text) for text in ("90", "0", "180", "60")])
    found = retriever.invoke("0", k=4)
    assert [document.page_content for document in found] == ["0", "60", "90", "180"]
    assert found.scores == pytest.approx([1, 0.5, 0, -1], abs=1e-6)


def test_distances_of_a_store_we_do_not_know_are_negated():
    class Distances(InMemoryVectorStore):
        def similarity_search_with_score(self, query: str, k: int = 4, **kwargs: Any) -> Any:
            hits = super().similarity_search_with_score(query, k, **kwargs)
            return [(document, 1 - score) for document, score in hits]

    retriever = VectorRetriever(Distances(Angles()))
    retriever.add_documents([Document(page_content=text) for text in ("0", "90")])
    assert retriever.invoke("0").scores == pytest.approx([0, -1])


# Being a leg --------------------------------------------------------------------------------------


def test_an_id_is_made_of_the_contents_and_the_last_of_one_id_stays():
    retriever = VectorRetriever(chroma())
    one = Document(page_content="a")
    first, second = retriever.add_documents([one, one])
    assert first == second
    retriever.add_documents([Document(page_content=text, id="x") for text in "bc"])
    assert sorted(document.page_content for document in retriever.documents()) == ["a", "c"]


@pytest.mark.parametrize("make", [chroma, lambda: InMemoryVectorStore(FAKE)])
def test_nobody_changes_what_the_store_holds_by_changing_documents(make):
    retriever = VectorRetriever(make())
    own = Document(page_content="a", metadata={"x": [{"y": 1}]}, id="1")
    retriever.add_documents([own])
    own.metadata["x"].append("added later")
    for read in (lambda: retriever.invoke("a"), lambda: retriever.get_by_ids(["1"])):
        read()[0].metadata["x"][0]["y"] = "changed"
        assert read()[0].metadata == {"x": [{"y": 1}]}


def test_ids_may_be_repeated_and_a_string_is_no_list_of_them():
    retriever = VectorRetriever(chroma())
    retriever.add_documents([Document(page_content=text, id=text) for text in "abc"])
    retriever.delete(["a", "a"])
    assert [own.id for own in retriever.get_by_ids(["b", "b", "a"])] == ["b"]
    for refused in (retriever.delete, retriever.get_by_ids):
        for wrong in ("bc", [1], None):
            with pytest.raises(ConfigurationError, match=r"ids is .*; expected a list of ids"):
                refused(wrong)


def test_it_takes_k_and_filter_and_refuses_a_k_that_is_none():
    retriever = VectorRetriever(chroma(), k=2)
    assert takes(retriever, "k")
    assert takes(retriever, "filter")
    retriever.add_documents([Document(page_content=text) for text in "abc"])
    assert [len(retriever.invoke("a")), len(retriever.invoke("a", k=3))] == [2, 3]
    with pytest.raises(ConfigurationError, match="k is 0"):
        retriever.invoke("a", k=0)


def test_an_empty_store_finds_nothing():
    assert VectorRetriever(chroma()).invoke("a") == []


@pytest.mark.parametrize("make", [chroma, lambda: InMemoryVectorStore(FAKE)])
@pytest.mark.parametrize("wanted", [{}, {"filter": {"n": {"$gte": 2}}}])
def test_asked_for_ids_it_returns_those_of_the_same_documents_with_the_same_scores(make, wanted):
    retriever = VectorRetriever(make())
    retriever.add_documents(
        Document(page_content=str(n), metadata={"n": n}, id=str(n)) for n in range(5)
    )
    whole = retriever.invoke("3", k=3, **wanted)
    for bare in (
        retriever.invoke("3", k=3, only_ids=True, **wanted),
        asyncio.run(retriever.ainvoke("3", k=3, only_ids=True, **wanted)),
    ):
        assert bare == [Document(page_content="", id=own.id) for own in whole]
        assert bare.scores == pytest.approx(whole.scores)
