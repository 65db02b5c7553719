"""Settings of a retriever: all of a space, and a retriever that has them."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from itertools import combinations
from math import prod
from typing import Annotated, Any, TypeVar

from langchain_core.retrievers import RetrieverLike
from pydantic import TypeAdapter, ValidationError

from langchain_safe_retrievers.errors import ConfigurationError
from langchain_safe_retrievers.evaluation.leg_depth import at_depth
from langchain_safe_retrievers.retrievers.ensemble import SafeEnsembleRetriever, check_weights

Settings = Mapping[str, Any]
Space = Mapping[str, Sequence[Any]] | Sequence[Settings]
SETTINGS = ("weights", "c", "fuser", "k", "fetch_k", "leg_k")
"""What can be replayed without asking the legs again."""

R = TypeVar("R", bound=SafeEnsembleRetriever)


def settings_of(space: Space, *, most: int | None = None, seed: int = 0) -> list[dict[str, Any]]:
    """Return the settings of a space.

    Args:
        space: Name to the values to try, all combined with all; or the settings themselves.
        most: How many to draw at random if there are more, at least 1; None for all.
        seed: Draws the same ones again.

    Returns:
        The settings, in the space's order.

    Raises:
        ConfigurationError: The space is empty or has a name without values.

    Example:
        >>> settings_of({"c": [10, 60], "k": [5]})
        [{'c': 10, 'k': 5}, {'c': 60, 'k': 5}]
    """
    if most is not None and (type(most) is not int or most < 1):
        msg = f"max_settings is {most!r}; expected a whole number of at least 1, or None for all"
        raise ConfigurationError(msg)
    if not isinstance(space, Mapping):
        found = [dict(settings) for settings in space]
        total = len(found)
    else:
        total = prod(len(_values(name, space[name])) for name in space) if space else 0
    if not total:
        msg = f'the space is {space!r}; expected values to try, such as {{"c": [10, 60]}}'
        raise ConfigurationError(msg)
    numbers: Sequence[int] = range(total)
    if most is not None and most < total:
        numbers = sorted(random.Random(seed).sample(numbers, most))  # noqa: S311 - no secret
    if isinstance(space, Mapping):
        return [_combination(space, number) for number in numbers]
    return [found[number] for number in numbers]


def _values(name: str, values: Any) -> Sequence[Any]:
    if isinstance(values, Sequence) and not isinstance(values, str) and values:
        return values
    msg = f"the space has {name!r}: {values!r}; expected a list of values to try"
    raise ConfigurationError(msg)


def _combination(space: Mapping[str, Sequence[Any]], number: int) -> dict[str, Any]:
    """Return one of all combinations by its number; the last name changes first."""
    found = {}
    for name in reversed(list(space)):
        number, index = divmod(number, len(space[name]))
        found[name] = space[name][index]
    return {name: found[name] for name in space}


def configured(retriever: R, settings: Settings) -> R:
    """Return a copy of a retriever that has some other settings.

    Args:
        retriever: An ensemble or hybrid retriever; it is left as it is.
        settings: Any of `weights` (one for each leg, in order or by leg name), `c`, `fuser`,
            `k`, `fetch_k`, and `leg_k`: leg name to how many documents that leg alone is
            asked for.

    Returns:
        The copy. A leg with a `leg_k` is wrapped in it, so write to the original's legs.

    Raises:
        ConfigurationError: A setting that there is not, or that cannot work.

    Example:
        >>> from langchain_safe_retrievers.testing import FakeLeg
        >>> ensemble = SafeEnsembleRetriever(retrievers=[FakeLeg(), FakeLeg()])
        >>> configured(ensemble, {"weights": [0.8, 0.2], "k": 3}).weights
        [0.8, 0.2]
    """
    update = {name: _read(retriever, name, value) for name, value in settings.items()}
    if "leg_k" in update:
        update["retrievers"] = update.pop("leg_k")
    return retriever.model_copy(update=update)


def _read(retriever: SafeEnsembleRetriever, name: str, value: Any) -> Any:
    if name == "weights":
        return _weights(retriever, value)
    if name == "leg_k":
        return _legs(retriever, value)
    if name not in SETTINGS:
        msg = f"{name!r} is no setting that can be tuned; expected one of {', '.join(SETTINGS)}"
        raise ConfigurationError(msg)
    field = type(retriever).model_fields[name]
    kind: Any = (
        Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation
    )
    try:
        return TypeAdapter(kind, config={"arbitrary_types_allowed": True}).validate_python(value)
    except ValidationError as error:
        msg = f"{name} is {value!r}: {error.errors()[0]['msg']}"
        raise ConfigurationError(msg) from error


def leg_names(retriever: SafeEnsembleRetriever) -> list[str]:
    """Return the legs' names, in order.

    Args:
        retriever: The retriever.

    Returns:
        One name for each leg.
    """
    return retriever._names()  # noqa: SLF001 - a retriever of this package


def _weights(retriever: SafeEnsembleRetriever, weights: Any) -> list[float]:
    names = leg_names(retriever)
    if isinstance(weights, Mapping):
        _check_names(names, weights, "weights")
        weights = [weights.get(name) for name in names]
    check_weights(list(weights), len(names))
    return list(weights)


def _legs(retriever: SafeEnsembleRetriever, depths: Any) -> list[RetrieverLike]:
    names = leg_names(retriever)
    if not isinstance(depths, Mapping):
        msg = f"leg_k is {depths!r}; expected leg names with depths, such as {{{names[0]!r}: 50}}"
        raise ConfigurationError(msg)
    _check_names(names, depths, "leg_k")
    return [
        leg if depths.get(name) is None else at_depth(leg, depths[name])
        for name, leg in zip(names, retriever.retrievers, strict=True)
    ]


def _check_names(names: Sequence[str], given: Mapping[str, Any], setting: str) -> None:
    if unknown := given.keys() - set(names):
        msg = f"{setting} names {sorted(unknown)}, but the legs are {list(names)!r}"
        raise ConfigurationError(msg)


def weight_grid(legs: Sequence[str], steps: int) -> list[dict[str, float]]:
    """Return weights that add up to 1, in equal steps: every way to share `steps` parts.

    Args:
        legs: The legs' names, at least one.
        steps: How many parts 1 is cut into, at least 1.

    Returns:
        Leg name to weight, (steps + legs − 1)! / (steps! (legs − 1)!) of them.

    Raises:
        ConfigurationError: There is no leg, or `steps` is less than 1.

    Example:
        >>> weight_grid(["vector", "keyword"], 2)
        [{'vector': 0.0, 'keyword': 1.0}, {'vector': 0.5, 'keyword': 0.5}, \
{'vector': 1.0, 'keyword': 0.0}]
    """
    if isinstance(legs, str) or not legs or type(steps) is not int or steps < 1:
        msg = f"legs is {legs!r} and steps {steps!r}; expected leg names and a number, at least 1"
        raise ConfigurationError(msg)
    parts = steps + len(legs) - 1
    grid = []
    for bars in combinations(range(parts), len(legs) - 1):
        ends = zip((-1, *bars), (*bars, parts), strict=True)
        shares = [(right - left - 1) / steps for left, right in ends]
        grid.append(dict(zip(legs, shares, strict=True)))
    return grid
