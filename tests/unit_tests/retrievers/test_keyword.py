"""KeywordRetriever is a retriever, a document index, and a leg."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.documents import Document
from langchain_core.indexing import InMemoryRecordManager, index
from langchain_core.runnables import ConfigurableField
from langchain_tests.integration_tests import RetrieversIntegrationTests
from pydantic import ValidationError

from langchain_safe_retrievers import SafeEnsembleRetriever
from langchain_safe_retrievers.errors import ConfigurationError
from langchain_safe_retrievers.fusion.fuser import RankedList
from langchain_safe_retrievers.legs.arguments import takes
from langchain_safe_retrievers.retrievers.keyword import KeywordRetriever
from langchain_safe_retrievers.testing import texts

if TYPE_CHECKING:
    from langchain_core.retrievers import BaseRetriever

TEXTS = ["bees make honey", "wasps make paper", "ants make hills"]


class TestStandard(RetrieversIntegrationTests):
    """LangChain's own tests."""

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return KeywordRetriever.from_texts

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"texts": [f"insect {n}" for n in range(5)]}

    @property
    def retriever_query_example(self) -> str:
        return "insects"


def words(text: str) -> list[str]:
    return text.split()


def other_words(text: str) -> list[str]:
    return text.split()


def reversing(text: str) -> list[str]:
    return [word[::-1] for word in text.split()]


def test_k_of_the_constructor_of_the_call_and_by_default():
    retriever = KeywordRetriever.from_texts(["bee"] * 9, ids=list("abcdefghi"))
    assert len(retriever.invoke("bee")) == 4
    assert len(retriever.invoke("bee", k=7)) == 7
    assert len(KeywordRetriever.from_texts(["bee"] * 2, ids=["a", "b"], k=1).invoke("bee")) == 1


@pytest.mark.parametrize("k", [0, -1, True, 2.0, "3"])
def test_k_is_a_whole_number_of_at_least_one(k):
    with pytest.raises(ConfigurationError, match="expected a whole number of at least 1"):
        KeywordRetriever.from_texts(TEXTS).invoke("bees", k=k)
    with pytest.raises(ValidationError, match="k"):
        KeywordRetriever(k=k)


def test_scores_reach_a_fuser_without_touching_metadata_and_metadata_on_request():
    found = KeywordRetriever.from_texts(TEXTS).invoke("who makes honey?")
    assert isinstance(found, RankedList)
    assert texts(found)[0] == "bees make honey"
    assert found.scores == sorted(found.scores, reverse=True)
    assert [document.metadata for document in found] == [{}, {}, {}]
    (first, *_) = KeywordRetriever.from_texts(TEXTS, score_key="bm25").invoke("who makes honey?")
    assert first.metadata == {"bm25": found.scores[0]}


def test_filter_and_k_reach_it_as_a_leg():
    retriever = KeywordRetriever.from_texts(TEXTS, [{"n": n} for n in range(3)])
    assert takes(retriever, "filter")
    assert takes(retriever, "k")
    ensemble = SafeEnsembleRetriever(retrievers=[retriever])
    found = ensemble.invoke("who makes what?", filter={"n": {"$gte": 1}}, k=5)
    assert sorted(texts(found)) == ["ants make hills", "wasps make paper"]


async def test_the_async_answer_is_the_sync_one():
    retriever = KeywordRetriever.from_texts(TEXTS, [{"n": n} for n in range(3)])
    asked = [retriever.ainvoke("make", k=2, filter={"n": {"$ne": 0}}) for _ in range(20)]
    for found in await asyncio.gather(*asked):
        assert texts(found) == ["wasps make paper", "ants make hills"]
        assert len(found.scores) == 2
    assert await retriever.aadd_documents([Document(page_content="flies", id="f")]) == ["f"]
    assert texts(await retriever.aget(["f"])) == ["flies"]


def test_generators_are_read_once():
    retriever = KeywordRetriever.from_texts(
        iter(TEXTS), ({"n": n} for n in range(3)), (str(n) for n in range(3))
    )
    assert texts(retriever.get_by_ids(["2", "0"])) == ["ants make hills", "bees make honey"]
    made = KeywordRetriever.from_documents(Document(page_content=text) for text in TEXTS)
    assert made.count() == 3


