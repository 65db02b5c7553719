"""The index finds what the portable filter matches, no more and no less, before it ranks."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document

from langchain_safe_retrievers.filters import compile_filter
from langchain_safe_retrievers.keyword.engine import tantivy
from langchain_safe_retrievers.keyword.index import KeywordIndex
from langchain_safe_retrievers.keyword.tokenizer import Tokenizer
from tests.unit_tests.keyword.strategies import filters, metadata

WORDS = Tokenizer("auto", None)
DAY = date(2024, 5, 1)


def indexed(metadatas: list[dict[str, Any]]) -> KeywordIndex:
    index = KeywordIndex(WORDS)
    index.upsert(
        Document(page_content="word", metadata=each, id=str(n)) for n, each in enumerate(metadatas)
    )
    return index


def matching(metadatas: list[dict[str, Any]], written: Any) -> list[str]:
    matches = compile_filter(written)
    return [
        str(n)
        for n, each in enumerate(metadatas)
        if matches(Document(page_content="word", metadata=each))
    ]


def read_as(index: KeywordIndex, written: Any, *, surely: bool) -> set[str]:
    """Return the ids that the index's own query for a filter finds, unchecked."""
    query = index._filters._filter(written, surely=surely)
    searcher = index._searcher()
    hits = searcher.search(query, max(1, searcher.num_docs), count=False).hits
    return {searcher.doc(address).get_first("id") for _, address in hits}


@given(st.lists(metadata(), min_size=1, max_size=6), st.lists(filters, min_size=1, max_size=4))
def test_any_filter_gives_what_it_matches_and_its_two_readings_enclose_that(metadatas, some):
    index = indexed(metadatas)
    for written in some:
        expected = matching(metadatas, written)
        found = index.search("word", len(metadatas), written)
        assert [document.id for document, _ in found] == expected
        assert read_as(index, written, surely=True) <= set(expected)
        assert read_as(index, written, surely=False) >= set(expected)


@pytest.mark.parametrize(
    "written",
    [
        {"n": 1},
        {"n": {"$ne": 1}},
        {"n": {"$in": [1, "1", None]}},
        {"n": {"$nin": [1.0, True]}},
        {"n": {"$gt": 1}},
        {"n": {"$gte": 1, "$lt": 2.5}},
        {"n": {"$not": {"$lte": 1}}},
        {"n": {"$between": [0, 2]}},
        {"n": {"$exists": True}},
        {"n": {"$exists": False}},
        {"tags": {"$contains": "a"}},
        {"tags": {"$not_contains": 1}},
        {"law.day": {"$gte": DAY}},
        {"law.day": {"$lt": "2024-05-02"}},
        {"law.text": {"$gt": "a", "$lte": "b"}},
        {"$or": [{"n": 1}, {"law.text": "b"}]},
        {"$not": {"$and": [{"n": 1}, {"tags": {"$contains": "b"}}]}},
    ],
)
def test_equality_membership_and_ranges_need_no_check_after_the_index(written):
    metadatas = [
        {"n": 1, "tags": ["a", 1], "law": {"day": DAY, "text": "a"}},
        {"n": True, "tags": ["b"], "law": {"day": "2024-05-01T09:00", "text": "b"}},
        {"n": "1", "tags": [], "law": {"day": "2024-06-01"}},
        {"n": 2.5, "tags": "a", "law": {"text": "c"}},
        {"n": None},
        {},
    ]
    index = indexed(metadatas)
    expected = set(matching(metadatas, written))
    assert expected
    assert read_as(index, written, surely=False) == expected
    assert read_as(index, written, surely=True) == expected


def test_a_literal_dotted_key_hides_the_nested_path():
    index = indexed([{"a": {"b": 1}}, {"a.b": 2, "a": {"b": 1}}])
    assert [document.id for document, _ in index.search("word", 5, {"a.b": 1})] == ["0"]


def test_a_filter_that_refuses_nearly_all_still_finds_k_of_a_thousand():
    index = indexed([{"n": n} for n in range(1000)])
    found = index.search("word", 3, lambda document: document.metadata["n"] >= 900)
    assert [document.metadata["n"] for document, _ in found] == [900, 901, 902]


def test_a_pattern_is_checked_after_the_index_and_gives_k_all_the_same():
    index = indexed([{"name": f"file{n}"} for n in range(300)])
    found = index.search("word", 2, {"name": {"$like": "%99"}})
    assert [document.metadata["name"] for document, _ in found] == ["file99", "file199"]


def test_a_filter_does_not_change_a_score():
    index = indexed([{"n": n} for n in range(10)])
    (_, free), *_ = index.search("word", 1)
    (_, held), *_ = index.search("word", 1, {"n": {"$gte": 5}})
    assert held == free


def test_filter_values_with_query_syntax_in_them_are_values():
    hostile = ['a" OR facts:*', "* TO *]", "a:b", "\\", "]", "'"]
    index = indexed([{"v": text, text: 1} for text in hostile])
    for n, text in enumerate(hostile):
        assert [d.id for d, _ in index.search("word", 9, {"v": {"$gte": text, "$lte": text}})] == [
            str(n)
        ]
        assert [d.id for d, _ in index.search("word", 9, {text: {"$gt": 0}})] == [str(n)]


def test_no_text_of_a_filter_reaches_the_query_parser(monkeypatch):
    index = indexed([{"v": "x"}])
    seen = []

    class Spy:
        def parse_query(self, text):
            seen.append(text)
            return tantivy().Query.all_query()

    monkeypatch.setattr(index._filters, "_index", Spy())
    index.search("word", 1, {'v" OR *': {"$gt": 'x" OR *'}})
    assert len(seen) == 1
    assert set(seen[0]) <= set("factsTO .:{}[]0123456789abcdefghijklmnopqrstuvwxyz")
    assert " OR " not in seen[0]
