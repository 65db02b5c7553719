"""RetrievalMetrics: what Prometheus reads of runs and retrievals, and what Grafana makes of it."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import subprocess
import sys
import threading
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
import yaml
from langchain_core.callbacks import AsyncCallbackManager, CallbackManager, dispatch_custom_event
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel, FakeListLLM
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from prometheus_client import CollectorRegistry, generate_latest, start_http_server
from prometheus_client.parser import text_string_to_metric_families

from langchain_safe_retrievers import (
    LegReport,
    MissingExtraError,
    RetrievalReport,
    SafeEnsembleRetriever,
    SafeMultiQueryRetriever,
)
from langchain_safe_retrievers.errors import ConfigurationError
from langchain_safe_retrievers.metrics import RetrievalMetrics
from langchain_safe_retrievers.report import EVENT
from langchain_safe_retrievers.retrievers.safe import SafeRetriever
from langchain_safe_retrievers.testing import FakeLeg, texts
from tests.unit_tests.ways import (
    RunLog,
    abatch,
    batch,
    both_ways,
    ensemble_of,
    every_way,
    in_time,
    leg_of,
    multi_query_over,
    writes,
)

if TYPE_CHECKING:
    from collections.abc import Callable

_GRAFANA = Path(__file__).parents[2] / "examples" / "grafana"
_RUNS = "langchain_runnable_duration_seconds_count"
_LEGS = "retriever_leg_duration_seconds_count"
_FAILURES = "retriever_leg_failures_total"


class _Scraped:
    """A handler with a registry of its own, read as Prometheus reads it."""

    def __init__(self, **settings: Any) -> None:
        self.registry = CollectorRegistry()
        self.metrics = RetrievalMetrics(self.registry, **settings)
        self.config = {"callbacks": [self.metrics]}

    def of(self, name: str) -> dict[tuple[str, ...], float]:
        """Return the samples of one name, by their labels' values, in order of the labels."""
        return _samples(generate_latest(self.registry).decode(), name)

    def one(self, name: str) -> float:
        """Return the one sample of a name that has no labels."""
        return self.of(name)[()]

    def report(self, **fields: Any) -> None:
        """Send the report of a retrieval that did no more than this."""
        report = RetrievalReport("any", "q", **fields)
        self.metrics.on_custom_event(EVENT, report.to_dict(), run_id=uuid4())


