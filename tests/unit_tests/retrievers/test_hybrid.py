"""HybridRetriever asks its legs by name, keeps two of them in step, and holds any filter."""

from __future__ import annotations

import asyncio
import copy
import pickle
import shutil
import uuid
import warnings
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

import pytest
from langchain_chroma import Chroma
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import ConfigurableField, RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_tests.integration_tests import RetrieversIntegrationTests
from pydantic import ValidationError

from langchain_safe_retrievers.errors import (
    AllLegsFailedError,
    ConfigurationError,
    IndexLockedError,
    MetadataError,
)
from langchain_safe_retrievers.fusion.fuser import Ranking
from langchain_safe_retrievers.fusion.noisy_or import NoisyOr
from langchain_safe_retrievers.identity import by_content
from langchain_safe_retrievers.in_step import Difference, compare
from langchain_safe_retrievers.late_reading import read_late
from langchain_safe_retrievers.report import collect_reports
from langchain_safe_retrievers.retrievers.hybrid import HybridRetriever
from langchain_safe_retrievers.retrievers.keyword import KeywordRetriever
from langchain_safe_retrievers.retrievers.sql import SQLRetriever
from langchain_safe_retrievers.retrievers.vector import VectorRetriever
from langchain_safe_retrievers.testing import FakeLeg, texts
from langchain_safe_retrievers.trace import collect_traces

FAKE = DeterministicFakeEmbedding(size=8)


class Counting(Embeddings):
    """Embeds at random, counts what it embedded, and fails when told to."""

    def __init__(self) -> None:
        self.embedded: list[str] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.embedded += texts
        return FAKE.embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        return FAKE.embed_query(text)


def document(
    id: str,
    text: str = "bees",
    **metadata: Any,
) -> Document:
    return Document(page_content=text, metadata=metadata, id=id)


def held(retriever: HybridRetriever) -> dict[str | None, str]:
    """Return the texts by id, once both legs are known to hold the same."""
    assert not retriever.check()
    return {own.id: own.page_content for own in retriever.leg("keyword").documents()}


class TestStandard(RetrieversIntegrationTests):
    """LangChain's own tests."""

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return HybridRetriever.from_documents

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        documents = [document(str(n), f"bees {n}") for n in range(5)]
        return {"documents": documents, "embedding": FAKE}

    @property
    def retriever_query_example(self) -> str:
        return "bees"


# Legs by name -------------------------------------------------------------------------------------


def legs(*names: str) -> dict[str, FakeLeg]:
    return {name: FakeLeg(documents=[f"of {name}"]) for name in names}


def test_any_one_leg_is_enough_and_none_is_refused():
    for name in ("vector", "keyword", "sql"):
        assert texts(HybridRetriever(**legs(name)).invoke("q")) == [f"of {name}"]
    assert texts(HybridRetriever(legs=legs("web")).invoke("q")) == ["of web"]
    with pytest.raises(ConfigurationError, match="no leg is given"):
        HybridRetriever()


def test_names_stand_in_reports_and_provenance():
    retriever = HybridRetriever(
        **legs("keyword", "vector"), legs=legs("web"), provenance_key="from"
    )
    with collect_reports() as reports:
        found = retriever.invoke("q")
    assert [leg.leg for leg in reports[0].legs] == ["vector", "keyword", "web"]
    assert {own.metadata["from"][0]["leg"] for own in found} == {"vector", "keyword", "web"}
    assert retriever.leg("web") is retriever.retrievers[2]
    assert retriever.leg("sql") is None


def test_weights_are_by_name_and_one_of_zero_is_not_asked():
    given = legs("vector", "keyword")
    retriever = HybridRetriever(**given, weights={"keyword": 0.6, "vector": 0.0})
    assert retriever.weights == [0.0, 0.6]
    assert texts(retriever.invoke("q")) == ["of keyword"]
    assert given["vector"].calls == []
    assert HybridRetriever(**given).weights == [0.5, 0.5]


@pytest.mark.parametrize("weights", [{"vector": 1}, {"vector": 1, "keyword": 1, "sql": 1}, [1, 1]])
def test_weights_that_do_not_name_each_leg_are_refused(weights):
    with pytest.raises(ConfigurationError, match=r"for each of the legs \['vector', 'keyword'\]"):
        HybridRetriever(**legs("vector", "keyword"), weights=weights)


