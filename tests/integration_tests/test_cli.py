"""The program as a user runs it: in processes of its own, at a terminal and in pipes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from langchain_safe_retrievers.cli.app import main

NOWHERE = "http://127.0.0.1:9"  # the discard port: nobody listens
OFFLINE = {"HTTP_PROXY": NOWHERE, "HTTPS_PROXY": NOWHERE, "ALL_PROXY": NOWHERE}
PROGRAM = [sys.executable, "-W", "default", "-m", "langchain_safe_retrievers.cli"]
SLOW = '''
import pathlib, time
from langchain_core.embeddings import Embeddings

class Slow(Embeddings):
    """Waits while there is a file named `wait`, and says so."""

    def embed_documents(self, texts):
        pathlib.Path("embedding").touch()
        while pathlib.Path("wait").exists():
            time.sleep(0.01)
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text):
        return [1.0 + text.count(letter) for letter in "abcdefgh"]
'''


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Go to a folder with documents."""
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "bees.md").write_text("---\nyear: 2024\n---\nBees make honey.", encoding="utf-8")
    (docs / "wasps.txt").write_text("Wasps build nests of paper.", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "slow", raising=False)
    return tmp_path


def start(home: Path, *arguments: str, **more: str) -> subprocess.Popen[str]:
    """Start the program in a folder."""
    unset = {"NO_COLOR", "FORCE_COLOR", "COLUMNS"}
    inherited = {name: value for name, value in os.environ.items() if name not in unset}
    return subprocess.Popen(  # noqa: S603 - our own program
        [*PROGRAM, *arguments],
        cwd=home,
        env={**inherited, **OFFLINE, **more},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(home: Path, *arguments: str, code: int = 0, **more: str) -> tuple[str, str]:
    """Run the program to its end, and return what it printed."""
    process = start(home, *arguments, **more)
    out, err = process.communicate(timeout=60)
    assert process.returncode == code, err
    return out, err


def at_terminal(home: Path, *arguments: str, **more: str) -> str:
    """Run the program at a terminal, and return what it printed there."""
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    inherited = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    process = subprocess.Popen(  # noqa: S603 - our own program
        [*PROGRAM, *arguments],
        cwd=home,
        env={**inherited, **OFFLINE, "TERM": "xterm-256color", "COLUMNS": "100", **more},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    printed = b""
    try:
        while data := os.read(ours, 65_536):
            printed += data
    except OSError:  # the other side is closed
        pass
    os.close(ours)
    assert process.wait(60) == 0, printed
    return printed.decode()


def wait_for(file: Path) -> None:
    """Wait until a file is there."""
    for _ in range(3000):
        if file.exists():
            return
        time.sleep(0.01)
    pytest.fail(f"no {file.name}")


def test_two_commands_lead_from_a_folder_to_an_explained_answer(home: Path) -> None:
    out, err = run(home, "index", "docs", "--to", "idx")
    assert (out, err) == ("idx: files: 2 new, 0 unchanged; 2 chunks written\n", "")
    assert run(home, "explain", "idx", "Who makes honey?", "--html", "out.html") == (
        "",
        "written: out.html\n",
    )
    page = (home / "out.html").read_text(encoding="utf-8")
    assert "Bees make honey." in page
    assert "2024" in page


def test_a_terminal_gets_a_bar_and_colours_unless_told_otherwise(home: Path) -> None:
    assert "Indexing" in at_terminal(home, "index", "docs", "--to", "idx")
    explain = ("explain", "idx", "Who makes honey?")
    assert "\x1b[38;5;" in at_terminal(home, *explain)
    assert "\x1b[38;5;" not in at_terminal(home, *explain, NO_COLOR="1")


def test_who_reads_no_more_than_the_first_line_gets_no_error(home: Path) -> None:
    assert main(["index", "docs", "--to", "idx"]) == 0
    process = start(home, "check", "idx")
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == ""
    process.stderr.close()
    assert process.wait(60) == 1


@pytest.mark.parametrize("kind", ["interrupted", "killed"])
def test_indexing_that_is_cut_short_goes_on_where_it_was(
    home: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    (home / "slow.py").write_text(SLOW, encoding="utf-8")
    (home / "wait").touch()
    index = ["index", "docs", "--to", "idx", "--embedding", "slow:Slow"]
    process = start(home, *index)
    wait_for(home / "embedding")
    assert main(index) == 1
    assert "is being written by another process; try again later" in capsys.readouterr().err
    process.send_signal(signal.SIGINT if kind == "interrupted" else signal.SIGKILL)
    _, err = process.communicate(timeout=60)
    if kind == "interrupted":
        assert process.returncode == 130
        assert "interrupted; what was written is kept" in err
        assert "Traceback" not in err
    (home / "wait").unlink()
    assert main(["check", "idx"]) == 1
    assert "cut short: docs/bees.md (index again)" in capsys.readouterr().out
    assert main(index) == 0
    capsys.readouterr()
    assert main(["check", "idx"]) == 0
    assert capsys.readouterr().out == "idx: whole; 2 documents of 2 files\n"
