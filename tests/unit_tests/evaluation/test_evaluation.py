"""What an evaluation found is readable, and written in TREC's format."""

from __future__ import annotations

import json

from langchain_safe_retrievers.evaluation.evaluation import Evaluation, QueryResult
from langchain_safe_retrievers.evaluation.unanswerable import Refusals
from langchain_safe_retrievers.report import LegReport

LEG = LegReport("vector", "q", "ok", hits=2, seconds=0.5)
FOUND = Evaluation(
    "my retriever",
    "data",
    {"RR": 1.0},
    [
        QueryResult("1", "q", ("a", "b"), {"RR": 1.0}, seconds=1.0, legs=(LEG,)),
        QueryResult("2", "r", ("c",), seconds=2.0),
    ],
    Refusals(1, 0, 1, 0),
)


def test_a_run_has_a_line_for_each_document_of_an_answerable_question(tmp_path):
    FOUND.write_run(tmp_path / "run")

    assert (tmp_path / "run").read_text().split("\n") == [
        "1 Q0 a 1 2 my%20retriever",
        "1 Q0 b 2 1 my%20retriever",
        "",
    ]


def test_a_text_shows_metrics_times_and_refusals():
    assert str(FOUND).split("\n") == [
        "my retriever on data: 2 questions, 0 degraded, 0 failed",
        "  metric   value",
        "  RR      1.0000",
        "  latency (ms)  count     p50     p95     p99",
        "  total             2  1000.0  2000.0  2000.0",
        "  vector            1   500.0   500.0   500.0",
        f"  {FOUND.refusals}",
    ]


def test_the_dict_is_json_and_comes_back():
    text = json.dumps(FOUND.to_dict(), allow_nan=False)

    assert Evaluation.from_dict(json.loads(text)) == FOUND
