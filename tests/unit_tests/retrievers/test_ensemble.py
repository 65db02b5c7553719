"""What `SafeEnsembleRetriever` does better than the class it stands in for."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_core.runnables import ConfigurableField, RunnableLambda
from pydantic import ValidationError

from langchain_safe_retrievers import (
    ConfigurationError,
    DistributionBased,
    LangChainEnsembleMetaPolicy,
    RelativeScore,
    SafeEnsembleRetriever,
    UnacceptedArgumentError,
    by_id,
    collect_reports,
)
from langchain_safe_retrievers.testing import FakeLeg, texts
from tests.unit_tests.ways import RunLog, both_ways, every_way, leg_of

if TYPE_CHECKING:
    from collections.abc import Callable


def _ensemble(*legs: Any, **fields: Any) -> SafeEnsembleRetriever:
    return SafeEnsembleRetriever(retrievers=list(legs), **fields)


def _doc(text: str, **metadata: Any) -> Document:
    return Document(page_content=text, metadata=metadata)


# Folding ------------------------------------------------------------------------------------------


@every_way
def test_metadata_of_all_copies_is_folded(call: Callable[..., Any]):
    ensemble = _ensemble(
        leg_of(_doc("a", source="vec", tags=["x"], page=3)),
        leg_of(_doc("a", source="bm25", tags=["x", "y"], lang="en")),
    )

    (found,) = call(ensemble, "q")

    assert found.metadata == {
        "source": "vec",
        "tags": ["x", "y"],
        "page": 3,
        "lang": "en",
        "_conflicts": {"source": ["vec", "bm25"]},
    }


@both_ways
def test_a_document_that_one_leg_alone_found_is_returned_as_it_is(call: Callable[..., Any]):
    document = _doc("a", n=1)

    assert call(_ensemble(leg_of(document), leg_of("b")), "q")[0] is document


@both_ways
def test_one_leg_has_one_vote_however_often_it_repeats_a_document(call: Callable[..., Any]):
    # b: 1/62 + 1/61 beats a: 1/61; counted three times a would have had 3/61
    ensemble = _ensemble(
        FakeLeg(documents=["a"], repeat=3), leg_of("b"), leg_of("c", "b"), fused_score_key="s"
    )

    found = call(ensemble, "q")

    assert {document.page_content: document.metadata["s"] for document in found} == pytest.approx(
        {"b": (1 / 61 + 1 / 62) / 3, "a": 1 / 61 / 3, "c": 1 / 61 / 3}
    )
    assert texts(found) == ["b", "a", "c"]


@both_ways
@pytest.mark.parametrize(
    ("keys", "distinct"),
    [
        ([1, 1], 1),
        ([1, True], 2),
        ([1, "1"], 2),
        ([1, 1.0], 1),
        ([[1], [1]], 1),
        ([{"a": 1}, {"a": 1}], 1),
        ([float("nan"), float("nan")], 1),
        ([None, None], 1),  # then the text decides, which is the same
        ([0, None], 2),
    ],
)
def test_an_id_key_of_any_type_neither_crashes_nor_conflates(
    call: Callable[..., Any], keys: list[Any], distinct: int
):
    legs = [leg_of(_doc("text", key=key)) for key in keys]

    assert len(call(_ensemble(*legs, id_key="key"), "q")) == distinct


@both_ways
def test_where_the_id_key_is_missing_the_id_decides_and_then_the_text(call: Callable[..., Any]):
    one = Document(page_content="one", id="7", metadata={"n": 1})
    two = Document(page_content="two", id="7", metadata={"m": 2})
    ensemble = _ensemble(leg_of(one, "x"), leg_of(two, "x"), id_key="key")

    found = call(ensemble, "q")

    assert texts(found) == ["one", "x"]
    assert found[0].metadata == {
        "n": 1,
        "m": 2,
        "_conflicts": {"Document.page_content": ["one", "two"]},
    }


@both_ways
def test_an_identity_may_be_given_instead_of_an_id_key(call: Callable[..., Any]):
    legs = [leg_of(Document(page_content=text, id="7")) for text in ("one", "two")]

    assert texts(call(_ensemble(*legs, identity=by_id), "q")) == ["one"]


# Weights ------------------------------------------------------------------------------------------


@every_way
def test_a_leg_of_weight_0_is_not_asked_and_the_report_says_so(call: Callable[..., Any]):
    unasked, log = FakeLeg(documents=["b"]), RunLog()

    with collect_reports() as reports:
        found = call(_ensemble(leg_of("a"), unasked, weights=[1, 0]), "q", {"callbacks": [log]})

    assert (texts(found), unasked.calls) == (["a"], [])
    assert sorted((leg.leg, leg.status) for leg in reports[-1].legs) == [
        ("retriever_1", "ok"),
        ("retriever_2", "skipped"),
    ]
    assert not reports[-1].degraded
    assert "FakeLeg" not in log.names.values()


@both_ways
def test_the_report_has_the_legs_in_their_order_those_not_asked_too(call: Callable[..., Any]):
    legs = [leg_of("a"), FakeLeg(), leg_of("b")]

    with collect_reports() as reports:
        call(_ensemble(*legs, weights=[0.5, 0, 0.5], leg_names=["x", "y", "z"]), "q")

    assert [leg.leg for leg in reports[0].legs] == ["x", "y", "z"]


@both_ways
def test_legs_keep_their_numbers_when_one_before_them_is_not_asked(call: Callable[..., Any]):
    log = RunLog()
    ensemble = _ensemble(FakeLeg(), FakeLeg(documents=["a"]), weights=[0, 1], provenance_key="p")

    (found,) = call(ensemble, "q", {"callbacks": [log]})

    assert found.metadata["p"][0]["leg"] == "retriever_2"
    assert "retriever_2" in log.tags[log.run("FakeLeg")]


@both_ways
def test_an_argument_only_a_leg_of_weight_0_takes_is_refused(call: Callable[..., Any]):
    with pytest.raises(UnacceptedArgumentError):
        call(_ensemble(leg_of("a"), FakeLeg(), weights=[1, 0]), "q", lang="en")


_BAD_WEIGHTS = [
    [0.5, float("nan")],
    [0.5, math.inf],
    [-0.5, 0.5],
    [True, 0.5],
    [np.bool_(True), 0.5],
    ["a", 0.5],
    ["0.5", 0.5],
    [None, 0.5],
    [1 + 0j, 0.5],
    [1.0],
    [1.0, 1.0, 1.0],
    [0, 0],
]


@pytest.mark.parametrize("weights", _BAD_WEIGHTS, ids=repr)
def test_weights_that_cannot_work_are_refused_at_construction(weights: list[Any]):
    with pytest.raises(ValidationError, match="weight"):
        _ensemble(FakeLeg(), FakeLeg(), weights=weights)


@both_ways
@pytest.mark.parametrize("weights", _BAD_WEIGHTS, ids=repr)
def test_weights_that_cannot_work_are_refused_when_assigned_later(
    call: Callable[..., Any], weights: list[Any]
):
    leg = FakeLeg()
    ensemble = _ensemble(leg, FakeLeg())
    ensemble.weights = weights

    with pytest.raises(ValueError, match="weight"):
        call(ensemble, "q")

    assert leg.calls == []


@both_ways
@pytest.mark.parametrize("weights", _BAD_WEIGHTS, ids=repr)
def test_weights_that_cannot_work_are_refused_when_configured(
    call: Callable[..., Any], weights: list[Any]
):
    ensemble = _ensemble(FakeLeg(), FakeLeg()).configurable_fields(
        weights=ConfigurableField(id="w")
    )

    with pytest.raises(ValidationError, match="weight"):
        call(ensemble, "q", {"configurable": {"w": weights}})


@pytest.mark.parametrize("weights", [5, 0.5, object()])
def test_weights_that_are_no_list_are_refused(weights: Any):
    with pytest.raises(ValueError, match="weights"):
        _ensemble(FakeLeg(), weights=weights)


@pytest.mark.parametrize(
    "weights",
    [
        [1, 3],
        (0.25, 0.75),
        np.array([0.25, 0.75]),
        [np.float32(0.25), np.int64(1)],
        [Fraction(1, 4), Fraction(3, 4)],
    ],
    ids=repr,
)
@both_ways
def test_any_real_numbers_are_weights(call: Callable[..., Any], weights: Any):
    ensemble = _ensemble(leg_of("a"), leg_of("b"), weights=weights)

    assert texts(call(ensemble, "q")) == ["b", "a"]


def test_decimal_weights_are_refused_with_an_error_that_says_what_came():
    with pytest.raises(ValidationError, match=r"weights\[0\] is Decimal"):
        _ensemble(FakeLeg(), weights=[Decimal(1)])


@pytest.mark.parametrize("weights", [None, []])
def test_no_weights_are_equal_weights(weights: Any):
    assert _ensemble(FakeLeg(), FakeLeg(), weights=weights).weights == [0.5, 0.5]


@every_way
def test_weights_can_be_configured(call: Callable[..., Any]):
    one, two = FakeLeg(documents=["a"]), FakeLeg(documents=["b"])
    ensemble = _ensemble(one, two, k=1).configurable_fields(weights=ConfigurableField(id="w"))

    assert texts(call(ensemble, "q")) == ["a"]
    asked = len(one.calls)
    assert texts(call(ensemble.with_config(configurable={"w": [0, 1]}), "q")) == ["b"]
    assert texts(call(ensemble, "q", {"configurable": {"w": [0.2, 0.8]}})) == ["b"]
    assert len(one.calls) > asked


def test_the_given_weights_are_not_changed_and_not_shared():
    weights = [0.3, 0.7]
    ensemble = _ensemble(FakeLeg(), FakeLeg(), weights=weights)

    ensemble.weights.append(1)

    assert weights == [0.3, 0.7]


# Other settings -----------------------------------------------------------------------------------


@pytest.mark.parametrize("retrievers", [[], ()])
def test_an_ensemble_of_nothing_is_refused(retrievers: Any):
    with pytest.raises(ValidationError, match="retrievers is empty; give at least one leg"):
        SafeEnsembleRetriever(retrievers=retrievers)


def test_an_ensemble_without_retrievers_is_refused():
    with pytest.raises(ValidationError, match="retrievers"):
        SafeEnsembleRetriever()  # type: ignore[call-arg]


@pytest.mark.parametrize("c", [0, -1, True, 1.5, "x", math.inf])
def test_a_c_that_is_no_whole_number_above_0_is_refused(c: Any):
    with pytest.raises(ValidationError, match="\nc\n"):
        _ensemble(FakeLeg(), c=c)


def test_misspelt_arguments_are_refused():
    with pytest.raises(ValidationError, match="weight\n"):
        _ensemble(FakeLeg(), weight=[1])


@pytest.mark.parametrize("names", [["a"], ["a", "a"], ["a", "b", "c"], []])
def test_leg_names_must_be_different_and_as_many_as_legs(names: list[str]):
    with pytest.raises(ValidationError, match="expected 2 different names"):
        _ensemble(FakeLeg(), FakeLeg(), leg_names=names)


def test_required_legs_must_be_legs():
    with pytest.raises(ValidationError, match=r"required_legs names \['vectr'\]"):
        _ensemble(FakeLeg(), leg_names=["vector"], required_legs=("vectr",))


def test_id_key_and_identity_together_are_refused():
    with pytest.raises(ValidationError, match="both id_key and identity are given"):
        _ensemble(FakeLeg(), id_key="key", identity=by_id)


def test_a_setting_that_cannot_work_is_a_configuration_error_inside():
    with pytest.raises(ValidationError) as refused:
        SafeEnsembleRetriever(retrievers=[])

    assert isinstance(refused.value.errors()[0]["ctx"]["error"], ConfigurationError)


@both_ways
def test_leg_names_are_in_reports_provenance_and_errors(call: Callable[..., Any]):
    legs = [FakeLeg(documents=["a"]), FakeLeg(documents=7)]
    ensemble = _ensemble(
        *legs, leg_names=["vector", "keyword"], provenance_key="p", on_leg_error="skip"
    )

    with collect_reports() as reports:
        (found,) = call(ensemble, "q")

    assert found.metadata["p"][0]["leg"] == "vector"
    assert [leg.leg for leg in reports[0].legs] == ["vector", "keyword"]
    assert "leg 'keyword' returned int" in str(reports[0].legs[1].error)


@both_ways
def test_c_says_how_much_the_first_ranks_stand_out(call: Callable[..., Any]):
    # c = 1: a 1/2, b 1/3 + 1/4 = 7/12
    legs = [leg_of("a", "b"), leg_of("c", "d", "b")]

    found = call(_ensemble(*legs, weights=[1, 1], c=1, fused_score_key="s"), "q")

    assert [(it.page_content, it.metadata["s"]) for it in found[:2]] == [
        ("b", pytest.approx(7 / 12)),
        ("a", pytest.approx(1 / 2)),
    ]


@both_ways
@pytest.mark.parametrize("fuser", [RelativeScore(), DistributionBased()])
def test_a_fuser_may_go_by_the_legs_own_scores(call: Callable[..., Any], fuser: Any):
    legs = [
        FakeLeg(documents=[("a", 0.9), ("b", 0.8), ("c", 0.0)]),
        FakeLeg(documents=[("b", 0.9), ("c", 0.1), ("a", 0.0)]),
    ]

    assert texts(call(_ensemble(*legs, fuser=fuser), "q")) == ["b", "a", "c"]


@both_ways
def test_the_score_aggregation_weighted_uses_the_legs_weights(call: Callable[..., Any]):
    legs = [leg_of(_doc("a", score=1.0)), leg_of(_doc("a", score=0.5))]
    policy = LangChainEnsembleMetaPolicy(score_agg="weighted")

    (found,) = call(_ensemble(*legs, weights=[0.25, 0.75], merge_policy=policy), "q")

    assert found.metadata["score"] == pytest.approx(0.25 * 1.0 + 0.75 * 0.5)


@both_ways
def test_a_skipped_leg_does_not_move_the_weights_of_the_others(call: Callable[..., Any]):
    legs = [FakeLeg(error=ValueError()), leg_of("a", "b"), leg_of("b", "a")]
    ensemble = _ensemble(*legs, weights=[0.5, 0.1, 0.4], on_leg_error="skip")

    assert texts(call(ensemble, "q")) == ["b", "a"]


@both_ways
def test_a_leg_may_hand_over_another_runnable(call: Callable[..., Any]):
    leg = RunnableLambda(lambda query: FakeLeg(documents=[f"about {query}"]))

    assert texts(call(_ensemble(leg), "cats")) == ["about cats"]


@both_ways
def test_the_same_leg_may_be_there_twice(call: Callable[..., Any]):
    leg = FakeLeg(documents=["a"])

    (found,) = call(_ensemble(leg, leg, fused_score_key="s"), "q")

    assert len(leg.calls) == 2
    assert found.metadata["s"] == pytest.approx(1 / 61)


def test_a_method_called_from_outside_works_as_inside():
    ensemble = _ensemble(leg_of("a"), leg_of("b"), k=1)

    assert texts(ensemble.weighted_reciprocal_rank([[_doc("a")], [_doc("b")]])) == ["a"]
