"""How a text becomes terms, the same when it is indexed and when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from hashlib import sha256
from reprlib import repr as brief
from typing import Any, Literal, TypeAlias

from langchain_safe_retrievers.errors import ConfigurationError
from langchain_safe_retrievers.keyword.engine import tantivy
from langchain_safe_retrievers.keyword.stop_words import ENGLISH
from langchain_safe_retrievers.keyword.words import words_apart

Splitter: TypeAlias = Callable[[str], Iterable[str]]

_PROBE = (
    "The running dogs' 3.5 COVID-19 Straße, ﬁrst: l'été was über! 劳动法 東京タワー 한국어 поиск"
)


class Tokenizer:
    """Splits a text into words, drops the stop words of a language and stems the rest.

    Args:
        split: "auto" for `split_words`, or a callable from a text to its words, which are taken
            as they are.
        language: English name of the language whose stop words and Snowball stems apply, in
            small letters; None for neither.

    Raises:
        ConfigurationError: There are no stems for the language.
        MissingExtraError: tantivy is not installed.

    Example:
        >>> Tokenizer("auto", "english").terms("What are the running dogs?")
        ['run', 'dog']
    """

    def __init__(self, split: Literal["auto"] | Splitter, language: str | None) -> None:
        """Make the analyzer."""
        self.split, self.language, self.name = split, language, name_of(split)
        self.analyzer = _analyzer(language)

    @cached_property
    def fingerprint(self) -> str:
        """A digest of what it makes of a text in several scripts: another one, other terms."""
        return sha256(" ".join(self.terms(_PROBE)).encode()).hexdigest()[:16]

    def line(self, text: str) -> str:
        """Return the words of a text, separated by spaces, for the analyzer.

        Args:
            text: Any text.

        Returns:
            The words, a space or more between them, neither stemmed nor without stop words.

        Raises:
            ConfigurationError: The callable returned something else than strings.
        """
        if isinstance(self.split, str):
            return words_apart(text)
        found = self.split(text)
        words = [] if isinstance(found, str) else list(found)
        if isinstance(found, str) or not all(isinstance(word, str) for word in words):
            msg = f"tokenizer {self.name} returned {brief(found)}; expected an iterable of strings"
            raise ConfigurationError(msg)
        line = " ".join("_".join(word.split()) for word in words)
        return line.encode(errors="replace").decode()

    def terms(self, text: str) -> list[str]:
        """Return the terms of a text.

        Args:
            text: Any text.

        Returns:
            The terms that the index holds of it, repeated as often as they occur.
        """
        return self.analyzer.analyze(self.line(text))  # type: ignore[no-any-return]


def name_of(split: Literal["auto"] | Splitter) -> str:
    """Return what an index remembers a tokenizer by.

    Args:
        split: "auto" or a callable.

    Returns:
        "auto", or the callable's full name.

    Example:
        >>> name_of("auto"), name_of(str.split), name_of(words_apart)
        ('auto', 'builtins.str.split', 'langchain_safe_retrievers.keyword.words.words_apart')
    """
    if isinstance(split, str):
        return split
    named = split if hasattr(split, "__qualname__") else type(split)
    module = getattr(named, "__module__", None) or "builtins"
    return f"{module}.{named.__qualname__}"


def _analyzer(language: str | None) -> Any:
    """Return tantivy's analyzer of a line of words."""
    engine = tantivy()
    words = engine.TextAnalyzerBuilder(engine.Tokenizer.whitespace())
    if language == "english":  # tantivy's own 33 leave in what questions are made of
        words = words.filter(engine.Filter.custom_stopword(list(ENGLISH)))
    elif language in _WITH_STOP_WORDS:
        words = words.filter(engine.Filter.stopword(language))
    elif language is not None and language not in _STEMMED_ONLY:
        known = ", ".join(sorted(_WITH_STOP_WORDS | _STEMMED_ONLY | {"english"}))
        msg = f"language is {language!r}; expected one of {known}, or None for no stemming"
        raise ConfigurationError(msg)
    return (words if language is None else words.filter(engine.Filter.stemmer(language))).build()


_LANGUAGES = """danish dutch finnish french german hungarian italian norwegian portuguese russian
spanish swedish"""
_WITH_STOP_WORDS = frozenset(_LANGUAGES.split())
_STEMMED_ONLY = frozenset({"arabic", "greek", "romanian", "tamil", "turkish"})
