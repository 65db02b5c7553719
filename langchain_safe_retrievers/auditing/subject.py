"""What is audited: an upstream retriever or plain legs, and how they ask and merge."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document

from langchain_safe_retrievers.errors import ConfigurationError
from langchain_safe_retrievers.fusion.reciprocal_rank import ReciprocalRank
from langchain_safe_retrievers.identity import by_content, by_id, by_key, by_levels
from langchain_safe_retrievers.merging.fold import Engine
from langchain_safe_retrievers.merging.langchain_policies import (
    LangChainEnsembleMetaPolicy,
    LangChainMultiQueryUnionPolicy,
)
from langchain_safe_retrievers.queries.text import unique_queries
from langchain_safe_retrievers.trace import Merging

_UPSTREAM = ("langchain_classic", "langchain_community", "langchain")


class Question(NamedTuple):
    """One question to one leg."""

    name: str
    query: str
    leg: Any
    wasted: bool = False


class Subject(Protocol):
    """How a retriever asks its legs and merges their lists, and what we would do instead."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def instead(self) -> str:
        """The class of this package that takes its place."""

    @property
    def counts_repeats(self) -> bool:
        """Whether a document that a leg repeats counts more than once."""

    def questions(self, query: str) -> list[Question]:
        """Return what it asks whom; `wasted` if nothing can come of it."""

    def merge(self, lists: list[list[Document]]) -> list[Document]:
        """Let its own code merge the legs' lists."""

    def merging(self, lists: Sequence[Sequence[Document]], k: int | None) -> Merging:
        """Return what our engine is given instead."""


@dataclass(frozen=True)
class Ensemble:
    """An `EnsembleRetriever`."""

    retriever: Any

    instead: ClassVar[str] = "SafeEnsembleRetriever"
    counts_repeats: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """The class's name."""
        return type(self.retriever).__name__

    def questions(self, query: str) -> list[Question]:
        """Return a question to each leg, those of weight 0 among them."""
        pairs = zip(self.retriever.retrievers, self.retriever.weights, strict=True)
        return [
            Question(f"retriever_{i}", query, leg, not weight)
            for i, (leg, weight) in enumerate(pairs, start=1)
        ]

    def merge(self, lists: list[list[Document]]) -> list[Document]:
        """Let its rank fusion merge."""
        merged: list[Document] = self.retriever.weighted_reciprocal_rank(lists)
        return merged

    def merging(self, lists: Sequence[Sequence[Document]], k: int | None) -> Merging:
        """Return what `SafeEnsembleRetriever` would give the engine; it skips weights of 0."""
        key, weights = self.retriever.id_key, self.retriever.weights
        identity = by_content if key is None else by_levels(by_key(key), by_id, by_content)
        return Merging(_engine(identity, ReciprocalRank(self.retriever.c)), lists, weights, k)


@dataclass(frozen=True)
class MultiQuery:
    """A `MultiQueryRetriever`."""

    retriever: Any

    instead: ClassVar[str] = "SafeMultiQueryRetriever"
    counts_repeats: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """The class's name."""
        return type(self.retriever).__name__

    def questions(self, query: str) -> list[Question]:
        """Return a question for each query that the model writes; blank ones are wasted."""
        manager = CallbackManagerForRetrieverRun.get_noop_manager()
        written = [*self.retriever.generate_queries(query, manager)]
        if self.retriever.include_original:
            written.append(query)
        seen: set[str] = set()
        found = []
        for i, each in enumerate(written, start=1):
            known = {" ".join(text.casefold().split()) for text in unique_queries([each])}
            wasted = known <= seen  # blank, or asked before
            seen |= known
            found.append(Question(f"query_{i}", each, self.retriever.retriever, wasted))
        return found

    def merge(self, lists: list[list[Document]]) -> list[Document]:
        """Let its unique union merge."""
        union: list[Document] = self.retriever.unique_union(_end_to_end(lists))
        return union

    def merging(self, lists: Sequence[Sequence[Document]], k: int | None) -> Merging:
        """Return what `SafeMultiQueryRetriever` would give the engine."""
        engine = Engine(policy=LangChainMultiQueryUnionPolicy())
        return Merging(engine, lists, [1.0] * len(lists), k, first_seen=True)


