"""Qdrant, a cluster or the client's local mode, through langchain-qdrant.

Metadata is written flat, as for Chroma. A condition asks the copy, whose key has its dots in it,
and the path of the same name, where documents that were not written here have it. Qdrant compares
each element of a list, so what must not be equal is not asked of it.

Points are numbered or have UUIDs, so any other id becomes a UUID made of it, and is kept in the
metadata.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar
from uuid import UUID, uuid5

from langchain_core.documents import Document

from langchain_safe_retrievers.extras import load
from langchain_safe_retrievers.vector.adapter import PAGE, Adapter, Matches, with_metadata
from langchain_safe_retrievers.vector.flat import METADATA, day_key, is_filterable
from langchain_safe_retrievers.vector.where import (
    MOST,
    UNKNOWN,
    Where,
    day_bound,
    plain_by_type,
    plain_operand,
    to_where,
)

ID = f"{METADATA}:id"
NEVER = Where({"must": [{"has_id": []}]}, exact=True)
_NAMESPACE = UUID("a2f1f3f5-7f0c-5d0b-9d57-6c2b8f6f1f11")
_ADDED = ("_id", "_collection_name", ID)  # to the metadata, by langchain-qdrant or here


class Qdrant(Adapter):
    """langchain-qdrant's `QdrantVectorStore`."""

    flat: ClassVar[bool] = True

    def add(self, documents: Sequence[Document]) -> None:
        """Write documents, each in the place of the one that has its id.

        Args:
            documents: As `written` made them, with ids.
        """
        self.store.add_documents(list(documents), ids=[point_id(own.id or "") for own in documents])

    def delete(self, ids: Sequence[str]) -> None:
        """Delete documents.

        Args:
            ids: Their ids.
        """
        if ids:
            self.store.delete(_points(ids))

    def by_ids(self, ids: Sequence[str]) -> list[Document]:
        """Return the documents that have these ids as the store holds them.

        Args:
            ids: At most `PAGE`.

        Returns:
            Those that are there.
        """
        return list(self.store.get_by_ids(_points(ids))) if ids else []

    def documents(self) -> Iterator[Document]:
        """Yield every document as the store holds it, page by page.

        Yields:
            The documents.
        """
        own, offset = self.store, None
        names = (own.collection_name, own.content_payload_key, own.metadata_payload_key)
        while True:
            points, offset = own.client.scroll(own.collection_name, limit=PAGE, offset=offset)
            for point in points:
                yield own._document_from_point(point, *names)  # noqa: SLF001 - as it reads itself
            if offset is None:
                return

    def written(
        self,
        metadata: Mapping[str, Any],
        id: str,  # noqa: A002 - LangChain's name
        *,
        flat: bool,
    ) -> Mapping[str, Any]:
        """Return metadata as the store takes it, with the id if the point has another.

        Args:
            metadata: The metadata.
            id: The document's id.
            flat: Whether it is to be flat.

        Returns:
            What `read` makes the metadata of again.

        Raises:
            MetadataError: A value cannot be represented.
        """
        own = super().written(metadata, id, flat=flat)
        return own if point_id(id) == id else {**own, ID: id}

    def read(self, document: Document, *, flat: bool) -> Document:
        """Return a document as it was added.

        Args:
            document: As the store returned it.
            flat: Whether its metadata was written flat.

        Returns:
            The document, with its id.
        """
        held = document.metadata
        own = held.get(ID, document.id or held.get("_id"))
        plain = {key: value for key, value in held.items() if key not in _ADDED}
        return super().read(
            with_metadata(document, plain, None if own is None else str(own)), flat=flat
        )

    def filter(self, wanted: object, matches: Matches, *, flat: bool) -> object:  # noqa: ARG002 - both ways are asked for
        """Return a portable filter as Qdrant's.

        Args:
            wanted: The filter.
            matches: The filter as a predicate.
            flat: Not used.

        Returns:
            A `Filter` of the client's, or None.
        """
        if matches is None:
            return wanted
        models = load("qdrant_client.models", "qdrant")
        test = to_where(wanted, self._leaf).test if isinstance(wanted, Mapping) else None
        return None if test is None else models.Filter.model_validate(_filter(test))

    def similarities(self, scores: Sequence[float]) -> list[float]:
        """Return cosines or inner products as they are; of Euclidean distances 1 - d² / 2.

        That is the cosine if vectors are of unit length. Manhattan distances are negated.

        Args:
            scores: As the store returned them.

        Returns:
            Similarities.
        """
        if str(getattr(self.store.distance, "value", "")) == "Euclid":
            return [1.0 - distance * distance / 2 for distance in scores]
        return super().similarities(scores)

    def _leaf(self, path: str, name: str, operand: Any, negated: bool) -> Where:  # noqa: FBT001 - a `Leaf`
        """Say one condition under each key that the path may have in the payload."""
        steps = path.split(".")
        if not is_filterable(path) or '"' in path or "" in steps:
            return UNKNOWN
        keys = dict.fromkeys((self._key(path), self._key(*steps)))
        if name == "$exists" and negated:
            return Where({"must": [{"is_empty": {"key": key}} for key in keys]}, exact=False)
        if negated:
            return UNKNOWN
        if name == "$in" and not operand:
            return NEVER
        found = self._days(path, name, operand)
        found = found or [{"key": key, **test} for key in keys for test in _tests(name, operand)]
        return Where({"should": found}, exact=False, size=len(found)) if found else UNKNOWN

    def _days(self, path: str, name: str, bound: Any) -> list[dict[str, Any]]:
        """Ask for the days on one side of a date; what has no copy of a day passes."""
        day = day_bound(name, bound) if name in _RANGES else None
        if day is None:
            return []
        key = self._key(day_key(path))
        return [{"key": key, "range": {_RANGES[name][1]: day}}, {"is_empty": {"key": key}}]

    def _key(self, *steps: str) -> str:
        """Return the name of a payload's value: steps in quotes are taken as they are."""
        return ".".join([self.store.metadata_payload_key, *[f'"{step}"' for step in steps]])


