"""How a query's words are put to an engine."""

from __future__ import annotations

import pytest
from langchain_core.documents import Document

from langchain_safe_retrievers.retrievers.sql import SQLRetriever
from langchain_safe_retrievers.sql.full_text import MAX_LENGTH, MAX_TERMS, any_of_terms, terms
from langchain_safe_retrievers.testing import texts


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("Which bees?", ["Which", "bees"]),
        ('"AND" (OR) not*', ["AND", "OR", "not"]),
        ("Bees bees BEES", ["Bees"]),
        ("मधुमक्खी 蜜蜂 don't", ["मधुमक्खी", "蜜蜂", "don", "t"]),
        ("\0\ud800 ?!", []),
        ("", []),
    ],
)
def test_terms_are_runs_of_letters_marks_and_digits(query: str, words: list[str]) -> None:
    assert terms(query) == words


def test_terms_are_bounded_in_number_and_length() -> None:
    assert len(terms(" ".join(map(str, range(1000))))) == MAX_TERMS
    assert terms("x" * 1000) == ["x" * MAX_LENGTH]


def test_every_term_is_quoted() -> None:
    assert any_of_terms(terms('bees AND "honey')) == '"bees" OR "AND" OR "honey"'


def test_an_fts5_table_is_ranked_by_bm25(url: str) -> None:
    found = SQLRetriever(url, table="notes", id_column="rowid").invoke("bee")
    assert texts(found) == ["Bienen: bees, bees", "bees make honey"]
    assert [document.id for document in found] == ["4", "1"]
    assert found.scores[0] > found.scores[1] > 0
    assert found[0].metadata == {"lang": "de"}


def test_a_table_is_searched_through_the_fts5_index_of_its_content(url: str) -> None:
    found = SQLRetriever(url, table="docs").invoke("honey or bees")
    assert {document.id for document in found} == {"1", "2", "4"}
    assert found[0].id == "1"  # both words
    assert SQLRetriever(url, table="docs").invoke("hone") == []  # words, not substrings


def test_a_table_without_full_text_is_searched_with_like(url: str) -> None:
    found = SQLRetriever(url, table="plain", id_column="id").invoke("HONEY bee make")
    assert [document.id for document in found] == ["1", "2", "4"]
    assert found.scores == [3.0, 2.0, 1.0]


def test_like_is_used_when_it_is_asked_for(url: str) -> None:
    assert len(SQLRetriever(url, table="docs", full_text=False).invoke("hone")) == 2


def test_wildcards_are_no_wildcards(url: str) -> None:
    retriever = SQLRetriever(url, table="plain", id_column="id")
    assert texts(retriever.invoke("100%")) == ['100% wool_en "coat"']
    assert retriever.invoke("%") == retriever.invoke("_") == retriever.invoke("\\") == []


def test_equal_scores_are_ordered_by_id(url: str) -> None:
    found = SQLRetriever(url, table="plain", id_column="id").invoke("bees")
    assert [document.id for document in found] == ["1", "4"]


@pytest.mark.parametrize("table", ["docs", "plain", "notes"])
def test_a_query_without_words_finds_nothing(url: str, table: str) -> None:
    assert [SQLRetriever(url, table=table).invoke(query) for query in ("", " ?! ", "\0")] == [
        []
    ] * 3


def test_a_row_becomes_a_document_with_typed_metadata(url: str) -> None:
    (found,) = SQLRetriever(url, table="docs").invoke("bees", k=1, filter={"year": 2020})
    metadata = dict(found.metadata)
    assert str(metadata.pop("day")) == "2024-01-01"
    assert metadata == {"lang": "en", "year": 2020, "meta": {"a": {"b": 1}}, "raw": b"\x00\xff"}
    assert found == Document("bees make honey", id="1", metadata=found.metadata)


def test_what_sqlite_holds_against_the_declared_type_comes_out_as_it_is(url: str) -> None:
    (wool,) = SQLRetriever(url, table="docs").invoke("wool")
    (bees,) = SQLRetriever(url, table="docs").invoke("Bienen")
    assert wool.metadata["day"] == "some day"
    assert bees.metadata["meta"] == "no json"
