"""VectorRetriever: any LangChain vector store as a leg, with real similarities."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import run_in_executor
from langchain_core.vectorstores import VectorStore
from pydantic import ConfigDict, Field

from langchain_safe_retrievers.content_id import content_id
from langchain_safe_retrievers.errors import ConfigurationError
from langchain_safe_retrievers.filters import compile_filter
from langchain_safe_retrievers.fusion.fuser import RankedList
from langchain_safe_retrievers.vector.flat import from_flat, to_flat
from langchain_safe_retrievers.vector.stores import (
    Scored,
    batch_size,
    documents_by_id,
    is_chroma,
    own_filter,
    similarities,
    stored_documents,
    without_nothing,
)
from langchain_safe_retrievers.vector.where import to_where

_DEEPER = 4  # how many times more to ask for when a filter left too few


class VectorRetriever(BaseRetriever):
    """Finds documents by their vectors, in a store whose metadata comes back as it went in.

    Scores are similarities, higher is better, whichever distance the store uses. A store with
    flat metadata (Chroma) gets all of it as one JSON text, and copies under dotted paths, so that
    the portable filter reads nested keys: `{"law.chapter": 2}`. What the store's filter cannot
    say is held here, and the store asked for more until `k` match or there are no more.

    Args:
        store: The store, with its embeddings.
        k: How many documents a query returns at most, at least 1. Also per call.
        flat: Whether metadata is to be flat; None for what is known of the store.

    Example:
        >>> from langchain_core.embeddings import DeterministicFakeEmbedding
        >>> from langchain_core.vectorstores import InMemoryVectorStore
        >>> retriever = VectorRetriever(InMemoryVectorStore(DeterministicFakeEmbedding(size=8)))
        >>> retriever.add_documents([Document(page_content="Bees", metadata={"a": {"b": 1}})])
        ['98a344d6-60ee-808a-acd2-b3827c7fc572']
        >>> found = retriever.invoke("Bees", filter={"a.b": 1})
        >>> found[0].metadata, [round(score, 3) for score in found.scores]
        ({'a': {'b': 1}}, [1.0])
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    store: VectorStore
    k: int = Field(default=4, ge=1, strict=True)
    flat: bool | None = None

    def __init__(self, store: VectorStore, **settings: Any) -> None:
        """Take the store first."""
        super().__init__(store=store, **settings)

    @property
    def is_flat(self) -> bool:
        """Whether metadata is written flat."""
        return is_chroma(self.store) if self.flat is None else self.flat

    # Documents ------------------------------------------------------------------------------------

    def add_documents(self, documents: Iterable[Document]) -> list[str]:
        """Add documents, each in the place of the one that has its id.

        Args:
            documents: Read once. One without an id gets one made of its text and metadata. Of
                several with one id the last stays.

        Returns:
            The ids, in order.

        Raises:
            MetadataError: Metadata that cannot come back as it is; nothing is written.
        """
        given = list(documents)
        ids = [document.id or content_id(document) for document in given]
        last = dict(zip(ids, given, strict=True))
        written = [self._written(document, id) for id, document in last.items()]  # noqa: A001 - LangChain's name
        size = batch_size(self.store)
        for start in range(0, len(written), size):
            batch = written[start : start + size]
            self.store.add_documents(batch, ids=[document.id or "" for document in batch])
        return ids

    async def aadd_documents(self, documents: Iterable[Document]) -> list[str]:
        """Add documents, without blocking the loop; see `add_documents`.

        Args:
            documents: Read once.

        Returns:
            The ids, in order.
        """
        return await run_in_executor(None, self.add_documents, documents)

    def delete(self, ids: Iterable[str]) -> None:
        """Delete documents.

        Args:
            ids: Their ids; unknown ones are passed over.
        """
        ids, size = list(ids), batch_size(self.store)
        for start in range(0, len(ids), size):
            self.store.delete(ids[start : start + size])

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Return the documents that have these ids, in any order, unknown ones passed over.

        Args:
            ids: The ids.

        Returns:
            The documents.
        """
        size = batch_size(self.store)
        pages = (ids[start : start + size] for start in range(0, len(ids), size))
        found = (document for page in pages for document in documents_by_id(self.store, page))
        return [self._read(document) for document in found]

    def documents(self) -> Iterator[Document]:
        """Yield every document, page by page.

        Yields:
            The documents, with their ids.

        Raises:
            ConfigurationError: The store cannot be read from end to end.
        """
        return map(self._read, stored_documents(self.store))

    def _written(self, document: Document, id: str) -> Document:  # noqa: A002 - LangChain's name
        metadata = document.metadata
        if self.is_flat:
            _check_unicode(document.page_content, f"the text of document {id!r}")
            _check_unicode(id, f"the id {id!r}")
            metadata = to_flat(metadata, owner=f"metadata of document {id!r}")
        return Document(page_content=document.page_content, metadata=metadata, id=id)

    def _read(self, document: Document) -> Document:
        if not self.is_flat:
            return document
        metadata = from_flat(document.metadata)
        return Document(page_content=document.page_content, metadata=metadata, id=document.id)

    # Retrieving -----------------------------------------------------------------------------------

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002 - core's signature
        k: int | None = None,
        filter: object = None,  # noqa: A002 - LangChain's name
    ) -> list[Document]:
        search = self._search(query, k, filter)
        while not search.done:
            search.take(self.store.similarity_search_with_score(**search.arguments))
        return search.found

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,  # noqa: ARG002 - core's signature
        k: int | None = None,
        filter: object = None,  # noqa: A002 - LangChain's name
    ) -> list[Document]:
        search = self._search(query, k, filter)
        while not search.done:
            search.take(await self.store.asimilarity_search_with_score(**search.arguments))
        return search.found

    def _search(self, query: str, k: int | None, filter: object) -> _Search:  # noqa: A002 - LangChain's name
        k = self.k if k is None else k
        if not isinstance(k, int) or isinstance(k, bool) or k < 1:
            msg = f"k is {k!r}; expected a whole number of at least 1"
            raise ConfigurationError(msg)
        wanted, matches = filter or None, compile_filter(filter)
        if self.is_flat and isinstance(wanted, Mapping):
            wanted = to_where(wanted).test
        elif self.is_flat and matches is not None:
            wanted = None  # a callable
        else:
            wanted = own_filter(self.store, wanted, matches)
        return _Search(self, query, k, wanted, matches)


@dataclass
class _Search:
    """One query: asks for more until enough documents match."""

    retriever: VectorRetriever
    query: str
    k: int
    filter: object
    matches: Callable[[Document], bool] | None
    depth: int = 0
    done: bool = False

    def __post_init__(self) -> None:
        self.depth, self.found = self.k, RankedList(query=self.query)

    @property
    def arguments(self) -> dict[str, Any]:
        return without_nothing({"query": self.query, "k": self.depth, "filter": self.filter})

    def take(self, hits: Scored) -> None:
        """Keep what matches of the first `depth` documents."""
        read = [self.retriever._read(document) for document, _ in hits]  # noqa: SLF001 - its own
        scores = similarities(self.retriever.store, [score for _, score in hits])
        kept = [i for i, own in enumerate(read) if self.matches is None or self.matches(own)]
        self.done = len(kept) >= self.k or len(hits) < self.depth
        kept, self.depth = kept[: self.k], self.depth * _DEEPER
        self.found = RankedList(
            [read[i] for i in kept], query=self.query, scores=[scores[i] for i in kept]
        )


def _check_unicode(text: str, name: str) -> None:
    if text.isascii() or text.encode(errors="replace").decode() == text:
        return
    msg = f"{name} is no valid Unicode: it has lone surrogates in it; expected text as it is read"
    raise ConfigurationError(msg)
