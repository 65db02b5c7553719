"""Copies of containers, for functions that may change what they are given."""

from __future__ import annotations

import copy
from typing import Any

from langchain_core.documents import Document

from langchain_safe_retrievers.merging.values import is_dict

_PLAIN = frozenset({dict, list, set})
_SCALARS = frozenset({str, int, float, bool, type(None)})


def copy_containers(value: Any) -> Any:
    """Return `value` with its dicts, lists and sets copied, and everything else shared.

    Args:
        value: Any value; cycles stay cycles, and containers keep their types.

    Returns:
        The copy.

    Example:
        >>> inner = ["a"]
        >>> copied = copy_containers({"tags": inner})
        >>> copied == {"tags": ["a"]}, copied["tags"] is inner
        (True, False)
    """
    if type(value) is dict and _SCALARS.issuperset(map(type, value.values())):
        return value.copy()  # nearly always
    made: dict[int, Any] = {}
    todo: list[Any] = []
    whole = _copied(value, made, todo)
    for container in todo:  # grows as it goes: no recursion, any depth
        if is_dict(container):
            for key, item in list(container.items()):
                container[key] = _copied(item, made, todo)
        elif issubclass(type(container), list):
            container[:] = [_copied(item, made, todo) for item in container]
    return whole


def _copied(value: Any, made: dict[int, Any], todo: list[Any]) -> Any:
    """Return a shallow copy of a container, the one made earlier if there is one."""
    kind = type(value)
    if kind in _SCALARS or not issubclass(kind, (dict, list, set)):
        return value
    if id(value) not in made:
        made[id(value)] = copied = value.copy() if kind in _PLAIN else copy.copy(value)
        todo.append(copied)
    return made[id(value)]


def replaced(document: Document, metadata: dict[Any, Any], known_id: str | None) -> Document:
    """Return a copy of a document, of its own type, with other metadata and id.

    Args:
        document: The document.
        metadata: The copy's metadata, taken as it is.
        known_id: The copy's id.

    Returns:
        A new document.

    Example:
        >>> replaced(Document(page_content="a", id="1"), {"page": 1}, "2")
        Document(id='2', metadata={'page': 1}, page_content='a')
    """
    if type(document) is not Document:
        return document.model_copy(update={"metadata": metadata, "id": known_id})
    copy = _new(Document)  # what pydantic's own copy does, in half the time
    fields = copy.__dict__
    fields.update(document.__dict__)
    fields["metadata"] = metadata
    fields["id"] = known_id
    _set(copy, "__pydantic_fields_set__", document.__pydantic_fields_set__ | _REPLACED)
    _set(copy, "__pydantic_extra__", None)
    _set(copy, "__pydantic_private__", None)
    return copy


_new, _set = object.__new__, object.__setattr__
_REPLACED = frozenset({"metadata", "id"})
