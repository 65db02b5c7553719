"""Explain one query: run a retriever, and say why it returned what it did."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Any

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from langchain_safe_retrievers.explaining.explanation import (
    ExplainedHit,
    ExplainedLeg,
    Explanation,
)
from langchain_safe_retrievers.explaining.fused import fused_documents
from langchain_safe_retrievers.explaining.nesting import trace_of_leg
from langchain_safe_retrievers.explaining.rules import name_of_rule
from langchain_safe_retrievers.explaining.unfused import Fused, missing_hits, unfused_documents
from langchain_safe_retrievers.fusion.fuser import RankedList, all_scores
from langchain_safe_retrievers.legs.answers import read_answer
from langchain_safe_retrievers.report import LegReport, RetrievalReport, error_text
from langchain_safe_retrievers.trace import Merging, Trace, collect_traces


def explain(retriever: Any, query: str, **kwargs: Any) -> Explanation:
    """Retrieve, and say why each document is in the answer, or is not.

    Args:
        retriever: Any retriever of this package, or one that has such retrievers inside; of
            another one, its one list is shown.
        query: What to ask.
        **kwargs: Named arguments for `invoke`: `k`, `filter`, `config` …

    Returns:
        The explanation. What `invoke` raised is not raised, but stands in `report.error`.

    Example:
        >>> from langchain_safe_retrievers import SafeEnsembleRetriever
        >>> from langchain_safe_retrievers.testing import FakeLeg
        >>> legs = [FakeLeg(documents=["a", "b"]), FakeLeg(documents=["b"])]
        >>> for found in explain(SafeEnsembleRetriever(retrievers=legs), "question", k=1).documents:
        ...     print(found.document.page_content, found.rank, found.removed_by)
        b 1 None
        a None k
    """
    call = _Call(retriever, query, kwargs)
    with collect_traces() as traces:
        try:
            call.answer = retriever.invoke(query, **kwargs)
        except Exception as error:  # noqa: BLE001 - it is shown
            call.error = error
    return call.explained(traces)


async def aexplain(retriever: Any, query: str, **kwargs: Any) -> Explanation:
    """Retrieve without blocking the loop, and say why each document is in the answer; as `explain`.

    Args:
        retriever: Any retriever.
        query: What to ask.
        **kwargs: Named arguments for `ainvoke`.

    Returns:
        The explanation.
    """
    call = _Call(retriever, query, kwargs)
    with collect_traces() as traces:
        try:
            call.answer = await retriever.ainvoke(query, **kwargs)
        except Exception as error:  # noqa: BLE001 - it is shown
            call.error = error
    return call.explained(traces)


def explain_traces(
    traces: Sequence[Trace], arguments: Mapping[str, Any] | None = None
) -> Explanation:
    """Explain the retrieval that ended last of those that `collect_traces` collected.

    Args:
        traces: At least one; those of nested retrievals among them.
        arguments: The named arguments of the call, to be shown.

    Returns:
        The explanation.

    Example:
        >>> from langchain_safe_retrievers import SafeEnsembleRetriever
        >>> from langchain_safe_retrievers.testing import FakeLeg
        >>> with collect_traces() as traces:
        ...     _ = SafeEnsembleRetriever(retrievers=[FakeLeg(documents=["a"])]).invoke("q")
        >>> explain_traces(traces).returned[0].document.page_content
        'a'
    """
    others = [trace for trace in traces if trace is not traces[-1]]
    explanation = _of_trace(traces[-1], others)
    inner = tuple(_unclaimed(others))
    return replace(explanation, arguments=dict(arguments or {}), inner=inner)


@dataclass(eq=False)
class _Call:
    """One call of a retriever, and what came of it."""

    retriever: Any
    query: str
    arguments: Mapping[str, Any]
    answer: Any = None
    error: Exception | None = None
    started: float = field(default_factory=monotonic)

    def explained(self, traces: Sequence[Trace]) -> Explanation:
        """Return the explanation of the retriever's own trace, or of its one list."""
        seconds = monotonic() - self.started
        own = self._own(traces)
        shown = {name: value for name, value in self.arguments.items() if name != "config"}
        if own is not None:
            others = [trace for trace in traces if trace.retriever is not own.retriever]
            return explain_traces([*others, own], shown)
        others = list(traces)
        inner = tuple(_unclaimed(others))
        return replace(self._one_leg(seconds, inner), arguments=shown)

    def _own(self, traces: Sequence[Trace]) -> Trace | None:
        """Return the trace of the retriever itself, or of what a wrapper has inside."""
        for trace in reversed(traces):
            if trace.retriever is self.retriever or not isinstance(self.retriever, BaseRetriever):
                return trace
        return None

    def _one_leg(self, seconds: float, inner: tuple[Explanation, ...]) -> Explanation:
        """Return the explanation of a retriever that fuses nothing: it is its own only leg."""
        name, error = self.retriever.get_name(), self.error
        found = RankedList(leg=name, query=self.query)
        try:
            found = read_answer(self.answer, name, self.query)
        except Exception as problem:  # noqa: BLE001 - it is shown
            error = problem
        text = None if error is None else error_text(error)
        status = "failed" if text else "ok"
        leg = LegReport(name, self.query, status, len(found), seconds, text)  # type: ignore[arg-type]
        report = RetrievalReport(
            retriever=name,
            query=self.query,
            queries=(self.query,),
            legs=(leg,),
            documents=len(found),
            degraded=error is not None,
            seconds=seconds,
            error=text,
        )
        trace = Trace(self.retriever, report, [found], None, found)
        explanation = _of_trace(trace, [])
        return replace(explanation, legs=(replace(explanation.legs[0], inner=inner),))


