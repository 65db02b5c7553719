from __future__ import annotations

import asyncio
import json
import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_safe_retrievers import (
    HybridRetriever,
    KeywordRetriever,
    ReciprocalRank,
    SafeEnsembleRetriever,
    SafeMultiQueryRetriever,
    SafeRetriever,
    SQLRetriever,
    VectorRetriever,
    by_id,
    by_key,
    by_levels,
)
from langchain_safe_retrievers.explaining.explain import aexplain, explain, explain_traces
from langchain_safe_retrievers.explaining.explanation import Explanation
from langchain_safe_retrievers.merging.values import same
from langchain_safe_retrievers.testing import FakeLeg
from langchain_safe_retrievers.trace import collect_traces
from tests.unit_tests.laws import bare, lost
from tests.unit_tests.strategies import ranked_lists


def doc(text: str, id: str | None = None, **metadata: object) -> Document:
    return Document(page_content=text, metadata=metadata, id=id)


def ensemble(*legs: object, **fields: object) -> SafeEnsembleRetriever:
    return SafeEnsembleRetriever(retrievers=list(legs), **fields)


def texts(explanation: Explanation) -> list[str]:
    return [found.document.page_content for found in explanation.returned]


def origin(explanation: Explanation, path: str, place: int = 0) -> list[str]:
    found = explanation.documents[place]
    (value,) = [value for value in found.values if value.path == path]
    return [found.copies[number].leg for number in value.copies]


# Ensemble ----------------------------------------------------------------------------------------


def test_every_copy_has_its_leg_query_rank_score_weight_and_contribution():
    retriever = ensemble(
        FakeLeg(documents=[(doc("a"), 0.9), (doc("b"), 0.5)]),
        FakeLeg(documents=["b"]),
        leg_names=["vector", "keyword"],
        weights=[0.75, 0.25],
        c=1,
    )

    found = explain(retriever, "question").documents

    copies = [[(c.leg, c.query, c.rank, c.score, c.weight) for c in each.copies] for each in found]
    assert copies == [
        [("vector", "question", 1, 0.9, 0.75)],
        [("vector", "question", 2, 0.5, 0.75), ("keyword", "question", 1, None, 0.25)],
    ]
    assert [c.contribution for c in found[1].copies] == [0.75 / 3, 0.25 / 2]
    assert [each.score for each in found] == [0.75 / 2, 0.75 / 3 + 0.25 / 2]


def test_documents_stand_in_fused_order_and_say_what_k_removed():
    retriever = ensemble(FakeLeg(documents=["a", "b", "c"]), FakeLeg(documents=["c", "b"]))

    explanation = explain(retriever, "question", k=2)

    found = [
        (each.document.page_content, each.rank, each.removed_by) for each in explanation.documents
    ]
    assert found == [("c", 1, None), ("b", 2, None), ("a", None, "k")]
    assert [each.fused_rank for each in explanation.documents] == [1, 2, 3]
    assert texts(explanation) == [each.page_content for each in retriever.invoke("question", k=2)]


def test_hits_say_which_document_they_became_and_which_the_filter_removed():
    leg = FakeLeg(documents=[doc("a", lang="de"), doc("b", lang="en"), doc("c", lang="en")])

    (found,) = explain(ensemble(leg), "question", filter={"lang": "en"}).legs

    assert [(hit.rank, hit.counted, hit.place) for hit in found.hits] == [
        (1, None, None),
        (2, 1, 0),
        (3, 2, 1),
    ]
    assert found.filtered == 1


def test_a_document_that_a_leg_repeats_has_both_copies_and_one_vote():
    (found,) = explain(ensemble(FakeLeg(documents=["a"], repeat=2)), "question").documents

    assert [copy.rank for copy in found.copies] == [1, 2]
    assert [copy.contribution for copy in found.copies] == [1 / 61, 0.0]


