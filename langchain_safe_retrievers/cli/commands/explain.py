"""`safe-retrievers explain`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from langchain_safe_retrievers.cli import options
from langchain_safe_retrievers.cli.asking import ask
from langchain_safe_retrievers.cli.output import say_json, show, write_page


@click.command("explain")
@options.directory
@click.argument("query", metavar="QUESTION")
@options.html
@options.top_k
@options.filtered
@options.embedding
@options.settings
@options.as_json
def command(  # noqa: PLR0913 - what the command line has
    *,
    directory: Path,
    query: str,
    html: Path | None,
    k: int,
    wanted: dict[str, Any] | None,
    embedding: str | None,
    settings: dict[str, Any] | None,
    as_json: bool,
) -> None:
    """Ask an index, and say which leg found what, how the ranks became one, and what was left out.

    \b
    Example:
      safe-retrievers explain idx "How do I get a refund?" --html out.html
    """  # noqa: D301 - click's mark for lines that are kept
    found = ask(
        directory,
        options.asked(query),
        embedding=embedding,
        settings=settings,
        k=k,
        filter=wanted,
    )
    if html:
        write_page(found.to_html(), html)
    if as_json:
        say_json(found.to_dict())
    elif not html:
        show(found)
