"""A keyword index survives SIGKILL: reopened, it holds exactly what was committed."""

from __future__ import annotations

import multiprocessing
import random
import time
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document

from langchain_safe_retrievers.errors import IndexLockedError
from langchain_safe_retrievers.retrievers.keyword import KeywordRetriever

KILLS = 50
SIZE = 20  # documents a batch
KEPT = 5  # batches that are not deleted again

context = multiprocessing.get_context("forkserver")
context.set_forkserver_preload(["langchain_safe_retrievers.retrievers.keyword", "tantivy"])


def batch(number: int) -> list[Document]:
    """Return one batch: new documents, and one that every batch replaces."""
    new = [
        Document(
            page_content=f"honey of batch{number} " + "and more words " * 50,
            metadata={"batch": number, "nested": {"place": place}},
            id=f"{number}.{place}",
        )
        for place in range(SIZE)
    ]
    return [*new, Document(page_content="latest", metadata={"batch": number}, id="latest")]


def ingest(directory: Path, acknowledged: Any, started: Any) -> None:
    """Write batch after batch where the last process stopped, saying which are committed."""
    retriever = KeywordRetriever(persist_directory=directory)
    number = last_batch(retriever)
    started.value = 1
    while True:
        number += 1
        retriever.add_documents(batch(number))
        acknowledged.value = number


def last_batch(retriever: KeywordRetriever) -> int:
    """Return the number of the last batch that is in the index, 0 if there is none."""
    latest = retriever.get_by_ids(["latest"])
    return latest[0].metadata["batch"] if latest else 0


def check(directory: Path, acknowledged: int) -> int:
    """Check that the index holds the batches up to one, whole, and none after it."""
    retriever = KeywordRetriever(persist_directory=directory)
    last = last_batch(retriever)
    assert last >= acknowledged
    stored = {document.id: document for document in retriever.documents()}
    numbers = {document.metadata["batch"] for document in stored.values()} or {0}
    expected = [
        document for number in sorted(numbers - {0}) for document in batch(number)[:SIZE]
    ] + (batch(last)[SIZE:] if last else [])
    assert stored == {document.id: document for document in expected}
    assert numbers == set(range(min(numbers), last + 1))
    assert retriever.count() == len(expected)
    found = retriever.invoke(f"batch{last}", k=100, filter={"nested.place": {"$gte": 0}})
    assert len(found) == (SIZE if last else 0)
    return last


def test_an_index_killed_fifty_times_while_it_is_written_is_whole_and_complete(tmp_path):
    directory, chance = tmp_path / "index", random.Random(3)
    acknowledged, started = (context.Value("q", 0, lock=False) for _ in range(2))
    last, died_at_work = 0, 0
    for kill in range(KILLS):
        started.value = 0
        arguments = (directory, acknowledged, started)
        process = context.Process(target=ingest, args=arguments, daemon=True)
        process.start()
        while kill >= KILLS // 10 and not started.value:  # the first few may die while opening
            time.sleep(0.001)
        time.sleep(chance.uniform(0, 0.3))
        process.kill()
        process.join()
        before, last = last, check(directory, acknowledged.value)
        died_at_work += last > before
        tidy(directory, last)
    assert died_at_work > KILLS // 3


def tidy(directory: Path, last: int) -> None:
    """Delete old batches, so that the checks stay quick; it also shows that no lock is left."""
    retriever = KeywordRetriever(persist_directory=directory)
    old = [
        document.id
        for document in retriever.documents()
        if document.metadata["batch"] <= last - KEPT
    ]
    assert retriever.delete(old)["num_deleted"] == len(old)


def hold(directory: Path, held: Any, release: Any) -> None:
    """Start writing, and go on when told to."""

    def documents() -> Any:
        yield Document(page_content="honey", id="theirs")
        held.set()
        release.wait(60)

    KeywordRetriever(persist_directory=directory).add_documents(documents())


def test_another_process_s_writer_keeps_ours_out_and_not_our_readers(tmp_path):
    retriever = KeywordRetriever.from_texts(["honey"], ids=["ours"], persist_directory=tmp_path)
    held, release = context.Event(), context.Event()
    process = context.Process(target=hold, args=(tmp_path, held, release), daemon=True)
    process.start()
    assert held.wait(60)
    with pytest.raises(IndexLockedError, match="being written by another process"):
        retriever.add_documents([Document(page_content="more")])
    assert [document.id for document in retriever.invoke("honey")] == ["ours"]
    release.set()
    process.join(60)
    assert [document.id for document in retriever.invoke("honey")] == ["ours", "theirs"]
    waiting = KeywordRetriever(persist_directory=tmp_path, lock_timeout=60)
    assert waiting.add_documents([Document(page_content="more", id="m")]) == ["m"]


def test_a_deletion_that_was_killed_before_its_commit_can_be_made_again(tmp_path):
    """The commit's files are there, the list of files that count is still the old one."""
    retriever = KeywordRetriever(persist_directory=tmp_path)
    retriever.add_documents([Document(page_content="bee", id=str(n)) for n in range(5)])
    (listed,) = tmp_path.rglob("meta.json")
    before = listed.read_bytes()
    retriever.delete(["1"])
    listed.write_bytes(before)

    again = KeywordRetriever(persist_directory=tmp_path)
    assert again.count() == 5
    again.delete(["1"])

    assert {document.id for document in again.documents()} == {"0", "2", "3", "4"}
