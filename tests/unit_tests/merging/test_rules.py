"""The named rules, one by one."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from langchain_safe_retrievers.merging.rules import RULES, apply_rule, union
from langchain_safe_retrievers.merging.values import same
from tests.unit_tests.strategies import HOSTILE

NAN = float("nan")


def apply(rule: Any, *values: Any, weights: list[float] | None = None) -> Any:
    """Apply a rule with every leg weighing 1 unless told otherwise."""
    return apply_rule(rule, values, weights or [1.0] * len(values))


@pytest.mark.parametrize(
    ("rule", "values", "expected"),
    [
        ("first", (1, 2, 3), 1),
        ("first", (None, 2, 3), 2),
        ("last", (1, 2, 3), 3),
        ("last", (1, 2, None), 2),
        ("max", (2, 9, 4), 9),
        ("min", (2, 9, 4), 2),
        ("max", ("b", "c", "a"), "c"),
        ("min", ([2], [1, 5]), [1, 5]),
        ("max", (0.5, Decimal("0.75"), Fraction(1, 4)), Decimal("0.75")),
        ("max", (NAN, 1, 2), 2),
        ("max", ("n/a", 1, None, 2), 2),
        ("max", (True, 0), 0),
        ("max", ("a", [1]), "a"),
        ("sum", (1, 2, 3.5), 6.5),
        ("sum", (2, 2), 4),
        ("sum", (1, None, "x", NAN, True), 1),
        ("sum", ("a", "b"), "a"),
        ("sum", (Decimal("0.5"), 1.5), 2.0),
        ("sum", (Fraction(1, 2), Fraction(1, 4)), Fraction(3, 4)),
        ("mean", (1, 2, 6), 3),
        ("mean", (1, 2), 1.5),
        ("mean", (4,), 4),
        ("mean", (1, None, 3, "x"), 2),
        ("mean", ("x", None), "x"),
        ("union", ([1, 2], [2, 3], [3, 1, 4]), [1, 2, 3, 4]),
        ("union", ((1,), (2,)), (1, 2)),
        ("union", ({1}, {2}), {1, 2}),
        ("union", ([1], None, [2]), [1, 2]),
        ("union", ("a", ["b", "a"]), ["a", "b"]),
        ("union", ("a", "b"), ["a", "b"]),
        ("collect", (3, 4, 3), [3, 4]),
        ("collect", (3, 3), 3),
        ("collect", (3,), 3),
        ("collect", ([3, 4], 5, (3, 6)), [3, 4, 5, 6]),
        ("collect", ({"a": 1}, {"a": 2}), [{"a": 1}, {"a": 2}]),
        ("collect", (1, True, "1", 1.0), [1, True, "1"]),
        ("collect", (None, 3), 3),
    ],
)
def test_values_become(rule: str, values: tuple[Any, ...], expected: Any) -> None:
    became = apply(rule, *values)
    assert same(became, expected)
    assert type(became) is type(expected) or rule == "mean"


def test_weighted_adds_each_score_times_its_legs_weight() -> None:
    assert apply("weighted", 0.5, 0.25, 1.0, weights=[0.5, 2.0, 0.25]) == 0.25 + 0.5 + 0.25


def test_weighted_leaves_out_what_is_no_number_together_with_its_weight() -> None:
    assert apply("weighted", "n/a", 0.5, None, NAN, weights=[9.0, 2.0, 9.0, 9.0]) == 1.0
    assert apply("weighted", "n/a", None, weights=[1.0, 1.0]) == "n/a"


def test_weighted_takes_decimals_and_numpy_numbers() -> None:
    assert apply("weighted", Decimal("0.5"), np.float32(0.25), weights=[1.0, 2.0]) == 1.0


def test_a_sum_of_small_numpy_ints_does_not_wrap_around() -> None:
    assert apply("sum", np.int8(100), np.int8(100)) == 200


@pytest.mark.parametrize("rule", RULES)
def test_only_none_is_none(rule: str) -> None:
    assert apply(rule, None, None) is None


@pytest.mark.parametrize("rule", RULES)
def test_one_value_stays_itself(rule: str) -> None:
    for value in ("a", [1, 1], {"a": 1}, (1,)):
        assert apply(rule, value) == value


@pytest.mark.parametrize("rule", RULES)
def test_no_rule_raises_on_any_two_values(rule: str) -> None:
    for one, other, n in product(HOSTILE, HOSTILE, (0, 1)):
        try:
            apply(rule, HOSTILE[one](n), HOSTILE[other](1), weights=[0.5, 2.0])
        except Exception as error:
            error.add_note(f"{one} met {other}")
            raise


@pytest.mark.parametrize("rule", ["sum", "mean", "weighted", "max", "min"])
@pytest.mark.parametrize(
    "values",
    [
        (Decimal("sNaN"), 1),
        (10**400, 0.5),
        (10**400, 10**400 + 1),
        (Decimal("Infinity"), Decimal("-Infinity")),
        (Decimal("9e999999"), Decimal("9e999999")),
        (float("inf"), float("-inf"), Decimal(1)),
        (Fraction(10**400), 0.5),
        (1e308, 1e308),
        (np.float32(3e38), np.float32(3e38)),
    ],
)
def test_numbers_beyond_all_bounds_never_raise(rule: str, values: tuple[Any, ...]) -> None:
    assert apply(rule, *values) is not None


def test_a_function_is_applied_from_the_left_to_what_is_there() -> None:
    assert apply(lambda a, b: f"({a}{b})", "x", None, "y", "z") == "((xy)z)"
    assert apply(lambda a, b: f"({a}{b})", "x") == "x"


def test_a_union_keeps_the_first_as_it_is_and_adds_the_new_items_once() -> None:
    assert union([1, 1], [True, 1, 2, 2]) == [1, 1, True, 2]
    assert union([[1], {"a": 1}], [[1], {"a": True}]) == [[1], {"a": 1}, {"a": True}]


def test_a_union_is_a_new_container() -> None:
    one = [1]
    assert union(one, [1]) == [1]
    assert union(one, []) is not one
    assert one == [1]


def test_a_union_of_10_000_items_takes_linear_time() -> None:
    """Nested items too: each looks only at those that may be the same."""
    items = [{"id": n, "tags": [n]} for n in range(10_000)]
    assert len(union(items, list(items))) == 10_000