def test_a_leg_of_a_usual_name_is_not_given_twice():
    with pytest.raises(ConfigurationError, match="'sql' is given twice"):
        HybridRetriever(**legs("sql"), legs=legs("sql"))


def test_settings_are_checked_as_of_an_ensemble():
    for wrong in ({"k": 0}, {"weights": {"sql": -1}}, {"required_legs": ("web",)}, {"kk": 1}):
        with pytest.raises(ValidationError):
            HybridRetriever(**legs("sql"), **wrong)


def test_legs_are_asked_for_a_hundred_and_for_twice_as_many_as_are_wanted():
    given = legs("keyword")
    retriever = HybridRetriever(**given)
    retriever.invoke("q")
    retriever.invoke("q", k=70)
    HybridRetriever(**given, fetch_k=7).invoke("q")
    HybridRetriever(**given, k=None).invoke("q")
    asked = [arguments.get("k") for _, arguments in given["keyword"].calls]
    assert asked == [100, 140, 7, None]


def test_documents_with_one_id_are_one_and_those_without_are_one_by_text():
    one, other = document("1", "a", x=1), document("1", "a", y=2)
    alone = Document(page_content="a")
    retriever = HybridRetriever(
        vector=FakeLeg(documents=[one, alone]), keyword=FakeLeg(documents=[other, alone])
    )
    found = {own.id: own.metadata for own in retriever.invoke("q")}
    assert found == {"1": {"x": 1, "y": 2}, None: {}}
    assert len(retriever.model_copy(update={"identity": by_content}).invoke("q")) == 1


def test_it_can_be_copied_pickled_and_configured():
    retriever = HybridRetriever(**legs("vector", "keyword"), weights={"vector": 1, "keyword": 2})
    for twin in (copy.deepcopy(retriever), pickle.loads(pickle.dumps(retriever))):
        assert (twin.leg_names, twin.weights) == (["vector", "keyword"], [1, 2])
        assert texts(twin.invoke("q")) == ["of keyword", "of vector"]
    chosen = retriever.configurable_fields(k=ConfigurableField("k"))
    assert texts(chosen.invoke("q", {"configurable": {"k": 1}})) == ["of keyword"]
    by_key = HybridRetriever(**legs("vector"), id_key="key")
    assert texts(by_key.configurable_fields(k=ConfigurableField("k")).invoke("q")) == ["of vector"]


def test_a_persistent_keyword_leg_is_pickled_as_its_directory(tmp_path):
    keyword = KeywordRetriever.from_texts(["bees"], ids=["1"], persist_directory=tmp_path)
    twin = pickle.loads(pickle.dumps(HybridRetriever(keyword=keyword)))
    assert texts(twin.invoke("bees")) == ["bees"]


def test_a_leg_that_fails_is_skipped_if_it_may_be():
    broken = FakeLeg(error=ConnectionError("down"))
    retriever = HybridRetriever(vector=broken, **legs("keyword"), on_leg_error="skip")
    with collect_reports() as reports:
        assert texts(retriever.invoke("q")) == ["of keyword"]
    assert reports[0].degraded
    with pytest.raises(ConnectionError):
        HybridRetriever(vector=broken, **legs("keyword")).invoke("q")
    with pytest.raises(AllLegsFailedError):
        HybridRetriever(vector=broken, on_leg_error="skip").invoke("q")


def test_a_sql_leg_answers_beside_the_others():
    sql = SQLRetriever("sqlite://", statement="SELECT 9 AS id, :query AS text", id_column="id")
    retriever = HybridRetriever.from_documents([document("1")], FAKE, sql=sql)
    assert {own.id for own in retriever.invoke("bees")} == {"1", "9"}


# What is found ------------------------------------------------------------------------------------


def test_scores_of_both_legs_are_fused():
    retriever = HybridRetriever.from_documents([document("1"), document("2", "wasps")], FAKE)
    assert retriever.fuser == NoisyOr()
    with collect_reports() as reports:
        assert retriever.invoke("wasps")[0].id == "2"
    assert not any("want of scores" in note for note in reports[0].notes)


def test_a_chinese_query_and_a_nested_filter():
    laws = [
        document("1", "劳动者有权解除劳动合同", law={"chapter": "第二章", "pages": (3, None)}),
        document("2", "劳动者享受休息的权利", law={"chapter": "第三章"}),
        document("3", "房屋租赁合同", law={"chapter": "第二章"}),
    ]
    retriever = HybridRetriever.from_documents(laws, FAKE, weights={"vector": 0.01, "keyword": 1})
    assert retriever.invoke("解除劳动合同", k=1) == [laws[0]]
    found = retriever.invoke("劳动合同", filter={"law.chapter": "第二章"})
    assert {own.id for own in found} == {"1", "3"}


