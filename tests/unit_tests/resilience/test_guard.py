"""The guard refuses what is no query, and takes out what no store can read."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_safe_retrievers.errors import CallerError, QueryError
from langchain_safe_retrievers.resilience.guard import QueryGuard


class _Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize("query", [None, 3, b"bees", ["bees"], {"q": "bees"}, _Unprintable()])
def test_what_is_no_str_is_refused_and_its_type_named(query: Any):
    with pytest.raises(QueryError, match=f"of type {type(query).__name__}; expected a str"):
        QueryGuard().clean(query)


@pytest.mark.parametrize("query", ["", "  \n\t", "\x00\x01", "\u3000"])
def test_a_query_with_nothing_in_it_is_refused(query: str):
    with pytest.raises(QueryError, match="expected a text with something in it"):
        QueryGuard().clean(query)


def test_a_query_may_be_as_long_as_max_chars_and_no_longer():
    assert QueryGuard(max_chars=3).clean("bee") == "bee"
    with pytest.raises(QueryError, match="has 4 characters; expected at most 3"):
        QueryGuard(max_chars=3).clean("bees")


def test_without_max_chars_a_query_may_be_of_any_length():
    assert QueryGuard(max_chars=None).clean("a" * 100_000) == "a" * 100_000


@pytest.mark.parametrize(
    ("query", "cleaned"),
    [
        ("a\x00b\x1bc\x7fd\x85e", "a b c d e"),
        ("a\tb\nc\r\nd", "a\tb\nc\r\nd"),
        ("\ud83d\ude00", "😀"),
        ("bee \ud83d", "bee \ufffd"),
        ("民法典第二章", "民法典第二章"),
    ],
)
def test_control_characters_and_surrogates_are_taken_out(query: str, cleaned: str):
    assert QueryGuard().clean(query) == cleaned


def test_a_clean_query_is_returned_as_it_is():
    query = "how do bees make honey?"

    assert QueryGuard().clean(query) is query


@given(st.text(st.characters(categories=None)))
def test_what_passes_can_be_written_as_utf_8_and_passes_again(query: str):
    try:
        cleaned = QueryGuard().clean(query)
    except QueryError:
        return
    assert cleaned.encode()
    assert QueryGuard().clean(cleaned) == cleaned


def test_its_error_is_a_mistake_of_the_caller_and_a_builtin_error():
    assert {CallerError, ValueError, TypeError} <= set(QueryError.__mro__)
