"""The laws once more, held against what the public retrievers return."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from langchain_core.runnables import RunnableLambda

from langchain_safe_retrievers import (
    ReciprocalRank,
    SafeEnsembleRetriever,
    SafeMultiQueryRetriever,
)
from langchain_safe_retrievers.merging.fold import Engine
from tests.unit_tests import laws
from tests.unit_tests.strategies import json_keys, json_values, ranked_lists

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever

Legs = list[list["Document"]]


def _leg(documents: Sequence[Document]) -> RunnableLambda[str, list[Document]]:
    return RunnableLambda(lambda _: list(documents))


def _ensemble(legs: Sequence[Sequence[Document]], policy: Any, **settings: Any) -> BaseRetriever:
    answers = [_leg(leg) for leg in legs]
    return SafeEnsembleRetriever(retrievers=answers, merge_policy=policy, **settings)


def _multi_query(
    legs: Sequence[Sequence[Document]], policy: Any, *, weights: Any = None, **settings: Any
) -> BaseRetriever:
    """Make a retriever that answers one query for each leg; weights mean fusion, each being 1."""
    answers = {f"question about {number}": list(leg) for number, leg in enumerate(legs)}
    if weights is not None:
        settings["fusion"] = ReciprocalRank()
    return SafeMultiQueryRetriever(
        retriever=RunnableLambda(answers.__getitem__),
        llm_chain=RunnableLambda(lambda _: list(answers)),
        merge_policy=policy,
        **settings,
    )


def _invoke(make: Any) -> laws.Run:
    return lambda legs, **settings: make(legs, **settings).invoke("question")


def _ainvoke(make: Any) -> laws.Run:
    return lambda legs, **settings: asyncio.run(make(legs, **settings).ainvoke("question"))


RUNS = {
    "ensemble invoke": _invoke(_ensemble),
    "ensemble ainvoke": _ainvoke(_ensemble),
    "multi-query invoke": _invoke(_multi_query),
    "multi-query ainvoke": _ainvoke(_multi_query),
}
every_run = pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
POLICIES = ["default", "ensemble weighted", "update", "greedy", "empty"]
some_policies = pytest.mark.parametrize(
    "policy", [laws.POLICIES[name] for name in POLICIES], ids=POLICIES
)
json_like = ranked_lists(json_values, json_keys)
hostile = ranked_lists()
few = settings(max_examples=10)


@every_run
@some_policies
@few
@given(legs=json_like)
def test_no_json_like_value_is_lost_silently(run: laws.Run, policy: Any, legs: Legs) -> None:
    laws.check_nothing_is_lost(run, legs, policy)


@every_run
@some_policies
@few
@given(legs=hostile)
def test_no_hostile_value_is_lost_silently(run: laws.Run, policy: Any, legs: Legs) -> None:
    laws.check_nothing_is_lost(run, legs, policy)


@every_run
@some_policies
@few
@given(legs=hostile)
def test_inputs_are_never_changed(run: laws.Run, policy: Any, legs: Legs) -> None:
    laws.check_inputs_are_never_changed(run, legs, policy)


@every_run
@few
@given(legs=hostile)
def test_copies_with_equal_metadata_give_that_metadata(run: laws.Run, legs: Legs) -> None:
    laws.check_equal_copies_change_nothing(run, legs, laws.POLICIES["default"])


@every_run
@few
@given(legs=json_like)
def test_folding_copies_again_changes_nothing(run: laws.Run, legs: Legs) -> None:
    laws.check_folding_again_changes_nothing(run, legs, laws.POLICIES["default"])


@every_run
@few
@given(legs=hostile)
def test_same_input_same_output(run: laws.Run, legs: Legs) -> None:
    laws.check_same_input_same_output(run, legs, laws.POLICIES["default"])


@every_run
@few
@given(legs=hostile)
def test_results_share_nothing_that_was_merged(run: laws.Run, legs: Legs) -> None:
    laws.check_results_are_the_callers_own(run, legs, laws.POLICIES["default"])


@every_run
@few
@given(legs=json_like)
def test_the_set_of_documents_does_not_depend_on_the_order_of_the_legs(
    run: laws.Run, legs: Legs
) -> None:
    laws.check_order_of_legs_does_not_matter(run, legs, laws.POLICIES["default"])


@every_run
@few
@given(legs=json_like)
def test_a_document_counts_once_in_each_leg_at_its_best_rank(run: laws.Run, legs: Legs) -> None:
    weights = (1.0, 0.5, 0.25) if "ensemble" in _name(run) else (1.0, 1.0, 1.0)
    laws.check_one_leg_one_vote(run, legs, laws.POLICIES["default"], weights)


def _name(run: laws.Run) -> str:
    return next(name for name, known in RUNS.items() if known is run)


@pytest.mark.parametrize("kind", ["ensemble", "multi-query"])
@few
@given(legs=hostile)
def test_sync_and_async_return_the_same(kind: str, legs: Legs) -> None:
    policy = laws.POLICIES["default"]
    one = RUNS[f"{kind} invoke"](legs, policy=policy)
    other = RUNS[f"{kind} ainvoke"](legs, policy=policy)
    _check_same_documents(one, other)


@few
@given(legs=hostile)
def test_an_ensemble_returns_what_the_engine_merges(legs: Legs) -> None:
    policy = laws.POLICIES["default"]
    _check_same_documents(
        RUNS["ensemble invoke"](legs, policy=policy),
        Engine(policy=policy).merge(legs, [1 / len(legs)] * len(legs)).documents,
    )


def _check_same_documents(one: list[Document], other: list[Document]) -> None:
    assert [(d.page_content, d.id) for d in one] == [(d.page_content, d.id) for d in other]
    for a, b in zip(one, other, strict=True):
        assert laws.alike(list(a.metadata), list(b.metadata))
        assert laws.alike(a.metadata, b.metadata, exact=True)
