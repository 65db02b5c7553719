"""Identities: the rule that says which documents are the same one.

An identity is any callable `Document -> value or None`. Documents with the same value
(`langchain_safe_retrievers.merging.values.same`) are copies of one document; the value need
not be hashable. None means "this rule does not apply", and a document without an identity
is a copy of no other.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from langchain_core.documents import Document

Identity = Callable[[Document], Any]
"""Returns what makes a document the one it is, or None if it cannot say."""


def by_content(document: Document) -> str:
    """Return the document's text: equal texts are one document.

    Args:
        document: The document.

    Returns:
        Its `page_content`.

    Example:
        >>> by_content(Document(page_content="a", id="1"))
        'a'
    """
    return document.page_content


def by_id(document: Document) -> str | None:
    """Return the document's id, or None if it has none.

    Args:
        document: The document.

    Returns:
        Its `id`.

    Example:
        >>> by_id(Document(page_content="a", id="1"))
        '1'
    """
    return document.id


def by_normalized_content(document: Document) -> str:
    r"""Return the text in Unicode NFC with white space collapsed and case folded.

    Args:
        document: The document.

    Returns:
        The normalized text.

    Example:
        >>> by_normalized_content(Document(page_content="  Cafe\u0301\n AU lait"))
        'café au lait'
    """
    folded = unicodedata.normalize("NFC", document.page_content).casefold()
    return " ".join(unicodedata.normalize("NFC", folded).split())


@dataclass(frozen=True)
class by_key:  # noqa: N801 - used as a function, a class so that it pickles and compares
    """The identity that reads one metadata key; None where the key is missing or None.

    Args:
        key: The metadata key.

    Example:
        >>> by_key("doc_id")(Document(page_content="a", metadata={"doc_id": [1, 2]}))
        [1, 2]
    """

    key: str

    def __call__(self, document: Document) -> Any:
        """Return the value of the key."""
        return document.metadata.get(self.key)


@dataclass(frozen=True, init=False)
class by_levels:  # noqa: N801 - as by_key
    """The identity that asks several in turn and takes the first that can say.

    Documents identified by different levels are different documents.

    Args:
        *levels: The identities, most reliable first.

    Example:
        >>> identity = by_levels(by_key("doc_id"), by_id, by_content)
        >>> identity(Document(page_content="a", id="7"))
        (1, '7')
    """

    levels: tuple[Identity, ...]

    def __init__(self, *levels: Identity) -> None:
        """Remember the levels."""
        object.__setattr__(self, "levels", levels)

    def __call__(self, document: Document) -> tuple[int, Any] | None:
        """Return the number of the first level that can say, and what it says."""
        for number, level in enumerate(self.levels):
            if (value := level(document)) is not None:
                return number, value
        return None
