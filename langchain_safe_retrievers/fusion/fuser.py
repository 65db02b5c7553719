"""What a fuser sees of a leg, and what it returns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

from langchain_core.documents import Document

from langchain_safe_retrievers.merging.values import is_number


class RankedList(list[Document]):
    """One leg's answer to one query: its documents in rank order, and what is known of them.

    It is a plain list of documents to everyone who does not ask for more.

    Args:
        documents: The documents, best first.
        leg: The leg's name.
        query: The query that was asked.
        scores: The leg's own score of each document (higher is better, or a distance), or
            None if it gave none.

    Example:
        >>> RankedList([Document(page_content="a")], leg="vector", query="q", scores=[0.5]).scores
        [0.5]
    """

    def __init__(
        self,
        documents: Sequence[Document] = (),
        *,
        leg: str = "",
        query: str = "",
        scores: Sequence[float | None] | None = None,
    ) -> None:
        """Remember the documents and what is known of them."""
        super().__init__(documents)
        self.leg = leg
        self.query = query
        self.scores = scores
        self._places = None if scores is None else [id(document) for document in self]

    @property
    def valid_scores(self) -> Sequence[float | None] | None:
        """The scores, unless somebody has added, removed or moved documents since."""
        if self.scores is None or self._places != [id(document) for document in self]:
            return None
        return self.scores if len(self.scores) == len(self) else None

    def pick(self, places: Sequence[int]) -> RankedList:
        """Return a list of some of the documents, with what is known of them.

        Args:
            places: Their indexes, from 0, ascending.

        Returns:
            The same list if all are picked, else a new one.
        """
        if len(places) == len(self):
            return self
        known = self.valid_scores
        scores = None if known is None else [known[i] for i in places]
        return RankedList([self[i] for i in places], leg=self.leg, query=self.query, scores=scores)


@dataclass
class Ranking:
    """One leg's list as a fuser sees it: the distinct documents' ranks and scores.

    Args:
        documents: The leg's whole list, a `RankedList` where the scores are known.
        ranks: The rank (from 1) of each distinct document, ascending.
        score_key: The metadata key that holds a score where the list has none of its own.
    """

    documents: Sequence[Document]
    ranks: Sequence[int]
    score_key: str = "score"

    @cached_property
    def scores(self) -> list[float] | None:
        """The leg's own scores at `ranks`, or None unless each is a finite number.

        They are negated where they are distances: when the first is less than the last.
        """
        scores = all_scores(self.documents, self.score_key)
        found = [scores[rank - 1] for rank in self.ranks]
        if not found or not all(map(_is_finite, found)):
            return None
        scores = [float(score) for score in found]
        return [-score for score in scores] if scores[0] < scores[-1] else scores


def all_scores(documents: Sequence[Document], score_key: str) -> Sequence[Any]:
    """Return the leg's own score of each document: the list's, else the documents' metadata's.

    Args:
        documents: A leg's list.
        score_key: The metadata key to look under.

    Returns:
        A score, or None, for each document.
    """
    scores = documents.valid_scores if isinstance(documents, RankedList) else None
    if scores is not None:
        return scores
    return [document.metadata.get(score_key) for document in documents]


def _is_finite(value: Any) -> bool:
    try:
        return is_number(value) and math.isfinite(value)
    except (TypeError, ValueError, OverflowError):
        return False


@runtime_checkable
class Fuser(Protocol):
    """Ranked lists in, one score per identity out: the sum of each leg's contributions.

    A fuser that reads `leg.scores` says so with `uses_scores = True`; the report then names
    the legs that gave none.
    """

    def contributions(self, leg: Ranking, weight: float) -> Sequence[float]:
        """Return what the leg adds to the fused score of each document at `leg.ranks`."""


def scores_or_ranks(leg: Ranking) -> Sequence[float]:
    """Return the leg's scores, or else 1 / (60 + rank) for a leg that gave none.

    Args:
        leg: The leg's list.

    Returns:
        Higher is better, one for each of `leg.ranks`.
    """
    return leg.scores or [1 / (60 + rank) for rank in leg.ranks]
