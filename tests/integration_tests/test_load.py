"""Many callers at once, over legs that fail and hang: every answer is right, and nothing is left.

`benchmarks/load.py` does the same for minutes, and measures times and memory.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import PrivateAttr

from langchain_safe_retrievers import (
    AllLegsFailedError,
    RetrievalReport,
    SafeEnsembleRetriever,
    SafeRetriever,
    collect_reports,
)
from langchain_safe_retrievers.legs.threads import abandoned_threads
from langchain_safe_retrievers.testing import texts
from tests.unit_tests.ways import PATIENCE, RunLog, eventually

MAX_HANGING = 6


class Leg(BaseRetriever):
    """Finds one document; one query in ten raises, and one in twenty hangs until `release()`."""

    name: str
    fails: int  # the last digit of the queries that fail

    _released: threading.Event = PrivateAttr(default_factory=threading.Event)
    _lock: Any = PrivateAttr(default_factory=threading.Lock)
    _inside: int = PrivateAttr(default=0)
    _most: int = PrivateAttr(default=0)

    @property
    def most(self) -> int:
        """How many were in here at once, at most."""
        return self._most

    def release(self) -> None:
        self._released.set()

    def hangs(self, query: str) -> bool:
        return int(query) % 20 == (self.fails + 1) % 20

    def _answer(self, query: str) -> list[str]:
        if int(query) % 10 == self.fails:
            msg = "connection reset"
            raise ConnectionError(msg)
        return [f"{query} {self.name}"]

    def _enter(self, change: int) -> None:
        with self._lock:
            self._inside += change
            self._most = max(self._most, self._inside)

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> Any:
        self._enter(1)
        try:
            if self.hangs(query):
                self._released.wait(PATIENCE)
            return self._answer(query)
        finally:
            self._enter(-1)

    async def _aget_relevant_documents(self, query: str, *, run_manager: Any) -> Any:
        if self.hangs(query):
            await asyncio.sleep(PATIENCE)
        return self._answer(query)


class Load:
    """Two guarded legs, one of them with a fallback that fails at other queries."""

    def __init__(self, **settings: Any) -> None:
        self.legs = [Leg(name="vector", fails=0), Leg(name="spare", fails=5)]
        self.legs.append(Leg(name="keyword", fails=2))
        vector, spare, keyword = self.legs
        limits: Any = {
            **settings,
            "retry_wait": 0.001,
            "failure_threshold": None,
            "max_abandoned": MAX_HANGING,
        }
        self.retriever = SafeEnsembleRetriever(
            retrievers=[
                SafeRetriever(retriever=vector, fallbacks=[spare], **limits),
                SafeRetriever(retriever=keyword, **limits),
            ],
            on_leg_error="skip",
        )
        self.log = RunLog()

    def ask(self, number: int) -> tuple[list[str], list[RetrievalReport]]:
        found: list[Document] = []
        with collect_reports() as reports, suppress(AllLegsFailedError):
            found = self.retriever.invoke(str(number), {"callbacks": [self.log]})
        return texts(found), reports

    async def aask(self, number: int) -> tuple[list[str], list[RetrievalReport]]:
        found: list[Document] = []
        with collect_reports() as reports, suppress(AllLegsFailedError):
            found = await self.retriever.ainvoke(str(number), {"callbacks": [self.log]})
        return texts(found), reports

    def check(self, number: int, found: list[str], reports: list[RetrievalReport]) -> None:
        """Hold that what is returned is what the reports say was found."""
        answered = {
            leg.leg.removesuffix(" (fallback 1)")
            for report in reports[:-1]
            for leg in report.legs
            if leg.status in ("ok", "fallback")
        }
        assert sorted(found) == sorted(f"{number} {name}" for name in answered)
        assert reports[-1].degraded is (answered != {"vector", "keyword"})
        assert (reports[-1].error is None) is bool(answered)


def test_64_threads_get_right_answers_and_hold_no_more_threads_than_they_may():
    load, numbers = Load(timeout=0.2, max_retries=1), range(384)
    try:
        with ThreadPoolExecutor(64) as pool:
            answers = list(pool.map(load.ask, numbers))
            assert all(abandoned_threads(id(leg)) <= MAX_HANGING for leg in load.legs)
    finally:
        for leg in load.legs:
            leg.release()

    assert all(leg.most <= MAX_HANGING for leg in load.legs)
    assert eventually(lambda: abandoned_threads() == 0)
    for number, (found, reports) in zip(numbers, answers, strict=True):
        load.check(number, found, reports)
    assert load.log.unclosed == {}


async def test_300_calls_in_one_loop_get_right_answers_and_leave_no_task():
    load, numbers = Load(timeout=1.0, max_retries=0), range(300)
    answers = await asyncio.gather(*map(load.aask, numbers))

    assert asyncio.all_tasks() == {asyncio.current_task()}
    for number, (found, reports) in zip(numbers, answers, strict=True):
        load.check(number, found, reports)
    assert load.log.unclosed == {}
