"""OpenTelemetry spans of retrievals, as OpenInference's instrumentation of LangChain makes them."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.language_models import FakeListChatModel
from langchain_core.runnables import RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore
from openinference.instrumentation.langchain import LangChainInstrumentor
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.trace import StatusCode

from langchain_safe_retrievers import (
    AllLegsFailedError,
    SafeEnsembleRetriever,
    SafeMultiQueryRetriever,
    VectorRetriever,
)
from langchain_safe_retrievers.retrievers.safe import SafeRetriever
from langchain_safe_retrievers.testing import FakeLeg
from tests.unit_tests.ways import (
    ainvoke,
    batch,
    both_ways,
    eventually,
    every_way,
    in_time,
    invoke,
    invoke_in_loop,
    leg_of,
    stream_in_chain,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class _Spans(SpanProcessor):
    """Every span that was started, and every one that was exported."""

    def __init__(self) -> None:
        self.slow = ""  # the name of a span that starts slowly
        self.started: list[str] = []
        self.ended: list[ReadableSpan] = []

    def on_start(self, span: Any, parent_context: Any = None) -> None:
        if span.name == self.slow:
            time.sleep(0.05)
        self.started.append(span.name)

    def on_end(self, span: ReadableSpan) -> None:
        self.ended.append(span)

    @property
    def unclosed(self) -> Counter[str]:
        """The names of spans that have started and not ended."""
        eventually(lambda: len(self.started) <= len(self.ended))
        return Counter(self.started) - Counter(span.name for span in self.ended)

    def named(self, name: str) -> ReadableSpan:
        """Return the one span of a name."""
        (found,) = [span for span in self.ended if span.name == name]
        return found

    def leg(self, name: str) -> ReadableSpan:
        """Return the one span of a leg."""
        (found,) = [span for span in self.ended if facts(span).get("retriever_leg") == name]
        return found

    def parent(self, span: ReadableSpan) -> str | None:
        """Return the name of the span above."""
        above = span.parent and span.parent.span_id
        names = [it.name for it in self.ended if it.context and it.context.span_id == above]
        return names[0] if names else None


def facts(span: ReadableSpan) -> dict[str, Any]:
    """Return a span's metadata, where the instrumentation puts what runs say of themselves."""
    found: dict[str, Any] = json.loads(str((span.attributes or {}).get("metadata", "{}")))
    return found


@pytest.fixture
def spans() -> Iterator[_Spans]:
    found, provider = _Spans(), TracerProvider()
    provider.add_span_processor(found)
    LangChainInstrumentor().instrument(tracer_provider=provider)
    yield found
    LangChainInstrumentor().uninstrument()


def skipping(*legs: Any, **fields: Any) -> SafeEnsembleRetriever:
    return SafeEnsembleRetriever(
        retrievers=list(legs), name="ask", **{"on_leg_error": "skip", **fields}
    )


# The tree -----------------------------------------------------------------------------------------


@both_ways
def test_a_query_has_a_span_with_one_below_for_each_leg_with_its_name_and_hits(
    call: Callable[..., Any], spans: _Spans
):
    retriever = skipping(
        FakeLeg(documents=["a", "b"]),
        leg_of("b"),
        FakeLeg(error=OSError("down")),
        leg_names=["vector", "keyword", "dead"],
    )

    call(retriever, "q")

    assert {name: spans.parent(spans.leg(name)) for name in ("vector", "keyword", "dead")} == {
        "vector": "ask",
        "keyword": "ask",
        "dead": "ask",
    }
    hits = [facts(spans.leg(name)).get("retriever_hits") for name in ("vector", "keyword", "dead")]
    assert hits == [2, 1, None]
    assert spans.named("ask").parent is None
    assert not spans.unclosed


@both_ways
def test_the_span_of_a_query_says_what_its_legs_did_and_whether_it_is_degraded(
    call: Callable[..., Any], spans: _Spans
):
    call(skipping(leg_of("a"), FakeLeg(error=OSError("down")), leg_names=["ok", "dead"]), "q")

    found = facts(spans.named("ask"))
    assert (found["retriever_hits"], found["retriever_degraded"]) == (1, True)
    assert [(leg["leg"], leg["status"], leg["hits"]) for leg in found["retriever_legs"]] == [
        ("ok", "ok", 1),
        ("dead", "failed", 0),
    ]
    assert found["retriever_legs"][1]["error"] == "OSError: down"


@every_way
def test_a_query_that_lacks_nothing_is_not_degraded(call: Callable[..., Any], spans: _Spans):
    call(skipping(leg_of("a")), "q")

    asked = [span for span in spans.ended if span.name == "ask"]
    assert [facts(span)["retriever_degraded"] for span in asked] == [False] * len(asked)
    assert not spans.unclosed


