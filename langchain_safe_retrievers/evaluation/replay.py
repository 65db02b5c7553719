"""Fusion, done again with other settings on hits that the legs returned once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from langchain_core.documents import Document

from langchain_safe_retrievers.evaluation.dataset import Dataset
from langchain_safe_retrievers.evaluation.leg_depth import LegDepth
from langchain_safe_retrievers.evaluation.space import leg_names
from langchain_safe_retrievers.fusion.fuser import Fuser, RankedList, Ranking
from langchain_safe_retrievers.fusion.reciprocal_rank import ReciprocalRank
from langchain_safe_retrievers.merging.grouping import Grouped, group
from langchain_safe_retrievers.retrieval import Retrieval
from langchain_safe_retrievers.retrievers.ensemble import SafeEnsembleRetriever

NOT_ASKED = 0
"""The depth of a leg that has weight 0."""

Depths = tuple[int | None, ...]
"""How many documents each leg is asked for; None for a leg that is not told."""


@dataclass(frozen=True, eq=False)
class Plan:
    """What a retriever would do with what its legs found.

    Args:
        weights: One for each leg.
        fuser: How the legs' lists become one.
        k: How many documents are returned, or None for all.
        depths: How many each leg is asked for.
        told: Whether each leg is told how many, or would be if it were asked.
    """

    weights: tuple[float, ...]
    fuser: Fuser
    k: int | None
    depths: Depths
    told: tuple[bool, ...]

    @classmethod
    def of(cls, retriever: SafeEnsembleRetriever, arguments: Mapping[str, Any]) -> Plan:
        """Ask a retriever what it would do; no leg is asked anything.

        Args:
            retriever: The retriever.
            arguments: The named arguments of `invoke`.

        Returns:
            The plan.
        """
        retrieval = begun(retriever, arguments)
        weights = tuple(retriever.weights)
        depths = [_depth(retriever, leg, retrieval) for leg in retriever.retrievers]
        return cls(
            weights,
            retriever.fuser or _reciprocal_rank(retriever.c),
            retrieval.k,
            tuple(
                depth if weight else NOT_ASKED
                for depth, weight in zip(depths, weights, strict=True)
            ),
            tuple(depth is not None for depth in depths),
        )


_reciprocal_rank = lru_cache(ReciprocalRank)  # plans with one c share what it makes of a list


def begun(retriever: SafeEnsembleRetriever, arguments: Mapping[str, Any]) -> Retrieval:
    """Return a retrieval that has read its arguments, and has asked nobody.

    Args:
        retriever: The retriever.
        arguments: The named arguments of `invoke`.

    Returns:
        The retrieval.
    """
    retrieval = Retrieval(retriever, given=dict(arguments))
    retriever._begin(retrieval)  # noqa: SLF001 - a retriever of this package
    return retrieval


def _depth(retriever: SafeEnsembleRetriever, leg: Any, retrieval: Retrieval) -> int | None:
    if isinstance(leg, LegDepth):
        return leg.depth
    arguments = retriever._arguments_for(leg, retrieval)  # noqa: SLF001 - as above
    return arguments.get("k")


@dataclass(frozen=True, eq=False)
class _Placed:
    """The lists of some depths, grouped: what all plans of these depths share."""

    grouped: Grouped
    order: Collection[int]
    legs: Sequence[tuple[Sequence[int], Ranking]]
    ids: dict[int, str]


class Replay:
    """One question's hits, to be fused again and again.

    Args:
        retriever: The retriever whose legs found them; says what is the same document.
        dataset: Says which id a document has in the judgements.
        found: The legs' lists as they came, by leg name, at the greatest depth of any plan.
        arguments: The named arguments of `invoke`: a filter is held here too.
    """

    def __init__(
        self,
        retriever: SafeEnsembleRetriever,
        dataset: Dataset,
        found: Mapping[str, RankedList],
        arguments: Mapping[str, Any],
    ) -> None:
        """Remember the hits."""
        self._dataset = dataset
        self._found = [found.get(name, RankedList(leg=name)) for name in leg_names(retriever)]
        self._hold = _held(retriever, arguments)
        self._identity = retriever._identity()  # noqa: SLF001 - a retriever of this package
        self._score_key = retriever.score_key
        self._lists: dict[tuple[int, int | None], RankedList] = {}
        self._placed: dict[Depths, _Placed] = {}
        self._gains: dict[tuple[Depths, int, float, int], Sequence[float]] = {}

    def ranking(self, plan: Plan) -> list[str]:
        """Return the ids that the retriever would return under a plan.

        Args:
            plan: The plan.

        Returns:
            Document ids, best first, each once.
        """
        placed = self._placed.get(plan.depths)
        if placed is None:
            placed = self._placed[plan.depths] = self._place(plan.depths)
        scores = [0.0] * len(placed.grouped.documents)
        for number, (places, _) in enumerate(placed.legs):
            for place, gain in zip(places, self._gains_of(plan, placed, number), strict=True):
                scores[place] += gain
        order = sorted(placed.order, key=scores.__getitem__, reverse=True)[: plan.k]  # as Engine
        return list(dict.fromkeys(self._id(placed, place) for place in order))

    def forget(self) -> None:
        """Keep the hits alone, and nothing that can be worked out from them."""
        for made in (self._lists, self._placed, self._gains):
            made.clear()

    def _gains_of(self, plan: Plan, placed: _Placed, number: int) -> Sequence[float]:
        """Return what a leg adds; plans share fusers and weights, so most is known."""
        weight = plan.weights[number]
        key = (plan.depths, number, weight, id(plan.fuser))
        gains = self._gains.get(key)
        if gains is None:
            ranking = placed.legs[number][1]
            gains = self._gains[key] = plan.fuser.contributions(ranking, weight)
        return gains

    def _place(self, depths: Depths) -> _Placed:
        lists = [self._list(number, depth) for number, depth in enumerate(depths)]
        grouped = group(
            lists, [1.0] * len(lists), identity=self._identity, fuser=None, score_key=""
        )
        first = {place: own for own, places in grouped.copies.items() for place in places}
        legs, start = [], 0
        for leg in grouped.legs:
            places = [start + rank - 1 for rank in leg.ranks]
            ranking = Ranking(leg.documents, leg.ranks, self._score_key)
            legs.append(([first.get(place, place) for place in places], ranking))
            start += len(leg.documents)
        return _Placed(grouped, list(grouped.first), legs, {})

    def _list(self, number: int, depth: int | None) -> RankedList:
        """Return what a leg would have returned at a depth, the filter held."""
        key = (number, depth)
        if key not in self._lists:
            self._lists[key] = self._hold(cut(self._found[number], depth))
        return self._lists[key]

    def _id(self, placed: _Placed, place: int) -> str:
        """Return the id of the document whose first copy is at a place, as folding keeps it."""
        if place not in placed.ids:
            documents = placed.grouped.documents
            places = placed.grouped.copies.get(place, (place,))
            found = (self._dataset.find_id(documents[each]) for each in places)
            known = next((each for each in found if each is not None), None)
            placed.ids[place] = known or self._dataset.doc_id(documents[place])
        return placed.ids[place]


def cut(found: RankedList, depth: int | None) -> RankedList:
    """Return the first documents of a leg's list.

    Args:
        found: The list.
        depth: How many; None for all.

    Returns:
        The list itself, or a shorter one.
    """
    if depth is None or len(found) <= depth:
        return found
    scores = found.valid_scores
    return RankedList(
        list(found)[:depth],
        leg=found.leg,
        query=found.query,
        scores=None if scores is None else scores[:depth],
    )


def _held(
    retriever: SafeEnsembleRetriever, arguments: Mapping[str, Any]
) -> Callable[[RankedList], RankedList]:
    return begun(retriever, arguments).hold_filter


def same_documents(found: Sequence[Document], ids: Sequence[str], dataset: Dataset) -> bool:
    """Tell whether a retriever returned what a replay says it would.

    Args:
        found: What it returned.
        ids: What the replay says.
        dataset: Says which id a document has.

    Returns:
        Whether they are the same, in the same order.
    """
    return list(dict.fromkeys(map(dataset.doc_id, found))) == list(ids)
