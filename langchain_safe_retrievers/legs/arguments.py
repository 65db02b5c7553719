"""Which named arguments of `invoke` a leg takes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Protocol, runtime_checkable

from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import (
    RunnableLambda,
    RunnableSequence,
    RunnableWithFallbacks,
)
from langchain_core.runnables.base import RunnableBindingBase
from langchain_core.runnables.configurable import (
    DynamicRunnable,
    RunnableConfigurableAlternatives,
)
from langchain_core.vectorstores import VectorStoreRetriever

# What core's own `invoke` reads; they reach a leg only if it names them.
_CORE = frozenset({"tags", "metadata", "verbose", "run_id", "run_name"})
# What stores take without saying so: their searches hand `**kwargs` on.
_STORE_ARGUMENTS = frozenset({"k", "filter", "fetch_k", "lambda_mult", "score_threshold"})
_NOT_ARGUMENTS = frozenset({"run_manager", "config"})


@runtime_checkable
class TakesArguments(Protocol):
    """A leg that says itself which arguments it takes."""

    def takes_argument(self, name: str) -> bool:
        """Tell whether `invoke` does something with the argument."""


def takes(leg: Any, name: str) -> bool:
    """Tell whether a leg does something with a named argument of `invoke`.

    A retriever takes what its `_get_relevant_documents` declares (everything, if that has
    `**kwargs`), a vector store's what any of the store's searches declares, a function what it
    declares; `bind`, `with_config`, `with_retry`,
    `with_fallbacks` and `configurable_fields` take what is inside; a sequence what its first
    step takes.

    Args:
        leg: Any `RetrieverLike`.
        name: The argument's name.

    Returns:
        Whether to pass it on.

    Example:
        >>> takes(RunnableLambda(lambda query, k=4: []), "k")
        True
    """
    if isinstance(leg, TakesArguments):
        return leg.takes_argument(name)
    inner = inside(leg)
    if inner:
        return all(takes(part, name) for part in inner)
    if isinstance(leg, VectorStoreRetriever):
        return name in _search_arguments(type(leg.vectorstore))
    if isinstance(leg, BaseRetriever):
        names, anything = _declared(type(leg)._get_relevant_documents)  # noqa: SLF001 - core's extension point
    elif isinstance(leg, RunnableLambda):
        names, anything = _declared(leg.func if hasattr(leg, "func") else leg.afunc)
    else:  # every Runnable's `invoke` has `**kwargs`; most do nothing with them
        names, anything = _declared(type(leg).invoke)[0], False
    return name in names or (anything and name not in _CORE)


def holds_filter(leg: Any) -> bool:
    """Tell whether a leg holds a filter against what its own legs return, as ours do.

    Args:
        leg: Any `RetrieverLike`.

    Returns:
        Whether to give it the filter even if none of its legs takes one: it is to hold it
        before it folds.
    """
    inner = inside(leg)
    return all(map(holds_filter, inner)) if inner else isinstance(leg, TakesArguments)


@lru_cache(maxsize=256)
def _search_arguments(store: type) -> frozenset[str]:
    """Return the named arguments that a vector store's searches declare, and the usual ones."""
    searches = [getattr(store, name) for name in dir(store) if "search" in name]
    declared = (_read_signature(search)[0] for search in searches if inspect.isfunction(search))
    return _STORE_ARGUMENTS.union(*declared) - _CORE


def inside(leg: Any) -> tuple[Any, ...]:
    """Return the Runnables that a wrapper hands its input and named arguments to.

    Args:
        leg: Any Runnable.

    Returns:
        What is inside, the usual one first; empty for one that wraps nothing.

    Example:
        >>> inner = RunnableLambda(lambda query: [])
        >>> inside(inner.with_retry()) == (inner,), inside(inner)
        (True, ())
    """
    if isinstance(leg, RunnableBindingBase):
        return (leg.bound,)
    if isinstance(leg, RunnableWithFallbacks):
        return (leg.runnable, *leg.fallbacks)
    if isinstance(leg, RunnableConfigurableAlternatives):
        return (leg.default, *leg.alternatives.values())
    if isinstance(leg, DynamicRunnable):
        return (leg.default,)
    if isinstance(leg, RunnableSequence):
        return (leg.first,)
    return ()


def _declared(function: Callable[..., Any]) -> tuple[frozenset[str], bool]:
    """Return the names that a function takes beside its input, and whether it takes any other."""
    try:
        return _read_signature(function)
    except TypeError:  # a callable that cannot be hashed is not remembered
        return _read_signature.__wrapped__(function)


@lru_cache(maxsize=1024)
def _read_signature(function: Callable[..., Any]) -> tuple[frozenset[str], bool]:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except ValueError:  # a builtin that does not tell
        return frozenset(), False
    if parameters and parameters[0].name == "self":
        del parameters[0]
    named = {p.name for p in parameters[1:] if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    return frozenset(named - _NOT_ARGUMENTS), any(p.kind is p.VAR_KEYWORD for p in parameters)
