"""SafeRetriever keeps a leg's troubles away from its caller, and reports them."""

from __future__ import annotations

import asyncio
import copy
import logging
import pickle
import threading
import time
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.runnables import ConfigurableField, RunnableLambda
from langchain_core.stores import InMemoryByteStore
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_safe_retrievers import (
    AllLegsFailedError,
    CircuitOpenError,
    ConfigurationError,
    DocumentCache,
    FilterError,
    LegHangingError,
    LegTimeoutError,
    QueryError,
    RetrievalReport,
    SafeEnsembleRetriever,
    SafeRetriever,
    UnacceptedArgumentError,
    collect_reports,
)
from langchain_safe_retrievers.legs.threads import abandoned_threads
from langchain_safe_retrievers.testing import FakeLeg, texts

_WORLDS = ["sync", "async"]
_QUICK = {"retry_wait": 0.001, "max_retry_wait": 0.002}
_DOWN = ConnectionError("refused")


async def _ask(retriever: Any, query: Any = "q", *, world: str = "sync", **kwargs: Any):
    """Ask in one of the worlds; return what came, documents or error, and the outermost report."""
    with collect_reports() as reports:
        try:
            if world == "sync":
                found = retriever.invoke(query, **kwargs)
            else:
                found = await retriever.ainvoke(query, **kwargs)
        except Exception as error:  # noqa: BLE001 - what is looked at
            found = error
    return found, reports[-1]


def _statuses(report: RetrievalReport) -> list[tuple[str, int]]:
    return [(leg.status, leg.attempts) for leg in report.legs]


class _Flaky(FakeLeg):
    """Fails so many times, then answers."""

    failures: int = 1
    problem: Any = _DOWN

    def _answer(self) -> Any:
        if len(self.calls) <= self.failures:
            raise self.problem
        return super()._answer()


# A healthy leg ------------------------------------------------------------------------------------


@pytest.mark.parametrize("world", _WORLDS)
@pytest.mark.parametrize("limit", [None, 5.0])
async def test_a_healthy_leg_answers_as_it_does_alone(world: str, limit: float | None):
    document = Document(page_content="a", id="1", metadata={"x": [1]})
    retriever = SafeRetriever(
        retriever=FakeLeg(documents=[document, "b"]), timeout=limit, deadline=limit
    )
    found, report = await _ask(retriever, world=world)

    assert found[0] is document
    assert texts(found) == ["a", "b"]
    assert _statuses(report) == [("ok", 1)]
    assert not report.degraded


@pytest.mark.parametrize("world", _WORLDS)
async def test_its_legs_scores_reach_the_ensemble_around_it(world: str):
    leg = FakeLeg(documents=[("a", 0.9), ("b", 0.2)])
    ensemble = SafeEnsembleRetriever(
        retrievers=[SafeRetriever(retriever=leg, cache=True)], provenance_key="found"
    )
    for _ in ("asked", "from the cache"):
        found, _ = await _ask(ensemble, world=world)
        assert [document.metadata["found"][0]["score"] for document in found] == [0.9, 0.2]


@pytest.mark.parametrize("world", _WORLDS)
async def test_k_and_filter_reach_the_leg_and_are_held(world: str):
    documents = [
        Document(page_content=t, metadata={"lang": t[0]}) for t in ("e1", "d1", "e2", "e3")
    ]
    leg = FakeLeg(documents=documents)
    found, report = await _ask(SafeRetriever(retriever=leg), world=world, k=2, filter={"lang": "e"})

    assert texts(found) == ["e1", "e2"]
    assert leg.calls == [("q", {"k": 2, "filter": {"lang": "e"}})]
    assert report.filtered == 1


async def test_an_argument_that_no_leg_takes_is_refused():
    leg = RunnableLambda(lambda query: [])
    found, _ = await _ask(SafeRetriever(retriever=leg), lambda_mult=0.5)

    assert isinstance(found, UnacceptedArgumentError)


# The guard ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("world", _WORLDS)
@pytest.mark.parametrize("query", [None, 3, "", "  ", "a" * 8001])
async def test_what_is_no_query_is_refused_and_nobody_is_asked(world: str, query: Any):
    leg, fallback = FakeLeg(), FakeLeg()
    found, report = await _ask(
        SafeRetriever(retriever=leg, fallbacks=[fallback]), query, world=world
    )

    assert isinstance(found, QueryError)
    assert report.error
    assert leg.calls == fallback.calls == []


