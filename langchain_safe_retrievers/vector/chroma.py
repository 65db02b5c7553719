"""Chroma, embedded or a server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from langchain_core.documents import Document

from langchain_safe_retrievers.vector.adapter import PAGE, Adapter, Matches
from langchain_safe_retrievers.vector.where import to_where


class Chroma(Adapter):
    """LangChain's `Chroma`: flat metadata, its own `where`, distances."""

    flat: ClassVar[bool] = True
    deepest: ClassVar[int | None] = 30_000  # SQLite takes 32,766 variables in a statement

    def batch_size(self) -> int:
        """Return how many documents the client sends at a time.

        Returns:
            At least 1, at most `PAGE`.
        """
        most = getattr(getattr(self.store, "_client", None), "get_max_batch_size", None)
        return PAGE if most is None else max(1, min(PAGE, most()))

    def by_ids(self, ids: Sequence[str]) -> list[Document]:
        """Return the documents that have these ids as the store holds them.

        Args:
            ids: At most `PAGE`.

        Returns:
            Those that are there.
        """
        return _documents(self.store.get(ids=list(ids))) if ids else []  # [] would be all of them

    def documents(self) -> Iterator[Document]:
        """Yield every document as the store holds it, page by page.

        Yields:
            The documents.
        """
        offset = 0
        while (page := self.store.get(limit=PAGE, offset=offset))["ids"]:
            yield from _documents(page)
            offset += len(page["ids"])

    def filter(self, wanted: object, matches: Matches, *, flat: bool) -> object:  # noqa: ARG002 - documents of others are read too
        """Return the filter as `where`.

        Args:
            wanted: The filter.
            matches: The filter as a predicate.
            flat: Not used.

        Returns:
            A `where`, or None.
        """
        if matches is None:
            return wanted
        return to_where(wanted).test if isinstance(wanted, Mapping) else None

    def similarities(self, scores: Sequence[float]) -> list[float]:
        """Return 1 - d of distances, and 1 - d / 2 of squared Euclidean ones.

        That is the cosine, or the inner product; of squared Euclidean distances it is the cosine
        if vectors are of unit length.

        Args:
            scores: Distances.

        Returns:
            Similarities.
        """
        scale = 0.5 if self._space() == "l2" else 1.0
        return [1.0 - scale * distance for distance in scores]

    def _space(self) -> str:
        """Return the collection's distance: "l2", "cosine" or "ip"."""
        settings = self.store._collection.configuration_json  # noqa: SLF001 - as langchain-chroma reads it
        for index in ("hnsw", "spann"):
            if space := (settings.get(index) or {}).get("space"):
                return str(space)
        return "l2"


def _documents(page: Mapping[str, Any]) -> list[Document]:
    """Return what Chroma's `get` found; its own wrapper trips over missing metadata."""
    columns = zip(page["ids"], page["documents"], page["metadatas"], strict=True)
    return [
        Document(page_content=text, metadata=metadata or {}, id=id)
        for id, text, metadata in columns  # noqa: A001 - LangChain's name
        if text is not None
    ]
