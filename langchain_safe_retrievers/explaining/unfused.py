"""The documents of an explanation where no engine has merged: a copy is the same object."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from langchain_core.documents import Document

from langchain_safe_retrievers.explaining.explanation import (
    ExplainedCopy,
    ExplainedDocument,
    Removed,
)
from langchain_safe_retrievers.fusion.fuser import RankedList, all_scores
from langchain_safe_retrievers.trace import Trace


@dataclass(frozen=True)
class Fused:
    """What became of the documents.

    Args:
        documents: Every document after fusion, best first, then those that came in later.
        places: The `id()` of a copy, in the list of (leg, query), to the index of what it became.
    """

    documents: tuple[ExplainedDocument, ...]
    places: Mapping[tuple[str, str | None, int], int]


def unfused_documents(trace: Trace) -> Fused:
    """Say where documents were found that no engine has merged.

    Args:
        trace: What the retrieval went through.

    Returns:
        The documents; a copy is known by being the same object. Hits that are missing come
        after them, unless it was the filter that removed them.
    """
    copies: dict[int, list[ExplainedCopy]] = {}
    for copy in _copies(trace.found):
        copies.setdefault(id(copy.document), []).append(copy)
    missing = missing_hits(trace.found, trace.documents)
    documents = list(trace.documents)
    if len(missing) != trace.report.filtered:
        documents += {id(copy.document): copy.document for copy in missing}.values()
    explained: list[ExplainedDocument] = []
    places: dict[tuple[str, str | None, int], int] = {}
    for index, document in enumerate(documents):
        own = tuple(copies.get(id(document), ()))
        rank = index + 1 if index < len(trace.documents) else None
        why: Removed | None = "step" if rank is None else None
        explained.append(ExplainedDocument(document, rank, index + 1, copies=own, removed_by=why))
        places.update({(copy.leg, copy.query, id(document)): index for copy in own})
    return Fused(tuple(explained), places)


def missing_hits(found: Sequence[RankedList], documents: Sequence[Document]) -> list[ExplainedCopy]:
    """Return the hits that are not among the documents that were returned.

    Args:
        found: The legs' lists.
        documents: What was returned.

    Returns:
        The hits, list after list.
    """
    returned = {id(document) for document in documents}
    return [copy for copy in _copies(found) if id(copy.document) not in returned]


def _copies(found: Sequence[RankedList]) -> Iterator[ExplainedCopy]:
    for hits in found:
        scores = all_scores(hits, "score")
        for rank, (document, score) in enumerate(zip(hits, scores, strict=True), start=1):
            yield ExplainedCopy(hits.leg, hits.query, rank, score, None, None, document)