def test_text_that_is_only_indexed_is_found_and_not_returned():
    retriever = HybridRetriever.from_documents(
        [document("1", title="Wasps")], FAKE, index_text=lambda own: own.metadata["title"]
    )
    assert texts(retriever.leg("keyword").invoke("wasps")) == ["bees"]


# Keeping in step ----------------------------------------------------------------------------------


def test_documents_are_added_changed_and_deleted_in_both_legs():
    retriever = HybridRetriever.from_documents([document("1"), document("2", "wasps")], FAKE)
    assert retriever.add_documents([document("2", "ants"), document("3", "flies")]) == ["2", "3"]
    retriever.delete(["1", "unknown"])
    assert held(retriever) == {"2": "ants", "3": "flies"}
    assert texts(retriever.invoke("ants", k=9)) != []
    assert "wasps" not in texts(retriever.invoke("wasps"))


def test_documents_are_added_and_deleted_without_blocking_the_loop():
    async def work() -> HybridRetriever:
        retriever = HybridRetriever.from_documents([], FAKE)
        await retriever.aadd_documents([document("1"), document("2")])
        await retriever.adelete(["1"])
        return retriever

    assert held(asyncio.run(work())) == {"2": "bees"}


def test_adding_again_embeds_nothing_and_an_id_is_made_of_the_contents():
    embedding = Counting()
    given = [document("1", page=(1, None)), Document(page_content="wasps")]
    retriever = HybridRetriever.from_documents(given, embedding)
    first = retriever.add_documents(given)
    assert first == retriever.add_documents(given)
    assert embedding.embedded == ["bees", "wasps"]
    retriever.add_documents([document("1", page=(1.0, None))])  # equal, but not type for type
    assert embedding.embedded == ["bees", "wasps", "bees"]
    assert retriever.leg("keyword").get(["1"])[0].metadata == {"page": (1.0, None)}


def test_of_several_documents_with_one_id_the_last_stays():
    retriever = HybridRetriever.from_documents([document("1"), document("1", "ants")], FAKE)
    assert held(retriever) == {"1": "ants"}


def test_an_index_is_opened_again_and_answers_without_embedding(tmp_path):
    documents = [document("1", law={"chapter": "第二章"}), document("2", "wasps")]
    HybridRetriever.from_documents(documents, FAKE, persist_directory=tmp_path)
    embedding = Counting()
    for given in ([], documents):
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            again = HybridRetriever.from_documents(given, embedding, persist_directory=tmp_path)
        assert again.invoke("bees", filter={"law.chapter": "第二章"}) == documents[:1]
    assert embedding.embedded == []


def test_metadata_that_cannot_be_kept_leaves_both_legs_as_they_were():
    retriever = HybridRetriever.from_documents([document("1")], FAKE)
    with pytest.raises(MetadataError, match=r"document 'x' at a\.0"):
        retriever.add_documents([document("2"), document("x", a=[object()])])
    with pytest.raises(MetadataError, match=r"document 0 \(without an id\) at a"):
        retriever.add_documents([Document(page_content="b", metadata={"a": object()})])
    assert held(retriever) == {"1": "bees"}


def test_what_differs_is_told_and_mended_from_the_vector_leg():
    embedding = Counting()
    retriever = HybridRetriever.from_documents([document(n) for n in "1234"], embedding)
    keyword = retriever.leg("keyword")
    keyword.delete(["1"])
    keyword.add_documents([document("2", "changed"), document("3", page=1), document("5", "extra")])
    difference = Difference(missing=("1",), extra=("5",), changed=("2", "3"))
    assert retriever.check() == difference
    assert retriever.repair() == difference
    assert held(retriever) == dict.fromkeys("1234", "bees")
    assert len(embedding.embedded) == 4
    assert retriever.repair() == Difference()


def test_an_index_that_was_cut_short_says_so_when_it_is_opened(tmp_path):
    made = HybridRetriever.from_documents([document("1")], FAKE, persist_directory=tmp_path)
    made.leg("vector").add_documents([document("2")])  # and then the process was killed
    with pytest.warns(UserWarning, match=r"holds 2 documents and the keyword leg 1: .* repair\(\)"):
        again = HybridRetriever.from_documents([], FAKE, persist_directory=tmp_path)
    assert again.repair().missing == ("2",)
    assert held(again) == {"1": "bees", "2": "bees"}


