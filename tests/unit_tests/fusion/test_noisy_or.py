"""Noisy-or fusion and its degenerate cases."""

from __future__ import annotations

from decimal import Decimal
from math import e, exp, isfinite, log, log1p, prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document

from langchain_safe_retrievers.fusion.fuser import Fuser, RankedList, Ranking
from langchain_safe_retrievers.fusion.noisy_or import NoisyOr, standard_scores
from langchain_safe_retrievers.merging.fold import Engine

FINITE = st.floats(allow_nan=False, allow_infinity=False)
ONE_OFF, ONE_BELOW = log(1 + e), log(1 + 1 / e)  # what z = 1 and z = -1 are worth


def contributions(*scores: Any, weight: float = 1.0) -> list[float]:
    """Return what a leg with these scores contributes."""
    hits = [Document(page_content=str(n), metadata={"score": s}) for n, s in enumerate(scores)]
    return NoisyOr().contributions(Ranking(hits, range(1, len(hits) + 1)), weight)


def leg(texts: str, scores: list[float]) -> RankedList:
    """Return a leg's list of documents with one letter each."""
    return RankedList([Document(page_content=text) for text in texts], scores=scores)


def fused(*legs: RankedList, weights: list[float] | None = None) -> str:
    """Return the letters in fused order."""
    found = Engine(fuser=NoisyOr()).merge(legs, weights).documents
    return "".join(document.page_content for document in found)


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ((3, 1), [ONE_OFF, ONE_BELOW]),  # mean 2, deviation 1
        ((-1, -3), [ONE_OFF, ONE_BELOW]),
        ((1, -1), [ONE_OFF, ONE_BELOW]),
        ((1, 3), [ONE_OFF, ONE_BELOW]),  # distances
        ((6, 3, 3, 3, 0), [log1p(exp(2.5**0.5)), log(2), log(2), log(2), log1p(exp(-(2.5**0.5)))]),
        ((Decimal(3), np.float32(1)), [ONE_OFF, ONE_BELOW]),
        ((1e308, -1e308), [ONE_OFF, ONE_BELOW]),
        ((3e-300, 1e-300), [ONE_OFF, ONE_BELOW]),
        ((10**15 + 2, 10**15), [ONE_OFF, ONE_BELOW]),
    ],
    ids=str,
)
def test_scores_count_by_their_distance_from_the_mean_in_deviations(
    scores: tuple[Any, ...], expected: list[float]
) -> None:
    """Each score nine times: a list that needs not be filled up, of the same mean and deviation."""
    found = contributions(*(score for score in scores for _ in range(9)))
    assert found[::9] == pytest.approx(expected)


@pytest.mark.parametrize("scores", [(7,), (0,), (-5,), (0.1,), (5e-324,)])
def test_seventeen_equal_scores_are_worth_the_mean(scores: tuple[float, ...]) -> None:
    assert contributions(*scores[:1] * 17) == pytest.approx([log(2)] * 17)


@pytest.mark.parametrize("score", [7, 0.3, 1e-300, 1e308])
def test_a_single_hit_is_four_deviations_above_what_was_not_found(score: float) -> None:
    """Of 1 and 16 zeros the mean is 1/17 and the deviation 4/17."""
    assert contributions(score) == pytest.approx([log1p(exp(4))])


def test_a_short_list_is_filled_up_to_seventeen_with_zeros_or_its_lowest_score() -> None:
    assert contributions(9, 5, 2) == contributions(9, 5, 2, *[0] * 14)[:3]
    assert contributions(9, 5, -2) == contributions(9, 5, *[-2] * 15)[:3]
    assert contributions(-5) == pytest.approx([log(2)])  # nothing lower is known


def test_the_only_document_that_has_a_word_comes_before_what_merely_resembles_the_query() -> None:
    resembling = leg("abcdefghijklmnopqrst", [0.42, *(0.3 - 0.01 * n for n in range(19))])
    assert fused(resembling, leg("t", [7.5]))[0] == "t"


def test_no_hits_contribute_nothing() -> None:
    assert contributions() == []


def test_what_stands_out_is_worth_its_distance_and_the_rest_next_to_nothing() -> None:
    """One 1 among 9,999 zeros: 99.995 deviations off, and the others a hundredth below the mean."""
    found = contributions(1, *[0] * 9999)
    assert found[0] == pytest.approx(0.9999 / (0.0001 * 0.9999) ** 0.5)
    assert found[1] == pytest.approx(log(2), abs=0.01)


