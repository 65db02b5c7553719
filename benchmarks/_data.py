"""Documents as two stores of one corpus return them: equal values, no object shared."""

from __future__ import annotations

from typing import Any

from langchain_core.documents import Document


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
