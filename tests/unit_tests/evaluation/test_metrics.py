"""Metrics are those of ir-measures, whatever the scores were."""

from __future__ import annotations

import sys

import pytest

from langchain_safe_retrievers.errors import ConfigurationError, MissingExtraError
from langchain_safe_retrievers.evaluation.metrics import Metrics, scored

QRELS = {"1": {"a": 1, "b": 1}, "2": {"c": 1}}


def test_each_question_has_each_metric():
    found = Metrics(["R@2", "RR@10", "P@2"], QRELS).of({"1": ["x", "a"], "2": ["c"]})

    assert found == {
        "1": {"R@2": 0.5, "RR@10": 0.5, "P@2": 0.5},
        "2": {"R@2": 1.0, "RR@10": 1.0, "P@2": 0.5},
    }


def test_a_question_that_found_nothing_or_is_missing_has_zeros():
    metrics = Metrics(["RR"], QRELS)

    assert metrics.of({"1": []}) == {"1": {"RR": 0.0}, "2": {"RR": 0.0}}
    assert metrics.mean(metrics.of({"1": ["a"]})) == {"RR": 0.5}


def test_no_judgements_give_no_figures():
    metrics = Metrics(["nDCG@10", "RR@10"], {})

    assert metrics.mean(metrics.of({"9": ["a"]})) == {}


def test_scores_fall_by_one_and_never_tie():
    assert scored(["b", "a", "c"]) == {"b": 3.0, "a": 2.0, "c": 1.0}


@pytest.mark.parametrize("name", ["nDGC@10", "R@", "R@x", "P", "alpha_nDCG@10"])
def test_what_is_no_metric_is_named(name):
    with pytest.raises(ConfigurationError, match=name.partition("@")[0]):
        Metrics([name], QRELS)


@pytest.mark.parametrize("names", ["RR", []])
def test_metrics_are_a_list_of_names(names):
    with pytest.raises(ConfigurationError, match="expected a list of names"):
        Metrics(names, QRELS)


def test_without_ir_measures_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    with pytest.raises(MissingExtraError, match=r"langchain-safe-retrievers\[evaluate\]"):
        Metrics(["RR"], QRELS)
