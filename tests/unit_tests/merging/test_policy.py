"""The rule table: which rule a value meets, and what a policy is."""

from __future__ import annotations

import copy
import pickle
from collections import OrderedDict, defaultdict
from typing import Any

import pytest

from langchain_safe_retrievers.errors import ConfigurationError, PolicyError
from langchain_safe_retrievers.merging.policy import (
    MergePolicy,
    MetadataPolicy,
    as_resolver,
    merge_pairwise,
)
from tests.unit_tests.strategies import Tags, cyclic_dict, cyclic_list, nested


def fold(policy: MetadataPolicy, key: str, *values: Any, weights: list[float] | None = None) -> Any:
    """Return what the values of one key become."""
    return policy.resolve(key, values, weights or [1.0] * len(values))


def test_by_default_containers_combine_and_the_first_scalar_stays() -> None:
    a = {"n": 1, "l": [1], "t": (1,), "s": {1}, "d": {"x": [1], "y": 1}, "none": None}
    b = {"n": 2, "l": [2], "t": (2,), "s": {2}, "d": {"x": [2], "y": 2, "z": 2}, "none": 0, "m": 2}
    assert MetadataPolicy().merge(a, b) == {
        "n": 1,
        "l": [1, 2],
        "t": (1, 2),
        "s": {1, 2},
        "d": {"x": [1, 2], "y": 1, "z": 2},
        "none": 0,
        "m": 2,
    }


def test_merge_leaves_its_arguments_as_they_are() -> None:
    a, b = {"d": {"l": [1]}, "s": {1}}, {"d": {"l": [2], "m": 3}, "s": {2}}
    before = copy.deepcopy((a, b))
    MetadataPolicy().merge(a, b)
    assert (a, b) == before


def test_the_exact_path_comes_before_the_type_and_the_type_before_the_fallback() -> None:
    policy = MetadataPolicy(
        rules={"page": "max"}, types={int: "min", str: "collect"}, fallback="last"
    )
    a = {"page": 3, "n": 3, "lang": "en", "x": 0.5}
    b = {"page": 4, "n": 4, "lang": "de", "x": 0.25}
    assert policy.merge(a, b) == {"page": 4, "n": 3, "lang": ["en", "de"], "x": 0.25}


def test_values_of_two_types_meet_the_fallback() -> None:
    policy = MetadataPolicy(types={int: "max", str: "min"}, fallback="last")
    assert policy.merge_value(1, "a") == "a"
    assert policy.merge_value("a", 1) == 1


def test_a_type_counts_for_its_subclasses_but_a_bool_is_no_int() -> None:
    policy = MetadataPolicy(types={int: "max", list: "union"}, fallback="first")
    assert policy.merge_value(Tags([1]), Tags([2])) == [1, 2]
    assert policy.merge_value(False, True) is False
    assert MetadataPolicy(types={bool: "last"}).merge_value(False, True) is True


def test_a_dotted_path_reaches_into_dicts_and_sees_all_copies_at_once() -> None:
    policy = MetadataPolicy(rules={"stats.score": "mean"})
    values = [{"score": 1, "n": 1}, {"score": 2, "n": 2}, {"score": 6, "m": 3}]
    assert fold(policy, "stats", *values) == {"score": 3, "n": 1, "m": 3}


def test_a_dotted_path_reaches_two_levels_down() -> None:
    policy = MetadataPolicy(rules={"a.b.c": "last", "a.x": "collect"})
    one, two = {"b": {"c": 1, "d": 1}, "x": 1}, {"b": {"c": 2, "d": 2}, "x": 2}
    assert fold(policy, "a", one, two) == {"b": {"c": 2, "d": 1}, "x": [1, 2]}


def test_a_weighted_rule_below_a_key_knows_its_copies_weights() -> None:
    policy = MetadataPolicy(rules={"a.score": "weighted"})
    values = [{"score": 4}, {"other": 1}, {"score": 8}]
    folded = fold(policy, "a", *values, weights=[0.5, 9.0, 0.25])
    assert folded == {"score": 2.0 + 2.0, "other": 1}


