"""A text becomes the same terms in the index and in a query."""

from __future__ import annotations

import pytest

from langchain_safe_retrievers.errors import ConfigurationError
from langchain_safe_retrievers.keyword.tokenizer import Tokenizer


@pytest.mark.parametrize(
    ("language", "text", "terms"),
    [
        ("english", "What are the running dogs doing?", ["run", "dog"]),
        ("english", "中国 the поиск", ["поиск", "中", "国", "中国"]),
        ("german", "Die Häuser und die Hunde", ["haus", "hund"]),
        ("russian", "собаки и дома", ["собак", "дом"]),
        ("turkish", "evlerim", ["ev"]),
        (None, "The running dogs", ["the", "running", "dogs"]),
    ],
)
def test_terms_by_language(language, text, terms):
    assert Tokenizer("auto", language).terms(text) == terms


def test_an_unknown_language_is_refused_with_those_there_are():
    with pytest.raises(ConfigurationError, match="'klingon'; expected one of arabic, danish"):
        Tokenizer("auto", "klingon")


def test_a_callable_s_words_are_taken_as_they_are():
    assert Tokenizer(str.split, None).terms("The Running dogs") == ["The", "Running", "dogs"]


def test_white_space_inside_a_word_does_not_split_it_and_empty_words_vanish():
    tokenizer = Tokenizer(lambda text: [text, "", "\ud800"], None)
    assert tokenizer.terms("new \n york") == ["new_york", "?"]


@pytest.mark.parametrize("result", ["a text", [1, 2]])
def test_a_callable_that_returns_no_words_is_named(result):
    with pytest.raises(ConfigurationError, match="expected an iterable of strings"):
        Tokenizer(lambda _: result, None).terms("x")


def test_other_words_or_stems_have_another_fingerprint():
    made = [Tokenizer("auto", "english"), Tokenizer("auto", "german"), Tokenizer(str.split, None)]
    assert len({tokenizer.fingerprint for tokenizer in made}) == 3
    assert Tokenizer("auto", "english").fingerprint == made[0].fingerprint