@both_ways
def test_a_retriever_inside_another_has_its_own_legs_below_it(
    call: Callable[..., Any], spans: _Spans
):
    inner = SafeEnsembleRetriever(
        retrievers=[leg_of("a"), leg_of("b")], leg_names=["x", "y"], name="inner"
    )

    call(skipping(inner, leg_of("c"), leg_names=["nested", "other"]), "q")

    assert spans.leg("nested") is spans.named("inner")
    assert facts(spans.leg("nested"))["retriever_hits"] == 2
    assert [spans.parent(spans.leg(name)) for name in ("nested", "other")] == ["ask", "ask"]
    assert [spans.parent(spans.leg(name)) for name in ("x", "y")] == ["inner", "inner"]


@both_ways
def test_the_model_that_writes_queries_and_the_queries_are_below_the_question(
    call: Callable[..., Any], spans: _Spans
):
    model = FakeListChatModel(responses=["one\ntwo"])
    retriever = SafeMultiQueryRetriever.from_llm(leg_of("a"), model, name="ask")

    call(retriever, "q")

    assert [spans.parent(spans.leg(name)) for name in ("query_1", "query_2")] == ["ask", "ask"]
    assert spans.parent(spans.named("FakeListChatModel")) == "RunnableSequence"
    assert spans.parent(spans.named("RunnableSequence")) == "ask"
    assert not spans.unclosed


def test_the_legs_of_queries_side_by_side_are_each_below_their_own(spans: _Spans):
    retriever = skipping(FakeLeg(documents=["a"], delay=0.01), leg_of("b"))

    async def ask_twenty() -> None:
        await asyncio.gather(*(retriever.ainvoke(f"q{i}") for i in range(20)))

    asyncio.run(ask_twenty())

    queries = {
        span.context.span_id: (span.attributes or {})["input.value"]
        for span in spans.ended
        if span.name == "ask" and span.context
    }
    legs = [span for span in spans.ended if span.name != "ask"]
    assert len(set(queries.values())) == 20
    assert len(legs) == 40
    for leg in legs:
        assert leg.parent
        assert (leg.attributes or {})["input.value"] == queries[leg.parent.span_id]


@both_ways
def test_each_attempt_and_the_fallback_of_a_safe_retriever_have_a_span_of_their_own(
    call: Callable[..., Any], spans: _Spans
):
    down = FakeLeg(error=ConnectionError("down"), name="vector")
    retriever = SafeRetriever(
        retriever=down, fallbacks=[leg_of("a")], max_retries=2, retry_wait=0.001, name="ask"
    )

    call(retriever, "q")

    attempts = [span for span in spans.ended if span.name == "vector"]
    assert [facts(span)["retriever_leg"] for span in attempts] == ["vector"] * 3
    assert {span.status.status_code for span in attempts} == {StatusCode.ERROR}
    (other,) = [span for span in spans.ended if span.name not in ("vector", "ask")]
    assert facts(other)["retriever_hits"] == 1
    legs = facts(spans.named("ask"))["retriever_legs"]
    assert [(leg["status"], leg["attempts"]) for leg in legs] == [("failed", 3), ("fallback", 1)]
    assert not spans.unclosed


# No span is left open -----------------------------------------------------------------------------

# When one of `abatch` raises, `asyncio.run` cancels the others while core ends their outer runs.
_ways = pytest.mark.parametrize("call", [invoke, ainvoke, batch, stream_in_chain, invoke_in_loop])


@_ways
def test_a_leg_that_fails_ends_its_span_with_its_error(call: Callable[..., Any], spans: _Spans):
    retriever = SafeEnsembleRetriever(
        retrievers=[FakeLeg(error=OSError("down")), FakeLeg(documents=["a"], delay=0.05)]
    )

    with pytest.raises(OSError, match="down"):
        call(retriever, "q")

    assert not spans.unclosed
    failed = [span for span in spans.ended if span.name == "SafeEnsembleRetriever"]
    assert {span.status.status_code for span in failed} == {StatusCode.ERROR}


@_ways
@pytest.mark.parametrize(
    "leg", [FakeLeg(name="starting"), leg_of("a").with_config(run_name="starting")]
)
def test_a_leg_that_another_ends_while_it_starts_ends_its_span_too(
    call: Callable[..., Any], spans: _Spans, leg: Any
):
    spans.slow = "starting"
    broken = RunnableLambda(lambda _: 1 / 0)

    with pytest.raises(ZeroDivisionError):
        call(SafeEnsembleRetriever(retrievers=[broken, leg]), "q")

    assert not spans.unclosed