async def test_what_no_store_can_read_is_taken_out_of_the_query_and_the_report_says_so():
    leg = FakeLeg(documents=["a"])
    _, report = await _ask(SafeRetriever(retriever=leg), "bees\x00honey")

    assert leg.calls == [("bees honey", {})]
    assert any("taken out of the query" in note for note in report.notes)


async def test_a_filter_that_cannot_be_read_is_refused_without_a_fallback():
    fallback = FakeLeg()
    retriever = SafeRetriever(retriever=FakeLeg(), fallbacks=[fallback])
    found, _ = await _ask(retriever, filter={"a": {"$near": 1}})

    assert isinstance(found, FilterError)
    assert fallback.calls == []


# Retries ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("world", _WORLDS)
async def test_an_error_that_passes_is_tried_again_and_told(world: str, caplog: Any):
    leg = _Flaky(documents=["a"], failures=2)
    with caplog.at_level(logging.WARNING):
        found, report = await _ask(SafeRetriever(retriever=leg, **_QUICK), world=world)

    assert texts(found) == ["a"]
    assert _statuses(report) == [("ok", 3)]
    assert [note.split(":")[1] for note in report.notes] == [
        " attempt 1 failed",
        " attempt 2 failed",
    ]
    assert caplog.text.count("asked again in") == 2
    assert "after 3 attempts" in str(report)


@pytest.mark.parametrize("world", _WORLDS)
@pytest.mark.parametrize("error", [ValueError("bad"), TypeError("bad"), PermissionError("no")])
async def test_an_error_that_will_not_pass_is_raised_at_once(world: str, error: Exception):
    leg = FakeLeg(error=error)
    found, report = await _ask(SafeRetriever(retriever=leg), world=world)

    assert found is error
    assert len(leg.calls) == 1
    assert _statuses(report) == [("failed", 1)]


@pytest.mark.parametrize("world", _WORLDS)
async def test_after_max_retries_the_error_is_the_legs_own(world: str):
    leg = FakeLeg(error=_DOWN)
    found, _ = await _ask(SafeRetriever(retriever=leg, max_retries=1, **_QUICK), world=world)

    assert found is _DOWN
    assert len(leg.calls) == 2


@pytest.mark.parametrize("world", _WORLDS)
async def test_a_pause_that_would_pass_the_deadline_is_not_begun(world: str):
    error = ConnectionError("busy")
    error.retry_after = 60
    started = time.monotonic()
    found, report = await _ask(SafeRetriever(retriever=FakeLeg(error=error)), world=world)

    assert found is error
    assert _statuses(report) == [("failed", 1)]
    assert time.monotonic() - started < 30


# Timeouts -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("world", _WORLDS)
async def test_a_leg_that_hangs_is_late_after_timeout(world: str):
    leg = FakeLeg(hangs=True)
    found, report = await _ask(
        SafeRetriever(retriever=leg, timeout=0.02, max_retries=1, **_QUICK), world=world
    )
    leg.release()

    assert isinstance(found, LegTimeoutError)
    assert _statuses(report) == [("timed out", 2)]


@pytest.mark.parametrize("world", _WORLDS)
async def test_the_deadline_caps_attempts_and_retries(world: str):
    leg = FakeLeg(hangs=True)
    started = time.monotonic()
    found, _ = await _ask(
        SafeRetriever(retriever=leg, timeout=0.1, deadline=0.15, max_retries=50, **_QUICK),
        world=world,
    )
    leg.release()

    assert isinstance(found, LegTimeoutError)
    assert time.monotonic() - started < 2  # fifty retries would be five seconds


@pytest.mark.parametrize("world", _WORLDS)
async def test_a_leg_that_is_slow_once_answers_at_the_second_attempt(world: str):
    class SlowOnce(FakeLeg):
        def _get_relevant_documents(self, query: str, **kwargs: Any) -> Any:
            self.hangs = not self.calls
            return super()._get_relevant_documents(query, **kwargs)

        async def _aget_relevant_documents(self, query: str, **kwargs: Any) -> Any:
            self.hangs = not self.calls
            return await super()._aget_relevant_documents(query, **kwargs)

    leg = SlowOnce(documents=["a"])
    found, report = await _ask(SafeRetriever(retriever=leg, timeout=0.2, **_QUICK), world=world)
    leg.release()

    assert texts(found) == ["a"]
    assert _statuses(report) == [("ok", 2)]


