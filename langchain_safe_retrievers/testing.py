"""Fake legs for tests of code that retrieves: they delay, fail, hang, repeat and disagree."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Sequence
from typing import Any

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import Field, PrivateAttr

_some_released = threading.Condition()  # one for all legs, so that legs can be copied and pickled


class FakeLeg(BaseRetriever):
    """A retriever that returns what it is told to, as late and as badly as it is told to.

    It remembers what it was asked (`calls`), and takes any named argument without heeding it.

    Args:
        documents: What to return: documents, texts, or (document, score) pairs; anything else
            is returned as it is, for legs that break the rules.
        delay: Seconds to wait first.
        error: What to raise instead.
        hangs: Whether to wait until `release()`.
        repeat: How often to return each document in a row, at least 1.
        disagree: Metadata laid over every document's own, so that its copies disagree.

    Example:
        >>> leg = FakeLeg(documents=["a"], disagree={"source": "fake"})
        >>> leg.invoke("question", k=3)
        [Document(metadata={'source': 'fake'}, page_content='a')]
        >>> leg.calls
        [('question', {'k': 3})]
    """

    documents: Any = Field(default_factory=list)
    delay: float = Field(default=0.0, ge=0)
    error: Any = None
    hangs: bool = False
    repeat: int = Field(default=1, ge=1)
    disagree: dict[Any, Any] = Field(default_factory=dict)

    _calls: list[tuple[str, dict[str, Any]]] = PrivateAttr(default_factory=list)
    _released: bool = PrivateAttr(default=False)

    @property
    def calls(self) -> list[tuple[str, dict[str, Any]]]:
        """The queries it was asked so far, with their named arguments."""
        return self._calls

    def release(self) -> None:
        """Let every thread and task that hangs in this leg go on, and hang no more."""
        with _some_released:
            self._released = True
            _some_released.notify_all()

    def _get_relevant_documents(self, query: str, **kwargs: Any) -> Any:
        self._calls.append((query, kwargs))
        if self.delay:
            time.sleep(self.delay)
        if self.hangs:
            with _some_released:
                _some_released.wait_for(lambda: self._released)
        return self._answer()

    async def _aget_relevant_documents(self, query: str, **kwargs: Any) -> Any:
        self._calls.append((query, kwargs))
        if self.delay:
            await asyncio.sleep(self.delay)
        while self.hangs and not self._released:  # noqa: ASYNC110 - any thread may release it
            await asyncio.sleep(0.001)
        return self._answer()

    def _answer(self) -> Any:
        if self.error is not None:
            raise self.error
        if not isinstance(self.documents, (list, tuple)):
            return self.documents
        return [item for given in self.documents for item in [self._item(given)] * self.repeat]

    def _item(self, given: Any) -> Any:
        if isinstance(given, tuple):
            return tuple(map(self._item, given))
        if isinstance(given, str):
            given = Document(page_content=given)
        if isinstance(given, Document) and self.disagree:
            return given.model_copy(update={"metadata": {**given.metadata, **self.disagree}})
        return given


def texts(documents: Sequence[Document]) -> list[str]:
    """Return the documents' texts, to compare results with.

    Args:
        documents: Any documents.

    Returns:
        Their `page_content`, in order.

    Example:
        >>> texts([Document(page_content="a"), Document(page_content="b")])
        ['a', 'b']
    """
    return [document.page_content for document in documents]