def _samples(exposition: str, name: str) -> dict[tuple[str, ...], float]:
    lines = [line for line in exposition.splitlines() if re.match(rf"{name}[{{ ]", line)]
    return {
        tuple(value for _, value in sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families("\n".join(lines))
        for sample in family.samples
    }


def _skipping(*legs: Any, **fields: Any) -> SafeEnsembleRetriever:
    names = [f"leg_{i}" for i in range(len(legs))]
    return SafeEnsembleRetriever(
        retrievers=list(legs), **{"on_leg_error": "skip", "leg_names": names, **fields}
    )


# Retrievals ---------------------------------------------------------------------------------------


def test_the_metrics_have_the_names_and_labels_that_dashboards_rely_on():
    scraped = _Scraped()
    leg = LegReport("vector", "q", "failed", error="OSError: down")
    scraped.report(legs=(leg,), conflicts={1: {"source": ["a", "b"]}}, cache="miss")
    ensemble_of(leg_of("a")).invoke("q", scraped.config)

    text = generate_latest(scraped.registry).decode()

    found = {
        sample.name: set(sample.labels)
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if not sample.name.endswith(("_created", "_sum", "_bucket"))
    }
    assert found == {
        "langchain_runnable_duration_seconds_count": {"name", "kind"},
        "retriever_leg_duration_seconds_count": {"leg"},
        "retriever_leg_failures_total": {"leg", "error"},
        "retriever_results_count": set(),
        "retriever_degraded_total": set(),
        "retriever_cache_requests_total": {"outcome"},
        "retriever_merge_conflicts_total": {"key"},
        "query_parse_failures_total": set(),
    }


@every_way
def test_each_retrieval_is_counted_once_with_its_documents_and_its_legs(call: Callable[..., Any]):
    scraped, retriever = _Scraped(), _skipping(leg_of("a", "b"), leg_of("c"))

    call(retriever, "q", scraped.config)

    calls = 2 if call in (batch, abatch) else 1
    assert scraped.one("retriever_results_count") == calls
    assert scraped.one("retriever_results_sum") == 3 * calls
    assert scraped.of(_LEGS) == {("leg_0",): calls, ("leg_1",): calls}
    assert scraped.one("retriever_degraded_total") == 0
    assert scraped.of(_FAILURES) == {}
    assert scraped.metrics._open == {}


@every_way
def test_a_leg_that_fails_is_counted_by_its_name_and_the_type_of_its_error(
    call: Callable[..., Any],
):
    scraped, broken = _Scraped(), FakeLeg(error=ConnectionError("host 10.0.0.1: refused"))

    call(_skipping(broken, leg_of("a")), "q", scraped.config)

    calls = 2 if call in (batch, abatch) else 1
    assert scraped.of(_FAILURES) == {("ConnectionError", "leg_0"): calls}
    assert scraped.one("retriever_degraded_total") == calls


@both_ways
def test_a_retrieval_that_raises_is_counted_with_no_documents(call: Callable[..., Any]):
    scraped = _Scraped()

    with pytest.raises(ValueError, match="broken"):
        call(ensemble_of(FakeLeg(error=ValueError("broken"))), "q", scraped.config)

    assert scraped.one("retriever_results_count") == 1
    assert scraped.one("retriever_results_sum") == 0
    assert scraped.one("retriever_degraded_total") == 1
    assert scraped.of(_RUNS)[("retriever", "SafeEnsembleRetriever")] == 1
    assert scraped.metrics._open == {}


@both_ways
def test_a_leg_that_is_late_is_a_failure_and_its_run_is_timed(call: Callable[..., Any]):
    scraped, late = _Scraped(), FakeLeg(hangs=True, name="Late")

    call(_skipping(late, leg_of("a"), leg_timeout=0.2), "q", scraped.config)
    late.release()

    assert scraped.of(_FAILURES) == {("LegTimeoutError", "leg_0"): 1}
    assert scraped.of(_RUNS)[("retriever", "Late")] == 1
    assert scraped.of("retriever_leg_duration_seconds_sum")[("leg_0",)] >= 0.2
    assert scraped.metrics._open == {}


async def test_a_cancelled_retrieval_leaves_no_run_behind():
    scraped, hanging = _Scraped(), FakeLeg(hangs=True, name="Hanging")
    chain = RunnableLambda(lambda query: query) | _skipping(hanging, leg_of("a"))
    task = asyncio.create_task(chain.ainvoke("q", scraped.config))
    await in_time(lambda: hanging.calls)

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert scraped.metrics._open == {}
    assert scraped.of(_RUNS)[("retriever", "Hanging")] == 1
    assert scraped.of(_RUNS)[("retriever", "SafeEnsembleRetriever")] == 1


@both_ways
def test_a_retrieval_inside_another_counts_once_and_so_does_the_outer_one(
    call: Callable[..., Any],
):
    scraped = _Scraped()
    inner = _skipping(leg_of("a"), FakeLeg(error=OSError("down")), leg_names=["deep", "dead"])
    outer = _skipping(inner, leg_of("b"), leg_names=["inner", "other"])

    call(outer, "q", scraped.config)

    assert scraped.one("retriever_results_count") == 2
    assert scraped.one("retriever_results_sum") == 1 + 2
    assert scraped.one("retriever_degraded_total") == 2
    assert scraped.of(_LEGS) == {(leg,): 1 for leg in ("deep", "dead", "inner", "other")}
    assert scraped.of(_FAILURES) == {("OSError", "dead"): 1}


@pytest.mark.parametrize(
    ("status", "timed", "failed"),
    [
        ("ok", 1, 0),
        ("fallback", 1, 0),
        ("failed", 1, 1),
        ("timed out", 1, 1),
        ("open circuit", 0, 1),
        ("cached", 0, 0),
        ("cancelled", 0, 0),
        ("skipped", 0, 0),
    ],
)
def test_only_legs_that_were_asked_are_timed_and_only_those_without_an_answer_have_failed(
    status: Any, timed: int, failed: int
):
    scraped = _Scraped()

    scraped.report(legs=(LegReport("vector", "q", status, seconds=0.5),))

    assert sum(scraped.of(_LEGS).values()) == timed
    assert scraped.of(_FAILURES) == ({(status, "vector"): 1} if failed else {})


@pytest.mark.parametrize("outcome", ["hit", "miss", "shared", "error"])
def test_cache_requests_are_counted_by_outcome(outcome: Any):
    scraped = _Scraped()

    scraped.report(cache=outcome)
    scraped.report(cache=None)

    assert scraped.of("retriever_cache_requests_total") == {(outcome,): 1}


@both_ways
def test_a_safe_retriever_counts_its_attempts_as_one_and_its_fallback_beside_it(
    call: Callable[..., Any],
):
    scraped = _Scraped()
    retriever = SafeRetriever(
        retriever=FakeLeg(error=ConnectionError("down"), name="vector"),
        fallbacks=[FakeLeg(documents=["a"], name="keyword")],
        retry_wait=0.001,
        failure_threshold=1,
    )

    call(retriever, "q", scraped.config)
    call(retriever, "q", scraped.config)

    assert scraped.of(_LEGS) == {("vector",): 1, ("keyword (fallback 1)",): 2}
    assert scraped.of(_FAILURES) == {
        ("ConnectionError", "vector"): 1,
        ("CircuitOpenError", "vector"): 1,
    }
    assert scraped.of(_RUNS)["retriever", "vector"] == 3
    assert scraped.one("retriever_degraded_total") == 2
    assert scraped.metrics._open == {}


@both_ways
def test_a_safe_retriever_counts_what_its_cache_did_and_does_not_time_a_hit(
    call: Callable[..., Any],
):
    scraped = _Scraped()
    retriever = SafeRetriever(retriever=FakeLeg(documents=["a"], name="vector"), cache=True)

    for _ in range(3):
        call(retriever, "q", scraped.config)

    assert scraped.of("retriever_cache_requests_total") == {("miss",): 1, ("hit",): 2}
    assert scraped.of(_LEGS) == {("vector",): 1}
    assert scraped.one("retriever_results_sum") == 3


@both_ways
def test_conflicts_are_counted_by_the_top_level_key(call: Callable[..., Any]):
    scraped = _Scraped()
    one = Document("a", metadata={"source": "x", "law": {"page": 1, "year": 1}})
    two = Document("a", metadata={"source": "y", "law": {"page": 2, "year": 2}})

    call(_skipping(leg_of(one), leg_of(two)), "q", scraped.config)

    assert scraped.of("retriever_merge_conflicts_total") == {("source",): 1, ("law",): 2}


@both_ways
@pytest.mark.parametrize("kind", ["fails", "writes nothing", "writes no queries"])
def test_a_query_writer_that_does_not_help_is_counted(call: Callable[..., Any], kind: str):
    scraped = _Scraped()
    answers: dict[str, Any] = {
        "fails": RunnableLambda(lambda _: 1 / 0),
        "writes nothing": writes(),
        "writes no queries": RunnableLambda(lambda _: 7),
    }
    retriever = SafeMultiQueryRetriever(retriever=leg_of("a"), llm_chain=answers[kind])

    if kind == "writes no queries":
        with pytest.raises(TypeError):
            call(retriever, "q", scraped.config)
    else:
        call(retriever, "q", scraped.config)
    call(multi_query_over(leg_of("a")), "q", scraped.config)

    assert scraped.one("query_parse_failures_total") == 1


def test_an_event_of_the_same_name_from_elsewhere_does_not_reach_the_application():
    scraped = _Scraped()

    def send(query: str) -> str:
        for data in ({"documents": None}, {}, "text", None):
            dispatch_custom_event(EVENT, data)
        dispatch_custom_event("another event", {"documents": 1})
        return query

    assert RunnableLambda(send).invoke("q", scraped.config) == "q"
    assert scraped.one("retriever_results_count") == 0


def test_a_report_that_was_cut_short_is_counted_as_far_as_it_goes():
    scraped = _Scraped()
    report = RetrievalReport("any", "q", documents=1).to_dict()

    for conflicts in ("...", {"1": "..."}):
        scraped.metrics.on_custom_event(EVENT, {**report, "conflicts": conflicts})

    assert scraped.one("retriever_results_count") == 2
    assert scraped.of("retriever_merge_conflicts_total") == {}


# Runs ---------------------------------------------------------------------------------------------


@both_ways
def test_every_run_of_a_chain_is_timed_by_name_and_kind(call: Callable[..., Any]):
    @tool
    def shout(text: str) -> str:
        """Shout."""
        return text.upper()

    scraped = _Scraped()
    prompt = ChatPromptTemplate.from_template("{question}")
    model = FakeListChatModel(responses=["yes"])
    chain = prompt | model | StrOutputParser() | FakeListLLM(responses=["no"]) | shout

    assert call(chain, "q", scraped.config) == "NO"

    assert scraped.of(_RUNS) == {
        ("chain", "RunnableSequence"): 1,
        ("prompt", "ChatPromptTemplate"): 1,
        ("llm", "FakeListChatModel"): 1,
        ("parser", "StrOutputParser"): 1,
        ("llm", "FakeListLLM"): 1,
        ("tool", "shout"): 1,
    }
    assert scraped.metrics._open == {}


@both_ways
def test_a_run_that_fails_is_timed_too(call: Callable[..., Any]):
    scraped = _Scraped()
    chain = RunnableLambda(lambda _: 1 / 0).with_config(run_name="divide")

    with pytest.raises(ZeroDivisionError):
        call(chain, "q", scraped.config)

    assert scraped.of(_RUNS) == {("chain", "divide"): 1}


def test_durations_are_in_seconds():
    scraped = _Scraped()

    ensemble_of(FakeLeg(documents=["a"], delay=0.05, name="Slow")).invoke("q", scraped.config)

    assert 0.05 <= scraped.of("langchain_runnable_duration_seconds_sum")["retriever", "Slow"] < 5
    assert 0.05 <= scraped.of("retriever_leg_duration_seconds_sum")[("retriever_1",)] < 5


def test_runs_that_nobody_ends_are_forgotten_the_oldest_first(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("langchain_safe_retrievers.metrics._OPEN_RUNS", 10)
    scraped, runs = _Scraped(), [uuid4() for _ in range(1000)]

    for run in runs:
        scraped.metrics.on_chain_start(None, {}, run_id=run, name="x")
    for run in runs[-10:]:
        scraped.metrics.on_chain_end({}, run_id=run)

    assert scraped.of(_RUNS) == {("chain", "x"): 10}
    assert scraped.metrics._open == {}


def test_at_most_so_many_open_runs_are_remembered(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("langchain_safe_retrievers.metrics._OPEN_RUNS", 10)
    metrics = _Scraped().metrics

    for _ in range(1000):
        metrics.on_retriever_start(None, "q", run_id=uuid4(), name="x")

    assert len(metrics._open) == 10


async def test_a_full_thread_pool_does_not_hold_up_an_async_call():
    scraped, done = _Scraped(), threading.Event()
    with ThreadPoolExecutor(1) as pool:
        loop = asyncio.get_running_loop()
        loop.set_default_executor(pool)
        loop.run_in_executor(None, done.wait)
        try:
            async with asyncio.timeout(1):
                found = await ensemble_of(FakeLeg(documents=["a"])).ainvoke("q", scraped.config)
        finally:
            done.set()

    assert texts(found) == ["a"]
    assert scraped.one("retriever_results_count") == 1


async def test_not_run_inline_it_counts_the_same_and_other_handlers_hear_of_completion_models():
    """While a handler runs inline, LangChain tells the others nothing of such a model's start."""
    scraped, log = _Scraped(), RunLog()
    scraped.metrics.run_inline = log.run_inline = False
    chain = FakeListLLM(responses=["a"]) | ensemble_of(FakeLeg(documents=["a"]))

    await chain.ainvoke("q", {"callbacks": [scraped.metrics, log]})

    assert scraped.of(_RUNS)["llm", "FakeListLLM"] == 1
    assert scraped.one("retriever_results_count") == 1
    assert log.unclosed == {}


def test_threads_lose_no_count():
    scraped, retriever = _Scraped(), ensemble_of(leg_of("a", "b"))
    with ThreadPoolExecutor(8) as pool:
        for _ in pool.map(lambda _: retriever.invoke("q", scraped.config), range(200)):
            pass

    assert scraped.one("retriever_results_sum") == 400
    assert scraped.of(_LEGS) == {("retriever_1",): 200}
    assert set(scraped.of(_RUNS).values()) == {200}


@pytest.mark.parametrize("manager", [CallbackManager, AsyncCallbackManager])
def test_a_handler_added_twice_is_one(manager: Any):
    metrics = _Scraped().metrics
    handlers = manager(handlers=[metrics])

    handlers.add_handler(metrics)

    assert handlers.handlers == [metrics]


# Labels -------------------------------------------------------------------------------------------


def test_a_thousand_names_become_a_hundred_and_other_and_none_is_lost():
    scraped = _Scraped()

    def one(i: int) -> None:
        legs = (LegReport(f"leg {i}", "q", "failed", error=f"Error{i}: text"),)
        scraped.report(legs=legs, conflicts={1: {f"key{i}": [1, 2]}})
        RunnableLambda(lambda query: query).invoke("q", {**scraped.config, "run_name": f"run {i}"})

    with ThreadPoolExecutor(8) as pool:
        for _ in pool.map(one, range(1000)):
            pass

    for name in (_RUNS, _LEGS, _FAILURES, "retriever_merge_conflicts_total"):
        found = scraped.of(name)
        assert sum(found.values()) == 1000, name
        for i in range(len(next(iter(found)))):
            values = {labels[i] for labels in found}
            assert len(values - {"other"}) <= 100, name
        assert sum(count for labels, count in found.items() if "other" in labels) >= 900, name


def test_a_label_keeps_the_values_that_it_had_first():
    scraped = _Scraped(max_label_values=2)

    for leg in ("a", "b", "c", "a", "d"):
        scraped.report(legs=(LegReport(leg, "q", "ok"),))

    assert scraped.of(_LEGS) == {("a",): 2, ("b",): 1, ("other",): 2}


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ('quote " backslash \\ newline \n', 'quote " backslash \\ newline \n'),
        ("lone \ud800 surrogate", "lone ? surrogate"),
        ("Größe 大きさ", "Größe 大きさ"),
        ("x" * 100_000, "x" * 100),
        ("", ""),
    ],
)
def test_any_name_can_be_scraped(value: str, shown: str):
    scraped = _Scraped()

    scraped.report(legs=(LegReport(value, "q", "ok"),))

    assert scraped.of(_LEGS) == {(shown,): 1}


def test_messages_of_errors_are_no_labels():
    scraped = _Scraped()

    for i in range(10):
        leg = LegReport("vector", "q", "failed", error=f"OSError: attempt {i}: refused")
        scraped.report(legs=(leg,))

    assert scraped.of(_FAILURES) == {("OSError", "vector"): 10}


# Registering --------------------------------------------------------------------------------------


def test_prometheus_scrapes_it_over_http():
    scraped = _Scraped()
    ensemble_of(leg_of("a", "b")).invoke("q", scraped.config)
    server, thread = start_http_server(0, "127.0.0.1", scraped.registry)
    try:
        url = f"http://127.0.0.1:{server.server_port}/metrics"
        without_proxy = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with without_proxy.open(url, timeout=5) as answer:
            text = answer.read().decode()
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

    assert _samples(text, "retriever_results_sum") == {(): 2}
    assert _samples(text, _LEGS) == {("retriever_1",): 1}


def test_a_second_handler_on_one_registry_is_refused_and_the_first_goes_on():
    scraped = _Scraped()

    with pytest.raises(ConfigurationError, match="make one RetrievalMetrics and give it to every"):
        RetrievalMetrics(scraped.registry)

    scraped.report(documents=3)
    assert scraped.one("retriever_results_sum") == 3


def test_a_registry_takes_all_metrics_or_none():
    from prometheus_client import Counter

    registry = CollectorRegistry()
    Counter("query_parse_failures", "Someone else's.", registry=registry)

    with pytest.raises(ConfigurationError, match="query_parse_failures"):
        RetrievalMetrics(registry)

    assert [family.name for family in registry.collect()] == ["query_parse_failures"]


def test_a_namespace_comes_before_every_name_and_sets_handlers_apart():
    scraped = _Scraped(namespace="shop")
    RetrievalMetrics(scraped.registry, namespace="")

    scraped.report(documents=3)

    assert scraped.one("shop_retriever_results_sum") == 3
    assert scraped.one("retriever_results_sum") == 0


def test_the_default_registry_is_the_one_of_prometheus_client(monkeypatch: pytest.MonkeyPatch):
    registry = CollectorRegistry()
    monkeypatch.setattr("prometheus_client.REGISTRY", registry)

    RetrievalMetrics()

    assert registry.get_sample_value("retriever_degraded_total") == 0


@pytest.mark.parametrize(
    "setting",
    [
        {"namespace": "my-app"},
        {"namespace": "1st"},
        {"namespace": "größe"},
        {"namespace": None},
        {"max_label_values": 0},
        {"max_label_values": True},
        {"max_label_values": 1.5},
    ],
)
def test_a_setting_that_cannot_work_is_refused(setting: dict[str, Any]):
    with pytest.raises(ConfigurationError, match=f"{next(iter(setting))} is .*expected"):
        RetrievalMetrics(CollectorRegistry(), **setting)


def test_without_prometheus_client_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "prometheus_client", None)

    with pytest.raises(MissingExtraError, match=r"langchain-safe-retrievers\[metrics\]"):
        RetrievalMetrics()


