"""Refuse what is no query, and take out of one what no store can read."""

from __future__ import annotations

import re
from dataclasses import dataclass

from langchain_safe_retrievers.errors import QueryError

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")  # all but tab and line ends
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class QueryGuard:
    r"""Checks a query before anybody is asked.

    Args:
        max_chars: How long a query may be, in characters, at least 1; None for any length.

    Example:
        >>> QueryGuard().clean("bees\x00honey")
        'bees honey'
    """

    max_chars: int | None = 8000

    def clean(self, query: object) -> str:
        """Return the query as a store can read it.

        Control characters become spaces; surrogates that make up a character become it, and
        lone ones U+FFFD.

        Args:
            query: What the user asked.

        Returns:
            The query, the same object if nothing was to be changed.

        Raises:
            QueryError: It is no str, is blank, or too long.
        """
        if not isinstance(query, str):
            msg = f"the query is {_brief(query)} of type {type(query).__name__}; expected a str"
            raise QueryError(msg)
        if self.max_chars is not None and len(query) > self.max_chars:
            msg = (
                f"the query has {len(query):,} characters; expected at most {self.max_chars:,}: "
                "shorten it, or give a larger max_query_chars"
            )
            raise QueryError(msg)
        if _SURROGATE.search(query):
            query = query.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        query = _CONTROL.sub(" ", query)
        if not query.strip():
            msg = f"the query is {query!r:.40}; expected a text with something in it"
            raise QueryError(msg)
        return query


def _brief(value: object) -> str:
    try:
        return f"{value!r:.60}"
    except Exception:  # noqa: BLE001 - the value's own `__repr__` failed
        return "an object"
