"""Traces: what one retrieval went through."""

from __future__ import annotations

from dataclasses import replace

import pytest
from langchain_core.documents import Document

from langchain_safe_retrievers import ReciprocalRank, SafeEnsembleRetriever
from langchain_safe_retrievers.testing import FakeLeg, texts
from langchain_safe_retrievers.trace import collect_traces

_LEGS = [FakeLeg(documents=["a", "b"]), FakeLeg(documents=["b", "c"])]


async def _answer(retriever, query: str, way: str, **kwargs):
    if way == "ainvoke":
        return await retriever.ainvoke(query, **kwargs)
    return retriever.invoke(query, **kwargs)


@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
async def test_a_trace_can_be_replayed_and_gives_the_same_documents(way: str):
    with collect_traces() as traces:
        found = await _answer(SafeEnsembleRetriever(retrievers=_LEGS), "q", way)

    (trace,) = traces
    assert trace.documents == found
    assert trace.merging.run().documents == found
    assert [texts(list(hits)) for hits in trace.found] == [["a", "b"], ["b", "c"]]


def test_a_trace_can_be_replayed_with_other_weights():
    with collect_traces() as traces:
        SafeEnsembleRetriever(retrievers=_LEGS, fuser=ReciprocalRank()).invoke("q")

    assert texts(replace(traces[0].merging, weights=[1, 0]).run().documents)[0] == "a"


def test_hits_that_the_filter_removed_are_still_in_found():
    documents = [Document(page_content=t, metadata={"lang": t}) for t in ("en", "de")]
    with collect_traces() as traces:
        SafeEnsembleRetriever(retrievers=[FakeLeg(documents=documents)]).invoke(
            "q", filter={"lang": "de"}
        )

    assert texts(list(traces[0].found[0])) == ["en", "de"]
    assert texts(list(traces[0].merging.lists[0])) == ["de"]


def test_a_retrieval_that_failed_has_a_trace_without_documents():
    leg = FakeLeg(error=RuntimeError("down"))
    with collect_traces() as traces, pytest.raises(RuntimeError):
        SafeEnsembleRetriever(retrievers=[leg]).invoke("q")

    assert traces[0].merging is None
    assert traces[0].report.error == "RuntimeError: down"


def test_the_traces_of_nested_retrievers_come_innermost_first():
    inner = SafeEnsembleRetriever(retrievers=_LEGS)
    outer = SafeEnsembleRetriever(retrievers=[inner])
    with collect_traces() as traces:
        outer.invoke("q")

    assert [trace.retriever for trace in traces] == [inner, outer]


def test_an_answer_is_degraded_if_a_retriever_that_is_a_leg_gave_a_degraded_one():
    dead = FakeLeg(error=RuntimeError("down"))
    inner = SafeEnsembleRetriever(retrievers=[*_LEGS, dead], on_leg_error="skip")
    with collect_traces() as traces:
        SafeEnsembleRetriever(retrievers=[inner]).invoke("q")

    assert traces[-1].report.degraded