# Grafana ------------------------------------------------------------------------------------------


def _dashboard() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((_GRAFANA / "dashboard.json").read_text("utf-8"))
    return loaded


def _rules() -> list[dict[str, Any]]:
    groups = yaml.safe_load((_GRAFANA / "alerts.yml").read_text("utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"]]


def _expressions() -> list[str]:
    targets = [target for panel in _dashboard()["panels"] for target in panel.get("targets", ())]
    return [it["expr"] for it in targets] + [rule["expr"] for rule in _rules()]


def _exposed() -> dict[str, set[str]]:
    """Return every name that is exposed, with its labels."""
    scraped = _Scraped()
    leg = LegReport("vector", "q", "failed", error="OSError: down")
    scraped.report(legs=(leg,), conflicts={1: {"source": ["a", "b"]}}, cache="miss")
    ensemble_of(leg_of("a")).invoke("q", scraped.config)
    return {
        sample.name: set(sample.labels)
        for family in scraped.registry.collect()
        for sample in family.samples
    }


def test_dashboard_and_alerts_ask_only_for_metrics_that_are_exposed():
    exposed = _exposed()
    asked = {
        name
        for expression in _expressions()
        for name in re.findall(r"\b(?:langchain|retriever|query)_\w+", expression)
    }

    assert asked - exposed.keys() == set()


