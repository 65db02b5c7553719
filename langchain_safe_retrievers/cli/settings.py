"""A retriever's settings as JSON: what `tune` writes and the other commands read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_safe_retrievers.errors import ConfigurationError
from langchain_safe_retrievers.evaluation.space import SETTINGS, configured
from langchain_safe_retrievers.fusion.distribution_based import DistributionBased
from langchain_safe_retrievers.fusion.fuser import Fuser
from langchain_safe_retrievers.fusion.noisy_or import NoisyOr
from langchain_safe_retrievers.fusion.reciprocal_rank import ReciprocalRank
from langchain_safe_retrievers.fusion.relative_score import RelativeScore
from langchain_safe_retrievers.retrievers.ensemble import SafeEnsembleRetriever

FUSERS: dict[str, Fuser] = {
    "DistributionBased": DistributionBased(),
    "NoisyOr": NoisyOr(),
    "ReciprocalRank": ReciprocalRank(),
    "RelativeScore": RelativeScore(),
}
"""Name to fuser, with its usual settings."""


def with_settings(retriever: Any, settings: Mapping[str, Any] | None) -> Any:
    """Return a retriever that has other settings.

    Args:
        retriever: The retriever.
        settings: As `tune` writes them, or None.

    Returns:
        A copy; the retriever itself if there are none.

    Raises:
        ConfigurationError: A setting that there is not, or that cannot work.
    """
    return configured(fusing(retriever), read_values(settings)) if settings else retriever


def fusing(retriever: Any) -> SafeEnsembleRetriever:
    """Return a retriever, if it is one that has settings.

    Args:
        retriever: Any retriever.

    Returns:
        The same.

    Raises:
        ConfigurationError: It fuses nothing.
    """
    if isinstance(retriever, SafeEnsembleRetriever):
        return retriever
    kind = type(retriever).__name__
    msg = f"the retriever is a {kind}; expected a SafeEnsembleRetriever or a HybridRetriever"
    raise ConfigurationError(msg)


def read_values(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings whose fusers are fusers and no longer names.

    Args:
        settings: As JSON has them.

    Returns:
        As the retriever takes them.

    Raises:
        ConfigurationError: A name that is none.

    Example:
        >>> read_values({"fuser": "RelativeScore", "k": 5})
        {'fuser': RelativeScore(), 'k': 5}
    """
    if unknown := settings.keys() - set(SETTINGS):
        msg = f"{sorted(unknown)} are no settings; expected some of {', '.join(SETTINGS)}"
        raise ConfigurationError(msg)
    return {name: _fuser(value) if name == "fuser" else value for name, value in settings.items()}


def _fuser(name: Any) -> Any:
    if not isinstance(name, str):
        return name
    if name in FUSERS:
        return FUSERS[name]
    msg = f"{name!r} is no fuser; expected one of {', '.join(FUSERS)}"
    raise ConfigurationError(msg)


def write_values(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings as JSON has them.

    Args:
        settings: As the retriever takes them.

    Returns:
        As `read_values` takes them.

    Example:
        >>> write_values({"fuser": NoisyOr(), "k": 5})
        {'fuser': 'NoisyOr', 'k': 5}
    """
    return {
        name: type(value).__name__
        if isinstance(value, tuple(map(type, FUSERS.values())))
        else value
        for name, value in settings.items()
    }