@contextmanager
def uncommitted(*_: object):
    """Stand in for `KeywordRetriever.adding` whose commit fails."""
    yield []
    raise ZeroDivisionError


def cut_short(monkeypatch, write: Callable[..., Any], given: Any) -> None:
    """Write to both legs, killed before the keyword leg commits."""
    with monkeypatch.context() as patch:
        patch.setattr(Chroma, "add_documents", interrupted(Chroma.add_documents))
        patch.setattr(Chroma, "delete", interrupted(Chroma.delete))
        with pytest.raises(KeyboardInterrupt):
            write(given)


def interrupted(write: Callable[..., Any]) -> Callable[..., Any]:
    def written(*args: Any, **kwargs: Any) -> None:
        write(*args, **kwargs)
        raise KeyboardInterrupt

    return written


def test_a_change_that_was_cut_short_is_told_though_the_numbers_are_equal(tmp_path, monkeypatch):
    retriever = HybridRetriever.from_documents([document("1")], FAKE, persist_directory=tmp_path)
    cut_short(monkeypatch, retriever.add_documents, [document("1", "wasps")])

    with pytest.warns(UserWarning, match=r"differently: .* call repair\(\)"):
        opened = HybridRetriever.from_documents([], FAKE, persist_directory=tmp_path)
    (found,) = opened.invoke("wasps")
    assert found.page_content == "wasps"
    assert opened.repair().changed == ("1",)
    again = HybridRetriever.from_documents(
        [], FAKE, persist_directory=tmp_path
    )  # without a warning
    assert held(again) == {"1": "wasps"}


def test_a_change_that_was_cut_short_and_made_again_is_told_no_more(tmp_path, monkeypatch):
    retriever = HybridRetriever.from_documents([document("1")], FAKE, persist_directory=tmp_path)
    cut_short(monkeypatch, retriever.add_documents, [document("1", "wasps")])
    cut_short(monkeypatch, retriever.delete, ["1"])
    retriever.add_documents([document("1", "ants")])
    opened = HybridRetriever.from_documents([], FAKE, persist_directory=tmp_path)
    assert held(opened) == {"1": "ants"}


def test_adding_again_after_an_addition_was_cut_short_writes_what_is_missing(monkeypatch):
    embedding = Counting()
    retriever = HybridRetriever.from_documents([], embedding)
    with monkeypatch.context() as broken:
        broken.setattr(KeywordRetriever, "adding", uncommitted)
        with pytest.raises(ZeroDivisionError):
            retriever.add_documents([document("1")])
    assert retriever.check().missing == ("1",)
    retriever.add_documents([document("1")])
    assert held(retriever) == {"1": "bees"}
    assert embedding.embedded == ["bees"]


