"""What `audit` returns: what an upstream retriever loses, as data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from langchain_core.documents import Document

from langchain_safe_retrievers.explaining.explanation import in_frame
from langchain_safe_retrievers.explaining.native import document_dict, fields_dict
from langchain_safe_retrievers.extras import load


@dataclass(frozen=True)
class LostValue:
    """A metadata value that a leg found and that was not returned.

    Args:
        path: Dotted path of metadata keys.
        key: The metadata key that the path begins with.
        value: The value.
        legs: Who found it.
        is_key_lost: Whether the document was returned without that key.
        in_place: Whether the safe class returns it at its place; else it is under `_conflicts`.
    """

    path: str
    key: str
    value: Any
    legs: tuple[str, ...]
    is_key_lost: bool
    in_place: bool


@dataclass(frozen=True)
class DocumentLoss:
    """What one document lost.

    Args:
        query: What was asked.
        returned: How often it was returned; more than once is a duplicate.
        document: What was returned first, or None.
        safe: What the safe class returns.
        values: The metadata values that were lost.
        ids: Ids of copies that were lost.
        texts: Texts that were taken for this one's and lost.
    """

    query: str
    returned: int
    document: Document | None
    safe: Document
    values: tuple[LostValue, ...] = ()
    ids: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()

    @property
    def weight(self) -> int:
        """How much was lost, to find the worst."""
        return len(self.values) + len(self.ids) + 2 * len(self.texts) + max(self.returned - 1, 0)

    def to_dict(self) -> dict[str, Any]:
        """Return the loss as JSON-native values."""
        own = fields_dict(self, "query", "returned", "ids", "texts")
        names = ("path", "key", "value", "legs", "is_key_lost", "in_place")
        return own | {
            "document": None if self.document is None else document_dict(self.document),
            "safe": document_dict(self.safe),
            "values": [fields_dict(value, *names) for value in self.values],
        }


@dataclass(frozen=True)
class LegLoss:
    """What became of one leg's answer, for one query or all.

    Args:
        leg: The leg's name.
        hits: How many documents it found.
        values: How many metadata values of its documents were lost.
        seconds: How long it took.
        failures: How often it failed.
    """

    leg: str
    hits: int = 0
    values: int = 0
    seconds: float = 0.0
    failures: int = 0


@dataclass(frozen=True)
class KeyLoss:
    """What became of one metadata key.

    Args:
        key: The key.
        values: How many values were lost.
        gone: How many of them because a document was returned without the key.
    """

    key: str
    values: int
    gone: int


@dataclass(frozen=True)
class QueryLoss:
    """What one query lost.

    Args:
        query: What was asked.
        returned: How many documents were returned.
        safe: How many the safe class returns of the same hits.
        documents: The documents that lost something, in the order of the safe answer.
        legs: What became of each leg's answer.
        leaked: Documents returned that do not match the filter.
        beyond_k: Documents returned beyond the `k` that was asked for.
        repeats: Hits that a leg repeats and that were counted again.
        is_reordered: Whether the order differs from the one in which each leg has one vote.
        wasted: Questions that nothing could come of: to legs of weight 0, blank, or twice.
        seconds_wasted: What those took.
        seconds_saved: What asking the legs side by side would have saved.
        error: What the upstream class raises on these hits, so that nothing is returned; or None.
    """

    query: str
    returned: int = 0
    safe: int = 0
    documents: tuple[DocumentLoss, ...] = ()
    legs: tuple[LegLoss, ...] = ()
    leaked: int = 0
    beyond_k: int = 0
    repeats: int = 0
    is_reordered: bool = False
    wasted: int = 0
    seconds_wasted: float = 0.0
    seconds_saved: float = 0.0
    error: str | None = None

    @property
    def values(self) -> int:
        """How many metadata values were lost."""
        return sum(len(document.values) for document in self.documents)

    def to_dict(self) -> dict[str, Any]:
        """Return the loss as JSON-native values."""
        names = [name for name in self.__dataclass_fields__ if name not in ("documents", "legs")]
        return fields_dict(self, *names) | {
            "documents": [document.to_dict() for document in self.documents],
            "legs": [fields_dict(leg, *leg.__dataclass_fields__) for leg in self.legs],
        }


@dataclass(frozen=True)
class Totals:
    """Everything that was lost, over all queries.

    Args:
        queries: How many queries were asked.
        returned: Documents returned.
        safe: Documents that the safe class returns of the same hits.
        values: Metadata values lost.
        keys_gone: How many of them because a document was returned without the key.
        in_place: How many of them the safe class returns at their place.
        in_conflicts: How many of them it returns under `_conflicts`.
        ids: Ids lost.
        texts: Documents taken for another one, and lost.
        duplicates: Documents returned again.
        leaked: Documents returned that do not match the filter.
        beyond_k: Documents returned beyond `k`.
        repeats: Hits that a leg repeats and that were counted again.
        reordered: Answers whose order differs from the one in which each leg has one vote.
        wasted: Questions that nothing could come of.
        errors: Answers lost to an error.
        seconds_saved: What asking the legs side by side would have saved.
        seconds_wasted: What wasted questions took.
    """

    queries: int
    returned: int
    safe: int
    values: int
    keys_gone: int
    in_place: int
    in_conflicts: int
    ids: int
    texts: int
    duplicates: int
    leaked: int
    beyond_k: int
    repeats: int
    reordered: int
    wasted: int
    errors: int
    seconds_saved: float
    seconds_wasted: float


@dataclass(frozen=True)
class LossReport:
    """What an upstream retriever loses on a user's own queries.

    Data first: the fields. Views second: `str()` is a sentence for a ticket, `show()` prints to a
    terminal, `to_html()` is a page, `to_dict()` is for a program.

    Args:
        retriever: What was audited.
        instead: The class of this package that takes its place.
        queries: What each query lost, in the order asked.
    """

    retriever: str
    instead: str
    queries: tuple[QueryLoss, ...]

    @cached_property
    def totals(self) -> Totals:
        """Everything that was lost, over all queries."""
        documents = [document for query in self.queries for document in query.documents]
        values = [value for document in documents for value in document.values]
        in_place = sum(value.in_place for value in values)
        return Totals(
            queries=len(self.queries),
            returned=sum(query.returned for query in self.queries),
            safe=sum(query.safe for query in self.queries),
            values=len(values),
            keys_gone=sum(value.is_key_lost for value in values),
            in_place=in_place,
            in_conflicts=len(values) - in_place,
            ids=sum(len(document.ids) for document in documents),
            texts=sum(len(document.texts) for document in documents),
            duplicates=sum(max(document.returned - 1, 0) for document in documents),
            leaked=sum(query.leaked for query in self.queries),
            beyond_k=sum(query.beyond_k for query in self.queries),
            repeats=sum(query.repeats for query in self.queries),
            reordered=sum(query.is_reordered for query in self.queries),
            wasted=sum(query.wasted for query in self.queries),
            errors=sum(query.error is not None for query in self.queries),
            seconds_saved=sum(query.seconds_saved for query in self.queries),
            seconds_wasted=sum(query.seconds_wasted for query in self.queries),
        )

    @property
    def keys(self) -> tuple[KeyLoss, ...]:
        """What became of each metadata key that lost a value, the worst first."""
        found: dict[str, list[LostValue]] = {}
        for value in self._values():
            found.setdefault(value.key, []).append(value)
        keys = [
            KeyLoss(key, len(values), sum(value.is_key_lost for value in values))
            for key, values in found.items()
        ]
        return tuple(sorted(keys, key=lambda loss: -loss.values))

    @property
    def legs(self) -> tuple[LegLoss, ...]:
        """What became of each leg's answers, in legs' order."""
        found: dict[str, list[LegLoss]] = {}
        for query in self.queries:
            for leg in query.legs:
                found.setdefault(leg.leg, []).append(leg)
        return tuple(
            LegLoss(
                name,
                hits=sum(leg.hits for leg in legs),
                values=sum(leg.values for leg in legs),
                seconds=sum(leg.seconds for leg in legs),
                failures=sum(leg.failures for leg in legs),
            )
            for name, legs in found.items()
        )

    def worst(self, number: int = 5) -> tuple[DocumentLoss, ...]:
        """Return the documents that lost most.

        Args:
            number: How many at most, at least 0.

        Returns:
            The losses, the worst first.
        """
        documents = [document for query in self.queries for document in query.documents]
        return tuple(sorted(documents, key=lambda document: -document.weight)[:number])

    @property
    def sentence(self) -> str:
        """What was lost, in words to be pasted into a ticket."""
        from langchain_safe_retrievers.auditing.wording import sentence_of  # noqa: PLC0415 - a view of this

        return sentence_of(self)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON-native values; what JSON has no form for becomes its `repr`.

        Returns:
            A new dict of strings, numbers, bools, None, lists and dicts with string keys.
        """
        return fields_dict(self, "retriever", "instead", "sentence") | {
            "totals": vars(self.totals).copy(),
            "keys": [fields_dict(key, *key.__dataclass_fields__) for key in self.keys],
            "legs": [fields_dict(leg, *leg.__dataclass_fields__) for leg in self.legs],
            "queries": [query.to_dict() for query in self.queries],
        }

    def to_html(self) -> str:
        """Return one self-contained page, which loads nothing and runs nothing of a document.

        Returns:
            HTML, to be written as UTF-8.
        """
        from langchain_safe_retrievers.auditing.html import loss_page  # noqa: PLC0415 - a view of this

        return loss_page(self)

    def show(self) -> None:
        """Print the report, in colour if the output is a terminal.

        Raises:
            MissingExtraError: rich is not installed.
        """
        load("rich.console", "explain").Console().print(self)

    def __rich_console__(self, console: Any, options: Any) -> Iterator[Any]:
        """Return what rich prints."""
        from langchain_safe_retrievers.auditing.terminal import loss_parts  # noqa: PLC0415 - a view of this

        yield from loss_parts(self)

    def __str__(self) -> str:
        """Return the sentence."""
        return self.sentence

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the page in a frame of its own."""
        return in_frame(self.to_html())

    def _values(self) -> Iterator[LostValue]:
        for query in self.queries:
            for document in query.documents:
                yield from document.values