@pytest.mark.parametrize("world", _WORLDS)
async def test_hanging_threads_are_bounded_and_then_calls_fail_at_once(world: str):
    released = threading.Event()
    leg = RunnableLambda(lambda query: released.wait(30) and [])
    retriever = SafeRetriever(
        retriever=leg, timeout=0.02, max_retries=0, max_abandoned=3, failure_threshold=None
    )
    kinds = [type((await _ask(retriever, world=world))[0]) for _ in range(5)]
    hanging = abandoned_threads(id(leg))
    released.set()

    assert kinds == [LegTimeoutError] * 3 + [LegHangingError] * 2
    assert hanging == 3


async def test_many_callers_of_a_leg_that_hangs_hold_no_more_threads_than_they_may():
    released, inside, lock, most = threading.Event(), [0], threading.Lock(), [0]

    def hang(query: str) -> list[str]:
        with lock:
            inside[0] += 1
            most[0] = max(most[0], inside[0])
        released.wait(30)
        with lock:
            inside[0] -= 1
        return []

    retriever = SafeRetriever(
        retriever=RunnableLambda(hang), timeout=0.1, max_retries=0, max_abandoned=4
    )
    found = await asyncio.gather(*[_ask(retriever, world="async") for _ in range(30)])
    released.set()

    assert most[0] == 4
    assert all(isinstance(error, LegTimeoutError | CircuitOpenError) for error, _ in found)


async def test_callers_wait_their_turn_for_a_leg_that_is_slow_but_healthy():
    leg = RunnableLambda(lambda query: time.sleep(0.005) or ["a"])
    retriever = SafeRetriever(retriever=leg, timeout=5.0, max_abandoned=2)
    found = await asyncio.gather(*[_ask(retriever, world="async") for _ in range(20)])

    assert [texts(documents) for documents, _ in found] == [["a"]] * 20


# The circuit breaker ------------------------------------------------------------------------------


@pytest.mark.parametrize("world", _WORLDS)
async def test_a_leg_that_fails_again_and_again_is_left_alone_and_tried_after_a_rest(world: str):
    leg = _Flaky(documents=["a"], failures=2)
    retriever = SafeRetriever(retriever=leg, max_retries=0, failure_threshold=2, reset_after=0.05)
    for _ in range(2):
        await _ask(retriever, world=world)
    found, report = await _ask(retriever, world=world)
    assert isinstance(found, CircuitOpenError)
    assert _statuses(report) == [("open circuit", 0)]
    assert retriever.circuit == "open"
    await asyncio.sleep(0.06)
    found, report = await _ask(retriever, world=world)

    assert texts(found) == ["a"]
    assert len(leg.calls) == 3
    assert retriever.circuit == "closed"


@pytest.mark.parametrize("again", [copy.deepcopy, lambda r: pickle.loads(pickle.dumps(r))])
async def test_a_copy_starts_with_a_closed_circuit(again: Any):
    retriever = SafeRetriever(
        retriever=FakeLeg(error=OSError("down")), failure_threshold=1, cache=True
    )
    await _ask(retriever)
    assert retriever.circuit == "open"

    assert again(retriever).circuit == "closed"


async def test_without_a_threshold_the_leg_is_always_asked():
    leg = FakeLeg(error=OSError("down"))
    retriever = SafeRetriever(retriever=leg, failure_threshold=None)
    for _ in range(20):
        await _ask(retriever)

    assert len(leg.calls) == 20


# Fallbacks ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("world", _WORLDS)
async def test_the_first_fallback_that_answers_does_and_the_report_says_which(
    world: str, caplog: Any
):
    retriever = SafeRetriever(
        retriever=FakeLeg(error=_DOWN, name="vector"),
        fallbacks=[FakeLeg(error=OSError("x"), name="sql"), FakeLeg(documents=["a"], name="kw")],
        max_retries=0,
    )
    with caplog.at_level(logging.WARNING):
        found, report = await _ask(retriever, world=world)

    assert texts(found) == ["a"]
    assert [leg.leg for leg in report.legs] == ["vector", "sql (fallback 1)", "kw (fallback 2)"]
    assert _statuses(report) == [("failed", 1), ("failed", 1), ("fallback", 1)]
    assert report.degraded
    assert "leg 'vector' failed, 'sql (fallback 1)' is asked in its place" in caplog.text


