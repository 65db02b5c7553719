"""The cache of answers."""

from __future__ import annotations

import copy
import json
import pickle
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.stores import InMemoryByteStore

from langchain_safe_retrievers import ConfigurationError, MetadataError, RankedList
from langchain_safe_retrievers.resilience.cache import DocumentCache

_METADATA = {
    "law": {"chapter": "第二章", "pages": (1, 2)},
    "at": datetime(2026, 1, 2, tzinfo=UTC),
    "score": float("inf"),
    "none": None,
    "big": 2**70,
}


def _found(**metadata: Any) -> RankedList:
    documents = [Document(page_content="a", id="1", metadata=metadata), Document(page_content="b")]
    return RankedList(documents, leg="vector", scores=[0.9, None])


def _caches() -> list[DocumentCache]:
    return [DocumentCache(), DocumentCache(store=InMemoryByteStore())]


@pytest.mark.parametrize("cache", _caches(), ids=["memory", "store"])
@pytest.mark.parametrize("world", ["sync", "async"])
async def test_what_was_put_comes_back_equal_with_its_scores(cache: DocumentCache, world: str):
    found = _found(**_METADATA)
    if world == "sync":
        cache.put("key", found)
        again = cache.get("key")
    else:
        await cache.aput("key", found)
        again = await cache.aget("key")

    assert again == found
    assert repr(again[0].metadata) == repr(_METADATA)  # type for type
    assert (again.valid_scores, again.leg) == ([0.9, None], "vector")


@pytest.mark.parametrize("cache", _caches(), ids=["memory", "store"])
def test_what_nobody_put_is_none(cache: DocumentCache):
    assert cache.get("another key") is None


@pytest.mark.parametrize("cache", _caches(), ids=["memory", "store"])
def test_a_reader_may_change_its_documents_and_so_may_the_writer(cache: DocumentCache):
    found = _found(tags=["x"])
    cache.put("key", found)
    found[0].metadata["tags"].append("by the writer")
    cache.get("key")[0].metadata["tags"].append("by a reader")
    cache.get("key").clear()

    assert cache.get("key")[0].metadata == {"tags": ["x"]}


@pytest.mark.parametrize("store", [None, InMemoryByteStore()], ids=["memory", "store"])
def test_an_answer_older_than_ttl_is_gone(store: InMemoryByteStore | None):
    cache = DocumentCache(ttl=0.03, store=store)
    cache.put("key", _found())
    assert cache.get("key") is not None
    time.sleep(0.04)

    assert cache.get("key") is None


def test_memory_holds_so_many_characters_and_forgets_what_was_not_used_for_longest():
    found = RankedList([Document(page_content="x" * 1000)])
    cache = DocumentCache(max_chars=2500)
    for key in ("one", "two"):
        cache.put(key, found)
    cache.get("one")
    cache.put("three", found)

    assert [key for key in ("one", "two", "three") if cache.get(key)] == ["one", "three"]


def test_an_answer_that_is_larger_than_the_memory_is_not_kept():
    cache = DocumentCache(max_chars=100)
    cache.put("key", RankedList([Document(page_content="x" * 1000)]))

    assert cache.get("key") is None


@pytest.mark.parametrize("cache", _caches(), ids=["memory", "store"])
def test_what_would_come_back_as_something_else_is_refused(cache: DocumentCache):
    class Special(Document):
        pass

    with pytest.raises(MetadataError, match="Special cannot be cached"):
        cache.put("key", RankedList([Special(page_content="a")]))
    with pytest.raises(MetadataError):
        cache.put("key", _found(what=object()))
    assert cache.get("key") is None


@pytest.mark.parametrize("cache", _caches(), ids=["memory", "store"])
def test_clear_forgets_everything(cache: DocumentCache):
    cache.put("key", _found())
    cache.clear()

    assert cache.get("key") is None


def test_clear_leaves_what_others_put_into_the_store():
    store = InMemoryByteStore()
    store.mset([("theirs", b"1")])
    cache = DocumentCache(store=store)
    cache.put("key", _found())
    cache.clear()

    assert list(store.yield_keys()) == ["theirs"]


@pytest.mark.parametrize("scores", [["x"], [0.5, 0.6], {"a": 1}, 0.5])
def test_scores_that_are_none_make_an_answer_unreadable(scores: Any, caplog: Any):
    store = InMemoryByteStore()
    cache = DocumentCache(store=store)
    cache.put("key", RankedList([Document("a")], scores=[0.25]))
    ((key, value),) = store.store.items()
    store.mset([(key, value.replace(b"[0.25]", json.dumps(scores).encode()))])

    assert cache.get("key") is None
    assert "holds is no answer" in caplog.text


class _GlobStore(InMemoryByteStore):
    """Takes a prefix for a whole name, and refuses to delete nothing, as Redis' does."""

    def yield_keys(self, prefix: str | None = None) -> Any:
        return (key for key in self.store if prefix in (None, key))

    def mdelete(self, keys: Any) -> None:
        assert keys
        super().mdelete(keys)


def test_clear_works_where_a_prefix_is_taken_for_a_name():
    store = _GlobStore()
    cache = DocumentCache(store=store)
    cache.clear()
    store.mset([("theirs", b"1")])
    cache.put("key", _found())
    cache.clear()

    assert list(store.store) == ["theirs"]


def test_a_store_is_given_json_and_a_key_that_suits_a_file_name():
    store = InMemoryByteStore()
    DocumentCache(store=store).put("a key / of : any \ud800 kind", _found(page=1))
    ((key, value),) = store.store.items()

    assert key.replace("-", "").isalnum()
    assert value[16:].startswith(b'["vector",[["a","1",{"page":1}],')


def test_it_works_on_files(tmp_path: Path):
    pytest.importorskip("langchain_classic", reason="its file store is what is tested")
    from langchain_classic.storage import LocalFileStore

    DocumentCache(store=LocalFileStore(tmp_path)).put("key", _found(page=1))

    assert DocumentCache(store=LocalFileStore(tmp_path)).get("key") == _found(page=1)


@pytest.mark.parametrize("again", [copy.deepcopy, lambda cache: pickle.loads(pickle.dumps(cache))])
def test_a_copy_has_the_settings_and_starts_empty(again):
    cache = DocumentCache(ttl=7, max_chars=1000, timeout=0.5)
    cache.put("key", _found())
    other = again(cache)

    assert (other.ttl, other.max_chars, other.timeout) == (7, 1000, 0.5)
    assert other.get("key") is None


@pytest.mark.parametrize("name", ["ttl", "max_chars", "timeout"])
@pytest.mark.parametrize("value", [0, -1, float("nan"), True])
def test_settings_out_of_range_are_refused(name: str, value: Any):
    with pytest.raises(ConfigurationError, match=f"{name} is .*; expected a number greater than 0"):
        DocumentCache(**{name: value})
