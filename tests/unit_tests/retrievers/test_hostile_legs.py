"""What legs, configs and filters have been found to break, kept from breaking again."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import ConfigurableField, RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_safe_retrievers import (
    FilterError,
    LegResultError,
    RankedList,
    RelativeScore,
    SafeEnsembleRetriever,
    SafeMultiQueryRetriever,
)
from langchain_safe_retrievers.legs.threads import MAX_WORKERS, abandoned_threads
from langchain_safe_retrievers.testing import FakeLeg, texts

_MINE = Document("mine", metadata={"tenant": 7, "lang": "en"})
_THEIRS = Document("theirs", metadata={"tenant": 8, "lang": "en"})


class _Store(InMemoryVectorStore):
    """Takes portable filters of one or two levels, as Chroma does."""

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        from langchain_safe_retrievers.filters import compile_filter

        matches = compile_filter(kwargs.get("filter"))
        return [d for d in (_MINE, _THEIRS) if matches is None or matches(d)]


class _SyncOnly(BaseRetriever):
    """Core's default async method takes no arguments for it."""

    def _get_relevant_documents(self, query: str, *, run_manager: Any, **wanted: Any) -> Any:
        return _Store(DeterministicFakeEmbedding(size=4)).similarity_search(query, **wanted)


def _store() -> Any:
    return _Store(DeterministicFakeEmbedding(size=4))


def _ensemble(*legs: Any, **fields: Any) -> SafeEnsembleRetriever:
    return SafeEnsembleRetriever(retrievers=list(legs), **fields)


def test_a_filter_configured_at_run_time_is_joined_with_the_calls():
    leg = _store().as_retriever().configurable_fields(search_kwargs=ConfigurableField(id="kw"))
    config: Any = {"configurable": {"kw": {"filter": {"tenant": 7}}}}

    found = _ensemble(leg).invoke("q", config, filter={"lang": "en"})

    assert texts(found) == ["mine"]


def test_a_filter_inside_fallbacks_is_joined_with_the_calls():
    tenant = {"filter": {"tenant": 7}}
    leg = _store().as_retriever(search_kwargs=tenant)
    spare = _store().as_retriever(search_kwargs=tenant)

    found = _ensemble(leg.with_fallbacks([spare])).invoke("q", filter={"lang": "en"})

    assert texts(found) == ["mine"]


def test_fallbacks_with_different_filters_of_their_own_refuse_a_calls_filter():
    leg = _store().as_retriever(search_kwargs={"filter": {"tenant": 7}})
    spare = _store().as_retriever(search_kwargs={"filter": {"tenant": 8}})

    with pytest.raises(FilterError, match="different filters"):
        _ensemble(leg.with_fallbacks([spare])).invoke("q", filter={"lang": "en"})


@pytest.mark.parametrize("turned", [False, True])
def test_a_nested_retriever_holds_the_filter_before_it_folds(turned: bool):
    ours = RunnableLambda(lambda query: [Document("t", metadata={"tenant": "a"})])
    theirs = RunnableLambda(lambda query: [Document("t", metadata={"tenant": "b", "secret": 1})])
    inner = _ensemble(*([theirs, ours] if turned else [ours, theirs]))
    outer = _ensemble(inner.with_config(tags=["in"]), FakeLeg(documents=[]))

    found = outer.invoke("q", filter={"tenant": "a"})

    assert [document.metadata for document in found] == [{"tenant": "a"}]