@pytest.mark.parametrize("world", _WORLDS)
async def test_if_all_fail_the_error_has_every_cause(world: str):
    retriever = SafeRetriever(
        retriever=FakeLeg(error=_DOWN), fallbacks=[FakeLeg(error=OSError("x"))], max_retries=0
    )
    found, report = await _ask(retriever, world=world)

    assert isinstance(found, AllLegsFailedError)
    assert [str(error) for error in found.exceptions] == ["refused", "x"]
    assert _statuses(report) == [("failed", 1), ("failed", 1)]


@pytest.mark.parametrize("world", _WORLDS)
@pytest.mark.parametrize("limit", [None, 0.1, 5.0])
async def test_a_leg_that_hangs_leaves_time_for_its_fallback(world: str, limit: float | None):
    leg = FakeLeg(hangs=True)
    retriever = SafeRetriever(
        retriever=leg, fallbacks=[FakeLeg(documents=["a"])], timeout=limit, deadline=0.4
    )
    found, report = await _ask(retriever, world=world)
    leg.release()

    assert texts(found) == ["a"]
    assert report.legs[0].status == "timed out"


# The cache ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("world", _WORLDS)
@pytest.mark.parametrize("store", [None, InMemoryByteStore()], ids=["memory", "store"])
async def test_a_second_equal_call_is_answered_from_the_cache(world: str, store: Any):
    leg = FakeLeg(documents=[Document(page_content="a", id="1", metadata={"at": (1, 2)})])
    retriever = SafeRetriever(
        retriever=leg, cache=DocumentCache(store=store), cache_namespace=world
    )
    first, miss = await _ask(retriever, world=world)
    second, hit = await _ask(retriever, world=world)

    assert first == second
    assert first[0] is not second[0]
    assert len(leg.calls) == 1
    assert (miss.cache, hit.cache) == ("miss", "hit")
    assert _statuses(hit) == [("cached", 0)]


@pytest.mark.parametrize(
    "other",
    [
        {"query": "other"},
        {"k": 3},
        {"filter": {"a": 1}},
        {"filter": {"a": True}},
        {"config": {"configurable": {"tenant": "b"}}},
    ],
    ids=str,
)
async def test_a_call_that_differs_in_anything_is_another(other: dict[str, Any]):
    leg = FakeLeg(documents=["a"])
    retriever = SafeRetriever(retriever=leg, cache=True)
    for call in ({"filter": {"a": 1.5}}, {}, other, {}):
        await _ask(retriever, **{"query": "q", **call})

    assert len(leg.calls) == 3


async def test_what_a_graph_puts_into_the_config_makes_no_difference():
    leg = FakeLeg(documents=["a"])
    retriever = SafeRetriever(retriever=leg, cache=True)
    for number in range(3):
        inside = {"checkpoint_id": number, "__pregel_task_id": object()}
        await _ask(retriever, config={"configurable": inside})

    assert len(leg.calls) == 1


@pytest.mark.parametrize("world", _WORLDS)
async def test_errors_and_degraded_answers_are_not_remembered(world: str):
    leg = FakeLeg(error=_DOWN)
    retriever = SafeRetriever(
        retriever=leg,
        fallbacks=[FakeLeg(documents=["from the fallback"])],
        cache=True,
        max_retries=0,
    )
    await _ask(retriever, world=world)
    leg.error, leg.documents = None, ["a"]
    found, report = await _ask(retriever, world=world)

    assert texts(found) == ["a"]
    assert report.cache == "miss"


async def test_equal_calls_in_many_tasks_ask_once():
    leg = FakeLeg(documents=[Document(page_content="a", metadata={"tags": []})], delay=0.02)
    retriever = SafeRetriever(retriever=leg, cache=True)
    answers = await asyncio.gather(*[_ask(retriever, world="async") for _ in range(20)])

    assert len(leg.calls) == 1
    assert sorted(report.cache for _, report in answers) == ["miss"] + ["shared"] * 19
    for found, _ in answers:
        found[0].metadata["tags"].append("mine")
    assert [found[0].metadata["tags"] for found, _ in answers] == [["mine"]] * 20


def test_equal_calls_in_many_threads_ask_once():
    leg = FakeLeg(documents=["a"], delay=0.02)
    retriever = SafeRetriever(retriever=leg, cache=True)

    assert retriever.batch(["q"] * 16, {"max_concurrency": 16}) == [leg.invoke("x")] * 16
    assert [query for query, _ in leg.calls].count("q") == 1


