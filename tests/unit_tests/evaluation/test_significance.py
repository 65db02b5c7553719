"""A difference is held against what chance alone would make."""

from __future__ import annotations

import pytest

from langchain_safe_retrievers.errors import ConfigurationError
from langchain_safe_retrievers.evaluation.evaluation import Evaluation, QueryResult
from langchain_safe_retrievers.evaluation.significance import p_value, significance
from langchain_safe_retrievers.evaluation.unanswerable import Refusals


def run(*values: float, metric: str = "RR") -> Evaluation:
    found = [QueryResult(str(place), "q", values={metric: v}) for place, v in enumerate(values)]
    found.append(QueryResult("no answer", "q"))
    return Evaluation("r", "d", {metric: 0.0}, found, Refusals(1, 0, len(values), 0))


def test_the_p_value_is_the_share_of_signs_that_go_as_far():
    # of the 2^3 choices of signs for (1, 1, 1) only +++ and --- have a mean of at least 1
    assert p_value([1.0, 1.0, 1.0]) == pytest.approx(2 / 8)
    # (2, 1): +3, +1, -1, -3 over 2; two of four are at least 3/2
    assert p_value([2.0, 1.0]) == pytest.approx(2 / 4)


def test_no_difference_and_a_single_one_are_chance():
    assert p_value([0.0, 0.0]) == 1.0
    assert p_value([0.0, 0.7, 0.0]) == 1.0


def test_questions_without_a_difference_change_nothing():
    assert p_value([1.0, 1.0, 1.0, 0.0, 0.0]) == p_value([1.0, 1.0, 1.0])


def test_many_questions_all_better_are_no_chance_and_it_is_the_same_each_time():
    differences = [0.1 + place / 1000 for place in range(60)]

    assert p_value(differences) == p_value(differences) == pytest.approx(2 / 10_000)


def test_half_better_and_half_worse_is_chance():
    assert p_value([0.5, -0.5] * 30) > 0.9


def test_two_evaluations_are_compared_question_by_question():
    found = significance(run(0.0, 0.5, 1.0, 0.2), run(1.0, 0.5, 0.5, 0.7), "RR")

    assert (found.better, found.worse, found.equal) == (2, 1, 1)
    assert found.difference == pytest.approx(0.25)
    assert found.to_dict()["p_value"] == found.p_value
    assert str(found).startswith("RR: 0.4250 -> 0.6750 (+0.2500), p = ")


def test_other_questions_and_other_metrics_cannot_be_compared():
    with pytest.raises(ConfigurationError, match="'RR' is not among the metrics of r"):
        significance(run(1.0), run(1.0, metric="AP"), "RR")
    with pytest.raises(ConfigurationError, match=r"2 and 1 answerable.*'1'"):
        significance(run(1.0, 1.0), run(1.0), "RR")
