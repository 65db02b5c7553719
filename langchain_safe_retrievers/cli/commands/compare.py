"""`safe-retrievers compare`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from langchain_safe_retrievers.cli import options
from langchain_safe_retrievers.cli.output import is_watched, say, say_json, write_page
from langchain_safe_retrievers.cli.settings import with_settings
from langchain_safe_retrievers.cli.target import depth, retriever_of
from langchain_safe_retrievers.evaluation.compare import compare
from langchain_safe_retrievers.evaluation.comparison import Comparison


@click.command("compare")
@click.argument("before", metavar="BEFORE")
@click.argument("after", metavar="AFTER")
@options.questions
@click.option(
    "--k", type=click.IntRange(min=1), default=10, show_default=True, help="How many ranks matter."
)
@options.filtered
@options.max_concurrency
@click.option(
    "--pages",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write explanations of the answers that changed most, for a browser.",
)
@options.embedding
@options.settings
@options.as_json
def command(  # noqa: PLR0913 - what the command line has
    *,
    before: str,
    after: str,
    queries: list[str],
    k: int,
    wanted: dict[str, Any] | None,
    max_concurrency: int,
    pages: Path | None,
    embedding: str | None,
    settings: dict[str, Any] | None,
    as_json: bool,
) -> None:
    """Tell how the answers of two retrievers differ; no judgements are needed.

    BEFORE and AFTER are each an index or MODULE:OBJECT. --settings are those of AFTER, so that
    an index can be compared with itself.

    \b
    Example:
      safe-retrievers compare idx idx --settings tuned.json --queries questions.jsonl
    """  # noqa: D301 - click's mark for lines that are kept
    old = retriever_of(before, embedding, depth([], k))
    new = with_settings(retriever_of(after, embedding, depth([], k)), settings)
    arguments: dict[str, Any] = {} if wanted is None else {"filter": wanted}
    found = compare(
        old,
        new,
        queries,
        k=k,
        max_concurrency=max_concurrency,
        show_progress=is_watched(),
        **arguments,
    )
    if pages:
        _write_pages(found, pages)
    if as_json:
        say_json(found.to_dict())
    else:
        say(found)


def _write_pages(found: Comparison, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number, change in enumerate(found.changed_most(), start=1):
        for when, each in zip(("before", "after"), change.explanations(), strict=True):
            if each is not None:
                write_page(each.to_html(), folder / f"{number}-{when}.html")