@pytest.mark.parametrize(
    ("identity", "rule", "value"),
    [
        (by_levels(by_key("key"), by_id), "by_key(key='key')", 7),
        (by_id, "by_id", "1"),
    ],
)
def test_the_identity_that_joined_the_copies_is_named_with_its_value(identity, rule, value):
    legs = [FakeLeg(documents=[doc("a", "1", key=7)]), FakeLeg(documents=[doc("b", "1", key=7)])]

    (found,) = explain(ensemble(*legs, identity=identity), "question").documents

    assert (found.joined_by, found.joined_on) == (rule, value)


def test_copies_with_one_text_are_joined_by_content_and_a_single_copy_by_nothing():
    found = explain(
        ensemble(FakeLeg(documents=["a", "b"]), FakeLeg(documents=["a"])), "q"
    ).documents

    assert [(each.joined_by, each.joined_on) for each in found] == [
        ("by_content", None),
        ("", None),
    ]


def test_the_settings_name_fuser_identity_policy_k_and_order():
    named = explain(ensemble(FakeLeg(documents=["a"]), identity=by_id), "question", k=3).settings

    assert named["fuser"] == "ReciprocalRank(c=60)"
    assert named["identity"] == "by_id"
    assert named["merge policy"].startswith("LangChainEnsembleMetaPolicy(")
    assert (named["k"], named["order"]) == ("3", "fused score")


def test_a_leg_of_weight_0_stands_there_as_skipped():
    retriever = ensemble(FakeLeg(documents=["a"]), FakeLeg(documents=["b"]), weights=[1, 0])

    legs = explain(retriever, "question").legs

    assert [(leg.status, leg.weight, len(leg.hits)) for leg in legs] == [
        ("ok", 1, 1),
        ("skipped", 0, 0),
    ]


def test_what_a_subclass_removes_after_fusion_was_removed_by_a_step():
    class Shorter(SafeEnsembleRetriever):
        def weighted_reciprocal_rank(self, doc_lists):
            return super().weighted_reciprocal_rank(doc_lists)[1:]

    found = explain(Shorter(retrievers=[FakeLeg(documents=["a", "b"])]), "question").documents

    assert [(each.rank, each.removed_by) for each in found] == [(None, "step"), (1, None)]


def test_what_a_subclass_adds_after_fusion_is_in_no_list():
    class Longer(SafeEnsembleRetriever):
        def weighted_reciprocal_rank(self, doc_lists):
            return [doc("new"), *super().weighted_reciprocal_rank(doc_lists)]

    explanation = explain(Longer(retrievers=[FakeLeg(documents=["a"])]), "question")

    assert texts(explanation) == ["new", "a"]
    assert [(each.rank, each.fused_rank, len(each.copies)) for each in explanation.documents] == [
        (2, 1, 1),
        (1, None, 0),
    ]


def test_a_step_that_puts_documents_in_another_order_gives_each_its_new_rank():
    class Turned(SafeEnsembleRetriever):
        def weighted_reciprocal_rank(self, doc_lists):
            return super().weighted_reciprocal_rank(doc_lists)[::-1]

    explanation = explain(Turned(retrievers=[FakeLeg(documents=["a", "b", "c"])]), "question")

    assert [each.rank for each in explanation.documents] == [3, 2, 1]
    assert texts(explanation) == ["c", "b", "a"]


# Failures ----------------------------------------------------------------------------------------


def test_what_invoke_raises_is_not_raised_but_stands_in_the_report():
    broken = FakeLeg(error=ConnectionError("refused"))

    explanation = explain(ensemble(FakeLeg(documents=["a"]), broken), "question")

    assert explanation.report.error == "ConnectionError: refused"
    assert explanation.legs[1].status == "failed"
    assert explanation.legs[1].error == "ConnectionError: refused"
    assert explanation.documents == ()


