"""What does evaluating add to the retrieval that it measures, and are its figures ir-measures'?

    python benchmarks/evaluate.py --data DIR

`DIR` holds a retrieval set in BEIR's layout with unit vectors NAME.corpus.npy and
NAME.queries.npy. The retriever is a HybridRetriever of Chroma and the keyword index, asked the
first 300 questions. Required is that `evaluate`, the metrics included, takes at most 1.05 times
the time that the retriever's `invoke` took in the same run (the best of several; what else the
machine does then counts for both). Then every figure is held against what ir-measures says of the
files that were written: required are differences of at most 1e-9.
Needs the extras `chroma`, `evaluate` and `keyword`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import ir_measures
import numpy as np
from _measure import verdict
from chromadb import EphemeralClient
from langchain_chroma import Chroma
from langchain_core.embeddings import Embeddings

from langchain_safe_retrievers.evaluation.dataset import Dataset
from langchain_safe_retrievers.evaluation.evaluate import evaluate
from langchain_safe_retrievers.retrievers.hybrid import HybridRetriever

QUESTIONS, TURNS = 300, 5
METRICS = ["nDCG@10", "R@10", "RR@10", "AP", "P@5"]


class Known(Embeddings):
    """Vectors that were computed before."""

    def __init__(self, texts, vectors):
        self.vectors = dict(zip(texts, vectors.astype(float).tolist(), strict=True))

    def embed_documents(self, texts):
        return [self.vectors[text] for text in texts]

    def embed_query(self, text):
        return self.vectors[text]


def read(folder):
    whole = Dataset.from_beir(folder)
    model = next(folder.glob("*.corpus.npy")).name.removesuffix(".corpus.npy")
    vectors = [np.load(folder / f"{model}.{part}.npy") for part in ("corpus", "queries")]
    texts = [*(document.page_content for document in whole.documents), *whole.queries.values()]
    queries = dict(list(whole.queries.items())[:QUESTIONS])
    dataset = Dataset(queries, {key: whole.qrels[key] for key in queries}, name=folder.name)
    store = Chroma("evaluate", Known(texts, np.concatenate(vectors)), client=EphemeralClient())
    retriever = HybridRetriever.from_vectorstore(store, k=10)
    retriever.add_documents(whole.documents)
    return retriever, dataset


def added(retriever, dataset):
    """Return by how much evaluating is longer than the retrieval inside, at best of several."""
    ratios = []
    for _ in range(TURNS):
        start = perf_counter()
        found = evaluate(retriever, dataset)
        whole = perf_counter() - start
        ratios.append(whole / sum(result.seconds for result in found.queries))
    return min(ratios)


def largest_difference(found, dataset):
    """Return the largest difference of any figure from what ir-measures reads in the files."""
    measures = {ir_measures.parse_measure(name): name for name in METRICS}
    with tempfile.TemporaryDirectory() as place:
        run, qrels = Path(place, "run"), Path(place, "qrels")
        found.write_run(run)
        dataset.write_qrels(qrels)
        theirs = [list(ir_measures.read_trec_qrels(str(qrels)))]
        theirs.append(list(ir_measures.read_trec_run(str(run))))
    aggregated, each = ir_measures.calc(list(measures), *theirs)
    ours = {name: found.values(name) for name in METRICS}
    means = [abs(found.metrics[name] - aggregated[measure]) for measure, name in measures.items()]
    return max(*means, *(abs(m.value - ours[measures[m.measure]][m.query_id]) for m in each))


def main() -> int:
    """Print the verdicts; return 1 if one falls short, else 0."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="a set in BEIR layout")
    retriever, dataset = read(parser.parse_args().data)
    found = evaluate(retriever, dataset, METRICS)
    print(found)
    cheap = verdict(
        "evaluate / the retrieval that it measures", added(retriever, dataset), at_most=1.05
    )
    largest = largest_difference(found, dataset)
    print(f"largest difference of any figure from ir-measures on the files: {largest:.1e}")
    exact = verdict("figures as ir-measures', in units of 1e-9", largest / 1e-9, at_most=1)
    return 0 if cheap and exact else 1


if __name__ == "__main__":
    sys.exit(main())
