"""The engine: ranked lists in, one document per identity out, and what happened on the way.

Plain functions that know no callback and wait for nothing. Every union, fusion and merge of
this package ends here; no other place loops over duplicates.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from langchain_core.documents import Document

from langchain_safe_retrievers.fusion.fuser import Fuser, Ranking, all_scores
from langchain_safe_retrievers.fusion.reciprocal_rank import ReciprocalRank
from langchain_safe_retrievers.identity import Identity, by_content
from langchain_safe_retrievers.merging.conflicts import (
    Conflicts,
    add_conflict,
    check_values,
    find_conflicts,
)
from langchain_safe_retrievers.merging.policy import (
    MergePolicy,
    Metadata,
    MetadataPolicy,
    Resolver,
    as_resolver,
    having,
    merge_pairwise,
)
from langchain_safe_retrievers.merging.values import SCALARS, Interner, is_dict, surely_same


@dataclass(frozen=True)
class Merged:
    """What the engine returns.

    Args:
        documents: One document per identity, best first.
        conflicts: Rank of a returned document (from 1) to what folding it displaced.
        legs_without_scores: Names of the legs that a score-based fuser had to fuse by rank.
    """

    documents: list[Document]
    conflicts: dict[int, Conflicts]
    legs_without_scores: tuple[str, ...]


@dataclass(frozen=True)
class Engine:
    """How ranked lists become one: identity, fuser, merge policy and the reserved keys.

    Args:
        identity: Which documents are the same one.
        fuser: Each leg's contributions to a document's fused score.
        policy: What a metadata key becomes when copies disagree; a function of two dicts
            is a policy too. Whatever it drops is recorded as a conflict.
        conflicts_key: Metadata key for what folding displaced, or None.
        provenance_key: Metadata key for where each copy was found, or None.
        fused_score_key: Metadata key for the fused score, or None.
        score_key: Metadata key where legs put their own score.

    Example:
        >>> one = Document(page_content="a", metadata={"lang": "en", "source": "vec"})
        >>> two = Document(page_content="a", metadata={"page": 3, "source": "bm25"})
        >>> Engine().merge([[one], [two]]).documents[0].metadata
        {'lang': 'en', 'source': 'vec', 'page': 3, '_conflicts': {'source': ['vec', 'bm25']}}
    """

    identity: Identity = by_content
    fuser: Fuser = ReciprocalRank()
    policy: MergePolicy | Callable[[Metadata, Metadata], Metadata] = field(default_factory=MetadataPolicy)
    conflicts_key: str | None = "_conflicts"
    provenance_key: str | None = None
    fused_score_key: str | None = None
    score_key: str = "score"

    def merge(
        self,
        lists: Sequence[Sequence[Document]],
        weights: Sequence[float] | None = None,
        *,
        k: int | None = None,
        first_seen: bool = False,
    ) -> Merged:
        """Group the lists' documents by identity, fuse, cut to `k` and fold the copies.

        Ties are broken by the order of the lists, then by rank. A document that is in one
        list only and gets nothing added is returned as it is.

        Args:
            lists: Each leg's documents, best first; a `RankedList` where more is known.
            weights: One for each list, at least 0; None for 1 each.
            k: How many documents to return, or None for all.
            first_seen: Return them in the order in which the lists, end to end, show them
                first, instead of by fused score; which ones are cut still follows the score.

        Returns:
            The documents, and what is to be reported.
        """
        weights = [1.0] * len(lists) if weights is None else weights
        found = _group(self, lists, weights)
        order = sorted(found.places, key=found.scores.__getitem__, reverse=True)[:k]
        if first_seen:
            kept = set(order)
            order = [key for key in found.places if key in kept]
        merged = Merged([], {}, tuple(leg.name for leg in found.legs if leg.lacks_scores))
        for rank, key in enumerate(order, start=1):
            document, conflicts = self._fold(found, key)
            merged.documents.append(document)
            if conflicts:
                merged.conflicts[rank] = conflicts
        return merged

    def _fold(self, found: _Found, key: Hashable) -> tuple[Document, Conflicts | None]:
        """Turn the copies of one document into one."""
        places = found.places[key]
        first = places[0][0].documents[places[0][1] - 1]
        if len(places) == 1:
            if not self._adds:
                return first, None
            return self._with_extras(first, first.metadata, first.id, found, key), None
        copies = [leg.documents[rank - 1] for leg, rank in places]
        if not self._always and all(_equal(first, copy) for copy in copies[1:]):
            metadata, conflicts = first.metadata, None
        else:
            metadata, conflicts = self._merge_metadata(copies, [leg.weight for leg, _ in places])
            if conflicts and self.conflicts_key is not None:
                metadata[self.conflicts_key] = conflicts
        known_id = next((copy.id for copy in copies if copy.id is not None), None)
        if self._adds:
            return self._with_extras(first, metadata, known_id, found, key), conflicts
        if metadata is first.metadata:
            return first, None
        return _replaced(first, metadata, known_id), conflicts

    def _with_extras(
        self, first: Document, metadata: Metadata, known_id: str | None, found: _Found, key: Hashable
    ) -> Document:
        """Return the document with its provenance and fused score added."""
        metadata = dict(metadata)
        if self.provenance_key is not None:
            places = found.places[key]
            metadata[self.provenance_key] = [leg.provenance(rank, self.provenance_key) for leg, rank in places]
        if self.fused_score_key is not None:
            metadata[self.fused_score_key] = found.scores[key]
        return _replaced(first, metadata, known_id)

    def _merge_metadata(
        self, copies: Sequence[Document], weights: Sequence[float]
    ) -> tuple[Metadata, Conflicts]:
        """Ask the policy, then hold what it said against every copy: nothing is lost silently."""
        bare = [self._without_reserved(copy.metadata) for copy in copies]
        conflicts = self._recorded(copies)
        if self._resolver is None:
            merged = merge_pairwise(self.policy, bare)
            for path, values in find_conflicts(merged, bare).items():
                add_conflict(conflicts, path, values)
        else:
            merged = self._resolve(self._resolver, bare, weights, conflicts)
        _compare_documents(copies, conflicts)
        return merged, conflicts

    def _resolve(
        self, policy: Resolver, copies: Sequence[Metadata], weights: Sequence[float], conflicts: Conflicts
    ) -> Metadata:
        """Ask the policy about the keys that copies dispute; nobody need be asked about the others."""
        merged, disputed = _compare(copies)
        if self._always:
            disputed.extend(key for key in merged if key in self._always and key not in disputed)
        for key in disputed:
            values, their_weights = having(key, copies, weights)
            merged[key] = shown = policy.resolve(key, values, their_weights)
            check_values(conflicts, key, shown, values)
        return merged

    def _recorded(self, copies: Sequence[Document]) -> Conflicts:
        """Return the conflicts that the copies bring along from an earlier fold."""
        conflicts: Conflicts = {}
        for copy in copies:
            if self._reserved.isdisjoint(copy.metadata):
                continue
            for key in self._reserved & copy.metadata.keys():
                value = copy.metadata[key]
                if key == self.conflicts_key and _is_conflicts(value):
                    for path, values in value.items():
                        add_conflict(conflicts, path, values)
                elif not self._is_ours(key, value):
                    add_conflict(conflicts, key, [value])
        return conflicts

    def _is_ours(self, key: str, value: object) -> bool:
        """Tell whether a reserved key holds what this package puts there, not a user's value."""
        if key == self.provenance_key:
            return isinstance(value, list)
        return key == self.fused_score_key and isinstance(value, float)

    def _without_reserved(self, metadata: Metadata) -> Metadata:
        if self._reserved.isdisjoint(metadata):
            return metadata
        return {key: value for key, value in metadata.items() if key not in self._reserved}

    @cached_property
    def _reserved(self) -> frozenset[str]:
        keys = (self.conflicts_key, self.provenance_key, self.fused_score_key)
        return frozenset(key for key in keys if key is not None)

    @cached_property
    def _adds(self) -> bool:
        return self.provenance_key is not None or self.fused_score_key is not None

    @cached_property
    def _always(self) -> Collection[str]:
        return self._resolver.always if self._resolver else ()

    @cached_property
    def _resolver(self) -> Resolver | None:
        return as_resolver(self.policy)