def test_an_embedding_that_fails_leaves_both_legs_as_they_were(monkeypatch):
    retriever = HybridRetriever.from_documents([document("1")], FAKE)
    with monkeypatch.context() as broken:
        broken.setattr(type(FAKE), "embed_documents", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            retriever.add_documents([document("1", "wasps"), document("2")])
    assert held(retriever) == {"1": "bees"}


def test_nothing_is_embedded_while_another_writes_to_the_keyword_leg(tmp_path):
    embedding = Counting()
    retriever = HybridRetriever.from_documents([], embedding, persist_directory=tmp_path)
    another = KeywordRetriever(persist_directory=tmp_path / "keyword")
    with another.adding([document("2")]), pytest.raises(IndexLockedError):
        retriever.add_documents([document("1")])
    assert embedding.embedded == []
    assert retriever.check().extra == ("2",)


def test_nothing_is_deleted_while_another_writes_to_the_keyword_leg(tmp_path):
    retriever = HybridRetriever.from_documents([document("1")], FAKE, persist_directory=tmp_path)
    other = KeywordRetriever(persist_directory=tmp_path / "keyword")
    with other.adding([]), pytest.raises(IndexLockedError):
        retriever.delete(["1"])
    assert held(retriever) == {"1": "bees"}
    retriever.delete(["1"])
    assert held(retriever) == {}


def test_large_additions_go_in_batches_that_the_store_takes(monkeypatch):
    retriever = HybridRetriever.from_documents([], FAKE)
    store = retriever.leg("vector").store
    monkeypatch.setattr(type(store._client), "get_max_batch_size", lambda self: 3)
    monkeypatch.setattr("langchain_safe_retrievers.vector.stores.PAGE", 2)
    monkeypatch.setattr("langchain_safe_retrievers.in_step.PAGE", 2)
    retriever.add_documents(document(str(n)) for n in range(7))
    assert len(held(retriever)) == 7
    retriever.leg("keyword").delete(list("0123456"))
    assert len(retriever.repair().missing) == len(held(retriever)) == 7


def test_progress_is_shown_when_asked_for(capsys):
    HybridRetriever.from_documents([document("1")], FAKE, show_progress=True)
    assert "1/1" in capsys.readouterr().err
    HybridRetriever.from_documents([document("1")], FAKE)
    assert capsys.readouterr().err == ""


# Read late ----------------------------------------------------------------------------------------


class Watching(BaseCallbackHandler):
    """Sees what the legs return."""

    def __init__(self) -> None:
        self.seen: list[Document] = []

    def on_retriever_end(self, documents: Any, **_: Any) -> None:
        self.seen += documents


def thirty(**settings: Any) -> HybridRetriever:
    documents = [document(str(n), f"bees {n % 3}", a={"b": (n,)}) for n in range(30)]
    return HybridRetriever.from_documents(documents, FAKE, **settings)


def unreadable(*_: object, **__: object) -> None:
    raise ZeroDivisionError


def test_of_all_that_the_legs_rank_only_what_is_returned_is_read(monkeypatch):
    retriever = thirty()
    expected = retriever.invoke("bees 1", k=7, config={"callbacks": [Watching()]})
    monkeypatch.setattr(Chroma, "similarity_search_with_score", unreadable)
    assert retriever.invoke("bees 1", k=7) == expected
    assert asyncio.run(retriever.ainvoke("bees 1", k=7)) == expected
    assert [own.metadata for own in expected] == [{"a": {"b": (int(own.id),)}} for own in expected]


def test_who_watches_the_legs_sees_whole_documents():
    watching = Watching()
    thirty().invoke("bees 1", config={"callbacks": [watching]})
    assert len(watching.seen) > 30
    assert all(own.metadata and own.page_content for own in watching.seen)
    with collect_traces() as traces:
        found = thirty().invoke("bees 1")
    assert traces[0].merging.run().documents == found


@pytest.mark.parametrize("key", ["provenance_key", "fused_score_key"])
def test_settings_that_add_to_documents_add_to_whole_ones(key):
    for own in thirty(**{key: "added"}).invoke("bees 1"):
        assert own.page_content.startswith("bees")
        assert own.metadata.keys() == {"a", "added"}


def test_a_document_that_the_keyword_leg_lost_is_read_from_the_vector_leg():
    retriever = thirty()
    retriever.leg("keyword").delete([str(n) for n in range(30)])
    found = retriever.invoke("bees 1", k=7)
    assert len(found) == 7
    assert all(own.page_content.startswith("bees") for own in found)


@pytest.mark.parametrize("name", ["vector", "keyword"])
def test_a_leg_that_was_written_to_by_itself_is_read_in_full_so_that_nothing_is_lost(name: str):
    retriever = thirty()
    retriever.leg(name).add_documents([document("1", "bees 1", x=1)])
    (found,) = [own for own in retriever.invoke("bees 1", k=30) if own.id == "1"]
    assert (found.metadata["x"], found.metadata["a"]) == (1, {"b": (1,)})


def test_legs_that_are_written_to_together_stay_in_step(monkeypatch):
    retriever = thirty()
    retriever.add_documents([document("31", "bees 31")])
    retriever.delete(["2"])
    monkeypatch.setattr(Chroma, "similarity_search_with_score", unreadable)
    found = {own.id for own in retriever.invoke("bees 31", k=40)}
    assert found == {str(n) for n in range(32)} - {"2", "30"}


def test_a_document_that_is_deleted_before_it_is_read_is_not_returned():
    retriever = thirty()
    ranked = [document("gone", ""), document("3", "")]
    legs = retriever.leg("vector"), retriever.leg("keyword")
    assert read_late(*legs, ranked) == [document("3", "bees 0", a={"b": (3,)})]


def test_legs_that_were_not_made_in_step_are_read_in_full_and_folded():
    store = InMemoryVectorStore(FAKE)
    store.add_texts(["bees"], [{"x": 1}], ids=["1"])
    keyword = KeywordRetriever.from_texts(["bees"], [{"y": 2}], ["1"])
    found = HybridRetriever(vector=store, keyword=keyword).invoke("bees")
    assert found == [document("1", "bees", x=1, y=2)]


class Newest:
    """A fuser that looks at the documents."""

    def contributions(self, leg: Ranking, weight: float) -> list[float]:
        return [weight * leg.documents[rank - 1].metadata["a"]["b"][0] for rank in leg.ranks]


class OnlyNew(HybridRetriever):
    """Looks at the documents before they are fused."""

    def weighted_reciprocal_rank(self, doc_lists: list[list[Document]]) -> list[Document]:
        new = [[own for own in found if own.metadata["a"]["b"][0] > 27] for found in doc_lists]
        return super().weighted_reciprocal_rank(new)


def test_a_fuser_or_subclass_of_a_user_s_sees_whole_documents():
    assert [own.id for own in thirty(fuser=Newest()).invoke("bees", k=2)] == ["29", "28"]
    documents = [document(str(n), "bees", a={"b": (n,)}) for n in range(30)]
    found = OnlyNew.from_documents(documents, FAKE).invoke("bees")
    assert sorted(own.id for own in found) == ["28", "29"]


def test_a_keyword_leg_that_cannot_be_read_does_not_cost_what_the_vector_leg_found(tmp_path):
    retriever = thirty(persist_directory=tmp_path, on_leg_error="skip")
    assert len(retriever.invoke("bees 1")) == 5
    shutil.rmtree(tmp_path / "keyword")
    assert [own.page_content[:4] for own in retriever.invoke("bees 1")] == ["bees"] * 5


def test_an_id_may_be_deleted_twice_in_one_call():
    retriever = thirty()
    retriever.delete(["1", "1"])
    assert len(held(retriever)) == 29
    with pytest.raises(ConfigurationError, match="expected a list of ids"):
        retriever.delete("12")


# From a store that is there -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "make", [lambda: Chroma(f"t-{uuid.uuid4()}", FAKE), lambda: InMemoryVectorStore(FAKE)]
)
def test_the_keyword_leg_is_made_from_a_store_with_ids_and_metadata_kept(make):
    store = make()
    store.add_texts(["bees", "wasps"], [{"page": 1}, {}], ids=["1", "2"])
    retriever = HybridRetriever.from_vectorstore(store)
    assert retriever.leg("keyword").get(["1", "2"]) == [
        document("1", page=1),
        document("2", "wasps"),
    ]
    retriever.add_documents([document("3", "ants", a={"b": (1,)})])
    assert retriever.invoke("ants", filter={"a.b": {"$exists": True}}) == [
        document("3", "ants", a={"b": (1,)})
    ]
    assert len(held(retriever)) == 3


