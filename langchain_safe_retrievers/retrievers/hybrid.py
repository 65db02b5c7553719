"""HybridRetriever: vectors, keywords and SQL as equal legs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import RetrieverLike
from langchain_core.runnables import run_in_executor
from langchain_core.vectorstores import VectorStore
from pydantic import Field, PrivateAttr

from langchain_safe_retrievers.errors import ConfigurationError
from langchain_safe_retrievers.extras import load
from langchain_safe_retrievers.fusion.fuser import Fuser
from langchain_safe_retrievers.fusion.noisy_or import NoisyOr
from langchain_safe_retrievers.identity import Identity, by_content
from langchain_safe_retrievers.in_step import (
    Difference,
    WriteLock,
    are_apart,
    compare,
    delete_from_both,
    mend,
    pages,
    with_ids,
    write_changed,
)
from langchain_safe_retrievers.late_reading import (
    ONLY_IDS,
    InStep,
    by_id_or_content,
    looks_at_copies,
    read_late,
)
from langchain_safe_retrievers.legs.names import named_legs, weights_by_name
from langchain_safe_retrievers.retrieval import Retrieval
from langchain_safe_retrievers.retrievers.ensemble import SafeEnsembleRetriever
from langchain_safe_retrievers.retrievers.keyword import KeywordRetriever
from langchain_safe_retrievers.retrievers.vector import VectorRetriever, listed
from langchain_safe_retrievers.trace import traces_are_collected
from langchain_safe_retrievers.vector.stores import batch_size, open_chroma

_FETCH_AT_LEAST = 100  # scores tell more of a leg, the more of its list is seen


class HybridRetriever(SafeEnsembleRetriever):
    """Asks a vector, a keyword and a SQL leg side by side and fuses them by their scores.

    Each leg may be left out, and others may be added by name; the names stand in reports and
    provenance. It is a `SafeEnsembleRetriever` with other defaults, and takes its settings.

    Args:
        vector: The vector leg: any retriever, or a vector store (see `VectorRetriever`).
        keyword: The keyword leg, such as `KeywordRetriever`.
        sql: The SQL leg, such as `SQLRetriever`.
        legs: More legs, by name.
        weights: By leg name, one for every leg, each at least 0; a leg of weight 0 is not
            asked. None for equal weights.
        k: How many documents to return, at least 1; None for all.
        fetch_k: How many documents to ask of each leg that can be told; None for
            max(100, 2 · k).
        fuser: How the legs' scores become one; `ReciprocalRank()` looks at ranks alone.
        identity: Which documents are the same: those with one id, and of those without an id
            those with one text. `by_content` if the legs know a document by different ids.
        **settings: As for `SafeEnsembleRetriever`.

    Raises:
        ConfigurationError: No leg is given, or weights do not name the legs (settings out of
            range as a pydantic `ValidationError`).

    Example:
        >>> from langchain_core.documents import Document
        >>> from langchain_core.runnables import RunnableLambda
        >>> found = [Document(page_content="Bees make honey.", id="1")]
        >>> leg = RunnableLambda(lambda query: found)
        >>> retriever = HybridRetriever(keyword=leg, legs={"web": leg}, provenance_key="found")
        >>> [hit["leg"] for hit in retriever.invoke("honey")[0].metadata["found"]]
        ['keyword', 'web']
    """

    k: int | None = Field(default=5, ge=1, strict=True)
    fuser: Fuser | None = NoisyOr()
    identity: Identity = by_id_or_content

    _writing: WriteLock = PrivateAttr(default_factory=WriteLock)
    _in_step: InStep | None = PrivateAttr(default=None)

    def __init__(
        self,
        *,
        vector: RetrieverLike | VectorStore | None = None,
        keyword: RetrieverLike | None = None,
        sql: RetrieverLike | None = None,
        legs: Mapping[str, RetrieverLike] | None = None,
        weights: Mapping[str, float] | Sequence[float] | None = None,
        **settings: Any,
    ) -> None:
        """Take the legs by name."""
        if "retrievers" not in settings:  # as a copy of one is made
            if isinstance(vector, VectorStore):
                vector = VectorRetriever(vector)
            named = named_legs({"vector": vector, "keyword": keyword, "sql": sql}, legs or {})
            settings.update(retrievers=list(named.values()), leg_names=list(named))
            weights = weights_by_name(list(named), weights)
        if settings.get("id_key") is not None:
            settings.setdefault("identity", by_content)  # the parent's own
        super().__init__(weights=weights, **settings)

    @classmethod
    def from_documents(  # noqa: PLR0913 - all but two are named and may be left out
        cls,
        documents: Iterable[Document],
        embedding: Embeddings,
        *,
        persist_directory: str | Path | None = None,
        index_text: Callable[[Document], str] | None = None,
        language: str | None = "english",
        show_progress: bool = False,
        **settings: Any,
    ) -> HybridRetriever:
        """Make a Chroma and a keyword leg, or open them where they are, and add documents.

        What is there already, with the same text and metadata, is neither embedded nor written
        again; give no documents to open an index as it is.

        Args:
            documents: Read once.
            embedding: Makes the vectors; the same for the life of the index.
            persist_directory: Where the legs are or are to be; None for memory.
            index_text: Returns the text that the keyword leg finds a document by; None for its
                own. The document comes back as it was.
            language: As for `KeywordRetriever`.
            show_progress: Whether to show a progress bar.
            **settings: As for the constructor (`sql=`, `weights=`, `k=` …).

        Returns:
            The retriever.

        Raises:
            MissingExtraError: langchain-chroma or tantivy is not installed.
            MetadataError: Metadata that cannot come back as it is; nothing is written.

        Example:
            >>> from langchain_core.embeddings import DeterministicFakeEmbedding
            >>> documents = [Document(page_content="Bees make honey.", id="1")]
            >>> embedding = DeterministicFakeEmbedding(size=8)
            >>> retriever = HybridRetriever.from_documents(documents, embedding)
            >>> retriever.invoke("honey")
            [Document(id='1', metadata={}, page_content='Bees make honey.')]
        """
        directory = None if persist_directory is None else Path(persist_directory)
        vector = VectorRetriever(open_chroma(embedding, directory and directory / "vector"))
        keyword = _keyword_leg(directory, index_text, language)
        retriever = cls(vector=vector, keyword=keyword, **settings)
        if not are_apart(vector, keyword):
            retriever._in_step = InStep.now(vector, keyword)
        retriever.add_documents(documents, show_progress=show_progress)
        return retriever

    @classmethod
    def from_vectorstore(
        cls,
        store: VectorStore,
        *,
        persist_directory: str | Path | None = None,
        index_text: Callable[[Document], str] | None = None,
        language: str | None = "english",
        show_progress: bool = False,
        **settings: Any,
    ) -> HybridRetriever:
        """Take a vector store as it is, and make the keyword leg from what it holds.

        Args:
            store: A Chroma or an in-memory store; read page by page, ids and metadata kept.
            persist_directory: Where the keyword leg is or is to be; what is there already is
                brought in step.
            index_text: As for `from_documents`.
            language: As for `KeywordRetriever`.
            show_progress: Whether to show a progress bar.
            **settings: As for the constructor.

        Returns:
            The retriever.

        Raises:
            ConfigurationError: The store cannot be read from end to end.

        Example:
            >>> from langchain_core.embeddings import DeterministicFakeEmbedding
            >>> from langchain_core.vectorstores import InMemoryVectorStore
            >>> store = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
            >>> _ = store.add_texts(["Bees make honey."], ids=["1"])
            >>> HybridRetriever.from_vectorstore(store).leg("keyword").count()
            1
        """
        directory = None if persist_directory is None else Path(persist_directory)
        keyword = _keyword_leg(directory, index_text, language)
        retriever = cls(vector=store, keyword=keyword, **settings)
        retriever.repair(show_progress=show_progress)
        return retriever

    # Documents ------------------------------------------------------------------------------------

    def add_documents(
        self, documents: Iterable[Document], *, show_progress: bool = False
    ) -> list[str]:
        """Add documents to the vector and the keyword leg, each in the place of its id's last.

        Adding again what is there changes nothing and embeds nothing. If it is cut short, add
        again, or `repair()`.

        Args:
            documents: Read once. One without an id gets one made of its text and metadata. Of
                several with one id the last stays.
            show_progress: Whether to show a progress bar.

        Returns:
            The ids, in order.

        Raises:
            MetadataError: Metadata that cannot come back as it is; nothing is written.
            IndexLockedError: Another process is writing; the batch is not embedded.
            ConfigurationError: The retriever has not both a `VectorRetriever` and a
                `KeywordRetriever`.
        """
        vector, keyword = self._both()
        given = with_ids(documents)
        with self._written_in_step():
            for batch in _shown(list(pages(given, batch_size(vector.store))), show=show_progress):
                write_changed(vector, keyword, batch)
        return [document.id or "" for document in given]

    async def aadd_documents(
        self, documents: Iterable[Document], *, show_progress: bool = False
    ) -> list[str]:
        """Add documents, without blocking the loop; see `add_documents`.

        Args:
            documents: Read once.
            show_progress: Whether to show a progress bar.

        Returns:
            The ids, in order.
        """
        return await run_in_executor(
            None, self.add_documents, documents, show_progress=show_progress
        )

    def delete(self, ids: Iterable[str]) -> None:
        """Delete documents from the vector and the keyword leg.

        Args:
            ids: Their ids; unknown ones are passed over.

        Raises:
            IndexLockedError: Another process is writing; nothing is deleted.
            ConfigurationError: `ids` is a string, or the retriever has not both legs.
        """
        vector, keyword = self._both()
        ids = listed(ids)
        with self._written_in_step():
            delete_from_both(vector, keyword, ids)

    async def adelete(self, ids: Iterable[str]) -> None:
        """Delete documents, without blocking the loop; see `delete`.

        Args:
            ids: Their ids.
        """
        await run_in_executor(None, self.delete, ids)

    def check(self) -> Difference:
        """Return where the keyword leg differs from the vector leg; both are read once.

        Returns:
            The ids that are missing, extra or changed; false if there are none.

        Raises:
            ConfigurationError: The store cannot be read from end to end, or the retriever has
                not both legs.
        """
        return compare(*self._both())

    def repair(self, *, show_progress: bool = False) -> Difference:
        """Make the keyword leg hold what the vector leg holds; nothing is embedded.

        Args:
            show_progress: Whether to show a progress bar.

        Returns:
            What was mended.
        """
        vector, keyword = self._both()
        with self._writing:
            found = compare(vector, keyword)
            mend(vector, keyword, found, partial(_shown, show=show_progress))
            self._in_step = InStep.now(vector, keyword)
        return found

    @contextmanager
    def _written_in_step(self) -> Iterator[None]:
        """Write to both legs: if they were in step before, they are so again."""
        with self._writing:
            before = self._in_step if self._in_step and self._in_step.still() else None
            yield
            if before is not None:
                self._in_step = InStep.now(before.vector, before.keyword)

    def _both(self) -> tuple[VectorRetriever, KeywordRetriever]:
        vector, keyword = self.leg("vector"), self.leg("keyword")
        if isinstance(vector, VectorRetriever) and isinstance(keyword, KeywordRetriever):
            return vector, keyword
        msg = (
            f"the vector leg is {type(vector).__name__} and the keyword leg "
            f"{type(keyword).__name__}; expected a VectorRetriever and a KeywordRetriever: "
            "write to the legs themselves"
        )
        raise ConfigurationError(msg)

    # Retrieving -----------------------------------------------------------------------------------

    def leg(self, name: str) -> Any:
        """Return a leg.

        Args:
            name: Its name.

        Returns:
            The leg, or None if there is none of that name.

        Example:
            >>> from langchain_core.runnables import RunnableLambda
            >>> HybridRetriever(sql=RunnableLambda(lambda query: [])).leg("vector") is None
            True
        """
        return dict(zip(self._names(), self.retrievers, strict=False)).get(name)

    def _retrieve(
        self, query: str, run_manager: CallbackManagerForRetrieverRun, retrieval: Retrieval
    ) -> list[Document]:
        legs = self._legs_read_late(run_manager.handlers, retrieval)
        found = super()._retrieve(query, run_manager, retrieval)
        return found if legs is None else read_late(*legs, found)

    async def _aretrieve(
        self, query: str, run_manager: AsyncCallbackManagerForRetrieverRun, retrieval: Retrieval
    ) -> list[Document]:
        legs = self._legs_read_late(run_manager.handlers, retrieval)
        found = await super()._aretrieve(query, run_manager, retrieval)
        return found if legs is None else await run_in_executor(None, read_late, *legs, found)

    def _legs_read_late(
        self, handlers: Sequence[object], retrieval: Retrieval
    ) -> tuple[VectorRetriever, KeywordRetriever] | None:
        """Ask the legs for ids alone if they hold the same and nobody looks at what they return."""
        unusual = type(self) is not HybridRetriever or looks_at_copies(self)
        watched = handlers or traces_are_collected()
        in_step = self._in_step
        if unusual or watched or retrieval.arguments or in_step is None:
            return None
        if not all(self.weights) or not in_step.can_be_read_late(self.retrievers):
            return None
        retrieval.arguments = {ONLY_IDS: True}
        return in_step.vector, in_step.keyword

    def _begin(self, retrieval: Retrieval) -> None:
        super()._begin(retrieval)
        if retrieval.k is not None and retrieval.fetch_k is None:
            retrieval.fetch_k = max(_FETCH_AT_LEAST, 2 * retrieval.k)


def _keyword_leg(
    directory: Path | None,
    index_text: Callable[[Document], str] | None,
    language: str | None,
) -> KeywordRetriever:
    place = None if directory is None else directory / "keyword"
    return KeywordRetriever(persist_directory=place, index_text=index_text, language=language)


def _shown(steps: Iterable[Any], *, show: bool) -> Iterable[Any]:
    """Return the steps, behind a progress bar if it is wanted."""
    if not show:
        return steps
    bar: Iterable[Any] = load("tqdm", "chroma").tqdm(steps, unit="batch")
    return bar
