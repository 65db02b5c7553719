"""KeywordRetriever: an embedded BM25 index that is kept, added to, deleted from and filtered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.indexing import DeleteResponse, UpsertResponse
from langchain_core.indexing.base import DocumentIndex
from langchain_core.runnables import RunnableSerializable, run_in_executor
from pydantic import ConfigDict, Field, PrivateAttr

from langchain_safe_retrievers.documents import without_content
from langchain_safe_retrievers.errors import ConfigurationError
from langchain_safe_retrievers.fusion.fuser import RankedList
from langchain_safe_retrievers.keyword.index import KeywordIndex
from langchain_safe_retrievers.keyword.settings import Settings, read_settings, write_settings
from langchain_safe_retrievers.keyword.tokenizer import Tokenizer, name_of


class KeywordRetriever(DocumentIndex):
    """Finds documents by their words, in an index of its own, in memory or in a directory.

    A document is found if it shares a term with the query; BM25 ranks. Nothing in a query is
    syntax. The index holds the documents themselves, and their metadata comes back equal, type
    for type. Documents are added, replaced (by id) and deleted one batch a commit; the next
    query of any process sees the last commit. It is a LangChain `DocumentIndex`, so
    `langchain_core.indexing.index` keeps it up to date.

    Args:
        persist_directory: Where the index is or is to be; None for memory. An index is reopened
            with the settings that it was made with.
        k: How many documents a query returns at most, at least 1. Also per call, and
            `only_ids=True` for documents with their id alone.
        tokenizer: "auto" (NFKC, case folded; characters and pairs where a script has no spaces),
            or a callable from a text to its words, which are taken as they are.
        language: The language of stop words and Snowball stems for "auto", in English; None for
            none. Words of other scripts pass as they are.
        score_key: The metadata key to put a result's score under; None for no key. (A fuser gets
            the scores without it.)
        lock_timeout: Seconds to wait for another writer of the same directory, at least 0.
        index_text: Returns the text that a document is found by (with its title or file name,
            say); None for its own. The document comes back as it was.

    Raises:
        ConfigurationError: Settings that cannot work, or differ from those that the index in
            `persist_directory` was made with (as a pydantic `ValidationError`).
        MissingExtraError: tantivy is not installed.

    Example:
        >>> retriever = KeywordRetriever.from_texts(["Bees make honey.", "Wasps do not."])
        >>> [document.page_content for document in retriever.invoke("Who makes honey?")]
        ['Bees make honey.']
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    persist_directory: Path | None = None
    k: int = Field(default=4, ge=1, strict=True)
    tokenizer: Literal["auto"] | Callable[[str], Iterable[str]] = "auto"
    language: str | None = "english"
    score_key: str | None = None
    lock_timeout: float = Field(default=0.0, ge=0)
    index_text: Callable[[Document], str] | None = None

    _index: KeywordIndex = PrivateAttr()
    _writes: int = PrivateAttr(default=0)  # how often something was written through this object

    def model_post_init(self, context: Any, /) -> None:
        """Open the index, or make an empty one."""
        super().model_post_init(context)
        if callable(self.tokenizer):
            self._take_words_as_they_are()
        directory = self.persist_directory
        stored = None if directory is None else read_settings(directory)
        if directory is not None and stored is not None:
            stored.hold(directory, self._given())
            self.k, self.language = stored.k, stored.language
        tokenizer = Tokenizer(self.tokenizer, self.language)
        if directory is not None:
            own = Settings(self.k, tokenizer.name, tokenizer.language, tokenizer.fingerprint)
            if stored is None:
                write_settings(directory, own)
            else:
                stored.hold(directory, {"terms": own.terms})
        self._index = KeywordIndex(
            tokenizer, directory, lock_timeout=self.lock_timeout, index_text=self.index_text
        )

    def _take_words_as_they_are(self) -> None:
        if "language" in self.model_fields_set and self.language is not None:
            msg = (
                f"language is {self.language!r} and tokenizer a callable, whose words are taken "
                "as they are; leave language out, or stem in the callable"
            )
            raise ConfigurationError(msg)
        self.language = None

    def _given(self) -> dict[str, Any]:
        """Return the settings that the caller asked for, as an index remembers them."""
        given = {name: getattr(self, name) for name in ("k", "language")}
        asked = {name: value for name, value in given.items() if name in self.model_fields_set}
        return {"tokenizer": name_of(self.tokenizer), **asked}

    def configurable_fields(self, **kwargs: Any) -> RunnableSerializable[str, list[Document]]:
        """Let fields be configured at run time, of an index in a directory.

        Args:
            **kwargs: As for every Runnable.

        Returns:
            A Runnable that makes a retriever of the configured fields for each call.

        Raises:
            ConfigurationError: The index is in memory: one made anew would be empty.
        """
        if self.persist_directory is None:
            msg = (
                f"{', '.join(kwargs)} cannot be configured at run time: a KeywordRetriever made "
                "with other fields has a new index, and in memory that is empty; give k with "
                "each call, invoke(query, k=3), or give the index a persist_directory"
            )
            raise ConfigurationError(msg)
        return super().configurable_fields(**kwargs)

    # Making one -----------------------------------------------------------------------------------

    @classmethod
    def from_documents(cls, documents: Iterable[Document], **settings: Any) -> KeywordRetriever:
        """Make a retriever and add documents, in one commit.

        Args:
            documents: Read once.
            **settings: As for the constructor.

        Returns:
            The retriever.

        Example:
            >>> KeywordRetriever.from_documents([Document(page_content="Bees")]).count()
            1
        """
        retriever = cls(**settings)
        retriever.add_documents(documents)
        return retriever

    @classmethod
    def from_texts(
        cls,
        texts: Iterable[str],
        metadatas: Iterable[dict[str, Any]] | None = None,
        ids: Iterable[str | None] | None = None,
        **settings: Any,
    ) -> KeywordRetriever:
        """Make a retriever and add texts, in one commit.

        Args:
            texts: Read once.
            metadatas: One for each text; None for empty ones.
            ids: One for each text; None for ids made of the contents.
            **settings: As for the constructor.

        Returns:
            The retriever.

        Raises:
            ConfigurationError: There are not as many of one as of the other; nothing is written.

        Example:
            >>> KeywordRetriever.from_texts(["Bees"], [{"page": 1}], ["1"]).get(["1"])
            [Document(id='1', metadata={'page': 1}, page_content='Bees')]
        """
        texts = list(texts)
        documents = [
            Document(page_content=text, metadata=metadata or {}, id=id)
            for text, metadata, id in zip(  # noqa: A001 - LangChain's name
                texts,
                _as_many(texts, "metadatas", metadatas),
                _as_many(texts, "ids", ids),
                strict=True,
            )
        ]
        return cls.from_documents(documents, **settings)

    # Documents ------------------------------------------------------------------------------------

    def add_documents(
        self, documents: Iterable[Document], *, ids: Iterable[str | None] | None = None
    ) -> list[str]:
        """Add documents, each in the place of the one that has its id, in one commit.

        Args:
            documents: Read once. One without an id gets one made of its text and metadata.
            ids: Ids to use in place of the documents' own, one for each.

        Returns:
            The ids, in order.

        Raises:
            ConfigurationError: There are not as many ids as documents; nothing is written.
            MetadataError: Metadata that cannot come back as it is; nothing is written.
            IndexLockedError: Another process is writing.

        Example:
            >>> KeywordRetriever().add_documents([Document(page_content="Bees", id="1")])
            ['1']
        """
        with self.adding(documents, ids=ids) as added:
            return added

    @contextmanager
    def adding(
        self, documents: Iterable[Document], *, ids: Iterable[str | None] | None = None
    ) -> Iterator[list[str]]:
        """Add documents as `add_documents` does, but commit when the block ends.

        So that another store can be written in between: if the block raises, nothing is added.

        Args:
            documents: Read once, before the block.
            ids: Ids to use in place of the documents' own, one for each.

        Yields:
            The ids, in order.

        Example:
            >>> retriever = KeywordRetriever()
            >>> with retriever.adding([Document(page_content="Bees", id="1")]) as ids:
            ...     print(ids, retriever.count())
            ['1'] 0
            >>> retriever.count()
            1
        """
        if ids is not None:
            documents = list(documents)
            given = _as_many(documents, "ids", ids)
            documents = [
                document.model_copy(update={"id": id})
                for document, id in zip(documents, given, strict=True)  # noqa: A001 - LangChain's name
            ]
        self._writes += 1
        with self._index.upserting(documents) as added:
            yield added

    async def aadd_documents(
        self, documents: Iterable[Document], *, ids: Iterable[str | None] | None = None
    ) -> list[str]:
        """Add documents, without blocking the loop; see `add_documents`.

        Args:
            documents: Read once.
            ids: Ids to use in place of the documents' own.

        Returns:
            The ids, in order.
        """
        return await run_in_executor(None, self.add_documents, documents, ids=ids)

    def upsert(self, items: Sequence[Document], /, **kwargs: Any) -> UpsertResponse:  # noqa: ARG002 - core's signature
        """Add documents, each in the place of the one that has its id, in one commit.

        Args:
            items: The documents.
            **kwargs: Not used.

        Returns:
            The ids, in order; none fails, for all are written or the call raises.
        """
        return UpsertResponse(succeeded=self.add_documents(items), failed=[])

    def delete(self, ids: Iterable[str] | None = None, **kwargs: Any) -> DeleteResponse:  # noqa: ARG002 - core's signature
        """Delete documents, in one commit.

        Args:
            ids: Their ids; unknown ones are passed over.
            **kwargs: Not used.

        Returns:
            The ids of those that were there, and how many they are.

        Raises:
            ConfigurationError: No ids are given.
            IndexLockedError: Another process is writing.

        Example:
            >>> KeywordRetriever.from_texts(["Bees"], ids=["1"]).delete(["1", "2"])["succeeded"]
            ['1']
        """
        if ids is None or isinstance(ids, str):
            msg = f'delete was given ids={ids!r}; expected a list of ids, such as ["1", "2"]'
            raise ConfigurationError(msg)
        self._writes += 1
        gone = self._index.delete(ids)
        return DeleteResponse(succeeded=gone, num_deleted=len(gone), failed=[], num_failed=0)

    def get(self, ids: Sequence[str], /, **kwargs: Any) -> list[Document]:  # noqa: ARG002 - core's signature
        """Return the documents that have these ids, in their order, unknown ones passed over.

        Args:
            ids: The ids.
            **kwargs: Not used.

        Returns:
            The documents.
        """
        return self._index.get(ids)

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Return the documents that have these ids, as a vector store does; see `get`.

        Args:
            ids: The ids.

        Returns:
            The documents.
        """
        return self._index.get(ids)

    def documents(self) -> Iterable[Document]:
        """Return every document, in the order in which they were added, read as they are needed.

        Returns:
            An iterator over what is there now; it does not see later commits.
        """
        return iter(self._index)

    def count(self) -> int:
        """Return how many documents there are.

        Returns:
            The number.
        """
        return len(self._index)

    # Retrieving -----------------------------------------------------------------------------------

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002 - core's signature
        k: int | None = None,
        filter: object = None,  # noqa: A002 - LangChain's name
        only_ids: bool = False,
    ) -> list[Document]:
        k = self.k if k is None else k
        if not isinstance(k, int) or isinstance(k, bool) or k < 1:
            msg = f"k is {k!r}; expected a whole number of at least 1"
            raise ConfigurationError(msg)
        hits = self._index.search(query, k, filter, only_ids=only_ids)
        if self.score_key is not None:
            for document, score in hits:
                document.metadata[self.score_key] = score
        documents = [document for document, _ in hits]
        if only_ids and filter:
            documents = without_content(documents)
        return RankedList(documents, query=query, scores=[score for _, score in hits])

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,
        k: int | None = None,
        filter: object = None,  # noqa: A002 - LangChain's name
        only_ids: bool = False,
    ) -> list[Document]:
        return await run_in_executor(
            None,
            self._get_relevant_documents,
            query,
            run_manager=run_manager.get_sync(),
            k=k,
            filter=filter,
            only_ids=only_ids,
        )


def _as_many(documents: Sequence[Any], name: str, values: Iterable[Any] | None) -> list[Any]:
    """Return as many values as documents, or refuse."""
    found = [None] * len(documents) if values is None else list(values)
    if len(found) != len(documents):
        msg = (
            f"{name} has {len(found)} entries for {len(documents)} documents; "
            "expected one for each, or None"
        )
        raise ConfigurationError(msg)
    return found
