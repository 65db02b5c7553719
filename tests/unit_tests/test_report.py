"""Reports: what one retrieval did, collected and sent as an event."""

from __future__ import annotations

import asyncio
import json
import signal
import threading
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda, RunnableParallel, RunnablePassthrough

from langchain_safe_retrievers import (
    LegReport,
    RelativeScore,
    RetrievalReport,
    SafeEnsembleRetriever,
    SafeMultiQueryRetriever,
    collect_reports,
)
from langchain_safe_retrievers.report import EVENT
from langchain_safe_retrievers.testing import FakeLeg
from tests.unit_tests.ways import (
    RunLog,
    abatch,
    batch,
    both_ways,
    each_retriever,
    ensemble_of,
    every_way,
    leg_of,
    multi_query_over,
    writes,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_A1 = Document(page_content="a", metadata={"source": "vec"})
_A2 = Document(page_content="a", metadata={"source": "bm25"})


class _Hostile:
    """A value that cannot be printed."""

    def __repr__(self) -> NoReturn:
        msg = "no text"
        raise RuntimeError(msg)


class _HostileKey:
    def __str__(self) -> NoReturn:
        msg = "no text"
        raise RuntimeError(msg)

    __repr__ = __str__


def _cycle() -> list[Any]:
    cycle: list[Any] = []
    cycle.append(cycle)
    return cycle


def _two_ways_round() -> dict[str, Any]:
    cycle: dict[str, Any] = {}
    cycle.update(one=cycle, two=cycle)
    return cycle


def _deep() -> list[Any]:
    deep: list[Any] = []
    for _ in range(1000):
        deep = [deep]
    return deep


class _TookTooLong(BaseException):
    """Not an `Exception`, which the code under test may catch."""


@pytest.fixture
def _no_longer_than_3_seconds() -> Iterator[None]:
    def give_up(*_: Any) -> NoReturn:
        raise _TookTooLong

    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, 3)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


_HOSTILE: dict[str, Any] = {
    "NaN": float("nan"),
    "infinity": float("-inf"),
    "bytes": b"\xff",
    "set": {1, 2},
    "lone surrogate": "\ud800",
    "numpy scalar": np.float64(0.5),
    "numpy array": np.arange(3),
    "a number of 5,000 digits": 10**4999,
    "no repr": _Hostile(),
    "key that is no string": {1: "a", None: "b", (1, 2): "c"},
    "key that has no text": {_HostileKey(): 1},
    "cycle": _cycle(),
    "cycle with two ways round": _two_ways_round(),
    "1,000 levels": _deep(),
}


# Collecting ---------------------------------------------------------------------------------------


@every_way
@each_retriever
def test_a_report_says_what_was_asked_what_legs_did_and_what_came_out(
    call: Callable[..., Any], over: Any
):
    leg = FakeLeg(documents=["a", "b", "a"])

    with collect_reports() as reports:
        call(over(leg, k=1), "cats")

    report = reports[-1]
    assert (report.query, report.queries, report.documents) == ("cats", ("cats",), 1)
    assert [(it.query, it.status, it.hits, it.error) for it in report.legs] == [
        ("cats", "ok", 3, None)
    ]
    assert (report.degraded, report.error, report.notes, report.filtered) == (False, None, (), 0)
    assert report.seconds >= report.legs[0].seconds >= 0


@both_ways
def test_a_report_has_the_written_queries_and_a_leg_for_each(call: Callable[..., Any]):
    retriever = SafeMultiQueryRetriever(
        retriever=leg_of("x"), llm_chain=writes("a", "b"), include_original=True
    )

    with collect_reports() as reports:
        call(retriever, "q")

    assert (reports[0].query, reports[0].queries) == ("q", ("a", "b", "q"))
    assert [(leg.leg, leg.query) for leg in reports[0].legs] == [
        ("query_1", "a"),
        ("query_2", "b"),
        ("query_3", "q"),
    ]


@both_ways
def test_a_report_names_the_retriever_by_its_name(call: Callable[..., Any]):
    with collect_reports() as reports:
        call(ensemble_of(leg_of("x")), "q")
        call(ensemble_of(leg_of("x"), name="hybrid"), "q")

    assert [report.retriever for report in reports] == ["SafeEnsembleRetriever", "hybrid"]


@both_ways
def test_a_report_has_the_conflicts_at_each_rank_of_the_result(call: Callable[..., Any]):
    # fused: a = 1/61 + 1/62, first 1/61, so "a" is at rank 1
    ensemble = SafeEnsembleRetriever(
        retrievers=[leg_of("first", _A1), leg_of(_A2)], conflicts_key=None
    )

    with collect_reports() as reports:
        assert call(ensemble, "q")[0] == _A1

    assert reports[0].conflicts == {1: {"source": ["vec", "bm25"]}}


