"""What `explain` costs, in times of the retrieval that it explains.

python benchmarks/explain.py

A HybridRetriever over 2,000 passages whose vector and keyword legs return 100 hits each, with ten
metadata keys that they disagree about in part. `explain`, its retrieval included, must take at most
twice what `invoke` takes, also if the origin of every value of every document is then read.

Printed for comparison: a HybridRetriever whose legs hold the same documents, and that reads only
those it returns unless it is watched, as `explain` does; legs that answer at once; the views.
"""

import random
import sys
import time

from _measure import verdict
from langchain_chroma import Chroma
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.retrievers import BaseRetriever

from langchain_safe_retrievers import (
    HybridRetriever,
    KeywordRetriever,
    SafeEnsembleRetriever,
    VectorRetriever,
)
from langchain_safe_retrievers.explaining.explain import explain

PASSAGES, HITS, WORDS = 2_000, 100, 60
QUERY = "w1 w2 w3"


class Leg(BaseRetriever):
    """Returns its documents at once."""

    documents: list[Document]

    def _get_relevant_documents(self, query, *, run_manager):  # noqa: ARG002 - core's signature
        return self.documents


def passages(source):
    draw = random.Random(7)  # noqa: S311 - the same every time
    return [
        Document(
            " ".join(f"w{int(draw.expovariate(0.05))}" for _ in range(WORDS)),
            metadata={
                "source": source,
                "page": number,
                "author": {"name": f"a{number % 7}", "team": "docs"},
                "tags": [source, f"t{number % 5}"],
                **{f"key{key}": f"value {key}" for key in range(6)},
            },
            id=str(number),
        )
        for number in range(PASSAGES)
    ]


def hybrid():
    vector = VectorRetriever(Chroma("explain", DeterministicFakeEmbedding(size=384)))
    vector.add_documents(passages("vector"))
    keyword = KeywordRetriever.from_documents(passages("keyword"))
    return HybridRetriever(vector=vector, keyword=keyword, k=10, fetch_k=HITS)


def in_step():
    """Return one whose legs hold the same, so that it reads only the documents it returns."""
    embedding = DeterministicFakeEmbedding(size=384)
    return HybridRetriever.from_documents(passages("both"), embedding, k=10, fetch_k=HITS)


def instant():
    first, second = passages("vector")[:HITS], passages("keyword")[HITS // 2 : HITS + HITS // 2]
    return SafeEnsembleRetriever(retrievers=[Leg(documents=first), Leg(documents=second)], k=10)


def seconds(program):
    start = time.perf_counter()
    program()
    return time.perf_counter() - start


def read(explanation):
    """Read where every value of every document came from."""
    return [found.values for found in explanation.documents]


def ratios(retriever):
    """Return what explaining takes, and explaining and reading it all, in times of `invoke`."""
    programs = (
        lambda: retriever.invoke(QUERY),
        lambda: explain(retriever, QUERY),
        lambda: read(explain(retriever, QUERY)),
    )
    turns = [[seconds(program) for program in programs] for _ in range(60)]
    invoked, *others = (min(side) for side in zip(*turns[5:], strict=True))
    print(f"  invoke takes {invoked * 1000:.2f} ms")
    return [other / invoked for other in others]


def main():
    retriever = hybrid()
    explanation = explain(retriever, QUERY)
    hits = [len(leg.hits) for leg in explanation.legs]
    print(f"hits {hits}, {len(explanation.documents)} documents after fusion")
    explained, whole = ratios(retriever)
    usual = verdict("explain a HybridRetriever, in times of invoke", explained, at_most=2)
    all_of_it = verdict("the same, and read every value's origin", whole, at_most=2)
    for what, other in (("reads late unless watched", in_step()), ("answers at once", instant())):
        explained, whole = ratios(other)
        print(f"one that {what}: {explained:.2f}, and read {whole:.2f} (no claim)")
    for name in ("to_dict", "to_html"):
        print(f"  {name}: {seconds(getattr(explanation, name)) * 1000:.1f} ms")
    return 0 if usual and all_of_it else 1


if __name__ == "__main__":
    sys.exit(main())
