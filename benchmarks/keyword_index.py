"""KeywordRetriever against community's BM25Retriever, and against tantivy called directly.

Documents of 40 to 120 words whose frequencies follow Zipf's law, with five metadata keys;
queries of five content words, k = 10. Times are processor time: of one thread for queries, of
all for writing. By default 100,000 documents; `--full` adds 1,000,000 (16 GB of memory, 20
minutes).
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any

import tantivy
from _measure import best_times, verdict
from langchain_core.documents import Document

from langchain_safe_retrievers.retrievers.keyword import KeywordRetriever

VOCABULARY = 50_000
LETTERS = "bcdfghjklmnpqrtvwxz"
ADDED = 1000
K = 10


def word(number: int) -> str:
    """Return a word of five letters or more that no stemmer touches."""
    spelled = ""
    for _ in range(4):
        number, letter = divmod(number, len(LETTERS))
        spelled += LETTERS[letter]
    return f"q{spelled}"


def documents(count: int, first: int = 0) -> Iterator[Document]:
    """Yield documents, the same each time."""
    chance = random.Random(first)  # noqa: S311 - no secrets
    words = [word(n) for n in range(VOCABULARY)]
    weights = list(accumulate(1 / (n + 10) for n in range(VOCABULARY)))
    for n in range(first, first + count):
        text = " ".join(chance.choices(words, cum_weights=weights, k=chance.randrange(40, 121)))
        metadata = {
            "source": f"file{n // 50}.md",
            "page": n % 50,
            "lang": ("en", "de", "fr")[n % 3],
            "law": {"chapter": n % 100},
            "updated": f"2024-{n % 12 + 1:02}-{n % 28 + 1:02}",
        }
        yield Document(page_content=text, metadata=metadata, id=str(n))


def queries(count: int = 20) -> list[str]:
    """Return queries of five content words: neither the commonest nor the rarest."""
    chance = random.Random(7)  # noqa: S311 - no secrets
    return [" ".join(word(chance.randrange(200, 5000)) for _ in range(5)) for _ in range(count)]


def resident() -> int:
    """Return the bytes of memory that this process occupies, mapped files included."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def bm25(found: list[Document]) -> Any:
    """Return community's retriever."""
    from langchain_community.retrievers import BM25Retriever  # noqa: PLC0415 - heavy

    return BM25Retriever.from_documents(found, k=K)


def occupied(kind: str, count: int, directory: Path, answer: Any) -> None:
    """Open or build a retriever, ask it, and tell how much memory that took (in a new process)."""
    asked = queries()
    KeywordRetriever.from_texts(["warm"]).invoke("warm")
    before = resident()
    retriever = (
        KeywordRetriever(persist_directory=directory)
        if kind == "keyword"
        else bm25(list(documents(count)))
    )
    for query in asked[: 20 if kind == "keyword" else 1]:
        retriever.invoke(query)
    answer.value = resident() - before


def memory(kind: str, count: int, directory: Path) -> int:
    """Return what `occupied` says."""
    context = multiprocessing.get_context("spawn")
    answer = context.Value("q", 0)
    process = context.Process(target=occupied, args=(kind, count, directory, answer))
    process.start()
    process.join()
    return answer.value


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


def compare_writing(count: int, directory: Path) -> list[bool]:
    """Index, and add to the index, against building community's retriever."""
    found, more = list(documents(count)), list(documents(ADDED, count))
    ours = KeywordRetriever(persist_directory=directory, k=K)
    building, rebuilding = seconds(lambda: ours.add_documents(found)), seconds(lambda: bm25(found))
    adding = seconds(lambda: ours.add_documents(more))
    print(f"{count:,} documents: {building:.1f} s, {ADDED:,} more {adding:.2f} s; ", end="")
    print(f"BM25Retriever {rebuilding:.1f} s")
    claim = f"add {ADDED:,} to {count:,} documents, times faster than rebuilding"
    return [verdict(claim, rebuilding / adding, at_least=20)]


def compare_queries(count: int, times: float, directory: Path) -> list[bool]:
    """Ask the index, tantivy itself, and community's retriever."""
    ours, raw = KeywordRetriever(persist_directory=directory), directly(directory)
    theirs, asked = bm25(list(documents(count))), queries()
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
    (slow,) = best_times(lambda: theirs.invoke(asked[0]), seconds=2, at_least=3)
    print(f"a query {mine * 1e3:.2f} ms, with a filter on two paths {held * 1e3:.2f} ms; ", end="")
    print(f"tantivy {direct * 1e3:.2f} ms, BM25Retriever {slow * 1e3:.1f} ms")
    claim = f"query, {count:,} documents,"
    return [
        verdict(f"{claim} times faster than BM25Retriever", slow / mine, at_least=times),
        verdict(f"{claim} in times of tantivy called directly", mine / direct, at_most=1.5),
    ]


def compare_memory(count: int, least: float, directory: Path) -> list[bool]:
    """Open the index, or build community's retriever, each in a process of its own."""
    ours, theirs = (memory(kind, count, directory) for kind in ("keyword", "bm25"))
    print(f"memory: {ours / 1e6:.0f} MB; BM25Retriever {theirs / 1e6:.0f} MB")
    claim = f"memory, {count:,} documents, times less than BM25Retriever"
    return [verdict(claim, theirs / ours, at_least=least)]


def main() -> int:
    """Print a line for each claim; return 1 if one falls short, else 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="1,000,000 documents, too")
    parser.add_argument("--documents", type=int, default=100_000)
    arguments = parser.parse_args()
    results = []
    sizes = [(arguments.documents, 300, 10)] + [(1_000_000, 1000, 50)] * arguments.full
    for size, times, least_memory in sizes:
        with tempfile.TemporaryDirectory() as directory:
            place = Path(directory) / "index"
            results += compare_writing(size, place)
            results += compare_queries(size, times, place)
            results += compare_memory(size, least_memory, place)
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