@both_ways
def test_a_report_counts_what_the_filter_removed_and_notes_what_lacked_scores(
    call: Callable[..., Any],
):
    legs = [FakeLeg(documents=[_A1, _A2, _A2]), FakeLeg(documents=[(_A1, 0.5)])]

    with collect_reports() as reports:
        call(
            SafeEnsembleRetriever(retrievers=legs, fuser=RelativeScore()),
            "q",
            filter={"source": "vec"},
        )

    assert reports[0].filtered == 2
    assert reports[0].legs[0].hits == 3
    assert reports[0].notes == ("fused by rank for want of scores: retriever_1",)
    assert not reports[0].degraded


@both_ways
def test_nested_retrievers_report_from_the_inside_out(call: Callable[..., Any]):
    inner = ensemble_of(leg_of("x"), name="inner")
    outer = ensemble_of(multi_query_over(inner, name="middle"), name="outer")

    with collect_reports() as reports:
        call(outer, "q")

    assert [report.retriever for report in reports] == ["inner", "middle", "outer"]


@both_ways
def test_nested_collectors_each_get_the_reports_of_what_is_inside_them(call: Callable[..., Any]):
    retriever = ensemble_of(leg_of("x"))

    with collect_reports() as outside:
        call(retriever, "one")
        with collect_reports() as inside:
            call(retriever, "two")
        call(retriever, "three")
    call(retriever, "four")

    assert [report.query for report in inside] == ["two"]
    assert [report.query for report in outside] == ["one", "two", "three"]


@both_ways
def test_reports_come_from_every_branch_of_a_chain(call: Callable[..., Any]):
    chain = RunnablePassthrough() | RunnableParallel(
        one=ensemble_of(leg_of("x"), name="one"),
        two=RunnableLambda(lambda query: query) | ensemble_of(leg_of("x"), name="two"),
        three=RunnableLambda(lambda query: multi_query_over(leg_of("x"), name="three")),
    )

    with collect_reports() as reports:
        call(chain, "q")

    assert sorted(report.retriever for report in reports) == ["one", "three", "two"]


@pytest.mark.parametrize("call", [batch, abatch])
def test_a_batch_reports_every_query(call: Callable[..., Any]):
    with collect_reports() as reports:
        call(ensemble_of(leg_of("x")), "q")

    assert [report.query for report in reports] == ["q", "q"]


def test_tasks_report_to_the_collector_they_were_started_in():
    retriever = ensemble_of(leg_of("x"))

    async def collected(queries: list[str]) -> list[str]:
        with collect_reports() as reports:
            await asyncio.gather(*[retriever.ainvoke(query) for query in queries])
        return sorted(report.query for report in reports)

    async def both() -> list[list[str]]:
        return await asyncio.gather(collected(["a", "b"]), collected(["c"]))

    assert asyncio.run(both()) == [["a", "b"], ["c"]]