def test_a_keyword_leg_that_is_there_is_brought_in_step_with_the_store(tmp_path):
    store = InMemoryVectorStore(FAKE)
    store.add_texts(["bees"], ids=["1"])
    HybridRetriever.from_vectorstore(store, persist_directory=tmp_path)
    store.add_texts(["ants"], ids=["2"])
    store.delete(["1"])
    again = HybridRetriever.from_vectorstore(store, persist_directory=tmp_path)
    assert held(again) == {"2": "ants"}


def test_legs_of_other_kinds_are_written_to_by_themselves():
    retriever = HybridRetriever(**legs("vector", "keyword"))
    for call in (
        lambda: retriever.add_documents([]),
        lambda: retriever.delete([]),
        retriever.check,
    ):
        with pytest.raises(ConfigurationError, match="vector leg is FakeLeg and the keyword leg"):
            call()
    with pytest.raises(ConfigurationError, match="expected a list of ids"):
        HybridRetriever.from_documents([], FAKE).delete("12")


def test_a_store_that_cannot_be_read_from_end_to_end_is_refused_by_name():
    closed = VectorRetriever.model_construct(store=object(), flat=None, k=4)
    with pytest.raises(ConfigurationError, match="object cannot be read from end to end"):
        compare(closed, KeywordRetriever())


def test_functions_are_legs_too():
    leg = RunnableLambda(lambda query, k=4: [document(str(k))])
    assert [own.id for own in HybridRetriever(legs={"f": leg}).invoke("q")] == ["100"]
