"""Cut hits whose score is too low."""

from __future__ import annotations

import math
from dataclasses import dataclass

from langchain_safe_retrievers.fusion.fuser import RankedList, all_scores
from langchain_safe_retrievers.merging.values import is_number

_TOLERANCE = 1e-9  # far above what floats lose in a sum, far below what a score means


@dataclass(frozen=True)
class ScoreFloor:
    """Keeps the hits that score at least so much; the last bits of a float do not count.

    A hit without a score, or with NaN, cannot be judged and is kept.

    Args:
        min_score: The least score, higher being better.
        score_key: The metadata key that holds a hit's score where its list has none.

    Example:
        >>> ScoreFloor(0.5).passes(0.49999999999999994), ScoreFloor(0.5).passes(0.49)
        (True, False)
    """

    min_score: float
    score_key: str = "score"

    def passes(self, score: object) -> bool:
        """Tell whether a hit is kept.

        Args:
            score: Its score, or None.

        Returns:
            Whether it is kept.
        """
        if not is_number(score) or math.isnan(score):  # type: ignore[arg-type]
            return True
        value = float(score)  # type: ignore[arg-type]
        return value >= self.min_score or math.isclose(
            value, self.min_score, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE
        )

    def kept(self, found: RankedList) -> RankedList:
        """Return the hits that are kept.

        Args:
            found: A leg's list.

        Returns:
            The same list, or a shorter one.
        """
        scores = all_scores(found, self.score_key)
        return found.pick([i for i, score in enumerate(scores) if self.passes(score)])
