"""Which adapter a vector store has, and the store that is made where none is given."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, TypeAlias
from uuid import uuid4

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore

from langchain_safe_retrievers.extras import load
from langchain_safe_retrievers.vector.adapter import PAGE, Adapter, InMemory
from langchain_safe_retrievers.vector.chroma import Chroma
from langchain_safe_retrievers.vector.pgvector import PGVector
from langchain_safe_retrievers.vector.qdrant import Qdrant

Scored: TypeAlias = list[tuple[Document, float]]

_ADAPTERS: dict[str, type[Adapter]] = {
    "Chroma": Chroma,
    "InMemoryVectorStore": InMemory,
    "PGVectorStore": PGVector,
    "QdrantVectorStore": Qdrant,
}


def adapter_of(store: VectorStore) -> Adapter:
    """Return what is known of a store.

    Args:
        store: The store; told by its class's name or that of one it inherits from, so that no
            package is imported.

    Returns:
        Its adapter; one that knows only what LangChain promises, for a store not known here.

    Example:
        >>> from langchain_core.embeddings import DeterministicFakeEmbedding
        >>> from langchain_core.vectorstores import InMemoryVectorStore
        >>> type(adapter_of(InMemoryVectorStore(DeterministicFakeEmbedding(size=8)))).__name__
        'InMemory'
    """
    names = (base.__name__ for base in type(store).__mro__)
    known = (_ADAPTERS[name] for name in names if name in _ADAPTERS)
    return next(known, Adapter)(store)


def open_chroma(embedding: Embeddings, directory: Path | None) -> VectorStore:
    """Open a Chroma collection that measures by cosine, or make an empty one.

    Args:
        embedding: Makes the vectors.
        directory: Where it is or is to be, or None for memory.

    Returns:
        LangChain's Chroma.

    Raises:
        MissingExtraError: langchain-chroma is not installed.
    """
    chroma = load("langchain_chroma", "chroma").Chroma
    name = "documents" if directory is not None else f"documents-{uuid4()}"  # memory is shared
    make = partial(chroma, name, embedding, collection_configuration={"hnsw": {"space": "cosine"}})
    if directory is not None:
        return make(persist_directory=str(directory))  # type: ignore[no-any-return]
    try:
        return make()  # type: ignore[no-any-return]
    except (
        ValueError
    ):  # a process has one Chroma in memory, and this one was made with other settings
        return make(client=_client_of_memory())  # type: ignore[no-any-return]


def _client_of_memory() -> Any:
    """Return a client of the Chroma in memory that the process has, whatever its settings."""
    shared = load("chromadb.api.shared_system_client", "chroma").SharedSystemClient
    systems = shared._identifier_to_system  # noqa: SLF001 - Chroma gives no other way to it
    return load("chromadb", "chroma").Client(systems["ephemeral"].settings)


def count(store: VectorStore) -> int:
    """Return how many documents a Chroma holds.

    Args:
        store: The store.

    Returns:
        The number.
    """
    return int(store._collection.count())  # type: ignore[attr-defined]  # noqa: SLF001 - langchain-chroma does not tell


def batch_size(store: VectorStore) -> int:
    """Return how many documents a store is given at a time.

    Args:
        store: The store.

    Returns:
        At least 1, at most `PAGE`.
    """
    return min(PAGE, adapter_of(store).batch_size())
