"""A HybridRetriever's query, against EnsembleRetriever over BM25Retriever and langchain-chroma.

Chunks of 40 to 120 words with five metadata keys; queries of five content words, k = 10; vectors
(384 dimensions, random, of unit length) are looked up, not computed. Both read the same Chroma on
disk. EnsembleRetriever's legs are asked for 10 documents each. HybridRetriever asks its legs for
100, so the legs called directly are asked for 100, too; it reads no more than the 10 that it
returns, where they read all, so that it may well be quicker than the slower leg (what that leg
takes for ids alone is shown beside). Times are by the wall's clock, each query's best of many
rounds in turns.

With 100,000 chunks it takes 5 minutes on an idle machine (15 on one that four others use), nearly
all of them to write the index; `--documents 10000` less than one.
"""

from __future__ import annotations

import argparse
import gc
import sys
import tempfile
from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any

from _data import Vectors, chunks, questions
from _measure import verdict
from langchain_classic.retrievers import EnsembleRetriever
from langchain_core.documents import Document

from langchain_safe_retrievers.retrievers.hybrid import HybridRetriever

K, DEPTH = 10, 100


def in_turns(
    programs: Mapping[str, Callable[[str], object]], asked: list[str], rounds: int
) -> dict[str, float]:
    """Return each program's mean over the queries, in ms; of each query the best of all rounds."""
    best = {name: dict.fromkeys(asked, float("inf")) for name in programs}
    gc.collect()
    gc.disable()
    try:
        for query in asked * rounds:
            for name, program in programs.items():
                start = perf_counter()
                program(query)
                best[name][query] = min(best[name][query], perf_counter() - start)
    finally:
        gc.enable()
    return {name: 1e3 * sum(own.values()) / len(own) for name, own in best.items()}


def ensemble(found: list[Document], store: Any) -> EnsembleRetriever:
    """Return what people use today."""
    from langchain_community.retrievers import BM25Retriever  # noqa: PLC0415 - warns on import

    legs = [BM25Retriever.from_documents(found, k=K), store.as_retriever(search_kwargs={"k": K})]
    return EnsembleRetriever(retrievers=legs, weights=[0.5, 0.5])


def compare(found: list[Document], ours: HybridRetriever, asked: list[str]) -> list[bool]:
    """Print a line for each claim."""
    vector, keyword = ours.leg("vector"), ours.leg("keyword")
    programs = {
        "hybrid": lambda query: ours.invoke(query, k=K),
        "vector leg": lambda query: vector.invoke(query, k=DEPTH),
        "keyword leg": lambda query: keyword.invoke(query, k=DEPTH),
        "vector leg, ids alone": lambda query: vector.invoke(query, k=DEPTH, only_ids=True),
    }
    took = in_turns(programs, asked, rounds=60)
    slow = in_turns({"": ensemble(found, vector.store).invoke}, asked[:5], rounds=4)[""]
    shown = "; ".join(f"{name} {time:.2f} ms" for name, time in took.items())
    print(f"a query: {shown} (the legs called directly, for {DEPTH} documents each); ", end="")
    print(f"EnsembleRetriever {slow:.0f} ms")
    claim = f"hybrid query, {len(found):,} chunks,"
    beyond = took["hybrid"] - max(took["vector leg"], took["keyword leg"])
    return [
        verdict(f"{claim} times faster than EnsembleRetriever", slow / took["hybrid"], at_least=60),
        verdict(f"{claim} ms more than its slower leg alone", beyond, at_most=1.0),
    ]


def main() -> int:
    """Print a line for each claim; return 1 if one falls short, else 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--dimensions", type=int, default=384)
    arguments = parser.parse_args()
    found, asked = list(chunks(arguments.documents)), questions()
    vectors = Vectors([*(own.page_content for own in found), *asked], arguments.dimensions)
    with tempfile.TemporaryDirectory() as directory:
        ours = HybridRetriever.from_documents(found, vectors, persist_directory=directory)
        return 0 if all(compare(found, ours, asked)) else 1


if __name__ == "__main__":
    sys.exit(main())
