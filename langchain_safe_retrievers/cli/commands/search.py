"""`safe-retrievers search`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from langchain_safe_retrievers.cli import options
from langchain_safe_retrievers.cli.asking import ask
from langchain_safe_retrievers.cli.output import say, say_json, tell
from langchain_safe_retrievers.explaining.explanation import ExplainedDocument
from langchain_safe_retrievers.explaining.native import document_dict
from langchain_safe_retrievers.explaining.visible import one_line

_SHOWN = 300  # characters of a document


@click.command("search")
@options.directory
@click.argument("query", metavar="QUESTION")
@options.top_k
@options.filtered
@options.embedding
@options.settings
@options.as_json
def command(  # noqa: PLR0913 - what the command line has
    *,
    directory: Path,
    query: str,
    k: int,
    wanted: dict[str, Any] | None,
    embedding: str | None,
    settings: dict[str, Any] | None,
    as_json: bool,
) -> None:
    """Ask an index, and print the documents that answer best: rank, score, id and text.

    \b
    Example:
      safe-retrievers search idx "How do I get a refund?" --k 3
      safe-retrievers search idx refund --filter '{"year": {"$gte": 2024}}' --json
    """  # noqa: D301 - click's mark for lines that are kept
    found = ask(
        directory,
        options.asked(query),
        embedding=embedding,
        settings=settings,
        k=k,
        filter=wanted,
    )
    if as_json:
        say_json({"query": query, "documents": [_plain(each) for each in found.returned]})
        return
    for each in found.returned:
        say(f"{each.rank}. {_score(each)}  {each.document.id}")
        say(f"   {one_line(each.document.page_content, _SHOWN)}")
    if not found.returned:
        tell("nothing found")


def _plain(found: ExplainedDocument) -> dict[str, Any]:
    return {"rank": found.rank, "score": found.score, **document_dict(found.document)}


def _score(found: ExplainedDocument) -> str:
    return "-" if found.score is None else f"{found.score:.4f}"