async def test_who_joined_a_call_that_fails_gets_its_error():
    leg = FakeLeg(error=ValueError("bad"), delay=0.02)
    retriever = SafeRetriever(retriever=leg, cache=True)
    answers = await asyncio.gather(*[_ask(retriever, world="async") for _ in range(5)])

    assert [found for found, _ in answers] == [leg.error] * 5
    assert len(leg.calls) == 1


async def test_who_joined_a_call_that_is_cancelled_asks_anew():
    leg = FakeLeg(documents=["a"], delay=0.05)
    retriever = SafeRetriever(retriever=leg, cache=True)
    leader = asyncio.create_task(retriever.ainvoke("q"))
    await asyncio.sleep(0.01)
    followers = [asyncio.create_task(retriever.ainvoke("q")) for _ in range(3)]
    await asyncio.sleep(0.01)
    leader.cancel()

    assert [texts(found) for found in await asyncio.gather(*followers)] == [["a"]] * 3
    assert len(leg.calls) == 2


async def test_a_follower_that_is_cancelled_leaves_the_others_alone():
    leg = FakeLeg(documents=["a"], delay=0.05)
    retriever = SafeRetriever(retriever=leg, cache=True)
    tasks = [asyncio.create_task(retriever.ainvoke("q")) for _ in range(3)]
    await asyncio.sleep(0.01)
    tasks[1].cancel()
    ended = await asyncio.gather(*tasks, return_exceptions=True)

    assert texts(ended[0]) == texts(ended[2]) == ["a"]
    assert isinstance(ended[1], asyncio.CancelledError)


class _BrokenStore(InMemoryByteStore):
    def __init__(self, problem: str) -> None:
        super().__init__()
        self.problem = problem
        self.asked = 0

    def mget(self, keys: Any) -> Any:
        self.asked += 1
        if self.problem == "raises":
            raise ConnectionError
        time.sleep(0.3)
        return [None for _ in keys]

    async def amget(self, keys: Any) -> Any:
        if self.problem == "hangs":
            self.asked += 1
            await asyncio.sleep(30)
        return self.mget(keys)


@pytest.mark.parametrize("world", _WORLDS)
@pytest.mark.parametrize("problem", ["raises", "hangs"])
async def test_a_cache_that_is_down_is_a_mark_in_the_report_and_no_more(
    world: str, problem: str, caplog: Any
):
    store = _BrokenStore(problem)
    retriever = SafeRetriever(
        retriever=FakeLeg(documents=["a"]), cache=DocumentCache(store=store, timeout=0.03)
    )
    with caplog.at_level(logging.WARNING):
        for _ in range(6):
            found, report = await _ask(retriever, world=world)
            assert texts(found) == ["a"]
            assert report.cache == "error"
            assert any("the cache is down" in note for note in report.notes)

    assert store.asked == 3  # then it is left alone for a while
    assert "the cache of leg 'FakeLeg' is down" in caplog.text


@pytest.mark.parametrize("world", _WORLDS)
async def test_what_others_wrote_into_the_cache_is_a_miss_and_is_overwritten(world: str):
    store, leg = InMemoryByteStore(), FakeLeg(documents=["a"])
    retriever = SafeRetriever(retriever=leg, cache=DocumentCache(store=store))
    await _ask(retriever, world=world)
    store.mset([(key, b"no answer of ours") for key in store.yield_keys()])

    outcomes = [await _ask(retriever, world=world) for _ in range(2)]

    assert [texts(found) for found, _ in outcomes] == [["a"], ["a"]]
    assert [report.cache for _, report in outcomes] == ["miss", "hit"]


@pytest.mark.parametrize("world", _WORLDS)
async def test_what_cannot_be_cached_comes_all_the_same(world: str):
    leg = FakeLeg(documents=[Document(page_content="a", metadata={"x": object()})])
    retriever = SafeRetriever(retriever=leg, cache=True)
    for _ in range(2):
        found, report = await _ask(retriever, world=world)
        assert texts(found) == ["a"]
        assert any("not cached" in note for note in report.notes)
    assert len(leg.calls) == 2


