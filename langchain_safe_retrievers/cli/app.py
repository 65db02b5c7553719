"""The program: runs a command, and says in one line what went wrong."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from pydantic import ValidationError

from langchain_safe_retrievers.cli.output import tell
from langchain_safe_retrievers.errors import CallerError, SafeRetrieverError
from langchain_safe_retrievers.extras import load

NAME = "safe-retrievers"
FAILURE, USAGE, INTERRUPTED = 1, 2, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        arguments: What stands after the program's name; None for what the process was given.

    Returns:
        The exit code: 0 if it went well, 1 for a failure (`check` found a difference, say), 2
        for a mistake in what was asked for, 130 if it was interrupted.
    """
    settings: dict[str, Any] = {"traceback": False}
    try:
        load("click", "cli")
        with _surroundings():
            from langchain_safe_retrievers.cli.group import commands  # noqa: PLC0415 - needs click

            given = None if arguments is None else list(arguments)
            code = commands.main(given, prog_name=NAME, standalone_mode=False, obj=settings)
    except Exception as error:
        if settings["traceback"]:
            raise
        return _failed(error)
    return code if isinstance(code, int) else 0


@contextmanager
def _surroundings() -> Iterator[None]:
    """Keep libraries quiet, and let any text be printed."""
    os.environ.setdefault("ANONYMIZED_TELEMETRY", "False")  # Chroma's
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # else a warning on fork
    logging.basicConfig(level=logging.WARNING)  # before wordllama sets INFO
    logging.getLogger("pypdf").setLevel(logging.ERROR)  # it warns of every oddity
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
    yield
    sys.stdout.flush()


def _failed(error: Exception) -> int:
    """Say what went wrong, and return the exit code for it."""
    if isinstance(error, BrokenPipeError):  # as of `| head`: nobody reads on
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILURE
    click = load("click", "cli") if not isinstance(error, ImportError) else None
    if click and isinstance(error, click.exceptions.NoArgsIsHelpError):
        click.echo(error.format_message(), err=True)
        return USAGE
    if click and isinstance(error, click.exceptions.Abort):
        tell(f"{NAME}: interrupted; what was written is kept, run it again to go on")
        return INTERRUPTED
    if click and isinstance(error, click.UsageError):
        path = error.ctx.command_path if error.ctx else NAME
        tell(f"{path}: {error.format_message()} (see {path} --help)")
        return USAGE
    if click and isinstance(error, click.ClickException):
        tell(f"{NAME}: {error.format_message()}")
        return FAILURE
    tell(f"{NAME}: {_text(error)}")
    return USAGE if isinstance(error, CallerError | ValidationError) else FAILURE


def _text(error: Exception) -> str:
    """Return an error as a sentence; of one that nobody foresaw its type, too."""
    if isinstance(error, SafeRetrieverError) and not isinstance(error, ExceptionGroup):
        return str(error)
    if isinstance(error, ValidationError):
        return str(error.errors()[0]["msg"]).removeprefix("Value error, ")
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror}"
    return f"{type(error).__name__}: {error} ({NAME} --traceback … shows where)"
