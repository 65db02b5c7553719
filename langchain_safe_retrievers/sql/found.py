"""The first rows that match, as documents."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeAlias

from langchain_core.documents import Document

from langchain_safe_retrievers.fusion.fuser import RankedList
from langchain_safe_retrievers.sql.rows import Layout

logger = logging.getLogger(__name__)

Matches: TypeAlias = Callable[[Document], bool] | None


@dataclass(frozen=True)
class Wanted:
    """What one call asks for.

    Args:
        query: The query.
        k: How many documents, at least 1.
        filter: The filter as it was given, or None.
        matches: Whether a document passes it, or None if there is none.
        row_limit: How many rows are read at most.
    """

    query: str
    k: int
    filter: Any = None
    matches: Matches = None
    row_limit: int = 10_000


@dataclass
class Found:
    """Documents that match, best first, and how many rows were read for them."""

    documents: list[Document] = field(default_factory=list)
    scores: list[float | None] = field(default_factory=list)
    rows: int = 0

    def ranked(self, query: str) -> RankedList:
        """Return the documents as a leg's answer."""
        scored = any(score is not None for score in self.scores)
        return RankedList(self.documents, query=query, scores=self.scores if scored else None)


def take(rows: Iterable[Mapping[str, Any]], layout: Layout, wanted: Wanted) -> Found:
    """Read rows until enough of them match, or until the row limit.

    Args:
        rows: The rows, best first.
        layout: Which column becomes what.
        wanted: What is asked for.

    Returns:
        What was found.
    """
    found = Found()
    for row in islice(rows, wanted.row_limit):
        found.rows += 1
        document, score = layout.document(row)
        if wanted.matches is None or wanted.matches(document):
            found.documents.append(document)
            found.scores.append(score)
            if len(found.documents) == wanted.k:
                break
    return found


def warn_if_cut(found: Found, wanted: Wanted) -> None:
    """Say so where the row limit may have kept a document out.

    Args:
        found: What was found.
        wanted: What was asked for.
    """
    if len(found.documents) < wanted.k and found.rows >= wanted.row_limit:
        logger.warning(
            "row_limit=%d rows were read and only %d of k=%d documents match; "
            "raise row_limit, or filter by columns that SQL can compare",
            wanted.row_limit,
            len(found.documents),
            wanted.k,
        )
