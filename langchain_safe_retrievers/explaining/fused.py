"""The documents of an explanation: fusion and folding, looked at from the inside."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from langchain_core.documents import Document

from langchain_safe_retrievers.explaining.explanation import (
    ExplainedCopy,
    ExplainedDocument,
)
from langchain_safe_retrievers.explaining.rules import rule_of
from langchain_safe_retrievers.explaining.unfused import Fused, unfused_documents
from langchain_safe_retrievers.merging.conflicts import Conflicts
from langchain_safe_retrievers.merging.fold import Engine
from langchain_safe_retrievers.merging.grouping import Grouped, group
from langchain_safe_retrievers.merging.values import family, is_dict
from langchain_safe_retrievers.trace import Merging, Trace


def fused_documents(trace: Trace) -> Fused:
    """Replay a retrieval's fusion and folding, and say of each document what became of it.

    Args:
        trace: What the retrieval went through.

    Returns:
        The documents.
    """
    if trace.merging is None:
        return unfused_documents(trace)
    replay = _Replay.of(trace.merging)
    ranks = _ranks(replay.folded, replay.kept, trace.documents)
    documents = [replay.explain(index, ranks, trace.documents) for index in range(len(ranks))]
    known = set(ranks)
    late = (i for i in range(len(trace.documents)) if i not in known)
    documents += (ExplainedDocument(trace.documents[i], rank=i + 1) for i in late)
    return Fused(tuple(documents), replay.places())


@dataclass(frozen=True)
class _Replay:
    """A merging, done once more without its `k`.

    Args:
        merging: What the engine was given.
        grouped: The legs' documents by identity.
        order: The places of the first copies, in the order in which `folded` has them.
        folded: What the engine makes of each.
        conflicts: Index into `folded` to what folding displaced.
        kept: Indices of those that `k` lets pass.
        entries: What provenance tells of each place.
    """

    merging: Merging
    grouped: Grouped
    order: Sequence[int]
    folded: Sequence[Document]
    conflicts: Mapping[int, Conflicts]
    kept: Sequence[int]
    entries: Sequence[Mapping[str, Any]]

    @classmethod
    def of(cls, merging: Merging) -> _Replay:
        """Merge once more."""
        engine = merging.engine
        grouped = group(
            merging.lists,
            merging.weights,
            identity=engine.identity,
            fuser=engine.fuser,
            score_key=engine.score_key,
        )
        ranked = sorted(grouped.first, key=grouped.scores.__getitem__, reverse=True)
        passed = set(ranked[: merging.k])
        order = sorted(ranked) if merging.first_seen else ranked
        merged = replace(merging, k=None).run()
        conflicts = {rank - 1: found for rank, found in merged.conflicts.items()}
        kept = [index for index, place in enumerate(order) if place in passed]
        entries = [entry for leg in grouped.legs for entry in leg.provenance(engine.score_key)]
        return cls(merging, grouped, order, merged.documents, conflicts, kept, entries)

    @cached_property
    def passed(self) -> frozenset[int]:
        """Indices of those that `k` lets pass."""
        return frozenset(self.kept)

    @cached_property
    def reserved(self) -> tuple[str, ...]:
        """Metadata keys that the engine writes itself."""
        return reserved_keys(self.merging.engine)

    @property
    def has_scores(self) -> bool:
        """Whether a fused score had a say."""
        return not self.merging.first_seen or self.merging.k is not None

    def explain(
        self, index: int, ranks: Sequence[int | None], returned: Sequence[Document]
    ) -> ExplainedDocument:
        """Return what became of the document that is at `index` of the fused order."""
        engine, place, rank = self.merging.engine, self.order[index], ranks[index]
        document = self.folded[index] if rank is None else returned[rank]
        copies = tuple(map(self._copy, self._places(place)))
        joined_by, joined_on = "", None
        if len(copies) > 1:
            joined_by, joined_on = rule_of(engine.identity, copies[0].document)
        return ExplainedDocument(
            document=document,
            rank=None if rank is None else rank + 1,
            fused_rank=index + 1,
            score=self.grouped.scores[place] if self.has_scores else None,
            copies=copies,
            joined_by=joined_by,
            joined_on=joined_on,
            removed_by=None if rank is not None else "step" if index in self.passed else "k",
            displaced=self.conflicts.get(index) or _recorded(self.folded[index], engine),
            reserved=self.reserved,
        )

    def places(self) -> dict[tuple[str, str | None, int], int]:
        """Return which copy became what."""
        found = {}
        for index, place in enumerate(self.order):
            for each in self._places(place):
                entry = self.entries[each]
                found[entry["leg"], entry["query"], id(self.grouped.documents[each])] = index
        return found

    def _places(self, place: int) -> Sequence[int]:
        return self.grouped.copies.get(place, (place,))

    def _copy(self, place: int) -> ExplainedCopy:
        entry = self.entries[place]
        gain = entry["contribution"] if self.has_scores else None
        leg, query, rank = entry["leg"], entry["query"] or "", entry["rank"]
        score, weight = entry["score"], entry["weight"]
        return ExplainedCopy(leg, query, rank, score, weight, gain, self.grouped.documents[place])


def reserved_keys(engine: Engine) -> tuple[str, ...]:
    """Return the metadata keys that an engine writes itself.

    Args:
        engine: The engine.

    Returns:
        The keys.

    Example:
        >>> reserved_keys(Engine())
        ('_conflicts',)
    """
    keys = (engine.conflicts_key, engine.provenance_key, engine.fused_score_key)
    return tuple(key for key in keys if key is not None)


def _recorded(document: Document, engine: Engine) -> Conflicts:
    """Return the conflicts that a document brought along from an earlier fold."""
    known = document.metadata.get(engine.conflicts_key)
    if not is_dict(known):
        return {}
    return {path: values for path, values in known.items() if family(values) == "list"}


def _ranks(
    folded: Sequence[Document], kept: Sequence[int], returned: Sequence[Document]
) -> list[int | None]:
    """Return the place in the answer of each folded document, or None."""
    if len(kept) == len(returned) and all(
        _alike(folded[i], document) for i, document in zip(kept, returned, strict=True)
    ):
        found = {index: rank for rank, index in enumerate(kept)}
    else:
        found = dict(_matched([(i, folded[i]) for i in kept], returned))
    return [found.get(index) for index in range(len(folded))]


def _alike(one: Document, other: Document) -> bool:
    return one is other or (one.id == other.id and one.page_content == other.page_content)


def _matched(
    kept: Iterable[tuple[int, Document]], returned: Sequence[Document]
) -> Iterator[tuple[int, int]]:
    """Pair what was fused with what was returned: by id and text, then either alone."""
    left, free = dict(kept), dict(enumerate(returned))
    for key in (_both, _id, _text):
        known: dict[Any, list[int]] = {}
        for index, document in left.items():
            known.setdefault(key(document), []).append(index)
        for rank, document in list(free.items()):
            candidates = known.get(key(document)) if key(document) is not None else None
            if candidates:
                index = candidates.pop(0)
                del left[index], free[rank]
                yield index, rank


def _both(document: Document) -> tuple[str | None, str]:
    return document.id, document.page_content


def _id(document: Document) -> str | None:
    return document.id


def _text(document: Document) -> str:
    return document.page_content
