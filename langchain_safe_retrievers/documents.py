"""Documents made of parts that are known to be valid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.documents import Document


def trusted_document(text: str, metadata: dict[str, Any], id: str | None) -> Document:  # noqa: A002 - LangChain's name
    """Return a document without having pydantic check its parts: in a third of the time.

    Args:
        text: The text, a `str`.
        metadata: The metadata; the document takes it over, it is not copied.
        id: The id, or None.

    Returns:
        What `Document(page_content=text, metadata=metadata, id=id)` returns.

    Example:
        >>> trusted_document("a", {"page": 1}, "7") == Document("a", metadata={"page": 1}, id="7")
        True
    """
    document = _new(Document)
    document.__dict__.update(_FIELDS, id=id, metadata=metadata, page_content=text)
    _set(document, "__pydantic_fields_set__", {"id", "metadata", "page_content"})
    _set(document, "__pydantic_extra__", None)
    _set(document, "__pydantic_private__", None)
    return document


def without_content(documents: Sequence[Document]) -> list[Document]:
    """Return documents that have the ids alone.

    Args:
        documents: The documents.

    Returns:
        As many new ones.

    Example:
        >>> without_content([Document("Bees", id="7")])
        [Document(id='7', metadata={}, page_content='')]
    """
    return [trusted_document("", {}, document.id) for document in documents]


_new, _set = object.__new__, object.__setattr__
_FIELDS = Document(page_content="", metadata={}, id="").__dict__
