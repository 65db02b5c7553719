"""Every program in `examples/` runs offline, warns of nothing and says what it promises."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
NOWHERE = "http://127.0.0.1:9"  # the discard port: nobody listens
OFFLINE = {
    "HTTP_PROXY": NOWHERE,
    "HTTPS_PROXY": NOWHERE,
    "ALL_PROXY": NOWHERE,
    "HF_HUB_OFFLINE": "1",
}


def run(example: str, *arguments: object, code: int = 0) -> subprocess.CompletedProcess[str]:
    """Run an example in a process of its own and return what it printed."""
    done = subprocess.run(  # noqa: S603 - our own program, our own arguments
        [sys.executable, "-W", "default", str(EXAMPLES / example), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **OFFLINE},
        check=False,
    )
    assert done.returncode == code, done.stderr
    return done


SHORT = {
    "resilient.py": ["the circuit is open", "keyword (fallback 1): fallback"],
    "metrics.py": ["retriever_degraded_total 6.0"],
    "audit.py": ["lost 39 metadata"],
    "evaluate.py": ["WARNING: the gain does not hold up", "BIRR 100.0 %"],
    "explain.py": ["9 documents cut by k"],
    "swap_multi_query.py": ["2 documents, each text once", "'_conflicts': {'score': [2, 3]}"],
    "swap_ensemble.py": [
        "    page: 7",
        "    tags: ['refund']",
        "    author: {'name': 'Ada'}",
        "    _conflicts: {'source': ['vectors', 'keywords']}",
        "    retriever_1 at rank 2, contributes 0.0081",
        "    retriever_2 at rank 1, contributes 0.0082",
    ],
    "lcel_chain.py": [
        "invoke:  Within 14 days [1].",
        "ainvoke: Within 14 days [1].",
        "2 retrievals",
        "archive: connection refused",
    ],
}


def only(*packages: str) -> list[str]:
    """Return the arguments that limit the quickstart to a few distributions."""
    return [part for package in packages for part in ("--package", package)]


def answers(output: str) -> list[str]:
    """Return the lines that tell results, without the report's times."""
    return [line for line in output.splitlines() if line.startswith((" 1.", " 2.", "      "))]


def test_every_example_has_a_test() -> None:
    """A new example must be added here."""
    found = {path.name for path in EXAMPLES.glob("*.py")}
    assert found == {*SHORT, "hybrid.py", "quickstart.py"}


@pytest.mark.parametrize("example", SHORT)
def test_short_example_prints_what_is_no_longer_lost(example: str) -> None:
    """The example ends well, writes nothing to standard error, and prints its key lines."""
    done = run(example)
    assert done.stderr == ""
    assert [line for line in SHORT[example] if line not in done.stdout] == []


def test_quickstart_folds_what_langchain_classic_loses_and_reuses_its_index(tmp_path: Path) -> None:
    """The first run embeds and answers; the second embeds nothing and answers the same."""
    question = "Which classes retrieve documents?"
    asked = [question, "--directory", tmp_path, *only("langchain-core", "rank-bm25", "chromadb")]
    first, second = run("quickstart.py", *asked), run("quickstart.py", *asked)
    assert (first.stderr, second.stderr) == ("", "")
    assert ": 0 embedded now, " not in first.stdout
    assert ": 0 embedded now, " in second.stdout
    head, answer = first.stdout.split("\nQ: ", 1)
    assert head.startswith("3 distributions, ")
    assert answer.startswith(question)
    assert "vectors #" in answer
    assert "keywords #" in answer
    assert "conflict index: chroma | bm25" in answer
    assert "lost classifiers, requires, urls" in answer
    assert "langchain-classic lost 0 metadata keys" not in answer
    assert re.search(r"\n -  HybridRetriever: \S+ \S+, part \d+; ", answer)
    assert answers(second.stdout) == answers(first.stdout) != []


def test_quickstart_follows_a_corpus_that_changed(tmp_path: Path) -> None:
    """Chunks of a distribution that is gone leave the index."""
    run("quickstart.py", "bm25", "--directory", tmp_path, *only("rank-bm25"))
    then = run("quickstart.py", "chroma", "--directory", tmp_path, *only("chromadb"))
    assert "0 reused" in then.stdout
    assert ", 0 removed" not in then.stdout


def test_quickstart_refuses_a_distribution_that_is_not_installed(tmp_path: Path) -> None:
    """The message names the distribution and where to look."""
    done = run("quickstart.py", "--directory", tmp_path, *only("no-such-thing"), code=1)
    assert done.stderr == "--package: not installed: no-such-thing; see pip list\n"


def test_hybrid_index_is_kept_and_follows_the_files(tmp_path: Path) -> None:
    """The second run embeds nothing; then one file is added, one changed and one deleted."""
    folder, index = tmp_path / "files", ("--index", tmp_path / "index")
    folder.mkdir()
    (folder / "bees.txt").write_text("Bees make honey.\n\nWasps make paper.", "utf-8")
    (folder / "law.md").write_text("劳动者有权解除劳动合同。", "utf-8")
    first = run("hybrid.py", folder, "Who makes honey?", "解除劳动合同", *index)
    assert "3 paragraphs: 3 embedded now, 0 deleted" in first.stdout
    second = run("hybrid.py", folder, "Who makes honey?", "解除劳动合同", *index)
    assert "3 paragraphs: 0 embedded now, 0 deleted" in second.stdout
    assert first.stdout.split("\n\n")[1:] == second.stdout.split("\n\n")[1:]
    for answer in (
        "Q: Who makes honey?\n  bees.txt#0: Bees make honey. (vector #1, keyword #1)",
        "Q: 解除劳动合同\n  law.md#0: 劳动者有权解除劳动合同。 (vector #1, keyword #1)",
    ):
        assert answer in second.stdout

    (folder / "ants.txt").write_text("Ants make hills.", "utf-8")
    (folder / "bees.txt").write_text("Bees make wax.", "utf-8")
    (folder / "law.md").unlink()
    third = run("hybrid.py", folder, "make 合同", "--kind", "txt", *index)
    assert "2 paragraphs: 2 embedded now, 2 deleted" in third.stdout
    assert "bees.txt#0: Bees make wax." in third.stdout
    assert "law.md" not in third.stdout
    assert (first.stderr, second.stderr, third.stderr) == ("", "", "")