def test_a_leg_that_was_skipped_says_what_failed_and_the_others_are_explained():
    broken = FakeLeg(error=ConnectionError("refused"))

    explanation = explain(
        ensemble(FakeLeg(documents=["a"]), broken, on_leg_error="skip"), "question"
    )

    assert [leg.status for leg in explanation.legs] == ["ok", "failed"]
    assert explanation.report.degraded
    assert texts(explanation) == ["a"]


def test_a_filter_that_cannot_be_read_is_shown():
    error = explain(
        ensemble(FakeLeg(documents=["a"])), "question", filter={"a": {"$what": 1}}
    ).report.error

    assert error is not None
    assert error.startswith("FilterError: ")


def test_a_fuser_that_fails_is_shown_and_the_legs_are_still_there():
    class Broken:
        def contributions(self, leg, weight):
            raise ZeroDivisionError

    explanation = explain(ensemble(FakeLeg(documents=["a"]), fuser=Broken()), "question")

    assert explanation.report.error == "ZeroDivisionError: "
    assert [hit.document.page_content for hit in explanation.legs[0].hits] == ["a"]
    assert any("could not be replayed" in note for note in explanation.report.notes)


def test_what_no_policy_holds_back_is_raised():
    with pytest.raises(KeyboardInterrupt):
        explain(ensemble(FakeLeg(error=KeyboardInterrupt())), "question")


# The other retrievers ----------------------------------------------------------------------------


def multi_query(leg: object, **fields: object) -> SafeMultiQueryRetriever:
    writer = RunnableLambda(lambda _: "one\ntwo")
    return SafeMultiQueryRetriever(retriever=leg, llm_chain=writer, **fields)


def test_a_multi_query_has_a_leg_for_each_query_and_no_scores_for_a_union():
    leg = RunnableLambda(lambda query: [query, "both"])

    explanation = explain(multi_query(leg), "question")

    assert [(leg.name, leg.query) for leg in explanation.legs] == [
        ("query_1", "one"),
        ("query_2", "two"),
    ]
    assert texts(explanation) == ["one", "both", "two"]
    assert [each.score for each in explanation.documents] == [None, None, None]
    copies = [(copy.query, copy.contribution) for copy in explanation.documents[1].copies]
    assert copies == [("one", None), ("two", None)]
    assert explanation.settings["order"] == "first seen"


def test_a_union_that_is_cut_keeps_its_order_and_says_which_were_cut():
    leg = RunnableLambda(lambda query: [query, "both"])

    explanation = explain(multi_query(leg, k=1), "question")

    found = [
        (each.document.page_content, each.rank, each.removed_by) for each in explanation.documents
    ]
    assert found == [("one", None, "k"), ("both", 1, None), ("two", None, "k")]


def test_a_multi_query_with_a_fuser_ranks_across_queries():
    leg = RunnableLambda(lambda query: [query, "both"])

    explanation = explain(multi_query(leg, fusion=ReciprocalRank(c=1)), "question")

    assert texts(explanation)[0] == "both"
    assert explanation.documents[0].score == 2 / 3


PASSAGES = [doc("Bees make honey.", "1", page=1), doc("Wasps make paper.", "2", page=2)]


def keyword() -> KeywordRetriever:
    return KeywordRetriever.from_documents(PASSAGES)


def vector() -> VectorRetriever:
    retriever = VectorRetriever(InMemoryVectorStore(DeterministicFakeEmbedding(size=8)))
    retriever.add_documents(PASSAGES)
    return retriever


def sql() -> SQLRetriever:
    return SQLRetriever("sqlite://", statement="SELECT 'Bees make honey.' AS text, 1 AS page")


@pytest.mark.parametrize("make", [keyword, vector, sql])
def test_a_retriever_that_merges_nothing_is_its_own_one_leg(make):
    retriever = make()

    explanation = explain(retriever, "honey")

    (leg,) = explanation.legs
    assert (leg.name, leg.query, leg.status) == (retriever.get_name(), "honey", "ok")
    assert [hit.document for hit in leg.hits] == list(retriever.invoke("honey"))
    assert [hit.place for hit in leg.hits] == list(range(len(leg.hits)))
    assert [each.rank for each in explanation.documents] == list(range(1, len(leg.hits) + 1))
    assert origin(explanation, "page") == [leg.name]