@dataclass(frozen=True)
class Merger:
    """A `MergerRetriever`."""

    retriever: Any

    instead: ClassVar[str] = "SafeEnsembleRetriever"
    counts_repeats: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """The class's name."""
        return type(self.retriever).__name__

    def questions(self, query: str) -> list[Question]:
        """Return a question to each leg."""
        return _to_each(self.retriever.retrievers, query)

    def merge(self, lists: list[list[Document]]) -> list[Document]:
        """Let its own code merge lists that are there already."""
        legs = [_Answered(found) for found in lists]
        stand_in = self.retriever.model_copy(update={"retrievers": legs})
        manager = CallbackManagerForRetrieverRun.get_noop_manager()
        merged: list[Document] = stand_in.merge_documents("", manager)
        return merged

    def merging(self, lists: Sequence[Sequence[Document]], k: int | None) -> Merging:
        """Return what `SafeEnsembleRetriever` would give the engine."""
        return _equal_legs(lists, k)


@dataclass(frozen=True)
class Legs:
    """Legs that somebody joins by hand: one list after the other, the first of each text kept."""

    legs: Sequence[Any]

    name: ClassVar[str] = "joining the lists by hand"
    instead: ClassVar[str] = "SafeEnsembleRetriever"
    counts_repeats: ClassVar[bool] = False

    def questions(self, query: str) -> list[Question]:
        """Return a question to each leg."""
        return _to_each(self.legs, query)

    def merge(self, lists: list[list[Document]]) -> list[Document]:
        """Keep the first document of each text."""
        first: dict[str, Document] = {}
        for document in _end_to_end(lists):
            first.setdefault(document.page_content, document)
        return list(first.values())

    def merging(self, lists: Sequence[Sequence[Document]], k: int | None) -> Merging:
        """Return what `SafeEnsembleRetriever` would give the engine."""
        return _equal_legs(lists, k)


class _Answered:
    """A leg that has answered already."""

    def __init__(self, documents: list[Document]) -> None:
        self.documents = documents

    def invoke(self, *_: Any, **__: Any) -> list[Document]:
        return self.documents


_KINDS: dict[str, Callable[[Any], Subject]] = {
    "EnsembleRetriever": Ensemble,
    "MultiQueryRetriever": MultiQuery,
    "MergerRetriever": Merger,
}


def subject_of(retriever: Any) -> Subject:
    """Return how something to be audited asks and merges; nothing is imported to find out.

    Args:
        retriever: An upstream `EnsembleRetriever`, `MultiQueryRetriever` or `MergerRetriever`,
            of a class of its own or a subclass, or a list of legs.

    Returns:
        The subject.

    Raises:
        ConfigurationError: It is nothing of that kind.
    """
    if isinstance(retriever, (list, tuple)) and retriever:
        return Legs(tuple(retriever))
    for base in type(retriever).__mro__:
        kind = _KINDS.get(base.__name__)
        if kind is not None and base.__module__.partition(".")[0] in _UPSTREAM:
            return kind(retriever)
    msg = (
        f"audit was given {type(retriever).__name__}; expected LangChain's EnsembleRetriever, "
        "MultiQueryRetriever or MergerRetriever, or a list of legs (for a retriever of this "
        "package, explain(retriever, query) shows what it does)"
    )
    raise ConfigurationError(msg)


def _to_each(legs: Iterable[Any], query: str) -> list[Question]:
    return [Question(f"retriever_{i}", query, leg) for i, leg in enumerate(legs, start=1)]


def _end_to_end(lists: Iterable[Iterable[Document]]) -> list[Document]:
    return [document for found in lists for document in found]


def _engine(identity: Any, fuser: ReciprocalRank) -> Engine:
    return Engine(identity=identity, fuser=fuser, policy=LangChainEnsembleMetaPolicy())


def _equal_legs(lists: Sequence[Sequence[Document]], k: int | None) -> Merging:
    weights = [1 / len(lists)] * len(lists)
    return Merging(_engine(by_content, ReciprocalRank()), lists, weights, k)
