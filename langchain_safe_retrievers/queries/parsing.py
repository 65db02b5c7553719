"""Reading the queries that a language model wrote, in whatever form it wrote them."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from langchain_core.messages import BaseMessage
from langchain_core.output_parsers import BaseOutputParser
from langchain_core.outputs import ChatGeneration
from langchain_core.prompts import PromptTemplate
from typing_extensions import override

from langchain_safe_retrievers.errors import ConfigurationError, QueryOutputError
from langchain_safe_retrievers.queries.markers import strip_markers
from langchain_safe_retrievers.queries.text import EDGES, parse_queries, unique_queries

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.outputs import Generation
    from langchain_core.prompts import BasePromptTemplate

__all__ = [
    "DEFAULT_QUERY_PROMPT",
    "LineListOutputParser",
    "parse_queries",
    "prompt_variable",
    "queries_from_output",
]

DEFAULT_QUERY_PROMPT = PromptTemplate.from_template(
    "Rewrite the question below in 3 different ways, so that a search by meaning also finds "
    "documents that put it in other words or look at it from another side.\n"
    "Write one version per line, and nothing else.\n\n"
    "Question: {question}"
)
"""The prompt that asks a model for three versions of `question`, one per line."""

_KEYS = ("queries", "lines", "text")
_BLOCKS = ("text", "reasoning", "reasoning_content", "thinking", "redacted_thinking")
_DEEPEST = 16  # levels of lists, mappings and objects; deeper output is a cycle


def queries_from_output(output: object) -> list[str]:
    """Read the queries out of what a query-writing chain returned.

    Text is read by `parse_queries`. Each string of a list is one query, from which only
    white space and list markers come off. Reasoning blocks of a message are left out.

    Args:
        output: A str, a message, a list or tuple of these, or a mapping or object with
            `queries`, `lines` or `text` (the first of them that is not None). Not changed.

    Returns:
        A new list of queries in their order, without blank and repeated ones.

    Raises:
        QueryOutputError: If the output, or something in it, has none of these forms.

    Example:
        >>> queries_from_output({"lines": ["1. what is RAG", "2. RAG explained"]})
        ['what is RAG', 'RAG explained']
    """
    return unique_queries(_read(output, _DEEPEST))


def prompt_variable(prompt: BasePromptTemplate[Any]) -> str:
    """Return the name of the one variable that a prompt needs.

    Args:
        prompt: A prompt template; partial and optional variables do not count.

    Returns:
        The variable's name.

    Raises:
        ConfigurationError: If it needs no variable, or several.

    Example:
        >>> prompt_variable(PromptTemplate.from_template("Rewrite: {query}"))
        'query'
    """
    names = sorted(set(prompt.input_variables).difference(prompt.partial_variables))
    if len(names) == 1:
        return names[0]
    came = f"it needs {', '.join(map(repr, names))}" if names else "it needs none"
    message = (
        f"a query-writing prompt needs exactly one variable, for the question, but {came}. "
        "Write it as '{question}' (any name will do) and fill the others with prompt.partial(...)."
    )
    raise ConfigurationError(message)


class LineListOutputParser(BaseOutputParser[list[str]]):
    r"""Output parser that reads a model's text as a list of queries, by `parse_queries`.

    Example:
        >>> LineListOutputParser().invoke("- what is RAG\n- RAG explained")
        ['what is RAG', 'RAG explained']
    """

    @override
    def parse(self, text: str) -> list[str]:
        return parse_queries(text)

    @override
    def parse_result(self, result: list[Generation], *, partial: bool = False) -> list[str]:
        first = result[0]
        return self.parse(
            _text_of(first.message.content) if isinstance(first, ChatGeneration) else first.text
        )

    @property
    def _type(self) -> str:
        return "line_list"


def _read(output: object, depth: int) -> list[str]:
    if isinstance(output, str):
        return parse_queries(output)
    if isinstance(output, BaseMessage):
        return parse_queries(_text_of(output.content))
    if depth and isinstance(output, list | tuple):
        return _read_items(output, depth - 1)
    found = _named_part(output)
    if not depth or found is None:
        raise _unknown(output)
    return _read(found, depth - 1)


def _read_items(items: Sequence[object], depth: int) -> list[str]:
    """Read a list: its strings as one query each, everything else as `_read` does."""
    if any(isinstance(item, Mapping) and item.get("type") in _BLOCKS for item in items):
        return parse_queries(_text_of(items))
    queries: list[str] = []
    for item in items:
        queries += [item.strip(EDGES)] if isinstance(item, str) else _read(item, depth)
    return strip_markers(queries)


def _named_part(output: object) -> object:
    """Return the first of `queries`, `lines` and `text` that a mapping or object has."""
    if isinstance(output, Mapping):
        parts = [output.get(key) for key in _KEYS]
    else:
        parts = [getattr(output, key, None) for key in _KEYS]
    return next((part for part in parts if isinstance(part, str) or not _is_no_value(part)), None)


def _is_no_value(part: object) -> bool:
    return part is None or callable(part)


def _text_of(content: str | Sequence[object]) -> str:
    """Return the text of a message's content, each text block on lines of its own."""
    if isinstance(content, str):
        return content
    texts = (
        block.get("text")
        if isinstance(block, Mapping) and block.get("type", "text") == "text"
        else block
        for block in content
    )
    return "\n".join(text for text in texts if isinstance(text, str))


def _unknown(output: object) -> QueryOutputError:
    message = (
        f"the query writer returned {type(output).__name__}: {reprlib.repr(output)}. "
        "Expected a str, a list or tuple of str, a message, or a mapping or object with "
        "'queries', 'lines' or 'text'. "
        "End the chain with LineListOutputParser(), or return a list of strings."
    )
    return QueryOutputError(message)
