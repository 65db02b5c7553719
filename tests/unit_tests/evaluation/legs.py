"""Legs, documents and datasets that the tests of this folder share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import Field, PrivateAttr

from langchain_safe_retrievers.evaluation.dataset import Dataset
from langchain_safe_retrievers.fusion.fuser import RankedList

BEES = Dataset({"1": "Who makes honey?"}, {"1": {"bees": 1}})
"""One question, which the document "bees" answers."""


def doc(name: str, text: str | None = None, **metadata: Any) -> Document:
    """Return a document whose id is its text, unless told otherwise."""
    return Document(page_content=name if text is None else text, id=name, metadata=metadata)


def docs(names: str) -> list[Document]:
    """Return a document for each word."""
    return [doc(name) for name in names.split()]


class Answers(BaseRetriever):
    """Returns the first `k` of what it is told to for a question, with scores; may be broken.

    It takes a filter, and does not heed it.
    """

    answers: dict[str, list[Document]] = Field(default_factory=dict)
    scores: dict[str, Sequence[float]] = Field(default_factory=dict)
    k: int = 100
    broken: set[str] = Field(default_factory=set)

    _asked: list[tuple[str, int]] = PrivateAttr(default_factory=list)

    @property
    def asked(self) -> list[tuple[str, int]]:
        return self._asked

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,
        k: int | None = None,
        filter: Any = None,
    ) -> list[Document]:
        k = self.k if k is None else k
        self._asked.append((query, k))
        if query in self.broken:
            msg = "no such shard"
            raise OSError(msg)
        scores = self.scores.get(query)
        found = self.answers.get(query, [])[:k]
        return RankedList(found, scores=None if scores is None else list(scores)[: len(found)])


class Untold(BaseRetriever):
    """Returns all it is told to: it takes no `k`, and does not heed a filter."""

    answers: dict[str, list[Document]] = Field(default_factory=dict)
    _asked: list[str] = PrivateAttr(default_factory=list)

    @property
    def asked(self) -> list[str]:
        return self._asked

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, filter: Any = None
    ) -> list[Document]:
        self._asked.append(query)
        return self.answers.get(query, [])
