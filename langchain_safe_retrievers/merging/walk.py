"""Dicts combined key by key: one walk through all copies, whatever the depth."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, Protocol

from langchain_safe_retrievers.merging.conflicts import Conflicts, add_path, check_values
from langchain_safe_retrievers.merging.values import is_dict, surely_same

Metadata = dict[Any, Any]
_MISSING = object()


class Rules(Protocol):
    """What the walk asks of a policy that decides path by path."""

    @property
    def always(self) -> Collection[str]:
        """The paths to be asked about even where all copies agree."""

    def is_deep(self, path: str) -> bool:
        """Tell whether dicts at this path are combined key by key."""

    def resolve(self, path: str, values: Sequence[Any], weights: Sequence[float]) -> Any:
        """Return what the values of one path become."""


def merge_dicts(
    rules: Rules,
    copies: Sequence[Metadata],
    weights: Sequence[float],
    conflicts: Conflicts,
    path: str | None = None,
) -> Metadata:
    """Combine dicts key by key and record what the rules' answers displace.

    The rules are asked about the keys that copies dispute; nobody need be asked about the
    others.

    Args:
        rules: The rule of each path.
        copies: The dicts, in legs' order; at least one. They are left as they are.
        weights: The weight of each copy's leg.
        conflicts: The record, added to in place.
        path: The dotted path of the dicts themselves, or None for metadata.

    Returns:
        A new dict.
    """
    root = dict(copies[0])
    made = {_ids(copies): root}  # dicts met already: cycles and sharing stay what they are
    met_again = []
    todo = [(path, root, copies, weights)]
    for path, merged, copies, weights in todo:  # grows as it goes: no recursion, any depth
        for key in _disputed(rules, path, merged, copies):
            values, their_weights = present(key, copies, weights)
            inner_path = add_path(path, key)
            if not is_deep(rules, inner_path, values):
                merged[key] = shown = rules.resolve(inner_path, values, their_weights)
                check_values(conflicts, inner_path, shown, values)
            elif (ids := _ids(values)) in made:
                merged[key] = made[ids]
                met_again.append((inner_path, made[ids], values))
            else:
                merged[key] = made[ids] = inner = dict(values[0])
                todo.append((inner_path, inner, values, their_weights))
    for inner_path, shown, values in met_again:
        check_values(conflicts, inner_path, shown, values)
    return root
