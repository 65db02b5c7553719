"""Which files there are to read."""

from __future__ import annotations

import os
from pathlib import Path

from langchain_safe_retrievers.reading.walking import walk


def put(folder: Path, *names: str) -> None:
    """Make files with a word in them."""
    for name in names:
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("Bees", encoding="utf-8")


def names(folder: Path, *paths: str) -> list[str]:
    """Return the files found below paths, from the folder on."""
    found = walk([folder / path for path in paths] or [folder], "mark")
    return [file.relative_to(folder).as_posix() for file in found.files]


def test_files_are_found_in_order_and_once(tmp_path: Path) -> None:
    put(tmp_path, "b/z.md", "b/A.TXT", "a/x.csv", "c.pdf")
    assert names(tmp_path, "b", ".", "c.pdf") == ["b/A.TXT", "b/z.md", "c.pdf", "a/x.csv"]


def test_hidden_files_other_kinds_and_indexes_are_passed_over(tmp_path: Path) -> None:
    put(tmp_path, "a.txt", ".b.txt", ".git/c.txt", "idx/mark", "idx/x/d.txt", "e.png", "f")
    assert names(tmp_path) == ["a.txt"]
    assert walk([tmp_path], "mark").others == 2


def test_symbolic_links_are_not_followed_so_that_nothing_outside_is_read(tmp_path: Path) -> None:
    put(tmp_path, "docs/a.txt", "secret/b.txt")
    (tmp_path / "docs" / "loop").symlink_to(tmp_path / "docs")
    (tmp_path / "docs" / "out").symlink_to(tmp_path / "secret")
    (tmp_path / "docs" / "c.txt").symlink_to(tmp_path / "secret" / "b.txt")
    (tmp_path / "docs" / "gone.txt").symlink_to(tmp_path / "nowhere")
    assert names(tmp_path, "docs") == ["docs/a.txt"]


def test_a_folder_that_may_not_be_looked_into_is_told_of(tmp_path: Path) -> None:
    put(tmp_path, "a.txt", "closed/b.txt")
    scandir = os.scandir

    def refuse(path: str) -> object:
        if Path(path).name == "closed":
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    os.scandir = refuse  # type: ignore[assignment]
    try:
        found = walk([tmp_path], "mark")
    finally:
        os.scandir = scandir
    assert [file.name for file in found.files] == ["a.txt"]
    assert found.closed == {tmp_path / "closed": "Permission denied"}
