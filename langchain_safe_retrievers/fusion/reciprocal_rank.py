"""Weighted reciprocal rank fusion."""

from __future__ import annotations

import math
from dataclasses import dataclass

from langchain_safe_retrievers.errors import ConfigurationError
from langchain_safe_retrievers.fusion.fuser import Ranking


@dataclass(frozen=True)
class ReciprocalRank:
    """Reciprocal rank fusion (RRF): score(d) = Σ_legs w_leg / (c + rank_leg(d)).

    Ranks count from 1; a document that a leg repeats counts at its best rank; a leg that
    does not have it adds nothing; weights are not normalised. It needs no scores, and gives
    every leg the same voice however sure it is. Source: Cormack, Clarke and Büttcher,
    "Reciprocal Rank Fusion outperforms Condorcet and individual Rank Learning Methods",
    SIGIR 2009, where c = 60.

    Args:
        c: Greater than 0; the higher, the less the first ranks stand out.

    Raises:
        ConfigurationError: `c` is no finite number greater than 0.

    Example:
        >>> ReciprocalRank(c=1).contributions(Ranking([], ranks=[1, 3]), weight=2.0)
        [1.0, 0.5]
    """

    c: float = 60

    def __post_init__(self) -> None:
        """Check `c`."""
        if type(self.c) not in (int, float) or not 0 < self.c < math.inf:
            msg = f"c is {self.c!r}; expected a finite number greater than 0 (60 is usual)"
            raise ConfigurationError(msg)

    def contributions(self, leg: Ranking, weight: float) -> list[float]:
        """Return weight / (c + rank) for each rank.

        Args:
            leg: The leg's list.
            weight: The leg's weight, at least 0.

        Returns:
            One number for each of `leg.ranks`.
        """
        c = self.c
        return [weight / (rank + c) for rank in leg.ranks]
