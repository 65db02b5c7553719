"""Remember what a leg answered, as JSON: in memory, or in any LangChain `ByteStore`."""

from __future__ import annotations

import logging
import threading
from hashlib import sha256
from operator import itemgetter
from time import time
from typing import Any

from langchain_core.documents import Document
from langchain_core.stores import BaseStore, ByteStore

from langchain_safe_retrievers.codec import decode, encode
from langchain_safe_retrievers.errors import ConfigurationError, MetadataError
from langchain_safe_retrievers.extras import load
from langchain_safe_retrievers.fusion.fuser import RankedList
from langchain_safe_retrievers.merging.copying import copy_containers, replaced
from langchain_safe_retrievers.merging.values import is_number
from langchain_safe_retrievers.resilience.breaker import CircuitBreaker
from langchain_safe_retrievers.resilience.flights import Flights

logger = logging.getLogger(__name__)

_PREFIX = "safe-retrievers-"


class DocumentCache:
    """Answers that are not older than so many seconds; each reader gets copies of its own.

    It may be used from any number of threads and tasks, and by several retrievers. Copies and
    pickles of one that is in memory start empty.

    Args:
        ttl: Seconds that an answer is kept, greater than 0.
        max_chars: How many characters of answers, as JSON, are kept in memory, at least 1; the
            least recently used go first. A store sees to its own size.
        store: Where to keep them, such as a Redis store; None for memory. Processes may share it.
        timeout: Seconds to wait for the store, greater than 0; then it is taken to be down.

    Raises:
        MissingExtraError: cachetools is not installed, and no store is given.

    Example:
        >>> cache = DocumentCache(ttl=60)
        >>> cache.put("key", RankedList([Document(page_content="a", metadata={"at": (1, 2)})]))
        >>> cache.get("key")
        [Document(metadata={'at': (1, 2)}, page_content='a')]
    """

    def __init__(
        self,
        ttl: float = 300.0,
        max_chars: int = 64 * 2**20,
        store: ByteStore | None = None,
        timeout: float = 0.25,
    ) -> None:
        """Start empty, or with what the store holds."""
        for name, value in (("ttl", ttl), ("max_chars", max_chars), ("timeout", timeout)):
            if isinstance(value, bool) or not value > 0:
                msg = f"{name} is {value!r}; expected a number greater than 0"
                raise ConfigurationError(msg)
        self.ttl = ttl
        self.max_chars = max_chars
        self.store = store
        self.timeout = timeout
        self.breaker = CircuitBreaker(failure_threshold=3, reset_after=10.0)
        self.flights = Flights()
        self._lock = threading.Lock()
        self._memory: Any = None
        if store is None:
            tools: Any = load("cachetools", "cache")
            self._memory = tools.TTLCache(max_chars, ttl, getsizeof=itemgetter(0))

    @property
    def is_sync_only(self) -> bool:
        """Whether the store's async methods would run its sync ones in the loop's executor."""
        return self.store is not None and type(self.store).amget is BaseStore.amget

    def get(self, key: str) -> RankedList | None:
        """Return what is remembered.

        Args:
            key: Under what it was put.

        Returns:
            New documents, or None.
        """
        if self.store is None:
            return self._from_memory(key)
        return _read(self.store.mget([_named(key)])[0])

    async def aget(self, key: str) -> RankedList | None:
        """Return what is remembered, without blocking the loop; see `get`."""
        if self.store is None:
            return self._from_memory(key)
        return _read((await self.store.amget([_named(key)]))[0])

    def put(self, key: str, found: RankedList) -> None:
        """Remember an answer.

        Args:
            key: What to find it by.
            found: The answer.

        Raises:
            MetadataError: It could not come back as it is.
        """
        if self.store is None:
            self._to_memory(key, found)
        else:
            self.store.mset([(_named(key), self._written(found))])

    async def aput(self, key: str, found: RankedList) -> None:
        """Remember an answer, without blocking the loop; see `put`."""
        if self.store is None:
            self._to_memory(key, found)
        else:
            await self.store.amset([(_named(key), self._written(found))])

    def clear(self) -> None:
        """Forget everything; of a store, what was put by this package."""
        if self.store is None:
            with self._lock:
                self._memory.clear()
            return
        ours = list(self.store.yield_keys(prefix=_PREFIX))
        if not ours:  # some stores, such as Redis', take a prefix for a whole name
            ours = [name for name in self.store.yield_keys() if name.startswith(_PREFIX)]
        if ours:
            self.store.mdelete(ours)

    def _from_memory(self, key: str) -> RankedList | None:
        with self._lock:
            kept = self._memory.get(_named(key))
        return None if kept is None else _fresh_hits(kept[1])

    def _to_memory(self, key: str, found: RankedList) -> None:
        text = _to_text(found)
        kept = (len(text), _from_text(text))  # nobody else has these documents
        with self._lock:
            if len(text) <= self.max_chars:
                self._memory[_named(key)] = kept

    def _written(self, found: RankedList) -> bytes:
        expires = f"{min(time() + self.ttl, _LATEST):0{_STAMP}.3f}"
        return (expires + _to_text(found)).encode()

    def __reduce__(self) -> tuple[type[DocumentCache], tuple[float, int, ByteStore | None, float]]:
        """Copy and pickle the settings only."""
        return (DocumentCache, (self.ttl, self.max_chars, self.store, self.timeout))


