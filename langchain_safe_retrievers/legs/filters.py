"""The filter that a leg is given: the call's, joined with the leg's own and spelled its way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.base import RunnableBindingBase
from langchain_core.runnables.config import merge_configs
from langchain_core.runnables.configurable import DynamicRunnable
from langchain_core.vectorstores import VectorStore, VectorStoreRetriever

from langchain_safe_retrievers.errors import FilterError
from langchain_safe_retrievers.filters import compile_filter
from langchain_safe_retrievers.legs.arguments import inside
from langchain_safe_retrievers.vector.stores import adapter_of


def filter_for(leg: Any, wanted: Any, config: RunnableConfig | None = None) -> Any:
    """Return the filter to give a leg that takes one.

    Args:
        leg: Any `RetrieverLike`.
        wanted: The call's filter.
        config: The leg's config, which may configure a filter.

    Returns:
        The filter, joined with the one that the leg was given for good, spelled as its store
        reads it.

    Raises:
        FilterError: The two cannot be joined.

    Example:
        >>> from langchain_core.runnables import RunnableLambda
        >>> leg = RunnableLambda(lambda query, filter=None: []).bind(filter={"tenant": 7})
        >>> filter_for(leg, {"lang": "en"})
        {'$and': [{'tenant': 7}, {'lang': 'en'}]}
    """
    bound = bound_filter(leg, config)
    joined = both_filters(bound, wanted) if bound else wanted
    store = _store_of(leg)
    if store is None:
        return joined
    return adapter_of(store).filter(joined, compile_filter(joined), flat=False)


def bound_filter(leg: Any, config: RunnableConfig | None = None) -> Any:
    """Return the filter that a leg was given for good, which one of a call would replace.

    Args:
        leg: Any `RetrieverLike`.
        config: The leg's config.

    Returns:
        What `bind(filter=...)` or a vector store's `search_kwargs` hold, or None.

    Raises:
        FilterError: The legs that a wrapper chooses among were given different filters.

    Example:
        >>> from langchain_core.runnables import RunnableLambda
        >>> bound_filter(RunnableLambda(lambda query, filter=None: []).bind(filter={"tenant": 7}))
        {'tenant': 7}
    """
    if isinstance(leg, DynamicRunnable):
        return bound_filter(*leg.prepare(config))
    if isinstance(leg, VectorStoreRetriever):
        return leg.search_kwargs.get("filter")
    if isinstance(leg, RunnableBindingBase):
        if leg.kwargs.get("filter") is not None:
            return leg.kwargs["filter"]
        config = merge_configs(leg.config, config)
    found = [bound_filter(part, config) for part in inside(leg)]
    if any(other != found[0] for other in found):
        msg = (
            f"the legs inside {type(leg).__name__} were given different filters for good "
            f"({found!r}), so no filter of a call can be joined with them; give them one filter"
        )
        raise FilterError(msg)
    return found[0] if found else None


def _store_of(leg: Any) -> VectorStore | None:
    """Return the store that a leg searches, whatever it is wrapped in."""
    if isinstance(leg, VectorStoreRetriever):
        return leg.vectorstore
    inner = inside(leg)
    return _store_of(inner[0]) if len(inner) == 1 else None


def both_filters(first: Any, second: Any) -> Any:
    """Return the filter that lets a document pass only if two others do.

    Args:
        first: A portable filter, as a leg was given for good.
        second: A portable filter, as a call gives it.

    Returns:
        A portable filter.

    Raises:
        FilterError: They differ and one of them is a store's own: they cannot be joined.

    Example:
        >>> both_filters({"tenant": 7}, {"lang": "en"})
        {'$and': [{'tenant': 7}, {'lang': 'en'}]}
    """
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return dict(second) if first == second else {"$and": [dict(first), dict(second)]}
    if first is second:
        return second
    msg = (
        f"a leg was given the filter {first!r} for good, and the call gives {second!r}; the call's "
        "would replace the leg's, and they can be joined only if both are dicts: write one filter"
    )
    raise FilterError(msg)
