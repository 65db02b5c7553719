"""`safe-retrievers index`: the index holds what the files hold, and nothing is done twice."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from langchain_core.documents import Document

from langchain_safe_retrievers.cli.directory import open_index
from langchain_safe_retrievers.cli.manifest import Manifest
from langchain_safe_retrievers.retrievers.hybrid import HybridRetriever

from .conftest import Run, put
from .letters import LetterEmbeddings

DOCS = {"docs/bees.md": "Bees make honey.", "docs/deep/wasps.txt": "Wasps make paper."}


def held(directory: str = "idx") -> dict[str, Document]:
    """Return the documents of an index by id, the same in both legs."""
    retriever, _ = open_index(Path(directory))
    assert not retriever.check()
    return {found.id or "": found for found in retriever.leg("keyword").documents()}


def texts() -> dict[str, str]:
    """Return the texts of the index by id."""
    return {name: found.page_content for name, found in held().items()}


def settle(*names: str) -> None:
    """Make files look as if they were changed an hour ago."""
    for name in names:
        os.utime(name, ns=(0, Path(name).stat().st_mtime_ns - 3_600_000_000_000))


# What is indexed ----------------------------------------------------------------------------------


def test_every_kind_of_file_is_found_with_its_metadata(run: Run) -> None:
    put(
        {
            "docs/a.md": "---\ntags: [x]\n---\nBees",
            "docs/b.html": "<title>B</title>Wasps",
            "docs/c.csv": "text,year\nAnts,2024\n",
            "docs/d.jsonl": '{"text": "Moths", "law": {"chapter": 2}}\n',
            "docs/e.txt": "Crickets",
        }
    )
    run("index", "docs", "--to", "idx")
    assert {name: found.metadata for name, found in held().items()} == {
        "docs/a.md#1": {"tags": ["x"], "source": "docs/a.md"},
        "docs/b.html#1": {"title": "B", "source": "docs/b.html"},
        "docs/c.csv#1": {"year": 2024, "source": "docs/c.csv", "line": 2},
        "docs/d.jsonl#1": {"law": {"chapter": 2}, "source": "docs/d.jsonl", "line": 1},
        "docs/e.txt#1": {"source": "docs/e.txt"},
    }


def test_the_number_of_files_and_chunks_is_told(run: Run) -> None:
    put(DOCS)
    assert run("index", "docs", "--to", "idx").out == (
        "idx: files: 2 new, 0 unchanged; 2 chunks written\n"
    )


def test_json_is_all_that_stdout_holds(run: Run) -> None:
    put(DOCS | {"docs/x.jsonl": "{"})
    done = run("index", "docs", "--to", "idx", "--json")
    (problem,) = done.json.pop("problems")
    assert problem["where"] == "docs/x.jsonl:1"
    assert done.json["new"] == 3
    assert done.json["broken"] == 1


def test_a_file_has_one_name_whether_it_or_a_folder_of_it_is_given(run: Run, here: Path) -> None:
    put(DOCS)
    run("index", "docs/bees.md", "--to", "idx")
    run("index", here / "docs" / "deep", "--to", "idx")
    assert run("index", "docs", "--to", "idx", "--json").json["unchanged"] == 2
    assert set(texts()) == {"docs/bees.md#1", "docs/deep/wasps.txt#1"}


def test_a_folder_above_one_that_has_a_name_leaves_that_name(run: Run) -> None:
    put(DOCS)
    run("index", "docs/deep", "--to", "idx")
    assert run("index", "docs", "--to", "idx", "--json").json["unchanged"] == 1
    assert set(texts()) == {"docs/bees.md#1", "deep/wasps.txt#1"}


def test_two_folders_of_one_name_are_kept_apart(run: Run, here: Path) -> None:
    put({"a/docs/x.txt": "Bees", "b/docs/x.txt": "Wasps"})
    run("index", "a/docs", "--to", "idx")
    run("index", "b/docs", "--to", "idx")
    assert texts() == {"docs/x.txt#1": "Bees", f"{here.as_posix()}/b/docs/x.txt#1": "Wasps"}


def test_a_folder_that_was_moved_keeps_its_name_and_is_not_embedded_again(run: Run) -> None:
    put(DOCS)
    run("index", "docs", "--to", "idx")
    Path("moved").mkdir()
    Path("docs").rename("moved/docs")
    Path("moved/docs/bees.md").unlink()
    before = LetterEmbeddings.embedded
    done = run("index", "moved/docs", "--to", "idx", "--json")
    assert (done.json["unchanged"], done.json["deleted"]) == (1, 1)
    assert LetterEmbeddings.embedded == before
    assert set(texts()) == {"docs/deep/wasps.txt#1"}


def test_an_index_inside_the_folder_is_not_indexed(run: Run) -> None:
    put(DOCS)
    run("index", ".", "--to", "docs/idx")
    assert run("index", ".", "--to", "docs/idx", "--json").json["unchanged"] == 2


def test_a_file_is_found_by_its_name_and_its_title(run: Run) -> None:
    put({"docs/refunds.md": "---\ntitle: Money back\n---\nWithin a fortnight."})
    run("index", "docs", "--to", "idx")
    retriever, _ = open_index(Path("idx"))
    for word in ("refunds", "money", "fortnight"):
        assert len(retriever.leg("keyword").invoke(word)) == 1, word


def test_chunks_are_as_long_as_asked_for(run: Run) -> None:
    put({"docs/a.txt": "bees " * 40})
    run("index", "docs", "--to", "idx", "--chunk-size", 50, "--chunk-overlap", 0)
    assert [len(text) for text in texts().values()] == [49, 49, 49, 49]


# Again --------------------------------------------------------------------------------------------


def test_what_is_unchanged_is_neither_read_nor_embedded_again(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(DOCS)
    settle(*DOCS)
    run("index", "docs", "--to", "idx")
    before = LetterEmbeddings.embedded
    monkeypatch.setattr("langchain_safe_retrievers.cli.indexing._bytes", None)
    assert run("index", "docs", "--to", "idx", "--json").json["unchanged"] == 2
    assert LetterEmbeddings.embedded == before


def test_a_file_that_was_only_touched_is_read_and_not_embedded_again(run: Run) -> None:
    put(DOCS)
    run("index", "docs", "--to", "idx")
    before = LetterEmbeddings.embedded
    settle("docs/bees.md")
    assert run("index", "docs", "--to", "idx", "--json").json["unchanged"] == 2
    assert LetterEmbeddings.embedded == before


def test_a_changed_file_takes_its_old_place_and_the_rest_of_the_old_is_gone(run: Run) -> None:
    put({"docs/a.jsonl": '"Bees"\n"Wasps"\n"Ants"\n'})
    run("index", "docs", "--to", "idx")
    put({"docs/a.jsonl": '"Bees"\n"Moths"\n'})
    before = LetterEmbeddings.embedded
    assert run("index", "docs", "--to", "idx", "--json").json["changed"] == 1
    assert texts() == {"docs/a.jsonl#1": "Bees", "docs/a.jsonl#2": "Moths"}
    assert LetterEmbeddings.embedded == before + 1


def test_a_change_right_after_indexing_is_seen_though_size_and_time_are_the_same(
    run: Run,
) -> None:
    put({"docs/a.txt": "Bees"})
    about = Path("docs/a.txt").stat()
    run("index", "docs", "--to", "idx")
    put({"docs/a.txt": "Ants"})
    os.utime("docs/a.txt", ns=(about.st_atime_ns, about.st_mtime_ns))
    run("index", "docs", "--to", "idx")
    assert texts() == {"docs/a.txt#1": "Ants"}


def test_files_read_otherwise_are_read_again(run: Run) -> None:
    put({"docs/a.csv": "text,note\nBees,Wasps\n"})
    settle("docs/a.csv")
    run("index", "docs", "--to", "idx")
    run("index", "docs", "--to", "idx", "--text-key", "note")
    assert texts() == {"docs/a.csv#1": "Wasps"}


def test_a_file_that_is_gone_is_deleted(run: Run) -> None:
    put(DOCS)
    run("index", "docs", "--to", "idx")
    Path("docs/bees.md").unlink()
    assert "1 deleted" in run("index", "docs", "--to", "idx").out
    assert set(texts()) == {"docs/deep/wasps.txt#1"}


def test_the_last_file_of_a_folder_is_deleted_too(run: Run) -> None:
    put({"docs/a.txt": "Bees"})
    run("index", "docs", "--to", "idx")
    Path("docs/a.txt").unlink()
    run("index", "docs", "--to", "idx")
    assert texts() == {}


def test_what_is_not_below_the_named_paths_stays(run: Run) -> None:
    put(DOCS | {"more/a.txt": "Ants", "docs2/b.txt": "Moths"})
    run("index", "docs", "more", "docs2", "--to", "idx")
    Path("more/a.txt").unlink()
    Path("docs2/b.txt").unlink()
    run("index", "docs", "--to", "idx")
    assert set(texts()) == {
        "docs/bees.md#1",
        "docs/deep/wasps.txt#1",
        "docs2/b.txt#1",
        "more/a.txt#1",
    }


def test_what_is_in_a_folder_that_may_not_be_looked_into_stays(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(DOCS)
    run("index", "docs", "--to", "idx")
    scandir = os.scandir

    def refuse(path: str) -> object:
        if Path(path).name == "deep":
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", refuse)
        done = run("index", "docs", "--to", "idx")
    assert done.err == "docs/deep: cannot be looked into: Permission denied\n"
    assert "docs/deep/wasps.txt#1" in texts()


def test_an_index_whose_legs_were_emptied_is_filled_again(run: Run) -> None:
    put(DOCS)
    settle(*DOCS)
    run("index", "docs", "--to", "idx")
    retriever, _ = open_index(Path("idx"))
    retriever.delete(["docs/bees.md#1"])
    run("index", "docs", "--to", "idx")
    assert set(texts()) == {"docs/bees.md#1", "docs/deep/wasps.txt#1"}


# Hostile files ------------------------------------------------------------------------------------


HOSTILE = {
    "docs/binary.txt": (b"\x00\x01\x02", "is no text: character 1 is a NUL"),
    "docs/latin.txt": ("Bär".encode("cp1252"), "is not in utf-8 (byte 2); if it is a text, name"),
    "docs/huge.txt": (b"x" * 1_000_001, "has 1.0 MB; expected at most 1: --max-size 2"),
    "docs/fake.pdf": (b"Bees", "is no PDF that can be read"),
    "docs/broken.csv": (b'a\n"b', "is no CSV: unexpected end of data"),
}


def test_a_hostile_file_is_told_of_in_one_line_and_the_others_are_indexed(run: Run) -> None:
    put(DOCS | {name: data for name, (data, _) in HOSTILE.items()})
    done = run("index", "docs", "--to", "idx", "--max-size", 1)
    lines = done.err.splitlines()
    assert len(lines) == len(HOSTILE)
    for name, (_, problem) in HOSTILE.items():
        assert any(line.startswith(f"{name}: {problem}") for line in lines), name
    assert set(texts()) == {"docs/bees.md#1", "docs/deep/wasps.txt#1"}
    assert "5 skipped" in done.out


def test_a_file_that_cannot_be_opened_is_told_of(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    put(DOCS)
    open_ = Path.open

    def refuse(path: Path, *arguments: object, **more: object) -> object:
        if path.name == "bees.md":
            raise PermissionError(13, "Permission denied", str(path))
        return open_(path, *arguments, **more)  # type: ignore[call-overload]

    monkeypatch.setattr(Path, "open", refuse)
    done = run("index", "docs", "--to", "idx")
    assert done.err == "docs/bees.md: cannot be read: Permission denied\n"


def test_what_is_no_regular_file_is_not_opened(run: Run) -> None:
    put(DOCS)
    os.mkfifo("docs/pipe.txt")
    assert run("index", "docs", "--to", "idx").err == "docs/pipe.txt: is no regular file\n"


def test_a_file_that_can_no_longer_be_read_keeps_its_place(run: Run) -> None:
    put(DOCS)
    run("index", "docs", "--to", "idx")
    put({"docs/bees.md": b"\xff"})
    done = run("index", "docs", "--to", "idx")
    assert done.err.endswith("; what was read of it before stays\n")
    assert texts()["docs/bees.md#1"] == "Bees make honey."


def test_broken_lines_are_told_of_by_file_and_line_and_left_out(run: Run) -> None:
    put({"docs/a.jsonl": '{"text": "Bees"}\n{"text":\n"Wasps"\n7\n'})
    done = run("index", "docs", "--to", "idx")
    assert done.err.splitlines() == [
        "docs/a.jsonl:2: is no JSON: Expecting value (character 9)",
        'docs/a.jsonl:4: is 7; expected an object, such as {"text": "…"}',
    ]
    assert done.out.endswith("2 chunks written, 2 broken pieces left out\n")
    assert texts() == {"docs/a.jsonl#1": "Bees", "docs/a.jsonl#2": "Wasps"}


def test_a_thousand_broken_lines_do_not_flood_the_terminal(run: Run) -> None:
    put({"docs/a.jsonl": "{\n" * 1000 + '"Bees"\n'})
    lines = run("index", "docs", "--to", "idx").err.splitlines()
    assert len(lines) == 21
    assert lines[-1] == "and 980 more that could not be read; --json lists all"


def test_strict_stops_at_the_first_problem_even_one_that_was_passed_over_before(run: Run) -> None:
    put({"docs/a.jsonl": "{\n"})
    settle("docs/a.jsonl")
    run("index", "docs", "--to", "idx")
    done = run("index", "docs", "--to", "idx", "--strict", code=1)
    assert done.err.startswith("safe-retrievers: docs/a.jsonl:1: is no JSON")
    assert done.out == ""


def test_an_encoding_is_for_what_is_not_utf8(run: Run) -> None:
    put({"docs/a.txt": "Bär".encode("cp1252"), "docs/b.txt": "Bär"})
    run("index", "docs", "--to", "idx", "--encoding", "cp1252")
    assert set(texts().values()) == {"Bär"}


def test_any_metadata_that_json_can_hold_comes_back(run: Run) -> None:
    put(
        {
            "docs/a.jsonl": '{"text": "Bees \\u0000", "": 1, "a.b": [1, null, {"$": 2}], "$and": '
            '"x", "chroma:document": true, "_conflicts": {}, "big": 123456789012345678901234, '
            '"nan": NaN, "\\ud800": "\\udfff", "id": 7, "part": "x"}'
        }
    )
    run("index", "docs", "--to", "idx")
    (found,) = held().values()
    assert found.page_content == "Bees \0"
    assert str(found.metadata.pop("nan")) == "nan"
    assert found.metadata == {
        "": 1,
        "a.b": [1, None, {"$": 2}],
        "$and": "x",
        "chroma:document": True,
        "_conflicts": {},
        "big": 123456789012345678901234,
        "\ud800": "\udfff",
        "id": 7,
        "part": "x",
        "source": "docs/a.jsonl",
        "line": 1,
    }


def test_a_name_that_is_no_unicode_is_indexed_and_printed(run: Run) -> None:
    Path("docs").mkdir()
    Path(os.fsdecode(b"docs/b\xe4r.txt")).write_text("Bees", encoding="utf-8")
    Path(os.fsdecode(b"docs/w\xe4.txt")).write_bytes(b"\xff")
    assert "docs/w" in run("index", "docs", "--to", "idx").err
    assert list(texts()) == ["docs/b\\xe4r.txt#1"]
    assert run("index", "docs", "--to", "idx", "--json").json["unchanged"] == 1


def test_controls_in_a_name_do_not_reach_the_terminal(run: Run) -> None:
    put({"docs/\x1b[31mred\n.txt": b"\xff", "docs/a.txt": "Bees"})
    done = run("index", "docs", "--to", "idx")
    assert "\x1b" not in done.err
    assert len(done.err.splitlines()) == 1


# Mistakes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["index", "--to", "idx"], "Missing argument 'PATH...'"),
        (["index", "docs"], "Missing option '--to'"),
        (["index", "nowhere", "--to", "idx"], "Path 'nowhere' does not exist"),
        (["index", "docs", "--to", "docs"], "'docs' holds something else than an index"),
        (["index", "docs", "--to", "docs/bees.md"], "holds something else than an index"),
        (
            ["index", "empty", "--to", "idx"],
            "no file to index in empty (but 1 of other kinds); exp",
        ),
        (["index", "docs", "empty/a.png", "--to", "idx"], "no file to index in empty/a.png"),
        (["index", "docs", "--to", "idx", "--encoding", "klingon"], "'klingon' is no encoding"),
        (["index", "docs", "--to", "idx", "--encoding", "hex"], "'hex' is no encoding of text"),
        (["index", "docs", "--to", "idx", "--chunk-size", "7"], "7 is not in the range"),
        (
            ["index", "docs", "--to", "idx", "--chunk-size", "50"],
            "--chunk-overlap 100 is not less than --chunk-size 50",
        ),
        (["index", "docs", "--to", "idx", "--language", "klingon"], "expected one of arabic"),
        (["index", "docs", "--to", "idx", "--embedding", "bert"], "expected 'wordllama' or module"),
    ],
)
def test_a_mistake_is_told_in_one_line_and_nothing_is_made(
    run: Run, arguments: list[str], message: str
) -> None:
    put(DOCS | {"empty/a.png": ""})
    done = run(*arguments, code=2)
    assert message in done.err
    assert len(done.err.splitlines()) == 1
    assert done.out == ""
    assert not Path("idx/vector").exists()


def test_the_language_of_an_index_cannot_be_changed(run: Run) -> None:
    put(DOCS)
    run("index", "docs", "--to", "idx", "--language", "none")
    run("index", "docs", "--to", "idx", "--language", "none")
    done = run("index", "docs", "--to", "idx", "--language", "german", code=2)
    assert "made with --language none, and --language is german" in done.err


def test_another_writer_is_told_of_and_nothing_is_waited_for(run: Run) -> None:
    put(DOCS)
    run("index", "docs", "--to", "idx")
    with closing(Manifest(Path("idx"))):
        for command in (["index", "docs", "--to", "idx"], ["repair", "idx"], ["check", "idx"]):
            done = run(*command, code=1)
            assert done.err == (
                "safe-retrievers: 'idx' is being written by another process; try again later\n"
            )
        run("search", "idx", "honey")


def test_a_damaged_list_of_files_is_told_of(run: Run) -> None:
    put(DOCS)
    run("index", "docs", "--to", "idx")
    put({"idx/files.sqlite3": b"x" * 5000})
    done = run("index", "docs", "--to", "idx", code=2)
    assert "files.sqlite3' is damaged" in done.err
    Path("idx/files.sqlite3").unlink()
    before = LetterEmbeddings.embedded
    run("index", "docs", "--to", "idx")
    assert LetterEmbeddings.embedded == before


# Cut short ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["add_documents", "delete"])
@pytest.mark.parametrize("is_before", [True, False])
def test_whatever_is_cut_short_is_finished_by_the_next_run(
    run: Run, monkeypatch: pytest.MonkeyPatch, method: str, *, is_before: bool
) -> None:
    put({"docs/a.jsonl": '"Bees"\n"Wasps"\n"Ants"\n', "docs/b.txt": "Moths"})
    run("index", "docs", "--to", "idx")
    put({"docs/a.jsonl": '"Crickets"\n', "docs/c.txt": "Beetles"})
    Path("docs/b.txt").unlink()
    whole = getattr(HybridRetriever, method)

    def cut_short(retriever: HybridRetriever, items: list[object], **_: object) -> None:
        if not items:
            return
        if not is_before:
            whole(retriever, items)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(HybridRetriever, method, cut_short)
        done = run("index", "docs", "--to", "idx", code=130)
    assert done.err.strip() == (
        "safe-retrievers: interrupted; what was written is kept, run it again to go on"
    )
    run("index", "docs", "--to", "idx")
    assert texts() == {"docs/a.jsonl#1": "Crickets", "docs/c.txt#1": "Beetles"}
    run("check", "idx")


def test_a_file_that_is_cut_short_and_changed_before_the_next_run_leaves_nothing_behind(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    put({"docs/a.jsonl": '"Bees"\n"Wasps"\n"Ants"\n'})
    with monkeypatch.context() as patch:
        patch.setattr(Manifest, "put", _stop_when_done)
        run("index", "docs", "--to", "idx", code=130)
    assert len(texts()) == 3
    put({"docs/a.jsonl": '"Bees"\n'})
    run("index", "docs", "--to", "idx")
    assert texts() == {"docs/a.jsonl#1": "Bees"}


_put = Manifest.put


def _stop_when_done(manifest: Manifest, entries: object) -> None:
    rows = list(entries)  # type: ignore[call-overload]
    if any(entry.digest for entry in rows):
        raise KeyboardInterrupt
    _put(manifest, rows)


def test_a_write_that_stopped_between_the_legs_is_mended(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(DOCS)
    run("index", "docs", "--to", "idx")
    retriever, _ = open_index(Path("idx"))
    retriever.leg("keyword").delete(["docs/bees.md#1"])
    assert "cut short; index again" in run("search", "idx", "honey").err
    assert run("check", "idx", code=1).out.startswith(
        "idx: not whole; in the keyword leg 1 missing"
    )
    monkeypatch.setattr(LetterEmbeddings, "embedded", 0)
    run("index", "docs", "--to", "idx")
    assert LetterEmbeddings.embedded == 0
    run("check", "idx")


def test_the_list_of_files_is_a_database_that_anyone_can_read(run: Run) -> None:
    put(DOCS)
    run("index", "docs", "--to", "idx")
    with closing(sqlite3.connect("idx/files.sqlite3")) as rows:
        assert rows.execute("SELECT name, chunks FROM files ORDER BY name").fetchall() == [
            ("docs/bees.md", 1),
            ("docs/deep/wasps.txt", 1),
        ]
