"""What a fold displaced, as data; one function turns it into text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langchain_safe_retrievers.merging.values import Interner, distinct, family, is_dict, same

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
    _check_dicts(conflicts, "", folded, copies)
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
    else:
        _check_values(conflicts, _text(key), shown, values)


def _check_values(conflicts: Conflicts, path: str, shown: Any, values: Sequence[Any]) -> None:
    known = distinct([value for value in values if value is not None])
    for value in known:
        if value is not shown and not _shows(shown, value):
            add_conflict(conflicts, path, known)
            return


def _check_dicts(conflicts: Conflicts, path: str, shown: Any, values: Sequence[Any]) -> None:
    """Descend where values and what they became are dicts, without recursion: any depth."""
    todo = [(path, shown, values)]
    seen: set[tuple[int, ...]] = set()
    for path, shown, values in todo:  # grows as it goes
        ids = (id(shown), *map(id, values))
        dicts = [value for value in values if is_dict(value)]
        if len(dicts) < len(values) or ids in seen:  # cycles and sharing are compared whole
            _check_values(conflicts, path, shown, values)
        if ids not in seen:
            seen.add(ids)
            for key in _unshown(shown, dicts):
                inner_path = f"{path}.{_text(key)}" if path else _text(key)
                inner = [value[key] for value in dicts if key in value]
                inner_shown = shown.get(key, _MISSING)
                if is_dict(inner_shown):
                    todo.append((inner_path, inner_shown, inner))
                else:
                    _check_values(conflicts, inner_path, inner_shown, inner)


def _unshown(shown: Mapping[Any, Any], dicts: Sequence[Mapping[Any, Any]]) -> Iterable[Any]:
    """Return the keys under which some value is not plainly the one shown."""
    keys: dict[Any, None] = {}
    for values in dicts:
        for key, value in values.items():
            there = shown.get(key, _MISSING)
            if value is not there and not (type(value) is str is type(there) and value == there):
                keys[key] = None
    return keys


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