def test_what_a_leg_does_to_its_filter_reaches_neither_the_caller_nor_other_legs():
    def vandal(query: str, filter: Any = None) -> list[Document]:
        filter.pop("tenant", None)
        filter["tags"].append("b")
        return [Document("x", metadata={"tenant": 7, "tags": ["a", "b"]})]

    wanted = {"tenant": 7, "tags": ["a"]}
    found = _ensemble(RunnableLambda(vandal), FakeLeg(documents=[_MINE])).invoke("q", filter=wanted)

    assert found == []
    assert wanted == {"tenant": 7, "tags": ["a"]}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_child_can_ask_legs_whatever_the_parents_threads_were_doing():
    hanging = FakeLeg(hangs=True)
    retriever = _ensemble(hanging, FakeLeg(documents=["a"]), on_leg_error="skip", leg_timeout=0.05)
    assert texts(retriever.invoke("q")) == ["a"]
    assert abandoned_threads(id(hanging)) == 1

    child = os.fork()
    if child == 0:
        os._exit(0 if abandoned_threads(id(hanging)) == 0 else 1)
    hanging.release()

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize("wrap", ["with_config", "with_retry", "sequence"])
def test_a_loop_ends_though_a_wrapped_sync_leg_hangs(wrap: str):
    let_go = threading.Event()

    def hang(query: str) -> list[str]:
        let_go.wait(20)
        return []

    leg: Any = RunnableLambda(hang)
    leg = leg | RunnableLambda(list) if wrap == "sequence" else getattr(leg, wrap)()
    retriever = _ensemble(leg, FakeLeg(documents=["a"]), on_leg_error="skip", leg_timeout=0.05)

    start = time.monotonic()
    found = asyncio.run(retriever.ainvoke("q"))
    waited = time.monotonic() - start
    let_go.set()

    assert texts(found) == ["a"]
    assert waited < 10  # the leg hangs for 20


@pytest.mark.parametrize("wrap", ["with_config", "with_retry"])
async def test_arguments_reach_a_wrapped_sync_retriever_in_async_too(wrap: str):
    leg = getattr(_SyncOnly(), wrap)()

    found = await _ensemble(leg).ainvoke("q", k=3, filter={"tenant": 7})

    assert texts(found) == ["mine"]


def test_a_thousand_queries_do_not_start_a_thousand_threads():
    running, most, lock = 0, 0, threading.Lock()

    def search(query: str) -> list[str]:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.001)
        with lock:
            running -= 1
        return [query]

    writer = RunnableLambda(lambda inputs: [f"query {n}" for n in range(300)])
    retriever = SafeMultiQueryRetriever(retriever=RunnableLambda(search), llm_chain=writer)

    assert len(retriever.invoke("q")) == 300
    assert most <= MAX_WORKERS


async def test_an_error_that_is_no_exception_is_never_skipped_in_tasks():
    class Stop(BaseException):
        pass

    def stop(query: str) -> list[str]:
        raise Stop

    async def astop(query: str) -> list[str]:
        raise Stop

    legs = [RunnableLambda(stop, astop), FakeLeg(documents=["a"])]
    with pytest.raises(Stop):
        await _ensemble(*legs, on_leg_error="skip").ainvoke("q")


def test_a_stores_own_filter_need_have_no_truth_value():
    class Expression:
        def __bool__(self) -> bool:
            msg = "no truth value"
            raise TypeError(msg)

        def __eq__(self, other: object) -> Any:
            return Expression()

        __hash__ = None  # type: ignore[assignment]

    assert texts(_ensemble(FakeLeg(documents=["a"])).invoke("q", filter=Expression())) == ["a"]


def test_scores_of_a_list_that_was_turned_around_are_not_believed():
    found = RankedList([Document("a"), Document("b")], scores=[9.0, 1.0])
    found.reverse()
    assert found.valid_scores is None

    legs = [RunnableLambda(lambda query: found), FakeLeg(documents=["c"])]
    fused = _ensemble(*legs, fuser=RelativeScore(), fused_score_key="fused").invoke("q")
    assert texts(fused)[0] == "b"


def test_a_ranked_list_of_something_else_is_a_legs_error():
    broken: Any = RankedList([7], scores=[1.0])  # type: ignore[list-item]
    with pytest.raises(LegResultError, match="retriever_1"):
        _ensemble(RunnableLambda(lambda query: broken)).invoke("q")


def test_an_error_of_several_lines_is_one_line_in_the_log(caplog: pytest.LogCaptureFixture):
    leg = FakeLeg(error=ValueError("down\nCRITICAL forged"))
    with caplog.at_level(logging.DEBUG, "langchain_safe_retrievers"):
        _ensemble(leg, FakeLeg(documents=["a"]), on_leg_error="skip").invoke("q")

    assert not any("\n" in message for message in caplog.messages)
    assert any("forged" in message for message in caplog.messages)


def test_an_error_that_takes_no_note_is_raised_all_the_same():
    class BareError(ValueError):
        __notes__ = None

    with pytest.raises(BareError):
        _ensemble(FakeLeg(error=BareError("x"))).invoke("q")


def test_a_timeout_of_centuries_is_no_overflow():
    assert texts(_ensemble(FakeLeg(documents=["a"]), leg_timeout=1e10).invoke("q")) == ["a"]
