"""The filter that a leg is given: the call's, joined with the leg's own and spelled its way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.base import RunnableBindingBase
from langchain_core.runnables.config import merge_configs
from langchain_core.runnables.configurable import DynamicRunnable
from langchain_core.vectorstores import VectorStoreRetriever

from langchain_safe_retrievers.errors import FilterError
from langchain_safe_retrievers.legs.arguments import inside


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
    return one_key_each(joined) if wants_one_key(leg) else joined


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


def wants_one_key(leg: Any) -> bool:
    """Tell whether a leg's store refuses a filter of several keys, as Chroma does.

    Args:
        leg: Any `RetrieverLike`.

    Returns:
        Whether to spell the filter with `$and`.
    """
    if isinstance(leg, VectorStoreRetriever):
        return type(leg.vectorstore).__name__ == "Chroma"
    inner = inside(leg)
    return len(inner) == 1 and wants_one_key(inner[0])


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


def one_key_each(filter: Any) -> Any:  # noqa: A002 - LangChain's name
    """Return a portable filter with every conjunction of keys spelled as `$and`.

    Chroma takes no dict of several keys; the meaning is the same.

    Args:
        filter: A portable filter; anything else is returned as it is.

    Returns:
        A filter of one key at every level.

    Example:
        >>> one_key_each({"lang": "en", "year": {"$gte": 2023, "$lt": 2025}})
        {'$and': [{'lang': 'en'}, {'year': {'$gte': 2023}}, {'year': {'$lt': 2025}}]}
    """
    if not isinstance(filter, Mapping):
        return filter
    parts: list[dict[Any, Any]] = []
    for key, wanted in filter.items():
        if key in ("$and", "$or") and isinstance(wanted, list | tuple):
            parts.append({key: [one_key_each(part) for part in wanted]})
        elif isinstance(wanted, Mapping) and len(wanted) > 1:
            parts.extend({key: {name: operand}} for name, operand in wanted.items())
        else:
            parts.append({key: wanted})
    return parts[0] if len(parts) == 1 else {"$and": parts}
