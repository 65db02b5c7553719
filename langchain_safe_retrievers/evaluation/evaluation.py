"""What an evaluation found, question by question and as a whole."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from langchain_safe_retrievers.evaluation.dataset import trec_token
from langchain_safe_retrievers.evaluation.latency import Latency
from langchain_safe_retrievers.evaluation.metrics import scored
from langchain_safe_retrievers.evaluation.table import count, indented, ms, table
from langchain_safe_retrievers.evaluation.unanswerable import Refusals
from langchain_safe_retrievers.report import LegReport

_NOT_ASKED = ("skipped", "cached", "cancelled", "open circuit")
_SHOWN = 5  # failed questions in a text; `failed` has all


@dataclass(frozen=True)
class QueryResult:
    """What one question brought.

    Args:
        query_id: The question's id.
        query: The question.
        documents: The ids of the documents returned, best first, each once, at its best rank.
        values: Metric to value; empty for a question that has no answer.
        seconds: How long the retriever took.
        legs: What each leg did, where the retriever reports it.
        degraded: Whether a report says that the answer may be worse than asked for.
        error: What was raised, or None; who failed has found nothing.
        best_score: The highest score, if a floor was given.
    """

    query_id: str
    query: str
    documents: tuple[str, ...] = ()
    values: Mapping[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    legs: tuple[LegReport, ...] = ()
    degraded: bool = False
    error: str | None = None
    best_score: float | None = None


@dataclass(frozen=True)
class Evaluation:
    """What an evaluation found.

    Args:
        retriever: The retriever's name.
        dataset: The dataset's name.
        metrics: Metric to its mean over the questions that have an answer.
        queries: Each question, in the dataset's order.
        refusals: How the questions without an answer went, beside the others.

    Example:
        >>> found = QueryResult("1", "Who makes honey?", ("bees",), {"RR@10": 1.0}, seconds=0.01)
        >>> print(Evaluation("hybrid", "honey", {"RR@10": 1.0}, [found], Refusals(0, 0, 1, 0)))
        hybrid on honey: 1 question, 0 degraded, 0 failed
          metric   value
          RR@10   1.0000
          latency (ms)  count   p50   p95   p99
          total             1  10.0  10.0  10.0
    """

    retriever: str
    dataset: str
    metrics: Mapping[str, float]
    queries: Sequence[QueryResult]
    refusals: Refusals

    @cached_property
    def latency(self) -> dict[str, Latency]:
        """The percentiles of the whole ("total") and of each leg that was asked, by its name."""
        seconds: dict[str, list[float]] = {"total": [each.seconds for each in self.queries]}
        for each in self.queries:
            for leg in each.legs:
                if leg.status not in _NOT_ASKED:
                    seconds.setdefault(leg.leg, []).append(leg.seconds)
        return {name: Latency.of(times) for name, times in seconds.items()}

    @property
    def degraded(self) -> list[QueryResult]:
        """The questions whose answer may be worse than asked for."""
        return [each for each in self.queries if each.degraded]

    @property
    def failed(self) -> list[QueryResult]:
        """The questions to which the retriever raised an error."""
        return [each for each in self.queries if each.error is not None]

    def values(self, metric: str) -> dict[str, float]:
        """Return a metric's value for each question that has an answer.

        Args:
            metric: Its name, one of `metrics`.

        Returns:
            Question id to value.
        """
        return {each.query_id: each.values[metric] for each in self.queries if each.values}

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON-native values."""
        return {
            "retriever": self.retriever,
            "dataset": self.dataset,
            "metrics": dict(self.metrics),
            "latency": {name: each.to_dict() for name, each in self.latency.items()},
            "degraded": len(self.degraded),
            "failed": len(self.failed),
            "refusals": self.refusals.to_dict(),
            "queries": [_plain(each) for each in self.queries],
        }

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> Evaluation:
        """Return the evaluation that `to_dict` was called on.

        Args:
            found: What it returned.

        Returns:
            The evaluation.
        """
        refusals = {name: found["refusals"][name] for name in Refusals.__dataclass_fields__}
        return cls(
            found["retriever"],
            found["dataset"],
            found["metrics"],
            [
                QueryResult(
                    **{
                        **each,
                        "documents": tuple(each["documents"]),
                        "legs": tuple(LegReport(**leg) for leg in each["legs"]),
                    }
                )
                for each in found["queries"]
            ],
            Refusals(**refusals),
        )

    def save(self, path: str | Path) -> None:
        """Write everything as JSON.

        Args:
            path: The file; one that is there is written over.
        """
        text = json.dumps(self.to_dict(), ensure_ascii=False, indent=1)
        Path(path).write_text(text, encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Evaluation:
        """Read what `save` wrote.

        Args:
            path: The file.

        Returns:
            The evaluation.
        """
        return cls.from_dict(json.loads(Path(path).read_text(encoding="utf-8")))

    def write_run(self, path: str | Path) -> None:
        """Write what was found for the answerable questions as a run in TREC's format.

        The scores say the order and nothing else, so that no tool sees a tie.

        Args:
            path: The file; one that is there is written over.
        """
        name = trec_token(self.retriever)
        lines = (
            f"{trec_token(each.query_id)} Q0 {trec_token(document)} {rank} {score:g} {name}\n"
            for each in self.queries
            if each.values
            for rank, (document, score) in enumerate(scored(each.documents).items(), start=1)
        )
        Path(path).write_text("".join(lines), encoding="utf-8")

    def __str__(self) -> str:
        """Return a table of the metrics and one of the times, and what went wrong."""
        head = (
            f"{self.retriever} on {self.dataset}: {count(len(self.queries), 'question')}, "
            f"{len(self.degraded)} degraded, {len(self.failed)} failed"
        )
        parts = [table(["metric", "value"], self.metrics.items()), _times(self.latency)]
        if self.refusals.questions or self.refusals.floor is not None:
            parts.append(str(self.refusals))
        parts += [f"failed {each.query_id}: {each.error}" for each in self.failed[:_SHOWN]]
        return "\n".join([head, *map(indented, parts)])


def _plain(result: QueryResult) -> dict[str, Any]:
    found = asdict(result)
    return {**found, "documents": list(result.documents), "legs": list(found["legs"])}


def _times(latency: Mapping[str, Latency]) -> str:
    rows: Iterable[list[object]] = (
        [name, each.count, ms(each.p50), ms(each.p95), ms(each.p99)]
        for name, each in latency.items()
    )
    return table(["latency (ms)", "count", "p50", "p95", "p99"], rows)
