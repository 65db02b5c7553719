from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from langchain_classic.retrievers import EnsembleRetriever, MergerRetriever, MultiQueryRetriever
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda

from langchain_safe_retrievers import ConfigurationError, FilterError, SafeEnsembleRetriever
from langchain_safe_retrievers.auditing.audit import audit
from langchain_safe_retrievers.auditing.loss import LossReport
from langchain_safe_retrievers.testing import FakeLeg
from tests.unit_tests.strategies import json_values, ranked_lists


def doc(text: str, id: str | None = None, **metadata: object) -> Document:
    return Document(page_content=text, metadata=metadata, id=id)


def ensemble(*lists: list[Any], **fields: Any) -> EnsembleRetriever:
    legs = [each if isinstance(each, FakeLeg) else FakeLeg(documents=each) for each in lists]
    return EnsembleRetriever(retrievers=legs, **fields)


def merger(*lists: list[Any]) -> MergerRetriever:
    return MergerRetriever(retrievers=[FakeLeg(documents=each) for each in lists])


def multi_query(queries: str, found: dict[str, list[Any]], **fields: Any) -> MultiQueryRetriever:
    class Leg(FakeLeg):
        def _get_relevant_documents(self, query, **kwargs):
            return found.get(query, [])

    writer = RunnableLambda(lambda _: queries.split("\n"))
    return MultiQueryRetriever(retriever=Leg(), llm_chain=writer, **fields)


def lost(report: LossReport) -> dict[str, tuple[Any, tuple[str, ...], bool]]:
    values = [
        value for query in report.queries for each in query.documents for value in each.values
    ]
    return {value.path: (value.value, value.legs, value.is_key_lost) for value in values}


# EnsembleRetriever -------------------------------------------------------------------------------


def test_a_value_that_only_a_later_leg_had_is_lost_with_its_key():
    report = audit(ensemble([doc("a", lang="en")], [doc("a", page=3)]), ["q"])

    assert lost(report) == {"page": (3, ("retriever_2",), True)}
    assert (report.totals.values, report.totals.keys_gone) == (1, 1)


def test_a_value_that_another_one_displaced_is_lost_and_its_key_is_not():
    report = audit(ensemble([doc("a", lang="en")], [doc("a", lang="de")]), ["q"])

    assert lost(report) == {"lang": ("de", ("retriever_2",), False)}
    assert (report.totals.keys_gone, report.totals.in_place, report.totals.in_conflicts) == (
        0,
        0,
        1,
    )


def test_a_value_that_two_legs_had_is_lost_once_and_names_both():
    report = audit(ensemble([doc("a")], [doc("a", page=3)], [doc("a", page=3)]), ["q"])

    assert lost(report) == {"page": (3, ("retriever_2", "retriever_3"), True)}
    assert [(leg.leg, leg.values) for leg in report.legs] == [
        ("retriever_1", 0),
        ("retriever_2", 1),
        ("retriever_3", 1),
    ]


def test_a_value_deep_inside_is_lost_by_its_path_and_counted_under_its_key():
    report = audit(ensemble([doc("a", by={"name": "Ada"})], [doc("a", by={"born": 1815})]), ["q"])

    assert lost(report) == {"by.born": (1815, ("retriever_2",), False)}
    assert [(loss.key, loss.values) for loss in report.keys] == [("by", 1)]


def test_keys_are_ordered_by_what_they_lost():
    first, second = [doc("a", x=1), doc("b")], [doc("a", x=2, y=1), doc("b", y=1)]

    report = audit(ensemble(first, second), ["q"])

    assert [(loss.key, loss.values, loss.gone) for loss in report.keys] == [
        ("y", 2, 2),
        ("x", 1, 0),
    ]


def test_the_id_of_a_later_copy_is_lost():
    report = audit(ensemble([doc("a")], [doc("a", "2")]), ["q"])

    assert [each.ids for each in report.queries[0].documents] == [("2",)]
    assert report.queries[0].documents[0].safe.id == "2"


def test_documents_that_an_id_key_takes_for_one_lose_their_texts():
    report = audit(ensemble([doc("a", key=1)], [doc("b", key=1)], id_key="key"), ["q"])

    assert [each.texts for each in report.queries[0].documents] == [("b",)]
    assert report.totals.texts == 1


def test_a_document_that_a_leg_repeats_is_counted_again_and_may_change_the_order():
    report = audit(ensemble([doc("a"), doc("b"), doc("b")], c=1), ["q"])

    assert report.totals.repeats == 1
    assert report.totals.reordered == 1  # 1/3 + 1/4 of b is more than 1/2 of a


def test_an_order_that_repeats_do_not_change_is_not_reordered():
    report = audit(ensemble([doc("a"), doc("a"), doc("b")]), ["q"])

    assert (report.totals.repeats, report.totals.reordered) == (1, 0)


