"""`search`, `explain`, `check` and `repair` over one index."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from langchain_safe_retrievers.cli.app import main
from langchain_safe_retrievers.cli.directory import open_index

from .conftest import Run, put
from .letters import NAME

HOSTILE = "[bold]Bees[/bold] :bee: \x1b[31m<script>alert(1)</script> [/] http://x"


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make one index for all tests of this file, which leave it as it is."""
    folder = tmp_path_factory.mktemp("asking")
    rows = [
        {"text": "Bees make honey.", "year": 2024, "law": {"chapter": 2}},
        {"text": "Wasps make paper.", "year": 2020},
        {"text": HOSTILE, "year": 1999},
    ]
    docs = folder / "docs"
    docs.mkdir()
    (docs / "a.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    before = [*sys.path]
    assert main(["index", str(docs), "--to", str(folder / "idx"), "--embedding", NAME]) == 0
    sys.path[:] = before
    return folder / "idx"


# search -------------------------------------------------------------------------------------------


def test_a_result_is_its_rank_score_id_and_text(run: Run, index: Path) -> None:
    done = run("search", index, "Who makes honey?", "--k", 1)
    first, second = done.out.splitlines()
    assert first.startswith("1. ")
    assert first.endswith("  docs/a.jsonl#1")
    assert second == "   Bees make honey."
    assert done.err == ""


def test_json_holds_whole_documents(run: Run, index: Path) -> None:
    found = run("search", index, "Who makes honey?", "--k", 2, "--json").json
    assert found["query"] == "Who makes honey?"
    assert [each["rank"] for each in found["documents"]] == [1, 2]
    assert found["documents"][0]["score"] > found["documents"][1]["score"]
    del found["documents"][0]["score"]
    assert found["documents"][0] == {
        "rank": 1,
        "id": "docs/a.jsonl#1",
        "text": "Bees make honey.",
        "metadata": {
            "year": 2024,
            "law": {"chapter": 2},
            "source": "docs/a.jsonl",
            "line": 1,
        },
    }


@pytest.mark.parametrize(
    ("wanted", "ids"),
    [
        ('{"law.chapter": 2}', ["1"]),
        ('{"year": {"$lt": 2024}}', ["2", "3"]),
        ('{"year": 1}', []),
        ("{}", ["1", "2", "3"]),
    ],
)
def test_a_filter_is_a_wall(run: Run, index: Path, wanted: str, ids: list[str]) -> None:
    found = run("search", index, "make", "--filter", wanted, "--json").json["documents"]
    assert sorted(each["id"].rpartition("#")[2] for each in found) == ids


def test_a_filter_may_stand_in_a_file(run: Run, index: Path) -> None:
    put({"wanted.json": '\ufeff{"year": 2020}'})
    found = run("search", index, "make", "--filter", "wanted.json", "--json").json["documents"]
    assert [each["text"] for each in found] == ["Wasps make paper."]


def test_nothing_found_is_said_and_is_no_failure(run: Run, index: Path) -> None:
    done = run("search", index, "make", "--filter", '{"year": 1}')
    assert (done.out, done.err) == ("", "nothing found\n")


def test_what_documents_say_is_printed_and_not_obeyed(run: Run, index: Path) -> None:
    done = run("search", index, "bees", "--filter", '{"year": 1999}')
    assert HOSTILE.replace("\x1b", "[U+001B]") in done.out
    assert "\x1b" not in done.out


@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
def test_any_terminal_can_print_any_text_and_any_pipe_take_the_json(
    run: Run, monkeypatch: pytest.MonkeyPatch, encoding: str
) -> None:
    text = "蜜蜂酿蜜 \U0001f41d"
    put({"docs/蜂.txt": text})
    run("index", "docs", "--to", "idx")
    with monkeypatch.context() as patch:
        stdout = io.TextIOWrapper(io.BytesIO(), encoding)
        patch.setattr(sys, "stdout", stdout)
        assert main(["search", "idx", "蜜蜂"]) == 0
        assert main(["search", "idx", "蜜蜂", "--json"]) == 0
    assert isinstance(stdout.buffer, io.BytesIO)
    *lines, last = stdout.buffer.getvalue().decode(encoding).splitlines()
    assert len(lines) == 2
    (found,) = json.loads(last)["documents"]
    assert (found["id"], found["text"]) == ("docs/蜂.txt#1", text)


def test_settings_change_the_weights(run: Run, index: Path) -> None:
    def first(weights: str) -> str:
        found = run("search", index, "paper", "--k", 1, "--json", "--settings", weights)
        return str(found.json["documents"][0]["text"])

    assert first('{"weights": {"vector": 0, "keyword": 1}}') == "Wasps make paper."
    assert first('{"fuser": "ReciprocalRank", "weights": [0, 1]}') == "Wasps make paper."


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["honey", "--k", "0"], "0 is not in the range"),
        (["honey", "--filter", "year=2024"], "'year=2024' is neither JSON nor a file with it"),
        (["honey", "--filter", "[1]"], "'[1]' is a list; write --filter"),
        (["honey", "--filter", '{"a": {"$gr": 1}}'], "got '$gr', expected one of $eq"),
        (["honey", "--filter", "[" * 100_000], "is neither JSON"),
        (["honey", "--settings", '{"weight": 1}'], "['weight'] are no settings; expected some of"),
        (["honey", "--settings", '{"fuser": "Best"}'], "'Best' is no fuser; expected one of"),
        (["honey", "--settings", '{"weights": [1]}'], "weights"),
        (["honey", "--settings", '{"k": 0}'], "k is 0"),
        ([" "], "the question is blank"),
        (["\udcff"], "the question is no valid Unicode"),
        ([], "Missing argument 'QUESTION'"),
    ],
)
def test_a_mistake_is_told_in_one_line(
    run: Run, index: Path, arguments: list[str], message: str
) -> None:
    done = run("search", index, *arguments, code=2)
    assert message in done.err
    assert len(done.err.splitlines()) == 1
    assert done.out == ""