def test_a_keyword_retriever_shows_its_scores():
    retriever = keyword()

    (leg,) = explain(retriever, "honey").legs

    assert [hit.score for hit in leg.hits] == retriever.invoke("honey").scores


def test_a_retriever_that_merges_nothing_and_fails_says_so():
    explanation = explain(FakeLeg(error=ValueError("no index")), "question")

    assert explanation.report.error == "ValueError: no index"
    assert explanation.legs[0].status == "failed"


def test_an_answer_that_is_no_list_of_documents_is_shown_as_the_error():
    explanation = explain(RunnableLambda(lambda _: 7), "question")

    assert explanation.report.error is not None
    assert explanation.report.error.startswith("LegResultError: ")


def test_a_hybrid_retriever_shows_its_legs_by_name():
    explanation = explain(HybridRetriever(vector=vector(), keyword=keyword()), "honey")

    assert [leg.name for leg in explanation.legs] == ["vector", "keyword"]
    assert [copy.leg for copy in explanation.documents[0].copies] == ["vector", "keyword"]
    assert explanation.documents[0].joined_by.startswith("by_id")


def safe(leg: object, **fields: object) -> SafeRetriever:
    return SafeRetriever(retriever=leg, max_retries=0, **fields)


SCORED = [(doc("a", lang="en"), 0.9), (doc("b", lang="de"), 0.8), (doc("c", lang="en"), 0.1)]


def test_what_a_floor_for_scores_cut_was_removed_later():
    explanation = explain(safe(FakeLeg(documents=SCORED), min_score=0.5), "question")

    found = [(e.document.page_content, e.rank, e.removed_by) for e in explanation.documents]
    assert found == [("a", 1, None), ("b", 2, None), ("c", None, "step")]
    assert [hit.score for hit in explanation.legs[0].hits] == [0.9, 0.8, 0.1]


def test_what_the_filter_removed_where_nothing_is_fused_is_only_in_its_leg():
    explanation = explain(safe(FakeLeg(documents=SCORED)), "question", filter={"lang": "en"})

    assert texts(explanation) == ["a", "c"]
    assert len(explanation.documents) == 2
    assert [hit.counted for hit in explanation.legs[0].hits] == [1, None, 2]


def test_an_answer_from_a_cache_says_so_and_shows_the_list():
    retriever = safe(FakeLeg(documents=SCORED), cache=True)
    retriever.invoke("question")

    explanation = explain(retriever, "question")

    assert explanation.report.cache == "hit"
    (leg,) = explanation.legs
    assert (leg.status, leg.attempts, len(leg.hits)) == ("cached", 0, 3)


def test_an_answer_of_a_fallback_names_who_gave_it():
    dead = FakeLeg(error=ConnectionError("refused"))

    explanation = explain(safe(dead, fallbacks=[FakeLeg(documents=["a"])]), "question")

    assert [(leg.status, len(leg.hits)) for leg in explanation.legs] == [
        ("failed", 0),
        ("fallback", 1),
    ]
    assert [copy.leg for copy in explanation.documents[0].copies] == ["FakeLeg (fallback 1)"]


# Nested ones -------------------------------------------------------------------------------------


def test_a_leg_that_is_a_retriever_of_this_package_is_explained_inside():
    inner = ensemble(FakeLeg(documents=["a"]), FakeLeg(documents=["a", "b"]))

    explanation = explain(ensemble(inner, FakeLeg(documents=["b"])), "question")

    (inside,) = explanation.legs[0].inner
    assert [len(leg.hits) for leg in inside.legs] == [1, 2]
    assert explanation.legs[1].inner == ()
    assert explanation.inner == ()


