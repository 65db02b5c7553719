"""A leg can be asked for a number of documents of its own."""

from __future__ import annotations

import pickle

import pytest

from langchain_safe_retrievers.errors import ConfigurationError
from langchain_safe_retrievers.evaluation.leg_depth import at_depth
from langchain_safe_retrievers.retrievers.ensemble import SafeEnsembleRetriever
from langchain_safe_retrievers.testing import FakeLeg

from .legs import Answers, Untold, doc


async def test_the_depth_replaces_the_retrievers_sync_and_async():
    legs = [Answers(), Answers()]
    ensemble = SafeEnsembleRetriever(retrievers=[at_depth(legs[0], 7), legs[1]], k=3, fetch_k=20)

    ensemble.invoke("q")
    await ensemble.ainvoke("r")

    assert legs[0].asked == [("q", 7), ("r", 7)]
    assert legs[1].asked == [("q", 20), ("r", 20)]


def test_a_filter_still_reaches_the_leg():
    leg = FakeLeg(documents=[doc("a", year=1), doc("b", year=2)])
    ensemble = SafeEnsembleRetriever(retrievers=[at_depth(leg, 7)])

    assert [found.id for found in ensemble.invoke("q", filter={"year": 2})] == ["b"]
    assert leg.calls == [("q", {"k": 7, "filter": {"year": 2}})]


def test_a_depth_is_replaced_by_another():
    leg = at_depth(at_depth(Answers(), 7), 9)

    assert leg.depth == 9
    assert isinstance(leg.bound, Answers)


def test_it_pickles():
    leg = pickle.loads(pickle.dumps(at_depth(Answers(), 7)))

    assert leg.depth == 7


def test_a_leg_that_takes_no_k_and_a_depth_that_is_none_are_refused():
    with pytest.raises(ConfigurationError, match="Untold takes no k"):
        at_depth(Untold(), 7)
    for depth in (0, True, 2.0):
        with pytest.raises(ConfigurationError, match="expected a whole number, at least 1"):
            at_depth(Answers(), depth)