@pytest.mark.parametrize(
    "command", [["search", "{}", "q"], ["explain", "{}", "q"], ["check", "{}"]]
)
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "is not there; make one: safe-retrievers index PATH --to"),
        ("", "is no index; make one"),
        ("{", "is damaged"),
        ('{"embedding": "wordllama", "probe": [1], "language": null, "format": 99}', "format 99"),
        ('{"embedding": "wordllama"}', "is damaged"),
        ("[" * 100_000, "is damaged"),
    ],
)
def test_a_directory_that_is_no_index_is_told_of(
    run: Run, command: list[str], content: str | None, message: str
) -> None:
    if content is not None:
        put({"no/safe-retrievers.json" if content else "no/a.txt": content})
    done = run(*[part.replace("{}", "no") for part in command], code=2)
    assert message in done.err
    assert len(done.err.splitlines()) == 1


# The embedding ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "how"),
    [("MirroredEmbeddings", "cosine -1.00"), ("ShortEmbeddings", "3 dimensions instead of 16")],
)
def test_an_embedding_that_makes_other_vectors_is_refused(
    run: Run, index: Path, name: str, how: str
) -> None:
    other = NAME.replace("LetterEmbeddings", name)
    done = run("search", index, "honey", "--embedding", other, code=2)
    assert f"was made with the embedding '{NAME}', and '{other}' makes other vectors" in done.err
    assert how in done.err


def test_what_a_directory_says_is_never_imported(
    run: Run, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SAFE_RETRIEVERS_EMBEDDING")
    done = run("search", index, "honey", code=2)
    assert done.err.endswith(f"was made with the embedding '{NAME}'; write: --embedding {NAME}\n")


def test_wordllama_needs_no_option(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SAFE_RETRIEVERS_EMBEDDING")
    put({"docs/a.txt": "A dog barks.", "docs/b.txt": "Money back within a fortnight."})
    run("index", "docs", "--to", "idx")
    found = run("search", "idx", "refund", "--k", 1, "--json").json["documents"]
    assert [each["id"] for each in found] == ["docs/b.txt#1"]


# explain ------------------------------------------------------------------------------------------


def test_an_explanation_is_printed_plainly_where_there_is_no_terminal(
    run: Run, index: Path
) -> None:
    done = run("explain", index, "Who makes honey?")
    for word in ("vector", "keyword", "NoisyOr", "Bees make honey."):
        assert word in done.out
    assert "\x1b" not in done.out
    assert "[bold]Bees" in done.out


def test_an_explanation_is_written_as_a_page(run: Run, index: Path) -> None:
    done = run("explain", index, "Who makes honey?", "--html", "out.html")
    assert (done.out, done.err) == ("", "written: out.html\n")
    page = Path("out.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "<script>alert" not in page
    assert "Bees make honey." in page


def test_an_explanation_in_json_is_all_that_stdout_holds(run: Run, index: Path) -> None:
    done = run("explain", index, "honey", "--html", "out.html", "--json", "--k", 1)
    assert [leg["name"] for leg in done.json["legs"]] == ["vector", "keyword"]
    assert [each["rank"] for each in done.json["documents"] if each["rank"]] == [1]


# check and repair ---------------------------------------------------------------------------------


def test_a_whole_index_is_told_of(run: Run, index: Path) -> None:
    assert run("check", index).out == f"{index}: whole; 3 documents of 1 file\n"
    assert run("check", index, "--json").json == {
        "whole": True,
        "documents": 3,
        "files": 1,
        "missing": [],
        "extra": [],
        "changed": [],
        "unfinished": [],
        "lost": 0,
    }
    assert run("repair", index).out == f"{index}: nothing to mend\n"


def test_a_difference_is_found_told_of_and_mended(run: Run) -> None:
    put({"docs/a.txt": "Bees", "docs/b.txt": "Wasps"})
    run("index", "docs", "--to", "idx")
    keyword = open_index(Path("idx"))[0].leg("keyword")
    keyword.delete(["docs/a.txt#1"])
    found = {"missing": ["docs/a.txt#1"], "extra": [], "changed": []}
    assert run("check", "idx", code=1).out.splitlines() == [
        "idx: not whole; in the keyword leg 1 missing, 0 extra, 0 changed",
        "  missing: docs/a.txt#1",
    ]
    done = run("check", "idx", "--json", code=1)
    assert done.json == {
        "whole": False,
        "documents": 1,
        "files": 2,
        **found,
        "unfinished": [],
        "lost": 0,
    }
    assert run("repair", "idx", "--json").json == found
    run("check", "idx")


def test_chunks_that_are_in_neither_leg_are_missed(run: Run) -> None:
    put({"docs/a.txt": "Bees", "docs/b.txt": "Wasps"})
    run("index", "docs", "--to", "idx")
    open_index(Path("idx"))[0].delete(["docs/a.txt#1"])
    assert "  1 chunk of files not there (index again)" in run("check", "idx", code=1).out
    run("index", "docs", "--to", "idx")
    run("check", "idx")
