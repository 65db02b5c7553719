"""What SafeRetriever costs: around a leg that answers at once, and for a hit in its cache.

python benchmarks/safe.py

The limits are microseconds more than `BaseRetriever.invoke` of the leg alone: 60 without a timeout,
150 with one (the leg then runs in another thread), 50 for a cache hit of 10 documents of 1 kB. All
take turns in one run; the times of `BaseRetriever.invoke` and of a retriever that does nothing but
call the leg below its own run are printed beside them, for what a microsecond is on this machine.
"""

import sys
from time import perf_counter

from _measure import verdict
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from langchain_safe_retrievers import SafeRetriever

HITS = [
    Document("x" * 1000, id=str(i), metadata={"source": "a.txt", "page": i, "tags": ["a", "b"]})
    for i in range(10)
]


class Instant(BaseRetriever):
    """Returns its documents."""

    def _get_relevant_documents(self, query, *, run_manager):  # noqa: ARG002 - core's signature
        return HITS


class Around(BaseRetriever):
    """Calls a leg below its own run: the least that a wrapper can do."""

    leg: BaseRetriever

    def _get_relevant_documents(self, query, *, run_manager):
        return self.leg.invoke(query, {"callbacks": run_manager.get_child()})


def microseconds(retrievers, rounds=400, calls=20):
    """Return each one's best time, taking turns: what else runs only adds time."""
    best = [float("inf")] * len(retrievers)
    for _ in range(rounds):
        for i, retriever in enumerate(retrievers):
            start = perf_counter()
            for _ in range(calls):
                retriever.invoke("question")
            best[i] = min(best[i], (perf_counter() - start) / calls * 1e6)
    return best


def main():
    leg = Instant()
    alone, around, plain, timed, hit = microseconds(
        [
            leg,
            Around(leg=leg),
            SafeRetriever(retriever=leg, timeout=None, deadline=None),
            SafeRetriever(retriever=leg),
            SafeRetriever(retriever=leg, cache=True),
        ]
    )
    print(f"BaseRetriever.invoke: {alone:.0f} µs; called by another: {around - alone:.0f} µs more")
    rows = [
        ("without a timeout", plain, 60),
        ("with a timeout", timed, 150),
        ("a cache hit, 10 documents of 1 kB", hit, 50),
    ]
    holds = [
        verdict(
            f"{what}, µs more than the leg alone ({took / alone:.1f} times it)",
            took - alone,
            at_most=limit,
        )
        for what, took, limit in rows
    ]
    return 0 if all(holds) else 1


if __name__ == "__main__":
    sys.exit(main())
