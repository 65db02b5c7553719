"""What counts as displaced, and how it reads."""

from __future__ import annotations

from typing import Any

import pytest

from langchain_safe_retrievers.merging.conflicts import (
    add_conflict,
    check_values,
    describe_conflicts,
    find_conflicts,
)
from tests.unit_tests.strategies import HOSTILE, EqRaises, ReprRaises, cyclic_dict, nested


def test_a_displaced_value_is_listed_with_the_one_that_stayed_in_legs_order() -> None:
    copies = [{"lang": "en"}, {"lang": "de"}, {"lang": "en"}, {"lang": "fr"}]
    assert find_conflicts({"lang": "de"}, copies) == {"lang": ["en", "de", "fr"]}


def test_equal_values_are_no_conflict() -> None:
    assert find_conflicts({"n": 1}, [{"n": 1}, {"n": 1.0}]) == {}


def test_values_of_three_types_are_three_values() -> None:
    copies: list[dict[str, Any]] = [{"n": 1}, {"n": True}, {"n": "1"}]
    conflicts = find_conflicts({"n": 1}, copies)
    assert [type(value) for value in conflicts["n"]] == [int, bool, str]


def test_none_is_no_value() -> None:
    assert find_conflicts({"n": 1}, [{"n": None}, {"n": 1}]) == {}
    assert find_conflicts({}, [{"n": None}]) == {}


def test_a_missing_key_displaces_its_value() -> None:
    assert find_conflicts({}, [{"n": 0}, {"n": 0}, {"m": []}]) == {"n": [0], "m": [[]]}


@pytest.mark.parametrize("shown", [[1, 2, 3], (1, 2, 3), {1, 2, 3}])
def test_an_element_or_a_list_of_elements_is_shown_by_the_list(shown: Any) -> None:
    copies: list[dict[str, Any]] = [{"n": 1}, {"n": [3, 2]}, {"n": (1,)}, {"n": []}]
    assert find_conflicts({"n": shown}, copies) == {}


def test_a_list_with_an_element_that_is_not_shown_is_displaced_whole() -> None:
    assert find_conflicts({"n": [1]}, [{"n": [1]}, {"n": [1, 2]}]) == {"n": [[1], [1, 2]]}


def test_a_list_inside_a_list_is_an_element() -> None:
    assert find_conflicts({"n": [[1, 2]]}, [{"n": [1, 2]}]) == {}


def test_true_is_not_shown_by_a_list_of_ones() -> None:
    assert find_conflicts({"n": [1]}, [{"n": [1]}, {"n": [True]}])["n"][1] == [True]


def test_dicts_are_compared_key_by_key_and_named_by_their_path() -> None:
    copies = [{"a": {"b": {"c": 1, "d": 1}}}, {"a": {"b": {"c": 2, "d": 1}}}]
    assert find_conflicts(copies[0], copies) == {"a.b.c": [1, 2]}


def test_a_scalar_that_met_a_dict_is_recorded_beside_it() -> None:
    copies: list[dict[str, Any]] = [{"a": {"b": 1}}, {"a": "text"}]
    assert find_conflicts({"a": {"b": 1}}, copies) == {"a": [{"b": 1}, "text"]}


def test_a_dict_that_gave_way_to_a_scalar_is_recorded_whole() -> None:
    copies: list[dict[str, Any]] = [{"a": {"b": 1}}, {"a": "text"}]
    assert find_conflicts({"a": "text"}, copies) == {"a": [{"b": 1}, "text"]}


def test_an_empty_dict_that_disappeared_is_recorded() -> None:
    assert find_conflicts({}, [{"a": {}}]) == {"a": [{}]}


def test_keys_that_are_no_strings_are_named_by_their_repr() -> None:
    copies: list[dict[Any, Any]] = [{1: "a", (1, 2): {None: "a"}}, {1: "b", (1, 2): {None: "b"}}]
    found = find_conflicts(copies[0], copies)
    assert found == {"1": ["a", "b"], "(1, 2).None": ["a", "b"]}


def test_a_key_whose_repr_raises_still_has_a_name() -> None:
    key = ReprRaises()
    (name,) = find_conflicts({}, [{key: 1}])
    assert "ReprRaises object" in name


def test_a_value_that_cannot_be_compared_is_recorded_unless_it_is_the_one_shown() -> None:
    one, two = EqRaises(), EqRaises()
    found = find_conflicts({"v": one}, [{"v": one}, {"v": one}, {"v": two}])
    assert [id(value) for value in found["v"]] == [id(one), id(two)]


def test_cycles_end() -> None:
    one, two = {"v": cyclic_dict(1)}, {"v": cyclic_dict(2)}
    assert find_conflicts(one, [one, two])["v.n"] == [1, 2]


def test_a_conflict_is_found_at_any_depth() -> None:
    one, two = {"d": nested(999, {"x": 1})}, {"d": nested(999, {"x": 2})}
    (path,) = find_conflicts(one, [one, two])
    assert path.startswith("d")


def test_a_conflict_below_1_000_dicts_has_its_whole_path() -> None:
    def tower(value: int) -> dict[str, Any]:
        metadata: dict[str, Any] = {"x": value}
        for _ in range(1000):
            metadata = {"d": metadata}
        return metadata

    assert find_conflicts(tower(1), [tower(1), tower(2)]) == {"d." * 1000 + "x": [1, 2]}


def test_a_conflict_is_added_to_those_recorded_each_value_once() -> None:
    record: dict[str, list[Any]] = {"n": [1]}
    add_conflict(record, "n", [2, 1.0, 2])
    add_conflict(record, "m", ["a", "a"])
    assert record == {"n": [1, 2], "m": ["a"]}


def test_check_values_changes_nothing_where_all_is_shown() -> None:
    record: dict[str, list[Any]] = {}
    check_values(record, "n", [1, 2], [1, 2, [2]])
    assert record == {}


def test_conflicts_read_as_a_line_for_each_path() -> None:
    text = describe_conflicts({"source": ["vec", "bm25"], "a.b": [1, True]})
    assert text == "source: 'vec' | 'bm25'\na.b: 1 | True"
    assert describe_conflicts({}) == ""


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_value_of_any_kind_can_be_described(kind: str) -> None:
    assert describe_conflicts({"v": [HOSTILE[kind](0)]}).startswith("v: ")
