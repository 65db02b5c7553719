"""The named rules: what the values of one metadata key become, given all of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import reduce
from itertools import compress
from numbers import Real
from typing import Any

from langchain_safe_retrievers.merging.copying import copy_containers
from langchain_safe_retrievers.merging.values import (
    Interner,
    distinct,
    family,
    is_number,
)

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
        >>> apply_rule("max", [0.2, None, 0.7], [1, 1, 1])
        0.7
    """
    if rule == "first" and values[0] is not None:
        return values[0]
    if rule == "last" and values[-1] is not None:
        return values[-1]
    values, weights = without_none(values, weights)
    if not values:
        return None
    if callable(rule):
        return reduce(rule, map(copy_containers, values))
    return RULES[rule](values, weights)


def without_none(
    values: Sequence[Any], weights: Sequence[float]
) -> tuple[Sequence[Any], Sequence[float]]:
    """Leave out the values that are None, together with their weights.

    Args:
        values: Any values.
        weights: One for each value.

    Returns:
        The values that are left, and as many weights.

    Example:
        >>> without_none([None, 3], [0.5, 0.25])
        ([3], [0.25])
    """
    for value in values:
        if value is None:
            break
    else:
        return values, weights
    known = [value is not None for value in values]
    return list(compress(values, known)), list(compress(weights, known))


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


def _or_first(combine: _Function) -> _Function:
    """Return the rule that keeps the first value where the values do not combine."""

    def rule(values: Sequence[Any], weights: Sequence[float]) -> Any:
        try:
            return combine(values, weights)
        except Exception:  # noqa: BLE001 - kinds that have no order or sum, an overflow
            return values[0]

    return rule


def _max(values: Sequence[Any], _: Sequence[float]) -> Any:
    return max(list(filter(_is_real, values)) or values)


def _min(values: Sequence[Any], _: Sequence[float]) -> Any:
    return min(list(filter(_is_real, values)) or values)


def _sum(values: Sequence[Any], weights: Sequence[float]) -> Any:
    return _add([number for number, _ in _votes(values, weights)])


def _mean(values: Sequence[Any], weights: Sequence[float]) -> Any:
    numbers = [number for number, _ in _votes(values, weights)]
    return numbers[0] if len(numbers) == 1 else _add(numbers) / len(numbers)


def _weighted(values: Sequence[Any], weights: Sequence[float]) -> Any:
    return _add([float(number) * weight for number, weight in _votes(values, weights)])


def _votes(values: Sequence[Any], weights: Sequence[float]) -> list[tuple[Any, float]]:
    """Return the real numbers and their weights, those of weight 0 left out (a leg's repeats).

    Raises:
        ValueError: There are none.
    """
    votes = [
        (value.item() if type(value).__module__ == "numpy" else value, weight)  # int8 wraps around
        for value, weight in zip(values, weights, strict=True)
        if weight and _is_real(value)
    ]
    if not votes:
        raise ValueError
    return votes


def _add(numbers: Sequence[Any]) -> Any:
    """Return the sum; a float where the numbers' kinds (Decimal, float) do not add."""
    try:
        return sum(numbers)
    except TypeError:
        return math.fsum(map(float, numbers))


def _is_real(value: Any) -> bool:
    """Tell whether a value is a real number: no bool, no NaN."""
    try:
        real = is_number(value) and issubclass(type(value), (Real, Decimal))
        return real and bool(value == value)  # noqa: PLR0124 - NaN is not itself
    except Exception:  # noqa: BLE001 - a signalling NaN
        return False


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
    "max": _or_first(_max),
    "min": _or_first(_min),
    "sum": _or_first(_sum),
    "mean": _or_first(_mean),
    "weighted": _or_first(_weighted),
    "union": _union_all,
    "collect": _collect,
}
"""The rules by name; "deep" (dicts key by key) belongs to `MetadataPolicy`."""
