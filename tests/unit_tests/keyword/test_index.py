"""The index keeps documents by id and ranks them by BM25."""

from __future__ import annotations

import math
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document

from langchain_safe_retrievers.errors import (
    ConfigurationError,
    FilterError,
    IndexLockedError,
    MetadataError,
)
from langchain_safe_retrievers.keyword.index import KeywordIndex
from langchain_safe_retrievers.keyword.tokenizer import Tokenizer
from tests.unit_tests.keyword.strategies import metadata, rare, scalars
from tests.unit_tests.test_codec import same_types

ENGLISH = Tokenizer("auto", "english")
PLAIN = Tokenizer("auto", None)


def indexed(*texts: str, tokenizer: Tokenizer = PLAIN, **settings) -> KeywordIndex:
    index = KeywordIndex(tokenizer, **settings)
    index.upsert(Document(page_content=text, id=str(n)) for n, text in enumerate(texts))
    return index


def ids(found) -> list[str]:
    return [document.id for document, _ in found]


def test_a_score_is_bm25_as_the_docstring_writes_it():
    index = indexed("bee", "bee wasp", "ant ant ant")
    (_, first), (_, second) = index.search("bee", 5)
    idf = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    assert first == pytest.approx(idf * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 1 / 2)), rel=1e-5)
    assert second == pytest.approx(idf * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 2 / 2)), rel=1e-5)


def test_a_term_asked_for_twice_counts_twice():
    index = indexed("bee", "wasp")
    assert index.search("bee bee", 1)[0][1] == pytest.approx(2 * index.search("bee", 1)[0][1])


def test_a_term_in_every_document_still_scores_above_nothing():
    index = indexed("bee ant", "bee wasp")
    assert [score > 0 for _, score in index.search("bee", 5)] == [True, True]


def test_only_documents_that_share_a_term_are_found():
    index = indexed("bees make honey", "wasps do not", tokenizer=ENGLISH)
    assert ids(index.search("honey or jam?", 5)) == ["0"]
    assert index.search("marmalade", 5) == []


@pytest.mark.parametrize("query", ["", "  \n", "?!*", "the of and", "\ud800"])
def test_a_query_without_terms_finds_nothing(query):
    assert indexed("the bee", tokenizer=ENGLISH).search(query, 5) == []


def test_an_empty_index_finds_nothing_and_k_may_exceed_the_size():
    assert indexed().search("bee", 5) == []
    assert indexed().search("bee", 5, {"a": 1}) == []
    assert list(indexed()) == []
    assert len(indexed("bee", "bee").search("bee", 10**9)) == 2


@pytest.mark.parametrize(
    "query",
    [
        '"bee',
        "bee AND ant",
        "words:bee",
        "bee*",
        "(bee",
        "bee?",
        "NOT bee",
        "[bee TO *]",
        "-bee",
        "+bee^9",
        "bee~",
        "id:0 OR bee",
        "\\bee",
        "/bee/",
        "bee:{",
    ],
)
def test_nothing_in_a_query_is_syntax(query):
    assert "0" in ids(indexed("bee", "wasp", tokenizer=ENGLISH).search(query, 5))


@given(st.text())
def test_any_text_can_be_asked_for_and_found_by_itself(text):
    index = indexed(text, "wasp")
    found = ids(index.search(text, 5))
    assert ("0" in found) == bool(PLAIN.terms(text))


def test_ties_are_in_the_order_of_adding_at_any_k_and_over_many_commits():
    index = indexed()
    for n in range(30):
        index.upsert([Document(page_content="bee", id=f"{n}.{m}") for m in range(3)])
    expected = [f"{n}.{m}" for n in range(30) for m in range(3)]
    for k in (1, 2, 7, 50, 100):
        assert ids(index.search("bee", k)) == expected[:k]
    assert [document.id for document in index] == expected


def test_a_document_with_a_known_id_takes_the_place_of_the_old_one():
    index = indexed("bee", "ant")
    index.upsert([Document(page_content="wasp", id="0"), Document(page_content="fly", id="0")])
    assert len(index) == 2
    assert ids(index.search("bee wasp", 5)) == []
    assert ids(index.search("fly", 5)) == ["0"]
    assert [d.page_content for d in index.get(["1", "0", "7", "1"])] == ["ant", "fly"]


def test_deleting_tells_what_was_there():
    index = indexed("bee", "bee")
    assert index.delete(["1", "7", "1"]) == ["1"]
    assert ids(index.search("bee", 5)) == ["0"]
    assert index.delete([]) == []
    assert len(index) == 1


@given(st.lists(st.tuples(st.text(), metadata(st.one_of(scalars, rare))), max_size=4))
def test_documents_come_back_equal_type_for_type(given_documents):
    documents = [
        Document(page_content=text, metadata=each, id=str(n))
        for n, (text, each) in enumerate(given_documents)
    ]
    index = KeywordIndex(PLAIN)
    index.upsert(documents)
    for put, got in zip(documents, index, strict=True):
        assert (got.id, got.page_content) == (put.id, put.page_content)
        assert same_types(got.metadata, put.metadata)


def test_equal_documents_without_id_are_one_and_different_ones_are_not():
    index = KeywordIndex(PLAIN)
    same, other = Document(page_content="bee"), Document(page_content="bee", metadata={"n": 1})
    first, second, third = index.upsert([same, other, same])
    assert first == third != second
    assert len(index) == 2