def test_a_long_list_with_one_outlier_does_not_overflow() -> None:
    assert standard_scores([1.0, *[0.0] * 999_999])[0] == pytest.approx(1000, abs=0.01)
    assert all(map(isfinite, contributions(1.0, *[0.0] * 999_999)))


@pytest.mark.parametrize("bad", [None, float("nan"), float("inf"), float("-inf"), "0.5", False])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_leg_with_a_score_that_is_no_finite_number_counts_by_the_logarithm_of_its_ranks(
    bad: Any, place: int
) -> None:
    scores: list[Any] = [9, 8, 1]
    scores[place] = bad
    assert contributions(*scores) == contributions(-log(1), -log(2), -log(3))


def test_ranks_that_a_repeated_document_left_out_keep_their_places() -> None:
    hits = [Document(page_content=str(n)) for n in range(4)]
    found = NoisyOr().contributions(Ranking(hits, ranks=[1, 2, 4]), 1.0)
    assert found == contributions(0, -log(2), -log(4))


def test_it_says_that_it_uses_scores() -> None:
    assert NoisyOr.uses_scores
    assert isinstance(NoisyOr(), Fuser)
    assert NoisyOr() == NoisyOr()


def test_the_fused_order_is_that_of_the_probability_that_a_leg_is_right() -> None:
    """b is a deviation above the mean of both legs, a and c are in one leg, at its mean."""
    vouched = {"a": [0.0], "b": [1.0, 1.0], "c": [0.0], "d": [-1.0], "e": [-1.0]}
    wanted = {each: 1 - prod(1 / (1 + exp(z)) for z in zs) for each, zs in vouched.items()}
    three = 1.5**0.5  # z of the ends of three evenly spaced scores
    assert fused(leg("bad", [2, 1, 0]), leg("bce", [2, 1, 0])) == "bacde"
    assert standard_scores([2, 1, 0]) == pytest.approx([three, 0, -three])
    assert sorted(wanted, key=wanted.__getitem__, reverse=True) == list("bacde")


def test_a_sure_leg_is_heard_before_one_that_knows_nothing() -> None:
    """Uniform scores never get further than 1.7 deviations; one far ahead of 99 gets to 9.9."""
    sure = leg("".join(map(chr, range(200, 300))), [100.0, *[1.0] * 99])
    clueless = leg("".join(map(chr, range(300, 400))), [100.0 - n for n in range(100)])
    first, second = contributions(*sure.scores or ()), contributions(*clueless.scores or ())
    assert first[0] == pytest.approx(99**0.5, abs=0.01)
    assert second[0] == pytest.approx(log1p(exp(49.5 / (9999 / 12) ** 0.5)))
    assert fused(clueless, sure)[0] == chr(200)


def test_a_document_of_both_legs_comes_before_one_of_either() -> None:
    assert fused(leg("ab", [3, 1]), leg("cb", [3, 1]))[-1] == "b"  # last in both: 0.63 to 1.31
    assert fused(leg("abx", [2, 1, 0]), leg("cby", [2, 1, 0])) == "acbxy"
    assert fused(leg("abx", [9, 8, 0]), leg("cby", [9, 8, 0]))[0] == "b"


def test_a_weight_can_turn_the_order() -> None:
    legs = leg("ab", [3, 1]), leg("ba", [3, 1])
    assert fused(*legs, weights=[2.0, 1.0]) == "ab"
    assert fused(*legs, weights=[1.0, 2.0]) == "ba"


@given(st.lists(FINITE, min_size=1, max_size=8), st.floats(0, 100))
def test_contributions_are_not_negative_and_in_the_order_of_the_scores(
    scores: list[float], weight: float
) -> None:
    found = contributions(*sorted(scores, reverse=True), weight=weight)
    assert all(isfinite(value) and value >= 0 for value in found)
    assert found == sorted(found, reverse=True)


@given(st.lists(FINITE, min_size=1, max_size=8), st.floats(0, 100))
def test_the_weight_scales_the_contribution(scores: list[float], weight: float) -> None:
    once = contributions(*scores)
    assert contributions(*scores, weight=weight) == pytest.approx([weight * each for each in once])


@given(
    st.lists(st.integers(-1000, 1000), min_size=17, max_size=24),
    st.integers(-1000, 1000),
    st.integers(1, 1000),
)
def test_shift_and_scale_of_the_scores_do_not_matter(
    scores: list[int], shift: int, scale: int
) -> None:
    other = [score * scale + shift for score in scores]
    assert contributions(*other) == pytest.approx(contributions(*scores))
