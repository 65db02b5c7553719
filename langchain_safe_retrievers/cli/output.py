"""What is printed: results to stdout, everything else to stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from langchain_safe_retrievers.explaining.visible import one_line, visible
from langchain_safe_retrievers.extras import load

T = TypeVar("T")
_LONGEST = 1000  # characters of a message
_WIDE = 160  # columns where there is no terminal


def tell(message: object) -> None:
    """Print a message as one line to stderr.

    Args:
        message: What to say; controls in it are shown, not sent.
    """
    sys.stdout.flush()
    print(one_line(str(message), _LONGEST), file=sys.stderr)  # noqa: T201 - a command line prints


def say(text: object = "") -> None:
    """Print text to stdout.

    Args:
        text: What to say; controls in it are shown, not sent.
    """
    print(visible(str(text)))  # noqa: T201 - a command line prints


def say_json(found: object) -> None:
    """Print JSON to stdout, on one line.

    Args:
        found: JSON-native values.
    """
    unicode = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    print(json.dumps(found, ensure_ascii=not unicode))  # noqa: T201 - a command line prints


def show(view: object) -> None:
    """Print what rich knows to print, without colours where stdout is no terminal.

    Args:
        view: An object with a view for terminals.
    """
    width = None if sys.stdout.isatty() else _WIDE
    rich = load("rich.console", "cli")
    console = rich.Console(width=width, markup=False, highlight=False, emoji=False)
    console.print(view)


def is_watched() -> bool:
    """Tell whether a progress bar would be seen."""
    return sys.stderr.isatty()


@contextmanager
def progress(what: str) -> Iterator[Callable[[Iterable[T], int], Iterable[T]]]:
    """Show on stderr how far something is, if that is a terminal.

    Args:
        what: What is done.

    Yields:
        Returns the items it is given, of which there are so many, and shows how many are done.
    """
    if not is_watched():
        yield lambda items, _total: items
        return
    console = load("rich.console", "cli").Console(stderr=True)
    with load("rich.progress", "cli").Progress(console=console, transient=True) as bar:
        yield lambda items, total: bar.track(items, total, description=what)


def write_page(page: str, path: Path) -> None:
    """Write a page, and say so.

    Args:
        page: HTML.
        path: The file; one that is there is written over.
    """
    path.write_text(page, encoding="utf-8", errors="backslashreplace")
    tell(f"written: {path}")
