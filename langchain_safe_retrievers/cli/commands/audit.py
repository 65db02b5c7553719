"""`safe-retrievers audit`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from langchain_safe_retrievers.auditing.audit import audit
from langchain_safe_retrievers.cli import options
from langchain_safe_retrievers.cli.imported import imported
from langchain_safe_retrievers.cli.output import say_json, show, write_page


@click.command("audit")
@click.argument("target", metavar="MODULE:OBJECT")
@options.questions
@options.filtered
@click.option("--k", type=click.IntRange(min=1), help="The k that its users give.")
@options.html
@options.as_json
def command(  # noqa: PLR0913 - what the command line has
    *,
    target: str,
    queries: list[str],
    wanted: dict[str, Any] | None,
    k: int | None,
    html: Path | None,
    as_json: bool,
) -> None:
    """Tell what an EnsembleRetriever, MultiQueryRetriever or MergerRetriever loses.

    MODULE:OBJECT is one of these, a list of legs, or a function that makes one; the module is
    looked for in the current directory, too.

    \b
    Example:
      safe-retrievers audit my_project.search:retriever --queries questions.jsonl
    """  # noqa: D301 - click's mark for lines that are kept
    report = audit(imported(target), queries, filter=wanted, k=k)
    if html:
        write_page(report.to_html(), html)
    if as_json:
        say_json(report.to_dict())
    elif not html:
        show(report)
