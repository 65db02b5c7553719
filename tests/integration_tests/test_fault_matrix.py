"""Every fault of a leg × how many legs have it × every retriever × every way to ask it.

Nothing that a healthy leg found is lost; every fault is in the report, and in the log or the error,
under the leg's name; what ends a program passes through; and nothing is left behind.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, Literal, TypedDict

import pytest
from blockbuster import blockbuster_ctx
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableConfig, RunnableLambda, RunnablePassthrough
from langgraph.graph import START, StateGraph
from pydantic import PrivateAttr

from langchain_safe_retrievers import (
    AllLegsFailedError,
    HybridRetriever,
    RetrievalReport,
    SafeEnsembleRetriever,
    SafeMultiQueryRetriever,
    SafeRetriever,
    collect_reports,
)
from langchain_safe_retrievers.legs import workers
from langchain_safe_retrievers.legs.slots import Slots
from langchain_safe_retrievers.legs.threads import abandoned_threads
from langchain_safe_retrievers.testing import texts
from tests.unit_tests.ways import PATIENCE, RunLog, eventually, in_time

LETTERS = "ABC"
SCOPES = {"one": "A", "some": "AB", "all": "ABC"}
AGAIN = (0.1, 0.5, 2.5)  # seconds that a leg has, and again if a healthy one was late

# Faults -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fault:
    """What a leg does, and what becomes of it: it answers, fails, or ends the whole call."""

    answer: Callable[[str], Any]
    ends: Literal["answers", "fails", "passes"] = "answers"
    found: Callable[[str], list[str]] = lambda text: [text]
    status: str = "ok"
    waits: Literal["", "late", "for ever", "once", "until stopped"] = ""
    raised: type[BaseException] | None = None


def nothing(_: str) -> list[str]:
    return []


def raises(error: type[BaseException]) -> Callable[[str], Any]:
    def answer(text: str) -> Any:
        raise error

    return answer


def half(text: str) -> Iterator[str]:
    yield text
    msg = "connection reset"
    raise ConnectionError(msg)


def one(text: str) -> list[Document]:
    return [Document(page_content=text)]


def failing(answer: Callable[[str], Any], status: str = "failed", waits: Any = "") -> Fault:
    return Fault(answer, "fails", nothing, status, waits)


def passing(error: type[BaseException], waits: Any = "") -> Fault:
    answer = one if waits else raises(error)
    return Fault(answer, "passes", nothing, "cancelled", waits, error)


FAULTS = {
    "raises": failing(raises(ConnectionError)),
    "times out by itself": failing(raises(TimeoutError)),
    "returns a dict": failing(lambda text: {"documents": [text]}),
    "half a list, then raises": failing(half),
    "returns None": Fault(lambda text: None, found=nothing),
    "returns a str": Fault(str),
    "returns a generator": Fault(lambda text: (item for item in one(text))),
    "is cancelled": passing(asyncio.CancelledError),
    "raises KeyboardInterrupt": passing(KeyboardInterrupt),
    "is stopped by Ctrl-C": passing(KeyboardInterrupt, "until stopped"),
    "is cancelled by its caller": passing(asyncio.CancelledError, "until stopped"),
}
SLOW = {  # these are told by the clock
    "hangs for ever": failing(one, "timed out", "for ever"),
    "returns after the deadline": failing(one, "timed out", "late"),
    "is slow once, then fine": failing(one, "timed out", "once"),
}


class Leg(BaseRetriever):
    """Finds the text of a query with its own letter, unless it is told to misbehave."""

    letter: str = ""
    fault: Any = None
    bad: str = LETTERS
    seconds: float = 0.0

    _released: threading.Event = PrivateAttr(default_factory=threading.Event)
    _asked: Counter[str] = PrivateAttr(default_factory=Counter)

    @property
    def entered(self) -> int:
        return self._asked.total()

    def release(self) -> None:
        self._released.set()

    def _get_relevant_documents(self, query: str, **_: Any) -> Any:
        fault, text, seconds = self._what(query)
        if seconds:
            self._released.wait(seconds)
        return fault.answer(text)

    def _what(self, query: str) -> tuple[Fault, str, float]:
        text = f"{query} {self.letter}" if self.letter else query
        self._asked[text] += 1
        fault = self.fault if text[-1] in self.bad else Fault(one)
        waits = fault.waits and (fault.waits != "once" or self._asked[text] == 1)
        late = self.seconds if fault.waits == "late" else PATIENCE
        return fault, text, late if waits else 0.0


class AsyncLeg(Leg):
    """The same with async code of its own; it will not be cancelled if it is late anyway."""

    async def _aget_relevant_documents(self, query: str, **_: Any) -> Any:
        fault, text, seconds = self._what(query)
        try:
            await asyncio.sleep(seconds)
        except asyncio.CancelledError:
            if fault.waits != "late":
                raise
        return fault.answer(text)


# Retrievers ---------------------------------------------------------------------------------------


def _legs(fault: Fault, bad: str, seconds: float) -> list[Leg]:
    """Return A and C with async code, and B without."""
    kinds = (AsyncLeg, Leg, AsyncLeg)
    return [
        kind(name=letter, letter=letter, fault=fault, bad=bad, seconds=10 * seconds)
        for kind, letter in zip(kinds, LETTERS, strict=True)
    ]


def ensemble(legs: Sequence[Leg], seconds: float) -> SafeEnsembleRetriever:
    return SafeEnsembleRetriever(
        retrievers=list(legs),
        leg_names=[leg.letter for leg in legs],
        on_leg_error="skip",
        leg_timeout=seconds,
    )


def hybrid(legs: Sequence[Leg], seconds: float) -> HybridRetriever:
    named = {leg.letter: leg for leg in legs}
    return HybridRetriever(legs=named, on_leg_error="skip", leg_timeout=seconds)


def multi_query(legs: Sequence[Leg], seconds: float, letters: str = LETTERS) -> Any:
    """Return one leg that is asked as many queries, and misbehaves at some."""
    leg = legs[-1]
    leg.letter = ""

    def write(inputs: dict[str, str]) -> list[str]:
        return [f"{inputs['question']} {letter}" for letter in letters]

    async def awrite(inputs: dict[str, str]) -> list[str]:
        return write(inputs)

    writer = RunnableLambda(write, awrite)
    return SafeMultiQueryRetriever(
        retriever=leg, llm_chain=writer, on_leg_error="skip", leg_timeout=seconds
    )


def safe(legs: Sequence[Leg], seconds: float) -> SafeRetriever:
    """Return one that asks again only if that is what it is tried with."""
    first, *others = legs
    late = first.fault.waits == "late"
    return SafeRetriever(
        retriever=first,
        fallbacks=others,
        timeout=None if late else seconds,
        deadline=4 * seconds if late else 10 * seconds,
        max_retries=int(first.fault.waits in ("", "once")),
        retry_wait=0.0,
    )


def nested(legs: Sequence[Leg], seconds: float) -> SafeEnsembleRetriever:
    inner = SafeRetriever(retriever=ensemble(legs[:2], seconds), max_retries=0, timeout=PATIENCE)
    more = multi_query(legs, seconds, letters="C")
    return SafeEnsembleRetriever(
        retrievers=[inner, more], leg_names=["inner", "more"], on_leg_error="skip"
    )


NAMES: dict[Any, list[str]] = {
    multi_query: ["query_1", "query_2", "query_3"],
    safe: ["A", "B (fallback 1)", "C (fallback 2)"],
    nested: ["A", "B", "query_1"],
}

# Ways ---------------------------------------------------------------------------------------------

Way = Callable[[Any, list[str], RunnableConfig], Any]


class State(TypedDict, total=False):
    question: str
    found: list[Document]


def chain_of(retriever: Any) -> Any:
    return RunnablePassthrough() | retriever | RunnableLambda(list)


def make_graph() -> Any:
    """Return a graph of one node that asks the retriever that is in the config."""

    def retrieve(state: State, config: RunnableConfig) -> State:
        return {"found": config["configurable"]["retriever"].invoke(state["question"], config)}

    async def aretrieve(state: State, config: RunnableConfig) -> State:
        retriever = config["configurable"]["retriever"]
        return {"found": await retriever.ainvoke(state["question"], config)}

    builder = StateGraph(State)
    builder.add_node("retrieve", RunnableLambda(retrieve, aretrieve))
    builder.add_edge(START, "retrieve")
    return builder.compile()


GRAPH = make_graph()


def invoke(retriever: Any, queries: list[str], config: RunnableConfig) -> Any:
    return [retriever.invoke(query, config) for query in queries]


def batch(retriever: Any, queries: list[str], config: RunnableConfig) -> Any:
    return retriever.batch(queries, config)


def stream(retriever: Any, queries: list[str], config: RunnableConfig) -> Any:
    return [found for query in queries for found in retriever.stream(query, config)]


def chain(retriever: Any, queries: list[str], config: RunnableConfig) -> Any:
    return invoke(chain_of(retriever), queries, config)


def graph(retriever: Any, queries: list[str], config: RunnableConfig) -> Any:
    config = {**config, "configurable": {"retriever": retriever}}
    return [GRAPH.invoke({"question": query}, config)["found"] for query in queries]


async def ainvoke(retriever: Any, queries: list[str], config: RunnableConfig) -> Any:
    return [await retriever.ainvoke(query, config) for query in queries]


async def abatch(retriever: Any, queries: list[str], config: RunnableConfig) -> Any:
    return await retriever.abatch(queries, config)


async def astream(retriever: Any, queries: list[str], config: RunnableConfig) -> Any:
    return [found for query in queries async for found in retriever.astream(query, config)]


async def achain(retriever: Any, queries: list[str], config: RunnableConfig) -> Any:
    return await ainvoke(chain_of(retriever), queries, config)


async def agraph(retriever: Any, queries: list[str], config: RunnableConfig) -> Any:
    config = {**config, "configurable": {"retriever": retriever}}
    return [(await GRAPH.ainvoke({"question": query}, config))["found"] for query in queries]


WAYS: list[Way] = [
    *(invoke, batch, stream, chain, graph),
    *(ainvoke, abatch, astream, achain, agraph),
]

# One case -----------------------------------------------------------------------------------------

_heard: ContextVar[list[str] | None] = ContextVar("heard", default=None)


class Ear(logging.Handler):
    """Remembers, for each case, what is logged in it; and what is logged of lost tasks."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lost: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        heard = _heard.get()
        if record.name == "asyncio":
            self.lost.append(record.getMessage())
        elif heard is not None:
            heard.append(record.getMessage())


