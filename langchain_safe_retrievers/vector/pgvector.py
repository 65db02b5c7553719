"""PostgreSQL with pgvector, through langchain-postgres.

Metadata is written to the store's JSON column as the codec writes it: what JSON knows as it is,
so that SQL and a `SQLRetriever` over the same table read it too, the rest marked. Keys that have
a column of their own are left to it.

The store's filter casts what is in the column to the operand's type and fails where one document
has another type there, reads a dotted key as a path alone, and cannot tell None from nothing. So
only what strings equal or fit is asked of it, under plain top-level keys; the rest is held by
asking for more.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from langchain_core.documents import Document

from langchain_safe_retrievers.codec import decode, encode
from langchain_safe_retrievers.errors import MetadataError
from langchain_safe_retrievers.vector.adapter import PAGE, Adapter, Matches, owner, with_metadata
from langchain_safe_retrievers.vector.flat import from_flat, to_flat
from langchain_safe_retrievers.vector.where import MOST, UNKNOWN, Where, plain_by_type, to_where


class PGVector(Adapter):
    """langchain-postgres's `PGVectorStore`."""

    def documents(self) -> Iterator[Document]:
        """Yield every document as the store holds it, page by page, in the order of a first look.

        Yields:
            The documents.
        """
        ids = iter(self.store.get(include=[])["ids"])
        while page := list(islice(ids, PAGE)):
            yield from self.by_ids(page)

    def written(
        self,
        metadata: Mapping[str, Any],
        id: str,  # noqa: A002 - LangChain's name
        *,
        flat: bool,
    ) -> Mapping[str, Any]:
        """Return metadata in terms of JSON.

        Args:
            metadata: The metadata.
            id: The document's id.
            flat: Whether it is to be flat.

        Returns:
            What `read` makes the metadata of again.

        Raises:
            MetadataError: A value cannot be represented, or a string has a NUL in it.
        """
        columns = self._columns()
        own = {key: value for key, value in metadata.items() if key in columns}
        rest = {key: value for key, value in metadata.items() if key not in columns}
        text = encode(rest, owner=owner(id))
        self._refuse(text, owner(id))
        return {**(to_flat(rest, owner=owner(id)) if flat else json.loads(text)), **own}

    def read(self, document: Document, *, flat: bool) -> Document:
        """Return a document as it was added; one that was not written here as it is.

        Args:
            document: As the store returned it.
            flat: Whether its metadata was written flat.

        Returns:
            The document.
        """
        columns = self._columns()
        own = {key: value for key, value in document.metadata.items() if key in columns}
        rest = {key: value for key, value in document.metadata.items() if key not in columns}
        return with_metadata(document, {**(from_flat(rest) if flat else _decoded(rest)), **own})

    def filter(self, wanted: object, matches: Matches, *, flat: bool) -> object:  # noqa: ARG002 - top-level strings are where they were
        """Return of a portable filter what the store reads as we do.

        Args:
            wanted: The filter.
            matches: The filter as a predicate.
            flat: Not used.

        Returns:
            The store's filter, or None.
        """
        if matches is None:
            return wanted
        return to_where(wanted, self._leaf).test if isinstance(wanted, Mapping) else None

    def similarities(self, scores: Sequence[float]) -> list[float]:
        """Return cosines or inner products; of Euclidean distances 1 - d² / 2.

        That is the cosine if vectors are of unit length.

        Args:
            scores: Distances, or inner products.

        Returns:
            Similarities.
        """
        strategy = getattr(self._inner("distance_strategy"), "name", "")
        if strategy == "COSINE_DISTANCE":
            return [1.0 - distance for distance in scores]
        if strategy == "EUCLIDEAN":
            return [1.0 - distance * distance / 2 for distance in scores]
        return super().similarities(scores)

    def _refuse(self, text: str, name: str) -> None:
        """Refuse what the store would lose or not take."""
        if _NUL.search(text):
            msg = f"{name}: got a NUL character, expected none: PostgreSQL takes none"
            raise MetadataError(msg)
        if text != "{}" and not self._inner("metadata_json_column"):
            msg = (
                f"{name}: got {text[:80]} beside the keys {self._columns()!r} that have a column; "
                "expected no more, for the store has no metadata_json_column: make one"
            )
            raise MetadataError(msg)

    def _leaf(self, path: str, name: str, operand: Any, negated: bool) -> Where:  # noqa: FBT001 - a `Leaf`
        """Say one condition, if it is one of text."""
        if negated or not _PLAIN.fullmatch(path) or not self._is_in_json(path):
            return UNKNOWN
        if name == "$like" and "\0" not in operand:
            return Where({path: {name: operand}}, exact=False)
        texts = (plain_by_type(operand) or {}) if name == "$in" else {}
        if list(texts) != [str] or len(texts[str]) > MOST:
            return UNKNOWN
        return Where({path: {"$in": texts[str]}}, exact=False, size=len(texts[str]))

    def _is_in_json(self, key: str) -> bool:
        """Tell whether the store's filter looks for a key in the JSON column."""
        names = ("id_column", "content_column", "embedding_column")
        taken = {*self._columns(), *map(self._inner, names)}
        return bool(self._inner("metadata_json_column")) and key not in taken

    def _columns(self) -> list[str]:
        return self._inner("metadata_columns") or []

    def _inner(self, name: str) -> Any:
        """Return what only the asynchronous store inside tells."""
        return getattr(self.store._PGVectorStore__vs, name, None)  # noqa: SLF001 - it tells nowhere else


_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
_PLAIN = re.compile("[A-Za-z_][A-Za-z0-9_]*")


def _decoded(metadata: Mapping[str, Any]) -> dict[str, Any]:
    try:
        found = decode(json.dumps(metadata, separators=(",", ":"), ensure_ascii=False))
    except (TypeError, ValueError):  # not of our writing
        return dict(metadata)
    return found if isinstance(found, dict) else dict(metadata)
