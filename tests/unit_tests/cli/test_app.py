"""The program: what it prints where, its exit codes, and one line for whatever goes wrong."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from langchain_safe_retrievers.cli.app import main
from langchain_safe_retrievers.cli.group import _HELP

from .conftest import Run, put
from .letters import NAME

OBJECTS = NAME.partition(":")[0]


@pytest.mark.parametrize("command", _HELP)
def test_every_commands_help_has_an_example(run: Run, command: str) -> None:
    done = run(command, "--help")
    assert f"Example:\n    safe-retrievers {command} " in done.out
    assert done.err == ""


def test_the_help_lists_the_commands_with_what_the_commands_say_of_themselves(run: Run) -> None:
    out = run("--help").out
    assert all(f"\n  {name} " in out for name in _HELP)
    assert run("-h").out == out


def test_without_a_command_the_help_is_shown_as_a_mistake(run: Run) -> None:
    done = run(code=2)
    assert "Usage: safe-retrievers" in done.err
    assert done.out == ""


def test_the_version_is_the_packages(run: Run) -> None:
    assert run("--version").out.startswith("safe-retrievers, version 0.")


def test_an_unknown_command_is_a_mistake_told_in_one_line(run: Run) -> None:
    assert run("serch", code=2).err.startswith("safe-retrievers: No such command 'serch'")


def test_help_imports_no_library_of_an_index() -> None:
    program = (
        "import sys; from langchain_safe_retrievers.cli.app import main; main(['--help']); "
        "print(sorted({'chromadb', 'tantivy', 'langchain_core', 'wordllama'} & {*sys.modules}))"
    )
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.endswith("\n[]\n")


def test_without_the_extra_the_program_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "click", None)
    assert main(["search", "idx", "honey"]) == 1
    assert capsys.readouterr().err == (
        "safe-retrievers: 'click' is not installed; it comes with the extra 'cli': "
        'pip install "langchain-safe-retrievers[cli]"\n'
    )


def test_an_error_that_nobody_foresaw_is_one_line_with_its_type(run: Run) -> None:
    put({"q.txt": "Who makes honey?"})
    done = run("audit", f"{OBJECTS}:broken", "--queries", "q.txt", code=1)
    assert done.err == (
        "safe-retrievers: RuntimeError: no honey (safe-retrievers --traceback … shows where)\n"
    )


def test_traceback_shows_where_an_error_arose(run: Run) -> None:
    put({"q.txt": "Who makes honey?"})
    with pytest.raises(RuntimeError, match="no\nhoney"):
        run("--traceback", "audit", f"{OBJECTS}:broken", "--queries", "q.txt")


def test_a_file_that_cannot_be_written_is_told_of(run: Run) -> None:
    put({"docs/a.txt": "Bees"})
    run("index", "docs", "--to", "idx")
    done = run("explain", "idx", "bees", "--html", Path("no", "where.html"), code=1)
    assert done.err == "safe-retrievers: no/where.html: No such file or directory\n"
