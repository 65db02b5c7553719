"""One question to one leg: legs without async code of their own, and what hangs in them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda

from langchain_safe_retrievers import SafeEnsembleRetriever
from langchain_safe_retrievers.legs.ask import is_sync_only
from langchain_safe_retrievers.legs.threads import abandoned_threads
from langchain_safe_retrievers.testing import FakeLeg, texts
from tests.unit_tests.ways import PATIENCE, RunLog, eventually


class _OfOldForm(BaseRetriever):
    """Takes no `run_manager`, so that core puts an async method of its own in the default's place.

    It answers once it is let go.
    """

    let_go: Any

    def _get_relevant_documents(self, query: str, *, k: int = 0) -> Any:
        self.let_go.wait(PATIENCE)
        return [f"{query} {k}"]


def _skipping(*legs: Any, **fields: Any) -> SafeEnsembleRetriever:
    return SafeEnsembleRetriever(retrievers=list(legs), on_leg_error="skip", **fields)


async def test_arguments_reach_a_retriever_of_old_form_in_async_too():
    let_go = threading.Event()
    let_go.set()
    leg = _OfOldForm(let_go=let_go)

    assert is_sync_only(leg)
    assert texts(await _skipping(leg).ainvoke("q", k=3)) == ["q 50"]


def test_a_loop_ends_though_a_retriever_of_old_form_hangs():
    let_go, ended = threading.Event(), threading.Event()
    retriever = _skipping(_OfOldForm(let_go=let_go), FakeLeg(documents=["a"]), leg_timeout=0.1)

    def ask() -> None:
        assert texts(asyncio.run(retriever.ainvoke("q"))) == ["a"]
        ended.set()

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        assert ended.wait(PATIENCE / 2)
    finally:
        let_go.set()
        thread.join()


def test_a_loop_ends_though_a_list_that_a_leg_began_hangs():
    let_go, ended = threading.Event(), threading.Event()

    def half() -> Iterator[str]:
        yield "first"
        let_go.wait(PATIENCE)

    async def answer(query: str) -> Any:
        return half()

    leg: Any = RunnableLambda(lambda query: half(), answer)
    retriever = _skipping(leg, FakeLeg(documents=["a"]), leg_timeout=0.1)

    def ask() -> None:
        assert texts(asyncio.run(retriever.ainvoke("q"))) == ["a"]
        ended.set()

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        assert ended.wait(PATIENCE / 2)
        assert abandoned_threads(id(leg)) == 1
    finally:
        let_go.set()
        thread.join()
    assert eventually(lambda: abandoned_threads(id(leg)) == 0)


@pytest.mark.parametrize("nested", [False, True])
def test_a_leg_that_ends_in_its_thread_after_its_time_is_not_reported_twice(nested: bool):
    let_go, log = threading.Event(), RunLog()
    leg = _OfOldForm(let_go=let_go, name="late")
    retriever = _skipping(leg, FakeLeg(documents=["a"]), leg_timeout=0.05)
    if nested:
        retriever = _skipping(retriever, FakeLeg(documents=["b"]))

    asyncio.run(retriever.ainvoke("q", {"callbacks": [log]}))
    assert log.unclosed == {}
    let_go.set()

    assert eventually(lambda: abandoned_threads(id(leg)) == 0)
    assert log.unclosed == {}