@dataclass
class Case:
    """One fault of some legs of a retriever that is asked in one way."""

    over: Any
    way: Any
    fault_name: str
    bad: str
    seconds: float
    legs: list[Leg] = field(default_factory=list)
    slots: list[Slots] = field(default_factory=list)
    runs: RunLog = field(default_factory=RunLog)
    reports: list[RetrievalReport] = field(default_factory=list)
    heard: list[str] = field(default_factory=list)
    found: Any = None
    error: BaseException | None = None
    again: tuple[Any, set[str]] = (None, set())
    tasks_left: int = 0

    @property
    def fault(self) -> Fault:
        return {**FAULTS, **SLOW}[self.fault_name]

    @property
    def names(self) -> dict[str, str]:
        """What the legs are called in reports, by letter."""
        return dict(zip(LETTERS, NAMES.get(self.over, LETTERS), strict=True))

    @property
    def queries(self) -> list[str]:
        return ["q1", "q2"] if self.way in (batch, abatch) else ["q1"]

    def run(self) -> Case:
        """Ask, and let go what hangs."""
        self.legs = _legs(self.fault, self.bad, self.seconds)
        retriever = self.over(self.legs, self.seconds)
        self.slots = retriever._state.slots if self.over is safe else []
        token = _heard.set(self.heard)
        try:
            with collect_reports() as self.reports:
                self._ask(retriever)
                if self.fault.waits == "once":
                    self._ask_again(retriever)
        finally:
            _heard.reset(token)
            for leg in self.legs:
                leg.release()
        return self

    def _ask(self, retriever: Any) -> None:
        config: RunnableConfig = {"callbacks": [self.runs]}
        stopper = threading.Thread(target=self._stop)
        if self.fault.raised is KeyboardInterrupt and self.fault.waits:
            stopper.start()
        try:
            if asyncio.iscoroutinefunction(self.way):
                self.found = asyncio.run(self._in_loop(retriever, config))
            else:
                self.found = self.way(retriever, self.queries, config)
        except BaseException as error:  # noqa: BLE001 - what is looked at
            self.error = error
        if stopper.ident:
            stopper.join()

    def _ask_again(self, retriever: Any) -> None:
        """Only the first time goes wrong."""
        first = self.found, self.error, list(self.reports), list(self.heard)
        self.reports.clear()
        self._ask(retriever)
        self.again = self.found, self.late()
        self.found, self.error, self.reports, self.heard = first

    async def _in_loop(self, retriever: Any, config: RunnableConfig) -> Any:
        asked = asyncio.create_task(self.way(retriever, self.queries, config))
        if self.fault.raised is asyncio.CancelledError and self.fault.waits:
            await in_time(self._all_asked)
            asked.cancel()
        try:
            return await asked
        finally:
            ours = {asyncio.current_task(), asked}
            await in_time(lambda: asyncio.all_tasks() <= ours)  # an abatch that failed ends late
            self.tasks_left = len(asyncio.all_tasks() - ours)

    def _all_asked(self) -> bool:
        """Tell whether every leg was asked; of fallbacks the first only."""
        asked = 1 if self.over is safe else len(LETTERS)
        return sum(leg.entered for leg in self.legs) >= asked * len(self.queries)

    def _stop(self) -> None:
        """Press Ctrl-C while the legs hang; then let them go."""
        eventually(self._all_asked)
        time.sleep(0.005)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        time.sleep(0.02)
        for leg in self.legs:
            leg.release()

    def late(self) -> set[str]:
        return {leg.leg for report in self.reports for leg in report.legs if "timed" in leg.status}

    def is_disturbed(self) -> bool:
        """Tell whether the machine was so busy that a healthy leg was given up."""
        healthy = {self.names[letter] for letter in LETTERS if letter not in self.bad}
        return bool(self.late() & healthy or self.again[1])

    # What must hold

    def check(self) -> None:
        what = f"{self.fault_name}: {self.bad}"
        assert self.badly_closed() == {}, what
        assert self.tasks_left == 0, what
        if self.fault.ends == "passes":
            self.check_end_of_call(what)
            return
        self.check_reports(what)
        if self.fault.ends == "fails":
            assert all(self.is_logged(letter) for letter in self.bad[: len(self.asked())]), what
        if not self.answering():
            assert isinstance(self.error, AllLegsFailedError), what
            return
        assert self.error is None, what
        answers = [sorted(texts(found)) for found in self.found]
        assert answers == self.texts_of(self.answering()), what
        assert self.reports[-1].degraded is self.is_worse(), what
        if self.fault.waits == "once":
            everybody = "A" if self.over is safe else LETTERS
            assert [sorted(texts(found)) for found in self.again[0]] == self.texts_of(everybody)

    def badly_closed(self) -> dict[str, list[Any]]:
        """The runs that have not exactly one end.

        A KeyboardInterrupt in a task stops its loop at once, also between an end and us; the run
        may then have two.
        """
        unclosed = self.runs.unclosed
        if self.fault_name == "raises KeyboardInterrupt" and asyncio.iscoroutinefunction(self.way):
            return {name: ends for name, ends in unclosed.items() if not ends}
        return unclosed

    def check_end_of_call(self, what: str) -> None:
        if self.way in (graph, agraph) and self.fault_name == "is cancelled":
            assert self.error is not None, what  # LangGraph makes an error of its own of it
        else:
            assert type(self.error) is self.fault.raised, what
        if self.way is not batch or not self.fault.waits:  # else it hits the pool around us
            assert any(report.error for report in self.reports), what

    def check_reports(self, what: str) -> None:
        told, expected = self.told(), self.expected_reports()
        if self.error is not None:  # a batch does not begin what would come to nothing
            told, expected = Counter(set(told)), Counter(set(expected))
        assert told == expected, what

    def is_logged(self, letter: str) -> bool:
        return any(f"leg {self.names[letter]!r} failed" in line for line in self.heard)

    def is_worse(self) -> bool:
        """Tell whether the answer is to be called degraded."""
        return self.answering() != "A" if self.over is safe else self.fault.ends == "fails"

    def answering(self) -> str:
        """The legs whose answers make up the whole; of fallbacks it is one."""
        able = LETTERS if self.fault.ends == "answers" else LETTERS.strip(self.bad)
        if self.over is safe and self.fault.waits == "once":
            able = LETTERS  # it is asked again
        return able[:1] if self.over is safe else able

    def texts_of(self, letters: str) -> list[list[str]]:
        def of(query: str, letter: str) -> list[str]:
            text = f"{query} {letter}"
            once = self.fault.waits == "once"
            return self.fault.found(text) if letter in self.bad and not once else [text]

        return [
            sorted(text for letter in letters for text in of(query, letter))
            for query in self.queries
        ]

    def told(self) -> Counter[tuple[str, str]]:
        """How the reports say that the legs at the bottom ended."""
        bottom = set(self.names.values())
        return Counter(
            (leg.leg, leg.status)
            for report in self.reports
            for leg in report.legs
            if leg.leg in bottom
        )

    def asked(self) -> str:
        """The legs that are asked at all: fallbacks only until one answers."""
        last = self.answering() if self.over is safe else ""
        return LETTERS[: LETTERS.index(last) + 1] if last else LETTERS

    def expected_reports(self) -> Counter[tuple[str, str]]:
        times = len(self.queries)
        return Counter({(self.names[x], self._status(x)): times for x in self.asked()})

    def _status(self, letter: str) -> str:
        fails = letter in self.bad and self.fault.ends == "fails"
        if self.over is safe and (letter != "A" or self.fault.waits == "once"):
            fails = fails and self.fault.waits != "once"
            return self.fault.status if fails else "fallback" if letter != "A" else "ok"
        return self.fault.status if fails else "ok"