def point_id(id: str) -> str:  # noqa: A002 - LangChain's name
    """Return the id of a document's point.

    Args:
        id: The document's id.

    Returns:
        It, if it is a UUID as Qdrant writes it, else a UUID made of it.

    Example:
        >>> point_id("law-7")
        'd86b6487-1ea1-5125-a222-1df487bd4ea4'
    """
    try:
        if str(UUID(id)) == id:
            return id
    except ValueError:
        pass
    return str(uuid5(_NAMESPACE, id))


def _points(ids: Sequence[str]) -> list[str | int]:
    """Return the ids of points that may hold documents; those of others may be numbers."""
    numbers = [int(id) for id in ids if id.isdecimal() and id.isascii() and len(id) < 20]  # noqa: A001, PLR2004 - below 2⁶⁴
    return [*map(point_id, ids), *[number for number in numbers if number < 2**64]]


def _filter(test: Mapping[str, Any]) -> dict[str, Any]:
    """Return conditions joined as Qdrant joins them."""
    for name, own in (("$and", "must"), ("$or", "should")):
        if name in test:
            return {own: [_filter(part) for part in test[name]]}
    return dict(test)


def _tests(name: str, operand: Any) -> Iterator[dict[str, Any]]:
    """Yield tests of one value, of which one at least is passed by what matches."""
    if name == "$contains":
        name, operand = "$in", [operand] if isinstance(operand, str) else []  # strings are copied
    if name in _RANGES:
        yield from _range(name, operand)
    elif name == "$in" and len(operand) <= MOST:
        for kind, values in (plain_by_type(operand) or {}).items():
            if kind is str:
                yield {"match": {"any": values}}
            elif kind is bool:
                yield from ({"match": {"value": value}} for value in values)
            else:
                yield from ({"range": {"gte": value, "lte": value}} for value in values)


def _range(name: str, bound: Any) -> Iterator[dict[str, Any]]:
    plain = plain_operand(bound)
    if isinstance(plain, int | float) and not isinstance(plain, bool):
        yield {"range": {_RANGES[name][0]: plain}}


_RANGES = {
    "$gt": ("gt", "gte"),
    "$gte": ("gte", "gte"),
    "$lt": ("lt", "lte"),
    "$lte": ("lte", "lte"),
}
