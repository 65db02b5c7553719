"""Fingerprints tell retrievers with different settings apart."""

from __future__ import annotations

import subprocess
import sys

from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.runnables import RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_safe_retrievers import ReciprocalRank, SafeEnsembleRetriever, SafeRetriever
from langchain_safe_retrievers.resilience.fingerprint import fingerprint
from langchain_safe_retrievers.retrievers.keyword import KeywordRetriever
from langchain_safe_retrievers.testing import FakeLeg


def _store():
    return InMemoryVectorStore(DeterministicFakeEmbedding(size=4))


def test_equal_settings_have_one_fingerprint_and_others_another():
    one = SafeEnsembleRetriever(retrievers=[FakeLeg(), FakeLeg()], k=3)
    same = SafeEnsembleRetriever(retrievers=[FakeLeg(), FakeLeg()], k=3)
    other = SafeEnsembleRetriever(retrievers=[FakeLeg(), FakeLeg()], k=4)
    deep = SafeEnsembleRetriever(retrievers=[FakeLeg(), FakeLeg(delay=1)], k=3)

    assert fingerprint(one) == fingerprint(same)
    assert len({fingerprint(r)[0] for r in (one, other, deep)}) == 3


def test_search_kwargs_are_part_of_it():
    one = _store().as_retriever(search_kwargs={"k": 3})
    other = _store().as_retriever(search_kwargs={"k": 4})

    assert fingerprint(one)[0] != fingerprint(other)[0]


def test_what_it_cannot_see_into_is_named():
    assert fingerprint(_store().as_retriever())[1] == (
        "langchain_core.vectorstores.in_memory.InMemoryVectorStore",
    )
    assert fingerprint(RunnableLambda(lambda query: []))[1]


def test_it_is_the_same_in_every_process():
    code = (
        "from langchain_safe_retrievers.resilience.fingerprint import fingerprint;"
        "from langchain_safe_retrievers.testing import FakeLeg;"
        "print(fingerprint(FakeLeg(documents=['a'], disagree={'x': {1, 2, 3}}))[0], end='')"
    )
    other = subprocess.run(  # noqa: S603 - our own code
        [sys.executable, "-c", code], capture_output=True, check=True, text=True
    )

    leg = FakeLeg(documents=["a"], disagree={"x": {1, 2, 3}})
    assert other.stdout == fingerprint(leg)[0]


def test_a_fuser_with_other_constants_is_another():
    one = SafeEnsembleRetriever(retrievers=[FakeLeg()], fuser=ReciprocalRank(1))
    other = SafeEnsembleRetriever(retrievers=[FakeLeg()], fuser=ReciprocalRank(2))

    assert fingerprint(one) != fingerprint(other)


def test_an_index_in_a_private_attribute_cannot_be_seen_into():
    (index,) = fingerprint(KeywordRetriever.from_texts(["bees"]))[1]
    assert index == "langchain_safe_retrievers.keyword.index.KeywordIndex"
    known = fingerprint(SafeRetriever(retriever=FakeLeg()))[1]
    assert "langchain_safe_retrievers" not in str(known)
