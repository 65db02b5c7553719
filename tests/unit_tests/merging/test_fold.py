"""The engine: grouping, ranking, folding, and what it writes into a folded document."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any, Literal

import pytest
from langchain_core.documents import Document
from pydantic import PrivateAttr

from langchain_safe_retrievers.errors import PolicyError
from langchain_safe_retrievers.fusion.distribution_based import DistributionBased
from langchain_safe_retrievers.fusion.fuser import RankedList, Ranking
from langchain_safe_retrievers.fusion.reciprocal_rank import ReciprocalRank
from langchain_safe_retrievers.fusion.relative_score import RelativeScore
from langchain_safe_retrievers.identity import by_id, by_key, by_levels
from langchain_safe_retrievers.merging.fold import Engine
from langchain_safe_retrievers.merging.langchain_policies import (
    LangChainEnsembleMetaPolicy,
    LangChainMultiQueryUnionPolicy,
)
from langchain_safe_retrievers.merging.policy import MetadataPolicy


def doc(text: str, doc_id: str | None = None, **metadata: Any) -> Document:
    """Make a document."""
    return Document(page_content=text, id=doc_id, metadata=metadata)


def docs(texts: str) -> list[Document]:
    """Make a document of each letter."""
    return [doc(text) for text in texts]


def texts(documents: list[Document]) -> str:
    """Join the documents' texts."""
    return "".join(document.page_content for document in documents)


def merge(*legs: list[Document], engine: Engine | None = None, **call: Any) -> list[Document]:
    """Merge legs by an engine, the default one unless told otherwise."""
    return (engine or Engine()).merge(legs, **call).documents


def fold(*metadata: dict[Any, Any], **settings: Any) -> dict[Any, Any]:
    """Return what copies' metadata become, each copy in a leg of its own."""
    legs = [[Document(page_content="a", metadata=one)] for one in metadata]
    (folded,) = Engine(**settings).merge(legs).documents
    return folded.metadata


# --- ranking


def test_the_fused_score_is_the_weighted_sum_of_reciprocal_ranks() -> None:
    engine = Engine(fuser=ReciprocalRank(c=1), fused_score_key="rrf")
    merged = merge(docs("ab"), docs("bc"), engine=engine, weights=[1.0, 0.5])
    assert {d.page_content: d.metadata["rrf"] for d in merged} == {
        "a": 1 / 2,
        "b": 1 / 3 + 0.5 / 2,
        "c": 0.5 / 3,
    }
    assert texts(merged) == "bac"


def test_legs_weigh_one_each_by_default() -> None:
    merged = merge(docs("a"), docs("a"), engine=Engine(fused_score_key="rrf"))
    assert merged[0].metadata["rrf"] == 1 / 61 + 1 / 61


def test_ties_are_broken_by_leg_and_then_by_rank() -> None:
    assert texts(merge(docs("ab"), docs("cd"))) == "acbd"
    assert texts(merge(docs("abc"), docs("cba"), docs("def"))) == "acbdef"
    assert texts(merge(docs("ab"), docs("ba"))) == "ab"


def test_a_leg_of_weight_0_adds_documents_but_no_score() -> None:
    merged = merge(docs("xy"), docs("a"), weights=[0.0, 1.0])
    assert texts(merged) == "axy"


def test_a_document_repeated_in_a_leg_counts_once_at_its_best_rank() -> None:
    engine = Engine(fuser=ReciprocalRank(c=1), fused_score_key="rrf")
    merged = merge(docs("abaa"), engine=engine)
    assert [(d.page_content, d.metadata["rrf"]) for d in merged] == [("a", 1 / 2), ("b", 1 / 3)]


def test_a_document_repeated_in_a_leg_is_folded_with_itself() -> None:
    (folded,) = merge([doc("a", x=1), doc("a", y=2)])
    assert folded.metadata == {"x": 1, "y": 2}


def test_a_repeated_documents_score_is_added_once_for_its_leg() -> None:
    """One leg, one vote holds for "sum" and "weighted" as well: the best rank's score counts."""
    for score_agg, expected in (("sum", 0.5 + 0.25), ("weighted", 2 * 0.5 + 3 * 0.25)):
        engine = Engine(policy=LangChainEnsembleMetaPolicy(score_agg=score_agg))  # type: ignore[arg-type]
        one = [doc("a", score=0.5), doc("b"), doc("a", score=0.5)]
        folded = merge(one, [doc("a", score=0.25)], engine=engine, weights=[2.0, 3.0])[0]
        assert folded.metadata["score"] == expected


