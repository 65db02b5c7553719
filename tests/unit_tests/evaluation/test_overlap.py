"""How alike two rankings are, in three measures with known values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_safe_retrievers.evaluation.overlap import (
    kendall_tau,
    overlap_at,
    rank_biased_overlap,
)

RANKINGS = st.lists(st.integers(0, 12), unique=True, max_size=8)


@pytest.mark.parametrize(
    ("a", "b", "k", "overlap"),
    [
        ("abcd", "abcd", 4, 1.0),
        ("abcd", "dcba", 4, 1.0),
        ("abcd", "dcba", 2, 0.0),
        ("ab", "a", 10, 0.5),
        ("", "", 5, 1.0),
        ("a", "", 5, 0.0),
    ],
)
def test_overlap_is_the_part_that_is_shared(a, b, k, overlap):
    assert overlap_at(a, b, k) == overlap


def test_rank_biased_overlap_of_lists_of_one_length_by_hand():
    # X is 0, 1, 2 over depths 1, 2, 3; p = 0.5: (0 + 1/2·1/4 + 2/3·1/8) + 2/3·1/8
    assert rank_biased_overlap("abc", "dab", 0.5) == pytest.approx(
        0.5 / 0.5 * (0 + 1 / 2 * 0.25 + 2 / 3 * 0.125) + 2 / 3 * 0.125
    )


def test_rank_biased_overlap_of_lists_of_two_lengths_by_hand():
    # short "a", long "ab": X is 1, 1; s = 1, l = 2; p = 0.5
    # (1/1·1/2 + 1/2·1/4) + (1·(2−1)/(1·2)·1/4) + (0/2 + 1/1)·1/4 = 0.625 + 0.125 + 0.25
    assert rank_biased_overlap("a", "ab", 0.5) == pytest.approx(1.0)


def test_the_first_ten_ranks_have_86_percent_of_the_weight_at_p_0_9():
    same_ten = list(range(10))
    a, b = same_ten + list(range(100, 400)), same_ten + list(range(500, 800))

    assert rank_biased_overlap(a, b, 0.9) == pytest.approx(0.8556, abs=1e-4)


@given(a=RANKINGS, b=RANKINGS, p=st.sampled_from([0.5, 0.9, 0.98]))
def test_rank_biased_overlap_is_symmetric_within_0_and_1_and_1_for_itself(a, b, p):
    assert rank_biased_overlap(a, b, p) == pytest.approx(rank_biased_overlap(b, a, p))
    assert -1e-9 <= rank_biased_overlap(a, b, p) <= 1 + 1e-9
    assert rank_biased_overlap(a, a, p) == pytest.approx(1.0)


def test_kendalls_tau_looks_at_what_both_have():
    assert kendall_tau("abcd", "dcba") == pytest.approx(-1.0)
    assert kendall_tau("axb", "yab") == pytest.approx(1.0)
    assert kendall_tau("ab", "bc") is None
