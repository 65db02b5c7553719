"""`audit`, `evaluate`, `compare` and `tune`: each reads, calls and prints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from langchain_safe_retrievers.evaluation.evaluation import Evaluation

from .conftest import Run, put
from .letters import NAME

OBJECTS = NAME.partition(":")[0]
ENSEMBLE = f"{OBJECTS}:ensemble"
JUDGED = {
    "judged/queries.jsonl": "\n".join(
        json.dumps({"_id": str(number), "text": "Who makes honey?"}) for number in range(4)
    ),
    "judged/qrels.tsv": "query-id\tcorpus-id\tscore\n"
    + "".join(f"{number}\tbees\t1\n" for number in range(4)),
}


@pytest.fixture(autouse=True)
def files(here: Path) -> None:
    put(JUDGED | {"q.jsonl": '{"query": "Who makes honey?"}\n"Where?"\n', "q.txt": "Who?\n\n"})


# audit --------------------------------------------------------------------------------------------


def test_an_audit_says_what_is_lost(run: Run) -> None:
    done = run("audit", f"{OBJECTS}:legs", "--queries", "q.txt", "--json")
    assert (done.json["totals"]["values"], done.json["totals"]["keys_gone"]) == (1, 1)
    assert "For a ticket:" in run("audit", f"{OBJECTS}:legs", "--queries", "q.jsonl").out


def test_an_audit_is_written_as_a_page(run: Run) -> None:
    done = run("audit", f"{OBJECTS}:legs", "--queries", "q.txt", "--html", "out.html")
    assert (done.out, done.err) == ("", "written: out.html\n")
    assert Path("out.html").read_text(encoding="utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("nowhere:retriever", "there is no module 'nowhere' in "),
        (f"{OBJECTS}:ensembel", "has no 'ensembel'; did you mean 'ensemble'?"),
        (OBJECTS, "names no object; expected module:object"),
        ("math:pi", "float"),
    ],
)
def test_a_target_that_is_none_is_told_of(run: Run, target: str, message: str) -> None:
    done = run("audit", target, "--queries", "q.txt", code=2)
    assert message in done.err
    assert len(done.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", '"Who?"\n{"q": 1}\n', """a.jsonl:2 is '{"q": 1}'; expected {"query": "…"}"""),
        ("a.jsonl", "Who?\n", "a.jsonl:1 is 'Who?'; expected"),
        ("a.txt", " \n", "'a.txt' has no questions; expected one a line"),
        ("a.txt", b"\xff", "'a.txt' cannot be read: 'utf-8' codec"),
        ("b.txt", "", "'a.txt' cannot be read: [Errno 2]"),
    ],
)
def test_questions_that_cannot_be_read_are_told_of(
    run: Run, name: str, content: str | bytes, message: str
) -> None:
    put({name: content})
    asked = "a.txt" if name == "b.txt" else name
    done = run("audit", f"{OBJECTS}:legs", "--queries", asked, code=2)
    assert message in done.err


# evaluate -----------------------------------------------------------------------------------------


def test_an_evaluation_is_printed_and_kept(run: Run) -> None:
    done = run(
        *["evaluate", ENSEMBLE, "--dataset", "judged", "--metric", "RR@10"],
        *["--save", "e.json", "--run", "e.trec"],
    )
    assert "RR@10   0.5000" in done.out
    assert done.err == "written: e.json\nwritten: e.trec\n"
    assert Evaluation.load("e.json").metrics == {"RR@10": 0.5}
    assert "0 Q0 wasps 1" in Path("e.trec").read_text(encoding="utf-8")


def test_an_index_is_judged_by_its_files_and_asked_as_deep_as_a_metric_looks(run: Run) -> None:
    put({f"docs/{number}.txt": f"Bees make honey {number}." for number in range(12)})
    put({"judged/qrels.tsv": "1\tdocs/7.txt\t1\n"})
    run("index", "docs", "--to", "idx")
    done = run("evaluate", "idx", "--dataset", "judged", "--metric", "R@12", "--json")
    assert done.json["metrics"] == {"R@12": 1.0}
    assert len(done.json["queries"][0]["documents"]) == 12


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--metric", "best"], "'best' is no metric of ir-measures"),
        (["--dataset", "docs"], "Directory 'docs' does not exist"),
        (["--dataset", "."], "queries.jsonl is missing; expected BEIR's layout"),
        (["--doc-id-key", "nope"], "without the metadata key 'nope'"),
    ],
)
def test_a_mistake_is_told_in_one_line(run: Run, arguments: list[str], message: str) -> None:
    done = run("evaluate", ENSEMBLE, "--dataset", "judged", *arguments, code=2)
    assert message in done.err
    assert len(done.err.splitlines()) == 1


def test_what_is_no_retriever_is_told_of(run: Run) -> None:
    done = run("evaluate", "math:pi", "--dataset", "judged", code=2)
    assert done.err.startswith("safe-retrievers: 'math:pi' is a float; expected a retriever")


# tune and compare ---------------------------------------------------------------------------------


def test_what_tune_saves_is_what_the_other_commands_take(run: Run) -> None:
    done = run(
        *["tune", ENSEMBLE, "--dataset", "judged", "--metric", "RR@10"],
        *["--save", "tuned.json", "--csv", "t.csv", "--png", "t.png"],
    )
    assert "best settings   1.0000    1.0000" in done.out
    assert Path("t.png").read_bytes().startswith(b"\x89PNG")
    assert "weights" in json.loads(Path("tuned.json").read_text(encoding="utf-8"))
    after = ["--dataset", "judged", "--metric", "RR@10", "--settings", "tuned.json", "--json"]
    assert run("evaluate", ENSEMBLE, *after).json["metrics"] == {"RR@10": 1.0}


@pytest.mark.parametrize(
    ("space", "best"),
    [
        ('{"weights": [[0.1, 0.9]], "fuser": ["ReciprocalRank"]}', "ReciprocalRank"),
        ('[{"weights": [0.1, 0.9], "fuser": "RelativeScore"}]', "RelativeScore"),
    ],
)
def test_a_space_names_fusers(run: Run, space: str, best: str) -> None:
    done = run("tune", ENSEMBLE, "--dataset", "judged", "--space", space, "--json")
    assert done.json["settings"] == {"weights": [0.1, 0.9], "fuser": best}


@pytest.mark.parametrize(
    ("space", "message"),
    [
        ("7", "'7' is neither JSON nor a file"),
        ('{"c": 60}', "expected a list of values to try"),
        ('{"fuser": ["Best"]}', "'Best' is no fuser"),
        ('{"colour": [1]}', "'colour'"),
        ("{}", "the space is {}"),
    ],
)
def test_a_space_that_cannot_work_is_told_of(run: Run, space: str, message: str) -> None:
    done = run("tune", ENSEMBLE, "--dataset", "judged", "--space", space, code=2)
    assert message in done.err


def test_only_what_fuses_can_be_tuned(run: Run) -> None:
    done = run("tune", "langchain_safe_retrievers.testing:FakeLeg", "--dataset", "judged", code=2)
    assert "is a FakeLeg; expected a SafeEnsembleRetriever or a HybridRetriever" in done.err


def test_only_what_fuses_takes_settings(run: Run) -> None:
    leg, settings = "langchain_safe_retrievers.testing:FakeLeg", ["--settings", '{"k": 3}']
    done = run("evaluate", leg, "--dataset", "judged", *settings, code=2)
    assert "is a FakeLeg; expected a SafeEnsembleRetriever or a HybridRetriever" in done.err


def test_two_retrievers_are_compared_and_explained(run: Run) -> None:
    weights = ["--settings", '{"weights": [0.1, 0.9]}']
    done = run("compare", ENSEMBLE, ENSEMBLE, "--queries", "q.txt", *weights, "--pages", "pages")
    assert "2 -> 1  bees" in done.out
    assert sorted(path.name for path in Path("pages").iterdir()) == [
        "1-after.html",
        "1-before.html",
    ]
    same = run("compare", ENSEMBLE, ENSEMBLE, "--queries", "q.txt", "--k", 1, "--json").json
    assert (same["overlap"], same["k"]) == (1.0, 1)
