"""How two retrievers differ, question by question and as a whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from langchain_core.documents import Document

from langchain_safe_retrievers.evaluation.latency import Latency
from langchain_safe_retrievers.evaluation.table import count, indented, ms, table
from langchain_safe_retrievers.explaining.explain import explain_traces
from langchain_safe_retrievers.explaining.explanation import Explanation
from langchain_safe_retrievers.trace import Trace

_SHOWN, _MOVES = 3, 5  # questions and their moves in a text; the result has all


@dataclass(frozen=True)
class Move:
    """A document that is at another rank, or came, or went.

    Args:
        document: The document.
        before: Its rank (from 1) with the first retriever, or None if it was not returned.
        after: Its rank with the second, or None.
        legs_before: Its rank in each leg of the first retriever that found it, where the
            retriever tells.
        legs_after: Its rank in each leg of the second.
    """

    document: Document
    before: int | None
    after: int | None
    legs_before: Mapping[str, int] = field(default_factory=dict)
    legs_after: Mapping[str, int] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the move as JSON-native values, of the document its id and text."""
        return {
            "id": self.document.id,
            "text": self.document.page_content,
            "before": self.before,
            "after": self.after,
            "legs_before": dict(self.legs_before),
            "legs_after": dict(self.legs_after),
        }

    def __str__(self) -> str:
        """Return one line: both ranks, what it is, and where the legs had it."""
        what = self.document.id or self.document.page_content[:40]
        legs = [
            f"{leg} {_rank(self.legs_before.get(leg))} -> {_rank(self.legs_after.get(leg))}"
            for leg in {**self.legs_before, **self.legs_after}
        ]
        because = f" ({', '.join(legs)})" if legs else ""
        return f"{_rank(self.before)} -> {_rank(self.after)}  {what}{because}"


@dataclass(frozen=True)
class Change:
    """How two retrievers differ on one question.

    Args:
        query: The question.
        overlap: overlap@k, in [0, 1].
        rbo: Rank-biased overlap of the whole lists, in [0, 1].
        tau: Kendall's τ of the documents that both returned, or None if fewer than two.
        seconds: How long each took.
        moves: What moved among the first k of either, as the second ranks it, what went last.
        traces: What each retrieval went through, where something moved and the retriever tells.
    """

    query: str
    overlap: float
    rbo: float
    tau: float | None
    seconds: tuple[float, float]
    moves: Sequence[Move] = ()
    traces: tuple[Sequence[Trace], Sequence[Trace]] = ((), ())

    def explanations(self) -> tuple[Explanation | None, Explanation | None]:
        """Explain both answers, where something moved and the retrievers tell what they did.

        Returns:
            An explanation of each, which `to_html()` shows; None where there is nothing to tell.
        """
        before, after = (explain_traces(each) if each else None for each in self.traces)
        return before, after

    def to_dict(self) -> dict[str, Any]:
        """Return the change as JSON-native values, without the traces."""
        return {
            "query": self.query,
            "overlap": self.overlap,
            "rbo": self.rbo,
            "tau": self.tau,
            "seconds": list(self.seconds),
            "moves": [move.to_dict() for move in self.moves],
        }

    def __str__(self) -> str:
        """Return the question and what moved."""
        head = f"{self.query!r}: rank-biased overlap {self.rbo:.2f}"
        return "\n".join([head, *(f"  {move}" for move in self.moves)])


@dataclass(frozen=True)
class Comparison:
    """How two retrievers differ.

    Args:
        before: The first retriever's name.
        after: The second one's.
        k: The k of overlap@k.
        changes: Each question that both answered.
        errors: Question to what was raised, for those that failed.
    """

    before: str
    after: str
    k: int
    changes: Sequence[Change]
    errors: Mapping[str, str] = field(default_factory=dict)

    @property
    def overlap(self) -> float | None:
        """The mean of overlap@k."""
        return _mean([each.overlap for each in self.changes])

    @property
    def rbo(self) -> float | None:
        """The mean of the rank-biased overlap."""
        return _mean([each.rbo for each in self.changes])

    @property
    def tau(self) -> float | None:
        """The mean of Kendall's τ, over the questions that have one."""
        return _mean([each.tau for each in self.changes if each.tau is not None])

    @property
    def latency(self) -> tuple[Latency, Latency] | None:
        """How long each retriever took; None if no question was answered."""
        if not self.changes:
            return None
        first, second = zip(*(each.seconds for each in self.changes), strict=True)
        return Latency.of(first), Latency.of(second)

    def changed_most(self, count: int = 10) -> list[Change]:
        """Return the questions whose answers differ most, by rank-biased overlap.

        Args:
            count: How many, at most.

        Returns:
            The changes, the greatest first; those without any are left out.
        """
        changed = [each for each in self.changes if each.moves]
        return sorted(changed, key=lambda each: each.rbo)[:count]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON-native values."""
        return {
            "before": self.before,
            "after": self.after,
            "k": self.k,
            "overlap": self.overlap,
            "rbo": self.rbo,
            "tau": self.tau,
            "latency": [each.to_dict() for each in self.latency or ()],
            "changes": [each.to_dict() for each in self.changes],
            "errors": dict(self.errors),
        }

    def __str__(self) -> str:
        """Return the means, and the questions that changed most."""
        asked = len(self.changes) + len(self.errors)
        same = sum(not each.moves for each in self.changes)
        head = (
            f"{self.before} -> {self.after}: {count(asked, 'question')}, {same} unchanged in the "
            f"first {self.k}, {len(self.errors)} failed"
        )
        figures = {
            f"overlap@{self.k}": self.overlap,
            "rank-biased overlap": self.rbo,
            "Kendall's tau": self.tau,
        }
        parts = [table(["measure", "mean"], figures.items())]
        if self.latency:
            old, new = self.latency
            parts.append(f"p50 {ms(old.p50)} ms -> {ms(new.p50)} ms")
        parts += map(_shortened, self.changed_most(_SHOWN))
        parts += [f"failed: {query!r}: {error}" for query, error in self.errors.items()]
        return "\n".join([head, *map(indented, parts)])


def _shortened(change: Change) -> str:
    lines = str(change).split("\n")
    more = len(lines) - 1 - _MOVES
    return "\n".join(lines[: _MOVES + 1] + [f"  and {count(more, 'move')} more"] * (more > 0))


def _rank(rank: int | None) -> str:
    return "-" if rank is None else str(rank)


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None
