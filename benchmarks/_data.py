"""Documents as two stores of one corpus return them, equal values and no object shared; chunks."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import Any

import numpy as np
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings


def metadata(number: int, *, conflicting: bool = False) -> dict[str, Any]:
    """Return the eight keys of one passage's metadata, nested two levels deep.

    Args:
        number: The passage's number.
        conflicting: Whether this store says another source and another paragraph number.

    Returns:
        A dict that shares no mutable value with any other.
    """
    return {
        "source": f"{'mirror' if conflicting else 'official'}/acts/{number}.html",
        "title": f"Data Protection Act, section {number}",
        "page": 1000 + number,
        "lang": "en",
        "tags": ["law", "privacy", f"part-{number % 7}"],
        "law": {
            "chapter": f"chapter {number // 10}",
            "position": {"section": number, "paragraph": number % 4 + 10 * conflicting},
        },
        "updated": f"2024-{number % 12 + 1:02}-01T00:00:00Z",
        "in_force": number % 5 != 0,
    }


def document(number: int, *, conflicting: bool = False) -> Document:
    """Return a passage of 1 kB with its metadata.

    Args:
        number: The passage's number.
        conflicting: As for `metadata`.

    Returns:
        A new document.
    """
    text = f"Section {number}. " + "The controller shall keep a record of processing. " * 20
    return Document(page_content=text[:1000], metadata=metadata(number, conflicting=conflicting))


# Many chunks of words, and vectors for them -------------------------------------------------------

VOCABULARY = 50_000
LETTERS = "bcdfghjklmnpqrtvwxz"


def word(number: int) -> str:
    """Return a word of five letters that no stemmer touches."""
    spelled = ""
    for _ in range(4):
        number, letter = divmod(number, len(LETTERS))
        spelled += LETTERS[letter]
    return f"q{spelled}"


def chunks(count: int, first: int = 0) -> Iterator[Document]:
    """Yield chunks of 40 to 120 words whose frequencies follow Zipf's law, the same each time.

    Args:
        count: How many.
        first: The first one's number, which is its id.

    Yields:
        Documents with five metadata keys, none of them nested: every store takes them.
    """
    chance = random.Random(first)  # noqa: S311 - no secrets
    words = [word(n) for n in range(VOCABULARY)]
    weights = list(accumulate(1 / (n + 10) for n in range(VOCABULARY)))
    for n in range(first, first + count):
        text = " ".join(chance.choices(words, cum_weights=weights, k=chance.randrange(40, 121)))
        known = {
            "source": f"file{n // 50}.md",
            "page": n % 50,
            "lang": ("en", "de", "fr")[n % 3],
            "chapter": n % 100,
            "updated": f"2024-{n % 12 + 1:02}-{n % 28 + 1:02}",
        }
        yield Document(page_content=text, metadata=known, id=str(n))


def questions(count: int = 20) -> list[str]:
    """Return queries of five content words: neither the commonest nor the rarest."""
    chance = random.Random(7)  # noqa: S311 - no secrets
    return [" ".join(word(chance.randrange(200, 5000)) for _ in range(5)) for _ in range(count)]


class Vectors(Embeddings):
    """Random unit vectors, made beforehand and looked up by text."""

    def __init__(self, texts: Iterable[str], dimensions: int) -> None:
        self.rows = {text: row for row, text in enumerate(texts)}
        drawn = np.random.default_rng(3).standard_normal((len(self.rows), dimensions), np.float32)
        self.vectors = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self.vectors[[self.rows[text] for text in texts]].tolist()

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]
