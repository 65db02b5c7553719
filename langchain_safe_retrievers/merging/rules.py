"""The named rules: what the values of one metadata key become, given all of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import reduce
from numbers import Real
from typing import Any

from langchain_safe_retrievers.merging.values import Interner, distinct, family, is_number

Rule = str | Callable[[Any, Any], Any]
"""A rule's name, or a function of two values that returns the one they become."""

_Function = Callable[[Sequence[Any], Sequence[float]], Any]


def apply_rule(rule: Rule, values: Sequence[Any], weights: Sequence[float]) -> Any:
    """Return what `values` become under `rule`; None counts as no value.

    Args:
        rule: One of `RULES` by name, or a function of two values, applied from the left.
        values: The copies' values, in legs' order; at least one.
        weights: The weight of each value's leg; used by "weighted" alone.

    Returns:
        The combined value.

    Example:
        >>> apply_rule("max", [0.2, None, 0.7], [1, 1, 1]), apply_rule("collect", [3, 4, 3], [1, 1, 1])
        (0.7, [3, 4])
    """
    if rule == "first" and values[0] is not None:
        return values[0]
    if rule == "last" and values[-1] is not None:
        return values[-1]
    known = [(value, weight) for value, weight in zip(values, weights, strict=True) if value is not None]
    if not known:
        return None
    present, their_weights = zip(*known, strict=True)
    if callable(rule):
        return reduce(rule, present)
    return RULES[rule](present, their_weights)


def union(first: Any, second: Any) -> Any:
    """Return the first list, tuple or set with the new items of the second, in order.

    Args:
        first: A list, tuple, set or frozenset.
        second: One of the same family.

    Returns:
        A new container of `first`'s plain type.

    Example:
        >>> union([1, 1], [True, 1, 2, 2])
        [1, 1, True, 2]
    """
    seen = Interner()
    items = list(first)
    known = set(seen.keys(items))
    for key, item in zip(seen.keys(second), second, strict=True):
        if key not in known:
            known.add(key)
            items.append(item)
    return _PLAIN[family(first) or "list"](items)


_PLAIN: dict[str, Callable[[list[Any]], Any]] = {"list": list, "tuple": tuple, "set": set}


def _first(values: Sequence[Any], _: Sequence[float]) -> Any:
    return values[0]


def _last(values: Sequence[Any], _: Sequence[float]) -> Any:
    return values[-1]


def _extreme(pick: Callable[[Any], Any]) -> _Function:
    """Return a rule that picks among the numbers, or else among values that can be compared."""

    def rule(values: Sequence[Any], _: Sequence[float]) -> Any:
        try:
            return pick(_numbers(values) or values)
        except Exception:  # noqa: BLE001 - values of different kinds have no order
            return values[0]

    return rule


def _total(divide: bool) -> _Function:  # noqa: FBT001
    def rule(values: Sequence[Any], _: Sequence[float]) -> Any:
        numbers = _numbers(values)
        return _sum(numbers, len(numbers) if divide else 1, values[0])

    return rule


def _weighted(values: Sequence[Any], weights: Sequence[float]) -> Any:
    terms = [weight * float(value) for value, weight in zip(values, weights, strict=True) if _numbers([value])]
    return _sum(terms, 1, values[0])


def _sum(numbers: Sequence[Any], divisor: int, otherwise: Any) -> Any:
    """Return the sum over `divisor`; floats where the kinds (Decimal, float) do not add."""
    if not numbers:
        return otherwise
    try:
        total = sum(numbers)
    except TypeError:
        total = math.fsum(map(float, numbers))
    return total if divisor == 1 else total / divisor


def _numbers(values: Sequence[Any]) -> list[Any]:
    """Return the real numbers among `values`, NaN and bools left out."""
    return [
        value
        for value in values
        if (is_number(value) and isinstance(value, (int, float, Decimal, Real)) and value == value)  # noqa: PLR0124
    ]


def _union_all(values: Sequence[Any], _: Sequence[float]) -> Any:
    kinds = {family(value) for value in values}
    if len(kinds) == 1 and kinds <= _PLAIN.keys():
        return reduce(union, values)
    return _collect(values, _)


def _collect(values: Sequence[Any], _: Sequence[float]) -> Any:
    """Return the distinct values as a list (lists give their items); one value stays itself."""
    if len(distinct(values)) == 1:
        return values[0]
    return distinct(
        item for value in values for item in (value if family(value) in _PLAIN else (value,))
    )


RULES: dict[str, _Function] = {
    "first": _first,
    "last": _last,
    "max": _extreme(max),
    "min": _extreme(min),
    "sum": _total(divide=False),
    "mean": _total(divide=True),
    "weighted": _weighted,
    "union": _union_all,
    "collect": _collect,
}
"""The rules by name; "deep" (dicts key by key) belongs to `MetadataPolicy`."""