def test_legs_that_return_the_same_objects_are_told_apart():
    leg = FakeLeg(documents=["a"])
    shared = FakeLeg(documents=[doc("a")])
    one, two = ensemble(shared, leg_names=["one"]), ensemble(ensemble(shared), leg_names=["two"])

    explanation = explain(ensemble(one, two, leg), "question")

    insides = [[inside.legs[0].name for inside in each.inner] for each in explanation.legs]
    assert insides == [["one"], ["two"], []]
    assert [inside.retriever for inside in explanation.legs[1].inner[0].legs[0].inner] == [
        "SafeEnsembleRetriever"
    ]


def test_each_query_of_a_multi_query_has_its_own_inside():
    inner = ensemble(RunnableLambda(lambda query: [query]))

    explanation = explain(multi_query(inner), "question")

    assert [leg.inner[0].query for leg in explanation.legs] == ["one", "two"]
    assert [leg.inner[0].documents[0].document.page_content for leg in explanation.legs] == [
        "one",
        "two",
    ]


def test_three_levels_are_explained_inside_each_other():
    deepest = ensemble(FakeLeg(documents=["a"]))

    explanation = explain(ensemble(multi_query(deepest), FakeLeg(documents=["a"])), "question")

    (middle,) = explanation.legs[0].inner
    assert [leg.inner[0].retriever for leg in middle.legs] == ["SafeEnsembleRetriever"] * 2


def test_a_nested_retriever_that_failed_is_explained_at_its_leg():
    inner = ensemble(FakeLeg(error=ValueError("inside")))

    explanation = explain(
        ensemble(FakeLeg(documents=["a"]), inner, on_leg_error="skip"), "question"
    )

    assert explanation.legs[1].inner[0].report.error == "ValueError: inside"


def test_a_retrieval_inside_a_chain_is_explained_beside_the_legs():
    inner = ensemble(FakeLeg(documents=["a"]))
    chain = (
        RunnableLambda(lambda query: f"{query}, rewritten")
        | inner
        | (lambda found: [doc("z"), *found[1:]])
    )

    explanation = explain(ensemble(chain), "question")

    assert [each.query for each in explanation.inner] == ["question, rewritten"]


def test_a_wrapper_is_explained_as_what_it_wraps():
    retriever = ensemble(FakeLeg(documents=["a"])).with_retry().with_config(tags=["t"])

    explanation = explain(retriever, "question")

    assert explanation.retriever == "SafeEnsembleRetriever"
    assert texts(explanation) == ["a"]


def test_a_foreign_retriever_shows_the_retrievals_inside_its_one_leg():
    class Foreign(BaseRetriever):
        inner: SafeEnsembleRetriever

        def _get_relevant_documents(self, query, *, run_manager):
            return self.inner.invoke(query)

    explanation = explain(Foreign(inner=ensemble(FakeLeg(documents=["a"]))), "question")

    assert explanation.retriever == "Foreign"
    assert [each.retriever for each in explanation.legs[0].inner] == ["SafeEnsembleRetriever"]


# Where values came from --------------------------------------------------------------------------


def folded(*metadata: dict, **fields: object) -> Explanation:
    legs = [FakeLeg(documents=[doc("a", **each)]) for each in metadata]
    names = ["one", "two", "three"][: len(legs)]
    return explain(ensemble(*legs, leg_names=names, **fields), "question")


def test_every_value_names_the_copies_that_had_it():
    explanation = folded({"lang": "en", "page": 1}, {"lang": "en", "owner": "Ada"})

    assert origin(explanation, "lang") == ["one", "two"]
    assert origin(explanation, "page") == ["one"]
    assert origin(explanation, "owner") == ["two"]


