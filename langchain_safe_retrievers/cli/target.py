"""A retriever that the user names: an index, or an object of a module."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from langchain_safe_retrievers.cli.directory import open_to_ask
from langchain_safe_retrievers.cli.imported import imported
from langchain_safe_retrievers.errors import ConfigurationError
from langchain_safe_retrievers.evaluation.dataset import Dataset

_CUTOFF = re.compile(r"@(\d+)")


def is_object(target: str) -> bool:
    """Tell whether a target names an object and no directory.

    Args:
        target: What the user wrote.

    Returns:
        Whether it does.

    Example:
        >>> is_object("my_project.search:retriever"), is_object("idx")
        (True, False)
    """
    return ":" in target and not Path(target).exists()


def retriever_of(target: str, embedding: str | None, k: int) -> Any:
    """Return the retriever that a target names.

    Args:
        target: An index directory, or `module:object`.
        embedding: The name of the index's embedding, or None.
        k: How many documents an index returns.

    Returns:
        The retriever.

    Raises:
        ConfigurationError: It names none.
    """
    if not is_object(target):
        return open_to_ask(Path(target), embedding, k=k)
    found = imported(target)
    if hasattr(found, "invoke"):
        return found
    msg = f"{target!r} is a {type(found).__name__}; expected a retriever (with `invoke`)"
    raise ConfigurationError(msg)


def dataset_of(directory: Path, target: str, split: str, doc_id_key: str | None) -> Dataset:
    """Read a dataset.

    Args:
        directory: Where it is, in BEIR's layout.
        target: What is asked.
        split: Which judgements.
        doc_id_key: The metadata key of the ids that the judgements name; None for `source` in an
            index, and for `Document.id` otherwise.

    Returns:
        The dataset.
    """
    key = doc_id_key or (None if is_object(target) else "source")
    return Dataset.from_beir(directory, split=split, doc_id_key=key)


def depth(metrics: Sequence[str], least: int = 10) -> int:
    """Return how many documents metrics look at.

    Args:
        metrics: Their names.
        least: How many there are to be at least.

    Returns:
        The greatest cutoff.

    Example:
        >>> depth(["nDCG@10", "R@100"])
        100
    """
    return max([least, *(int(found) for name in metrics for found in _CUTOFF.findall(name))])
