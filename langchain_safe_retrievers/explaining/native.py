"""Explanations as JSON-native values."""

from __future__ import annotations

from typing import Any

from langchain_core.documents import Document

from langchain_safe_retrievers.report import _JsonNative


def json_native(value: Any) -> Any:
    """Return a value as JSON has it.

    Args:
        value: Any value.

    Returns:
        Strings, numbers, bools, None, lists and dicts; what JSON has no form for as its `repr`.

    Example:
        >>> json_native({"page": (1, {2})})
        {'page': [1, '{2}']}
    """
    return _JsonNative().of(value)


def fields_dict(data: object, *names: str) -> dict[str, Any]:
    """Return some fields of an object.

    Args:
        data: The object.
        *names: The fields.

    Returns:
        A new dict of JSON-native values.
    """
    return {name: json_native(getattr(data, name)) for name in names}


def document_dict(document: Document) -> dict[str, Any]:
    """Return a document.

    Args:
        document: The document.

    Returns:
        A new dict of JSON-native values.

    Example:
        >>> document_dict(Document(page_content="a", id="1"))
        {'id': '1', 'text': 'a', 'metadata': {}}
    """
    return {
        "id": json_native(document.id),
        "text": json_native(document.page_content),
        "metadata": json_native(document.metadata),
    }
