"""What `explain` returns: everything that one retrieval did, as data."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from langchain_core.documents import Document

from langchain_safe_retrievers.explaining.native import document_dict, fields_dict
from langchain_safe_retrievers.explaining.origins import ExplainedValue, origins_of
from langchain_safe_retrievers.extras import load
from langchain_safe_retrievers.merging.conflicts import Conflicts
from langchain_safe_retrievers.report import LegStatus, RetrievalReport

Removed = Literal["k", "step"]


@dataclass(frozen=True)
class ExplainedHit:
    """One document in a leg's list.

    Args:
        rank: Its rank in the list as the leg gave it, from 1.
        document: The document.
        score: The leg's own score, or None if it gave none.
        counted: Its rank once the filter was held, the one that fusion saw; None if it did not
            match the filter.
        place: Index of the document it became in `Explanation.documents`, or None.
    """

    rank: int
    document: Document
    score: float | None = None
    counted: int | None = None
    place: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the hit as JSON-native values."""
        own = fields_dict(self, "rank", "score", "counted", "place")
        return own | document_dict(self.document)


@dataclass(frozen=True)
class ExplainedLeg:
    """What one leg found for one query.

    Args:
        name: The leg's name.
        query: What it was asked.
        status: What became of it, as in `LegReport`.
        seconds: How long it took.
        attempts: How often it was asked.
        error: What went wrong, or None.
        weight: Its weight in fusion, or None where nothing was fused.
        hits: Its list, best first, before the filter was held.
        inner: What a leg that is itself a retriever of this package did.
    """

    name: str
    query: str
    status: LegStatus
    seconds: float = 0.0
    attempts: int = 1
    error: str | None = None
    weight: float | None = None
    hits: tuple[ExplainedHit, ...] = ()
    inner: tuple[Explanation, ...] = ()

    @property
    def filtered(self) -> int:
        """How many hits did not match the filter."""
        return sum(hit.counted is None for hit in self.hits)

    def to_dict(self) -> dict[str, Any]:
        """Return the leg as JSON-native values."""
        own = fields_dict(self, "name", "query", "status", "seconds", "attempts", "error", "weight")
        hits = [hit.to_dict() for hit in self.hits]
        return own | {"hits": hits, "inner": [each.to_dict() for each in self.inner]}


@dataclass(frozen=True)
class ExplainedCopy:
    """One copy of a document, where a leg found it.

    Args:
        leg: The leg's name.
        query: What it was asked.
        rank: Its rank as fusion saw it, from 1.
        score: The leg's own score, or None.
        weight: The leg's weight, or None where nothing was fused.
        contribution: What it adds to the fused score, 0 for a document that the leg repeats;
            None if no score had a say.
        document: The copy, as the leg gave it.
    """

    leg: str
    query: str
    rank: int
    score: float | None
    weight: float | None
    contribution: float | None
    document: Document

    def to_dict(self) -> dict[str, Any]:
        """Return the copy as JSON-native values."""
        own = fields_dict(self, "leg", "query", "rank", "score", "weight", "contribution")
        return own | document_dict(self.document)


@dataclass(frozen=True)
class ExplainedDocument:
    """One document after fusion and folding.

    Args:
        document: The document, its metadata folded.
        rank: Its rank in the answer, from 1; None if it is not in it.
        fused_rank: Its rank before `k` and later steps, from 1; None if it came in later.
        score: Its fused score (a rank score, no probability); None if no score had a say.
        copies: Where it was found, in legs' order.
        joined_by: The rule by which the copies are one document; "" for a single copy.
        joined_on: What they have in common by that rule; None where that is the text.
        removed_by: "k", "step" (something after fusion or, where nothing was fused, after the leg
            answered: a step, a floor for scores, the filter held against the folded metadata),
            or None if it was returned.
        displaced: What folding displaced, as the engine recorded it.
        reserved: Metadata keys that the engine writes itself.
    """

    document: Document
    rank: int | None
    fused_rank: int | None = None
    score: float | None = None
    copies: tuple[ExplainedCopy, ...] = ()
    joined_by: str = ""
    joined_on: Any = None
    removed_by: Removed | None = None
    displaced: Conflicts = field(default_factory=dict)
    reserved: tuple[str, ...] = ()

    @cached_property
    def values(self) -> tuple[ExplainedValue, ...]:
        """Where each metadata value came from, and what it displaced."""
        copies = [copy.document for copy in self.copies]
        return origins_of(self.document, copies, self.displaced, self.reserved) if copies else ()

    @property
    def conflicts(self) -> tuple[ExplainedValue, ...]:
        """The values that displaced others."""
        return tuple(value for value in self.values if value.displaced)

    def to_dict(self) -> dict[str, Any]:
        """Return the document and its origin as JSON-native values."""
        names = ("rank", "fused_rank", "score", "joined_by", "joined_on", "removed_by")
        copies = [copy.to_dict() for copy in self.copies]
        values = [value.to_dict() for value in self.values]
        origin = {"copies": copies, "values": values}
        return fields_dict(self, *names) | document_dict(self.document) | origin


