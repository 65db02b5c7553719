"""Relative score fusion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from langchain_safe_retrievers.fusion.fuser import Ranking, scores_or_ranks


@dataclass(frozen=True)
class RelativeScore:
    """Min–max fusion: score(d) = Σ_legs w_leg · (s − min) / (max − min).

    `s` is the leg's own score, min and max are those of its list: with weights that add up
    to 1 a convex combination in [0, 1]. A list of one hit, or of equal scores, gives 1 to
    each. Distances are negated first, so negative scores are fine. A leg where any score is
    missing, NaN or infinite is scored by 1 / (60 + rank), and the report says so. Source:
    Bruch, Gai and Ingber, "An Analysis of Fusion Functions for Hybrid Retrieval", ACM
    TOIS 42(1), 2023.

    Example:
        >>> from langchain_core.documents import Document
        >>> from langchain_safe_retrievers.fusion.fuser import RankedList
        >>> hits = RankedList([Document(page_content=text) for text in "abc"], scores=[8, 3, -2])
        >>> RelativeScore().contributions(Ranking(hits, ranks=[1, 2, 3]), weight=0.5)
        [0.5, 0.25, 0.0]
    """

    uses_scores: ClassVar[bool] = True

    def contributions(self, leg: Ranking, weight: float) -> list[float]:
        """Return weight · (s − min) / (max − min) for each hit.

        Args:
            leg: The leg's list.
            weight: The leg's weight, at least 0.

        Returns:
            One number in [0, weight] for each of `leg.ranks`.
        """
        scores = scores_or_ranks(leg)
        if not scores:
            return []
        low, high = min(scores), max(scores)
        half_spread = high / 2 - low / 2  # halves: the whole may be more than a float holds
        if not half_spread:
            return [weight] * len(scores)
        return [weight * ((score / 2 - low / 2) / half_spread) for score in scores]