def test_a_shared_store_needs_a_name_for_what_cannot_be_told_apart():
    cache = DocumentCache(store=InMemoryByteStore())
    leg = RunnableLambda(lambda query: [])
    with pytest.raises(ValueError, match="write cache_namespace="):
        SafeRetriever(retriever=leg, cache=cache)

    SafeRetriever(retriever=leg, cache=cache, cache_namespace="products")


async def test_two_retrievers_may_share_a_cache():
    cache = DocumentCache()
    one = SafeRetriever(retriever=FakeLeg(documents=["one"]), cache=cache)
    two = SafeRetriever(retriever=FakeLeg(documents=["two"]), cache=cache)
    again = SafeRetriever(retriever=FakeLeg(documents=["one"]), cache=cache)

    assert texts(one.invoke("q")) == ["one"]
    assert texts(two.invoke("q")) == ["two"]
    assert (await _ask(again))[1].cache == "hit"


def _answering(text: str) -> RunnableLambda:
    return RunnableLambda(lambda query: [Document(page_content=text)])


def test_a_shared_cache_in_memory_keeps_apart_what_has_no_settings_to_tell_it_by():
    cache = DocumentCache()
    legs = [_answering("one"), _answering("two")]
    for leg, text in zip(legs * 2, ["one", "two"] * 2, strict=True):
        assert texts(SafeRetriever(retriever=leg, cache=cache).invoke("q")) == [text]


def test_calls_with_configured_settings_are_answered_from_the_cache():
    retriever = SafeRetriever(retriever=_answering("one"), cache=True)
    configured = retriever.configurable_fields(min_score=ConfigurableField(id="floor"))
    for expected in ("miss", "hit"):
        with collect_reports() as reports:
            configured.invoke("q", config={"configurable": {"floor": 0.5}})
        assert reports[0].cache == expected


def test_a_leg_that_is_put_in_another_s_place_does_not_give_its_answers():
    retriever = SafeRetriever(retriever=FakeLeg(documents=["one"]), cache=True)
    assert texts(retriever.invoke("q")) == ["one"]
    copied = retriever.model_copy(update={"retriever": FakeLeg(documents=["two"])})
    assert texts(copied.invoke("q")) == ["two"]
    retriever.retriever = _answering("three")
    assert texts(retriever.invoke("q")) == ["three"]
    retriever.retriever = _answering("four")
    assert texts(retriever.invoke("q")) == ["four"]


def test_retrievers_that_get_a_cache_later_do_not_give_each_other_s_answers():
    cache = DocumentCache()
    one, two = (
        SafeRetriever(retriever=FakeLeg(documents=[text])).model_copy(update={"cache": cache})
        for text in ("one", "two")
    )
    assert [*texts(one.invoke("q")), *texts(two.invoke("q"))] == ["one", "two"]
    one = SafeRetriever(retriever=_answering("one"))
    one.cache = DocumentCache(store=InMemoryByteStore())
    with pytest.raises(ConfigurationError, match="write cache_namespace="):
        one.invoke("q")


def test_settings_of_the_leg_that_are_changed_in_place_are_asked_with():
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
    store.add_texts(["a", "b", "c"])
    leg = store.as_retriever(search_kwargs={"k": 1})
    retriever = SafeRetriever(retriever=leg, cache=True)
    assert len(retriever.invoke("a")) == 1
    leg.search_kwargs["k"] = 3
    assert len(retriever.invoke("a")) == 3
    with collect_reports() as reports:
        retriever.invoke("a")
    assert reports[0].cache == "hit"


def test_fallbacks_and_limits_may_be_given_to_a_copy():
    retriever = SafeRetriever(retriever=FakeLeg(error=_DOWN), max_retries=0)
    copied = retriever.model_copy(
        update={"fallbacks": [FakeLeg(documents=["a"])], "failure_threshold": 1}
    )
    assert texts(copied.invoke("q")) == ["a"]
    assert (copied.circuit, retriever.circuit) == ("open", "closed")


# The score floor ----------------------------------------------------------------------------------


@pytest.mark.parametrize("world", _WORLDS)
async def test_hits_below_min_score_are_cut_and_counted(world: str):
    leg = FakeLeg(documents=[("a", 0.9), ("b", 0.49999999999999994), ("c", 0.1)])
    found, report = await _ask(SafeRetriever(retriever=leg, min_score=0.5), world=world)

    assert texts(found) == ["a", "b"]
    assert "min_score=0.5 cut 1 of 3 hits" in report.notes


