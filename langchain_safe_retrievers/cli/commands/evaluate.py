"""`safe-retrievers evaluate`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from langchain_safe_retrievers.cli import options
from langchain_safe_retrievers.cli.output import is_watched, say, say_json, tell
from langchain_safe_retrievers.cli.settings import with_settings
from langchain_safe_retrievers.cli.target import dataset_of, depth, retriever_of
from langchain_safe_retrievers.evaluation.evaluate import METRICS, evaluate


@click.command("evaluate")
@click.argument("target", metavar="DIR|MODULE:OBJECT")
@options.dataset
@options.split
@options.doc_id_key
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    default=METRICS,
    show_default=True,
    help="As ir-measures writes it; may be repeated.",
)
@click.option(
    "--floor",
    type=float,
    help="Score up to which a document counts as nothing, for questions without an answer.",
)
@options.filtered
@options.max_concurrency
@options.file_option("--save", "Write all figures as JSON.")
@options.file_option("--run", "Write what was found as a run in TREC's format.")
@options.embedding
@options.settings
@options.as_json
def command(  # noqa: PLR0913 - what the command line has
    *,
    target: str,
    dataset: Path,
    split: str,
    doc_id_key: str | None,
    metrics: tuple[str, ...],
    floor: float | None,
    wanted: dict[str, Any] | None,
    max_concurrency: int,
    save: Path | None,
    run: Path | None,
    embedding: str | None,
    settings: dict[str, Any] | None,
    as_json: bool,
) -> None:
    """Measure a retriever's quality and times on questions with judged documents.

    \b
    Example:
      safe-retrievers evaluate idx --dataset judged --metric nDCG@10 --metric R@100
    """  # noqa: D301 - click's mark for lines that are kept
    data = dataset_of(dataset, target, split, doc_id_key)
    retriever = with_settings(retriever_of(target, embedding, depth(metrics)), settings)
    arguments: dict[str, Any] = {} if wanted is None else {"filter": wanted}
    found = evaluate(
        retriever,
        data,
        metrics,
        max_concurrency=max_concurrency,
        show_progress=is_watched(),
        floor=floor,
        **arguments,
    )
    for path, write in ((save, found.save), (run, found.write_run)):
        if path:
            write(path)
            tell(f"written: {path}")
    if as_json:
        say_json(found.to_dict())
    else:
        say(found)
