"""Legs and their weights by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_safe_retrievers.errors import ConfigurationError


def named_legs(usual: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Return the legs that are given, by name.

    Args:
        usual: Legs with an argument of their own, None for one that is not given.
        more: Other legs.

    Returns:
        At least one.

    Raises:
        ConfigurationError: None is given, or one twice.

    Example:
        >>> named_legs({"vector": None, "keyword": "index"}, {"web": "search"})
        {'keyword': 'index', 'web': 'search'}
    """
    given = {name: leg for name, leg in usual.items() if leg is not None}
    if twice := given.keys() & more.keys():
        msg = f"the leg {min(twice)!r} is given twice, by its own argument and in legs"
        raise ConfigurationError(msg)
    named = {**given, **more}
    if not named:
        msg = 'no leg is given; expected vector=, keyword=, sql= or legs={"name": retriever}'
        raise ConfigurationError(msg)
    return named


def weights_by_name(names: list[str], weights: object) -> list[float] | None:
    """Return weights that are given by name in legs' order.

    Args:
        names: The legs' names.
        weights: A mapping with a weight for each of them, or None.

    Returns:
        As many as names; None for equal weights.

    Raises:
        ConfigurationError: It is something else.

    Example:
        >>> weights_by_name(["vector", "keyword"], {"keyword": 0.3, "vector": 0.7})
        [0.7, 0.3]
    """
    if weights is None:
        return None
    if not isinstance(weights, Mapping) or weights.keys() != set(names):
        example = dict.fromkeys(names, round(1 / len(names), 2))
        msg = (
            f"weights is {weights!r}; expected a number for each of the legs {names!r} by name, "
            f"such as {example!r} (0 for a leg that is not to be asked), or None"
        )
        raise ConfigurationError(msg)
    return [weights[name] for name in names]
