"""Dicts combined key by key: one walk through all copies, whatever the depth."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

from langchain_safe_retrievers.merging.conflicts import Conflicts, check_values, name_of
from langchain_safe_retrievers.merging.values import SCALARS, is_dict, same

_MISSING = object()


class Rules(Protocol):
    """What the walk asks of a policy that decides path by path."""

    @property
    def always(self) -> Collection[str]:
        """The paths to be asked about even where all copies agree."""

    def is_deep(self, path: str, dicts: Sequence[Any]) -> bool:
        """Tell whether dicts at this path are combined key by key."""

    def resolve(self, path: str, values: Sequence[Any], weights: Sequence[float]) -> Any:
        """Return what the values of one path become."""


def merge_dicts(
    rules: Rules,
    dicts: Sequence[Mapping[Any, Any]],
    weights: Sequence[float],
    conflicts: Conflicts,
    prefix: str = "",
) -> dict[Any, Any]:
    """Combine dicts key by key, and record what the rules' answers displace.

    Args:
        rules: The rule of each path; asked only where the dicts disagree.
        dicts: The dicts, in legs' order; at least one. They are left as they are.
        weights: The weight of each dict's leg.
        conflicts: The record, added to in place.
        prefix: What the paths of the dicts' keys begin with: "" for metadata, else "path.".

    Returns:
        A new dict.
    """
    root = dict(dicts[0])
    made: dict[tuple[int, ...], dict[Any, Any]] = {}  # cycles and sharing stay what they are
    met_again = []
    todo = [(prefix, root, dicts, weights)]
    for above, merged, copies, votes in todo:  # grows as it goes: no recursion, any depth
        for key, values in _disputed(rules, above, merged, copies).items():
            path = above + (key if type(key) is str else _name_in(merged, key))
            their_votes = votes
            if len(values) < len(copies):
                their_votes = [w for copy, w in zip(copies, votes, strict=True) if key in copy]
            if type(values[0]) in SCALARS or not _go_deep(rules, path, values):
                merged[key] = shown = rules.resolve(path, values, their_votes)
                check_values(conflicts, path, shown, values)
                continue
            ids = tuple(map(id, values))
            inner = made.get(ids)
            if inner is None:
                made[ids] = inner = dict(values[0])
                todo.append((path + ".", inner, values, their_votes))
            else:
                met_again.append((path, inner, values))
            merged[key] = inner
    for path, inner, values in met_again:
        check_values(conflicts, path, inner, values)
    return root


def _disputed(
    rules: Rules, prefix: str, merged: dict[Any, Any], copies: Sequence[Mapping[Any, Any]]
) -> dict[Any, Sequence[Any]]:
    """Give `merged` the keys that it lacks; return the values that are not all the same."""
    disputed: dict[Any, Sequence[Any]] = {}
    for copy in copies[1:]:
        for key, value in copy.items():
            known = merged.get(key, _MISSING)
            if known is value:
                continue
            kind = type(value)
            if known is _MISSING:
                merged[key] = value
                continue
            if kind is type(known) and kind in SCALARS:  # most values: decided without a call
                if value == known:
                    continue
            elif not (kind is dict is type(known)) and same(known, value):
                continue  # dicts are compared when their turn comes
            disputed[key] = (known, value)
    if rules.always:
        disputed |= {key: () for key in merged if prefix + _name_in(merged, key) in rules.always}
    elif len(copies) == 2:  # noqa: PLR2004 - the usual case has both values at hand
        return disputed
    return {key: [copy[key] for copy in copies if key in copy] for key in disputed}


def _name_in(merged: dict[Any, Any], key: object) -> str:
    """Return what a key is called as its first copy spells it: 1 and True are one key."""
    return name_of({known: known for known in merged}[key])


def _go_deep(rules: Rules, path: str, values: Sequence[Any]) -> bool:
    for value in values:
        if type(value) is not dict and not is_dict(value):
            return False
    return rules.is_deep(path, values)