def test_a_displaced_value_names_the_copies_that_had_it():
    explanation = folded({"lang": "en"}, {"lang": "de"}, {"lang": "de"})

    (value,) = explanation.documents[0].conflicts
    assert (value.path, value.value, value.copies) == ("lang", "en", (0,))
    assert [(each.value, each.copies) for each in value.displaced] == [("de", (1, 2))]


def test_a_value_deep_inside_has_its_own_origin():
    explanation = folded({"author": {"name": "Ada"}}, {"author": {"name": "Ada", "born": 1815}})

    assert origin(explanation, "author.name") == ["one", "two"]
    assert origin(explanation, "author.born") == ["two"]


def test_the_elements_of_a_joined_list_have_their_own_origins():
    explanation = folded({"tags": ["a", "b"]}, {"tags": ["b", "c"]})

    assert origin(explanation, "tags") == ["one", "two"]
    assert [origin(explanation, f"tags[{n}]") for n in range(3)] == [
        ["one"],
        ["one", "two"],
        ["two"],
    ]


def test_a_value_that_the_policy_made_comes_from_no_copy_and_displaces_what_they_had():
    (value,) = (
        folded({"n": 1}, {"n": 2}, merge_policy=lambda a, b: {"n": a["n"] + b["n"]})
        .documents[0]
        .values
    )

    assert (value.path, value.value, value.copies) == ("n", 3, ())
    assert [(each.value, each.copies) for each in value.displaced] == [(1, (0,)), (2, (1,))]


def test_a_value_that_the_policy_dropped_is_there_as_displaced():
    (value,) = (
        folded({"n": 1}, {"n": 1, "m": 2}, merge_policy=lambda a, b: {"n": 1})
        .documents[0]
        .conflicts
    )

    assert (value.path, value.is_shown) == ("m", False)
    assert [(each.value, each.copies) for each in value.displaced] == [(2, (1,))]


def test_ids_and_texts_that_differ_have_origins_too():
    legs = [FakeLeg(documents=[doc("a", "1", key=7)]), FakeLeg(documents=[doc("b", "2", key=7)])]

    (found,) = explain(ensemble(*legs, id_key="key"), "question").documents

    lost = {
        value.path: [(each.value, each.copies) for each in value.displaced]
        for value in found.conflicts
    }
    assert lost == {"Document.id": [("2", (1,))], "Document.page_content": [("b", (1,))]}


def test_a_conflict_of_a_nested_retriever_names_the_copy_that_brought_it():
    inner = ensemble(
        FakeLeg(documents=[doc("a", lang="en")]), FakeLeg(documents=[doc("a", lang="de")])
    )

    explanation = explain(ensemble(inner, FakeLeg(documents=[doc("a", lang="en")])), "question")

    (value,) = explanation.documents[0].conflicts
    assert [(each.value, each.copies) for each in value.displaced] == [("de", (0,))]


def test_conflicts_are_told_even_where_no_key_is_to_hold_them():
    explanation = folded({"lang": "en"}, {"lang": "de"}, conflicts_key=None)

    assert [value.path for value in explanation.documents[0].conflicts] == ["lang"]


def test_keys_that_the_engine_writes_itself_are_no_metadata_of_a_copy():
    explanation = folded(
        {"lang": "en"}, {"lang": "de"}, provenance_key="found", fused_score_key="fused"
    )

    assert [value.path for value in explanation.documents[0].values] == ["lang"]


def test_a_cycle_in_metadata_ends():
    cycle: dict = {"name": "loop"}
    cycle["self"] = cycle
    other: dict = {"name": "other"}
    other["self"] = other

    explanation = folded({"a": cycle}, {"a": other})

    assert "a.name" in [value.path for value in explanation.documents[0].values]
    json.dumps(explanation.to_dict())


# The whole ---------------------------------------------------------------------------------------


async def test_async_explains_the_same():
    inner = ensemble(FakeLeg(documents=["a"]), FakeLeg(documents=["a", "b"]))
    retriever = ensemble(inner, FakeLeg(documents=[doc("b", lang="en")]), k=1)

    found, again = (
        explain(retriever, "question").to_dict(),
        (await aexplain(retriever, "question")).to_dict(),
    )

    assert timeless(found) == timeless(again)