def test_k_cuts_after_fusing() -> None:
    assert texts(merge(docs("abc"), docs("cde"), k=2)) == "ca"
    assert merge(docs("abc"), k=0) == []
    assert texts(merge(docs("abc"), k=9)) == "abc"


def test_first_seen_order_follows_the_lists_end_to_end() -> None:
    assert texts(merge(docs("ab"), docs("cb"), docs("da"), first_seen=True)) == "abcd"


def test_first_seen_order_keeps_the_best_k() -> None:
    assert texts(merge(docs("abc"), docs("cd"), first_seen=True, k=2)) == "ac"


def test_no_legs_and_empty_legs_give_nothing() -> None:
    assert merge() == []
    assert merge([], []) == []
    assert texts(merge([], docs("a"))) == "a"


def test_as_many_weights_as_legs_are_needed() -> None:
    with pytest.raises(ValueError, match="zip"):
        merge(docs("a"), docs("b"), weights=[1.0])


# --- which copy survives


def test_content_and_id_of_the_first_legs_best_copy_stay() -> None:
    engine = Engine(identity=by_key("key"))
    one, two = doc("old", "1", key=7), doc("new", "2", key=7)
    (folded,) = merge([one], [two, one], engine=engine)
    assert (folded.page_content, folded.id) == ("old", "1")
    assert folded.metadata["_conflicts"] == {
        "Document.id": ["1", "2"],
        "Document.page_content": ["old", "new"],
    }


def test_an_id_that_only_another_copy_has_is_taken_over() -> None:
    (folded,) = merge([doc("a")], [doc("a", "7")])
    assert folded.id == "7"
    assert folded.metadata == {}


def test_documents_found_once_or_alike_everywhere_are_returned_themselves() -> None:
    one, alone = doc("a", "1", tags=["x"], n=1), doc("b", n=1)
    merged = merge([one, alone], [doc("a", tags=["x"], n=1)])
    assert merged[0] is one
    assert merged[1] is alone


class Passage(Document):
    """A document of a type of its own."""

    page: int = 0
    type: Literal["Passage"] = "Passage"  # type: ignore[assignment]
    _note: str = PrivateAttr(default="none")


def test_a_subclass_keeps_its_type_its_fields_and_its_private_attributes() -> None:
    one = Passage(page_content="a", page=3, metadata={"x": 1})
    one._note = "kept"
    (folded,) = merge([one], [doc("a", y=2)])
    assert type(folded) is Passage
    assert (folded.page, folded._note) == (3, "kept")
    assert folded.metadata == {"x": 1, "y": 2}
    assert one.metadata == {"x": 1}


def test_a_folded_document_serialises_copies_and_pickles_like_any() -> None:
    (folded,) = merge([doc("a", x=1)], [doc("a", "7", x=2)])
    assert pickle.loads(pickle.dumps(folded)) == folded == copy.deepcopy(folded)
    assert json.loads(folded.model_dump_json())["metadata"] == {"x": 1, "_conflicts": {"x": [1, 2]}}
    assert folded.model_dump(exclude_unset=True)["id"] == "7"


# --- conflicts


def test_what_copies_know_adds_up_and_what_they_dispute_is_recorded() -> None:
    assert fold({"lang": "en", "source": "vec"}, {"page": 3, "source": "bm25"}) == {
        "lang": "en",
        "source": "vec",
        "page": 3,
        "_conflicts": {"source": ["vec", "bm25"]},
    }


def test_no_dispute_no_record() -> None:
    assert fold({"a": 1, "t": [1]}, {"b": 2, "t": [2]}, {"a": 1.0}) == {"a": 1, "t": [1, 2], "b": 2}


def test_the_record_lists_distinct_values_in_legs_order() -> None:
    assert fold({"n": 3}, {"n": 1}, {"n": 3}, {"n": 2})["_conflicts"] == {"n": [3, 1, 2]}


