"""Embeddings that need no model, and objects that commands are given by name."""

from __future__ import annotations

from collections.abc import Callable

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from langchain_safe_retrievers.retrievers.ensemble import SafeEnsembleRetriever
from langchain_safe_retrievers.testing import FakeLeg

NAME = f"{__name__}:LetterEmbeddings"


class LetterEmbeddings(Embeddings):
    """Counts letters, and the texts it was given."""

    embedded = 0
    before_each: Callable[[], None] | None = None

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return a vector for each text."""
        LetterEmbeddings.embedded += len(texts)
        if LetterEmbeddings.before_each is not None:
            LetterEmbeddings.before_each()
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """Return a vector."""
        return [1.0 + text.lower().count(letter) for letter in "abcdefghijklmnop"]


class MirroredEmbeddings(LetterEmbeddings):
    """Makes other vectors of the same length."""

    def embed_query(self, text: str) -> list[float]:
        """Return a vector."""
        return [-number for number in super().embed_query(text)]


class ShortEmbeddings(LetterEmbeddings):
    """Makes shorter vectors."""

    def embed_query(self, text: str) -> list[float]:
        """Return a vector."""
        return super().embed_query(text)[:3]


def legs() -> list[FakeLeg]:
    """Return two legs that know different things of one document."""
    found = [Document("Bees make honey.", metadata={"page": 3}, id="bees")]
    return [FakeLeg(documents=["Bees make honey.", "Wasps"]), FakeLeg(documents=found)]


def ensemble() -> SafeEnsembleRetriever:
    """Return a retriever over documents with ids."""
    bees, wasps = Document("Bees", id="bees"), Document("Wasps", id="wasps")
    return SafeEnsembleRetriever(
        retrievers=[FakeLeg(documents=[wasps, bees]), FakeLeg(documents=[bees, wasps])],
        weights=[0.6, 0.4],
    )


def broken() -> None:
    """Fail as no program foresees."""
    msg = "no\nhoney"
    raise RuntimeError(msg)