@_ways
def test_a_leg_that_is_late_while_it_starts_ends_its_span_too(
    call: Callable[..., Any], spans: _Spans
):
    spans.slow = "starting"
    retriever = SafeEnsembleRetriever(
        retrievers=[FakeLeg(name="starting")], on_leg_error="skip", leg_timeout=0.02
    )

    with pytest.raises(AllLegsFailedError):
        call(retriever, "q")

    assert not spans.unclosed


@every_way
@pytest.mark.parametrize("in_thread", [False, True])
def test_a_leg_that_is_late_ends_its_span_once_with_the_timeout(
    call: Callable[..., Any], spans: _Spans, in_thread: bool, caplog: pytest.LogCaptureFixture
):
    late = FakeLeg(hangs=True, name="late")
    leg = RunnableLambda(late.invoke).with_config(run_name="waits") if in_thread else late

    call(skipping(leg, leg_of("a"), leg_timeout=0.2), "q")
    late.release()

    assert not spans.unclosed
    ends = [span.status for span in spans.ended if span.name == ("waits" if in_thread else "late")]
    assert {end.status_code for end in ends} == {StatusCode.ERROR}
    assert all("LegTimeoutError" in (end.description or "") for end in ends)
    assert "No indexed run" not in caplog.text  # nothing is said of a run that has ended


@_ways
def test_a_safe_retriever_whose_attempts_hang_ends_every_span(
    call: Callable[..., Any], spans: _Spans
):
    late = FakeLeg(hangs=True, name="late")
    retriever = SafeRetriever(
        retriever=late, timeout=0.1, max_retries=1, retry_wait=0.001, deadline=1.0
    )

    with pytest.raises(TimeoutError):
        call(retriever, "q")
    late.release()

    assert not spans.unclosed
    ends = [span.status.status_code for span in spans.ended if span.name == "late"]
    assert len(ends) >= 2
    assert set(ends) == {StatusCode.ERROR}


@pytest.mark.parametrize("in_chain", [False, True])
async def test_a_cancelled_query_leaves_no_span_open(spans: _Spans, in_chain: bool):
    hanging = FakeLeg(hangs=True, name="hanging")
    retriever: Any = skipping(hanging, leg_of("a"))
    if in_chain:
        retriever = RunnableLambda(lambda query: query) | retriever
    task = asyncio.create_task(retriever.ainvoke("q"))
    await in_time(lambda: hanging.calls)

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert not spans.unclosed
    assert spans.named("hanging").status.status_code == StatusCode.ERROR
    assert spans.named("ask").status.status_code == StatusCode.ERROR


async def test_a_query_that_is_cancelled_while_a_leg_starts_leaves_no_span_open(spans: _Spans):
    spans.slow = "starting"
    first = FakeLeg(hangs=True)
    task = asyncio.create_task(skipping(first, FakeLeg(name="starting")).ainvoke("q"))
    await in_time(lambda: first.calls)

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert not spans.unclosed


@both_ways
def test_ctrl_c_in_a_leg_leaves_no_span_open(call: Callable[..., Any], spans: _Spans):
    with pytest.raises(KeyboardInterrupt):
        call(skipping(FakeLeg(error=KeyboardInterrupt()), leg_of("a")), "q")

    assert not spans.unclosed


# What the instrumentations read -------------------------------------------------------------------


@both_ways
def test_a_vector_leg_names_its_store_and_its_embeddings(call: Callable[..., Any], spans: _Spans):
    vector = VectorRetriever(InMemoryVectorStore(DeterministicFakeEmbedding(size=8)))

    call(skipping(vector, leg_of("a"), leg_names=["vector", "keyword"]), "q")

    found = facts(spans.leg("vector"))
    assert found["ls_vector_store_provider"] == "InMemoryVectorStore"
    assert found["ls_embedding_provider"] == "DeterministicFakeEmbedding"
    for other in (spans.leg("keyword"), spans.named("ask")):
        assert "ls_vector_store_provider" not in facts(other)


@both_ways
def test_documents_have_their_id_and_if_asked_for_their_score(
    call: Callable[..., Any], spans: _Spans
):
    # fused by one leg of weight 1: 1 / (60 + rank)
    leg = leg_of(Document("a", id="doc-7"))

    call(skipping(leg, weights=[61.0], fused_score_key="score"), "q")

    span = spans.named("ask")
    output = json.loads(str((span.attributes or {})["output.value"]))
    assert [document["id"] for document in output["documents"]] == ["doc-7"]
    metadata = str((span.attributes or {})["retrieval.documents.0.document.metadata"])
    assert json.loads(metadata) == {"score": 1.0}
