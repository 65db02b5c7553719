"""A space is all of its combinations, and a retriever can have any of them."""

from __future__ import annotations

import math

import pytest

from langchain_safe_retrievers.errors import ConfigurationError
from langchain_safe_retrievers.evaluation.leg_depth import LegDepth
from langchain_safe_retrievers.evaluation.space import configured, settings_of, weight_grid
from langchain_safe_retrievers.fusion.noisy_or import NoisyOr
from langchain_safe_retrievers.fusion.reciprocal_rank import ReciprocalRank
from langchain_safe_retrievers.retrievers.ensemble import SafeEnsembleRetriever
from langchain_safe_retrievers.retrievers.hybrid import HybridRetriever

from .legs import Answers, Untold


def hybrid() -> HybridRetriever:
    return HybridRetriever(legs={"one": Answers(), "two": Untold()})


def test_all_values_are_combined_with_all_the_last_name_first():
    assert settings_of({"c": [1, 2], "k": [3, 4]}) == [
        {"c": 1, "k": 3},
        {"c": 1, "k": 4},
        {"c": 2, "k": 3},
        {"c": 2, "k": 4},
    ]


def test_settings_may_be_listed_instead():
    assert settings_of([{"c": 1}, {"k": 2}]) == [{"c": 1}, {"k": 2}]


def test_so_many_are_drawn_the_same_each_time_and_none_twice():
    space = {"c": list(range(1, 1001)), "k": list(range(1, 1001))}

    drawn = settings_of(space, most=50, seed=7)

    assert drawn == settings_of(space, most=50, seed=7) != settings_of(space, most=50, seed=8)
    assert len({tuple(each.values()) for each in drawn}) == 50


@pytest.mark.parametrize("space", [{}, [], {"c": []}, {"c": 60}, {"fuser": "rrf"}])
def test_an_empty_space_is_refused(space):
    with pytest.raises(ConfigurationError, match=r"expected .*values to try"):
        settings_of(space)


def test_a_most_that_is_none_is_refused():
    with pytest.raises(ConfigurationError, match="max_settings is 0"):
        settings_of({"c": [1]}, most=0)


def test_a_copy_has_the_settings_and_the_original_is_as_it_was():
    own = hybrid()

    copy = configured(
        own, {"weights": {"two": 0.7, "one": 0.3}, "fuser": ReciprocalRank(9), "k": 7, "fetch_k": 8}
    )

    assert (copy.weights, copy.fuser, copy.k, copy.fetch_k) == ([0.3, 0.7], ReciprocalRank(9), 7, 8)
    assert (own.weights, own.fuser, own.k, own.fetch_k) == ([0.5, 0.5], NoisyOr(), 5, None)
    assert type(copy) is HybridRetriever


def test_a_leg_gets_a_depth_of_its_own():
    copy = configured(hybrid(), {"leg_k": {"one": 7}})

    assert isinstance(copy.retrievers[0], LegDepth)
    assert isinstance(copy.retrievers[1], Untold)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"wieghts": [1, 1]}, "'wieghts' is no setting that can be tuned; expected one of weights"),
        ({"weights": [1]}, "got 1 weights for 2 retrievers"),
        ({"weights": {"one": 1, "tow": 1}}, r"weights names \['tow'\], but the legs are"),
        ({"weights": {"one": 1}}, r"weights\[1\] is None"),
        ({"weights": [math.nan, 1]}, r"weights\[0\] is nan"),
        ({"c": 0}, "c is 0: .*greater than 0"),
        ({"k": 0}, "k is 0: .*greater than or equal to 1"),
        ({"fetch_k": 2.5}, "fetch_k is 2.5: .*valid integer"),
        ({"fuser": "rrf"}, "fuser is 'rrf': .*Fuser"),
        ({"leg_k": 7}, "leg_k is 7; expected leg names with depths, such as {'one': 50}"),
        ({"leg_k": {"tow": 7}}, r"leg_k names \['tow'\]"),
        ({"leg_k": {"two": 7}}, "Untold takes no k"),
    ],
)
def test_a_setting_that_cannot_work_is_named(settings, message):
    with pytest.raises(ConfigurationError, match=message):
        configured(hybrid(), settings)


def test_any_ensemble_takes_settings():
    own = SafeEnsembleRetriever(retrievers=[Answers()])

    assert configured(own, {"c": 5, "k": None}).c == 5


def test_a_grid_of_weights_shares_one_among_the_legs():
    grid = weight_grid(["a", "b", "c"], 4)

    assert len(grid) == 15  # 6! / (4! 2!)
    assert all(math.isclose(sum(weights.values()), 1) for weights in grid)
    assert {"a": 0.25, "b": 0.5, "c": 0.25} in grid
    assert weight_grid(["a"], 4) == [{"a": 1.0}]


@pytest.mark.parametrize(("legs", "steps"), [([], 2), ("ab", 2), (["a"], 0)])
def test_a_grid_that_cannot_be_is_refused(legs, steps):
    with pytest.raises(ConfigurationError, match="expected leg names and a number"):
        weight_grid(legs, steps)
