"""Ranked lists, grouped by identity and scored: what the engine folds."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
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
    """The documents of all lists laid end to end, each known by its place there.

    Args:
        legs: The lists.
        documents: Their documents; a place is an index into them.
        weights: The weight of the leg at each place.
        scores: The fused score of the document whose first copy is at each place, else 0.
        first: The places of the first copies, in first-seen order.
        copies: The place of the first copy to all places, where a document has several.
    """

    legs: list[Leg] = field(default_factory=list)
    documents: list[Document] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    first: Collection[int] = ()
    copies: dict[int, list[int]] = field(default_factory=dict)


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
    found, interner, first = Grouped(), Interner(), {}
    for number, (documents, weight) in enumerate(zip(lists, weights, strict=True), start=1):
        name = getattr(documents, "leg", None) or f"retriever_{number}"
        query = getattr(documents, "query", None)
        leg = Leg(name, query, weight, documents)
        found.legs.append(leg)
        keys = [
            key if type(key) is str else (None, number, rank) if key is None else interner.key(key)
            for rank, key in enumerate(map(identity, documents))
        ]
        places = _place(leg, keys, first, found)
        found.documents += documents
        found.weights += [weight] * len(documents)
        found.scores += [0.0] * len(documents)
        _score(leg, places, fuser, score_key, found.scores)
    found.first = first.values()
    return found


def _place(leg: Leg, keys: Sequence[Hashable], first: dict[Hashable, int], found: Grouped) -> list[int]:
    """Put the leg's documents where they belong; return the first place of each distinct one."""
    start, copies = len(found.documents), found.copies
    places: list[int] = []
    leg.ranks = ranks = []
    for place, key in enumerate(keys, start):
        known = first.setdefault(key, place)
        if known != place:
            all_places = copies.setdefault(known, [known])
            all_places.append(place)
            if all_places[-2] >= start:  # one leg, one vote
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
    uses_scores = getattr(fuser, "uses_scores", False)
    leg.lacks_scores = bool(places and uses_scores and ranking.scores is None)