@pytest.mark.parametrize("unequal", [{"metadatas": [{}]}, {"ids": ["1", "2", "3", "4"]}])
def test_unequal_lengths_are_refused_before_anything_is_written(tmp_path, unequal):
    with pytest.raises(ConfigurationError, match=r"entries for 3 documents; expected one for each"):
        KeywordRetriever.from_texts(TEXTS, **unequal, persist_directory=tmp_path / "index")
    assert not (tmp_path / "index").exists()
    with pytest.raises(ConfigurationError, match="ids has 1 entries for 2 documents"):
        KeywordRetriever().add_documents([Document(page_content="a")] * 2, ids=["1"])


def test_ids_given_with_documents_come_before_their_own():
    retriever = KeywordRetriever()
    document = Document(page_content="bee", id="own")
    assert retriever.add_documents([document, document], ids=["a", None])[0] == "a"
    assert document.id == "own"
    assert retriever.count() == 2


def test_delete_needs_ids():
    with pytest.raises(ValueError, match="expected a list of ids"):
        KeywordRetriever().delete()
    with pytest.raises(ValueError, match="expected a list of ids"):
        KeywordRetriever().delete("abc")


def test_the_document_index_s_answers():
    retriever = KeywordRetriever()
    assert retriever.upsert([Document(page_content="bee", id="1")]) == {
        "succeeded": ["1"],
        "failed": [],
    }
    assert retriever.delete(["1", "2"]) == {
        "succeeded": ["1"],
        "num_deleted": 1,
        "failed": [],
        "num_failed": 0,
    }
    assert retriever.get(["1"]) == []


def test_core_s_indexing_rewrites_only_what_changed(monkeypatch):
    retriever, records = KeywordRetriever(), InMemoryRecordManager("bees")
    records.create_schema()
    written: list[str] = []
    upsert = KeywordRetriever.upsert

    def spy(self, items, /, **kwargs):
        written.extend(texts(items))
        return upsert(self, items, **kwargs)

    monkeypatch.setattr(KeywordRetriever, "upsert", spy)

    def run(*contents):
        written.clear()
        documents = [Document(page_content=text, metadata={"source": "s"}) for text in contents]
        return index(
            documents,
            records,
            retriever,
            cleanup="full",
            source_id_key="source",
            key_encoder="sha256",
        )

    assert run(*TEXTS)["num_added"] == 3
    assert run(*TEXTS) == {"num_added": 0, "num_updated": 0, "num_skipped": 3, "num_deleted": 0}
    assert written == []
    assert run(TEXTS[0], "hornets make nests") == {
        "num_added": 1,
        "num_updated": 0,
        "num_skipped": 1,
        "num_deleted": 2,
    }
    assert written == ["hornets make nests"]
    assert sorted(texts(retriever.documents())) == ["bees make honey", "hornets make nests"]


def test_a_kept_index_is_reopened_with_its_settings(tmp_path):
    KeywordRetriever.from_texts(["Die Hunde"], persist_directory=tmp_path, language="german", k=2)
    again = KeywordRetriever(persist_directory=tmp_path)
    assert (again.k, again.language) == (2, "german")
    assert texts(again.invoke("hund")) == ["Die Hunde"]
    same = KeywordRetriever(persist_directory=str(tmp_path), language="german", k=2)
    assert same.count() == 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"language": "english"}, "language is 'english', but .* was made with language='german'"),
        ({"language": None}, "language is None, but"),
        ({"k": 3}, "k is 3, but .* another k with each query"),
        ({"tokenizer": words}, "tokenizer is '.*words', but .* tokenizer='auto'"),
    ],
)
def test_other_settings_are_refused(tmp_path, settings, message):
    KeywordRetriever(persist_directory=tmp_path, language="german", k=2)
    with pytest.raises(ValueError, match=message):
        KeywordRetriever(persist_directory=tmp_path, **settings)


def test_a_callable_is_remembered_by_name_and_by_what_it_does(tmp_path, monkeypatch):
    made = KeywordRetriever.from_texts(["A b"], persist_directory=tmp_path, tokenizer=words)
    assert (made.language, texts(made.invoke("A")), made.invoke("a")) == (None, ["A b"], [])
    assert KeywordRetriever(persist_directory=tmp_path, tokenizer=words).count() == 1
    with pytest.raises(ValueError, match="tokenizer is 'auto', but"):
        KeywordRetriever(persist_directory=tmp_path)
    with pytest.raises(ValueError, match="other_words', but"):
        KeywordRetriever(persist_directory=tmp_path, tokenizer=other_words)
    monkeypatch.setattr(reversing, "__qualname__", "words")
    with pytest.raises(ValueError, match="words are split or stemmed otherwise now"):
        KeywordRetriever(persist_directory=tmp_path, tokenizer=reversing)


