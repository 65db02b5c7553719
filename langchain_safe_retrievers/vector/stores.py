"""What is known of particular vector stores; of any other only what LangChain promises."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore

from langchain_safe_retrievers.errors import ConfigurationError
from langchain_safe_retrievers.extras import load

PAGE = 5_000  # documents read or written at a time; SQLite takes 32,766 variables in a statement

Scored = list[tuple[Document, float]]


def is_chroma(store: VectorStore) -> bool:
    """Tell whether a store is LangChain's Chroma, of whichever package.

    Args:
        store: The store.

    Returns:
        Whether it, or a class it inherits from, is called Chroma.
    """
    return any(base.__name__ == "Chroma" for base in type(store).__mro__)


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
    store: VectorStore = chroma(
        name,
        embedding,
        persist_directory=None if directory is None else str(directory),
        collection_configuration={"hnsw": {"space": "cosine"}},
    )
    return store


def count(store: Any) -> int:
    """Return how many documents a Chroma holds.

    Args:
        store: The store.

    Returns:
        The number.
    """
    return int(store._collection.count())  # noqa: SLF001 - langchain-chroma does not tell


def batch_size(store: VectorStore) -> int:
    """Return how many documents the store is given at a time.

    Args:
        store: The store.

    Returns:
        At least 1, at most `PAGE`.
    """
    most = getattr(getattr(store, "_client", None), "get_max_batch_size", None)
    return max(1, min(PAGE, most())) if is_chroma(store) and most is not None else PAGE


def similarities(store: VectorStore, scores: Sequence[float]) -> list[float]:
    """Return scores of which higher is better, from what the store calls its scores.

    Chroma's distances become cosines (or inner products): 1 - d, and 1 - d / 2 of a squared
    Euclidean one, which is the cosine if vectors are of unit length. Of any other store the order
    tells, for a store returns its best first: scores that rise are distances, and negated.

    Args:
        store: The store.
        scores: As the store returned them, best first.

    Returns:
        As many, falling.
    """
    if is_chroma(store):
        scale = 0.5 if _space(store) == "l2" else 1.0
        return [1.0 - scale * distance for distance in scores]
    rising = bool(scores) and scores[0] < scores[-1]
    return [-float(score) if rising else float(score) for score in scores]


def _space(store: Any) -> str:
    """Return a Chroma collection's distance: "l2", "cosine" or "ip"."""
    settings = store._collection.configuration_json  # noqa: SLF001 - as langchain-chroma reads it
    for index in ("hnsw", "spann"):
        if space := (settings.get(index) or {}).get("space"):
            return str(space)
    return "l2"


def documents_by_id(store: Any, ids: Sequence[str]) -> list[Document]:
    """Return the documents that have these ids as the store holds them.

    Args:
        store: The store.
        ids: At most `PAGE`.

    Returns:
        Those that are there, in any order.
    """
    ids = list(ids)
    if not is_chroma(store):
        found: list[Document] = store.get_by_ids(ids)
        return found
    return _documents(store.get(ids=ids)) if ids else []  # [] would be all of them


def stored_documents(store: Any) -> Iterator[Document]:
    """Yield every document of a store as it is held, page by page.

    Args:
        store: A Chroma or an in-memory store.

    Yields:
        The documents, with their ids.

    Raises:
        ConfigurationError: The store cannot be read from end to end.
    """
    if _is_in_memory(store):
        yield from store.get_by_ids(list(store.store))
        return
    if not is_chroma(store):
        msg = (
            f"{type(store).__name__} cannot be read from end to end; expected a Chroma or an "
            "InMemoryVectorStore: add its documents to a KeywordRetriever, and give that"
        )
        raise ConfigurationError(msg)
    offset = 0
    while (page := store.get(limit=PAGE, offset=offset))["ids"]:
        yield from _documents(page)
        offset += len(page["ids"])


def _documents(page: Mapping[str, Any]) -> list[Document]:
    """Return what Chroma's `get` found; its own wrapper trips over missing metadata."""
    columns = zip(page["ids"], page["documents"], page["metadatas"], strict=True)
    return [
        Document(page_content=text, metadata=metadata or {}, id=id)
        for id, text, metadata in columns  # noqa: A001 - LangChain's name
        if text is not None
    ]


def own_filter(
    store: VectorStore,
    wanted: object,
    matches: Callable[[Document], bool] | None,
) -> object:
    """Return a filter as a store of nested metadata takes it.

    Args:
        store: The store.
        wanted: The filter.
        matches: The portable filter as a predicate, None if there is none.

    Returns:
        A predicate for the in-memory store; for others the filter, as it is.
    """
    return matches if _is_in_memory(store) and matches is not None else wanted


def without_nothing(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that are not None; a store need not know of the others.

    Args:
        arguments: Named arguments.

    Returns:
        Some of them.
    """
    return {name: value for name, value in arguments.items() if value is not None}


def _is_in_memory(store: VectorStore) -> bool:
    """Tell it by name: importing the class would import numpy."""
    return any(base.__name__ == "InMemoryVectorStore" for base in type(store).__mro__)
