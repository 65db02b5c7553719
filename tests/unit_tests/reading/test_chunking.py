"""A file as documents."""

from __future__ import annotations

from pathlib import Path

import pytest

from langchain_safe_retrievers.reading.chunking import Chunking, Reading, read_file
from langchain_safe_retrievers.reading.parts import Broken, ReadingOptions, UnreadableFileError

from .files import pdf


def read(name: str, data: bytes | str, chunking: Chunking | None = None) -> Reading:
    """Read a file of that name."""
    given = data if isinstance(data, bytes) else data.encode()
    return read_file(Path(name), given, f"docs/{name}", ReadingOptions(), chunking or Chunking())


def test_chunks_are_numbered_through_a_file_and_within_a_part() -> None:
    found = read("a.pdf", pdf("Bees make honey.", "Wasps"), Chunking(10, 0)).documents
    assert [(each.id, each.page_content, each.metadata) for each in found] == [
        ("docs/a.pdf#1", "Bees make", {"source": "docs/a.pdf", "page": 1, "part": 1}),
        ("docs/a.pdf#2", "honey.", {"source": "docs/a.pdf", "page": 1, "part": 2}),
        ("docs/a.pdf#3", "Wasps", {"source": "docs/a.pdf", "page": 2}),
    ]


def test_a_files_own_metadata_stay_and_ours_stand_aside() -> None:
    (found,) = read("a.jsonl", '{"text": "a", "source": "wiki", "line": null}').documents
    assert found.metadata == {
        "source": "wiki",
        "line": None,
        "_source": "docs/a.jsonl",
        "_line": 1,
    }


def test_chinese_is_cut_behind_a_sentence() -> None:
    found = read("a.txt", "蜜蜂酿蜜。黄蜂造纸。", Chunking(6, 0)).documents
    assert [each.page_content for each in found] == ["蜜蜂酿蜜。", "黄蜂造纸。"]


def test_markdown_is_cut_before_a_heading() -> None:
    found = read("a.md", "# Bees\nhoney\n\n## Wasps\npaper", Chunking(16, 0)).documents
    assert [each.page_content for each in found] == ["# Bees\nhoney", "## Wasps\npaper"]


def test_a_blank_file_has_no_chunks() -> None:
    assert read("a.txt", " \n") == Reading()


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"text": "\\ud800"}', "its text holds half of a surrogate pair"),
        ('{"text": "a", "deep": ' + "[" * 200 + "]" * 200 + "}", "more than 100 levels deep"),
    ],
    ids=["half a character", "too deep"],
)
def test_what_no_index_could_keep_is_told_of(line: str, problem: str) -> None:
    found = read("a.jsonl", f'{line}\n{{"text": "b"}}')
    assert [each.page_content for each in found.documents] == ["b"]
    (broken,) = found.broken
    assert isinstance(broken, Broken)
    assert broken.place == 1
    assert problem in broken.problem


def test_a_kind_that_is_not_read_is_refused() -> None:
    with pytest.raises(UnreadableFileError, match=r"of a kind that is not read \(.png\)"):
        read("a.png", b"")
