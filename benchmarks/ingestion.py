"""Writing HybridRetriever's two legs, against writing langchain-chroma alone.

Chunks of 40 to 120 words with five metadata keys and ids; their vectors (384 dimensions, random,
of unit length) are looked up, not computed. Both are written to disk, 5,000 chunks at a time and
taking turns, with the same Chroma settings. What counts is the processor time of all threads, which
other work on the machine changes least: that the keyword leg indexes beside Chroma, on another
core, is no merit here. Time by the wall's clock is shown. 100,000 chunks take 5 minutes on an idle
machine (15 on one that four others use); `--documents 20000` one.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from _data import Vectors, chunks
from _measure import verdict
from langchain_chroma import Chroma
from langchain_core.documents import Document

from langchain_safe_retrievers.in_step import pages
from langchain_safe_retrievers.retrievers.hybrid import HybridRetriever

PAGE = 5_000


@dataclass
class Clock:
    """Adds up what a program takes: seconds by the wall's clock, and of all processors."""

    write: Callable[[list[Document]], object]
    wall: float = 0.0
    processor: float = 0.0

    def run(self, page: list[Document]) -> None:
        wall, processor = time.perf_counter(), time.process_time()
        self.write(page)
        self.wall += time.perf_counter() - wall
        self.processor += time.process_time() - processor


def writers(vectors: Vectors, directory: Path) -> tuple[HybridRetriever, Clock, Clock]:
    """Return our retriever, empty, and what writes a page to it and to Chroma alone."""
    ours = HybridRetriever.from_documents([], vectors, persist_directory=directory / "hybrid")
    theirs = Chroma(
        "documents",
        vectors,
        persist_directory=str(directory / "chroma"),
        collection_configuration={"hnsw": {"space": "cosine"}},
    )

    def alone(page: list[Document]) -> object:
        return theirs.add_documents(page, ids=[own.id for own in page])

    return ours, Clock(ours.add_documents), Clock(alone)


def main() -> int:
    """Print a line for the claim; return 1 if it falls short, else 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--dimensions", type=int, default=384)
    arguments = parser.parse_args()
    found = list(chunks(arguments.documents))
    vectors = Vectors((own.page_content for own in found), arguments.dimensions)
    with tempfile.TemporaryDirectory() as directory:
        ours, mine, alone = writers(vectors, Path(directory))
        for number, page in enumerate(pages(found, PAGE)):
            for clock in (mine, alone) if number % 2 else (alone, mine):
                clock.run(page)
        if ours.leg("keyword").count() != len(found):
            print("the keyword leg does not hold all of the chunks")
            return 1
    print(f"{len(found):,} chunks: processor time {mine.processor:.0f} s; ", end="")
    print(f"Chroma alone {alone.processor:.0f} s; by the wall's clock {mine.wall:.0f} s; ", end="")
    print(f"Chroma alone {alone.wall:.0f} s")
    claim = f"ingestion, {len(found):,} chunks, in times of Chroma alone"
    return 0 if verdict(claim, mine.processor / alone.processor, at_most=1.15) else 1


if __name__ == "__main__":
    sys.exit(main())
