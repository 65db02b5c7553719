"""Evaluate a hybrid retriever, tune it, and see what the change changes.

    python examples/evaluate.py [--out DIRECTORY]

The documents and questions are in this file, and the vectors are made of characters, so that the
example runs offline. Put your own in their place: `Dataset.from_beir("directory")` reads files.
Needs the extras `evaluate` and `keyword`.
"""

from __future__ import annotations

import argparse
import math
import zlib
from itertools import pairwise
from pathlib import Path

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_safe_retrievers.evaluation.birr import Verdict, birr
from langchain_safe_retrievers.evaluation.compare import compare
from langchain_safe_retrievers.evaluation.dataset import Dataset
from langchain_safe_retrievers.evaluation.evaluate import evaluate
from langchain_safe_retrievers.evaluation.significance import significance
from langchain_safe_retrievers.evaluation.space import weight_grid
from langchain_safe_retrievers.evaluation.tune import tune
from langchain_safe_retrievers.fusion.noisy_or import NoisyOr
from langchain_safe_retrievers.retrievers.hybrid import HybridRetriever
from langchain_safe_retrievers.retrievers.keyword import KeywordRetriever
from langchain_safe_retrievers.retrievers.vector import VectorRetriever

TEXTS = {
    "bees": "Honey bees make honey from nectar and live in hives.",
    "wasps": "Wasps build paper nests and hunt other insects.",
    "ants": "Ants live in colonies and carry leaves much heavier than themselves.",
    "moths": "Moths fly at night and are drawn to lamps.",
    "butterflies": "Butterflies fly by day and taste flowers with their feet.",
    "crickets": "Crickets chirp by rubbing their wings together.",
    "fireflies": "Fireflies glow in the dark to find a mate.",
    "beetles": "Beetles have hard wing cases and are the largest order of insects.",
}
QUESTIONS = {
    "1": ("Who makes honey?", "bees"),
    "2": ("Whose nests are of paper?", "wasps"),
    "3": ("Which insects carry leaves?", "ants"),
    "4": ("What is drawn to a lamp at night?", "moths"),
    "5": ("Who tastes with their feet?", "butterflies"),
    "6": ("How do crickets chirp?", "crickets"),
    "7": ("What glows in darkness?", "fireflies"),
    "8": ("Which order of insects is the largest?", "beetles"),
    "9": ("What is the capital of France?", None),
    "10": ("zzz?", None),
}


class CharacterEmbeddings(Embeddings):
    """Counts pairs of characters; knows no meaning, and needs no model."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return a unit vector for each text."""
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """Return a unit vector."""
        counts = [0.0] * 256
        for pair in pairwise(text.lower()):
            counts[zlib.crc32("".join(pair).encode()) % 256] += 1.0
        length = math.hypot(*counts) or 1.0
        return [count / length for count in counts]


arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
arguments.add_argument("--out", type=Path, help="where to write results as files")
out = arguments.parse_args().out

documents = [Document(page_content=text, id=name) for name, text in TEXTS.items()]
dataset = Dataset(
    queries={number: question for number, (question, _) in QUESTIONS.items()},
    qrels={number: {name: 1} for number, (_, name) in QUESTIONS.items() if name},
    name="insects",
)
retriever = HybridRetriever(
    vector=VectorRetriever(InMemoryVectorStore(CharacterEmbeddings())),
    keyword=KeywordRetriever(),
    weights={"vector": 1.0, "keyword": 0.0},
    k=3,
)
retriever.add_documents(documents)

print("Evaluate:", before := evaluate(retriever, dataset, ["nDCG@3", "R@1"]), sep="\n")

space = {
    "weights": weight_grid(["vector", "keyword"], 10),
    "fuser": [None, NoisyOr()],
    "c": [1, 60],
}
tuned = tune(retriever, dataset, space, metric="nDCG@3", latency_queries=4)
print("\nTune:", tuned, sep="\n")

after = evaluate(tuned.retriever, dataset, ["nDCG@3", "R@1"])
print("\nMore than chance?", significance(before, after, "nDCG@3"), sep="\n")
print("\nCompare:", compare(retriever, tuned.retriever, dataset, k=3), sep="\n")

answers = {question: TEXTS.get(name or "", "") for question, name in QUESTIONS.values()}


def solved(question: str, found: list[Document]) -> Verdict:
    """Judge by a rule: the first document is the one that answers."""
    first = found[0].page_content if found else ""
    return Verdict(first == answers[question], evidence=first)


print("\nResolved without a human:", birr(answers, solved, answer=tuned.retriever), sep="\n")

if out:
    out.mkdir(parents=True, exist_ok=True)
    after.save(out / "evaluation.json")
    after.write_run(out / "run.trec")
    dataset.write_qrels(out / "qrels.trec")
    tuned.write_csv(out / "tuning.csv")
    tuned.draw(out / "tuning.png")
    print(f"\nwritten to {out}")