def test_an_aggregated_score_has_the_scores_that_it_hides_on_record() -> None:
    folded = fold({"score": 0.5}, {"score": 0.75}, policy=LangChainEnsembleMetaPolicy())
    assert folded == {"score": 0.75, "_conflicts": {"score": [0.5, 0.75]}}


def test_the_record_may_have_another_name_or_none() -> None:
    assert fold({"n": 1}, {"n": 2}, conflicts_key="lost") == {"n": 1, "lost": {"n": [1, 2]}}
    assert fold({"n": 1}, {"n": 2}, conflicts_key=None) == {"n": 1}


def test_conflicts_are_reported_by_rank_even_where_none_are_written() -> None:
    legs = [[doc("a"), doc("b", n=1)], [doc("a"), doc("b", n=2)]]
    assert Engine(conflicts_key=None).merge(legs).conflicts == {2: {"n": [1, 2]}}


def test_a_policy_that_drops_everything_loses_nothing() -> None:
    folded = fold({"a": 1, "d": {"x": []}}, {"a": 2, "d": {}}, policy=lambda *_: {})
    assert folded == {"_conflicts": {"a": [1, 2], "d": [{"x": []}, {}]}}


def test_a_policy_that_takes_the_second_dict_loses_nothing() -> None:
    folded = fold({"a": 1, "b": 1}, {"a": 2, "c": [2]}, policy=lambda _, b: dict(b))
    assert folded == {"a": 2, "c": [2], "_conflicts": {"a": [1, 2], "b": [1]}}


def test_a_policy_that_invents_values_hides_none() -> None:
    folded = fold({"a": 1}, {"a": 2}, policy=lambda *_: {"a": "both"})
    assert folded == {"a": "both", "_conflicts": {"a": [1, 2]}}


def test_a_policy_that_returns_no_dict_is_told_so() -> None:
    with pytest.raises(PolicyError, match="returned NoneType"):
        fold({"a": 1}, {"a": 2}, policy=lambda *_: None)


def test_weighted_scores_use_the_weights_of_the_copies_legs() -> None:
    engine = Engine(policy=LangChainEnsembleMetaPolicy(score_agg="weighted"))
    legs = [[doc("a", score=0.5)], [doc("b", score=9)], [doc("a", score=1)]]
    merged = merge(*legs, engine=engine, weights=[0.5, 0.25, 2.0])
    assert {d.page_content: d.metadata["score"] for d in merged} == {"a": 0.25 + 2.0, "b": 9}


def test_equal_scores_add_up_under_sum_and_weighted() -> None:
    assert fold(
        {"score": 2}, {"score": 2}, policy=LangChainEnsembleMetaPolicy(score_agg="sum")
    ) == {
        "score": 4,
        "_conflicts": {"score": [2]},
    }


def test_the_union_policy_lets_the_last_scalar_win() -> None:
    folded = fold({"n": 1}, {"n": 2}, {"n": 1}, policy=LangChainMultiQueryUnionPolicy())
    assert folded == {"n": 1, "_conflicts": {"n": [1, 2]}}


def test_a_nested_mean_over_three_copies_is_the_mean_of_three() -> None:
    folded = fold(
        {"s": {"x": 1}},
        {"s": {"x": 2}},
        {"s": {"x": 6}},
        policy=MetadataPolicy(rules={"s.x": "mean"}),
    )
    assert folded == {"s": {"x": 3}, "_conflicts": {"s.x": [1, 2, 6]}}


def test_an_equal_set_stays_the_kind_of_set_it_was() -> None:
    folded = fold({"s": frozenset({1}), "n": 1}, {"s": frozenset({1}), "m": 1})
    assert type(folded["s"]) is frozenset


def test_equal_keys_that_look_different_are_recorded_under_one_path() -> None:
    folded = fold({1: "a"}, {True: "b"})
    assert folded == {1: "a", "_conflicts": {"1": ["a", "b"]}}


# --- folding what was folded (nested ensembles)


def test_an_inner_ensembles_conflicts_are_kept_and_added_to() -> None:
    inner = merge([doc("a", n=1, m=1)], [doc("a", n=2, m=1)])
    (outer,) = merge(inner, [doc("a", n=3, m=2)])
    assert outer.metadata == {"n": 1, "m": 1, "_conflicts": {"n": [1, 2, 3], "m": [1, 2]}}


