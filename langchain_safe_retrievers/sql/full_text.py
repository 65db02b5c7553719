"""How a table is searched: one strategy an engine, and LIKE for every other.

Each is given the query's terms (`terms`), never the query: no character of it is syntax.
A document matches when it has any of the terms.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, NamedTuple, Protocol

from sqlalchemy import (
    ColumnElement,
    FromClause,
    TableClause,
    case,
    func,
    literal,
    or_,
)
from sqlalchemy.dialects.postgresql import REGCONFIG

MAX_TERMS = 64
MAX_LENGTH = 200  # characters of a term that are looked at; engines refuse very long ones


def terms(query: str) -> list[str]:
    """Return the words of a query: runs of letters, marks and digits, each once in any case.

    Args:
        query: What the user asked.

    Returns:
        The first 64 terms, each cut to 200 characters.

    Example:
        >>> terms('Bees* AND "honey" (bees)')
        ['Bees', 'AND', 'honey']
    """
    plain = "".join(char if unicodedata.category(char)[0] in "LMN" else " " for char in query)
    found: dict[str, str] = {}
    for word in plain.split():
        found.setdefault(word[:MAX_LENGTH].lower(), word[:MAX_LENGTH])
    return list(found.values())[:MAX_TERMS]


def any_of_terms(words: Sequence[str]) -> str:
    """Return the terms, each quoted, joined by OR: as FTS5 and `websearch_to_tsquery` read it.

    Args:
        words: What `terms` returned.

    Returns:
        The expression.

    Example:
        >>> any_of_terms(["bees", "AND"])
        '"bees" OR "AND"'
    """
    return " OR ".join(f'"{word}"' for word in words)


class Match(NamedTuple):
    """How one query is put to a table.

    Args:
        source: What to select from.
        test: Whether a row matches.
        score: Its score, higher is better.
        order: The best first.
    """

    source: FromClause
    test: ColumnElement[bool]
    score: ColumnElement[Any]
    order: tuple[ColumnElement[Any], ...]


class FullText(Protocol):
    """A way to search a table."""

    def match(self, words: Sequence[str]) -> Match:
        """Return how to find the rows with any of the words, best first."""


@dataclass(frozen=True)
class Fts5:
    """SQLite's FTS5; the score is −rank, that is BM25 unless the index says otherwise.

    Args:
        source: The FTS5 table, joined with the table it is the index of if they are two.
        hidden: Its hidden column, named as the table.
        rank: Its rank.
    """

    source: FromClause
    hidden: ColumnElement[Any]
    rank: ColumnElement[Any]

    def match(self, words: Sequence[str]) -> Match:
        """Return how to find the rows with any of the words, best first."""
        test = self.hidden.op("MATCH", is_comparison=True)(literal(any_of_terms(words)))
        return Match(self.source, test, -self.rank, (self.rank,))


@dataclass(frozen=True)
class TsVector:
    """PostgreSQL's full text: `websearch_to_tsquery` and `ts_rank`.

    Args:
        table: The table.
        text: The text column; it becomes a tsvector on the fly (an index on
            `to_tsvector(language, text)` is used).
        language: The text search configuration, such as "english" or "simple".
        vector: A tsvector column to search instead, or None.
        ties: What decides between equal scores.
    """

    table: TableClause
    text: ColumnElement[Any]
    language: str
    vector: ColumnElement[Any] | None = None
    ties: tuple[ColumnElement[Any], ...] = ()

    def match(self, words: Sequence[str]) -> Match:
        """Return how to find the rows with any of the words, best first."""
        language: ColumnElement[str] = literal(self.language, REGCONFIG)
        vector = func.to_tsvector(language, self.text) if self.vector is None else self.vector
        wanted = func.websearch_to_tsquery(language, any_of_terms(words))
        score = func.ts_rank(vector, wanted)
        test = vector.op("@@", is_comparison=True)(wanted)
        return Match(self.table, test, score, (score.desc(), *self.ties))


@dataclass(frozen=True)
class LikeTerms:
    """LIKE, on any engine: the score is the number of terms that occur, in any case.

    Args:
        table: The table.
        text: The text column.
        ties: What decides between equal scores.
    """

    table: TableClause
    text: ColumnElement[Any]
    ties: tuple[ColumnElement[Any], ...] = ()

    def match(self, words: Sequence[str]) -> Match:
        """Return how to find the rows with any of the words, best first."""
        tests = [self.text.icontains(word, autoescape=True) for word in words]
        score = reduce(add, [case((test, 1), else_=0) for test in tests])
        return Match(self.table, or_(*tests), score, (score.desc(), *self.ties))
