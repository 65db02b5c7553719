"""`safe-retrievers tune`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from langchain_safe_retrievers.cli import options
from langchain_safe_retrievers.cli.output import is_watched, say, say_json, tell
from langchain_safe_retrievers.cli.settings import FUSERS, fusing, read_values, write_values
from langchain_safe_retrievers.cli.target import dataset_of, depth, retriever_of
from langchain_safe_retrievers.evaluation.space import leg_names, weight_grid
from langchain_safe_retrievers.evaluation.tune import tune
from langchain_safe_retrievers.retrievers.ensemble import SafeEnsembleRetriever

_STEPS = 10  # that weights are cut into


def _space(_ctx: click.Context, _param: click.Parameter, value: str | None) -> Any:
    if value is None:
        return None
    return options.json_of(value, """--space '{"c": [10, 60]}'""", (dict, list))


@click.command("tune")
@click.argument("target", metavar="DIR|MODULE:OBJECT")
@options.dataset
@options.split
@options.doc_id_key
@click.option("--metric", default="nDCG@10", show_default=True, help="What to raise.")
@click.option(
    "--space",
    metavar="JSON",
    callback=_space,
    help="Name to the values to try, or a list of settings, as JSON or a file with it; weights "
    "in tenths and all fusers, if left out.",
)
@click.option("--max-settings", type=click.IntRange(min=1), help="Draw so many of the space.")
@click.option("--held-out", type=float, default=0.5, show_default=True, help="Share of questions.")
@click.option("--seed", type=int, default=0, show_default=True)
@options.max_concurrency
@options.file_option("--save", "Write the best settings as JSON, for --settings.")
@options.file_option("--csv", "Write every setting that was tried as CSV.")
@options.file_option("--png", "Draw quality against time.")
@options.embedding
@options.as_json
def command(  # noqa: PLR0913 - what the command line has
    *,
    target: str,
    dataset: Path,
    split: str,
    doc_id_key: str | None,
    metric: str,
    space: Any,
    max_settings: int | None,
    held_out: float,
    seed: int,
    max_concurrency: int,
    save: Path | None,
    csv: Path | None,
    png: Path | None,
    embedding: str | None,
    as_json: bool,
) -> None:
    """Find the settings that raise a metric the most, and hold them against fresh questions.

    \b
    Example:
      safe-retrievers tune idx --dataset judged --save tuned.json
      safe-retrievers search idx "How do I get a refund?" --settings tuned.json
    """  # noqa: D301 - click's mark for lines that are kept
    data = dataset_of(dataset, target, split, doc_id_key)
    retriever = fusing(retriever_of(target, embedding, depth([metric])))
    found = tune(
        retriever,
        data,
        _usual_space(retriever) if space is None else _values(space),
        metric=metric,
        held_out=held_out,
        seed=seed,
        max_settings=max_settings,
        max_concurrency=max_concurrency,
        show_progress=is_watched(),
    )
    best = json.dumps(write_values(found.settings), indent=1)
    for path, write in (
        (save, lambda path: path.write_text(f"{best}\n", encoding="utf-8")),
        (csv, found.write_csv),
        (png, found.draw),
    ):
        if path:
            write(path)
            tell(f"written: {path}")
    if as_json:
        say_json({**found.to_dict(), "settings": write_values(found.settings)})
    else:
        say(found)


def _values(space: Any) -> Any:
    """Return a space as the retriever takes it: of fusers the fusers, not their names."""
    if isinstance(space, list):
        return [read_values(settings) for settings in space]
    fusers = space.get("fuser")
    if not isinstance(fusers, list):
        return space
    return {**space, "fuser": [read_values({"fuser": each})["fuser"] for each in fusers]}


def _usual_space(retriever: SafeEnsembleRetriever) -> dict[str, Any]:
    grid = weight_grid(leg_names(retriever), _STEPS)
    return {"weights": grid, "fuser": list(FUSERS.values())}
