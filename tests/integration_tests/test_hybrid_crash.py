"""A hybrid index survives SIGKILL: checked and repaired, both its legs hold the same."""

from __future__ import annotations

import multiprocessing
import random
import time
import warnings
from pathlib import Path
from typing import Any

from chromadb.api.shared_system_client import SharedSystemClient
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding

from langchain_safe_retrievers.retrievers.hybrid import HybridRetriever

KILLS = 30
SIZE = 10  # documents a batch

context = multiprocessing.get_context("forkserver")
context.set_forkserver_preload(["langchain_safe_retrievers.retrievers.hybrid", "langchain_chroma"])


def batch(number: int) -> list[Document]:
    """Return one batch: new documents, and one that every batch replaces."""
    new = [
        Document(page_content=f"batch{number}", metadata={"a": {"b": number}}, id=f"{number}.{n}")
        for n in range(SIZE)
    ]
    return [*new, Document(page_content=f"latest{number}", id="latest")]


def opened(directory: Path) -> HybridRetriever:
    """Open the index as a new process would: Chroma keeps what it has read of a directory."""
    SharedSystemClient.clear_system_cache()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # it may say that it needs mending
        return HybridRetriever.from_documents(
            [], DeterministicFakeEmbedding(size=8), persist_directory=directory
        )


def ingest(directory: Path, first: int, acknowledged: Any) -> None:
    """Write batch after batch, deleting some documents of each again."""
    retriever, number = opened(directory), first
    while True:
        number += 1
        retriever.add_documents(batch(number))
        retriever.delete([f"{number}.0"])
        acknowledged.value = number


def test_an_index_killed_thirty_times_while_it_is_written_is_mended_and_complete(tmp_path):
    chance = random.Random(3)
    acknowledged = context.Value("q", 0, lock=False)
    apart = 0
    for _ in range(KILLS):
        before = acknowledged.value
        process = context.Process(target=ingest, args=(tmp_path, before, acknowledged), daemon=True)
        process.start()
        deadline = time.monotonic() + 60
        while acknowledged.value == before and time.monotonic() < deadline:
            time.sleep(0.001)
        time.sleep(chance.uniform(0, 0.1))
        process.kill()
        process.join()
        apart += bool(check(tmp_path, acknowledged.value))
    assert acknowledged.value >= KILLS
    assert apart > 0  # else nothing was tested


def check(directory: Path, acknowledged: int) -> object:
    """Check that the mended legs hold all that was acknowledged, and return what was mended."""
    retriever = opened(directory)
    found = retriever.repair()
    assert not retriever.check()
    for leg in (retriever.leg("vector"), retriever.leg("keyword")):
        stored = {document.id: document for document in leg.documents()}
        for number in range(1, acknowledged + 1):
            kept = batch(number)[1:SIZE]
            assert [stored.get(document.id) for document in kept] == kept
        assert {f"{number}.0" for number in range(1, acknowledged)} & stored.keys() == set()
    hits = retriever.invoke(f"batch{acknowledged}", filter={"a.b": acknowledged}, k=SIZE)
    assert {document.metadata["a"]["b"] for document in hits} == {acknowledged}
    return found
