"""The two named policies and every setting they have."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any

import pytest

from langchain_safe_retrievers.errors import ConfigurationError, PolicyError, SafeRetrieverError
from langchain_safe_retrievers.merging.langchain_policies import (
    LangChainEnsembleMetaPolicy,
    LangChainMultiQueryUnionPolicy,
)
from langchain_safe_retrievers.merging.policy import MetadataPolicy, as_resolver

A = {"l": [1, 2], "t": (1,), "s": {1}, "d": {"x": 1, "y": [1]}, "n": 1, "only_a": 0}
B = {"l": [2, 3], "t": (2,), "s": {2}, "d": {"x": 2, "y": [2]}, "n": 2, "only_b": 0}


def test_the_unions_defaults_add_lists_merge_dicts_and_let_the_last_scalar_win() -> None:
    assert LangChainMultiQueryUnionPolicy().merge(A, B) == {
        "l": [1, 2, 3],
        "t": (1, 2),
        "s": {1, 2},
        "d": {"x": 2, "y": [1, 2]},
        "n": 2,
        "only_a": 0,
        "only_b": 0,
    }


@pytest.mark.parametrize(
    ("settings", "changed"),
    [
        ({"list_merge": "overwrite"}, {"l": [2, 3], "t": (2,), "s": {2}, "d": {"x": 2, "y": [2]}}),
        ({"dict_merge": "overwrite"}, {"d": {"x": 2, "y": [2]}}),
        ({"scalar_merge": "keep_first"}, {"n": 1, "d": {"x": 1, "y": [1, 2]}}),
        (
            {"dict_merge": "overwrite", "scalar_merge": "keep_first"},
            {"n": 1, "d": {"x": 2, "y": [2]}},
        ),
    ],
)
def test_each_setting_of_the_union_changes_its_kind_of_value(
    settings: dict[str, Any], changed: dict[str, Any]
) -> None:
    usual = LangChainMultiQueryUnionPolicy().merge(A, B)
    assert LangChainMultiQueryUnionPolicy(**settings).merge(A, B) == {**usual, **changed}


def test_the_unions_settings_come_in_a_fixed_order() -> None:
    policy = LangChainMultiQueryUnionPolicy("overwrite", "overwrite", "keep_first")
    assert (policy.list_merge, policy.dict_merge, policy.scalar_merge) == (
        "overwrite",
        "overwrite",
        "keep_first",
    )


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (1, 2, 2),
        (1, None, 1),
        (None, 2, 2),
        ([1], [1, 2], [1, 2]),
        ({"a": 1}, {"b": 2}, {"a": 1, "b": 2}),
        ("text", ["text", "x"], ["text", "x"]),
        ({"a": 1}, "text", "text"),
    ],
)
def test_the_union_merges_two_values(a: Any, b: Any, expected: Any) -> None:
    assert LangChainMultiQueryUnionPolicy().merge_value(a, b) == expected


@pytest.mark.parametrize("setting", ["list_merge", "dict_merge", "scalar_merge"])
def test_an_unknown_setting_of_the_union_is_refused(setting: str) -> None:
    with pytest.raises(PolicyError, match=f"{setting} is 'merge'; expected one of '"):
        LangChainMultiQueryUnionPolicy(**{setting: "merge"})  # type: ignore[arg-type]


def test_the_ensembles_defaults_take_the_best_score_and_the_first_of_all_else() -> None:
    one = {"score": 0.25, "source": "vec", "retriever": "v", "lang": "en", "tags": ["a"]}
    two = {
        "score": 0.75,
        "source": "bm25",
        "retriever": "b",
        "lang": "de",
        "tags": ["b"],
        "page": 1,
    }
    assert LangChainEnsembleMetaPolicy().merge(one, two) == {
        "score": 0.75,
        "source": "vec",
        "retriever": "v",
        "lang": "en",
        "tags": ["a", "b"],
        "page": 1,
    }


@pytest.mark.parametrize(
    ("score_agg", "expected"),
    [("max", 0.75), ("min", 0.25), ("sum", 1.0), ("weighted", 0.5 * 0.25 + 0.25 * 0.75)],
)
def test_scores_are_aggregated(score_agg: Any, expected: float) -> None:
    policy = LangChainEnsembleMetaPolicy(score_agg=score_agg)
    assert policy.resolve("score", [0.25, 0.75], [0.5, 0.25]) == expected


def test_merged_alone_both_legs_weigh_one() -> None:
    policy = LangChainEnsembleMetaPolicy(score_agg="weighted")
    assert policy.merge({"score": 0.25}, {"score": 0.5}) == {"score": 0.75}


@pytest.mark.parametrize("score_agg", ["max", "min", "sum", "weighted"])
@pytest.mark.parametrize("other", [None, "n/a", True, [], {}, float("nan"), 1j])
def test_a_score_that_is_no_number_is_left_out(score_agg: Any, other: Any) -> None:
    policy = LangChainEnsembleMetaPolicy(score_agg=score_agg)
    assert policy.merge({"score": other}, {"score": 0.5})["score"] == 0.5
    assert policy.merge({"score": 0.5}, {"score": other})["score"] == 0.5


@pytest.mark.parametrize("score_agg", ["max", "min", "sum", "weighted"])
def test_a_missing_score_is_no_score(score_agg: Any) -> None:
    policy = LangChainEnsembleMetaPolicy(score_agg=score_agg)
    assert policy.merge({"score": 0.5}, {"x": 1}) == {"score": 0.5, "x": 1}
    assert policy.merge({"x": 1}, {"x": 1}) == {"x": 1}
    assert policy.merge({"score": "n/a"}, {"score": "?"})["score"] in ("n/a", "?")


def test_the_score_may_be_inside_a_dict() -> None:
    policy = LangChainEnsembleMetaPolicy(score_key="stats.score")
    assert policy.merge({"stats": {"score": 1}}, {"stats": {"score": 2}}) == {"stats": {"score": 2}}


def test_union_keys_keep_the_first_value_of_any_type() -> None:
    policy = LangChainEnsembleMetaPolicy(union_keys=("tags", "d"))
    merged = policy.merge({"tags": ["a"], "d": {"x": 1}}, {"tags": ["b"], "d": {"y": 2}})
    assert merged == {"tags": ["a"], "d": {"x": 1}}


def test_overwriting_lets_the_last_scalar_win_and_still_aggregates_the_score() -> None:
    policy = LangChainEnsembleMetaPolicy(union_keys=(), overwrite_on_conflict=True)
    merged = policy.merge({"score": 2, "n": 1, "l": [1]}, {"score": 1, "n": 2, "l": [2]})
    assert merged == {"score": 2, "n": 2, "l": [1, 2]}


@pytest.mark.parametrize(
    "kind", [PolicyError, ConfigurationError, ValueError, AssertionError, SafeRetrieverError]
)
def test_overwriting_contradicts_union_keys_at_construction(kind: type[Exception]) -> None:
    with pytest.raises(kind, match=r"write union_keys=\(\)"):
        LangChainEnsembleMetaPolicy(overwrite_on_conflict=True)


@pytest.mark.parametrize("kind", [PolicyError, ValueError, AssertionError])
def test_overwriting_contradicts_union_keys_when_validated(kind: type[Exception]) -> None:
    policy = LangChainEnsembleMetaPolicy()
    policy.validate()
    object.__setattr__(policy, "overwrite_on_conflict", True)
    with pytest.raises(kind, match="contradicts union_keys"):
        policy.validate()


def test_a_replaced_setting_is_checked_again() -> None:
    with pytest.raises(PolicyError, match="contradicts"):
        dataclasses.replace(LangChainEnsembleMetaPolicy(), overwrite_on_conflict=True)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"score_agg": "average"},
            "score_agg is 'average'; expected one of 'max', 'min', 'sum', 'weighted'",
        ),
        ({"union_keys": "source"}, r"write union_keys=\('source',\)"),
        ({"union_keys": ("score",)}, "it can have one rule"),
    ],
)
def test_a_setting_that_cannot_work_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        LangChainEnsembleMetaPolicy(**settings)


def test_union_keys_may_be_any_collection() -> None:
    assert LangChainEnsembleMetaPolicy(union_keys=["a", "b"]).union_keys == ("a", "b")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "policy", [LangChainMultiQueryUnionPolicy(), LangChainEnsembleMetaPolicy()]
)
def test_named_policies_are_presets_of_the_rule_table(policy: Any) -> None:
    assert isinstance(policy.table, MetadataPolicy)
    assert policy.merge(A, B) == policy.table.merge(A, B)
    assert as_resolver(policy) is policy.table


@pytest.mark.parametrize(
    "policy", [LangChainMultiQueryUnionPolicy(), LangChainEnsembleMetaPolicy()]
)
def test_named_policies_are_frozen_hashable_and_survive_pickle_and_deepcopy(policy: Any) -> None:
    policy.merge(A, B)
    assert policy == type(policy)()
    assert hash(policy) == hash(type(policy)())
    assert copy.deepcopy(policy) == policy == pickle.loads(pickle.dumps(policy))
    with pytest.raises(dataclasses.FrozenInstanceError):
        policy.table = None


@pytest.mark.parametrize(
    "policy", [LangChainMultiQueryUnionPolicy(), LangChainEnsembleMetaPolicy()]
)
def test_named_policies_leave_their_arguments_as_they_are(policy: Any) -> None:
    before = copy.deepcopy((A, B))
    merged = policy.merge(A, B)
    merged["l"].append("mine")
    merged["d"]["y"].append("mine")
    assert before == (A, B)
