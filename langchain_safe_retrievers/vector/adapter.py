"""What is asked of a vector store beyond what LangChain promises of every one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from langchain_core.documents import Document

from langchain_safe_retrievers.documents import trusted_document
from langchain_safe_retrievers.errors import ConfigurationError
from langchain_safe_retrievers.merging.copying import copy_containers
from langchain_safe_retrievers.vector.flat import from_flat, to_flat
from langchain_safe_retrievers.vector.where import to_where

PAGE = 5_000  # documents read or written at a time; SQLite takes 32,766 variables in a statement

Matches: TypeAlias = Callable[[Document], bool] | None


@dataclass(frozen=True)
class Adapter:
    """How one store is written, read, filtered and scored; this one knows no store.

    Args:
        store: The store.
    """

    store: Any

    flat: ClassVar[bool] = False
    """Whether metadata is to be written flat."""

    deepest: ClassVar[int | None] = None
    """How many documents a query can return, None if there is no limit."""

    def batch_size(self) -> int:
        """Return how many documents the store is given at a time.

        Returns:
            At least 1.
        """
        return PAGE

    def add(self, documents: Sequence[Document]) -> None:
        """Write documents, each in the place of the one that has its id.

        Args:
            documents: As `written` made them, with ids.
        """
        self.store.add_documents(list(documents), ids=[own.id or "" for own in documents])

    def delete(self, ids: Sequence[str]) -> None:
        """Delete documents.

        Args:
            ids: Their ids; unknown ones are passed over.
        """
        if ids:
            self.store.delete(list(ids))

    def by_ids(self, ids: Sequence[str]) -> list[Document]:
        """Return the documents that have these ids as the store holds them.

        Args:
            ids: At most `PAGE`.

        Returns:
            Those that are there, in any order.
        """
        return list(self.store.get_by_ids(list(ids))) if ids else []

    def documents(self) -> Iterator[Document]:
        """Yield every document as the store holds it, page by page.

        Yields:
            The documents, with their ids.

        Raises:
            ConfigurationError: The store cannot be read from end to end.
        """
        msg = (
            f"{type(self.store).__name__} cannot be read from end to end; expected a Chroma, a "
            "PGVectorStore, a QdrantVectorStore or an InMemoryVectorStore: add its documents to a "
            "KeywordRetriever, and give that"
        )
        raise ConfigurationError(msg)

    def written(
        self,
        metadata: Mapping[str, Any],
        id: str,  # noqa: A002 - LangChain's name
        *,
        flat: bool,
    ) -> Mapping[str, Any]:
        """Return metadata as the store takes it.

        Args:
            metadata: The metadata.
            id: The document's id.
            flat: Whether it is to be flat.

        Returns:
            What `read` makes the metadata of again.

        Raises:
            MetadataError: A value cannot be represented.
        """
        return to_flat(metadata, owner=owner(id)) if flat else copy_containers(dict(metadata))

    def read(self, document: Document, *, flat: bool) -> Document:
        """Return a document as it was added.

        Args:
            document: As the store returned it.
            flat: Whether its metadata was written flat.

        Returns:
            The document.
        """
        return with_metadata(document, from_flat(document.metadata)) if flat else document

    def filter(self, wanted: object, matches: Matches, *, flat: bool) -> object:
        """Return a filter as the store takes it; it may let too much through, never too little.

        Args:
            wanted: The filter: portable, a predicate, or the store's own.
            matches: The filter as a predicate, None if it is the store's own.
            flat: Whether metadata was written flat.

        Returns:
            The store's filter, None for none.
        """
        if not flat or matches is None:
            return wanted
        return to_where(wanted).test if isinstance(wanted, Mapping) else None

    def similarities(self, scores: Sequence[float]) -> list[float]:
        """Return scores of which higher is better, from what the store calls its scores.

        A store returns its best first, so scores that rise are distances, and negated.

        Args:
            scores: As the store returned them.

        Returns:
            As many, falling.
        """
        rising = bool(scores) and scores[0] < scores[-1]
        return [-float(score) if rising else float(score) for score in scores]


class InMemory(Adapter):
    """LangChain's `InMemoryVectorStore`: takes a predicate for a filter, returns what it holds."""

    def documents(self) -> Iterator[Document]:
        """Yield every document.

        Yields:
            The documents.
        """
        yield from self.store.get_by_ids(list(self.store.store))

    def read(self, document: Document, *, flat: bool) -> Document:
        """Return a copy of a document, so that nobody changes what the store holds.

        Args:
            document: As the store returned it.
            flat: Whether its metadata was written flat.

        Returns:
            The document.
        """
        found = super().read(document, flat=flat)
        return with_metadata(found, copy_containers(found.metadata))

    def filter(self, wanted: object, matches: Matches, *, flat: bool) -> object:
        """Return the filter as a predicate of documents as they are held.

        Args:
            wanted: The filter.
            matches: The filter as a predicate.
            flat: Whether metadata was written flat.

        Returns:
            A predicate.
        """
        if matches is None:
            return wanted
        held = super().read
        return lambda document: matches(held(document, flat=flat))


def with_metadata(
    document: Document,
    metadata: dict[str, Any],
    id: str | None = None,  # noqa: A002 - LangChain's name
) -> Document:
    """Return a document with other metadata.

    Args:
        document: The document.
        metadata: Its metadata.
        id: Its id; None for the one that it has.

    Returns:
        A new one.
    """
    return trusted_document(document.page_content, metadata, id or document.id)


def owner(id: str) -> str:  # noqa: A002 - LangChain's name
    """Return how an error calls a document's metadata.

    Args:
        id: The document's id.

    Returns:
        Its name.
    """
    return f"metadata of document {id!r}"
