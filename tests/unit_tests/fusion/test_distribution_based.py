"""Distribution-based score fusion and its degenerate cases."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document

from langchain_safe_retrievers.fusion.distribution_based import DistributionBased
from langchain_safe_retrievers.fusion.fuser import Fuser, Ranking


def contributions(*scores: Any, weight: float = 1.0) -> list[float]:
    """Return what a leg with these scores contributes."""
    hits = [Document(page_content=str(n), metadata={"score": s}) for n, s in enumerate(scores)]
    return DistributionBased().contributions(Ranking(hits, range(1, len(hits) + 1)), weight)


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ((3, 1), [4 / 6, 2 / 6]),  # mean 2, deviation 1: one deviation off is a sixth off the half
        ((-1, -3), [4 / 6, 2 / 6]),
        ((1, 3), [4 / 6, 2 / 6]),  # distances
        ((4, 2, 2, 0), [0.5 + 2 / (6 * 2**0.5), 0.5, 0.5, 0.5 - 2 / (6 * 2**0.5)]),
        ((7,), [0.5]),
        ((0,), [0.5]),
        ((3, 3, 3), [0.5, 0.5, 0.5]),
        ((0.1, 0.1, 0.1), [0.5, 0.5, 0.5]),
        ((), []),
        ((1e308, -1e308), [4 / 6, 2 / 6]),
        ((3e-300, 1e-300), [4 / 6, 2 / 6]),
    ],
    ids=str,
)
def test_scores_count_by_their_distance_from_the_mean_in_deviations(
    scores: tuple[Any, ...], expected: list[float]
) -> None:
    assert contributions(*scores) == pytest.approx(expected)


def test_what_lies_more_than_three_deviations_off_is_clipped() -> None:
    """One 1 among 99 zeros: mean 0.01, deviation just under 0.1, so it is 9.9 of them away."""
    found = contributions(1, *[0] * 99, weight=2.0)
    assert found[0] == 2.0
    assert found[1] == pytest.approx(2 * (0.5 - 0.01 / (6 * 0.0099**0.5)))


def test_the_weight_scales_the_contribution() -> None:
    assert contributions(3, 1, weight=6.0) == [4.0, 2.0]
    assert contributions(3, 1, weight=0.0) == [0.0, 0.0]


@pytest.mark.parametrize("bad", [None, float("nan"), float("inf"), float("-inf"), "0.5", False])
@pytest.mark.parametrize("place", [0, 1])
def test_a_leg_with_a_score_that_is_no_finite_number_counts_by_rank(bad: Any, place: int) -> None:
    scores: list[Any] = [9, 1]
    scores[place] = bad
    assert contributions(*scores) == pytest.approx([4 / 6, 2 / 6])


def test_it_says_that_it_uses_scores() -> None:
    assert DistributionBased.uses_scores
    assert isinstance(DistributionBased(), Fuser)
    assert DistributionBased() == DistributionBased()


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=6))
def test_contributions_lie_between_0_and_the_weight_in_the_order_of_the_scores(
    scores: list[float],
) -> None:
    scores = sorted(scores, reverse=True)
    found = contributions(*scores, weight=0.25)
    assert all(0 <= value <= 0.25 for value in found)
    assert found == sorted(found, reverse=True)