def cases(over: Any, way: Way, faults: Sequence[str], seconds: float = 30.0) -> list[Case]:
    return [Case(over, way, fault, bad, seconds) for fault, bad in product(faults, SCOPES.values())]


def timed(case: Case) -> Case:
    """Run a case again, with more time, if the machine was too busy for its healthy legs."""
    for seconds in AGAIN:
        done = Case(case.over, case.way, case.fault_name, case.bad, seconds).run()
        if not done.is_disturbed():
            break
    return done


# The matrix ---------------------------------------------------------------------------------------


def busy_threads() -> Counter[str]:
    """Return the threads that do something, by name; idle ones of ours end by themselves."""
    alive = Counter(thread.name for thread in threading.enumerate())
    return alive - Counter({"safe-retriever-leg": len(workers._idle)})


def open_files() -> int:
    held = Path("/proc/self/fd")
    return len(list(held.iterdir())) if held.is_dir() else 0


@pytest.fixture(scope="module", autouse=True)
def _quick_collections() -> Iterator[None]:
    """Let the garbage collector look only at what the tests here make."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture
def ear() -> Iterator[Ear]:
    ear = Ear()
    logging.getLogger().addHandler(ear)
    yield ear
    logging.getLogger().removeHandler(ear)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize(
    "over", [ensemble, multi_query, hybrid, safe, nested], ids=lambda over: over.__name__
)
def test_no_fault_of_a_leg_loses_anything_or_leaves_anything_behind(over: Any, way: Way, ear: Ear):
    threads, files = busy_threads(), open_files()
    is_async = asyncio.iscoroutinefunction(way)
    quick = [name for name in FAULTS if is_async or name != "is cancelled by its caller"]
    if not hasattr(signal, "pthread_kill"):  # as on Windows
        quick.remove("is stopped by Ctrl-C")
    with blockbuster_ctx("langchain_safe_retrievers"), ThreadPoolExecutor() as pool:
        slow = pool.map(timed, cases(over, way, list(SLOW)))
        done = [*slow, *(case.run() for case in cases(over, way, quick))]
    for case in done:
        case.check()
    gc.collect()  # a coroutine that nobody awaited says so now
    assert eventually(lambda: abandoned_threads() == 0)
    assert eventually(lambda: busy_threads() <= threads)
    assert all(slots.free == slots.limit for case in done for slots in case.slots)
    assert open_files() <= files
    assert ear.lost == []
