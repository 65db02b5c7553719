"""Distribution-based score fusion."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import ClassVar

from langchain_safe_retrievers.fusion.fuser import Ranking, scores_or_ranks


@dataclass(frozen=True)
class DistributionBased:
    """Distribution-based score fusion (DBSF): score(d) = Σ_legs w_leg · (s − (μ − 3σ)) / 6σ.

    `s` is the leg's own score, μ and σ are the mean and the population standard deviation
    of its list; the fraction is clipped to [0, 1]. A list of one hit, or of equal scores,
    gives 0.5 to each: the place of the mean. Distances are negated first. A leg where any
    score is missing, NaN or infinite is scored by 1 / (60 + rank), and the report says so.
    Source: Mazzeschi, "Distribution-Based Score Fusion (DBSF), a new approach to Vector
    Search Ranking", 2023.

    Example:
        >>> from langchain_core.documents import Document
        >>> from langchain_safe_retrievers.fusion.fuser import RankedList
        >>> hits = RankedList([Document(page_content=text) for text in "ab"], scores=[3, 1])
        >>> DistributionBased().contributions(Ranking(hits, ranks=[1, 2]), weight=6.0)
        [4.0, 2.0]
    """

    uses_scores: ClassVar[bool] = True

    def contributions(self, leg: Ranking, weight: float) -> list[float]:
        """Return weight · (s − (μ − 3σ)) / 6σ, clipped to [0, weight], for each hit.

        Args:
            leg: The leg's list.
            weight: The leg's weight, at least 0.

        Returns:
            One number in [0, weight] for each of `leg.ranks`.
        """
        scores = scores_or_ranks(leg)
        if not scores:
            return []
        scale = max(map(abs, scores)) or 1.0  # squares of huge or tiny scores stay in range
        scaled = [score / scale for score in scores]
        mean = statistics.fmean(scaled)
        spread = math.sqrt(statistics.fmean((score - mean) ** 2 for score in scaled))
        if max(scores) == min(scores) or not spread:
            return [weight / 2] * len(scores)
        return [
            weight * min(1.0, max(0.0, 0.5 + (score - mean) / (6 * spread))) for score in scaled
        ]
