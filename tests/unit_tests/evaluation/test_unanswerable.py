"""Who returns nothing to a question without an answer is right; who fails is not."""

from __future__ import annotations

import numpy as np
import pytest

from langchain_safe_retrievers.errors import ConfigurationError
from langchain_safe_retrievers.evaluation.evaluation import QueryResult
from langchain_safe_retrievers.evaluation.unanswerable import Refusals, best_score
from langchain_safe_retrievers.fusion.fuser import RankedList

from .legs import doc

NOTHING, FAILED = QueryResult("1", "q"), QueryResult("2", "q", error="OSError: down")
LOW, HIGH = (QueryResult("3", "q", ("a",), best_score=score) for score in (0.5, 0.6))


def test_nothing_is_a_refusal_and_a_failure_is_not():
    found = Refusals.of([NOTHING, FAILED, LOW, HIGH], [NOTHING, LOW], floor=None)

    assert (found.refused, found.questions, found.share) == (1, 4, 0.25)
    assert (found.wrongly_refused, found.answerable, found.wrong_share) == (1, 2, 0.5)


def test_a_score_at_the_floor_is_nothing_and_one_above_it_is_something():
    found = Refusals.of([NOTHING, FAILED, LOW, HIGH], [LOW, HIGH], floor=0.5)

    assert found.refused == 2
    assert found.wrongly_refused == 1
    assert str(found).startswith("nothing above 0.5 returned for 2 of 4 unanswerable")


def test_without_such_questions_there_is_no_share():
    assert Refusals.of([], [], None).to_dict() == {
        "questions": 0,
        "refused": 0,
        "answerable": 0,
        "wrongly_refused": 0,
        "floor": None,
        "share": None,
        "wrong_share": None,
    }


def test_the_best_score_is_the_lists_own_or_under_the_first_key_that_has_one():
    assert best_score(RankedList([doc("a"), doc("b")], scores=[0.2, 0.9]), ()) == 0.9
    assert best_score([doc("a", score=3), doc("b", fused=np.float32(4))], ("fused", "score")) == 4.0
    assert best_score([], ("score",)) is None


def test_a_document_without_a_score_is_an_error_that_says_what_to_write():
    with pytest.raises(ConfigurationError, match=r"'a' has no score.*fused_score_key="):
        best_score([doc("a", score="high")], (None, "score"))
