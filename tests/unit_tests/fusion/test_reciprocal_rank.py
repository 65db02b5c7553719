"""Reciprocal rank fusion, and what every fuser is given."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.documents import Document

from langchain_safe_retrievers.errors import ConfigurationError
from langchain_safe_retrievers.fusion.fuser import Fuser, RankedList, Ranking
from langchain_safe_retrievers.fusion.reciprocal_rank import ReciprocalRank


def hits(*scores: Any, key: str = "score") -> list[Document]:
    """Make a hit for each score."""
    return [Document(page_content=str(n), metadata={key: s}) for n, s in enumerate(scores)]


def test_a_hit_counts_weight_over_c_plus_rank() -> None:
    assert ReciprocalRank(c=1).contributions(Ranking([], ranks=[1, 2, 4]), 3.0) == [1.5, 1.0, 0.6]


def test_c_is_60_by_default() -> None:
    assert ReciprocalRank().contributions(Ranking([], ranks=[1, 40]), 1.0) == [1 / 61, 1 / 100]


def test_no_hits_and_no_weight_count_nothing() -> None:
    assert ReciprocalRank().contributions(Ranking([], ranks=[]), 1.0) == []
    assert ReciprocalRank().contributions(Ranking([], ranks=[1]), 0.0) == [0.0]


def test_scores_are_not_looked_at() -> None:
    assert ReciprocalRank(c=1).contributions(Ranking(hits("x", None), ranks=[1, 2]), 6.0) == [
        3.0,
        2.0,
    ]
    assert not getattr(ReciprocalRank(), "uses_scores", False)


@pytest.mark.parametrize("c", [0, -1, -0.5, float("nan"), float("inf"), "60", None, True])
def test_a_c_that_is_no_finite_number_above_0_is_refused(c: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"expected a.* number greater than 0"):
        ReciprocalRank(c=c)


def test_fusers_compare_by_value() -> None:
    assert ReciprocalRank() == ReciprocalRank(60) != ReciprocalRank(1)
    assert isinstance(ReciprocalRank(), Fuser)


def test_a_ranked_list_is_a_list_that_knows_its_leg_query_and_scores() -> None:
    ranked = RankedList(hits(1), leg="vec", query="q", scores=[0.5])
    assert ranked == hits(1)
    assert (ranked.leg, ranked.query, ranked.scores) == ("vec", "q", [0.5])
    assert (RankedList().leg, RankedList().query, RankedList().scores) == ("", "", None)


def test_scores_are_the_lists_own_and_else_the_metadatas() -> None:
    assert Ranking(hits(3, 1), ranks=[1, 2]).scores == [3.0, 1.0]
    assert Ranking(RankedList(hits(3, 1), scores=[0.9, 0.8]), ranks=[1, 2]).scores == [0.9, 0.8]
    assert Ranking(hits(3, 1, key="sim"), ranks=[1, 2], score_key="sim").scores == [3.0, 1.0]


def test_scores_of_another_number_than_the_hits_are_not_taken() -> None:
    assert Ranking(RankedList(hits(3, 1), scores=[0.9]), ranks=[1, 2]).scores == [3.0, 1.0]


def test_only_the_distinct_hits_scores_are_taken() -> None:
    assert Ranking(hits(3, None, 1), ranks=[1, 3]).scores == [3.0, 1.0]


def test_distances_are_negated_so_that_higher_is_better() -> None:
    assert Ranking(hits(0.25, 0.5, 2), ranks=[1, 2, 3]).scores == [-0.25, -0.5, -2.0]


@pytest.mark.parametrize(
    "score", [None, "0.5", True, float("nan"), float("inf"), float("-inf"), 1j, [1], 10**400]
)
def test_one_score_that_is_no_finite_number_leaves_the_leg_without_scores(score: Any) -> None:
    assert Ranking(hits(3, score, 1), ranks=[1, 2, 3]).scores is None


def test_an_empty_leg_has_no_scores() -> None:
    assert Ranking([], ranks=[]).scores is None
