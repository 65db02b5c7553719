"""Reading the queries out of the text that a language model wrote."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from langchain_safe_retrievers.queries.chatter import without_chatter, without_introduction
from langchain_safe_retrievers.queries.embedded import embedded_queries
from langchain_safe_retrievers.queries.markers import (
    has_words,
    split_inline,
    strip_label,
    strip_markers,
    unquote,
)
from langchain_safe_retrievers.queries.thoughts import closing_list, split_thoughts

if TYPE_CHECKING:
    from collections.abc import Iterable

_INVISIBLE = re.compile("[\u200b\u2060\ufeff\x00-\x08\x0e-\x1b\x7f]")
_WHITE = "".join(filter(str.isspace, map(chr, range(0x3001))))
EDGES = _WHITE + "\u00ad\u200c\u200d\u200e\u200f"
"""White space and signs without width, which mean nothing at the ends of a query."""
_FENCE = re.compile(
    r"^(?:```|~~~)(?:[\w+-]*$|(?:json|te?xt|plaintext|markdown|md|python)\b)?|(?:```|~~~)$",
    re.MULTILINE,
)
_WRAPPER = r"(?:answer|output|response|quer(?:y|ies)|questions?|alternatives?)"
_TAG = re.compile(rf"^</?{_WRAPPER}>|</{_WRAPPER}>$", re.MULTILINE | re.IGNORECASE)
_BOLD = re.compile(r"(?<![\w*])(\*{2,3})(?=\S)([^*\n]+)(?<=\S)\1(?![\w*])")
_MARKER_ALONE = re.compile(
    r"[(（\[]?(?:\d{1,3}|[a-zA-Z])[.)）\]:：、．]+|[\"']?\w+[\"']?\s*:\s*[\[{]"
)


def parse_queries(text: str) -> list[str]:
    r"""Read the queries out of what a model wrote.

    Numbering, bullets, labels, quotes, bold and code fences come off; JSON is read;
    introductions, sign-offs, thoughts, blank lines and repeated queries (whatever
    their case and spacing; the first one stays) are left out. A number is numbering only
    with a delimiter, and one that may belong to the query only where lines count up.

    A thought that is never closed hides all that follows it. If nothing else is left,
    its last paragraph is read, if that is a numbered list or questions only.

    Args:
        text: Any text. Time grows in proportion to its length.

    Returns:
        The queries in their order, each with a letter or digit in it; perhaps none.

    Example:
        >>> parse_queries("Sure! Two versions:\n1. 2024 tax rules\n2. **Tax law** in 2024")
        ['2024 tax rules', 'Tax law in 2024']
        >>> parse_queries("<think>They like films.</think>3 body problem explained")
        ['3 body problem explained']
    """
    answer, stray = split_thoughts(_normal(text))
    return _read_answer(answer) or _read_answer(closing_list(stray))


def unique_queries(queries: Iterable[str]) -> list[str]:
    """Return the queries that are not blank, first of each, whatever their case and spacing."""
    first: dict[str, str] = {}
    for query in queries:
        first.setdefault(" ".join(query.casefold().split()), query.strip(EDGES))
    return [query for query in first.values() if query]


def _normal(text: str) -> str:
    r"""Return the text with lines ended by `\\n`, and without fences, bold and invisible signs."""
    lines = (line.strip(EDGES) for line in _INVISIBLE.sub("", text).splitlines())
    return _BOLD.sub(r"\2", _FENCE.sub("", "\n".join(lines)))


def _read_answer(answer: str) -> list[str]:
    text = without_introduction(answer)
    lines = embedded_queries(text)
    if lines is None:
        tidy = (unquote(line.strip()) for line in dict.fromkeys(_untagged(text).split("\n")))
        lines = without_chatter([line for line in tidy if has_words(line)])
        lines = split_inline(lines[0]) if len(lines) == 1 else lines
    queries = (strip_label(line) for line in strip_markers([line.strip(EDGES) for line in lines]))
    return unique_queries(q for q in queries if has_words(q) and not _MARKER_ALONE.fullmatch(q))


def _untagged(text: str) -> str:
    """Take tags like `<query>` off the ends of lines, if any of them is closed."""
    return _TAG.sub("", text) if "</" in text else text
