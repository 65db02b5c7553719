"""The embedding of an index: one that needs no download, or the user's own."""

from __future__ import annotations

import math
from operator import mul
from pathlib import Path
from typing import Any

from langchain_core.embeddings import Embeddings

from langchain_safe_retrievers.cli.imported import imported
from langchain_safe_retrievers.errors import ConfigurationError
from langchain_safe_retrievers.extras import load

DEFAULT = "wordllama"
_PROBE = "Which embedding made this index?"
_SAME = 0.99  # cosine from which two vectors of one text are one model's


class WordLlamaEmbeddings(Embeddings):
    """A static model of 256 dimensions, which the package wordllama brings with it.

    Example:
        >>> len(WordLlamaEmbeddings().embed_query("Bees make honey."))
        256
    """

    def __init__(self) -> None:
        """Load the model; nothing is downloaded."""
        wordllama = load("wordllama", "cli")
        home = Path(wordllama.__file__).parent
        self._model: Any = wordllama.WordLlama.load(cache_dir=home, disable_download=True)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return a unit vector for every text."""
        if not texts:
            return []
        vectors: list[list[float]] = self._model.embed(texts, norm=True).tolist()
        return vectors

    def embed_query(self, text: str) -> list[float]:
        """Return a query's unit vector."""
        return self.embed_documents([text])[0]


class NoEmbeddings(Embeddings):
    """Stands where nothing is to be embedded."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Refuse."""
        msg = f"{len(texts)} texts were to be embedded, where nothing should be"
        raise ConfigurationError(msg)

    def embed_query(self, text: str) -> list[float]:
        """Refuse."""
        return self.embed_documents([text])[0]


def load_embedding(name: str) -> Embeddings:
    """Load an embedding.

    Args:
        name: `wordllama`, or `module:object` for any LangChain `Embeddings`.

    Returns:
        The embedding.

    Raises:
        ConfigurationError: There is none of that name.
        MissingExtraError: wordllama is not installed.
    """
    if name == DEFAULT:
        return WordLlamaEmbeddings()
    if ":" not in name:
        msg = f"the embedding {name!r} is not known; expected {DEFAULT!r} or module:object"
        raise ConfigurationError(msg)
    found = imported(name)
    if isinstance(found, Embeddings):
        return found
    msg = f"{name!r} is a {type(found).__name__}; expected a LangChain Embeddings"
    raise ConfigurationError(msg)


def probe(embedding: Embeddings) -> list[float]:
    """Return the vector of a fixed text, by which an embedding is told from others.

    Args:
        embedding: The embedding.

    Returns:
        The vector, rounded.

    Raises:
        ConfigurationError: It is no vector, or one of length zero.
    """
    found = list(map(float, embedding.embed_query(_PROBE)))
    length = math.hypot(*found)
    if 0 < length < math.inf:
        return [float(f"{number:.5g}") for number in found]
    msg = f"{type(embedding).__name__} made a vector of length {length} of a text; expected > 0"
    raise ConfigurationError(msg)


def difference(one: list[float], other: list[float]) -> str | None:
    """Say how the vectors that two embeddings make of one text differ.

    Args:
        one: The one's `probe`.
        other: The other's.

    Returns:
        How, or None if they are alike.

    Example:
        >>> difference([1.0, 0.0], [0.0, 1.0]), difference([1.0], [1.0])
        ('cosine 0.00', None)
    """
    if len(one) != len(other):
        return f"{len(one)} dimensions instead of {len(other)}"
    lengths = math.hypot(*one) * math.hypot(*other)
    cosine = sum(map(mul, one, other)) / lengths if lengths else 0.0
    return None if cosine >= _SAME else f"cosine {cosine:.2f}"