def test_metadata_that_cannot_be_kept_is_named_and_nothing_of_its_batch_is_written(tmp_path):
    index = KeywordIndex(PLAIN, tmp_path)
    batch = [
        Document(page_content="bee", id="a"),
        Document(page_content="ant", id="b", metadata={"x": {"y": object()}}),
    ]
    with pytest.raises(MetadataError, match=r"metadata of document 'b' at x\.y"):
        index.upsert(batch)
    assert len(index) == 0
    with pytest.raises(MetadataError, match=r"document 1 \(without an id\).* x\.y"):
        index.upsert([batch[0], batch[1].model_copy(update={"id": None})])
    index.upsert(batch[:1])
    assert [document.id for document in index] == ["a"]


def test_a_generator_that_fails_half_way_leaves_nothing_and_no_lock(tmp_path):
    index = KeywordIndex(PLAIN, tmp_path)

    def documents():
        yield Document(page_content="bee", id="a")
        msg = "no more"
        raise RuntimeError(msg)

    with pytest.raises(RuntimeError, match="no more"):
        index.upsert(documents())
    assert len(index) == 0
    assert index.upsert([Document(page_content="bee", id="b")]) == ["b"]


@pytest.mark.parametrize("bad", ["x" * 10_001, "\ud800"])
def test_an_id_that_cannot_be_kept_is_refused(bad):
    with pytest.raises(ConfigurationError, match="id of document 0"):
        KeywordIndex(PLAIN).upsert([Document.model_construct(page_content="bee", id=bad)])


def test_a_store_s_own_filter_is_refused_rather_than_ignored():
    with pytest.raises(FilterError, match="got object, which a keyword index cannot read"):
        indexed("bee").search("bee", 1, object())
    with pytest.raises(FilterError):
        indexed("bee").search("bee", 1, {"a": {"$near": 1}})
    assert ids(indexed("bee").search("bee", 1, {})) == ["0"]


def test_a_document_is_found_by_another_text_and_returned_as_it_was():
    index = KeywordIndex(PLAIN, index_text=lambda d: f"{d.metadata['title']} {d.page_content}")
    document = Document(page_content="bee", metadata={"title": "Insects"}, id="0")
    index.upsert([document])
    assert [found for found, _ in index.search("insects", 5)] == [document]


def test_what_is_returned_is_the_caller_s_to_change():
    index = indexed("bee")
    index.search("bee", 1)[0][0].metadata["mine"] = True
    assert index.search("bee", 1)[0][0].metadata == {}


def test_another_index_on_the_directory_sees_each_commit(tmp_path):
    writer, reader = KeywordIndex(PLAIN, tmp_path), KeywordIndex(PLAIN, tmp_path)
    for n in range(5):
        writer.upsert([Document(page_content="bee", id=str(n))])
        assert len(reader) == n + 1
    writer.delete(["0"])
    assert ids(reader.search("bee", 9)) == ["1", "2", "3", "4"]


def test_a_second_writer_gets_a_clear_error_and_readers_go_on(tmp_path):
    first, second = KeywordIndex(PLAIN, tmp_path), KeywordIndex(PLAIN, tmp_path)
    first.upsert([Document(page_content="bee", id="0")])

    def documents():
        yield Document(page_content="bee", id="1")
        with pytest.raises(IndexLockedError, match=r"lock_timeout is 0\.0 seconds"):
            second.upsert([Document(page_content="bee", id="2")])
        assert ids(second.search("bee", 5)) == ["0"]
        assert ids(first.search("bee", 5)) == ["0"]

    first.upsert(documents())
    assert ids(second.search("bee", 5)) == ["0", "1"]


def test_a_second_writer_waits_as_long_as_it_is_told(tmp_path):
    first = KeywordIndex(PLAIN, tmp_path)
    second = KeywordIndex(PLAIN, tmp_path, lock_timeout=60)
    holding, release = threading.Event(), threading.Event()

    def documents():
        holding.set()
        release.wait(60)
        yield Document(page_content="bee", id="1")

    with ThreadPoolExecutor() as pool:
        one = pool.submit(first.upsert, documents())
        holding.wait(60)
        two = pool.submit(second.upsert, [Document(page_content="bee", id="2")])
        release.set()
        assert one.result(60) == ["1"]
        assert two.result(60) == ["2"]
    assert ids(first.search("bee", 5)) == ["1", "2"]


@pytest.mark.parametrize("kept", [True, False])
def test_threads_may_write_and_read_one_index_at_once(tmp_path, kept):
    index = KeywordIndex(PLAIN, tmp_path if kept else None)

    def work(n):
        index.upsert([Document(page_content="bee", id=f"{n}.{m}") for m in range(5)])
        assert {f"{n}.{m}" for m in range(5)} <= set(ids(index.search("bee", 1000)))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(12)))
    assert len(index) == 60
    assert len(set(ids(index.search("bee", 1000)))) == 60


def test_a_kept_index_pickles_as_its_directory_and_one_in_memory_does_not(tmp_path):
    index = indexed("bee", tokenizer=ENGLISH, directory=tmp_path)
    assert ids(pickle.loads(pickle.dumps(index)).search("bees", 1)) == ["0"]
    with pytest.raises(TypeError, match="give it a persist_directory"):
        pickle.dumps(indexed("bee"))
