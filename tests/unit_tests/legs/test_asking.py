"""Legs asked side by side: concurrency, config, context, failures, deadlines, and closed runs."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import signal
import threading
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.runnables import RunnableConfig, RunnableLambda

from langchain_safe_retrievers import (
    AllLegsFailedError,
    LegTimeoutError,
    SafeEnsembleRetriever,
    SafeMultiQueryRetriever,
    collect_reports,
)
from langchain_safe_retrievers.legs.threads import MAX_ABANDONED, abandoned_threads
from langchain_safe_retrievers.testing import FakeLeg, texts
from tests.unit_tests.ways import (
    PATIENCE,
    Gauge,
    RunLog,
    ainvoke,
    both_ways,
    each_retriever,
    ensemble_of,
    eventually,
    every_way,
    in_time,
    invoke,
    leg_of,
    multi_query_over,
    writes,
)

if TYPE_CHECKING:
    from collections.abc import Callable

_place = contextvars.ContextVar("place", default="nowhere")


def _ensemble(*legs: Any, **fields: Any) -> SafeEnsembleRetriever:
    return SafeEnsembleRetriever(retrievers=list(legs), **fields)


def _skipping(*legs: Any, **fields: Any) -> SafeEnsembleRetriever:
    return _ensemble(*legs, on_leg_error="skip", **fields)


# Side by side -------------------------------------------------------------------------------------


@every_way
def test_legs_run_side_by_side(call: Callable[..., Any]):
    gauge = Gauge(expected=3)

    found = call(_ensemble(*[gauge.leg(name) for name in "abc"]), "q")

    assert texts(found) == ["a", "b", "c"]
    assert gauge.peak >= 3


@both_ways
def test_queries_run_side_by_side(call: Callable[..., Any]):
    gauge = Gauge(expected=3)
    retriever = SafeMultiQueryRetriever(retriever=gauge.leg(), llm_chain=writes("a", "b", "c"))

    assert texts(call(retriever, "q")) == ["a", "b", "c"]
    assert gauge.peak == 3


@both_ways
@pytest.mark.parametrize("limit", [1, 2, 3])
@pytest.mark.parametrize("leg_timeout", [None, PATIENCE])
def test_max_concurrency_is_honoured(
    call: Callable[..., Any], limit: int, leg_timeout: float | None
):
    gauge = Gauge(expected=limit)
    ensemble = _ensemble(*[gauge.leg(str(n)) for n in range(6)], leg_timeout=leg_timeout)

    found = call(ensemble, "q", {"max_concurrency": limit})

    assert gauge.peak == limit
    assert len(found) == 6


@both_ways
def test_max_concurrency_is_honoured_across_queries(call: Callable[..., Any]):
    gauge = Gauge(expected=2)
    chain = writes(*map(str, range(5)))
    retriever = SafeMultiQueryRetriever(retriever=gauge.leg(), llm_chain=chain)

    assert len(call(retriever, "q", {"max_concurrency": 2})) == 5
    assert gauge.peak == 2


@every_way
@pytest.mark.parametrize("leg_timeout", [None, PATIENCE])
def test_retrievers_nested_four_deep_end_with_max_concurrency_1(
    call: Callable[..., Any], leg_timeout: float | None
):
    nested: Any = leg_of("deep")
    for _ in range(4):
        nested = _ensemble(nested, leg_of("beside"), leg_timeout=leg_timeout)
        nested = SafeMultiQueryRetriever(retriever=nested, llm_chain=writes("a", "b"))

    assert sorted(texts(call(nested, "q", {"max_concurrency": 1}))) == ["beside", "deep"]


@both_ways
def test_the_result_has_the_legs_order_whichever_leg_ends_first(call: Callable[..., Any]):
    def ordered(first_to_end: str) -> list[Document]:
        done = threading.Event()

        def leg(name: str) -> RunnableLambda[Any, Any]:
            def ask(query: str) -> list[Document]:
                if name != first_to_end:
                    assert done.wait(PATIENCE)
                done.set()
                return [Document(page_content="both", metadata={"by": name}), _text(name)]

            return RunnableLambda(ask)

        found: list[Document] = call(_ensemble(leg("one"), leg("two"), provenance_key="from"), "q")
        return found

    assert ordered("one") == ordered("two")
    assert texts(ordered("two")) == ["both", "one", "two"]
    assert ordered("two")[0].metadata["by"] == "one"


def _text(text: str) -> Document:
    return Document(page_content=text)


# Config and context -------------------------------------------------------------------------------


@both_ways
@pytest.mark.parametrize("asked", ["ensemble", "multi-query", "query writer", "nested"])
def test_the_whole_config_reaches(call: Callable[..., Any], asked: str):
    seen: list[RunnableConfig] = []

    def spy(given: Any, config: RunnableConfig) -> list[str]:
        seen.append(config)
        return ["text"]

    leg = RunnableLambda(spy)
    retriever = {
        "ensemble": ensemble_of(leg),
        "multi-query": multi_query_over(leg),
        "query writer": SafeMultiQueryRetriever(retriever=leg_of(), llm_chain=leg),
        "nested": ensemble_of(multi_query_over(ensemble_of(leg))),
    }[asked]
    log = RunLog()

    call(
        retriever,
        "q",
        {
            "callbacks": [log],
            "tags": ["mine"],
            "metadata": {"user": 7},
            "configurable": {"tenant": "t"},
            "max_concurrency": 3,
            "recursion_limit": 11,
        },
    )

    (config,) = seen
    assert "mine" in config["tags"]
    assert config["metadata"]["user"] == 7
    assert config["configurable"] == {"tenant": "t"}
    assert config["max_concurrency"] == 3
    assert config["recursion_limit"] == 11
    (run,) = [run for run, name in log.names.items() if name == "spy"]
    assert "mine" in log.tags[run]
    assert log.metadata[run]["user"] == 7
    assert log.unclosed == {}


@both_ways
def test_run_name_and_run_id_of_the_caller_are_its_own(call: Callable[..., Any]):
    log = RunLog()

    call(_ensemble(FakeLeg(), FakeLeg()), "q", {"callbacks": [log], "run_name": "mine"})

    assert sorted(log.names.values()) == ["FakeLeg", "FakeLeg", "mine"]


@both_ways
def test_each_leg_has_its_own_copy_of_the_callers_context(call: Callable[..., Any]):
    token = _place.set("outside")
    seen: list[str] = []

    def ask(query: str) -> list[str]:
        seen.append(_place.get())
        _place.set("inside")
        return ["text"]

    async def aask(query: str) -> list[str]:
        return ask(query)

    try:
        call(_ensemble(*[RunnableLambda(ask, aask)] * 3), "q", {"max_concurrency": 1})
        assert seen == ["outside"] * 3
        assert _place.get() == "outside"
    finally:
        _place.reset(token)


# A leg fails --------------------------------------------------------------------------------------


@every_way
@each_retriever
def test_a_legs_own_error_is_raised_with_a_note_that_names_the_leg(
    call: Callable[..., Any], over: Any
):
    error = ValueError("broken")

    with pytest.raises(ValueError, match="broken") as raised:
        call(over(FakeLeg(error=error)), "q")

    assert raised.value is error
    name = "retriever_1" if over is ensemble_of else "query_1"
    assert error.__notes__ == [f"raised by leg '{name}'"]


@both_ways
def test_an_error_raised_again_and_again_is_noted_once(call: Callable[..., Any]):
    error = ValueError("broken")
    ensemble = _ensemble(FakeLeg(error=error), leg_names=["vector"])

    for _ in range(3):
        with pytest.raises(ValueError, match="broken"):
            call(ensemble, "q")

    assert error.__notes__ == ["raised by leg 'vector'"]


async def test_of_legs_that_have_failed_together_the_first_in_legs_order_is_raised():
    errors = [ValueError("one"), KeyError("two")]

    with pytest.raises(ValueError, match="one") as raised:
        await _ensemble(*[FakeLeg(error=error) for error in errors]).ainvoke("q")

    assert raised.value is errors[0]


@both_ways
def test_after_a_failure_legs_that_wait_are_never_asked(call: Callable[..., Any]):
    never = FakeLeg()

    with collect_reports() as reports, pytest.raises(ValueError, match="broken"):
        call(_ensemble(FakeLeg(error=ValueError("broken")), never), "q", {"max_concurrency": 1})

    assert never.calls == []
    assert [leg.status for leg in reports[0].legs] == ["failed", "cancelled"]
    assert reports[0].error == "ValueError: broken"


@both_ways
def test_a_failure_does_not_wait_for_legs_that_hang(call: Callable[..., Any]):
    hanging, log = FakeLeg(hangs=True), RunLog()
    ensemble = _ensemble(hanging, FakeLeg(error=ValueError("broken")), leg_timeout=PATIENCE)

    with pytest.raises(ValueError, match="broken"):
        call(ensemble, "q", {"callbacks": [log]})

    assert log.unclosed == {}
    hanging.release()
    assert eventually(lambda: abandoned_threads(id(hanging)) == 0)


@every_way
def test_a_skipped_leg_leaves_a_warning_a_report_and_its_own_error_event(
    call: Callable[..., Any], caplog: pytest.LogCaptureFixture
):
    error, log = ValueError("broken"), RunLog()
    legs = [FakeLeg(error=error), FakeLeg(documents=["a"])]
    ensemble = _skipping(*legs, leg_names=["vector", "keyword"])

    with collect_reports() as reports:
        assert texts(call(ensemble, "q", {"callbacks": [log]})) == ["a"]

    warning = caplog.records[0]
    assert (warning.levelno, warning.name.split(".")[0]) == (
        logging.WARNING,
        "langchain_safe_retrievers",
    )
    assert warning.getMessage() == "leg 'vector' failed and was skipped: ValueError"
    report = reports[0]
    assert [(leg.leg, leg.status, leg.hits, leg.error) for leg in report.legs] == [
        ("vector", "failed", 0, "ValueError: broken"),
        ("keyword", "ok", 1, None),
    ]
    assert (report.degraded, report.error) == (True, None)
    assert log.errors == {"retriever_1": error}
    assert log.unclosed == {}


@both_ways
def test_a_skipped_query_leaves_the_others(
    call: Callable[..., Any], caplog: pytest.LogCaptureFixture
):
    def ask(query: str) -> list[str]:
        if query == "bad":
            msg = "broken"
            raise ValueError(msg)
        return [query]

    chain = writes("one", "bad", "two")
    retriever = SafeMultiQueryRetriever(
        retriever=RunnableLambda(ask), llm_chain=chain, on_leg_error="skip"
    )

    assert texts(call(retriever, "q")) == ["one", "two"]
    assert "leg 'query_2' failed and was skipped" in caplog.text


@both_ways
@each_retriever
def test_when_every_leg_fails_all_causes_are_raised_together(call: Callable[..., Any], over: Any):
    with pytest.raises(AllLegsFailedError, match="every leg failed") as raised:
        call(over(FakeLeg(error=ValueError("broken")), on_leg_error="skip"), "q")

    assert [str(error) for error in raised.value.exceptions] == ["broken"]


@both_ways
def test_when_every_leg_fails_each_is_in_the_log_under_its_name(
    call: Callable[..., Any], caplog: pytest.LogCaptureFixture
):
    legs = [FakeLeg(error=ValueError("broken")) for _ in range(2)]

    with pytest.raises(AllLegsFailedError):
        call(_skipping(*legs, leg_names=["a", "b"]), "q")

    assert caplog.messages == [
        "leg 'a' failed as every leg did: ValueError",
        "leg 'b' failed as every leg did: ValueError",
    ]


@both_ways
def test_the_causes_are_in_the_legs_order_and_can_be_split_by_kind(call: Callable[..., Any]):
    errors = [ValueError("one"), KeyError("two"), ValueError("three")]
    ensemble = _skipping(*[FakeLeg(error=error) for error in errors], leg_names=["a", "b", "c"])

    with pytest.raises(AllLegsFailedError) as raised:
        call(ensemble, "q")

    assert raised.value.exceptions == tuple(errors)
    assert "every leg failed: a: ValueError: one; b: KeyError" in str(raised.value)
    values, _ = raised.value.split(ValueError)
    assert isinstance(values, AllLegsFailedError)
    assert values.exceptions == (errors[0], errors[2])


@both_ways
def test_a_leg_of_weight_0_does_not_save_an_ensemble_whose_other_legs_fail(
    call: Callable[..., Any],
):
    legs = [FakeLeg(error=ValueError("broken")), FakeLeg(documents=["a"])]

    with pytest.raises(AllLegsFailedError):
        call(_skipping(*legs, weights=[1, 0]), "q")


@both_ways
@pytest.mark.parametrize("failure", ["error", "hangs"])
def test_the_failure_of_a_required_leg_is_raised_even_when_others_are_skipped(
    call: Callable[..., Any], failure: str
):
    error = ValueError("broken")
    broken = FakeLeg(error=error) if failure == "error" else FakeLeg(hangs=True)
    ensemble = _skipping(
        FakeLeg(error=KeyError("skipped")),
        broken,
        FakeLeg(documents=["a"]),
        required_legs=("retriever_2",),
        leg_timeout=0.05 if failure == "hangs" else None,
    )

    with pytest.raises(ValueError if failure == "error" else LegTimeoutError) as raised:
        call(ensemble, "q")

    assert raised.value.__notes__ == ["raised by leg 'retriever_2'"]
    assert failure == "hangs" or raised.value is error
    broken.release()


@both_ways
def test_an_error_that_cannot_be_printed_is_skipped_like_any_other(call: Callable[..., Any]):
    class Mute(Exception):  # noqa: N818 - a fake
        def __str__(self) -> str:
            msg = "no text"
            raise RuntimeError(msg)

    with collect_reports() as reports:
        found = call(_skipping(FakeLeg(error=Mute()), FakeLeg(documents=["a"])), "q")

    assert texts(found) == ["a"]
    assert "Mute" in reports[0].legs[0].error


# A leg hangs --------------------------------------------------------------------------------------


@every_way
def test_a_leg_that_hangs_is_skipped_after_leg_timeout(
    call: Callable[..., Any], caplog: pytest.LogCaptureFixture
):
    hanging, log = FakeLeg(hangs=True), RunLog()
    ensemble = _skipping(hanging, FakeLeg(documents=["a"]), leg_timeout=0.05)

    with collect_reports() as reports:
        assert texts(call(ensemble, "q", {"callbacks": [log]})) == ["a"]

    message = "leg 'retriever_1' did not answer within 0.05 s"
    slow, quick = reports[0].legs
    assert (slow.status, quick.status) == ("timed out", "ok")
    assert slow.error == f"LegTimeoutError: {message}"
    assert 0.05 <= slow.seconds < PATIENCE
    assert reports[0].degraded
    assert "LegTimeoutError" in caplog.text
    assert {label: str(error) for label, error in log.errors.items()} == {"retriever_1": message}
    hanging.release()


@both_ways
@each_retriever
def test_a_leg_that_hangs_is_a_timeout_error_after_leg_timeout(call: Callable[..., Any], over: Any):
    hanging, log = FakeLeg(hangs=True), RunLog()

    with pytest.raises(TimeoutError, match=r"did not answer within 0\.03 s") as raised:
        call(over(hanging, leg_timeout=0.03), "q", {"callbacks": [log]})

    assert isinstance(raised.value, LegTimeoutError)
    assert log.unclosed == {}
    hanging.release()


def test_a_thread_that_hangs_is_abandoned_counted_and_released():
    hanging = FakeLeg(hangs=True)

    with pytest.raises(LegTimeoutError):
        invoke(_ensemble(hanging, leg_timeout=0.03), "q")

    assert abandoned_threads(id(hanging)) == 1
    hanging.release()
    assert eventually(lambda: abandoned_threads(id(hanging)) == 0)


def test_a_leg_in_which_too_many_threads_hang_is_not_asked_until_they_are_released():
    hanging = FakeLeg(hangs=True)
    ensemble = _ensemble(hanging, leg_timeout=0.005)
    for _ in range(MAX_ABANDONED):
        with pytest.raises(LegTimeoutError, match="did not answer"):
            invoke(ensemble, "q")

    with pytest.raises(LegTimeoutError, match="was not asked: 16 threads still hang in it"):
        invoke(ensemble, "q")

    assert len(hanging.calls) == MAX_ABANDONED
    hanging.release()
    assert eventually(lambda: abandoned_threads(id(hanging)) == 0)
    assert invoke(_ensemble(hanging, leg_timeout=PATIENCE), "q") == []


@both_ways
def test_one_call_with_many_queries_leaves_no_more_threads_hanging_than_allowed(
    call: Callable[..., Any],
):
    gate = threading.Event()

    def hang(query: str) -> list[str]:
        gate.wait(PATIENCE)
        return []

    leg = RunnableLambda(hang)
    chain = writes(*map(str, range(MAX_ABANDONED + 8)))
    retriever = SafeMultiQueryRetriever(
        retriever=leg, llm_chain=chain, leg_timeout=0.05, on_leg_error="skip"
    )

    with pytest.raises(AllLegsFailedError):
        call(retriever, "q")

    left = abandoned_threads(id(leg))
    gate.set()
    assert eventually(lambda: abandoned_threads(id(leg)) == 0)
    assert 0 < left <= MAX_ABANDONED


def test_an_async_leg_that_hangs_is_cancelled_and_leaves_no_task_and_no_thread():
    hanging = FakeLeg(hangs=True)

    async def inside() -> int:
        with pytest.raises(LegTimeoutError):
            await _ensemble(hanging, leg_timeout=0.03).ainvoke("q")
        return len(asyncio.all_tasks())

    assert asyncio.run(inside()) == 1
    assert abandoned_threads(id(hanging)) == 0


def test_a_sync_leg_that_hangs_does_not_keep_the_loop_from_ending():
    gate = threading.Event()
    leg = RunnableLambda(lambda query: gate.wait(PATIENCE) and [])

    with pytest.raises(LegTimeoutError):
        ainvoke(_ensemble(leg, leg_timeout=0.03), "q")

    assert not gate.is_set()
    gate.set()
    assert eventually(lambda: abandoned_threads(id(leg)) == 0)


@both_ways
def test_an_infinite_leg_timeout_is_refused_or_means_to_wait(call: Callable[..., Any]):
    try:
        ensemble = _ensemble(FakeLeg(documents=["a"], delay=0.01), leg_timeout=float("inf"))
    except ValueError:
        return
    assert texts(call(ensemble, "q")) == ["a"]


@each_retriever
@pytest.mark.parametrize("leg_timeout", [0, -1, float("nan"), True, "soon"])
def test_a_leg_timeout_that_cannot_work_is_refused(over: Any, leg_timeout: Any):
    with pytest.raises(ValueError, match="leg_timeout"):
        over(FakeLeg(), leg_timeout=leg_timeout)


# What passes through, and the runs it leaves ------------------------------------------------------


@both_ways
@pytest.mark.parametrize("on_leg_error", ["raise", "skip"])
@pytest.mark.parametrize("leg_timeout", [None, PATIENCE])
@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, asyncio.CancelledError])
def test_what_is_no_exception_passes_through_and_every_run_is_closed(
    call: Callable[..., Any], error: Any, leg_timeout: float | None, on_leg_error: Any
):
    log = RunLog()
    inner = _ensemble(FakeLeg(error=error("stop")), FakeLeg())
    ensemble = _ensemble(
        FakeLeg(documents=["a"]), inner, on_leg_error=on_leg_error, leg_timeout=leg_timeout
    )

    with pytest.raises(error):
        call(ensemble, "q", {"callbacks": [log]})

    assert len(log.names) >= 4
    assert log.unclosed == {}


@both_ways
@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, asyncio.CancelledError])
def test_what_a_query_writer_raises_that_is_no_exception_passes_through(
    call: Callable[..., Any], error: Any
):
    leg, log = FakeLeg(), RunLog()

    def write(inputs: Any) -> list[str]:
        raise error

    retriever = SafeMultiQueryRetriever(retriever=leg, llm_chain=RunnableLambda(write))

    with pytest.raises(error):
        call(retriever, "q", {"callbacks": [log]})

    assert leg.calls == []
    assert log.unclosed == {}


def test_ctrl_c_ends_a_sync_call_whose_leg_hangs_and_closes_every_run():
    hanging, log = FakeLeg(hangs=True), RunLog()
    caller = threading.get_ident()

    def press(query: str) -> list[str]:
        assert eventually(lambda: hanging.calls)
        signal.pthread_kill(caller, signal.SIGINT)
        return []

    ensemble = _skipping(hanging, RunnableLambda(press), leg_timeout=PATIENCE)

    with collect_reports() as reports, pytest.raises(KeyboardInterrupt):
        invoke(ensemble, "q", {"callbacks": [log]})

    assert eventually(lambda: log.unclosed == {})
    assert reports[0].error.startswith("KeyboardInterrupt")
    hanging.release()
    assert eventually(lambda: abandoned_threads(id(hanging)) == 0)


@pytest.mark.parametrize("nested", ["ensemble", "ensemble of ensembles", "multi-query"])
@pytest.mark.parametrize("on_leg_error", ["raise", "skip"])
def test_a_cancel_from_outside_closes_own_and_childrens_runs_and_leaves_no_task(
    nested: str, on_leg_error: Any
):
    hanging, log = FakeLeg(hangs=True), RunLog()
    ensemble = _ensemble(
        hanging, FakeLeg(documents=["a"]), hanging.with_retry(), on_leg_error=on_leg_error
    )
    retriever: Any = {
        "ensemble": ensemble,
        "ensemble of ensembles": ensemble_of(ensemble_of(ensemble)),
        "multi-query": SafeMultiQueryRetriever(retriever=ensemble, llm_chain=writes("a", "b")),
    }[nested]

    async def cancelled() -> int:
        task = asyncio.create_task(retriever.ainvoke("q", {"callbacks": [log]}))
        await in_time(lambda: len(hanging.calls) == (4 if nested == "multi-query" else 2))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return len(asyncio.all_tasks())

    with collect_reports() as reports:
        assert asyncio.run(cancelled()) == 1

    assert log.unclosed == {}
    assert "CancelledError" in str(reports[-1].error)


def test_a_cancel_while_the_model_writes_closes_its_run_too():
    log = RunLog()

    async def cancelled() -> None:
        writing = asyncio.Event()

        class Model(FakeListChatModel):
            async def _agenerate(self, *args: Any, **kwargs: Any) -> Any:
                writing.set()
                await asyncio.Event().wait()

        retriever = SafeMultiQueryRetriever.from_llm(FakeLeg(), Model(responses=["a"]))
        task = asyncio.create_task(retriever.ainvoke("q", {"callbacks": [log]}))
        await writing.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())

    assert "model" in log.names.values()
    assert log.unclosed == {}


def test_a_run_is_closed_once_even_if_its_thread_ends_after_all():
    hanging, log = FakeLeg(hangs=True), RunLog()

    with pytest.raises(LegTimeoutError):
        invoke(_ensemble(hanging, leg_timeout=0.03), "q", {"callbacks": [log]})
    hanging.release()
    assert eventually(lambda: abandoned_threads(id(hanging)) == 0)

    assert log.unclosed == {}


def test_a_run_that_a_forgotten_thread_starts_is_told_to_nobody():
    hanging, log = FakeLeg(hangs=True), RunLog()
    leg = hanging | RunnableLambda(lambda found: found)

    with pytest.raises(LegTimeoutError):
        invoke(_ensemble(leg, leg_timeout=0.03), "q", {"callbacks": [log]})
    known = set(log.names)
    hanging.release()
    assert eventually(lambda: abandoned_threads(id(leg)) == 0)

    assert set(log.names) == known


@both_ways
@pytest.mark.parametrize("on_leg_error", ["raise", "skip"])
def test_every_run_is_closed_once_whatever_mix_of_legs_there_is(
    call: Callable[..., Any], on_leg_error: Any
):
    def fail(query: str) -> list[str]:
        msg = "broken"
        raise ValueError(msg)

    log = RunLog()
    legs = [
        FakeLeg(documents=["a"]),
        FakeLeg(error=ValueError("broken")),
        RunnableLambda(fail).with_fallbacks([leg_of("b")]),
        RunnableLambda(fail).with_retry(wait_exponential_jitter=False),
        FakeLeg(documents=7),
        leg_of("c") | RunnableLambda(lambda found: found),
        multi_query_over(FakeLeg(documents=["d"])),
    ]
    ensemble = _ensemble(*legs, on_leg_error=on_leg_error)

    if on_leg_error == "skip":
        assert sorted(texts(call(ensemble, "q", {"callbacks": [log]}))) == ["a", "b", "c", "d"]
    else:
        with pytest.raises((ValueError, TypeError)):
            call(ensemble, "q", {"callbacks": [log]})

    assert eventually(lambda: not _told_wrongly(log)), log.unclosed


def _told_wrongly(log: RunLog) -> dict[str, Any]:
    """Return the runs that did not end once.

    Core tells of a cancel too where it comes while handlers hear of a run's end.
    """
    return {
        name: ends
        for name, ends in log.unclosed.items()
        if not ends or any(not isinstance(end, asyncio.CancelledError) for end in ends[1:])
    }