@dataclass(frozen=True)
class Explanation:
    """Why one retrieval returned what it did.

    Data first: the fields. Views second: `show()` for a terminal, `to_html()` for a browser, the
    object itself in a notebook, `to_dict()` for a program.

    Args:
        retriever: The retriever's name.
        query: What was asked.
        report: What the retrieval reported; its `error` is what `invoke` would have raised.
        arguments: The named arguments of the call, `k` and `filter` among them.
        settings: How the lists became one: the fuser, the identity, the merge policy, `k` …
        legs: What each leg found, in legs' order.
        documents: Every document after fusion, best first; those that are not in the answer
            say why.
        inner: Retrievals inside whose leg is not known.

    Example:
        >>> from langchain_safe_retrievers import SafeEnsembleRetriever
        >>> from langchain_safe_retrievers.explaining.explain import explain
        >>> from langchain_safe_retrievers.testing import FakeLeg
        >>> legs = [FakeLeg(documents=["a", "b"]), FakeLeg(documents=["b"])]
        >>> explanation = explain(SafeEnsembleRetriever(retrievers=legs), "question")
        >>> [(copy.leg, copy.rank) for copy in explanation.documents[0].copies]
        [('retriever_1', 2), ('retriever_2', 1)]
    """

    retriever: str
    query: str
    report: RetrievalReport
    arguments: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    legs: tuple[ExplainedLeg, ...] = ()
    documents: tuple[ExplainedDocument, ...] = ()
    inner: tuple[Explanation, ...] = ()

    @property
    def returned(self) -> tuple[ExplainedDocument, ...]:
        """The documents of the answer, in its order."""
        found = (document for document in self.documents if document.rank is not None)
        return tuple(sorted(found, key=lambda document: document.rank or 0))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON-native values; what JSON has no form for becomes its `repr`.

        Returns:
            A new dict of strings, numbers, bools, None, lists and dicts with string keys.
        """
        return fields_dict(self, "retriever", "query", "arguments", "settings") | {
            "report": self.report.to_dict(),
            "legs": [leg.to_dict() for leg in self.legs],
            "documents": [document.to_dict() for document in self.documents],
            "inner": [each.to_dict() for each in self.inner],
        }

    def to_html(self) -> str:
        """Return one self-contained page, which loads nothing and runs nothing of a document.

        Returns:
            HTML, to be written as UTF-8.
        """
        from langchain_safe_retrievers.explaining.html import explanation_page  # noqa: PLC0415 - a view of this

        return explanation_page(self)

    def show(self) -> None:
        """Print the explanation, in colour if the output is a terminal.

        Raises:
            MissingExtraError: rich is not installed.
        """
        load("rich.console", "explain").Console().print(self)

    def __rich_console__(self, console: Any, options: Any) -> Iterator[Any]:
        """Return what rich prints."""
        from langchain_safe_retrievers.explaining.terminal import explanation_parts  # noqa: PLC0415 - a view of this

        yield from explanation_parts(self)

    def __str__(self) -> str:
        """Return the report as text."""
        return str(self.report)

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the page in a frame of its own."""
        return in_frame(self.to_html())


def in_frame(page: str) -> str:
    """Return a page in a frame that shares nothing with the page around it.

    Args:
        page: A whole page.

    Returns:
        HTML for a notebook's output.

    Example:
        >>> in_frame("<p>")
        '<iframe sandbox="allow-scripts" width="100%" height="720" srcdoc="&lt;p&gt;"></iframe>'
    """
    inside = html.escape(page)
    return f'<iframe sandbox="allow-scripts" width="100%" height="720" srcdoc="{inside}"></iframe>'
