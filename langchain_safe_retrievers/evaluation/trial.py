"""The settings to try, each with the retriever that has it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from langchain_safe_retrievers.errors import ConfigurationError
from langchain_safe_retrievers.evaluation.replay import Depths, Plan
from langchain_safe_retrievers.evaluation.space import SETTINGS, configured
from langchain_safe_retrievers.retrievers.ensemble import SafeEnsembleRetriever

Made = Callable[..., SafeEnsembleRetriever]
"""Makes a retriever from its store's parameters."""


@dataclass(eq=False)
class Trial:
    """One setting: the retriever that has it, and what that would do.

    Args:
        settings: The setting.
        store: The number of the retriever that was made for it.
        retriever: The retriever with the setting.
        plan: What it would do.
    """

    settings: dict[str, Any]
    store: int
    retriever: SafeEnsembleRetriever
    plan: Plan

    @cached_property
    def asks(self) -> tuple[int, Depths]:
        """What decides on the time: which legs are asked for how many documents."""
        return self.store, self.plan.depths

    @cached_property
    def source(self) -> tuple[int, tuple[bool, ...]]:
        """Whose hits it is replayed from: a leg that is not told has a depth of its own."""
        return self.store, self.plan.told


def trials_of(
    retriever: SafeEnsembleRetriever | Made,
    settings: Sequence[dict[str, Any]],
    arguments: Mapping[str, Any],
) -> list[Trial]:
    """Return a trial for each setting, the retriever's own first.

    Args:
        retriever: The retriever, or the function that makes one from its store's parameters.
        settings: The settings; those that come to the same are tried once.
        arguments: The named arguments of `invoke`.

    Returns:
        The trials.

    Raises:
        ConfigurationError: A setting that cannot work, or a retriever of another kind.
    """
    stores = _Stores(retriever)
    first = {name: value for name, value in settings[0].items() if name not in SETTINGS}
    trials, seen = [], set()
    for each in [first, *settings]:
        number, made, own = stores.retriever(each)
        changed = configured(made, own)
        if changed.fuser is not None:  # c is the constant of reciprocal rank fusion alone
            each = {name: value for name, value in each.items() if name != "c"}  # noqa: PLW2901
        key = repr(sorted(each.items(), key=lambda item: item[0]))
        if key not in seen:
            seen.add(key)
            trials.append(Trial(each, number, changed, Plan.of(changed, arguments)))
    _check_c(settings, trials)
    return trials


def _check_c(settings: Sequence[dict[str, Any]], trials: Sequence[Trial]) -> None:
    if any("c" in each for each in settings) and not any("c" in each.settings for each in trials):
        msg = (
            f"the space has c, the constant of reciprocal rank fusion, but the fuser is "
            f'{trials[0].retriever.fuser!r}; add "fuser": [None] to the space, or leave c out'
        )
        raise ConfigurationError(msg)


class _Stores:
    """The retrievers that store parameters make, each made once."""

    def __init__(self, retriever: SafeEnsembleRetriever | Made) -> None:
        self.given = retriever
        self.made: dict[str, tuple[int, SafeEnsembleRetriever]] = {}

    def retriever(
        self, settings: Mapping[str, Any]
    ) -> tuple[int, SafeEnsembleRetriever, dict[str, Any]]:
        """Return a retriever's number, the retriever, and the settings that are its own."""
        own = {name: value for name, value in settings.items() if name in SETTINGS}
        parameters = {name: value for name, value in settings.items() if name not in SETTINGS}
        key = repr(sorted(parameters.items()))
        if key not in self.made:
            self.made[key] = (len(self.made), self._make(parameters))
        return *self.made[key], own

    def _make(self, parameters: Mapping[str, Any]) -> SafeEnsembleRetriever:
        made: Any = self.given
        if not isinstance(made, SafeEnsembleRetriever) and callable(made):
            made = made(**parameters)
        elif parameters:
            msg = (
                f"{sorted(parameters)} are no settings of a retriever; expected some of "
                f"{', '.join(SETTINGS)}, or a function that makes a retriever from them"
            )
            raise ConfigurationError(msg)
        if not isinstance(made, SafeEnsembleRetriever):
            msg = (
                f"the retriever is a {type(made).__name__}; expected a SafeEnsembleRetriever or a "
                "HybridRetriever: make it a leg of one"
            )
            raise ConfigurationError(msg)
        return made
