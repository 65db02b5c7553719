"""An object of the user's own, by name."""

from __future__ import annotations

import inspect
import sys
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any

from langchain_safe_retrievers.errors import ConfigurationError


def imported(name: str) -> Any:
    """Import an object; modules are looked for in the current directory, too.

    Args:
        name: `module:object`, such as `my_project.search:retriever`. A class, or a function
            that needs no arguments, is called.

    Returns:
        The object, or what the call returned.

    Raises:
        ConfigurationError: There is no such module or object.

    Example:
        >>> imported("math:pi")
        3.141592653589793
    """
    module, _, path = name.partition(":")
    if not module or not all(part.isidentifier() for part in path.split(".")):
        msg = f"{name!r} names no object; expected module:object, such as my_project.search:hybrid"
        raise ConfigurationError(msg)
    found: Any = _module(module)
    for part in path.split("."):
        found = _part(found, part, name)
    return found() if inspect.isclass(found) or inspect.isroutine(found) else found


def _module(name: str) -> Any:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise  # it is there; something that it needs is not
        msg = f"there is no module {name!r} in {here} or among the installed packages"
        raise ConfigurationError(msg) from None


def _part(found: Any, part: str, name: str) -> Any:
    try:
        return getattr(found, part)
    except AttributeError:
        owner = getattr(found, "__name__", type(found).__name__)
        near = get_close_matches(part, dir(found), n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        msg = f"{name!r}: {owner!r} has no {part!r}{hint}"
        raise ConfigurationError(msg) from None