def _of_trace(trace: Trace, others: list[Trace]) -> Explanation:
    """Return the explanation of a trace; the traces of its legs are taken out of `others`."""
    report = trace.report
    try:
        fused = fused_documents(trace)
    except Exception as error:  # noqa: BLE001 - a fuser, identity or policy of the user's
        note = f"fusion could not be replayed: {error_text(error)}"
        report = replace(report, notes=(*report.notes, note))
        fused = unfused_documents(trace)
    return Explanation(
        retriever=report.retriever,
        query=report.query,
        report=report,
        settings=_settings(trace.merging),
        legs=tuple(_legs(trace, fused, others)),
        documents=fused.documents,
    )


def _settings(merging: Merging | None) -> dict[str, str]:
    if merging is None:
        return {}
    engine = merging.engine
    order = "first seen" if merging.first_seen else "fused score"
    rules = {"fuser": engine.fuser, "identity": engine.identity, "merge policy": engine.policy}
    if merging.first_seen and merging.k is None:
        del rules["fuser"]  # nobody asked it
    named = {name: name_of_rule(rule) for name, rule in rules.items()}
    return {"k": "all" if merging.k is None else str(merging.k), "order": order} | named


def _legs(trace: Trace, fused: Fused, others: list[Trace]) -> Iterator[ExplainedLeg]:
    """Yield the legs in legs' order: those that reported, then lists that nobody reported."""
    counted = _counted(trace)
    weights = _weights(trace.merging)
    for report, found in _paired(trace.report.legs, trace.found):
        key = (found.leg, found.query)
        yield ExplainedLeg(
            name=report.leg,
            query=report.query,
            status=report.status,
            seconds=report.seconds,
            attempts=report.attempts,
            error=report.error,
            weight=weights.get(key, 0.0 if report.status == "skipped" else None),
            hits=tuple(_hits(found, counted.get(key, found), fused)),
            inner=tuple(_inner(trace, report, found, others)),
        )


def _paired(
    reports: Sequence[LegReport], lists: Sequence[RankedList]
) -> list[tuple[LegReport, RankedList]]:
    """Pair reports with lists: by leg and query, else by leg (a cache knows no query)."""
    left = list(lists)
    pairs = []
    for report in reports:
        named = [found for found in left if found.leg == report.leg]
        exact = [found for found in named if found.query == report.query]
        usable = exact or (named if report.attempts == 0 and report.status == "cached" else [])
        if usable:
            left.remove(usable[0])
        pairs.append((report, (usable or [RankedList(leg=report.leg, query=report.query)])[0]))
    pairs += [(LegReport(each.leg, each.query, "ok", len(each)), each) for each in left]
    return pairs


def _counted(trace: Trace) -> dict[tuple[str, str], Sequence[Document]]:
    """Return each leg's list, the filter held."""
    if trace.merging is not None:
        lists = (found for found in trace.merging.lists if isinstance(found, RankedList))
        return {(found.leg, found.query): found for found in lists}
    gone = missing_hits(trace.found, trace.documents)
    if len(gone) != trace.report.filtered:  # something else removed hits, too
        return {}
    removed = {id(copy.document) for copy in gone}
    return {
        (found.leg, found.query): [each for each in found if id(each) not in removed]
        for found in trace.found
    }


def _weights(merging: Merging | None) -> dict[tuple[str, str], float]:
    if merging is None:
        return {}
    pairs = zip(merging.lists, merging.weights, strict=True)
    return {(f.leg, f.query): weight for f, weight in pairs if isinstance(f, RankedList)}


def _hits(found: RankedList, counted: Sequence[Document], fused: Fused) -> Iterator[ExplainedHit]:
    """Yield a leg's hits; `counted` is the same list without those that the filter removed."""
    scores, kept = all_scores(found, "score"), 0
    for rank, (document, score) in enumerate(zip(found, scores, strict=True), start=1):
        passed = kept < len(counted) and counted[kept] is document
        kept += passed
        place = fused.places.get((found.leg, found.query, id(document))) if passed else None
        yield ExplainedHit(rank, document, score, kept if passed else None, place)


def _inner(
    trace: Trace, report: LegReport, found: RankedList, others: list[Trace]
) -> Iterator[Explanation]:
    """Yield the explanation of the leg's own retrieval, if it is a retriever of this package."""
    inner = trace_of_leg(trace, report, found, others)
    if inner is not None:
        others[:] = [other for other in others if other is not inner]
        yield _of_trace(inner, others)


def _unclaimed(others: list[Trace]) -> Iterator[Explanation]:
    """Yield the explanation of every retrieval that is left, the outermost first."""
    while others:
        yield _of_trace(others.pop(), others)
