"""The id of a document that came without one."""

from __future__ import annotations

from hashlib import sha256
from uuid import UUID

from langchain_core.documents import Document

from langchain_safe_retrievers.codec import encode


def content_id(document: Document) -> str:
    """Return an id made from the document's text and metadata: equal documents, equal ids.

    It is a UUID, which every store takes as an id; the order of metadata keys does not matter.

    Args:
        document: The document; its own `id` is not looked at.

    Returns:
        A UUID of SHA-256 bits.

    Raises:
        MetadataError: The metadata cannot be represented (see `codec`).

    Example:
        >>> content_id(Document(page_content="a", metadata={"page": 1}))
        'c3edf21e-c6ba-8f7f-8387-b2e029308ef0'
    """
    return id_of_text(encode(document.page_content) + encode(document.metadata, sort_keys=True))


def id_of_text(text: str) -> str:
    """Return a UUID (version 8: made by a rule of one's own) of a text's SHA-256.

    Args:
        text: Any valid Unicode.

    Returns:
        The UUID, written with hyphens.

    Example:
        >>> id_of_text("a")
        'ca978112-ca1b-8dca-bac2-31b39a23dc4d'
    """
    bits = int.from_bytes(sha256(text.encode()).digest()[:16])
    version, variant = 0xF000 << 64, 0xC000 << 48
    return str(UUID(int=(bits & ~version & ~variant) | 0x8000 << 64 | 0x8000 << 48))
