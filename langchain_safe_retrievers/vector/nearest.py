"""What is nearest in a Chroma, by id: ranking is quick, reading documents is not."""

from __future__ import annotations

from typing import Any

from langchain_core.documents import Document

from langchain_safe_retrievers.documents import trusted_document


def ranks_ids(store: Any) -> bool:
    """Tell whether a store can be asked for ids alone.

    Args:
        store: A vector store.

    Returns:
        Whether it is a Chroma that embeds, not one that inherits from it and may search its way.
    """
    known = type(store).__name__ == "Chroma" and hasattr(store, "_collection")
    return known and store.embeddings is not None


def nearest_ids(store: Any, query: str, k: int) -> list[tuple[Document, float]]:
    """Return what `similarity_search_with_score` returns, without texts and metadata.

    Args:
        store: One that `ranks_ids`.
        query: The query.
        k: How many.

    Returns:
        Documents that have their id alone, and their distances.
    """
    vector = store.embeddings.embed_query(query)
    found = store._collection.query(  # noqa: SLF001 - langchain-chroma reads all of each document
        query_embeddings=[vector], n_results=k, include=["distances"]
    )
    pairs = zip(found["ids"][0], found["distances"][0], strict=True)
    return [(trusted_document("", {}, id), distance) for id, distance in pairs]  # noqa: A001 - LangChain's name