def test_a_leg_of_weight_0_is_asked_in_vain_and_its_values_are_not_missed():
    report = audit(ensemble([doc("a")], [doc("a", page=3), doc("b")], weights=[1, 0]), ["q"])

    assert (report.totals.wasted, report.totals.values) == (1, 0)
    assert (report.totals.returned, report.totals.safe) == (2, 1)


def test_a_missing_id_key_is_an_answer_lost_and_ours_has_one():
    report = audit(ensemble([doc("a")], [doc("b", key=1)], id_key="key"), ["q"])

    assert report.queries[0].error == "merging: KeyError: 'key'"
    assert (report.totals.errors, report.totals.returned, report.totals.safe) == (1, 0, 2)


def test_a_leg_that_fails_takes_the_whole_answer_with_it():
    report = audit(ensemble([doc("a")], FakeLeg(error=ConnectionError("refused"))), ["q"])

    assert report.queries[0].error == "retriever_2: ConnectionError: refused"
    assert (report.totals.returned, report.totals.safe) == (0, 1)
    assert report.legs[1].failures == 1


def test_legs_in_turn_take_as_long_as_all_but_the_slowest_longer():
    report = audit(ensemble(FakeLeg(delay=0.03), FakeLeg(delay=0.02), FakeLeg(delay=0.01)), ["q"])

    times = sorted(leg.seconds for leg in report.legs)
    assert report.totals.seconds_saved == pytest.approx(sum(times[:2]))
    assert report.totals.seconds_saved >= 0.03


def test_what_is_returned_against_the_filter_is_counted():
    report = audit(
        ensemble([doc("a", lang="en"), doc("b", lang="de")]), ["q"], filter={"lang": "en"}
    )

    assert (report.totals.leaked, report.totals.returned, report.totals.safe) == (1, 2, 1)


def test_what_is_returned_beyond_k_is_counted():
    report = audit(ensemble([doc("a"), doc("b"), doc("c")]), ["q"], k=2)

    assert (report.totals.beyond_k, report.totals.safe) == (1, 2)


def test_legs_that_agree_lose_nothing_and_the_sentence_says_so():
    report = audit(ensemble([doc("a", x=1)], [doc("a", x=1)]), ["q", "r"])

    assert str(report) == "Over 2 queries, EnsembleRetriever lost nothing that its legs had found."


def test_a_subclass_is_audited_by_its_own_code():
    class Last(EnsembleRetriever):
        def weighted_reciprocal_rank(self, doc_lists):
            return super().weighted_reciprocal_rank(doc_lists[::-1])

    report = audit(
        Last(retrievers=ensemble([doc("a", x=1)], [doc("a", y=1)]).retrievers, weights=[0.5, 0.5]),
        ["q"],
    )

    assert report.retriever == "Last"
    assert lost(report) == {"x": (1, ("retriever_1",), True)}


def test_each_leg_is_asked_once_a_query_and_inputs_are_left_as_they_are():
    leg = FakeLeg(documents=[doc("a", x=[1])])
    other = FakeLeg(documents=[doc("a", x=[2])])

    audit(ensemble(leg, other), ["q", "r"])

    assert leg.calls == [("q", {}), ("r", {})]
    assert leg.documents == [doc("a", x=[1])]


# The others --------------------------------------------------------------------------------------


def test_a_multi_query_returns_a_text_again_when_metadata_differs():
    found = {"one": [doc("a", x=1)], "two": [doc("a", x=2)]}

    report = audit(multi_query("one\ntwo", found), ["q"])

    assert (report.totals.returned, report.totals.safe, report.totals.duplicates) == (2, 1, 1)
    assert report.totals.values == 0  # both copies are there


def test_a_multi_query_loses_what_upstream_takes_for_equal():
    found = {"one": [doc("a", x=1)], "two": [doc("a", x=True)]}

    report = audit(multi_query("one\ntwo", found), ["q"])

    assert lost(report) == {"x": (True, ("query_2",), False)}


def test_blank_queries_and_those_asked_before_are_wasted():
    report = audit(multi_query("one\n \nOne\nq", {}, include_original=True), ["q"])

    assert [leg.leg for leg in report.legs] == [f"query_{n}" for n in range(1, 6)]
    assert report.totals.wasted == 3


def test_a_writer_that_fails_is_an_answer_lost():
    def fail(_):
        raise TimeoutError

    retriever = MultiQueryRetriever(retriever=FakeLeg(), llm_chain=RunnableLambda(fail))

    assert audit(retriever, ["q"]).queries[0].error == "writing queries: TimeoutError: "


