"""One retrieval in progress: what was asked for, and what is to be reported."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from langchain_core.documents import Document
from langchain_core.runnables import RunnableConfig

from langchain_safe_retrievers.errors import ConfigurationError
from langchain_safe_retrievers.filters import compile_filter
from langchain_safe_retrievers.fusion.fuser import RankedList
from langchain_safe_retrievers.merging.copying import copy_containers
from langchain_safe_retrievers.merging.fold import Merged
from langchain_safe_retrievers.report import CacheOutcome, LegReport, RetrievalReport, error_text
from langchain_safe_retrievers.trace import Merging

_FETCH_AT_LEAST = 50  # see benchmarks/fetch_depth.py
_FETCH_FACTOR = 2


@dataclass(eq=False)
class Retrieval:
    """One call of a retriever, from `invoke` to its report.

    Args:
        owner: The retriever.
        config: The config that the legs get.
        given: The named arguments that `invoke` was given.
        k: How many documents to return, or None for all.
        fetch_k: How many documents to ask of each leg, or None to derive it from `k`.
        arguments: The named arguments for the legs, `filter` among them.
        matches: Whether a document passes the filter; None if there is none to hold.
    """

    owner: object
    config: RunnableConfig | None = None
    given: dict[str, Any] = field(default_factory=dict)

    k: int | None = None
    fetch_k: int | None = None
    arguments: dict[str, Any] = field(default_factory=dict)
    matches: Callable[[Document], bool] | None = None

    queries: list[str] = field(default_factory=list)
    legs: list[LegReport] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    found: list[RankedList] = field(default_factory=list)
    merging: Merging | None = None
    merged: Merged | None = None
    filtered: int = 0
    degraded: bool = False
    query_writer_error: str | None = None
    cache: CacheOutcome | None = None
    started: float = field(default_factory=monotonic)

    def __post_init__(self) -> None:
        """Remember whether another retrieval is in progress around this one."""
        around = _current.get()
        self.is_nested = around is not None and around.owner is not self.owner

    def ask_for(self, k: int | None, fetch_k: int | None, arguments: dict[str, Any]) -> None:
        """Say what is wanted.

        Args:
            k: How many documents, at least 1, or None for all.
            fetch_k: How many to ask of each leg, or None.
            arguments: The named arguments for the legs.

        Raises:
            ConfigurationError: `k` is no whole number of at least 1.
            FilterError: The filter cannot be read.
        """
        if k is not None and (not isinstance(k, int) or isinstance(k, bool) or k < 1):
            msg = f"k is {k!r}; expected a whole number of at least 1, or None for all documents"
            raise ConfigurationError(msg)
        self.k, self.fetch_k, self.arguments = k, fetch_k, arguments
        wanted = copy_containers(arguments.get("filter"))  # what a leg does to its own is no matter
        self.matches = compile_filter(wanted)
        if wanted is not None and self.matches is None and not isinstance(wanted, Mapping):
            self.note(
                f"the filter is a store's own ({type(wanted).__name__}): only the legs hold it"
            )

    @property
    def depth(self) -> int | None:
        """How many documents each leg that can be told is asked for; None if no `k` was given."""
        if self.k is None or self.fetch_k is not None:
            return self.fetch_k
        return max(_FETCH_AT_LEAST, _FETCH_FACTOR * self.k)

    def hold_filter(self, found: RankedList) -> RankedList:
        """Return the list without the documents that do not match the filter.

        Args:
            found: A leg's list.

        Returns:
            The same list, or a shorter one.
        """
        self.found.append(found)
        if self.matches is None:
            return found
        kept = found.pick([i for i, document in enumerate(found) if self.matches(document)])
        self.filtered += len(found) - len(kept)
        return kept

    def note(self, text: str, *, degraded: bool = False) -> None:
        """Add a sentence to the report.

        Args:
            text: The sentence.
            degraded: Whether the answer may be worse for it.
        """
        self.notes.append(text)
        self.degraded = self.degraded or degraded

    def merge(self, merging: Merging) -> list[Document]:
        """Let the engine merge, and remember what it was given and what it said.

        Args:
            merging: What the engine is given.

        Returns:
            The documents.
        """
        self.merging = merging
        self.merged = merged = merging.run()
        if merged.legs_without_scores:
            self.note(f"fused by rank for want of scores: {', '.join(merged.legs_without_scores)}")
        return merged.documents

    def finish(self, documents: Sequence[Document]) -> list[Document]:
        """Hold filter and `k` once more, whatever a subclass did on the way.

        Args:
            documents: What the retriever is about to return.

        Returns:
            What it may return.
        """
        if isinstance(documents, RankedList):  # its scores go along
            matches = self.matches or (lambda _: True)
            places = [i for i, document in enumerate(documents) if matches(document)]
            return documents.pick(places[: self.k])
        if self.matches is not None:
            documents = [document for document in documents if self.matches(document)]
        return list(documents[: self.k]) if self.k is not None else documents  # type: ignore[return-value]

    def report(
        self, name: str, query: str, documents: int, error: BaseException | None
    ) -> RetrievalReport:
        """Return the report of this retrieval.

        Args:
            name: The retriever's name.
            query: What the user asked.
            documents: How many documents were returned.
            error: What was raised, or None.

        Returns:
            The report.
        """
        return RetrievalReport(
            retriever=name,
            query=query,
            queries=tuple(self.queries or [query]),
            legs=tuple(self.legs),
            documents=documents,
            filtered=self.filtered,
            conflicts=self.merged.conflicts if self.merged else {},
            notes=tuple(self.notes),
            degraded=self.degraded,
            query_writer_error=self.query_writer_error,
            cache=self.cache,
            seconds=monotonic() - self.started,
            error=None if error is None else error_text(error),
        )


_current: ContextVar[Retrieval | None] = ContextVar("current_retrieval", default=None)


def current_retrieval(owner: object) -> Retrieval | None:
    """Return the retrieval that `owner` is in the middle of, in this context.

    Args:
        owner: A retriever.

    Returns:
        The retrieval, or None if its methods were called from outside.
    """
    retrieval = _current.get()
    return retrieval if retrieval is not None and retrieval.owner is owner else None


class in_progress:  # noqa: N801 - used as a function
    """Make a retrieval the current one, for as long as the block lasts.

    Args:
        retrieval: The retrieval.
    """

    def __init__(self, retrieval: Retrieval) -> None:
        """Remember which."""
        self.retrieval = retrieval

    def __enter__(self) -> Retrieval:
        """Begin, and return the retrieval."""
        self.token = _current.set(self.retrieval)
        return self.retrieval

    def __exit__(self, *_: object) -> None:
        """End."""
        _current.reset(self.token)
