"""Reading only the documents that a hybrid query returns, of the hundreds that its legs rank.

A Chroma needs 2 ms to rank a hundred documents and 6 ms more to read them. Where both legs hold
the same documents by id, they are asked for ids and scores alone, and the best `k` are read once
the lists are fused.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.documents import Document

from langchain_safe_retrievers.fusion.distribution_based import DistributionBased
from langchain_safe_retrievers.fusion.noisy_or import NoisyOr
from langchain_safe_retrievers.fusion.reciprocal_rank import ReciprocalRank
from langchain_safe_retrievers.fusion.relative_score import RelativeScore
from langchain_safe_retrievers.in_step import by_id
from langchain_safe_retrievers.retrievers.keyword import KeywordRetriever
from langchain_safe_retrievers.retrievers.vector import VectorRetriever
from langchain_safe_retrievers.vector.nearest import ranks_ids

logger = logging.getLogger(__name__)

ONLY_IDS = "only_ids"  # the legs' argument

# Settings that ask for more of the copies than their ids.
_NEEDS_COPIES = frozenset({"merge_policy", "provenance_key", "fused_score_key", "id_key"})
# Fusers that look at ranks and scores alone; others may look at the documents.
_BLIND = frozenset({NoisyOr, ReciprocalRank, RelativeScore, DistributionBased, type(None)})


def by_id_or_content(document: Document) -> str:
    """Return the document's id, or its text if it has none; no id is taken for a text.

    `by_levels(by_id, by_content)` in one string, which is quicker to compare.

    Args:
        document: The document.

    Returns:
        Which of the two, and it.

    Example:
        >>> by_id_or_content(Document("a", id="7")), by_id_or_content(Document("a"))
        ('id:7', 'text:a')
    """
    known = document.id
    return f"text:{document.page_content}" if known is None else f"id:{known}"


def looks_at_copies(retriever: Any) -> bool:
    """Tell whether a retriever's settings ask for more of what its legs find than ids and scores.

    Args:
        retriever: A `HybridRetriever`.

    Returns:
        True for a fuser that is not one of ours, too.
    """
    unusual = retriever.identity is not by_id_or_content or type(retriever.fuser) not in _BLIND
    return unusual or bool(_NEEDS_COPIES & retriever.model_fields_set)


@dataclass(frozen=True)
class InStep:
    """Two legs that held the same documents, and how often each had been written to by then.

    Args:
        vector: The vector leg.
        keyword: The keyword leg.
        writes: Their counts.
    """

    vector: VectorRetriever
    keyword: KeywordRetriever
    writes: tuple[int, int]

    @classmethod
    def now(cls, vector: VectorRetriever, keyword: KeywordRetriever) -> InStep:
        """Remember that two legs hold the same at this moment.

        Args:
            vector: The vector leg.
            keyword: The keyword leg.

        Returns:
            Which and when.
        """
        return cls(vector, keyword, _writes(vector, keyword))

    def still(self) -> bool:
        """Tell whether nobody in this process has written to one of them by itself since."""
        return _writes(self.vector, self.keyword) == self.writes

    def can_be_read_late(self, legs: Sequence[object]) -> bool:
        """Tell whether legs are these, still in step, and spare something if asked for ids.

        Args:
            legs: A retriever's.

        Returns:
            False for classes that inherit from ours and may do otherwise, too.
        """
        vector, keyword = self.vector, self.keyword
        is_usual = type(vector) is VectorRetriever and type(keyword) is KeywordRetriever
        is_spared = is_usual and ranks_ids(vector.store) and keyword.score_key is None
        return is_spared and [*map(id, legs)] == [id(vector), id(keyword)] and self.still()


def _writes(vector: VectorRetriever, keyword: KeywordRetriever) -> tuple[int, int]:
    return vector._writes, keyword._writes  # noqa: SLF001 - of this package


def read_late(
    vector: VectorRetriever, keyword: KeywordRetriever, ranked: Sequence[Document]
) -> list[Document]:
    """Return the documents that have the ids of those ranked, as the keyword leg holds them.

    Args:
        vector: Is asked for those that the keyword leg does not hold.
        keyword: Reads a document in a hundredth of the time.
        ranked: Documents with ids.

    Returns:
        As many, in their order; fewer if some were deleted meanwhile.
    """
    ids = [document.id or "" for document in ranked]
    try:
        held = by_id(keyword, ids)
    except Exception as error:  # noqa: BLE001 - the other leg is there
        logger.warning("the keyword leg could not read documents: %s", type(error).__name__)
        held = {}
    if missing := [own for own in ids if own not in held]:
        held |= by_id(vector, missing)
    return [held[own] for own in ids if own in held]
