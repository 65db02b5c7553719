"""`safe-retrievers check`."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import click

from langchain_safe_retrievers.cli import options
from langchain_safe_retrievers.cli.app import FAILURE
from langchain_safe_retrievers.cli.directory import open_index
from langchain_safe_retrievers.cli.manifest import Manifest
from langchain_safe_retrievers.cli.output import say, say_json
from langchain_safe_retrievers.evaluation.table import count
from langchain_safe_retrievers.in_step import Difference

_SHOWN = 20  # ids of a kind


@click.command("check")
@options.directory
@options.as_json
def command(*, directory: Path, as_json: bool) -> int:
    """Tell whether an index is whole: its two legs hold the same, and all of every file.

    The exit code is 1 if it is not.

    \b
    Example:
      safe-retrievers check idx || safe-retrievers repair idx
    """  # noqa: D301 - click's mark for lines that are kept
    retriever, _ = open_index(directory)
    with closing(Manifest(directory, read_only=True)) as manifest:
        entries = manifest.entries()
    found = retriever.check()
    unfinished = [entry.name for entry in entries if not entry.digest]
    documents, files = retriever.leg("keyword").count(), len(entries)
    chunks = sum(entry.chunks for entry in entries)
    lost = 0 if found or unfinished else max(0, chunks - documents)
    is_whole = not found and not unfinished and not lost
    if as_json:
        told: dict[str, Any] = {"whole": is_whole, "documents": documents, "files": files}
        say_json({**told, **difference_dict(found), "unfinished": unfinished, "lost": lost})
    elif is_whole:
        say(f"{directory}: whole; {count(documents, 'document')} of {count(files, 'file')}")
    else:
        say_difference(f"{directory}: not whole", found)
        for name in unfinished[:_SHOWN]:
            say(f"  cut short: {name} (index again)")
        if lost:
            say(f"  {count(lost, 'chunk')} of files not there (index again)")
    return 0 if is_whole else FAILURE


def difference_dict(found: Difference) -> dict[str, list[str]]:
    """Return a difference as JSON-native values.

    Args:
        found: Where the keyword leg differs from the vector leg.

    Returns:
        The ids by kind.
    """
    return {"missing": [*found.missing], "extra": [*found.extra], "changed": [*found.changed]}


def say_difference(head: str, found: Difference) -> None:
    """Print a difference.

    Args:
        head: What to print before.
        found: Where the keyword leg differs from the vector leg.
    """
    kinds = difference_dict(found)
    counts = ", ".join(f"{len(ids)} {kind}" for kind, ids in kinds.items())
    say(f"{head}; in the keyword leg {counts}")
    for kind, ids in kinds.items():
        for id_ in ids[:_SHOWN]:
            say(f"  {kind}: {id_}")
