"""VectorRetriever: any LangChain vector store as a leg, with real similarities."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever, LangSmithRetrieverParams
from langchain_core.runnables import run_in_executor
from langchain_core.vectorstores import VectorStore
from pydantic import ConfigDict, Field, PrivateAttr

from langchain_safe_retrievers.content_id import content_id
from langchain_safe_retrievers.documents import trusted_document, without_content
from langchain_safe_retrievers.errors import ConfigurationError
from langchain_safe_retrievers.filters import compile_filter
from langchain_safe_retrievers.fusion.fuser import RankedList
from langchain_safe_retrievers.vector.adapter import PAGE, Adapter
from langchain_safe_retrievers.vector.nearest import nearest_ids, ranks_ids
from langchain_safe_retrievers.vector.stores import Scored, adapter_of, batch_size

_DEEPER = 4  # how many times more to ask for when a filter left too few


class VectorRetriever(BaseRetriever):
    """Finds documents by their vectors, in a store whose metadata comes back as it went in.

    Scores are similarities, higher is better, whichever distance the store uses. A store with
    flat metadata (Chroma, and Qdrant) gets all of it as one JSON text, and copies under dotted
    paths, so that the portable filter reads nested keys: `{"law.chapter": 2}`; a PGVectorStore
    gets it as JSON. What the store's filter cannot say is held here, and the store asked for more
    until `k` match or there are no more.

    Args:
        store: The store, with its embeddings.
        k: How many documents a query returns at most, at least 1. Also per call, and
            `only_ids=True` for documents with their id alone, which spares reading them.
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

    _writes: int = PrivateAttr(default=0)  # how often something was written through this object

    def __init__(self, store: VectorStore, **settings: Any) -> None:
        """Take the store first."""
        super().__init__(store=store, **settings)

    @property
    def is_flat(self) -> bool:
        """Whether metadata is written flat."""
        return self._own.flat if self.flat is None else self.flat

    @property
    def _own(self) -> Adapter:
        return adapter_of(self.store)

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
        self._writes += 1
        written = [self._written(document, id) for id, document in last.items()]  # noqa: A001 - LangChain's name
        size = batch_size(self.store)
        for start in range(0, len(written), size):
            self._own.add(written[start : start + size])
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

        Raises:
            ConfigurationError: `ids` is a string.
        """
        ids, size = listed(ids), batch_size(self.store)
        self._writes += 1
        for start in range(0, len(ids), size):
            self._own.delete(ids[start : start + size])

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Return the documents that have these ids, in any order, unknown ones passed over.

        Args:
            ids: The ids.

        Returns:
            The documents.
        """
        ids, size = listed(ids), batch_size(self.store)
        pages = (ids[start : start + size] for start in range(0, len(ids), size))
        found = (document for page in pages for document in self._own.by_ids(page))
        return list(map(self._reader(), found))

    def documents(self) -> Iterator[Document]:
        """Yield every document, page by page.

        Yields:
            The documents, with their ids.

        Raises:
            ConfigurationError: The store cannot be read from end to end.
        """
        return map(self._reader(), self._own.documents())

    def _written(self, document: Document, id: str) -> Document:  # noqa: A002 - LangChain's name
        _check_unicode(document.page_content, f"the text of document {id!r}")
        _check_unicode(id, f"the id {id!r}")
        metadata = self._own.written(document.metadata, id, flat=self.is_flat)
        return trusted_document(document.page_content, dict(metadata), id)

    def _reader(self) -> Callable[[Document], Document]:
        """Return what makes a document of what the store returns."""
        return partial(self._own.read, flat=self.is_flat)

    # Retrieving -----------------------------------------------------------------------------------

    def _get_ls_params(self, **kwargs: Any) -> LangSmithRetrieverParams:
        """Name the store and the embeddings, for tracers."""
        params = super()._get_ls_params(**kwargs)
        params["ls_vector_store_provider"] = type(self.store).__name__
        if self.store.embeddings is not None:
            params["ls_embedding_provider"] = type(self.store.embeddings).__name__
        return params

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002 - core's signature
        k: int | None = None,
        filter: object = None,  # noqa: A002 - LangChain's name
        only_ids: bool = False,
    ) -> list[Document]:
        search = self._search(query, k, filter, only_ids=only_ids)
        while not search.done:
            search.take(search.ask())
            if search.is_at_the_bottom:
                search.look_through()
        return search.found

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,  # noqa: ARG002 - core's signature
        k: int | None = None,
        filter: object = None,  # noqa: A002 - LangChain's name
        only_ids: bool = False,
    ) -> list[Document]:
        search = self._search(query, k, filter, only_ids=only_ids)
        while not search.done:
            search.take(await search.aask())
            if search.is_at_the_bottom:
                await run_in_executor(None, search.look_through)
        return search.found

    def _search(
        self,
        query: str,
        k: int | None,
        filter: object,  # noqa: A002 - LangChain's name
        *,
        only_ids: bool,
    ) -> _Search:
        k = self.k if k is None else k
        if not isinstance(k, int) or isinstance(k, bool) or k < 1:
            msg = f"k is {k!r}; expected a whole number of at least 1"
            raise ConfigurationError(msg)
        matches = compile_filter(filter)
        wanted = self._own.filter(filter or None, matches, flat=self.is_flat)
        return _Search(self, self._own, query, k, wanted, matches, only_ids)


