"""Which retrieval inside another one is what a leg did."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.runnables import RunnableSequence

from langchain_safe_retrievers.fusion.fuser import RankedList
from langchain_safe_retrievers.legs.arguments import inside
from langchain_safe_retrievers.report import LegReport
from langchain_safe_retrievers.trace import Trace


def trace_of_leg(
    trace: Trace, report: LegReport, found: RankedList, others: Sequence[Trace]
) -> Trace | None:
    """Return the trace of what a leg did, if it is a retriever of this package.

    Args:
        trace: The retrieval that asked the leg.
        report: The leg's report.
        found: Its list.
        others: The traces of other retrievals, in the order in which they ended.

    Returns:
        The last one of that query and answer whose retriever is the leg, or is inside it.
    """
    legs = _objects(trace.retriever, report.leg)
    for other in reversed(others):
        if (
            other.report.query == report.query
            and _is_answer(other, found)
            and any(_has_inside(leg, other.retriever) for leg in legs)
        ):
            return other
    return None


def _is_answer(other: Trace, found: RankedList) -> bool:
    """Tell whether a leg's list is what a retrieval returned."""
    pairs = zip(other.documents, found, strict=False)
    return len(other.documents) == len(found) and all(a is b for a, b in pairs)


def _objects(retriever: Any, name: str) -> list[Any]:
    """Return the leg that goes by a name, or all that may be meant."""
    legs = getattr(retriever, "retrievers", None)
    if not isinstance(legs, list):
        return [getattr(retriever, "retriever", None), *getattr(retriever, "fallbacks", ())]
    usual = [f"retriever_{number}" for number, _ in enumerate(legs, start=1)]
    names = getattr(retriever, "leg_names", None) or usual
    return [leg for own, leg in zip(names, legs, strict=False) if own == name]


def _has_inside(leg: Any, retriever: object) -> bool:
    parts = leg.steps if isinstance(leg, RunnableSequence) else inside(leg)
    return leg is retriever or any(_has_inside(part, retriever) for part in parts)
