"""What one retrieval did, as data: legs, queries, conflicts, notes and times."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Literal

from langchain_safe_retrievers.merging.conflicts import Conflicts, describe_conflicts, name_of

EVENT = "retrieval_report"
"""Name of the custom event that carries `RetrievalReport.to_dict()`."""

LegStatus = Literal[
    "ok", "failed", "timed out", "cancelled", "skipped", "cached", "open circuit", "fallback"
]
CacheOutcome = Literal["hit", "miss", "shared", "error"]


@dataclass(frozen=True)
class LegReport:
    """What one leg did with one query.

    Args:
        leg: The leg's name.
        query: What it was asked.
        status: "ok", "failed", "timed out", "cancelled" (another leg's failure ended it),
            "skipped" (its weight is 0, so it was not asked), "cached" (a cache answered),
            "open circuit" (it failed so often that it was not asked), or "fallback" (it
            answered in another's place).
        hits: How many documents it returned, before any filter was held.
        seconds: How long it took, all attempts and the pauses between them together.
        error: What went wrong, or None.
        attempts: How often it was asked; 0 if it was not.
    """

    leg: str
    query: str
    status: LegStatus
    hits: int = 0
    seconds: float = 0.0
    error: str | None = None
    attempts: int = 1


@dataclass(frozen=True)
class RetrievalReport:
    """What one retrieval did.

    Args:
        retriever: The retriever's name.
        query: What the user asked.
        queries: What was asked of the legs.
        legs: What each leg did, in legs' order.
        documents: How many documents were returned.
        filtered: How many hits did not match the filter and were removed.
        conflicts: Rank of a returned document (from 1) to what folding its copies displaced.
        notes: Sentences on what went otherwise than asked for.
        degraded: Whether the answer may be worse than asked for: a leg or the query writer failed,
            here or in a retriever that is a leg.
        query_writer_error: Why no queries were written and the question itself was searched, or
            None.
        cache: What the cache did: "hit", "miss", "shared" (an equal call was under way, and its
            answer was taken), "error" (it is down), or None where there is none.
        seconds: How long it took.
        error: What the retrieval raised, or None.

    Example:
        >>> leg = LegReport("vector", "q", "ok", hits=3)
        >>> print(RetrievalReport("hybrid", "q", legs=(leg,), documents=3))
        hybrid: 3 documents in 0.0 ms
          vector: ok, 3 hits in 0.0 ms
    """

    retriever: str
    query: str
    queries: tuple[str, ...] = ()
    legs: tuple[LegReport, ...] = ()
    documents: int = 0
    filtered: int = 0
    conflicts: Mapping[int, Conflicts] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    degraded: bool = False
    query_writer_error: str | None = None
    cache: CacheOutcome | None = None
    seconds: float = 0.0
    error: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON-native values; what JSON has no form for becomes its `repr`.

        Returns:
            A new dict of strings, numbers, bools, None, lists and dicts with string keys.
        """
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        fields["legs"] = [vars(leg) for leg in self.legs]
        return _JsonNative().of(fields)  # type: ignore[no-any-return]

    def to_metadata(self) -> dict[str, Any]:
        """Return what a trace shows of the retrieval beside its query and documents.

        Returns:
            Metadata for its run: `retriever_hits`, `retriever_degraded`, and `retriever_legs`.
        """
        legs = [
            {name: value for name, value in vars(leg).items() if name != "query"}
            for leg in self.legs
        ]
        return {
            "retriever_hits": self.documents,
            "retriever_degraded": self.degraded,
            "retriever_legs": legs,
        }

    def __str__(self) -> str:
        """Return a readable block: a line for the whole, for each leg, note and conflict."""
        state = f"error {self.error}" if self.error else _count(self.documents, "document")
        degraded = "DEGRADED, " if self.degraded else ""
        head = f"{self.retriever}: {degraded}{state} in {_ms(self.seconds)}"
        lines = [_leg_line(leg, of_many=len(self.queries) > 1) for leg in self.legs]
        if self.filtered:
            lines.append(f"filter removed {_count(self.filtered, 'hit')}")
        lines.extend(self.notes)
        for rank, conflicts in self.conflicts.items():
            lines.extend(
                f"conflict at rank {rank}: {line}"
                for line in describe_conflicts(conflicts).split("\n")
            )
        return "\n  ".join([head, *lines])


def _leg_line(leg: LegReport, *, of_many: bool) -> str:
    asked = f" {leg.query!r}" if of_many else ""
    result = leg.error or _count(leg.hits, "hit")
    tried = f" after {leg.attempts} attempts" if leg.attempts > 1 else ""
    return f"{leg.leg}{asked}: {leg.status}{tried}, {result} in {_ms(leg.seconds)}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms"


def error_text(error: BaseException) -> str:
    """Return an error's type and message.

    Args:
        error: The error; its own `__str__` may fail.

    Returns:
        The text.

    Example:
        >>> error_text(ValueError("no such index"))
        'ValueError: no such index'
    """
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001 - the error's own `__str__` failed
        return type(error).__name__


class _JsonNative:
    """Turns values into JSON-native ones, at most so many containers: cycles and sharing end."""

    def __init__(self, containers: int = 10_000) -> None:
        self.left = containers

    def of(self, value: Any, levels: int = 32) -> Any:
        """Return the value as JSON has it; at most `levels` containers deep."""
        if _is_native(value):
            return value
        self.left -= 1
        try:
            return self._container(value, levels)
        except Exception:  # noqa: BLE001 - the value cannot be read or printed
            return object.__repr__(value)

    def _container(self, value: Any, levels: int) -> Any:
        if not isinstance(value, (Mapping, list, tuple)):
            return repr(value)
        if not levels or self.left < 0:
            return "..."
        if isinstance(value, Mapping):
            return {name_of(key): self.of(item, levels - 1) for key, item in value.items()}
        return [self.of(item, levels - 1) for item in value]


def _is_native(value: Any) -> bool:
    kind = type(value)
    if kind is int:
        return bool(value.bit_length() <= 1024)  # noqa: PLR2004 - what every reader of JSON takes
    if kind is float:
        return bool(abs(value) < float("inf"))
    return value is None or kind in (str, bool)


_collectors: ContextVar[tuple[list[RetrievalReport], ...]] = ContextVar(
    "report_collectors", default=()
)


@contextmanager
def collect_reports() -> Iterator[list[RetrievalReport]]:
    """Collect the report of every retrieval inside, in any chain, thread or task it starts.

    Yields:
        A list that fills as retrievals end, the innermost of nested ones first.

    Example:
        >>> from langchain_safe_retrievers import SafeEnsembleRetriever
        >>> from langchain_core.runnables import RunnableLambda
        >>> leg = RunnableLambda(lambda query: ["text"])
        >>> with collect_reports() as reports:
        ...     _ = SafeEnsembleRetriever(retrievers=[leg]).invoke("question")
        >>> reports[0].documents, reports[0].degraded
        (1, False)
    """
    reports: list[RetrievalReport] = []
    token = _collectors.set((*_collectors.get(), reports))
    try:
        yield reports
    finally:
        _collectors.reset(token)


def deliver(report: RetrievalReport) -> None:
    """Hand a report to everyone who collects in this context.

    Args:
        report: The report.
    """
    for reports in _collectors.get():
        reports.append(report)
