"""What a fold displaced, as data; one function turns it into text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from langchain_safe_retrievers.merging.values import (
    SCALARS,
    Interner,
    distinct,
    family,
    is_dict,
    same,
)

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
        >>> copies = [{"lang": "en"}, {"lang": "de", "tags": [2]}]
        >>> find_conflicts({"lang": "en", "tags": [1, 2]}, copies)
        {'lang': ['en', 'de']}
    """
    conflicts: Conflicts = {}
    _check_dicts(conflicts, "", folded, copies)
    return conflicts


def check_values(conflicts: Conflicts, path: str, shown: Any, values: Sequence[Any]) -> None:
    """Add what `shown` does not show of the values that the copies have at one path.

    Args:
        conflicts: The record, changed in place.
        path: Dotted path.
        shown: What the values became.
        values: The copies' values, in legs' order.
    """
    if len(values) == 2 and values[0] is not None and values[1] is not None:  # noqa: PLR2004
        known = list(values)  # the usual dispute
    else:
        known = [value for value in values if value is not None]
    if type(shown) in SCALARS:  # it shows itself alone
        known = distinct(known)
        if len(known) > 1 or (known and known[0] is not shown and not same(known[0], shown)):
            conflicts[path] = distinct([*conflicts[path], *known]) if path in conflicts else known
    elif is_dict(shown):
        dicts = [value for value in known if is_dict(value)]
        if len(dicts) < len(known):
            add_conflict(conflicts, path, known)
        _check_dicts(conflicts, f"{path}.", shown, dicts)
    elif not _shows_all(shown, known):
        add_conflict(conflicts, path, known)


def _shows_all(shown: Any, values: Sequence[Any]) -> bool:
    return all(value is shown or _shows(shown, value) for value in values)


def _check_dicts(
    conflicts: Conflicts, prefix: str, shown: Mapping[Any, Any], dicts: Sequence[Mapping[Any, Any]]
) -> None:
    """Descend where values and what they became are dicts, without recursion: any depth."""
    todo = [(prefix, shown, dicts)]
    seen = set()
    for above, whole, copies in todo:  # grows as it goes
        for key in dict.fromkeys(chain.from_iterable(copies)):
            path, there = above + name_of(key), whole.get(key, _MISSING)
            values = [value for copy in copies if (value := copy.get(key)) is not None]
            inner = [value for value in values if is_dict(value)] if is_dict(there) else []
            ids = (id(there), *map(id, inner))
            if not inner or ids in seen:  # no dicts, or met already: a cycle, or shared
                lost = not _shows_all(there, values)
            else:
                seen.add(ids)
                todo.append((f"{path}.", there, inner))
                lost = len(inner) < len(values)
            if lost:
                add_conflict(conflicts, path, values)


def name_of(key: object) -> str:
    """Return what a metadata key is called in a path.

    Args:
        key: A key of any type.

    Returns:
        A string itself; anything else goes by its repr.

    Example:
        >>> name_of("page"), name_of(7)
        ('page', '7')
    """
    return str.__str__(key) if issubclass(type(key), str) else _repr(key)


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
    return (family(value) in _LISTS and elements.issuperset(seen.keys(value))) or seen.key(
        value
    ) in elements


def _repr(value: object) -> str:
    try:
        return repr(value)
    except Exception:  # noqa: BLE001 - the value's own `__repr__` failed
        return object.__repr__(value)
