"""Noisy-or fusion of standard scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log, log1p, sqrt
from typing import ClassVar

from langchain_safe_retrievers.fusion.fuser import Ranking

_AT_LEAST = 17  # of so many scores, one can be 4 deviations above the mean


@dataclass(frozen=True)
class NoisyOr:
    """Noisy-or fusion: score(d) = Σ_legs w_leg · ln(1 + e^z), with z = (s − μ) / σ.

    `s` is the leg's own score, μ and σ are the mean and the population standard deviation of
    its list. A leg vouches for a document with the probability P = 1 / (1 + e^−z), and a
    document is wanted if at least one leg is right about it: 1 − Π_legs (1 − P)^w, the noisy
    or, whose order −Σ_legs w · ln(1 − P) keeps; and −ln(1 − P) = ln(1 + e^z).

    - Standard scores have no unit, and they tell how far the best stand out: of 100 random
      scores the first is at 1.7 if they are uniform and at about 4 if their tail is
      exponential; where a leg is sure, it is at 5 to 8. A leg that knows little says little.
    - Far above the mean the value grows as z itself does; below it dies away like e^z. The end
      of a list is worth little more than not being in it (which adds 0).
    - A list of fewer than 17 hits is filled up to 17 with what was not found: zeros, or its lowest
      score if that is negative. So the only document that has a word stands at z = 4, where an
      exponential tail has the first of 100; no list of n scores can say more than √(n − 1).
    - There is nothing to tune. What it cannot see: a clueless leg whose scores happen to have a
      long tail looks sure, as to any rule that reads one list at a time.

    Seventeen or more hits of one and the same score are worth ln 2 each: the mean. Distances are
    negated first. A leg where any score is missing, NaN or infinite is scored by
    −ln(rank), the mean shape of an exponential tail, and the report says so. Sources: Pearl,
    "Probabilistic Reasoning in Intelligent Systems", 1988, for the noisy or; Montague and
    Aslam, "Relevance Score Normalization for Metasearch", CIKM 2001, for standard scores.

    Example:
        >>> from langchain_core.documents import Document
        >>> from langchain_safe_retrievers.fusion.fuser import RankedList
        >>> hits = RankedList([Document(page_content=text) for text in "ab"], scores=[3, 1])
        >>> found = NoisyOr().contributions(Ranking(hits, ranks=[1, 2]), weight=1.0)
        >>> [round(value, 4) for value in found]  # of 3, 1 and 15 zeros: z is 3.79 and 1.05
        [3.8098, 1.3483]
    """

    uses_scores: ClassVar[bool] = True

    def contributions(self, leg: Ranking, weight: float) -> list[float]:
        """Return weight · ln(1 + e^z) for each hit.

        Args:
            leg: The leg's list.
            weight: The leg's weight, at least 0.

        Returns:
            One number, at least 0, for each of `leg.ranks`.
        """
        scores = leg.scores or [-log(rank) for rank in leg.ranks]
        not_found = [min(0.0, *scores)] * (_AT_LEAST - len(scores)) if scores else []
        return [
            weight * (z + log1p(exp(-z)) if z > 0 else log1p(exp(z)))  # never e to a great power
            for z in standard_scores([*scores, *not_found])[: len(scores)]
        ]


def standard_scores(scores: Sequence[float]) -> list[float]:
    """Return (s − μ) / σ of each score, or 0 if all are equal.

    Args:
        scores: Finite numbers.

    Returns:
        One number for each.

    Example:
        >>> standard_scores([3, 1])
        [1.0, -1.0]
    """
    low, high = min(scores, default=0.0) / 2, max(scores, default=0.0) / 2
    span = high - low  # of halves: the whole may be more than a float holds
    if not span:
        return [0.0] * len(scores)
    places = [(score / 2 - low) / span for score in scores]
    mean = sum(places) / len(places)
    offsets = [place - mean for place in places]
    deviation = sqrt(sum([offset * offset for offset in offsets]) / len(offsets))
    return [offset / deviation for offset in offsets]
