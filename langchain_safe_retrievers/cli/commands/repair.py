"""`safe-retrievers repair`."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import click

from langchain_safe_retrievers.cli import options
from langchain_safe_retrievers.cli.commands.check import difference_dict, say_difference
from langchain_safe_retrievers.cli.directory import open_index, read_settings
from langchain_safe_retrievers.cli.manifest import Manifest
from langchain_safe_retrievers.cli.output import say, say_json


@click.command("repair")
@options.directory
@options.as_json
def command(*, directory: Path, as_json: bool) -> None:
    """Make the keyword leg of an index hold what its vector leg holds; nothing is embedded.

    A file that was cut short is finished by `index`, which mends this, too.

    \b
    Example:
      safe-retrievers repair idx
    """  # noqa: D301 - click's mark for lines that are kept
    read_settings(directory)
    with closing(Manifest(directory)):
        retriever, _ = open_index(directory)
        found = retriever.repair()
    if as_json:
        say_json(difference_dict(found))
    elif found:
        say_difference(f"{directory}: mended", found)
    else:
        say(f"{directory}: nothing to mend")