def test_every_metric_is_on_the_dashboard():
    shown = " ".join(_expressions())
    families = {re.sub(r"_(bucket|count|sum|created|total)$", "", name) for name in _exposed()}

    assert [name for name in sorted(families) if name not in shown] == []


def test_dashboard_and_alerts_group_only_by_labels_that_are_there():
    exposed = _exposed()
    for expression in _expressions():
        for grouped in re.findall(r"by \(([^)]*)\)", expression):
            names = re.findall(r"\b(?:langchain|retriever|query)_\w+", expression)
            there = set().union({"job"}, *(exposed[name] for name in names))
            assert {label.strip() for label in grouped.split(",")} <= there, expression


def test_the_dashboard_imports_on_any_prometheus():
    dashboard = _dashboard()

    assert dashboard["schemaVersion"] >= 39
    assert dashboard["id"] is None
    (source,) = [it for it in dashboard["templating"]["list"] if it["type"] == "datasource"]
    assert source["query"] == "prometheus"
    uses = {panel["datasource"]["uid"] for panel in dashboard["panels"]}
    assert uses == {f"${{{source['name']}}}"}
    ids = [panel["id"] for panel in dashboard["panels"]]
    assert len(set(ids)) == len(ids)


def test_no_two_panels_overlap():
    cells = [
        (column, row)
        for panel in _dashboard()["panels"]
        for place in [panel["gridPos"]]
        for column in range(place["x"], place["x"] + place["w"])
        for row in range(place["y"], place["y"] + place["h"])
    ]

    assert len(set(cells)) == len(cells)
    assert max(column for column, _ in cells) < 24