@dataclass(eq=False, slots=True)
class _Leg:
    """One list, with what provenance tells of it."""

    documents: Sequence[Document]
    name: str
    query: str | None
    weight: float
    scores: Sequence[Any]
    gains: Sequence[float]  # by rank; 0 for a document that the list repeats
    lacks_scores: bool

    def provenance(self, rank: int, key: str) -> Metadata:
        document = self.documents[rank - 1]
        entry = {
            "leg": self.name,
            "query": self.query,
            "rank": rank,
            "score": self.scores[rank - 1],
            "weight": self.weight,
            "contribution": self.gains[rank - 1],
            "id": document.id,
        }
        if key in document.metadata and isinstance(document.metadata[key], list):
            entry["provenance"] = document.metadata[key]
        return entry


@dataclass(eq=False, slots=True)
class _Found:
    """The documents of all lists, grouped by identity in first-seen order, and scored."""

    legs: list[_Leg]
    places: dict[Hashable, list[tuple[_Leg, int]]]
    scores: dict[Hashable, float]


def _group(engine: Engine, lists: Sequence[Sequence[Document]], weights: Sequence[float]) -> _Found:
    found, interner = _Found([], {}, {}), Interner()
    for index, (documents, weight) in enumerate(zip(lists, weights, strict=True)):
        leg = _Leg(
            documents,
            getattr(documents, "leg", None) or f"retriever_{index + 1}",
            getattr(documents, "query", None),
            weight,
            (),
            (),
            lacks_scores=False,
        )
        found.legs.append(leg)
        keys, ranks = _place(leg, engine.identity, interner, found.places)
        _score(engine, leg, keys, ranks, found.scores)
    return found


