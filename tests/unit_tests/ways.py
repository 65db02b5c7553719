"""Ways to ask a retriever, a log of the runs that this leaves, and small legs for the suites."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.runnables import Runnable, RunnableLambda, RunnablePassthrough

from langchain_safe_retrievers import SafeEnsembleRetriever, SafeMultiQueryRetriever

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

PATIENCE = 10.0  # seconds after which a test gives up; no passing test waits that long


def invoke(retriever: Any, query: str, config: Any = None, **arguments: Any) -> Any:
    return retriever.invoke(query, config, **arguments)


def ainvoke(retriever: Any, query: str, config: Any = None, **arguments: Any) -> Any:
    return asyncio.run(retriever.ainvoke(query, config, **arguments))


def batch(retriever: Any, query: str, config: Any = None, **arguments: Any) -> Any:
    return retriever.batch([query, query], config, **arguments)[1]


def abatch(retriever: Any, query: str, config: Any = None, **arguments: Any) -> Any:
    return asyncio.run(retriever.abatch([query, query], config, **arguments))[1]


def stream_in_chain(retriever: Any, query: str, config: Any = None, **arguments: Any) -> Any:
    chain: Runnable[str, Any] = RunnablePassthrough() | retriever.bind(**arguments)
    (documents,) = chain.stream(query, config)
    return documents


def invoke_in_loop(retriever: Any, query: str, config: Any = None, **arguments: Any) -> Any:
    async def inside() -> Any:
        return retriever.invoke(query, config, **arguments)

    return asyncio.run(inside())


both_ways = pytest.mark.parametrize("call", [invoke, ainvoke])
every_way = pytest.mark.parametrize(
    "call", [invoke, ainvoke, batch, abatch, stream_in_chain, invoke_in_loop]
)


def ensemble_of(leg: Any, **fields: Any) -> SafeEnsembleRetriever:
    """Return an ensemble with one leg."""
    return SafeEnsembleRetriever(retrievers=[leg], **fields)


def multi_query_over(leg: Any, **fields: Any) -> SafeMultiQueryRetriever:
    """Return a multi-query retriever whose only query is the question."""
    return SafeMultiQueryRetriever(retriever=leg, llm_chain=writes(None), **fields)


each_retriever = pytest.mark.parametrize("over", [ensemble_of, multi_query_over])


def writes(*queries: str | None) -> RunnableLambda[Any, Any]:
    """Return a query writer that writes these queries, the question in place of None."""

    def write(inputs: dict[str, str]) -> list[str]:
        return [inputs["question"] if query is None else query for query in queries]

    return RunnableLambda(write)


def leg_of(*documents: Any) -> RunnableLambda[Any, Any]:
    """Return a leg that is a plain function and takes no argument but the query."""

    def answer(query: str) -> list[Any]:
        return list(documents)

    return RunnableLambda(answer)


def eventually(condition: Callable[[], Any]) -> bool:
    """Wait until a condition holds, and tell whether it ever did."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.002)
    return True


async def in_time(condition: Callable[[], Any]) -> None:
    """Let other tasks run until a condition holds, or too long a time is over."""
    deadline = time.monotonic() + PATIENCE
    while not condition() and time.monotonic() < deadline:  # noqa: ASYNC110 - threads set it
        await asyncio.sleep(0.001)


class Gauge:
    """Counts how many legs run at once; each stays until `expected` of them have met."""

    def __init__(self, expected: int) -> None:
        self.expected = expected
        self.running = self.peak = 0
        self.lock = threading.Lock()
        self.met = threading.Event()

    def _enter(self) -> None:
        with self.lock:
            self.running += 1
            self.peak = max(self.peak, self.running)
            if self.running >= self.expected:
                self.met.set()

    def _leave(self) -> None:
        with self.lock:
            self.running -= 1

    def leg(self, name: str = "") -> RunnableLambda[Any, Any]:
        def ask(query: str) -> list[str]:
            self._enter()
            self.met.wait(PATIENCE)
            time.sleep(0.01)  # time for one too many to come in
            self._leave()
            return [name or query]

        async def aask(query: str) -> list[str]:
            self._enter()
            await in_time(self.met.is_set)
            await asyncio.sleep(0.01)
            self._leave()
            return [name or query]

        return RunnableLambda(ask, aask)


class RunLog(BaseCallbackHandler):
    """Remembers every run that starts, every end it has, and every custom event."""

    raise_error = True
    run_inline = True  # as tracers are: in async, a start is heard before anything is cancelled

    def __init__(self) -> None:
        self.names: dict[UUID, str] = {}
        self.tags: dict[UUID, list[str]] = {}
        self.metadata: dict[UUID, dict[str, Any]] = {}
        self.parents: dict[UUID, UUID | None] = {}
        self.ends: dict[UUID, list[Any]] = {}
        self.events: list[tuple[str, Any]] = []

    @property
    def unclosed(self) -> dict[str, list[Any]]:
        """The runs that have not exactly one end, by name."""
        return {self.names[run]: ends for run, ends in self.ends.items() if len(ends) != 1}

    @property
    def errors(self) -> dict[str, BaseException]:
        """The errors that runs ended with, by tag of their leg, else by name."""
        return {
            self._label(run): end
            for run, ends in self.ends.items()
            for end in ends
            if isinstance(end, BaseException)
        }

    def run(self, label: str) -> UUID:
        """Return the one run with this leg tag or name."""
        (found,) = [run for run in self.names if label in (self._label(run), self.names[run])]
        return found

    def _label(self, run: UUID) -> str:
        tags = [tag for tag in self.tags[run] if tag.startswith(("retriever_", "query_"))]
        return tags[-1] if tags else self.names[run]

    def _start(self, *_: Any, run_id: UUID, **event: Any) -> None:
        self.names[run_id] = event.get("name") or "model"
        self.tags[run_id] = list(event.get("tags") or [])
        self.metadata[run_id] = dict(event.get("metadata") or {})
        self.parents[run_id] = event.get("parent_run_id")
        self.ends[run_id] = []

    def _end(self, outcome: Any, *, run_id: UUID, **_: Any) -> None:
        self.ends[run_id].append(outcome)

    on_chain_start = on_retriever_start = on_llm_start = on_chat_model_start = _start
    on_chain_end = on_retriever_end = on_llm_end = _end
    on_chain_error = on_retriever_error = on_llm_error = _end

    def on_custom_event(self, name: str, data: Any, **_: Any) -> None:
        self.events.append((name, data))
