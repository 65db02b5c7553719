"""Text of unknown origin, made fit to be looked at."""

from __future__ import annotations

import re

from langchain_safe_retrievers.merging.conflicts import name_of

# Controls (a terminal obeys them), line separators, what turns the direction of text around,
# halves of surrogate pairs, and what is no character.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufffe\uffff]"
)


def visible(text: str, limit: int | None = None) -> str:
    r"""Return text in which nothing is hidden: what cannot be seen stands there by its number.

    Args:
        text: Any text, lone surrogates and control characters among it.
        limit: How many characters to show at most, at least 1; None for all.

    Returns:
        Text that every encoding of Unicode takes.

    Example:
        >>> visible("a\x1b[31m\u202eb"), visible("a long text", limit=6)
        ('a[U+001B][31m[U+202E]b', 'a long …')
    """
    shown = _UNSEEN.sub(_number, str.__str__(text)[:limit].replace("\r\n", "\n"))
    return shown if limit is None or len(text) <= limit else f"{shown.rstrip()} …"


def _number(found: re.Match[str]) -> str:
    return f"[U+{ord(found[0]):04X}]"


def one_line(text: str, limit: int) -> str:
    r"""Return the beginning of a text, white space collapsed.

    Args:
        text: Any text.
        limit: How many characters to show at most, at least 1.

    Returns:
        One line.

    Example:
        >>> one_line("a\n  b", limit=10)
        'a b'
    """
    start = str.__str__(text)[: 4 * limit]
    words = " ".join(start.split())
    whole = len(words) <= limit and len(start) == len(text)
    return visible(words if whole else f"{words[:limit].rstrip()} …")


def shown_value(value: object, limit: int = 300) -> str:
    """Return a metadata value as text.

    Args:
        value: Any value.
        limit: How many characters to show at most, at least 1.

    Returns:
        Its repr, or what stands for it if it has none.

    Example:
        >>> shown_value({"page": 3})
        "{'page': 3}"
    """
    return visible(repr(value) if type(value) is str else name_of(value), limit)
