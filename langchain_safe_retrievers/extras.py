"""Optional packages: imported when they are used, and named by the extra that brings them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from langchain_safe_retrievers.errors import MissingExtraError


def load(module: str, extra: str) -> Any:
    """Import an optional module.

    Args:
        module: The module's full name.
        extra: The extra of this package that installs it.

    Returns:
        The module.

    Raises:
        MissingExtraError: It is not installed; the error says what to install.

    Example:
        >>> load("json", extra="keyword").dumps([1])
        '[1]'
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise  # it is there; something that it needs is not
        msg = (
            f"{error.name!r} is not installed; it comes with the extra {extra!r}: "
            f'pip install "langchain-safe-retrievers[{extra}]"'
        )
        raise MissingExtraError(msg, name=error.name) from error
