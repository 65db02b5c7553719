"""Ranked lists, grouped by identity and scored: what the engine folds."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.documents import Document

from langchain_safe_retrievers.fusion.fuser import Fuser, Ranking, all_scores
from langchain_safe_retrievers.identity import Identity
from langchain_safe_retrievers.merging.values import Interner, is_list


@dataclass(eq=False, slots=True)
class Leg:
    """One list, with what provenance tells of it.

    Args:
        name: The leg's name.
        query: What it was asked, where that is known.
        weight: Its weight, at least 0.
        documents: Its answer, best first.
        start: The place of its first document.
        ranks: The best rank (from 1) of each distinct document.
        gains: What each of `ranks` adds to the fused score.
        lacks_scores: Whether a score-based fuser had to fuse it by rank.
    """

    name: str
    query: str | None
    weight: float
    documents: Sequence[Document]
    start: int
    ranks: Sequence[int] = ()
    gains: Sequence[float] = ()
    lacks_scores: bool = False

    def provenance(self, key: str, score_key: str) -> list[dict[str, Any]]:
        """Return where each of the leg's documents was found.

        Args:
            key: Metadata key where an earlier fold left its own provenance, which is kept.
            score_key: Metadata key where the leg put its own score.

        Returns:
            A dict for each document; one that the leg repeats contributes once.
        """
        gains = dict(zip(self.ranks, self.gains, strict=True))
        scores = all_scores(self.documents, score_key)
        entries = [
            {
                "leg": self.name,
                "query": self.query,
                "rank": rank,
                "score": score,
                "weight": self.weight,
                "contribution": gains.get(rank, 0.0),
                "id": document.id,
            }
            for rank, (document, score) in enumerate(zip(self.documents, scores, strict=True), start=1)
        ]
        for entry, document in zip(entries, self.documents, strict=True):
            if key in document.metadata and is_list(document.metadata[key]):
                entry["provenance"] = document.metadata[key]
        return entries


@dataclass(eq=False, slots=True)
class Grouped:
    """The documents of all lists, each at its place in the lists laid end to end.

    Args:
        legs: The lists.
        documents: Their documents, end to end; a place is an index into them.
        first: Each document's key to the place of its first copy, in first-seen order.
        copies: The same key to all places, for the documents that have several.
        scores: The same key to the fused score.
        weights: The weight of the leg at each place.
    """

    legs: list[Leg] = field(default_factory=list)
    documents: list[Document] = field(default_factory=list)
    first: dict[Hashable, int] = field(default_factory=dict)
    copies: dict[Hashable, list[int]] = field(default_factory=dict)
    scores: dict[Hashable, float] = field(default_factory=dict)
    weights: list[float] = field(default_factory=list)


def group(
    lists: Sequence[Sequence[Document]],
    weights: Sequence[float],
    *,
    identity: Identity,
    fuser: Fuser,
    score_key: str,
) -> Grouped:
    """Group the lists' documents by identity and score them.

    Args:
        lists: Each leg's documents, best first.
        weights: One for each list.
        identity: Which documents are the same one.
        fuser: Each leg's contributions to a document's fused score.
        score_key: Metadata key where legs put their own score.

    Returns:
        The groups.
    """
    found, interner = Grouped(), Interner()
    for number, (documents, weight) in enumerate(zip(lists, weights, strict=True), start=1):
        name = getattr(documents, "leg", None) or f"retriever_{number}"
        query = getattr(documents, "query", None)
        leg = Leg(name, query, weight, documents, start=len(found.documents))
        keys = _place(leg, identity, interner, found)
        _score(leg, keys, fuser, score_key, found.scores)
        found.legs.append(leg)
        found.weights.extend([weight] * len(documents))
    return found


def _place(leg: Leg, identity: Identity, interner: Interner, found: Grouped) -> list[Hashable]:
    """Put the leg's documents where they belong; return the keys of the distinct ones."""
    found.documents.extend(leg.documents)
    first, copies, start = found.first, found.copies, leg.start
    keys: list[Hashable] = []
    leg.ranks = ranks = []
    for place, key in enumerate(map(identity, leg.documents), start):
        if type(key) is not str:
            key = (None, place) if key is None else interner.key(key)
        known = first.setdefault(key, place)
        if known != place:
            places = copies.setdefault(key, [known])
            places.append(place)
            if places[-2] >= start:  # one leg, one vote
                continue
        keys.append(key)
        ranks.append(place - start + 1)
    return keys


def _score(
    leg: Leg, keys: list[Hashable], fuser: Fuser, score_key: str, scores: dict[Hashable, float]
) -> None:
    """Add what the leg's hits contribute to their documents' scores."""
    ranking = Ranking(leg.documents, leg.ranks, score_key)
    leg.gains = fuser.contributions(ranking, leg.weight)
    for key, gain in zip(keys, leg.gains, strict=True):
        scores[key] = scores.get(key, 0.0) + gain
    uses_scores = getattr(fuser, "uses_scores", False)
    leg.lacks_scores = bool(keys and uses_scores and ranking.scores is None)