_LATEST = 10.0**11  # seconds since 1970 that a stamp has room for: the year 5138
_STAMP = 16  # characters before the answer: when it expires, in seconds since 1970


def _named(key: str) -> str:
    """Return a key that every store takes, short and safe in file names."""
    return _PREFIX + sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def _to_text(found: RankedList) -> str:
    for document in found:
        if type(document) is not Document:
            msg = f"a {type(document).__name__} cannot be cached; expected a Document"
            raise MetadataError(msg)
    scores = found.valid_scores
    rows = [[document.page_content, document.id, document.metadata] for document in found]
    return encode([found.leg, rows, None if scores is None else list(scores)], owner="an answer")


def _from_text(text: str) -> RankedList:
    leg, rows, scores = decode(text)
    documents = [Document(text, id=known, metadata=metadata) for text, known, metadata in rows]
    valid = scores is None or (len(scores) == len(documents) and all(map(_is_score, scores)))
    if not valid:
        msg = f"the scores are {scores!r:.60}; expected a number or None for each document"
        raise ValueError(msg)
    return RankedList(documents, leg=leg, scores=scores)


def _is_score(value: object) -> bool:
    return value is None or is_number(value)


def _read(value: bytes | None) -> RankedList | None:
    """Return what a store holds, unless it is too old, or was not written by us."""
    if value is None:
        return None
    try:
        return _from_text(value[_STAMP:].decode()) if float(value[:_STAMP]) >= time() else None
    except Exception as error:  # noqa: BLE001 - others may write there; it will be overwritten
        logger.warning("what the cache's store holds is no answer: %s", type(error).__name__)
        return None


def _fresh_hits(found: RankedList) -> RankedList:
    """Return copies of documents that were decoded from JSON: quickly, for they hold no cycle."""
    documents = [replaced(hit, _fresh(hit.metadata), hit.id) for hit in found]
    return RankedList(documents, leg=found.leg, scores=found.scores)


def _fresh(value: Any) -> Any:
    kind = type(value)
    if kind is dict:
        return {
            key: item if type(item) in _SCALARS else _fresh(item) for key, item in value.items()
        }
    if kind is list or kind is tuple:
        return kind(item if type(item) in _SCALARS else _fresh(item) for item in value)
    return value.copy() if kind is set else value


_SCALARS = frozenset({str, int, float, bool, type(None)})


def copied(found: RankedList) -> RankedList:
    """Return a list of copies that share no container with the documents of another.

    Args:
        found: A leg's list.

    Returns:
        A new list.

    Example:
        >>> found = RankedList([Document(page_content="a", metadata={"tags": ["x"]})])
        >>> copied(found)[0].metadata["tags"] is found[0].metadata["tags"]
        False
    """
    documents = [
        replaced(document, copy_containers(document.metadata), document.id) for document in found
    ]
    return RankedList(documents, leg=found.leg, query=found.query, scores=found.valid_scores)
