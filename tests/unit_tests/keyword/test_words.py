"""Text is split into words in any script."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_safe_retrievers.keyword.words import split_words, words_apart


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        (" \n\t", []),
        ("The DOG's tail, 3.5 cm", ["the", "dog", "s", "tail", "3", "5", "cm"]),
        ("snake_case path/to.py", ["snake", "case", "path", "to", "py"]),
        ("state-of-the-art", ["state", "of", "the", "art", "stateoftheart"]),
        ("- a - b", ["a", "b"]),
        ("ﬁrst \uff21\uff22\uff23 ½", ["first", "abc", "1", "2"]),
        ("Straße STRASSE", ["strasse", "strasse"]),
        ("cafe\u0301 café", ["café", "café"]),
        ("劳动法", ["劳", "动", "法", "劳动", "动法"]),
        ("中", ["中"]),
        ("用Python写", ["python", "用", "写"]),
        ("東京タワー", ["東", "京", "タ", "ワ", "ー", "東京", "京タ", "タワ", "ワー"]),
        ("ｶﾀｶﾅ", ["カ", "タ", "カ", "ナ", "カタ", "タカ", "カナ"]),
        ("한국", ["한", "국", "한국"]),
        ("ไทย", ["ไ", "ท", "ย", "ไท", "ทย"]),
        ("हिन्दी।", ["हिन्दी"]),
        ("שָׁלוֹם", ["שָׁלוֹם"]),
        ("ПОИСК ёлка", ["поиск", "ёлка"]),
        ("劳动、法", ["劳", "动", "劳动", "法"]),
        ("\ud800 a", ["a"]),
        ('a" AND (b:*)? ~2 ^', ["a", "and", "b", "2"]),
    ],
)
def test_words_of(text, words):
    assert split_words(text) == words
    assert words_apart(text).split() == words


@given(st.text())
def test_words_hold_no_white_space_and_none_is_empty(text):
    assert all(word and word.split() == [word] for word in split_words(text))


@given(st.one_of(st.text(), st.text(st.characters(max_codepoint=127))))
def test_words_apart_are_the_same_words(text):
    assert words_apart(text).split() == split_words(text)


@given(st.text(alphabet=st.sampled_from("aB9-' é劳动法\u2010ß")))
def test_case_and_composition_do_not_matter(text):
    assert split_words(text.upper().lower()) == split_words(text.lower().upper())
