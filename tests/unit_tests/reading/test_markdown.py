"""Markdown and its front matter."""

from __future__ import annotations

from datetime import date

import pytest

from langchain_safe_retrievers.reading.markdown import read_markdown
from langchain_safe_retrievers.reading.parts import Broken, Part, ReadingOptions

Parts = list[Part | Broken]


def read(text: str) -> Parts:
    """Read a Markdown file."""
    return list(read_markdown(text.encode(), ReadingOptions()))


def test_front_matter_becomes_metadata_with_its_types() -> None:
    text = "---\ntags: [a, b]\nday: 2024-05-01\nlaw: {chapter: 2}\n1: one\n---\n# Bees\n"
    metadata = {"tags": ["a", "b"], "day": date(2024, 5, 1), "law": {"chapter": 2}, "1": "one"}
    assert read(text) == [Part("# Bees\n", metadata)]


@pytest.mark.parametrize(
    "text",
    [
        "# Bees\n---\na: 1\n---\n",
        "---\nBees make honey.\n---\nWasps\n",
        "---\na: 1\n",
        "---\n- a\n---\n",
        "",
    ],
    ids=["not at the start", "a text between rules", "never closed", "a list", "empty"],
)
def test_what_is_no_front_matter_stays_text(text: str) -> None:
    assert read(text) == [Part(text)]


@pytest.mark.parametrize(
    ("front", "line"),
    [("a: 1\nb: [1\n", 4), ("day: 2024-13-45\n", 2), ("? [a]\n: 1\n", 2), ("a: &x 1\nb: *x\n", 3)],
    ids=["not closed", "no day", "a list as a key", "an alias"],
)
def test_front_matter_that_cannot_be_read_is_told_of_and_stays_in_the_text(
    front: str, line: int
) -> None:
    text = f"---\n{front}---\nBees\n"
    problem, part = read(text)
    assert isinstance(problem, Broken)
    assert problem.place == line
    assert "front matter" in problem.problem
    assert part == Part(text)


def test_aliases_that_would_unfold_to_gigabytes_are_refused() -> None:
    layers = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    problem, _ = read("\n".join(["---", "a0: &a0 [lol]", *layers, "---", "Bees"]))
    assert isinstance(problem, Broken)
    assert "alias (*a0)" in problem.problem


def test_front_matter_makes_no_python_objects() -> None:
    problem, _ = read("---\na: !!python/object/apply:os.getcwd []\n---\n")
    assert isinstance(problem, Broken)


def test_ten_thousand_brackets_are_told_of() -> None:
    problem, _ = read(f"---\na: {'[' * 10_000}\n---\n")
    assert isinstance(problem, Broken)
