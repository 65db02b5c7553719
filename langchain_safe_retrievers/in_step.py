"""Two indexes of the same documents, written together and compared by id.

The vector leg's write counts first, and is what the keyword leg is mended from: its documents
cost an embedding each, the keyword leg's nothing. The keyword leg indexes meanwhile, and commits
when the vector leg has written. So a crash between the two leaves the keyword leg behind, never
ahead, and mending finishes what was begun.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from threading import Lock
from typing import Any

from langchain_core.documents import Document

from langchain_safe_retrievers.codec import encode
from langchain_safe_retrievers.content_id import content_id
from langchain_safe_retrievers.retrievers.keyword import KeywordRetriever
from langchain_safe_retrievers.retrievers.vector import VectorRetriever
from langchain_safe_retrievers.unfinished import noted, notes
from langchain_safe_retrievers.vector.stores import count

PAGE = 5_000  # documents compared at a time


@dataclass(frozen=True)
class Difference:
    """Where the keyword leg differs from the vector leg, by id.

    True when it does.

    Args:
        missing: Documents that the vector leg has alone.
        extra: Documents that the keyword leg has alone.
        changed: Documents whose text or metadata differ.

    Example:
        >>> bool(Difference()), bool(Difference(missing=("7",)))
        (False, True)
    """

    missing: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Tell whether the legs differ."""
        return bool(self.missing or self.extra or self.changed)


class WriteLock:
    """A lock that is free again in whatever is copied or pickled."""

    def __init__(self) -> None:
        """Make a free lock."""
        self._lock = Lock()

    def __reduce__(self) -> tuple[type[WriteLock], tuple[()]]:
        """Copy as a new one."""
        return WriteLock, ()

    def __enter__(self) -> None:
        """Wait for it."""
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        """Free it."""
        self._lock.release()


def with_ids(documents: Iterable[Document]) -> list[Document]:
    """Return documents that each have an id and metadata that can be kept.

    Args:
        documents: Documents; one without an id gets `content_id`.

    Returns:
        As many, in order.

    Raises:
        MetadataError: Metadata cannot be represented.

    Example:
        >>> with_ids([Document(page_content="Bees")])[0].id
        'cddf3370-8e71-85ef-9ce1-ad5550f9429e'
    """
    return [_with_id(document, position) for position, document in enumerate(documents)]


def _with_id(document: Document, position: int) -> Document:
    owner = f"document {document.id!r}" if document.id else f"document {position} (without an id)"
    encode(document.metadata, owner=f"metadata of {owner}")
    return document if document.id else document.model_copy(update={"id": content_id(document)})


def write_changed(
    vector: VectorRetriever, keyword: KeywordRetriever, documents: Iterable[Document]
) -> None:
    """Write the documents that the legs do not hold just so, to each what it lacks.

    Args:
        vector: The leg that is written first.
        keyword: The other one.
        documents: Documents with ids; of several with one id the last counts.

    Raises:
        IndexLockedError: Another process is writing to the keyword leg; nothing is written.
    """
    wanted = {document.id or "": document for document in documents}
    new = _unlike(vector, wanted)
    old = {id: own for id, own in wanted.items() if id not in new}  # noqa: A001 - LangChain's name
    lacking = {**new, **_unlike(keyword, old)}
    if lacking:
        with noted(keyword.persist_directory, wanted), keyword.adding(lacking.values()):
            if new:
                vector.add_documents(new.values())


def delete_from_both(vector: VectorRetriever, keyword: KeywordRetriever, ids: list[str]) -> None:
    """Delete documents from both legs.

    Args:
        vector: The leg that is written first.
        keyword: The other one.
        ids: Their ids; unknown ones are passed over.

    Raises:
        IndexLockedError: Another process is writing to the keyword leg; nothing is deleted.
    """
    keyword._writes += 1  # noqa: SLF001 - of this package
    with noted(keyword.persist_directory, ids), keyword._index.deleting(ids):  # noqa: SLF001
        vector.delete(ids)


def _unlike(
    leg: VectorRetriever | KeywordRetriever, wanted: dict[str, Document]
) -> dict[str, Document]:
    """Return the documents that a leg does not hold just so."""
    held = by_id(leg, list(wanted)) if wanted else {}
    return {id: own for id, own in wanted.items() if not is_same(held.get(id), own)}  # noqa: A001


