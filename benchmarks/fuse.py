"""Fusing two legs and folding what both found, against langchain-classic's ensemble.

Two lists of 100 passages (1 kB of text, 8 metadata keys nested two levels deep), half of
them in both. "Equal": both legs' metadata say the same. "Conflicting": the copies disagree
on a string (`source`) and on a nested number (`law.position.paragraph`), both are recorded,
and every document gets its provenance. Upstream keeps the first copy and drops the other.
"""

from __future__ import annotations

import sys

from _data import document
from _measure import best_times, verdict
from langchain_classic.retrievers import EnsembleRetriever
from langchain_core.runnables import RunnableLambda

from langchain_safe_retrievers.merging.fold import Engine
from langchain_safe_retrievers.merging.langchain_policies import LangChainEnsembleMetaPolicy

WEIGHTS = [0.5, 0.5]


def main() -> int:
    """Print a line for each claim; return 1 if one falls short, else 0."""
    first = [document(number) for number in range(100)]
    equal = [document(number) for number in range(50, 150)]
    conflicting = [document(number, conflicting=True) for number in range(50, 150)]
    upstream = EnsembleRetriever(retrievers=[RunnableLambda(str)] * 2, weights=WEIGHTS)
    engine = Engine(policy=LangChainEnsembleMetaPolicy())
    tracing = Engine(policy=LangChainEnsembleMetaPolicy(), provenance_key="_provenance")

    folded = tracing.merge([first, conflicting], WEIGHTS)
    if len(folded.conflicts) != 50 or len(upstream.weighted_reciprocal_rank([first, equal])) != 150:
        return 1
    theirs, ours, ours_tracing = best_times(
        lambda: upstream.weighted_reciprocal_rank([first, equal]),
        lambda: engine.merge([first, equal], WEIGHTS),
        lambda: tracing.merge([first, conflicting], WEIGHTS),
        seconds=10,
    )
    results = [
        verdict(
            "fuse and fold 2 x 100 hits, equal metadata, in times of upstream",
            ours / theirs,
            at_most=2.0,
        ),
        verdict(
            "the same, conflicts and provenance recorded, in times of upstream",
            ours_tracing / theirs,
            at_most=5.0,
        ),
    ]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