def timeless(value: object) -> object:
    if isinstance(value, dict):
        return {key: timeless(item) for key, item in value.items() if key != "seconds"}
    return [timeless(item) for item in value] if isinstance(value, list) else value


async def test_explanations_at_once_are_not_mixed():
    retriever = ensemble(RunnableLambda(lambda query: [query]))

    found = await asyncio.gather(*(aexplain(retriever, str(n)) for n in range(20)))

    assert [texts(each) for each in found] == [[str(n)] for n in range(20)]


def test_traces_that_were_collected_can_be_explained_later():
    retriever = ensemble(ensemble(FakeLeg(documents=["a"])), FakeLeg(documents=["b"]))
    with collect_traces() as traces:
        retriever.invoke("question")

    later = explain_traces(traces)

    assert timeless(later.to_dict()) == timeless(explain(retriever, "question").to_dict())


def test_to_dict_holds_only_what_json_has():
    legs = [
        FakeLeg(documents=[doc("a", x={1, 2}, y=float("nan"))]),
        FakeLeg(documents=[doc("a", x=b"2")]),
    ]

    found = explain(ensemble(*legs), "question", filter=lambda _: True).to_dict()

    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_str_is_the_report():
    explanation = explain(ensemble(FakeLeg(documents=["a"])), "question")

    assert str(explanation) == str(explanation.report)


@given(st.integers(0, 10_000))
def test_an_explanation_agrees_with_the_answer_and_accounts_for_every_hit(seed: int):
    draw = random.Random(seed)
    lists = [
        [
            doc(draw.choice("abcdef"), draw.choice([None, "1", "2"]), n=draw.randrange(3))
            for _ in range(draw.randrange(6))
        ]
        for _ in range(draw.randrange(1, 4))
    ]
    retriever = ensemble(*(FakeLeg(documents=each) for each in lists), k=draw.choice([None, 1, 3]))
    wanted = draw.choice([None, {"n": {"$ne": 1}}])

    explanation = explain(retriever, "question", filter=wanted)

    answer = retriever.invoke("question", filter=wanted)
    assert [found.document for found in explanation.returned] == answer
    for leg in explanation.legs:
        for hit in leg.hits:
            assert (hit.counted is None) == (hit.place is None)
            if hit.place is not None:
                copies = explanation.documents[hit.place].copies
                assert (leg.name, hit.counted) in [(copy.leg, copy.rank) for copy in copies]
    scores = [found.score for found in explanation.documents]
    assert scores == sorted(scores, reverse=True)
    for found in explanation.documents:
        assert found.score == pytest.approx(sum(copy.contribution for copy in found.copies))


def test_an_explanation_can_be_copied_with_other_fields():
    explanation = explain(ensemble(FakeLeg(documents=["a"])), "question")

    assert replace(explanation, query="other").query == "other"


@settings(max_examples=50)
@given(ranked_lists())
def test_every_value_of_every_copy_is_shown_or_displaced_and_names_that_copy(lists):
    for found in explain(
        ensemble(*(FakeLeg(documents=each) for each in lists)), "question"
    ).documents:
        displaced = {
            v.path: [v.value, *(each.value for each in v.displaced)] for v in found.conflicts
        }
        values = {value.path: value for value in found.values}
        for number, copy in enumerate(found.copies):
            metadata = copy.document.metadata
            assert lost(metadata, bare(found.document), displaced) == []
            for key in metadata.keys() & {"source", "score"}:
                value = values.get(key)
                if value is not None and not value.is_joined:
                    had = [value.copies] if same(value.value, metadata[key]) else []
                    had += [e.copies for e in value.displaced if same(e.value, metadata[key])]
                    assert all(number in copies for copies in had)