def by_id(leg: VectorRetriever | KeywordRetriever, ids: Sequence[str]) -> dict[str, Document]:
    """Return the documents of a leg that have these ids.

    Args:
        leg: The leg.
        ids: The ids.

    Returns:
        Those that are there.
    """
    return {document.id or "": document for document in leg.get_by_ids(ids)}


def is_same(one: Document | None, other: Document) -> bool:
    """Tell whether two documents have the same text and, type for type, the same metadata.

    Args:
        one: A document, None for one that is not there.
        other: A document.

    Returns:
        Whether they are the same; the order of keys does not matter.
    """
    if one is None or one.page_content != other.page_content:
        return False
    return _ordered(one.metadata) == _ordered(other.metadata)


def _differs(held: Document | None, own: Document) -> bool:
    return held is not None and not is_same(held, own)


def _ordered(metadata: dict[str, Any]) -> str:
    return encode(metadata, sort_keys=True)


def are_apart(vector: VectorRetriever, keyword: KeywordRetriever) -> bool:
    """Tell, and warn, if an addition or deletion was cut short between the legs.

    Args:
        vector: A leg whose store is a Chroma.
        keyword: The other one.

    Returns:
        Whether they hold unequal numbers of documents, or differ in what was being written when
        a process ended.
    """
    vectors, keywords = count(vector.store), keyword.count()
    problem = ""
    if vectors != keywords:
        problem = f"the vector leg holds {vectors} documents and the keyword leg {keywords}"
    elif changed := _unfinished(vector, keyword):
        problem = f"the legs hold {changed} documents differently"
    if problem:
        msg = f"{problem}: an earlier addition or deletion was cut short; call repair()"
        warnings.warn(msg, stacklevel=3)
    return bool(problem)


def _unfinished(vector: VectorRetriever, keyword: KeywordRetriever) -> int:
    """Return in how many documents the legs differ, of those whose writing was not seen to end."""
    noted_ids = notes(keyword.persist_directory).values()
    ids = list(dict.fromkeys(chain.from_iterable(noted_ids)))
    if not ids:
        return 0
    ours, theirs = by_id(vector, ids), by_id(keyword, ids)
    lost = len(ours.keys() ^ theirs.keys())
    return lost + sum(_differs(theirs.get(own), ours[own]) for own in ours)


def compare(vector: VectorRetriever, keyword: KeywordRetriever) -> Difference:
    """Return where two legs differ, reading both once.

    Args:
        vector: The leg that says how it should be.
        keyword: The other one.

    Returns:
        The ids, in the order in which the legs hold them.

    Raises:
        ConfigurationError: The vector leg's store cannot be read from end to end.
    """
    missing: list[str] = []
    changed: list[str] = []
    seen: set[str] = set()
    for page in pages(vector.documents(), PAGE):
        held = by_id(keyword, [document.id or "" for document in page])
        missing += [own.id or "" for own in page if own.id not in held]
        changed += [own.id or "" for own in page if _differs(held.get(own.id or ""), own)]
        seen.update(held)
    extra: tuple[str, ...] = ()
    if keyword.count() != len(seen):
        ids = (document.id or "" for document in keyword.documents())
        extra = tuple(id for id in ids if id not in seen)  # noqa: A001 - LangChain's name
    return Difference(tuple(missing), extra, tuple(changed))


def mend(
    vector: VectorRetriever,
    keyword: KeywordRetriever,
    difference: Difference,
    progress: Callable[[Iterable[Any]], Iterable[Any]] = iter,
) -> None:
    """Make the keyword leg hold what the vector leg holds.

    Args:
        vector: The leg that says how it should be.
        keyword: The other one.
        difference: Where they differ.
        progress: Wraps what is gone through, to show how far it is.
    """
    before = notes(keyword.persist_directory)
    wanted = [*difference.missing, *difference.changed]
    for ids in progress(list(pages(wanted, PAGE))):
        keyword.add_documents(vector.get_by_ids(ids))
    if difference.extra:
        keyword.delete(difference.extra)
    for note in before:
        note.unlink(missing_ok=True)


def pages(items: Iterable[Any], size: int) -> Iterator[list[Any]]:
    """Yield items in lists of at most `size`.

    Args:
        items: Anything.
        size: At least 1.

    Yields:
        The next items, in order.

    Example:
        >>> list(pages("abc", 2))
        [['a', 'b'], ['c']]
    """
    rest = iter(items)
    while page := list(islice(rest, size)):
        yield page
