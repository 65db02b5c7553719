"""A whole `invoke`: instant legs against EnsembleRetriever, slow legs against the slowest.

python benchmarks/invoke.py

Two legs of 10 hits that answer at once must cost at most twice what EnsembleRetriever takes for
them (it asks them one by one, in the calling thread). Five legs that sleep 50 ms must take at most
10 ms longer than one of them alone.
"""

import statistics
import sys
import time

from _measure import verdict
from langchain_classic.retrievers import EnsembleRetriever
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from langchain_safe_retrievers import SafeEnsembleRetriever

SLEEP = 0.05


class Leg(BaseRetriever):
    """Returns its documents, after sleeping if it is told to."""

    documents: list[Document]
    sleep: float = 0.0

    def _get_relevant_documents(self, query, *, run_manager):  # noqa: ARG002 - core's signature
        if self.sleep:
            time.sleep(self.sleep)
        return self.documents


def leg(name, sleep=0.0):
    hits = [Document(f"{name}{rank}", metadata={"source": name, "n": rank}) for rank in range(10)]
    return Leg(documents=hits, sleep=sleep)


def seconds(retriever, calls):
    start = time.perf_counter()
    for _ in range(calls):
        retriever.invoke("question")
    return (time.perf_counter() - start) / calls


def best(*retrievers, calls, rounds):
    """Return each one's best time of many rounds, taking turns: other load only adds time."""
    measured = [[seconds(each, calls) for each in retrievers] for _ in range(rounds)]
    return map(min, zip(*measured, strict=True))


def main():
    legs = [leg("a"), leg("b")]
    upstream = EnsembleRetriever(retrievers=legs, weights=[0.5, 0.5])
    ours, theirs = best(SafeEnsembleRetriever(retrievers=legs), upstream, calls=50, rounds=60)
    instant = verdict("invoke, two instant legs, in times of upstream", ours / theirs, at_most=2)

    slow = [leg(str(number), SLEEP) for number in range(5)]
    together = SafeEnsembleRetriever(retrievers=slow)
    pairs = [(seconds(together, 1), seconds(slow[0], 1)) for _ in range(20)]
    over = statistics.median(ours - alone for ours, alone in pairs) * 1000
    waits = verdict("five legs that sleep 50 ms, ms over one alone", over, at_most=10)
    return 0 if instant and waits else 1


if __name__ == "__main__":
    sys.exit(main())
