"""KeywordRetriever against community's BM25Retriever, and against tantivy called directly.

Documents of 40 to 120 words whose frequencies follow Zipf's law, with five metadata keys;
queries of five content words, k = 10. Times are processor time: of one thread for queries, of
all for writing. Community's retriever is built and asked in a process of its own. By default
100,000 documents; `--full` adds 1,000,000 (12 GB of memory, 10 minutes).
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tantivy
from _data import chunks, questions
from _measure import best_times, verdict
from langchain_core.documents import Document

from langchain_safe_retrievers.retrievers.keyword import KeywordRetriever

ADDED = 1000
K = 10


def documents(count: int, first: int = 0) -> Iterator[Document]:
    """Yield chunks with a nested metadata key."""
    for chunk in chunks(count, first):
        chunk.metadata["law"] = {"chapter": chunk.metadata.pop("chapter")}
        yield chunk


def resident() -> int:
    """Return the bytes of memory that this process occupies, mapped files included."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@dataclass(frozen=True)
class Cost:
    """What a retriever costs: seconds to build it, bytes that it occupies, seconds a query."""

    building: float
    memory: int
    query: float


def apart(work: Callable[..., Cost], *arguments: object) -> Cost:
    """Return what `work` returns in a process of its own, whose memory is its alone."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(work, arguments)


def opponent(count: int) -> Cost:
    """Build community's retriever, ask it, and tell what that cost."""
    from langchain_community.retrievers import BM25Retriever  # noqa: PLC0415 - heavy

    BM25Retriever.from_texts(["warm"]).invoke("warm")
    before, found, made = resident(), list(documents(count)), []
    building = seconds(lambda: made.append(BM25Retriever.from_documents(found, k=K)))
    query = questions(1)[0]
    (slow,) = best_times(lambda: made[0].invoke(query), seconds=2, at_least=3)
    return Cost(building, resident() - before, slow)


def reopened(directory: Path) -> Cost:
    """Open our index, ask it, and tell how much memory that took."""
    KeywordRetriever.from_texts(["warm"]).invoke("warm")
    before = resident()
    retriever = KeywordRetriever(persist_directory=directory)
    for query in questions():
        retriever.invoke(query)
    return Cost(0.0, resident() - before, 0.0)


def directly(directory: Path) -> Any:
    """Return a function that asks tantivy itself for the same documents, without a retriever."""
    words = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()
    index = tantivy.Index.open(str(directory))
    index.register_tokenizer("words", words)
    searcher = index.searcher()

    def ask(query: str) -> list[Document]:
        hits = searcher.search(index.parse_query(query, ["words"]), K, count=False).hits
        found = [searcher.doc(address) for _, address in hits]
        return [
            Document(
                page_content=each.get_first("text").decode(),
                metadata=json.loads(each.get_first("metadata")),
                id=each.get_first("id"),
            )
            for each in found
        ]

    return ask


def seconds(program: Callable[[], object]) -> float:
    """Return the processor time of all threads that one run takes."""
    start = time.process_time()
    program()
    return time.process_time() - start


def compare_writing(count: int, directory: Path, theirs: Cost) -> bool:
    """Index, and add to the index, against building community's retriever."""
    more, ours = list(documents(ADDED, count)), KeywordRetriever(persist_directory=directory, k=K)
    building = seconds(lambda: ours.add_documents(documents(count)))
    adding = seconds(lambda: ours.add_documents(more))
    print(f"{count:,} documents: {building:.1f} s, {ADDED:,} more {adding:.2f} s; ", end="")
    print(f"BM25Retriever {theirs.building:.1f} s")
    claim = f"add {ADDED:,} to {count:,} documents, times faster than rebuilding"
    return verdict(claim, theirs.building / adding, at_least=20)


def compare_queries(count: int, times: float, directory: Path, theirs: Cost) -> list[bool]:
    """Ask the index and tantivy itself; community's retriever has been asked."""
    ours, raw = KeywordRetriever(persist_directory=directory), directly(directory)
    asked = questions()
    if {found.id for found in ours.invoke(asked[0])} != {found.id for found in raw(asked[0])}:
        print("tantivy finds other documents")
        return [False]
    within = {"law.chapter": {"$gte": 10, "$lt": 20}, "lang": "en"}
    programs = [
        lambda: [ours.invoke(query) for query in asked],
        lambda: [raw(query) for query in asked],
        lambda: [ours.invoke(query, filter=within) for query in asked],
    ]
    mine, direct, held = (each / len(asked) for each in best_times(*programs, seconds=12))
    print(f"a query {mine * 1e3:.2f} ms, with a filter on two paths {held * 1e3:.2f} ms; ", end="")
    print(f"tantivy {direct * 1e3:.2f} ms, BM25Retriever {theirs.query * 1e3:.1f} ms")
    claim = f"query, {count:,} documents,"
    return [
        verdict(f"{claim} times faster than BM25Retriever", theirs.query / mine, at_least=times),
        verdict(f"{claim} in times of tantivy called directly", mine / direct, at_most=1.5),
    ]


def compare_memory(count: int, least: float, directory: Path, theirs: Cost) -> bool:
    """Open the index in a process of its own; community's retriever was built in another."""
    ours = apart(reopened, directory).memory
    print(f"memory: {ours / 1e6:.0f} MB; BM25Retriever {theirs.memory / 1e6:.0f} MB")
    claim = f"memory, {count:,} documents, times less than BM25Retriever"
    return verdict(claim, theirs.memory / ours, at_least=least)


def compare(count: int, times: float, least_memory: float) -> list[bool]:
    """Print the lines for one number of documents."""
    theirs = apart(opponent, count)
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory) / "index"
        return [
            compare_writing(count, place, theirs),
            *compare_queries(count, times, place, theirs),
            compare_memory(count, least_memory, place, theirs),
        ]


def main() -> int:
    """Print a line for each claim; return 1 if one falls short, else 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="1,000,000 documents, too")
    parser.add_argument("--documents", type=int, default=100_000)
    arguments = parser.parse_args()
    sizes = [(arguments.documents, 300, 10)] + [(1_000_000, 1000, 50)] * arguments.full
    results = [holds for size in sizes for holds in compare(*size)]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