def test_threads_report_to_the_collector_they_opened():
    retriever = ensemble_of(leg_of("x"))
    collected: dict[str, list[str]] = {}

    def ask(query: str) -> None:
        with collect_reports() as reports:
            retriever.invoke(query)
        collected[query] = [report.query for report in reports]

    threads = [threading.Thread(target=ask, args=(query,)) for query in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert collected == {"a": ["a"], "b": ["b"], "c": ["c"]}


@both_ways
@each_retriever
def test_a_retrieval_that_fails_is_reported_with_its_error(call: Callable[..., Any], over: Any):
    with collect_reports() as reports, pytest.raises(ValueError, match="broken"):
        call(over(FakeLeg(error=ValueError("broken"))), "q")

    (report,) = reports
    assert (report.error, report.documents, report.degraded) == ("ValueError: broken", 0, True)
    assert report.legs[0].status == "failed"


@both_ways
@each_retriever
@pytest.mark.parametrize("arguments", [{"k": 0}, {"lang": "en"}])
def test_a_call_that_is_refused_is_reported_with_its_error(
    call: Callable[..., Any], over: Any, arguments: dict[str, Any]
):
    with collect_reports() as reports, pytest.raises((ValueError, TypeError)):
        call(over(leg_of("x")), "q", **arguments)

    assert reports[0].legs == ()
    assert reports[0].error is not None


def test_the_collected_list_outlives_the_block():
    with collect_reports() as reports:
        pass
    assert reports == []


# The event ----------------------------------------------------------------------------------------


@every_way
@each_retriever
def test_the_report_is_sent_as_a_custom_event(call: Callable[..., Any], over: Any):
    log = RunLog()

    with collect_reports() as reports:
        call(over(leg_of("x")), "q", {"callbacks": [log]})

    assert log.events == [(EVENT, report.to_dict()) for report in reports]


@both_ways
def test_the_event_of_a_failed_retrieval_is_sent_too(call: Callable[..., Any]):
    log = RunLog()

    with pytest.raises(ValueError, match="broken"):
        call(ensemble_of(FakeLeg(error=ValueError("broken"))), "q", {"callbacks": [log]})

    assert [data["error"] for _, data in log.events] == ["ValueError: broken"]


async def test_the_event_is_in_astream_events_below_the_retrievers_own_run():
    inner = ensemble_of(leg_of("x"), name="inner")
    chain = RunnablePassthrough() | ensemble_of(inner, name="outer")

    events = [event async for event in chain.astream_events("q", version="v2")]

    runs = {
        event["name"]: event["run_id"] for event in events if event["event"] == "on_retriever_start"
    }
    reports = [event for event in events if event["event"] == "on_custom_event"]
    assert [(event["name"], event["data"]["retriever"]) for event in reports] == [
        (EVENT, "inner"),
        (EVENT, "outer"),
    ]
    assert [runs[event["data"]["retriever"]] == event["run_id"] for event in reports] == [
        True,
        True,
    ]
    assert reports[1]["data"]["documents"] == 1


# As data and as text ------------------------------------------------------------------------------


def _report(value: Any) -> RetrievalReport:
    return RetrievalReport("name", "q", conflicts={1: {"key": [value, "other"]}})


@pytest.mark.usefixtures("_no_longer_than_3_seconds")
@pytest.mark.parametrize("kind", _HOSTILE)
def test_to_dict_is_strict_json_whatever_the_conflicts_hold(kind: str):
    data = _report(_HOSTILE[kind]).to_dict()

    text = json.dumps(data, allow_nan=False)

    assert len(text) < 1_000_000
    assert json.loads(text) == data


@pytest.mark.usefixtures("_no_longer_than_3_seconds")
@pytest.mark.parametrize("kind", _HOSTILE)
def test_str_works_whatever_the_conflicts_hold(kind: str):
    text = str(_report(_HOSTILE[kind]))

    assert "conflict at rank 1: key" in text
    assert len(text) < 10_000


@pytest.mark.usefixtures("_no_longer_than_3_seconds")
@pytest.mark.parametrize("kind", _HOSTILE)
def test_a_hostile_value_in_metadata_breaks_no_retrieval_that_is_listened_to(kind: str):
    value = _HOSTILE[kind]
    legs = [
        leg_of(Document(page_content="a", metadata={"key": value})),
        leg_of(Document(page_content="a", metadata={"key": "other"})),
    ]

    found = SafeEnsembleRetriever(retrievers=legs).invoke("q", {"callbacks": [log := RunLog()]})

    assert len(found) == 1
    assert len(log.events) == 1


def test_to_dict_has_every_field_under_its_name():
    leg = LegReport("vector", "q", "failed", error="ValueError: broken")
    report = RetrievalReport(
        "hybrid",
        "q",
        queries=("q",),
        legs=(leg,),
        documents=2,
        filtered=1,
        conflicts={1: {"source": ["a", "b"]}},
        notes=("a note",),
        degraded=True,
        query_writer_error="ValueError: no",
        cache="miss",
        seconds=0.5,
    )

    assert report.to_dict() == {
        "retriever": "hybrid",
        "query": "q",
        "queries": ["q"],
        "legs": [
            {
                "leg": "vector",
                "query": "q",
                "status": "failed",
                "hits": 0,
                "seconds": 0.0,
                "error": "ValueError: broken",
                "attempts": 1,
            }
        ],
        "documents": 2,
        "filtered": 1,
        "conflicts": {"1": {"source": ["a", "b"]}},
        "notes": ["a note"],
        "degraded": True,
        "query_writer_error": "ValueError: no",
        "cache": "miss",
        "seconds": 0.5,
        "error": None,
    }


def test_to_dict_shares_nothing_with_the_report():
    report = _report(["a"])

    report.to_dict()["conflicts"]["1"]["key"][0].append("b")

    assert report == _report(["a"])


def test_str_is_a_line_for_the_whole_each_leg_note_and_conflict():
    legs = (
        LegReport("vector", "q", "ok", hits=3, seconds=0.002),
        LegReport("keyword", "q", "failed", error="ValueError: broken"),
        LegReport("graph", "q", "skipped"),
    )
    report = RetrievalReport(
        "hybrid",
        "q",
        legs=legs,
        documents=3,
        filtered=2,
        notes=("a note",),
        degraded=True,
        seconds=0.0125,
    )

    assert str(report).splitlines() == [
        "hybrid: DEGRADED, 3 documents in 12.5 ms",
        "  vector: ok, 3 hits in 2.0 ms",
        "  keyword: failed, ValueError: broken in 0.0 ms",
        "  graph: skipped, 0 hits in 0.0 ms",
        "  filter removed 2 hits",
        "  a note",
    ]


def test_str_tells_the_query_of_each_leg_where_there_are_several():
    legs = (LegReport("query_1", "cats", "ok"), LegReport("query_2", "dogs", "ok"))

    text = str(RetrievalReport("multi", "q", queries=("cats", "dogs"), legs=legs))

    assert "query_1 'cats': ok" in text
    assert "query_2 'dogs': ok" in text


def test_str_tells_the_error():
    text = str(RetrievalReport("hybrid", "q", error="ValueError: broken"))

    assert text == "hybrid: error ValueError: broken in 0.0 ms"


def test_reports_are_frozen():
    with pytest.raises(AttributeError):
        _report(1).documents = 2  # type: ignore[misc]
