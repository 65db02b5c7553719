"""Options that several commands have."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from reprlib import repr as brief
from typing import Any, TypeVar

import click

from langchain_safe_retrievers.errors import ConfigurationError, FilterError
from langchain_safe_retrievers.filters import compile_filter

F = TypeVar("F", bound=Callable[..., Any])

directory = click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
embedding = click.option(
    "--embedding",
    metavar="NAME",
    envvar="SAFE_RETRIEVERS_EMBEDDING",
    show_envvar=True,
    help="wordllama (the default), or module:object for any LangChain Embeddings.",
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON, and nothing else.")
top_k = click.option(
    "--k", type=click.IntRange(min=1), default=5, show_default=True, help="How many documents."
)
html = click.option(
    "--html",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write a page for a browser, instead of printing.",
)
max_concurrency = click.option(
    "--max-concurrency",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="How many questions to ask side by side.",
)


def json_of(value: str, example: str, kinds: tuple[type, ...] = (dict,)) -> Any:
    """Read JSON that stands on the command line, or in a file that does.

    Args:
        value: The JSON or the file's name.
        example: What to write.
        kinds: What it may be.

    Returns:
        What it says.

    Raises:
        BadParameter: It cannot be read, or is something else.
    """
    try:
        is_json = value.lstrip()[:1] in ("{", "[", '"')
        found = json.loads(value if is_json else Path(value).read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        msg = f"{brief(value)} is neither JSON nor a file with it ({error}); write {example}"
        raise click.BadParameter(msg) from None
    if isinstance(found, kinds):
        return found
    msg = f"{brief(value)} is a {type(found).__name__}; write {example}"
    raise click.BadParameter(msg)


def _filter(_ctx: click.Context, _param: click.Parameter, value: str | None) -> Any:
    if value is None:
        return None
    found = json_of(value, """--filter '{"source": "docs/guide.md"}'""")
    try:
        compile_filter(found)
    except FilterError as error:
        raise click.BadParameter(str(error)) from None
    return found


filtered = click.option(
    "--filter",
    "wanted",
    metavar="JSON",
    callback=_filter,
    help="""Only documents whose metadata match, such as '{"year": {"$gte": 2024}}'.""",
)


def _settings(_ctx: click.Context, _param: click.Parameter, value: str | None) -> Any:
    return None if value is None else json_of(value, "--settings tuned.json")


settings = click.option(
    "--settings",
    metavar="FILE",
    callback=_settings,
    help="Settings of the retriever: what tune --save wrote, or JSON.",
)


def _questions(_ctx: click.Context, _param: click.Parameter, value: Path) -> list[str]:
    try:
        text = value.read_text(encoding="utf-8-sig")
        found = read_questions(text, is_json=value.suffix in (".jsonl", ".ndjson"))
    except (OSError, UnicodeError) as error:
        msg = f"{str(value)!r} cannot be read: {error}"
        raise click.BadParameter(msg) from None
    except ConfigurationError as error:
        msg = f"{value}{error}"
        raise click.BadParameter(msg) from None
    if not found:
        msg = f"{str(value)!r} has no questions; expected one a line"
        raise click.BadParameter(msg)
    return found


questions = click.option(
    "--queries",
    metavar="FILE",
    required=True,
    type=click.Path(path_type=Path),
    callback=_questions,
    help="""A .jsonl file with {"query": "…"} a line, or a text file with a question a line.""",
)


dataset = click.option(
    "--dataset",
    metavar="DIR",
    required=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Questions and judgements in BEIR's layout: queries.jsonl and qrels.tsv.",
)
split = click.option(
    "--split", default="test", show_default=True, help="qrels/SPLIT.tsv, if there is no qrels.tsv."
)
doc_id_key = click.option(
    "--doc-id-key",
    metavar="KEY",
    help="Metadata key of the ids that the qrels name; source for an index, if left out.",
)


def file_option(name: str, what: str) -> Callable[[F], F]:
    """Return an option for a file to write.

    Args:
        name: Its name.
        what: What is written.

    Returns:
        A decorator.
    """
    return click.option(name, type=click.Path(dir_okay=False, path_type=Path), help=what)


def read_questions(text: str, *, is_json: bool) -> list[str]:
    """Read questions, one a line.

    Args:
        text: The lines; empty ones are passed over.
        is_json: Whether a line is JSON: a text, or an object with `query`, `question` or `text`.

    Returns:
        The questions.

    Raises:
        ConfigurationError: A line holds none.

    Example:
        >>> read_questions('{"query": "Who makes honey?"}', is_json=True)
        ['Who makes honey?']
    """
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not is_json:
        return [line.strip() for _, line in lines]
    return [_question(line, number) for number, line in lines]


def _question(line: str, number: int) -> str:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        found = None
    if isinstance(found, dict):
        found = next((found[key] for key in ("query", "question", "text") if key in found), None)
    if isinstance(found, str) and found.strip():
        return found
    msg = f':{number} is {line[:60]!r}; expected {{"query": "…"}}'
    raise ConfigurationError(msg)


def asked(query: str) -> str:
    """Return a question, if it is one.

    Args:
        query: What the user wrote.

    Returns:
        The same.
    """
    problem = "blank" if not query.strip() else ""
    try:
        query.encode()
    except UnicodeEncodeError:
        problem = "no valid Unicode"
    if not problem:
        return query
    msg = f"the question is {problem}; write it in quotes after the directory"
    raise click.UsageError(msg)
