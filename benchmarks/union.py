"""The union of several queries' hits, against langchain-classic's `_unique_documents`.

Half of the hits are found twice (1 kB of text, 8 metadata keys nested two levels deep).
"Equal": the two copies' metadata say the same. "Conflicting": they disagree on a string
(`source`) and on a nested number (`law.position.paragraph`), and both are recorded; there
upstream keeps both copies. Each union is measured over one list, and over five, as five
queries give them: the slower counts.
"""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING

from _data import document
from _measure import best_times, verdict
from langchain_classic.retrievers.multi_query import _unique_documents

from langchain_safe_retrievers.fusion.fuser import RankedList
from langchain_safe_retrievers.merging.fold import Engine, Merged
from langchain_safe_retrievers.merging.langchain_policies import LangChainMultiQueryUnionPolicy

if TYPE_CHECKING:
    from langchain_core.documents import Document

ENGINE = Engine(policy=LangChainMultiQueryUnionPolicy())


def hits(count: int, *, conflicting: bool = False) -> list[Document]:
    """Return `count` hits: half as many passages, each of them twice."""
    once = [document(number) for number in range(count // 2)]
    return once + [document(number, conflicting=conflicting) for number in range(count // 2)]


def in_five(documents: list[Document]) -> list[RankedList]:
    """Deal the hits out to five queries."""
    return [
        RankedList(documents[n::5], leg=f"query_{n + 1}", query=f"question {n + 1}")
        for n in range(5)
    ]


def union(lists: list[list[Document]] | list[RankedList]) -> Merged:
    """Return the union in first-seen order."""
    return ENGINE.merge(lists, first_seen=True)


def speedup(documents: list[Document], seconds: float) -> float:
    """Return how many times faster than upstream the union is."""
    five = in_five(documents)
    theirs, one_list, five_lists = best_times(
        lambda: _unique_documents(documents),
        lambda: union([documents]),
        lambda: union(five),
        seconds=seconds,
    )
    return theirs / max(one_list, five_lists)


def growth(small: int, large: int) -> float:
    """Return the exponent e of time ~ hits ** e between two sizes."""
    few, many = hits(small), hits(large)
    little, much = best_times(lambda: union([few]), lambda: union([many]), seconds=6, at_least=50)
    return math.log(much / little) / math.log(large / small)


def main() -> int:
    """Print a line for each claim; return 1 if one falls short, else 0."""
    results = [
        verdict("union of 50 hits, equal metadata, times faster", speedup(hits(50), 6), at_least=8),
        verdict(
            "union of 1,000 hits, equal metadata, times faster",
            speedup(hits(1000), 12),
            at_least=150,
        ),
        verdict("its growth exponent from 200 to 3,000 hits", growth(200, 3000), at_most=1.2),
        verdict(
            "union of 1,000 hits, conflicting metadata, times faster",
            speedup(hits(1000, conflicting=True), 14),
            at_least=80,
        ),
    ]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
