"""tantivy, imported when an index is first used."""

from __future__ import annotations

from functools import cache
from typing import Any

from langchain_safe_retrievers.extras import load


@cache
def tantivy() -> Any:
    """Return the module.

    Returns:
        `tantivy`.

    Raises:
        MissingExtraError: It is not installed.

    Example:
        >>> tantivy().__name__
        'tantivy'
    """
    return load("tantivy", extra="keyword")
