"""Copies of containers, for functions that may change what they are given."""

from __future__ import annotations

import copy
from typing import Any

from langchain_safe_retrievers.merging.values import is_dict


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
    if not issubclass(type(value), (dict, list, set)):
        return value
    if id(value) not in made:
        made[id(value)] = copied = copy.copy(value)
        todo.append(copied)
    return made[id(value)]