def test_metadata_that_upstreams_union_fails_on_is_an_answer_lost():
    numpy = pytest.importorskip("numpy")
    found = {"one": [doc("a", v=numpy.array([1, 2]))], "two": [doc("a", v=numpy.array([1, 2]))]}

    report = audit(multi_query("one\ntwo", found), ["q"])

    assert (report.queries[0].error or "").startswith("merging: ValueError: ")
    assert report.totals.safe == 1


def test_a_merger_returns_everything_again():
    report = audit(merger([doc("a"), doc("b")], [doc("a")]), ["q"])

    assert (report.retriever, report.totals.returned, report.totals.duplicates) == (
        "MergerRetriever",
        3,
        1,
    )
    assert report.totals.safe == 2


def test_plain_legs_are_judged_as_joined_by_hand():
    report = audit([FakeLeg(documents=[doc("a")]), FakeLeg(documents=[doc("a", page=3)])], ["q"])

    assert lost(report) == {"page": (3, ("retriever_2",), True)}
    assert report.instead == "SafeEnsembleRetriever"


def test_an_audit_of_plain_legs_imports_nothing_of_upstream():
    program = (
        "import sys\n"
        "from langchain_safe_retrievers.testing import FakeLeg\n"
        "FakeLeg(documents=['a']).invoke('q')\n"
        "before = set(sys.modules)\n"  # what core itself imports
        "from langchain_safe_retrievers.auditing.audit import audit\n"
        "audit([FakeLeg(documents=['a'])], ['q']).to_html()\n"
        "new = set(sys.modules) - before\n"
        "print([name for name in new if name.startswith(('langchain_classic', 'rich'))])"
    )
    run = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert run.stdout.strip() == "[]"


# Mistakes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [7, [], SafeEnsembleRetriever(retrievers=[FakeLeg()])])
def test_what_cannot_be_audited_is_refused(wrong):
    with pytest.raises(ConfigurationError, match="expected LangChain's EnsembleRetriever"):
        audit(wrong, ["q"])


def test_a_class_that_only_has_the_name_is_refused():
    class EnsembleRetriever(FakeLeg):
        pass

    with pytest.raises(ConfigurationError, match="audit was given EnsembleRetriever"):
        audit(EnsembleRetriever(), ["q"])


def test_one_string_of_queries_is_refused():
    with pytest.raises(ConfigurationError, match=r"such as \['q'\]"):
        audit([FakeLeg()], "q")


@pytest.mark.parametrize("k", [0, True, 1.5])
def test_a_k_that_is_no_number_of_documents_is_refused(k):
    with pytest.raises(ConfigurationError, match=f"k is {k!r}"):
        audit([FakeLeg()], ["q"], k=k)


def test_a_filter_that_cannot_be_read_is_refused():
    with pytest.raises(FilterError):
        audit([FakeLeg()], ["q"], filter={"a": {"$what": 1}})


# The whole ---------------------------------------------------------------------------------------


def everything() -> LossReport:
    first = [doc("a", x=1), doc("b"), doc("b")]
    second = [doc("a", "2", x=2, page=3), doc("c", lang="de")]
    return audit(ensemble(first, second), ["q", "r"], filter={"lang": {"$ne": "de"}})


def test_the_sentence_tells_what_was_lost_and_what_ours_returns():
    sentence, _, instead = str(everything()).partition(". ")

    assert sentence == (
        "Over 2 queries, EnsembleRetriever returned 6 documents, and lost 4 metadata values "
        "(x, page; 2 with their key); 2 ids; returned 2 documents against the filter; counted 2 "
        "repeated hits again"
    )
    assert instead.startswith(
        "SafeEnsembleRetriever returns 4 documents from the same hits with every value, "
        "2 at their place and 2 under _conflicts"
    )


def test_the_worst_come_first():
    (worst, *_) = everything().worst(1)

    assert (worst.query, worst.document.page_content, len(worst.values)) == ("q", "a", 2)


def test_to_dict_holds_only_what_json_has():
    found = everything().to_dict()

    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["totals"]["values"] == 4


@settings(max_examples=50)
@given(ranked_lists(values=json_values))
def test_what_ours_returns_has_every_value_at_its_place_or_as_a_conflict(lists):
    report = audit(ensemble(*lists), ["q"])

    for loss in report.queries[0].documents:
        conflicts = loss.safe.metadata.get("_conflicts", {})
        assert all(value.in_place or value.path in conflicts for value in loss.values)
        assert all(
            known == loss.safe.id or known in conflicts.get("Document.id", ()) for known in loss.ids
        )


@settings(max_examples=50)
@given(ranked_lists(values=json_values))
def test_one_leg_that_repeats_nothing_loses_nothing(lists):
    once = list({document.page_content: document for document in lists[0]}.values())

    totals = audit(ensemble(once), ["q"]).totals

    assert (totals.values, totals.ids, totals.duplicates, totals.reordered) == (0, 0, 0, 0)
    assert totals.returned == totals.safe == len(once)
