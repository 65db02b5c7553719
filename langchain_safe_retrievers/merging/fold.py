"""The engine: ranked lists in, one document per identity out, and what happened on the way.

Plain functions that know no callback and wait for nothing. Every union, fusion and merge of
this package ends here; no other place loops over duplicates.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from langchain_core.documents import Document

from langchain_safe_retrievers.errors import ConfigurationError
from langchain_safe_retrievers.fusion.fuser import Fuser
from langchain_safe_retrievers.fusion.reciprocal_rank import ReciprocalRank
from langchain_safe_retrievers.identity import Identity, by_content
from langchain_safe_retrievers.merging.conflicts import (
    Conflicts,
    add_conflict,
    find_conflicts,
)
from langchain_safe_retrievers.merging.copying import replaced
from langchain_safe_retrievers.merging.grouping import Grouped, group
from langchain_safe_retrievers.merging.policy import (
    MergePolicy,
    Metadata,
    MetadataPolicy,
    as_resolver,
    merge_pairwise,
)
from langchain_safe_retrievers.merging.values import family, is_dict, surely_same
from langchain_safe_retrievers.merging.walk import merge_dicts


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
    fuser: Fuser = field(default_factory=ReciprocalRank)
    policy: MergePolicy | Callable[[Metadata, Metadata], Metadata] = field(
        default_factory=MetadataPolicy
    )
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

        Raises:
            ConfigurationError: `k` is less than 0.
        """
        if k is not None and k < 0:
            msg = f"k is {k!r}; expected a whole number of at least 0, or None for all documents"
            raise ConfigurationError(msg)
        weights = [1.0] * len(lists) if weights is None else weights
        ranks = not first_seen or k is not None  # else nobody asks for scores, unless to show them
        fuser = self.fuser if ranks or self._adds else None
        found = group(lists, weights, identity=self.identity, fuser=fuser, score_key=self.score_key)
        order = list(found.first)
        if ranks:
            order = sorted(order, key=found.scores.__getitem__, reverse=True)[:k]
        if first_seen:
            order.sort()
        documents, adds = found.documents, self._adds
        provenance = self._provenance(found)
        merged = Merged([], {}, tuple(leg.name for leg in found.legs if leg.lacks_scores))
        for place in order:
            document = documents[place]
            places = found.copies.get(place, ())
            if adds or (places and not self._agree(documents, places)):
                document, conflicts = self._fold(found, place, provenance)
                if conflicts:
                    merged.conflicts[len(merged.documents) + 1] = conflicts
            merged.documents.append(document)
        return merged

    def _provenance(self, found: Grouped) -> list[Metadata]:
        """Return what provenance tells of each place, if anybody asked."""
        key = self.provenance_key
        if key is None:
            return []
        entries = [entry for leg in found.legs for entry in leg.provenance(self.score_key)]
        for entry, document in zip(entries, found.documents, strict=True):
            if key in document.metadata and family(document.metadata[key]) == "list":
                entry["provenance"] = document.metadata[key]
        return entries

    def _fold(
        self, found: Grouped, place: int, provenance: Sequence[Metadata]
    ) -> tuple[Document, Conflicts | None]:
        """Turn the copies of the document that is first seen at `place` into one."""
        first = found.documents[place]
        places = found.copies.get(place, (place,))
        conflicts, known_id = None, first.id
        if self._adds and self._is_bare(first) and self._agree(found.documents, places):
            metadata = dict(first.metadata)
        else:
            copies = [found.documents[p] for p in places]
            metadata, conflicts = self._merge_metadata(copies, [found.weights[p] for p in places])
            if known_id is None:
                known_id = next((copy.id for copy in copies if copy.id is not None), None)
        if self.provenance_key is not None:
            metadata[self.provenance_key] = [provenance[p] for p in places]
        if self.fused_score_key is not None:
            metadata[self.fused_score_key] = found.scores[place]
        return replaced(first, metadata, known_id), conflicts

    def _is_bare(self, document: Document) -> bool:
        """Tell whether a document's metadata has none of the reserved keys."""
        return document.metadata.keys().isdisjoint(self._reserved)

    def _agree(self, documents: Sequence[Document], places: Sequence[int]) -> bool:
        """Tell quickly whether the first copy is what all become; False if in doubt."""
        first = documents[places[0]]
        metadata, known_id, content = first.metadata, first.id, first.page_content
        for place in places:
            copy = documents[place]
            if copy is not first and not (
                surely_same(copy.metadata, metadata)
                and (copy.id is None or copy.id == known_id)
                and copy.page_content == content
            ):
                return False
        return not self._always or len(places) == 1

    def _merge_metadata(
        self, copies: Sequence[Document], weights: Sequence[float]
    ) -> tuple[Metadata, Conflicts]:
        """Ask the policy, then hold what it said against every copy: nothing is lost silently."""
        conflicts: Conflicts = {}
        bare = [copy.metadata for copy in copies]
        for index, metadata in enumerate(bare):
            if not metadata.keys().isdisjoint(self._reserved):
                bare[index] = self._without_reserved(metadata, conflicts)
        if self._resolver is None:
            merged = merge_pairwise(self.policy, bare)
            for path, values in find_conflicts(merged, bare).items():
                add_conflict(conflicts, path, values)
        else:
            merged = merge_dicts(self._resolver, bare, weights, conflicts)
        _compare_documents(copies, conflicts)
        if conflicts and self.conflicts_key is not None:
            merged[self.conflicts_key] = conflicts
        return merged, conflicts

    def _without_reserved(self, metadata: Metadata, conflicts: Conflicts) -> Metadata:
        """Return the metadata without the reserved keys; add the conflicts that it brings along."""
        bare = dict(metadata)
        for key in self._reserved:
            value = bare.pop(key, None)
            if key == self.conflicts_key and _is_conflicts(value):
                for path, values in value.items():
                    add_conflict(conflicts, path, values)
            elif value is not None and not self._is_ours(key, value):
                add_conflict(conflicts, key, [value])
        return bare

    def _is_ours(self, key: str, value: object) -> bool:
        """Tell whether a reserved key holds what this package puts there, not a user's value."""
        if key == self.provenance_key:
            return family(value) == "list"
        return key == self.fused_score_key != self.score_key and type(value) is float

    @cached_property
    def _reserved(self) -> tuple[str, ...]:
        keys = (self.conflicts_key, self.provenance_key, self.fused_score_key)
        return tuple(key for key in keys if key is not None)

    @cached_property
    def _adds(self) -> bool:
        return self.provenance_key is not None or self.fused_score_key is not None

    @cached_property
    def _always(self) -> Collection[str]:
        return self._resolver.always if self._resolver else ()

    @cached_property
    def _resolver(self) -> MetadataPolicy | None:
        return as_resolver(self.policy)


def _compare_documents(copies: Sequence[Document], conflicts: Conflicts) -> None:
    """Record ids and contents that differ: the first copy's are kept."""
    first = copies[0]
    for copy in copies:
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
        issubclass(type(path), str) and family(values) == "list" for path, values in value.items()
    )