def _place(
    leg: _Leg, identity: Identity, interner: Interner, places: dict[Hashable, list[tuple[_Leg, int]]]
) -> tuple[list[Hashable], list[int]]:
    """Put the leg's documents where they belong; return the distinct ones and their best ranks."""
    keys: list[Hashable] = []
    ranks: list[int] = []
    for rank, document in enumerate(leg.documents, start=1):
        key = identity(document)
        if type(key) is not str:
            key = (None, leg, rank) if key is None else interner.key(key)
        known = places.get(key)
        if known is None:
            places[key] = [(leg, rank)]
        else:
            known.append((leg, rank))
            if known[-2][0] is leg:
                continue
        keys.append(key)
        ranks.append(rank)
    return keys, ranks


def _score(
    engine: Engine, leg: _Leg, keys: list[Hashable], ranks: list[int], scores: dict[Hashable, float]
) -> None:
    """Add what the leg's hits contribute to their documents' scores."""
    ranking = Ranking(leg.documents, ranks, engine.score_key)
    gains = engine.fuser.contributions(ranking, leg.weight)
    for key, gain in zip(keys, gains, strict=True):
        scores[key] = scores.get(key, 0.0) + gain
    if engine.provenance_key is not None:
        by_rank = dict(zip(ranks, gains, strict=True))
        leg.gains = [by_rank.get(rank, 0.0) for rank in range(1, len(leg.documents) + 1)]
        leg.scores = all_scores(leg.documents, engine.score_key)
    leg.lacks_scores = bool(
        keys and getattr(engine.fuser, "uses_scores", False) and ranking.scores is None
    )


def _compare(copies: Sequence[Metadata]) -> tuple[Metadata, list[Any]]:
    """Return all keys with their first value, and the keys whose values are not surely all the same."""
    merged = dict(copies[0])
    disputed = []
    for copy in copies[1:]:
        for key, value in copy.items():
            if key not in merged:
                merged[key] = value
                continue
            known = merged[key]
            kind = type(value)
            if known is value or (kind is type(known) and kind in SCALARS and known == value):
                continue
            if key not in disputed and not surely_same(known, value):
                disputed.append(key)
    return merged, disputed


def _replaced(document: Document, metadata: Metadata, known_id: str | None) -> Document:
    """Return a copy of the document, of its own type, with other metadata and id."""
    copy = document.__copy__()
    copy.__dict__["metadata"] = metadata
    copy.__dict__["id"] = known_id
    return copy


def _equal(first: Document, other: Document) -> bool:
    """Tell quickly whether `other` knows nothing that `first` does not; False if in doubt."""
    return first is other or (
        (other.id is None or other.id == first.id)
        and other.page_content == first.page_content
        and surely_same(first.metadata, other.metadata)
    )


def _compare_documents(copies: Sequence[Document], conflicts: Conflicts) -> None:
    """Record ids and contents that differ: the first copy's are kept."""
    first = copies[0]
    if any(copy.id != first.id or copy.page_content != first.page_content for copy in copies):
        ids = dict.fromkeys(copy.id for copy in copies if copy.id is not None)
        contents = dict.fromkeys(copy.page_content for copy in copies)
        for name, values in (("Document.id", ids), ("Document.page_content", contents)):
            if len(values) > 1:
                add_conflict(conflicts, name, values)


def _is_conflicts(value: object) -> bool:
    return is_dict(value) and all(
        isinstance(path, str) and isinstance(values, list) for path, values in value.items()
    )
