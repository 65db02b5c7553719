"""The score floor cuts what scores too low, and nothing that cannot be judged."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.documents import Document

from langchain_safe_retrievers import RankedList
from langchain_safe_retrievers.resilience.floor import ScoreFloor
from langchain_safe_retrievers.testing import texts

_A, _B, _C = (Document(page_content=text) for text in "abc")


@pytest.mark.parametrize(
    ("score", "passes"),
    [
        (0.5, True),
        (0.49999999999999994, True),
        (0.1 + 0.2 + 0.2, True),
        (0.4999, False),
        (0, False),
        (1, True),
        (float("inf"), True),
        (float("-inf"), False),
        (float("nan"), True),
        (None, True),
        ("0.1", True),
        (True, True),
    ],
)
def test_a_score_passes_from_the_floor_on_whatever_its_last_bits(score: Any, passes: bool):
    assert ScoreFloor(0.5).passes(score) is passes


def test_the_lists_own_scores_decide():
    found = RankedList([_A, _B, _C], leg="vector", scores=[0.9, 0.1, None])
    kept = ScoreFloor(0.5).kept(found)

    assert texts(kept) == ["a", "c"]
    assert kept.valid_scores == [0.9, None]


def test_else_the_metadata_decides():
    documents = [Document(page_content=str(s), metadata={"rank": s}) for s in (3, 1)]

    assert texts(ScoreFloor(2, "rank").kept(RankedList(documents))) == ["3"]


def test_a_list_that_is_not_cut_is_the_same_list():
    found = RankedList([_A], scores=[0.9])

    assert ScoreFloor(0.5).kept(found) is found


def test_a_floor_below_zero_and_of_zero_works():
    assert ScoreFloor(-1.0).passes(-0.9999999999999999)
    assert ScoreFloor(0.0).passes(-1e-17)
    assert not ScoreFloor(0.0).passes(-0.001)
