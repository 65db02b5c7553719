"""How long retrievals took: the percentiles that people promise each other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Latency:
    """Percentiles of some times, in seconds.

    Args:
        count: How many times were measured.
        p50: Half of them were no longer than this.
        p95: 95 in 100 of them were no longer than this.
        p99: 99 in 100 of them were no longer than this.
    """

    count: int
    p50: float
    p95: float
    p99: float

    @classmethod
    def of(cls, seconds: Sequence[float]) -> Latency:
        """Return the percentiles of some times.

        Args:
            seconds: The times, at least one.

        Returns:
            The percentiles.

        Example:
            >>> Latency.of([0.1, 0.2, 0.3, 0.4])
            Latency(count=4, p50=0.2, p95=0.4, p99=0.4)
        """
        return cls(len(seconds), *(percentile(seconds, share) for share in (50, 95, 99)))

    def to_dict(self) -> dict[str, Any]:
        """Return the percentiles as JSON-native values."""
        return asdict(self)


def percentile(values: Sequence[float], share: float) -> float:
    """Return the nearest-rank percentile: the ⌈share / 100 · n⌉-th smallest of n values.

    It is one of the values, never one in between.

    Args:
        values: The values, at least one.
        share: Greater than 0, at most 100.

    Returns:
        The percentile.

    Example:
        >>> percentile([30.0, 10.0, 20.0], 50)
        20.0
    """
    return sorted(values)[math.ceil(share / 100 * len(values)) - 1]
