"""The program, run in this process."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from langchain_safe_retrievers.cli.app import main

from .letters import NAME, LetterEmbeddings


@dataclass(frozen=True)
class Done:
    """What a run of the program did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What stdout holds, all of it."""
        return json.loads(self.out)


Run = Callable[..., Done]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run in a folder of its own, with letters for vectors, and leave no trace in the process."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setenv("SAFE_RETRIEVERS_EMBEDDING", NAME)
    monkeypatch.setattr(LetterEmbeddings, "embedded", 0)
    return tmp_path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the program with arguments and return what it did."""

    def run(*arguments: object, code: int = 0) -> Done:
        capsys.readouterr()
        found = main([str(argument) for argument in arguments])
        done = Done(found, *capsys.readouterr())
        assert done.code == code, done.err
        return done

    return run


def put(files: Mapping[str, str | bytes]) -> None:
    """Write files."""
    for name, content in files.items():
        file = Path(name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