# As a leg, and configured -------------------------------------------------------------------------


@pytest.mark.parametrize("world", _WORLDS)
async def test_an_ensemble_around_it_says_how_its_legs_came_by_their_answers(world: str):
    dead = FakeLeg(error=_DOWN)
    legs = {
        "healthy": SafeRetriever(retriever=FakeLeg(documents=["a"])),
        "flaky": SafeRetriever(retriever=_Flaky(documents=["a"]), **_QUICK),
        "replaced": SafeRetriever(
            retriever=dead, fallbacks=[FakeLeg(documents=["b"])], max_retries=0
        ),
        "dead": SafeRetriever(retriever=dead, max_retries=0, failure_threshold=1),
        "cached": SafeRetriever(retriever=FakeLeg(documents=["c"]), cache=True),
    }
    ensemble = SafeEnsembleRetriever(
        retrievers=list(legs.values()), leg_names=list(legs), on_leg_error="skip"
    )
    await _ask(ensemble, world=world)
    legs["flaky"].retriever.calls.clear()
    _, report = await _ask(ensemble, world=world)

    assert {leg.leg: (leg.status, leg.attempts) for leg in report.legs} == {
        "healthy": ("ok", 1),
        "flaky": ("ok", 2),
        "replaced": ("fallback", 2),
        "dead": ("open circuit", 0),
        "cached": ("cached", 0),
    }
    assert report.degraded


def test_its_settings_can_be_configured_at_run_time():
    retriever = SafeRetriever(retriever=FakeLeg(documents=[("a", 0.9), ("b", 0.1)]))
    configurable = retriever.configurable_fields(min_score=ConfigurableField(id="floor"))

    assert texts(configurable.invoke("q", {"configurable": {"floor": 0.5}})) == ["a"]
    assert texts(configurable.invoke("q")) == ["a", "b"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("timeout", 0),
        ("timeout", float("nan")),
        ("deadline", -1.0),
        ("max_retries", -1),
        ("max_retries", True),
        ("failure_threshold", 0),
        ("reset_after", 0.0),
        ("max_abandoned", 0),
        ("max_query_chars", 0),
        ("min_score", float("inf")),
        ("cache", "yes"),
        ("retries", 3),
    ],
)
def test_settings_out_of_range_or_unknown_are_refused(name: str, value: Any):
    with pytest.raises(ValueError, match=name):
        SafeRetriever(retriever=FakeLeg(), **{name: value})


# The last leg -------------------------------------------------------------------------------------


@pytest.mark.parametrize("world", _WORLDS)
async def test_slow_fallbacks_leave_time_for_those_after_them(world: str):
    slow, healthy = [FakeLeg(hangs=True) for _ in range(3)], FakeLeg(documents=["a"])
    retriever = SafeRetriever(
        retriever=slow[0], fallbacks=[*slow[1:], healthy], timeout=None, deadline=1.6
    )
    found, report = await _ask(retriever, world=world)
    for leg in slow:
        leg.release()

    assert texts(found) == ["a"]
    assert [leg.status for leg in report.legs] == ["timed out"] * 3 + ["fallback"]


async def test_each_of_several_that_fail_is_in_the_log(caplog: Any):
    legs = [FakeLeg(error=ValueError("bad"), name=name) for name in ("first", "second", "third")]
    with caplog.at_level(logging.WARNING):
        found, _ = await _ask(SafeRetriever(retriever=legs[0], fallbacks=legs[1:]))

    assert isinstance(found, AllLegsFailedError)
    assert [message.split("failed")[0] for message in caplog.messages] == [
        "leg 'first' ",
        "leg 'second (fallback 1)' ",
        "leg 'third (fallback 2)' ",
    ]


@pytest.mark.parametrize("world", _WORLDS)
async def test_the_deadline_counts_from_the_call_whatever_handlers_take(world: str):
    class Slow(BaseCallbackHandler):
        run_inline = True

        def on_retriever_start(self, *_: Any, **__: Any) -> None:
            time.sleep(0.05)

    leg = FakeLeg(documents=["a"])
    retriever = SafeRetriever(retriever=leg, deadline=0.04)
    found, report = await _ask(retriever, world=world, config={"callbacks": [Slow()]})

    assert isinstance(found, LegTimeoutError)
    assert "the deadline has passed" in str(report.legs[0].error)
    assert leg.calls == []