def test_a_rule_below_a_key_holds_where_one_copy_has_none_there() -> None:
    policy = MetadataPolicy(rules={"a.n": "max"})
    assert fold(policy, "a", {"n": 1}, None, {"n": 2}) == {"n": 2}


def test_a_rule_below_a_key_holds_where_the_key_itself_is_deep() -> None:
    policy = MetadataPolicy(rules={"a": "deep", "a.n": "max"})
    assert fold(policy, "a", {"n": 1, "m": 1}, {"n": 2, "m": 2}) == {"n": 2, "m": 1}


def test_deep_at_a_path_holds_whatever_the_types_say() -> None:
    policy = MetadataPolicy(rules={"a": "deep"}, types={dict: "last"})
    assert fold(policy, "a", {"x": 1}, {"y": 2}) == {"x": 1, "y": 2}
    assert fold(policy, "b", {"x": 1}, {"y": 2}) == {"y": 2}


def test_a_key_with_a_dot_in_it_has_that_exact_path() -> None:
    policy = MetadataPolicy(rules={"a.b": "last"})
    assert policy.merge({"a.b": 1}, {"a.b": 2}) == {"a.b": 2}


@pytest.mark.parametrize("values", [(1.0, 2.0, 6.0), (6.0, 2.0, 1.0)])
def test_a_mean_by_type_is_the_mean_of_all_copies(values: tuple[float, ...]) -> None:
    assert fold(MetadataPolicy(types={float: "mean"}), "n", *values) == 3.0
    assert fold(MetadataPolicy(fallback="mean"), "n", *values) == 3.0


def test_collect_by_type_collects_from_every_copy() -> None:
    assert fold(MetadataPolicy(types={str: "collect"}), "n", "a", "b", "c") == ["a", "b", "c"]
    assert fold(MetadataPolicy(fallback="collect"), "n", "a", "b", "c") == ["a", "b", "c"]


def test_weighted_by_type_knows_the_legs_weights() -> None:
    policy = MetadataPolicy(types={float: "weighted"})
    assert fold(policy, "n", 1.0, 2.0, weights=[0.5, 0.25]) == 1.0


def test_a_rule_may_be_a_function_of_two_values() -> None:
    policy = MetadataPolicy(rules={"n": lambda a, b: f"{a}+{b}"}, types={int: lambda a, b: a * b})
    assert policy.merge({"n": "x", "m": 2}, {"n": "y", "m": 3}) == {"n": "x+y", "m": 6}


def test_none_gives_way_to_a_value_on_either_side() -> None:
    policy = MetadataPolicy()
    assert policy.merge_value(None, [1]) == [1]
    assert policy.merge_value({"a": 1}, None) == {"a": 1}
    assert policy.merge_value(None, None) is None


def test_none_inside_dicts_gives_way_too() -> None:
    assert MetadataPolicy().merge_value({"a": None}, {"a": 1}) == {"a": 1}


def test_lists_of_two_kinds_become_a_list_of_their_distinct_items() -> None:
    assert MetadataPolicy().merge_value([1, 2], (2, 3)) == [1, 2, 3]


def test_cycles_end() -> None:
    merged = MetadataPolicy().merge(
        {"d": cyclic_dict(1), "l": cyclic_list(1)}, {"d": cyclic_dict(2), "l": [7]}
    )
    assert merged["d"]["n"] == 1
    assert merged["l"][0] == 1
    assert merged["l"][-1] == 7


def test_1_000_levels_of_dicts_are_no_problem() -> None:
    merged = MetadataPolicy().merge({"d": nested(1000, 1)}, {"d": nested(1000, 2), "e": 1})
    assert merged["e"] == 1


def test_equal_copies_add_up_only_under_a_rule_that_adds() -> None:
    policy = MetadataPolicy(rules={"n": "sum", "m": "max", "a.b": "weighted", "f": max})
    assert policy.merge({"n": 1, "m": 1}, {"n": 1, "m": 1}) == {"n": 2, "m": 1}
    assert set(policy.always) >= {"n", "a", "f"}
    assert "m" not in policy.always