def test_folding_what_was_folded_with_its_copies_changes_nothing() -> None:
    one, two = doc("a", "1", n=1, t=[1]), doc("a", "2", n=2, t=[2])
    folded = merge([one], [two])
    assert merge(folded, [one], [two]) == folded
    assert merge(folded, [two], [one])[0].metadata == folded[0].metadata


def test_folding_again_changes_nothing_where_a_list_that_grew_met_a_scalar() -> None:
    copies = [[doc("a", n=[1])], [doc("a", n="z")], [doc("a", n=[2])]]
    folded = merge(*copies)
    assert merge(folded, *copies) == folded


def test_an_inner_ensembles_provenance_is_kept_inside_the_outer_ones() -> None:
    engine = Engine(provenance_key="found")
    inner = merge([doc("a", "1")], engine=engine)
    (outer,) = merge(docs("b"), inner, engine=engine)[1:]
    (entry,) = outer.metadata["found"]
    assert entry["leg"] == "retriever_2"
    (deeper,) = entry["provenance"]
    assert (deeper["leg"], deeper["id"]) == ("retriever_1", "1")


def test_an_inner_ensembles_fused_score_gives_way_to_the_outer_ones_without_conflict() -> None:
    engine = Engine(fused_score_key="rrf")
    inner = merge(docs("a"), engine=engine)
    (outer,) = merge(inner, docs("a"), engine=engine)
    assert outer.metadata == {"rrf": 1 / 61 + 1 / 61}


# --- provenance and fused score


def test_provenance_tells_leg_query_rank_score_weight_contribution_and_id() -> None:
    vector = RankedList([doc("b"), doc("a", "1")], leg="vec", query="q1", scores=[0.9, 0.8])
    words = RankedList([doc("a", "2")], leg="bm25", query="q2", scores=[7.5])
    engine = Engine(fuser=ReciprocalRank(c=1), provenance_key="found", fused_score_key="rrf")
    (folded,) = [
        d for d in merge(vector, words, engine=engine, weights=[0.5, 2.0]) if d.page_content == "a"
    ]
    assert folded.metadata["found"] == [
        {
            "leg": "vec",
            "query": "q1",
            "rank": 2,
            "score": 0.8,
            "weight": 0.5,
            "contribution": 0.5 / 3,
            "id": "1",
        },
        {
            "leg": "bm25",
            "query": "q2",
            "rank": 1,
            "score": 7.5,
            "weight": 2.0,
            "contribution": 2.0 / 2,
            "id": "2",
        },
    ]
    assert folded.metadata["rrf"] == 0.5 / 3 + 2.0 / 2


def test_a_plain_list_is_named_by_its_place_and_its_scores_are_read_from_the_metadata() -> None:
    (found,) = merge(docs("b"), [doc("a", score=0.5)], engine=Engine(provenance_key="found"))[
        1
    ].metadata["found"]
    assert (found["leg"], found["query"], found["score"]) == ("retriever_2", None, 0.5)


def test_every_place_is_told_and_only_the_best_of_a_leg_contributes() -> None:
    (folded, _) = merge(docs("aba"), engine=Engine(provenance_key="found"))
    assert [(entry["rank"], entry["contribution"]) for entry in folded.metadata["found"]] == [
        (1, 1 / 61),
        (3, 0.0),
    ]


def test_contributions_add_up_to_the_fused_score() -> None:
    engine = Engine(provenance_key="found", fused_score_key="fused")
    for document in merge(
        docs("abca"), docs("cxa"), docs("a"), engine=engine, weights=[1.0, 0.5, 2.0]
    ):
        contributions = [entry["contribution"] for entry in document.metadata["found"]]
        assert sum(contributions) == document.metadata["fused"]


def test_extras_are_added_to_a_copy_and_never_to_the_input() -> None:
    one = doc("a", n=1)
    (merged,) = merge([one], engine=Engine(provenance_key="found", fused_score_key="rrf"))
    assert one.metadata == {"n": 1}
    assert merged is not one
    assert set(merged.metadata) == {"n", "found", "rrf"}


# --- the reserved keys as users' own keys