@dataclass
class _Search:
    """One query: asks for more until enough documents match.

    A store that can return no more than so many at a time is looked through from end to end where
    too few of those match, and then asked for the nearest of all that do, a page of them at a time.
    """

    retriever: VectorRetriever
    own: Adapter
    query: str
    k: int
    filter: object
    matches: Callable[[Document], bool] | None
    only_ids: bool = False
    done: bool = False
    pages: list[list[str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.deepest = self.own.deepest or sys.maxsize
        self.depth = min(self.k, self.deepest)
        self.kept: Scored = []
        self.is_at_the_bottom = False
        unfiltered = self.filter is None and self.matches is None
        self.is_bare = self.only_ids and unfiltered and ranks_ids(self.retriever.store)

    @property
    def arguments(self) -> dict[str, Any]:
        given: dict[str, Any] = {"query": self.query, "k": self.depth}
        if self.filter is not None:  # a store need not know of it
            given["filter"] = self.filter
        if self.pages:
            given["ids"] = self.pages[0]
        return given

    @property
    def found(self) -> RankedList:
        documents = [document for document, _ in self.kept]
        return RankedList(
            without_content(documents) if self.only_ids and not self.is_bare else documents,
            query=self.query,
            scores=[score for _, score in self.kept],
        )

    def ask(self) -> Scored:
        """Ask the store."""
        store = self.retriever.store
        if self.is_bare:
            return nearest_ids(store, self.query, self.depth)
        return store.similarity_search_with_score(**self.arguments)

    async def aask(self) -> Scored:
        """Ask the store without blocking the loop."""
        if self.only_ids:
            return await run_in_executor(None, self.ask)
        return await self.retriever.store.asimilarity_search_with_score(**self.arguments)

    def take(self, hits: Scored) -> None:
        """Keep the first `k` that match of these, and of the pages before."""
        matches, read = self.matches, [document for document, _ in hits]
        if not self.is_bare:
            read = list(map(self.retriever._reader(), read))  # noqa: SLF001 - its own
        scored = [*zip(read, self.own.similarities([score for _, score in hits]), strict=True)]
        if matches is not None:
            scored = [hit for hit in scored if matches(hit[0])]
        if self.pages:
            self._turn_page(scored)
            return
        self.kept = scored[: self.k]
        self.done = len(scored) >= self.k or len(hits) < self.depth
        self.is_at_the_bottom = not self.done and self.depth == self.deepest
        self.depth = min(self.depth * _DEEPER, self.deepest)

    def look_through(self) -> None:
        """Find the ids of all that match."""
        wanted = self.matches or (lambda _: True)
        ids = [own.id or "" for own in self.retriever.documents() if wanted(own)]
        self.pages = [ids[start : start + PAGE] for start in range(0, len(ids), PAGE)]
        self.done, self.is_at_the_bottom, self.is_bare = not ids, False, False
        self.kept, self.filter, self.depth = [], None, min(self.k, PAGE)

    def _turn_page(self, scored: Scored) -> None:
        self.kept = sorted([*self.kept, *scored], key=lambda hit: -hit[1])[: self.k]
        self.pages = self.pages[1:]
        self.done = not self.pages


def _check_unicode(text: str, name: str) -> None:
    if text.isascii() or text.encode(errors="replace").decode() == text:
        return
    msg = f"{name} is no valid Unicode: it has lone surrogates in it; expected text as it is read"
    raise ConfigurationError(msg)


def listed(ids: Iterable[str]) -> list[str]:
    """Return ids, each once: stores refuse repeated ones.

    Args:
        ids: Read once.

    Returns:
        The ids, in order.

    Raises:
        ConfigurationError: It is a string, or has something else than strings in it.

    Example:
        >>> listed(["2", "1", "2"])
        ['2', '1']
    """
    listed_once = None if isinstance(ids, str) or ids is None else list(dict.fromkeys(ids))
    if listed_once is None or not all(isinstance(own, str) for own in listed_once):
        msg = f'ids is {ids!r:.100}; expected a list of ids, such as ["1", "2"]'
        raise ConfigurationError(msg)
    return listed_once