def test_a_language_beside_a_callable_is_refused():
    with pytest.raises(ValueError, match="leave language out, or stem in the callable"):
        KeywordRetriever(tokenizer=words, language="english")


def test_a_directory_of_something_else_is_refused_and_left_alone(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match="holds something else than a keyword index"):
        KeywordRetriever(persist_directory=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize("text", ["", "[]", '{"k": 4}', "\x00"])
def test_settings_that_cannot_be_read_are_refused(tmp_path, text):
    KeywordRetriever(persist_directory=tmp_path)
    (tmp_path / "settings.json").write_text(text)
    with pytest.raises(ValueError, match="something else than a keyword index"):
        KeywordRetriever(persist_directory=tmp_path)


def test_an_index_of_another_version_is_refused(tmp_path):
    KeywordRetriever(persist_directory=tmp_path)
    file = tmp_path / "settings.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"format": 99}))
    with pytest.raises(ValueError, match="belongs to another version"):
        KeywordRetriever(persist_directory=tmp_path)


def test_copies_of_a_kept_retriever_open_its_directory(tmp_path):
    retriever = KeywordRetriever.from_texts(TEXTS, persist_directory=tmp_path, k=2)
    for other in (pickle.loads(pickle.dumps(retriever)), copy.deepcopy(retriever)):
        assert texts(other.invoke("honey")) == ["bees make honey"]
        assert other.k == 2
    retriever.add_documents([Document(page_content="more honey")])
    assert len(other.invoke("honey")) == 2


def test_one_in_memory_says_why_it_cannot_be_copied():
    with pytest.raises(TypeError, match="give it a persist_directory"):
        pickle.dumps(KeywordRetriever())


def test_chinese_japanese_and_accents_are_found():
    retriever = KeywordRetriever.from_texts(
        ["中华人民共和国劳动法", "東京タワー", "l'été à la plage"]
    )
    assert texts(retriever.invoke("劳动合同怎么签")) == ["中华人民共和国劳动法"]
    assert texts(retriever.invoke("タワー")) == ["東京タワー"]
    assert texts(retriever.invoke("ÉTÉ")) == ["l'été à la plage"]


def test_the_package_does_not_import_tantivy_before_it_is_used():
    code = (
        "import sys, langchain_safe_retrievers.retrievers.keyword as k;"
        "assert 'tantivy' not in sys.modules; k.KeywordRetriever();"
        "assert 'tantivy' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603 - our own code


@pytest.mark.parametrize("wanted", [{}, {"filter": {"n": 1}}])
def test_asked_for_ids_it_returns_those_of_the_same_documents_with_the_same_scores(wanted):
    retriever = KeywordRetriever.from_texts(TEXTS, [{"n": n} for n in range(3)], ["a", "b", "c"])
    whole = retriever.invoke("make", **wanted)
    for bare in (
        retriever.invoke("make", only_ids=True, **wanted),
        asyncio.run(retriever.ainvoke("make", only_ids=True, **wanted)),
    ):
        assert bare == [Document(page_content="", id=own.id) for own in whole]
        assert bare.scores == whole.scores


def test_documents_that_are_being_added_are_there_once_the_block_has_ended_well():
    retriever = KeywordRetriever()
    with pytest.raises(ZeroDivisionError), retriever.adding([Document(page_content="bees")]):
        raise ZeroDivisionError
    assert retriever.count() == 0
    with retriever.adding([Document(page_content="bees", id="1")]) as ids:
        assert retriever.count() == 0
    assert (ids, retriever.count()) == (["1"], 1)


def test_an_index_in_memory_is_not_made_anew_by_configurable_fields(tmp_path):
    field = ConfigurableField(id="key")
    with pytest.raises(ConfigurationError, match="score_key cannot be configured at run time"):
        KeywordRetriever.from_texts(["bees"]).configurable_fields(score_key=field)
    kept = KeywordRetriever.from_texts(["bees"], persist_directory=tmp_path)
    configured = kept.configurable_fields(score_key=field)
    (found,) = configured.invoke("bees", config={"configurable": {"key": "s"}})
    assert found.metadata.keys() == {"s"}


def test_k_may_be_any_whole_number_above_the_size():
    assert len(KeywordRetriever.from_texts(["bees"]).invoke("bees", k=2**70)) == 1
