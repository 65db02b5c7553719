"""How alike two rankings are."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from langchain_safe_retrievers.evaluation.metrics import EXTRA
from langchain_safe_retrievers.extras import load


def overlap_at(a: Sequence[Hashable], b: Sequence[Hashable], k: int) -> float:
    """Return overlap@k: how many of the first k the rankings share, |A ∩ B| / max(|A|, |B|).

    A and B are the first k of each; where both are shorter than k, the longer one is what could
    have been shared.

    Args:
        a: A ranking, each item once.
        b: Another.
        k: At least 1.

    Returns:
        In [0, 1]; 1 for two empty rankings.

    Example:
        >>> overlap_at("abc", "bcd", 2)
        0.5
    """
    first, second = set(a[:k]), set(b[:k])
    longer = max(len(first), len(second))
    return len(first & second) / longer if longer else 1.0


def rank_biased_overlap(a: Sequence[Hashable], b: Sequence[Hashable], p: float = 0.9) -> float:
    """Return the extrapolated rank-biased overlap of two rankings.

    A reader goes on from each rank to the next with probability p, so the top weighs most: with
    p = 0.9 the first ten ranks make up 86 % of it. With s ≤ l the rankings' lengths and X_d the
    number of items they share in the first d:

    RBO = (1−p)/p · (Σ_{d=1..l} X_d/d · p^d + Σ_{d=s+1..l} X_s·(d−s)/(s·d) · p^d)
    + ((X_l−X_s)/l + X_s/s) · p^l.

    Source: Webber, Moffat and Zobel, "A Similarity Measure for Indefinite Rankings", ACM
    TOIS 28(4), 2010, equation 32.

    Args:
        a: A ranking, each item once.
        b: Another.
        p: Greater than 0, less than 1.

    Returns:
        In [0, 1]: 1 for equal rankings, 0 for rankings that share nothing.

    Example:
        >>> round(rank_biased_overlap("ab", "ba", p=0.5), 3)  # 0 at depth 1, all from depth 2 on
        0.5
    """
    short, long = sorted((a, b), key=len)
    s, longest = len(short), len(long)
    if not s:
        return float(not longest)
    shared = _shared(short, long)
    total = sum(shared[d - 1] / d * p**d for d in range(1, longest + 1))
    total += sum(shared[s - 1] * (d - s) / (s * d) * p**d for d in range(s + 1, longest + 1))
    rest = (shared[-1] - shared[s - 1]) / longest + shared[s - 1] / s
    return (1 - p) / p * total + rest * p**longest


def _shared(short: Sequence[Hashable], long: Sequence[Hashable]) -> list[int]:
    """Return how many items the first d of both share, for each d up to the longer's length."""
    seen_short: set[Hashable] = set()
    seen_long: set[Hashable] = set()
    found = []
    for depth, item in enumerate(long):
        seen_long.add(item)
        seen_short.update(short[depth : depth + 1])
        found.append(len(seen_short & seen_long))
    return found


def kendall_tau(a: Sequence[Hashable], b: Sequence[Hashable]) -> float | None:
    """Return Kendall's τ of the items that both rankings have, as scipy computes it.

    τ = (pairs in the same order − pairs in the other order) / pairs.

    Args:
        a: A ranking, each item once.
        b: Another.

    Returns:
        In [−1, 1]; None where fewer than two items are shared: there is no order to compare.

    Example:
        >>> kendall_tau("abc", "acb")  # 2 of 3 pairs agree
        0.33333333333333337
    """
    places = {item: place for place, item in enumerate(b)}
    ranks = [places[item] for item in a if item in places]
    if len(ranks) < 2:  # noqa: PLR2004 - a pair
        return None
    return float(load("scipy.stats", EXTRA).kendalltau(range(len(ranks)), ranks).statistic)
