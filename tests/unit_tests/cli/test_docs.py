"""docs/cli.md names what there is."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from langchain_safe_retrievers.cli.group import commands

PAGE = (Path(__file__).parents[3] / "docs" / "cli.md").read_text(encoding="utf-8")
LINES = re.findall(r"^\$ safe-retrievers (.*?)(?: [|>] .*)?$", PAGE, re.MULTILINE)


def command(name: str) -> click.Command:
    """Return a command."""
    found = commands.get_command(click.Context(commands), name)
    assert found is not None, name
    return found


@pytest.mark.parametrize("line", LINES)
def test_every_command_on_the_page_can_be_read(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("docs", "judged"):
        (tmp_path / folder).mkdir()
    (tmp_path / "tuned.json").write_text("{}", encoding="utf-8")
    (tmp_path / "questions.jsonl").write_text('"Who?"', encoding="utf-8")
    name, *arguments = shlex.split(line)
    found = command(name)
    with found.make_context(name, arguments):
        pass


def test_every_option_on_the_page_is_one_of_a_command() -> None:
    known = {"--help", "--traceback"}
    for name in commands.list_commands(click.Context(commands)):
        known.update(*(option.opts for option in command(name).params))
    assert set(re.findall(r"`(--[a-z-]+)", PAGE)) <= known
    assert len(LINES) > 10