@pytest.mark.parametrize(
    "settings",
    [
        {"rules": {"score": "maximum"}},
        {"types": {int: "biggest"}},
        {"fallback": "overwrite"},
        {"rules": {"score": None}},
        {"rules": {"score": 3}},
    ],
)
def test_a_rule_that_nobody_knows_is_refused_and_the_message_names_the_known(
    settings: dict[str, Any],
) -> None:
    with pytest.raises(PolicyError, match=r"expected one of first, last, max.*deep, or a function"):
        MetadataPolicy(**settings)


def test_the_message_names_the_place_and_what_came() -> None:
    with pytest.raises(ConfigurationError, match="the rule for 'score' is 'maximum'"):
        MetadataPolicy(rules={"score": "maximum"})


def test_policies_are_frozen_compare_by_value_and_survive_pickle_and_deepcopy() -> None:
    policy = MetadataPolicy(rules={"score": "max", "a.b": "last"})
    policy.merge({"a": {"b": 1}}, {"a": {"b": 2}})
    assert policy == MetadataPolicy(rules={"score": "max", "a.b": "last"})
    assert policy != MetadataPolicy()
    assert copy.deepcopy(policy) == policy == pickle.loads(pickle.dumps(policy))
    with pytest.raises(AttributeError):
        policy.fallback = "last"  # type: ignore[misc]


def test_a_policy_is_an_object_with_a_merge_method_or_a_function() -> None:
    assert isinstance(MetadataPolicy(), MergePolicy)
    assert as_resolver(MetadataPolicy()) is not None
    assert as_resolver(lambda a, _: a) is None


class _Shouting(MetadataPolicy):
    """Overrides `merge` alone."""

    def merge(self, a: dict[Any, Any], b: dict[Any, Any]) -> dict[Any, Any]:
        return {key: str(value).upper() for key, value in {**a, **b}.items()}


def test_a_subclass_that_overrides_merge_is_asked_for_whole_dicts() -> None:
    assert as_resolver(_Shouting()) is None
    assert merge_pairwise(_Shouting(), [{"a": "x"}, {"b": "y"}]) == {"a": "X", "b": "Y"}


def test_a_plain_function_is_applied_from_the_left() -> None:
    merged = merge_pairwise(lambda a, b: {"n": (a["n"], b["n"])}, [{"n": 1}, {"n": 2}, {"n": 3}])
    assert merged == {"n": ((1, 2), 3)}


def test_a_function_that_changes_its_arguments_changes_no_input() -> None:
    one, two = {"l": [1], "d": {"l": [1]}}, {"l": [2]}

    def greedy(a: dict[Any, Any], b: dict[Any, Any]) -> dict[Any, Any]:
        a["l"].extend(b["l"])
        a["d"]["l"].clear()
        b.clear()
        return a

    assert merge_pairwise(greedy, [one, two])["l"] == [1, 2]
    assert one == {"l": [1], "d": {"l": [1]}}
    assert two == {"l": [2]}


@pytest.mark.parametrize("inner", [Tags([1]), OrderedDict(a=1), defaultdict(list, a=[1])])
def test_a_function_that_empties_a_container_of_a_special_type_changes_no_input(inner: Any) -> None:
    def greedy(a: dict[Any, Any], _: dict[Any, Any]) -> dict[Any, Any]:
        a["v"].clear()
        return a

    merge_pairwise(greedy, [{"v": inner}, {}])
    assert len(inner) == 1


def test_a_rule_that_changes_its_arguments_changes_no_input() -> None:
    def extend(a: list[Any], b: list[Any]) -> list[Any]:
        a.extend(b)
        return a

    one, two = {"n": [1], "d": {"n": [1]}}, {"n": [2], "d": {"n": [2]}}
    policy = MetadataPolicy(rules={"n": extend, "d.n": extend})
    assert policy.merge(one, two) == {"n": [1, 2], "d": {"n": [1, 2]}}
    assert one == {"n": [1], "d": {"n": [1]}}


@pytest.mark.parametrize("result", [None, [], "text", 1])
def test_a_policy_that_returns_no_dict_is_told_so(result: Any) -> None:
    with pytest.raises(PolicyError, match=rf"returned {type(result).__name__}; it takes two"):
        merge_pairwise(lambda *_: result, [{}, {}])
