"""Markdown, with metadata from YAML front matter."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from langchain_safe_retrievers.extras import load
from langchain_safe_retrievers.reading.parts import Broken, Part, ReadingOptions
from langchain_safe_retrievers.reading.text import decode

_LONGEST = 65_536  # characters of front matter
_DEEPEST = 50  # levels of YAML
_FRONT = re.compile(r"---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)


def read_markdown(data: bytes, options: ReadingOptions) -> Iterator[Part | Broken]:
    r"""Read a Markdown file; front matter becomes metadata.

    Front matter that cannot be read is told of, and stays in the text.

    Args:
        data: The file.
        options: How to read it.

    Yields:
        The text, and what is wrong with the front matter.

    Raises:
        UnreadableFileError: It is no text.

    Example:
        >>> data = b"---\ntitle: Bees\n---\nBees make honey."
        >>> [(part.text, part.metadata) for part in read_markdown(data, ReadingOptions())]
        [('Bees make honey.', {'title': 'Bees'})]
    """
    text = decode(data, options.encoding)
    front = _FRONT.match(text, 0, _LONGEST)
    if front is None:
        yield Part(text)
        return
    try:
        metadata = _mapping(front[1])
    except _YamlError as error:
        yield Broken(error.line, f"front matter is no YAML: {error}")
        metadata = None
    yield Part(text) if metadata is None else Part(text[front.end() :], metadata)


class _YamlError(Exception):
    """What is wrong with YAML, and in which line of the file."""

    def __init__(self, problem: str, line: int) -> None:
        super().__init__(problem)
        self.line = line


def _mapping(text: str) -> dict[str, Any] | None:
    """Return YAML as a mapping, or None if it is something else, a text between two rules."""
    yaml = load("yaml", "cli")
    try:
        _check_events(yaml, yaml.parse(text, yaml.SafeLoader))
        found = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error)
        raise _YamlError(problem, 2 + (mark.line if mark else 0)) from None
    except (ValueError, TypeError, RecursionError) as error:  # 2024-13-45, a list as a key, [[[[…
        raise _YamlError(str(error), 2) from None
    if not isinstance(found, dict):
        return None
    return {str(key): value for key, value in found.items()}


def _check_events(yaml: Any, events: Iterable[Any]) -> None:
    """Refuse what would take gigabytes or minutes, as soon as it is seen."""
    depth = 0
    for event in events:
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        problem = f"more than {_DEEPEST} levels" if depth > _DEEPEST else ""
        if isinstance(event, yaml.AliasEvent):
            problem = f"an alias (*{event.anchor}); write the value again"
        if problem:
            raise _YamlError(problem, 2 + event.start_mark.line)
