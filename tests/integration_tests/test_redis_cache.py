"""Answers are remembered in a real Redis: shared, forgotten in time, and never worth an error."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_community.storage import RedisStore
from langchain_core.documents import Document
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.retry import Retry

from langchain_safe_retrievers import (
    DocumentCache,
    RankedList,
    RetrievalReport,
    SafeRetriever,
    collect_reports,
)
from langchain_safe_retrievers.testing import FakeLeg, texts

_SERVER = shutil.which("redis-server")
pytestmark = pytest.mark.skipif(
    _SERVER is None,
    reason="there is no redis-server here; on Debian: apt-get install redis-server",
)
_WORLDS = ["sync", "async"]


class RedisServer:
    """A server on a Unix socket, which keeps nothing when it is killed."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.socket = str(directory / "socket")
        self.client = Redis(unix_socket_path=self.socket, retry=Retry(NoBackoff(), 0))
        self.start()

    def start(self) -> None:
        """Start it, and return once it answers."""
        settings = ["--port", "0", "--unixsocket", self.socket, "--save", "", "--appendonly", "no"]
        with (self.directory / "log").open("ab") as log:
            self.process = subprocess.Popen(  # noqa: S603 - found on the path above
                [str(_SERVER), *settings, "--dir", str(self.directory)],
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        deadline = time.monotonic() + 30
        while self.process.poll() is None and time.monotonic() < deadline:
            try:
                self.client.ping()
            except RedisConnectionError:
                time.sleep(0.01)
            else:
                return
        pytest.fail((self.directory / "log").read_text(errors="replace")[-2000:])

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(10)


@pytest.fixture(scope="module")
def shared_server() -> Iterator[RedisServer]:
    with tempfile.TemporaryDirectory(prefix="redis") as directory:  # short, as sockets' paths are
        server = RedisServer(Path(directory))
        yield server
        server.kill()
        server.client.close()


@pytest.fixture
def server(shared_server: RedisServer) -> RedisServer:
    """Return one that is up and empty."""
    if shared_server.process.poll() is not None:
        shared_server.start()
    shared_server.client.flushall()
    return shared_server


def cache_on(server: RedisServer, **settings: Any) -> DocumentCache:
    settings = {"timeout": 5.0, **settings}  # a busy machine is no dead server
    return DocumentCache(store=RedisStore(client=server.client), **settings)


def retriever_on(cache: DocumentCache, leg: FakeLeg) -> SafeRetriever:
    return SafeRetriever(retriever=leg, cache=cache, cache_namespace="handbook, May 2026")


def leg_of(*documents: Any) -> FakeLeg:
    return FakeLeg(documents=list(documents))


async def ask(
    retriever: SafeRetriever, query: str = "q", *, world: str = "sync"
) -> tuple[list[Document], RetrievalReport]:
    with collect_reports() as reports:
        if world == "sync":
            found = retriever.invoke(query)
        else:
            found = await retriever.ainvoke(query)
    return found, reports[-1]


@pytest.mark.parametrize("world", _WORLDS)
async def test_what_one_retriever_was_answered_another_need_not_ask(
    server: RedisServer, world: str
):
    document = Document("a", id="1", metadata={"pages": (1, 2), "tags": {"x"}})
    found, report = await ask(retriever_on(cache_on(server), leg_of(document)), world=world)
    assert (found, report.cache) == ([document], "miss")

    other = leg_of(document)
    found, report = await ask(retriever_on(cache_on(server), other), world=world)

    assert (found, report.cache) == ([document], "hit")
    assert type(found[0].metadata["pages"]) is tuple
    assert other.calls == []
    assert not report.degraded


_OTHER_PROCESS = """
import json, sys
from langchain_community.storage import RedisStore
from redis import Redis
from langchain_safe_retrievers import DocumentCache, SafeRetriever, collect_reports
from langchain_safe_retrievers.testing import FakeLeg, texts

leg = FakeLeg(documents=["a"])
client = Redis(unix_socket_path=sys.argv[1])
cache = DocumentCache(store=RedisStore(client=client), timeout=5.0)
retriever = SafeRetriever(retriever=leg, cache=cache, cache_namespace="handbook, May 2026")
with collect_reports() as reports:
    found = retriever.invoke("q")
client.close()
print(json.dumps([texts(found), reports[0].cache, leg.calls]))
"""


def test_what_one_process_was_answered_another_need_not_ask(server: RedisServer):
    retriever_on(cache_on(server), leg_of("a")).invoke("q")

    done = subprocess.run(  # noqa: S603 - our own Python
        [sys.executable, "-W", "ignore", "-c", _OTHER_PROCESS, server.socket],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    assert json.loads(done.stdout) == [["a"], "hit", []]


@pytest.mark.parametrize("world", _WORLDS)
async def test_an_answer_older_than_ttl_is_asked_for_again(server: RedisServer, world: str):
    leg = leg_of("a")
    retriever = retriever_on(cache_on(server, ttl=0.2), leg)
    outcomes = []
    for pause in (0.0, 0.0, 0.25):
        await asyncio.sleep(pause)
        outcomes.append((await ask(retriever, world=world))[1].cache)

    assert outcomes in (["miss", "hit", "miss"], ["miss", "miss", "miss"])  # on a very busy machine
    assert len(leg.calls) == outcomes.count("miss")


@pytest.mark.parametrize("world", _WORLDS)
async def test_a_server_that_dies_is_a_mark_in_the_report_and_is_used_again_once_it_is_back(
    server: RedisServer, world: str
):
    leg, cache = leg_of("a"), cache_on(server)
    retriever = retriever_on(cache, leg)
    await ask(retriever, world=world)
    server.kill()

    for _ in range(5):  # enough for it to be left alone
        found, report = await ask(retriever, world=world)
        assert (texts(found), report.cache, report.error) == (["a"], "error", None)
        assert any("the cache is down" in note for note in report.notes)
        assert not report.degraded
    assert len(leg.calls) == 6
    assert cache.breaker.state == "open"

    server.start()
    cache.breaker.reset_after = cache.breaker._rests_until = 0.001  # as if ten seconds had passed
    outcomes = [(await ask(retriever, world=world))[1].cache for _ in range(2)]
    assert outcomes == ["miss", "hit"]
    assert len(leg.calls) == 7
    assert cache.breaker.state == "closed"


class _Dying(FakeLeg):
    """Takes the server down while it is being asked."""

    server: Any = None

    def _answer(self) -> Any:
        self.server.kill()
        return super()._answer()


@pytest.mark.parametrize("world", _WORLDS)
async def test_a_server_that_dies_during_a_call_costs_no_answer(server: RedisServer, world: str):
    leg = _Dying(documents=["a"], server=server)
    found, report = await ask(retriever_on(cache_on(server), leg), world=world)

    assert (texts(found), report.cache) == (["a"], "error")
    assert any("the cache is down" in note for note in report.notes)


_FRESH = b"9999999999999.00"
_HOSTILE = {
    "nothing": b"",
    "garbage": b"\x80\x04\x95garbage \xff\xfe",
    "a pickle": b"cos\nsystem\n(S'echo hacked'\ntR.",
    "no date": b'not a number....["leg",[["evil",null,{}]],null]',
    "a date that is none": b'nan             ["leg",[["evil",null,{}]],null]',
    "no JSON": _FRESH + b"{",
    "other JSON": _FRESH + b'{"leg": "x"}',
    "no documents": _FRESH + b'["leg",[[1,2,3]],null]',
    "metadata that is none": _FRESH + b'["leg",[["evil",null,[1]]],null]',
    "scores that are none": _FRESH + b'["leg",[["evil",null,{}]],["high"]]',
    "too few scores": _FRESH + b'["leg",[["evil",null,{}]],[]]',
    "an unknown kind": _FRESH + b'["leg",[["evil",null,{"a":{"$":["os.system","x"]}}]],null]',
    "a cut off answer": _FRESH + b'["leg",[["evil",null,{"a":"b',
    "deep nesting": _FRESH + b"[" * 100_000,
    "bytes that are no text": _FRESH + b'["leg",[["\xff",null,{}]],null]',
}


@pytest.mark.parametrize("world", _WORLDS)
@pytest.mark.parametrize("value", _HOSTILE.values(), ids=_HOSTILE)
async def test_what_is_no_answer_is_a_miss_and_is_overwritten(
    server: RedisServer, world: str, value: bytes
):
    leg = leg_of("a")
    retriever = retriever_on(cache_on(server), leg)
    await ask(retriever, world=world)
    (key,) = server.client.keys("*")
    server.client.set(key, value)

    outcomes = [await ask(retriever, world=world) for _ in range(2)]

    assert [(texts(found), report.cache) for found, report in outcomes] == [
        (["a"], "miss"),
        (["a"], "hit"),
    ]
    assert len(leg.calls) == 2


def test_every_way_to_cut_an_answer_short_is_a_miss(server: RedisServer):
    cache = cache_on(server)
    cache.put("key", RankedList([Document("a", metadata={"n": (1, 2)})], leg="x", scores=[0.5]))
    (key,) = server.client.keys("*")
    whole: Any = server.client.get(key)

    for length in range(len(whole)):
        server.client.set(key, whole[:length])
        assert cache.get("key") is None


def test_clear_leaves_what_others_put_there(server: RedisServer):
    cache = cache_on(server)
    cache.clear()  # nothing yet
    server.client.set("theirs", b"1")
    cache.put("key", RankedList([Document("a")]))
    cache.clear()

    assert server.client.keys("*") == [b"theirs"]
