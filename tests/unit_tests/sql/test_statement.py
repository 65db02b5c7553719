"""The user's own statement: its parameters are bound, and the filter is a wall."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy
from sqlalchemy import JSON, text

from langchain_safe_retrievers.errors import ConfigurationError
from langchain_safe_retrievers.retrievers.sql import SQLRetriever
from langchain_safe_retrievers.testing import texts

LIKE = "SELECT id, text, lang, year, 10.0 - id AS s FROM docs WHERE text LIKE '%' || :query || '%'"


def find(url: str, statement: Any, query: str = "bees", **settings: Any) -> Any:
    """Ask a statement."""
    given = {name: settings.pop(name) for name in ("k", "filter") if name in settings}
    return SQLRetriever(url, statement=statement, id_column="id", **settings).invoke(query, **given)


def test_its_order_is_the_rank_and_its_score_column_the_score(url: str) -> None:
    found = find(url, f"{LIKE} ORDER BY id DESC LIMIT :k", score_column="s")
    assert [document.id for document in found] == ["4", "1"]
    assert found.scores == [6.0, 9.0]
    assert found[0].metadata == {"lang": "de", "year": 2023}


def test_without_a_score_column_there_are_no_scores(url: str) -> None:
    found = find(url, LIKE)
    assert found.scores is None
    assert found[0].metadata["s"] == 9.0


def test_k_is_bound_and_holds_without_being_bound(url: str) -> None:
    assert len(find(url, f"{LIKE} LIMIT :k", query="e", k=2)) == 2
    assert len(find(url, LIKE, query="e", k=2)) == 2


def test_terms_can_be_matched_by_fts5_whatever_the_query(url: str) -> None:
    statement = (
        "SELECT d.* FROM docs_index i JOIN docs d ON d.id = i.rowid "
        "WHERE docs_index MATCH :terms ORDER BY rank LIMIT :k"
    )
    assert texts(find(url, statement, query='wool" OR (')) == ['100% wool_en "coat"']
    assert find(url, statement, query="") == []


def test_a_filter_column_is_bound(url: str) -> None:
    statement = f"{LIKE} AND lang = :lang"
    for written in ({"lang": "de"}, {"lang": {"$eq": "de"}}, {"$and": [{"lang": "de"}]}):
        assert [document.id for document in find(url, statement, filter=written)] == ["4"]


def test_a_parameter_without_a_value_is_an_error_that_says_what_to_write(url: str) -> None:
    statement = f"{LIKE} AND (:lang IS NULL OR lang = :lang)"
    with pytest.raises(ConfigurationError, match=r":lang has no value.*parameters=\{'lang'"):
        find(url, statement)
    assert len(find(url, statement, parameters={"lang": None})) == 2
    assert len(find(url, statement, parameters={"lang": None}, filter={"lang": "de"})) == 1


def test_the_whole_filter_is_held_by_asking_for_more_rows(url: str) -> None:
    statement = f"{LIKE} ORDER BY id LIMIT :k"
    found = find(url, statement, query="e", k=1, filter={"year": {"$gte": 2023}})
    assert [document.id for document in found] == ["4"]
    assert find(url, statement, query="e", k=1, filter={"year": 1}) == []


def test_a_filter_on_a_column_that_is_not_returned_matches_nothing(url: str) -> None:
    assert find(url, "SELECT id, text FROM docs", filter={"lang": "en"}) == []


@pytest.mark.parametrize("value", ["\0", "\ud800", 10**30, -(10**30), float("nan"), True, None])
def test_a_value_that_cannot_be_stored_finds_nothing(url: str, value: Any) -> None:
    assert find(url, f"{LIKE} AND year = :year", filter={"year": value}) == []


def test_a_sqlalchemy_statement_can_give_its_columns_types(url: str) -> None:
    statement = text("SELECT id, text, meta FROM docs WHERE text LIKE :query || '%'").columns(
        sqlalchemy.column("id"), sqlalchemy.column("text"), sqlalchemy.column("meta", JSON)
    )
    (found,) = find(url, statement, filter={"meta.a.b": 1})
    assert found.metadata == {"meta": {"a": {"b": 1}}}


def test_a_json_column_is_spread_into_the_metadata(url: str) -> None:
    (found,) = find(
        url,
        "SELECT * FROM docs WHERE id = 1",
        metadata_columns=["lang"],
        metadata_json_column="meta",
    )
    assert found.metadata == {"a": {"b": 1}, "lang": "en"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"text_column": "body"}, "no column 'body'; it returns id, text"),
        ({"score_column": "s"}, "no column 's'"),
        ({"metadata_columns": ["x"]}, "no column 'x'"),
    ],
)
def test_a_column_that_is_not_returned_is_named(
    url: str, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        find(url, "SELECT id, text FROM docs", **settings)


def test_a_column_that_is_returned_twice_is_named_for_only_one_could_be_kept(url: str) -> None:
    with pytest.raises(ConfigurationError, match="returns 'lang' more than once"):
        find(url, "SELECT id, text, lang, 'x' AS lang FROM docs")


def test_ids_of_bytes_that_are_no_text_stay_apart(url: str) -> None:
    rows = "SELECT x'ff' AS id, 'a' AS text UNION SELECT x'fe', 'b' UNION SELECT x'61', 'c'"
    assert sorted(own.id for own in find(url, rows)) == ["a", "fe", "ff"]
