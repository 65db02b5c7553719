"""How many settings × questions a second can fusion be replayed from two legs of 100 hits?

    python benchmarks/tune.py

Required: 5,000 on one core, scoring by ir-measures included. The legs are made up: 100 hits of
5,000 documents each, with scores, half of them in both. About 1,000 settings (weights, fuser, c,
depth and k) are tried on 300 questions. Rankings drawn at random are compared with those of the
retriever itself; one that differs fails the benchmark. Needs the extra `evaluate`.
"""

# ruff: noqa: S311 - seeded: the same every time

from __future__ import annotations

import argparse
import random
import sys
from time import perf_counter, thread_time

from _measure import verdict
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from langchain_safe_retrievers.evaluation.dataset import Dataset
from langchain_safe_retrievers.evaluation.hits import Asking, collect_hits
from langchain_safe_retrievers.evaluation.replay import same_documents
from langchain_safe_retrievers.evaluation.space import settings_of, weight_grid
from langchain_safe_retrievers.evaluation.trial import trials_of
from langchain_safe_retrievers.evaluation.tune import _Quality, tune
from langchain_safe_retrievers.fusion.distribution_based import DistributionBased
from langchain_safe_retrievers.fusion.fuser import RankedList
from langchain_safe_retrievers.fusion.noisy_or import NoisyOr
from langchain_safe_retrievers.fusion.relative_score import RelativeScore
from langchain_safe_retrievers.retrievers.hybrid import HybridRetriever

HITS, QUESTIONS, COMPARED = 100, 300, 500
LEGS = ["vector", "keyword"]
SPACE = {
    "weights": [each for each in weight_grid(LEGS, 20) if all(each.values())],
    "fuser": [None, NoisyOr(), RelativeScore(), DistributionBased()],
    "c": [10, 60, 100],
    "fetch_k": [20, 50, 100],
    "k": [5, 10, 20],
}


class MadeUp(BaseRetriever):
    """Finds documents at random, the same ones for a question each time."""

    documents: list[Document]
    seed: int

    def _get_relevant_documents(self, query, *, run_manager, k=HITS):  # noqa: ARG002 - core's signature
        chance = random.Random(f"{query}/{self.seed}")
        both = random.Random(query).sample(self.documents, HITS // 2)
        found = [*both, *chance.sample(self.documents, HITS)]
        found = list({document.id: document for document in found}.values())[:HITS]
        chance.shuffle(found)
        scores = sorted((chance.gauss(0, 1) for _ in found), reverse=True)
        return RankedList(found[:k], scores=scores[:k])


def made_up():
    documents = [
        Document(page_content=f"Text of document {number}.", id=str(number), metadata={"n": number})
        for number in range(5000)
    ]
    legs = {name: MadeUp(documents=documents, seed=seed) for seed, name in enumerate(LEGS)}
    chance = random.Random(1)
    queries = {str(number): f"question {number}" for number in range(QUESTIONS)}
    both = {key: random.Random(text).sample(documents, HITS // 2) for key, text in queries.items()}
    qrels = {key: {each.id: 1 for each in chance.sample(found, 3)} for key, found in both.items()}
    return HybridRetriever(legs=legs), Dataset(queries, qrels)


def compare(asking, hits, trials, queries):
    """Return how many rankings of the retriever itself differ from the replay's."""
    chance = random.Random(2)
    pairs = [(chance.choice(trials), chance.choice(queries)) for _ in range(COMPARED)]
    return sum(
        not same_documents(
            asking.ask(trial.retriever, query), hits.ranking(trial, query), asking.dataset
        )
        for trial, query in pairs
    )


def main() -> int:
    """Print the verdicts; return 1 if one falls short, else 0."""
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    retriever, dataset = made_up()
    queries = list(dataset.queries)
    trials = trials_of(retriever, settings_of(SPACE), {})
    asking = Asking(dataset, {}, {}, 1, show=False)
    hits = collect_hits(asking, trials, queries)
    quality = _Quality(dataset, "nDCG@10", queries)
    start = thread_time()
    means = [quality.mean(run) for run in hits.runs(trials, queries)]
    seconds = thread_time() - start
    print(f"{len(means)} settings on {QUESTIONS} questions in {seconds:.1f} s of one core")
    claim = "settings x questions a second on one core, 2 legs of 100 hits"
    fast = verdict(claim, len(means) * QUESTIONS / seconds, at_least=5000)
    differing = compare(asking, hits, trials, queries)
    exact = verdict(
        f"rankings of {COMPARED} that the retriever itself ranks otherwise", differing, at_most=0
    )
    start = perf_counter()
    tune(retriever, dataset, SPACE)
    print(f"tune(), the legs asked and timed as well: {perf_counter() - start:.1f} s")
    return 0 if fast and exact else 1


if __name__ == "__main__":
    sys.exit(main())