@pytest.mark.parametrize("value", ["mine", 3, ["mine"], {"x": 1}, {"x": [1]}])
@pytest.mark.parametrize("key", ["_conflicts", "found", "rrf"])
@pytest.mark.parametrize("legs", [1, 2, 3])
def test_what_a_user_keeps_under_a_reserved_key_is_not_lost(
    key: str, value: Any, legs: int
) -> None:
    engine = Engine(provenance_key="found", fused_score_key="rrf")
    lists = [[Document(page_content="a", metadata={key: value, "n": n})] for n in range(legs)]
    (folded,) = merge(*lists, engine=engine)
    record = folded.metadata.get("_conflicts", {})
    kept = (
        record.get(key) == [value]
        or record == value
        or (isinstance(value, dict) and record.items() >= value.items())
        or any(entry.get("provenance") == value for entry in folded.metadata["found"])
    )
    assert kept


def test_a_legs_own_score_under_the_fused_scores_name_is_not_lost() -> None:
    folded = fold({"score": 0.5}, {"score": 0.75}, fused_score_key="score")
    assert folded["score"] == 1 / 61 + 1 / 61
    assert folded["_conflicts"]["score"] == [0.5, 0.75]


def test_a_users_own_conflicts_key_stays_where_nothing_is_added() -> None:
    (same,) = merge([doc("a", _conflicts="mine")], [doc("a", _conflicts="mine")])
    assert same.metadata == {"_conflicts": "mine"}


# --- score-based fusers


@pytest.mark.parametrize("fuser", [RelativeScore(), DistributionBased()])
def test_a_leg_without_scores_is_named(fuser: Any) -> None:
    legs = [[doc("a", score=0.5), doc("b", score=0.25)], RankedList(docs("ab"), leg="bm25"), []]
    assert Engine(fuser=fuser).merge(legs).legs_without_scores == ("bm25",)


def test_a_rank_based_fuser_misses_no_scores() -> None:
    assert Engine().merge([docs("a")]).legs_without_scores == ()


def test_scores_are_read_under_the_key_that_the_engine_names() -> None:
    engine = Engine(fuser=RelativeScore(), score_key="similarity", fused_score_key="fused")
    merged = merge(
        [doc("a", similarity=4), doc("b", similarity=3), doc("c", similarity=2)], engine=engine
    )
    assert [d.metadata["fused"] for d in merged] == [1.0, 0.5, 0.0]


class _FirstOnly:
    """A user's own fuser: only the best hit of a leg counts."""

    def contributions(self, leg: Ranking, weight: float) -> list[float]:
        return [weight if rank == 1 else 0.0 for rank in leg.ranks]


def test_a_users_own_fuser_is_one_method() -> None:
    merged = merge(docs("ab"), docs("ba"), docs("ba"), engine=Engine(fuser=_FirstOnly()))
    assert texts(merged) == "ba"


# --- identity


def test_documents_without_identity_are_never_merged() -> None:
    engine = Engine(identity=by_id)
    assert len(merge(docs("aa"), docs("a"), engine=engine)) == 3


def test_an_identity_value_need_not_be_hashable() -> None:
    engine = Engine(identity=by_key("key"))
    values: list[Any] = [[1], {"a": 1}, {1}, [True], [1.0], {"a": 1}, "1", 1, True, 1.0]
    merged = merge([doc(str(n), key=value) for n, value in enumerate(values)], engine=engine)
    assert texts(merged) == "0123678"


def test_levels_of_identity_do_not_mix() -> None:
    engine = Engine(identity=by_levels(by_key("key"), by_id))
    one = [doc("a", "1", key="k"), doc("b", "k"), doc("c", "1")]
    two = [doc("d", "2", key="k"), doc("e", "k"), doc("f", key=None)]
    merged = merge(one, two, engine=engine, first_seen=True)
    assert texts(merged) == "abcf"


def test_a_merge_is_as_fast_with_thousands_of_copies_as_it_ought_to_be() -> None:
    """Linear: a quadratic engine would compare 4,500,000 pairs here."""
    lists = [[doc(str(n), n=n, leg=leg, tags=[n, leg]) for n in range(3000)] for leg in range(2)]
    assert len(merge(*lists)) == 3000
