"""What one retrieval went through, for those who explain or replay it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from langchain_core.documents import Document

from langchain_safe_retrievers.fusion.fuser import RankedList
from langchain_safe_retrievers.merging.fold import Engine, Merged
from langchain_safe_retrievers.report import RetrievalReport


@dataclass(frozen=True)
class Merging:
    """What the engine was given: `run()` again gives the same documents.

    Args:
        engine: How lists become one.
        lists: The legs' lists, the filter held.
        weights: One for each list.
        k: How many documents were asked for, or None for all.
        first_seen: Whether the documents are in first-seen order.
    """

    engine: Engine
    lists: Sequence[Sequence[Document]]
    weights: Sequence[float]
    k: int | None = None
    first_seen: bool = False

    def run(self) -> Merged:
        """Let the engine merge.

        Returns:
            What it returned.
        """
        return self.engine.merge(self.lists, self.weights, k=self.k, first_seen=self.first_seen)


@dataclass(frozen=True)
class Trace:
    """What one retrieval went through.

    Args:
        retriever: The retriever.
        report: Its report.
        found: The legs' lists as they came, before the filter was held; those of legs that
            failed or were not asked are not among them.
        merging: What the engine was given, or None if there was nothing to merge.
        documents: What was returned.
    """

    retriever: object
    report: RetrievalReport
    found: Sequence[RankedList]
    merging: Merging | None
    documents: Sequence[Document]


_collectors: ContextVar[tuple[list[Trace], ...]] = ContextVar("trace_collectors", default=())


@contextmanager
def collect_traces() -> Iterator[list[Trace]]:
    """Collect the trace of every retrieval inside, in any chain, thread or task it starts.

    Yields:
        A list that fills as retrievals end, the innermost of nested ones first.

    Example:
        >>> from langchain_safe_retrievers import SafeEnsembleRetriever
        >>> from langchain_core.runnables import RunnableLambda
        >>> leg = RunnableLambda(lambda query: ["text"])
        >>> with collect_traces() as traces:
        ...     _ = SafeEnsembleRetriever(retrievers=[leg]).invoke("question")
        >>> traces[0].merging.run().documents == traces[0].documents
        True
    """
    traces: list[Trace] = []
    token = _collectors.set((*_collectors.get(), traces))
    try:
        yield traces
    finally:
        _collectors.reset(token)


def traces_are_collected() -> bool:
    """Tell whether anybody collects traces in this context."""
    return bool(_collectors.get())


def deliver_trace(trace: Trace) -> None:
    """Hand a trace to everyone who collects in this context.

    Args:
        trace: The trace.
    """
    for traces in _collectors.get():
        traces.append(trace)
