"""The commands by name; each is imported when it is the one that runs."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

from langchain_safe_retrievers import __version__

_HELP = {
    "index": "Index files, and keep the index in step with them.",
    "search": "Ask an index.",
    "explain": "Ask an index, and say why each document is in the answer.",
    "check": "Tell whether an index is whole.",
    "repair": "Mend an index that was cut short.",
    "audit": "Tell what a LangChain retriever loses on your questions.",
    "evaluate": "Measure a retriever's quality and times on judged questions.",
    "compare": "Tell how the answers of two retrievers differ.",
    "tune": "Find the best weights for judged questions.",
}


class Commands(click.Group):
    """A group that does not import what it does not run."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the commands' names, in the order in which a user meets them."""
        return list(_HELP)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import a command."""
        if cmd_name not in _HELP:
            return None
        module = import_module(f"{__package__}.commands.{cmd_name}")
        found: click.Command = module.command
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands."""
        with formatter.section("Commands"):
            formatter.write_dl(list(_HELP.items()))


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
@click.option("--traceback", is_flag=True, help="Show where in the program an error arose.")
@click.pass_obj
def commands(settings: dict[str, Any] | None, *, traceback: bool) -> None:
    """Search your own files by words and by meaning, and see why a result is there.

    \b
    Example:
      safe-retrievers index docs --to idx
      safe-retrievers search idx "How do I get a refund?"
      safe-retrievers explain idx "How do I get a refund?" --html out.html
    """  # noqa: D301 - click's mark for lines that are kept
    if settings is not None:
        settings["traceback"] = traceback
