"""Min–max fusion and its degenerate cases."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document

from langchain_safe_retrievers.fusion.fuser import Fuser, Ranking
from langchain_safe_retrievers.fusion.relative_score import RelativeScore


def contributions(*scores: Any, weight: float = 1.0) -> list[float]:
    """Return what a leg with these scores contributes."""
    hits = [Document(page_content=str(n), metadata={"score": s}) for n, s in enumerate(scores)]
    return RelativeScore().contributions(Ranking(hits, range(1, len(hits) + 1)), weight)


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ((8, 6, 4), [1.0, 0.5, 0.0]),
        ((0.75, 0.5, 0.5, 0.25), [1.0, 0.5, 0.5, 0.0]),
        ((-1, -2, -5), [1.0, 0.75, 0.0]),
        ((1, 0, -1), [1.0, 0.5, 0.0]),
        ((5,), [1.0]),
        ((-5,), [1.0]),
        ((0,), [1.0]),
        ((3, 3, 3), [1.0, 1.0, 1.0]),
        ((), []),
        ((1e308, 0.0, -1e308), [1.0, 0.5, 0.0]),
        ((4e-300, 3e-300, 2e-300), [1.0, 0.5, 0.0]),
        ((Decimal(8), np.float32(6), np.int64(4)), [1.0, 0.5, 0.0]),
        ((1, 2, 3), [1.0, 0.5, 0.0]),
        ((-3, -2, -1), [1.0, 0.5, 0.0]),
    ],
    ids=str,
)
def test_scores_count_by_their_place_between_the_least_and_the_greatest(
    scores: tuple[Any, ...], expected: list[float]
) -> None:
    assert contributions(*scores) == pytest.approx(expected, abs=1e-9)


def test_the_weight_scales_the_contribution() -> None:
    assert contributions(8, 3, -2, weight=0.5) == [0.5, 0.25, 0.0]
    assert contributions(8, 3, weight=0.0) == [0.0, 0.0]


@pytest.mark.parametrize("bad", [None, float("nan"), float("inf"), float("-inf"), "0.5", True])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_leg_with_a_score_that_is_no_finite_number_counts_by_rank(bad: Any, place: int) -> None:
    scores: list[Any] = [9, 8, 1]
    scores[place] = bad
    low, middle, high = 1 / 63, 1 / 62, 1 / 61
    expected = [1.0, (middle - low) / (high - low), 0.0]
    assert contributions(*scores) == pytest.approx(expected)


def test_it_says_that_it_uses_scores() -> None:
    assert RelativeScore.uses_scores
    assert isinstance(RelativeScore(), Fuser)
    assert RelativeScore() == RelativeScore()


finite = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(finite, min_size=1, max_size=6))
def test_contributions_lie_between_0_and_the_weight_in_the_order_of_the_scores(
    scores: list[float],
) -> None:
    scores = sorted(scores, reverse=True)
    found = contributions(*scores, weight=0.25)
    assert all(0 <= value <= 0.25 for value in found)
    assert found == sorted(found, reverse=True)


@given(st.lists(st.integers(-50, 50), min_size=2, max_size=6))
def test_a_shifted_and_stretched_scale_counts_the_same(scores: list[int]) -> None:
    scores = sorted(scores, reverse=True)
    assert contributions(*(8 * s + 3 for s in scores)) == pytest.approx(contributions(*scores))
