"""What a fold displaced, as data; one function turns it into text."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langchain_safe_retrievers.merging.values import Interner, distinct, family, is_dict, same, surely_same

Conflicts = dict[str, list[Any]]
"""Dotted path to all distinct values that the copies had there, in legs' order."""

_MISSING = object()
_LISTS = frozenset({"list", "tuple", "set"})


def find_conflicts(folded: Mapping[Any, Any], copies: Sequence[Mapping[Any, Any]]) -> Conflicts:
    """Return every value of `copies` that `folded` does not show at its place.

    A value is shown if it is the folded value at the same path, or an element of the list,
    tuple or set there; a list is shown if each of its elements is. None is no value.
    This asks nothing of the policy that made `folded`.

    Args:
        folded: The metadata that the copies became.
        copies: The copies' metadata, in legs' order.

    Returns:
        Dotted path to all distinct values there; empty if nothing was displaced.

    Example:
        >>> find_conflicts({"lang": "en", "tags": [1, 2]}, [{"lang": "en"}, {"lang": "de", "tags": [2]}])
        {'lang': ['en', 'de']}
    """
    conflicts: Conflicts = {}
    for key in dict.fromkeys(key for copy in copies for key in copy):
        values = [copy[key] for copy in copies if key in copy]
        check_values(conflicts, key, folded.get(key, _MISSING), values)
    return conflicts


def check_values(conflicts: Conflicts, key: Any, shown: Any, values: Sequence[Any]) -> None:
    """Add what `shown` does not show of the values that the copies have under one key.

    Args:
        conflicts: The record, changed in place.
        key: The metadata key.
        shown: What the values became.
        values: The copies' values, in legs' order.
    """
    if is_dict(shown):
        _check_dicts(conflicts, _text(key), shown, values)
    elif not all(value is shown or _shows(shown, value) for value in values):
        add_conflict(conflicts, _text(key), [value for value in values if value is not None])


def _check_dicts(conflicts: Conflicts, path: str, shown: Any, values: Sequence[Any]) -> None:
    """Descend where values and what they became are dicts, without recursion: any depth."""
    todo = deque([(path, shown, values)])
    seen: set[tuple[int, ...]] = set()  # dicts met already (cycles, sharing) are compared whole
    while todo:
        path, shown, values = todo.popleft()
        dicts = [value for value in values if is_dict(value)] if is_dict(shown) else []
        ids = (id(shown), *map(id, dicts))
        descend = bool(dicts) and ids not in seen
        whole = [value for value in values if not is_dict(value)] if descend else values
        if not all(value is shown or _shows(shown, value) for value in whole):
            add_conflict(conflicts, path, [value for value in values if value is not None])
        if descend and not all(value is shown or surely_same(shown, value) for value in dicts):
            seen.add(ids)
            for key in dict.fromkeys(key for inner in dicts for key in inner):
                below = [inner[key] for inner in dicts if key in inner]
                todo.append((f"{path}.{_text(key)}", shown.get(key, _MISSING), below))


def add_conflict(conflicts: Conflicts, path: str, values: Iterable[Any]) -> None:
    """Add `values` to those recorded under `path`, each distinct value once.

    Args:
        conflicts: The record, changed in place.
        path: Dotted path.
        values: The values that the copies had there.
    """
    conflicts[path] = distinct([*conflicts[path], *values] if path in conflicts else values)


def describe_conflicts(conflicts: Mapping[str, Sequence[Any]]) -> str:
    """Return conflicts as text, a line for each path.

    Args:
        conflicts: Dotted path to the distinct values there.

    Returns:
        The text; empty if there are no conflicts.

    Example:
        >>> print(describe_conflicts({"source": ["vec", "bm25"]}))
        source: 'vec' | 'bm25'
    """
    return "\n".join(
        f"{path}: {' | '.join(map(_repr, values))}" for path, values in conflicts.items()
    )


def _shows(shown: Any, value: Any) -> bool:
    if value is None:
        return True
    if family(shown) not in _LISTS:
        return same(shown, value)
    seen = Interner()
    elements = set(seen.keys(shown))
    return (family(value) in _LISTS and elements.issuperset(seen.keys(value))) or seen.key(value) in elements


def _text(key: object) -> str:
    return key if type(key) is str else _repr(key)


def _repr(value: object) -> str:
    try:
        return repr(value)
    except Exception:  # noqa: BLE001 - the value's own `__repr__` failed
        return object.__repr__(value)
