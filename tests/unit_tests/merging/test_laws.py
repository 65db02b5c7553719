"""The laws, held against the engine over JSON-like and hostile metadata, for many policies."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.documents import Document

from langchain_safe_retrievers.merging.fold import Engine
from tests.unit_tests import laws
from tests.unit_tests.strategies import HOSTILE, json_keys, json_values, ranked_lists, twin

if TYPE_CHECKING:
    from collections.abc import Sequence


def engine(
    legs: Sequence[Sequence[Document]], *, weights: Sequence[float] | None = None, **settings: Any
) -> list[Document]:
    """Merge legs by the engine alone."""
    return Engine(**settings).merge(legs, weights).documents


every_policy = pytest.mark.parametrize("policy", laws.POLICIES.values(), ids=laws.POLICIES)
every_idempotent_policy = pytest.mark.parametrize(
    "policy", laws.IDEMPOTENT.values(), ids=laws.IDEMPOTENT
)
any_policy = st.sampled_from(list(laws.POLICIES)).map(laws.POLICIES.__getitem__)
any_idempotent_policy = st.sampled_from(list(laws.IDEMPOTENT)).map(laws.IDEMPOTENT.__getitem__)
json_like = ranked_lists(json_values, json_keys)
hostile = ranked_lists()
few = settings(max_examples=15)


@every_policy
@few
@given(legs=json_like)
def test_no_json_like_value_is_lost_silently(policy: Any, legs: list[list[Document]]) -> None:
    laws.check_nothing_is_lost(engine, legs, policy)


@every_policy
@few
@given(legs=hostile)
def test_no_hostile_value_is_lost_silently(policy: Any, legs: list[list[Document]]) -> None:
    laws.check_nothing_is_lost(engine, legs, policy)


@pytest.mark.parametrize("kind", HOSTILE)
def test_any_two_values_can_meet_and_none_is_lost(kind: str) -> None:
    for other, n in product(HOSTILE, (0, 1)):
        one, two = HOSTILE[kind](0), HOSTILE[other](n)
        legs = [[Document(page_content="a", metadata={"v": [v], "w": v})] for v in (one, two, two)]
        try:
            laws.check_nothing_is_lost(engine, legs, laws.POLICIES["default"])
        except Exception as error:
            error.add_note(f"{kind} met {other}")
            raise


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_value_of_any_kind_meets_its_equal_without_conflict(kind: str) -> None:
    value = HOSTILE[kind](1)
    document = Document(page_content="a", metadata={"v": value, "w": [value], "x": {"y": value}})
    laws.check_equal_copies_change_nothing(engine, [[document]], laws.POLICIES["default"])


@given(policy=any_idempotent_policy, legs=hostile)
def test_copies_with_equal_metadata_give_that_metadata(
    policy: Any, legs: list[list[Document]]
) -> None:
    laws.check_equal_copies_change_nothing(engine, legs, policy)


@every_idempotent_policy
@few
@given(legs=json_like)
def test_folding_json_like_copies_again_changes_nothing(
    policy: Any, legs: list[list[Document]]
) -> None:
    laws.check_folding_again_changes_nothing(engine, legs, policy)


@every_idempotent_policy
@few
@given(legs=hostile)
def test_folding_hostile_copies_again_changes_nothing(
    policy: Any, legs: list[list[Document]]
) -> None:
    laws.check_folding_again_changes_nothing(engine, legs, policy)


@given(policy=any_policy, legs=hostile)
def test_inputs_are_never_changed(policy: Any, legs: list[list[Document]]) -> None:
    laws.check_inputs_are_never_changed(engine, legs, policy)


@given(policy=any_policy, legs=hostile)
def test_results_share_nothing_that_was_merged(policy: Any, legs: list[list[Document]]) -> None:
    laws.check_results_are_the_callers_own(engine, legs, policy)


@given(policy=any_policy, legs=hostile)
def test_same_input_same_output(policy: Any, legs: list[list[Document]]) -> None:
    laws.check_same_input_same_output(engine, legs, policy)


@given(legs=hostile)
def test_the_set_of_documents_does_not_depend_on_the_order_of_the_legs(
    legs: list[list[Document]],
) -> None:
    laws.check_order_of_legs_does_not_matter(engine, legs, laws.POLICIES["default"])


@given(legs=json_like)
def test_a_document_counts_once_in_each_leg_at_its_best_rank(legs: list[list[Document]]) -> None:
    laws.check_one_leg_one_vote(engine, legs, laws.POLICIES["default"])


@given(legs=hostile)
def test_the_checks_own_idea_of_equality_knows_a_twin_by_its_original(
    legs: list[list[Document]],
) -> None:
    for leg in legs:
        for document in leg:
            assert laws.alike(twin(document.metadata), document.metadata, exact=True)
