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

from langchain_safe_retrievers.fusion.fuser import Fuser
from langchain_safe_retrievers.fusion.reciprocal_rank import ReciprocalRank
from langchain_safe_retrievers.identity import Identity, by_content
from langchain_safe_retrievers.merging.conflicts import (
    Conflicts,
    add_conflict,
    check_values,
    find_conflicts,
)
from langchain_safe_retrievers.merging.grouping import Grouped, group
from langchain_safe_retrievers.merging.policy import (
    MergePolicy,
    Metadata,
    MetadataPolicy,
    Resolver,
    as_resolver,
    having,
    merge_pairwise,
)
from langchain_safe_retrievers.merging.values import is_dict, is_list, surely_same


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
        found = group(
            lists, weights, identity=self.identity, fuser=self.fuser, score_key=self.score_key
        )
        order = sorted(found.first, key=found.scores.__getitem__, reverse=True)[:k]
        if first_seen:
            order.sort()
        provenance = self._provenance(found)
        merged = Merged([], {}, tuple(leg.name for leg in found.legs if leg.lacks_scores))
        for place in order:
            document = found.documents[place]
            if self._adds or place in found.copies:
                places = found.copies.get(place) or [place]
                copies = [found.documents[place] for place in places]
                metadata, conflicts = self._fold(copies, [found.weights[place] for place in places])
                if conflicts:
                    merged.conflicts[len(merged.documents) + 1] = conflicts
                if self._adds:
                    metadata = self._with_extras(metadata, [provenance[place] for place in places], found.scores[place])
                if metadata is not document.metadata:
                    document = _replaced(document, metadata, _known_id(copies))
            merged.documents.append(document)
        return merged

    def _provenance(self, found: Grouped) -> list[Metadata]:
        """Return what provenance tells of each place; nothing if nobody asked."""
        key = self.provenance_key
        if key is None:
            return [{}] * len(found.documents)
        return [entry for leg in found.legs for entry in leg.provenance(key, self.score_key)]

    def _with_extras(self, metadata: Metadata, provenance: list[Metadata], score: float) -> Metadata:
        """Return the metadata with provenance and fused score added."""
        extras: Metadata = {}
        if self.provenance_key is not None:
            extras[self.provenance_key] = provenance
        if self.fused_score_key is not None:
            extras[self.fused_score_key] = score
        return {**metadata, **extras}

    def _fold(
        self, copies: Sequence[Document], weights: Sequence[float]
    ) -> tuple[Metadata, Conflicts]:
        """Turn the metadata of a document's copies into one; the first copy's own if nothing changes."""
        if self._agree(copies):
            return copies[0].metadata, {}
        metadata, conflicts = self._merge_metadata(copies, weights)
        if conflicts and self.conflicts_key is not None:
            metadata[self.conflicts_key] = conflicts
        return metadata, conflicts

    def _agree(self, copies: Sequence[Document]) -> bool:
        """Tell quickly whether the first copy is what all become; False if in doubt."""
        first = copies[0]
        if self._always and len(copies) > 1:
            return False
        if self._adds and not first.metadata.keys().isdisjoint(self._reserved):
            return False
        for copy in copies[1:]:
            if copy is not first and not _adds_nothing(copy, first):
                return False
        return True

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
        for key in self._always:
            if key in merged:
                disputed[key] = None
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
            return is_list(value)
        return key == self.fused_score_key and type(value) is float

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


def _compare(copies: Sequence[Metadata]) -> tuple[Metadata, dict[Any, None]]:
    """Return all keys with their first value, and the keys whose values are not surely all the same."""
    merged = dict(copies[0])
    disputed: dict[Any, None] = {}
    for copy in copies[1:]:
        for key, value in copy.items():
            if key not in merged:
                merged[key] = value
                continue
            known = merged[key]
            if type(known) is str is type(value):
                if known != value:
                    disputed[key] = None
            elif known is not value and key not in disputed and not surely_same(known, value):
                disputed[key] = None
    return merged, disputed


def _adds_nothing(copy: Document, first: Document) -> bool:
    """Tell quickly whether `copy` knows nothing that `first` does not; False if in doubt."""
    return (
        (copy.id is None or copy.id == first.id)
        and copy.page_content == first.page_content
        and surely_same(copy.metadata, first.metadata)
    )


def _replaced(document: Document, metadata: Metadata, known_id: str | None) -> Document:
    """Return a copy of the document, of its own type, with other metadata and id."""
    if type(document) is not Document:
        return document.model_copy(update={"metadata": metadata, "id": known_id})
    copy = Document.__new__(Document)  # what pydantic's own copy does, in half the time
    fields = copy.__dict__
    fields.update(document.__dict__)
    fields["metadata"] = metadata
    fields["id"] = known_id
    _set(copy, "__pydantic_fields_set__", document.__pydantic_fields_set__ | _REPLACED)
    _set(copy, "__pydantic_extra__", None)
    _set(copy, "__pydantic_private__", None)
    return copy


_set = object.__setattr__
_REPLACED = frozenset({"metadata", "id"})


def _known_id(copies: Sequence[Document]) -> str | None:
    for copy in copies:
        if copy.id is not None:
            return copy.id
    return None


def _compare_documents(copies: Sequence[Document], conflicts: Conflicts) -> None:
    """Record ids and contents that differ: the first copy's are kept."""
    first = copies[0]
    for copy in copies[1:]:
        if copy.id != first.id or copy.page_content != first.page_content:
            break
    else:
        return
    ids = dict.fromkeys(copy.id for copy in copies if copy.id is not None)
    contents = dict.fromkeys(copy.page_content for copy in copies)
    for name, values in (("Document.id", ids), ("Document.page_content", contents)):
        if len(values) > 1:
            add_conflict(conflicts, name, values)


def _is_conflicts(value: object) -> bool:
    return is_dict(value) and all(
        issubclass(type(path), str) and is_list(values) for path, values in value.items()
    )
