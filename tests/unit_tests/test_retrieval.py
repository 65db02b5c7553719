"""One retrieval in progress: what was asked for, and what it remembers."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.documents import Document

from langchain_safe_retrievers import ConfigurationError, FilterError, RankedList
from langchain_safe_retrievers.retrieval import Retrieval, current_retrieval, in_progress
from langchain_safe_retrievers.testing import texts

_DOCUMENTS = [
    Document(page_content=text, metadata={"lang": lang})
    for text, lang in [("a", "en"), ("b", "de"), ("c", "en")]
]


def _asking(k: Any = None, fetch_k: int | None = None, **arguments: Any) -> Retrieval:
    retrieval = Retrieval(owner="retriever")
    retrieval.ask_for(k, fetch_k, arguments)
    return retrieval


@pytest.mark.parametrize(
    ("k", "fetch_k", "depth"),
    [
        (None, None, None),
        (1, None, 50),
        (25, None, 50),
        (30, None, 60),
        (100, None, 200),
        (10, 7, 7),
        (None, 7, 7),
    ],
)
def test_legs_are_asked_for_twice_k_and_at_least_50_unless_fetch_k_is_given(
    k: int | None, fetch_k: int | None, depth: int | None
):
    assert _asking(k, fetch_k).depth == depth


@pytest.mark.parametrize("k", [0, -1, True, False, "3", 2.0, 1.5, float("nan"), [3]])
def test_a_k_that_is_no_whole_number_of_at_least_1_is_refused(k: Any):
    with pytest.raises(ConfigurationError, match=r"k is .*; expected a whole number of at least 1"):
        _asking(k)


def test_a_filter_that_cannot_be_read_is_refused():
    with pytest.raises(FilterError):
        _asking(filter={"a": {"$near": 1}})


@pytest.mark.parametrize("nothing", [{}, {"filter": None}, {"filter": {}}])
def test_without_a_filter_a_list_is_left_as_it_is(nothing: dict[str, Any]):
    found = RankedList(_DOCUMENTS)
    retrieval = _asking(**nothing)

    assert retrieval.hold_filter(found) is found
    assert (retrieval.filtered, retrieval.notes) == (0, [])


def test_a_filter_takes_out_what_does_not_match_and_scores_stay_with_their_documents():
    retrieval = _asking(filter={"lang": "en"})

    kept = retrieval.hold_filter(RankedList(_DOCUMENTS, leg="x", query="q", scores=[3, 2, 1]))

    assert (texts(kept), kept.scores, kept.leg, kept.query) == (["a", "c"], [3, 1], "x", "q")
    assert retrieval.filtered == 1


def test_a_stores_own_filter_is_left_to_the_legs_and_the_report_says_so():
    class Expression:
        """Something only one store can read."""

    retrieval = _asking(filter=Expression())
    found = RankedList(_DOCUMENTS)

    assert retrieval.hold_filter(found) is found
    assert retrieval.notes == ["the filter is a store's own (Expression): only the legs hold it"]


def test_filter_and_k_are_held_once_more_at_the_end():
    assert texts(_asking(1, filter={"lang": "de"}).finish(_DOCUMENTS)) == ["b"]
    assert texts(_asking(1).finish(_DOCUMENTS)) == ["a"]
    assert texts(_asking().finish(_DOCUMENTS)) == ["a", "b", "c"]


def test_a_note_degrades_the_report_only_if_it_says_so():
    retrieval = _asking()

    retrieval.note("by the way")
    assert not retrieval.degraded
    retrieval.note("worse", degraded=True)
    retrieval.note("by the way")

    report = retrieval.report("name", "q", 0, None)
    assert (report.notes, report.degraded) == (("by the way", "worse", "by the way"), True)


def test_the_report_names_the_question_as_the_only_query_unless_others_were_written():
    retrieval = _asking()
    assert retrieval.report("name", "q", 0, None).queries == ("q",)
    retrieval.queries = ["a", "b"]
    assert retrieval.report("name", "q", 0, None).queries == ("a", "b")


def test_a_retrieval_is_current_for_its_owner_alone_and_only_while_in_progress():
    one, other = Retrieval(owner := object()), Retrieval(other_owner := object())

    with in_progress(one):
        assert current_retrieval(owner) is one
        assert current_retrieval(other_owner) is None
        with in_progress(other):
            assert current_retrieval(owner) is None
            assert current_retrieval(other_owner) is other
        assert current_retrieval(owner) is one
    assert current_retrieval(owner) is None