def test_each_alert_says_how_bad_it_is_and_what_to_do():
    for rule in _rules():
        assert rule["labels"]["severity"] in ("warning", "critical"), rule["alert"]
        assert rule["annotations"].keys() == {"summary", "description"}, rule["alert"]


def test_a_leg_over_800_ms_for_five_minutes_raises_an_alert():
    (rule,) = [rule for rule in _rules() if rule["alert"] == "RetrieverLegSlow"]

    assert rule["expr"].startswith("histogram_quantile(0.95,")
    assert rule["expr"].endswith("> 0.8")
    assert rule["for"] == "5m"
    scraped = _Scraped()
    scraped.report(legs=(LegReport("vector", "q", "ok", seconds=0.8),))
    below = scraped.registry.get_sample_value(
        "retriever_leg_duration_seconds_bucket", {"leg": "vector", "le": "0.8"}
    )
    assert below == 1  # 0.8 s is a bound: the alert's threshold is not interpolated


@pytest.mark.skipif(not shutil.which("promtool"), reason="promtool is not installed")
@pytest.mark.parametrize(
    "command", [["check", "rules", "alerts.yml"], ["test", "rules", "alerts_test.yml"]]
)
def test_promtool_accepts_the_alert_rules(command: list[str]):
    done = subprocess.run(  # noqa: S603 - a program that is asked for by name
        [shutil.which("promtool") or "", *command],
        cwd=_GRAFANA,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
