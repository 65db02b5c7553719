"""Ranked lists, grouped by identity and scored: what the engine folds."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from langchain_core.documents import Document

from langchain_safe_retrievers.fusion.fuser import Fuser, Ranking, all_scores
from langchain_safe_retrievers.identity import Identity, by_content
from langchain_safe_retrievers.merging.values import Interner


@dataclass(eq=False, slots=True)
class Leg:
    """One list, with what provenance tells of it.

    Args:
        name: The leg's name.
        query: What it was asked, where that is known.
        weight: Its weight, at least 0.
        documents: Its answer, best first.
        ranks: The best rank (from 1) of each distinct document.
        gains: What each of `ranks` adds to the fused score.
        lacks_scores: Whether a score-based fuser had to fuse it by rank.
    """

    name: str
    query: str | None
    weight: float
    documents: Sequence[Document]
    ranks: Sequence[int] = ()
    gains: Sequence[float] = ()
    lacks_scores: bool = False

    def provenance(self, score_key: str) -> list[dict[str, Any]]:
        """Return where each of the leg's documents was found.

        Args:
            score_key: Metadata key where the leg put its own score.

        Returns:
            A dict for each document; one that the leg repeats contributes once.
        """
        gains = [0.0] * len(self.documents)
        for rank, gain in zip(self.ranks, self.gains, strict=True):
            gains[rank - 1] = gain
        scores = all_scores(self.documents, score_key)
        return [
            {
                "leg": self.name,
                "query": self.query,
                "rank": rank,
                "score": score,
                "weight": self.weight,
                "contribution": gain,
                "id": document.id,
            }
            for rank, document, score, gain in zip(count(1), self.documents, scores, gains)
        ]


@dataclass(eq=False, slots=True)
class Grouped:
    """The documents of all lists laid end to end, each known by its place there.

    Args:
        legs: The lists.
        documents: Their documents; a place is an index into them.
        weights: The weight of the leg at each place; 0 for a document that it repeats.
        scores: The fused score of the document whose first copy is at each place, else 0.
        first: The places of the first copies, in first-seen order.
        copies: The place of the first copy to those of all, for documents that have several.
    """

    legs: list[Leg]
    documents: list[Document]
    weights: list[float]
    scores: list[float]
    first: Collection[int]
    copies: dict[int, list[int]]


def group(
    lists: Sequence[Sequence[Document]],
    weights: Sequence[float],
    *,
    identity: Identity,
    fuser: Fuser | None,
    score_key: str,
) -> Grouped:
    """Group the lists' documents by identity and score them.

    Args:
        lists: Each leg's documents, best first.
        weights: One for each list.
        identity: Which documents are the same one.
        fuser: Each leg's contributions to a document's fused score; None for no scores.
        score_key: Metadata key where legs put their own score.

    Returns:
        The groups.
    """
    found = Grouped([], [], [], [], (), {})
    first: dict[Hashable, int] = {}
    interner = Interner()
    for number, (documents, weight) in enumerate(zip(lists, weights, strict=True), start=1):
        name = getattr(documents, "leg", None) or f"retriever_{number}"
        leg = Leg(name, getattr(documents, "query", None), weight, documents)
        found.legs.append(leg)
        found.weights += [weight] * len(documents)
        found.scores += [0.0] * len(documents)
        places = _place(leg, identity, interner, first, found)
        found.documents += documents
        if fuser is not None:
            _score(leg, places, fuser, score_key, found.scores)
    found.first = first.values()
    return found


def _names(documents: Sequence[Document], identity: Identity) -> Iterable[Any]:
    if identity is by_content:  # the usual one: spares a call for each document
        return [document.page_content for document in documents]
    return map(identity, documents)


def _place(
    leg: Leg, identity: Identity, interner: Interner, first: dict[Hashable, int], found: Grouped
) -> list[int]:
    """Put the leg's documents where they belong; return the first place of each distinct one."""
    start, copies = len(found.documents), found.copies
    places: list[int] = []
    leg.ranks = ranks = []
    for place, name in enumerate(_names(leg.documents, identity), start):
        key = name
        if type(name) is not str:
            key = (None, place) if name is None else interner.key(name)
        known = first.setdefault(key, place)
        if known != place:
            everywhere = copies.setdefault(known, [known])
            everywhere.append(place)
            if everywhere[-2] >= start:  # one leg, one vote
                found.weights[place] = 0.0
                continue
        places.append(known)
        ranks.append(place - start + 1)
    return places


def _score(leg: Leg, places: list[int], fuser: Fuser, score_key: str, scores: list[float]) -> None:
    """Add what the leg's hits contribute to their documents' scores."""
    ranking = Ranking(leg.documents, leg.ranks, score_key)
    leg.gains = fuser.contributions(ranking, leg.weight)
    for place, gain in zip(places, leg.gains, strict=True):
        scores[place] += gain
    if places and getattr(fuser, "uses_scores", False):
        leg.lacks_scores = ranking.scores is None
