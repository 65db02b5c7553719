"""A question to an index, explained."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from langchain_safe_retrievers.cli.directory import open_to_ask
from langchain_safe_retrievers.cli.settings import with_settings
from langchain_safe_retrievers.errors import LegError
from langchain_safe_retrievers.explaining.explain import explain
from langchain_safe_retrievers.explaining.explanation import Explanation


def ask(
    directory: Path,
    query: str,
    *,
    embedding: str | None = None,
    settings: dict[str, Any] | None = None,
    **arguments: Any,
) -> Explanation:
    """Ask an index.

    Args:
        directory: The index.
        query: The question.
        embedding: The name that the user gave, or None.
        settings: What `tune` wrote, or None.
        **arguments: As for `invoke`; None for what is not given.

    Returns:
        The explanation.

    Raises:
        LegError: A leg failed.
    """
    retriever = with_settings(open_to_ask(directory, embedding), settings)
    given = {name: value for name, value in arguments.items() if value is not None}
    found = explain(retriever, query, **given)
    if found.report.error:
        raise LegError(found.report.error)
    return found
