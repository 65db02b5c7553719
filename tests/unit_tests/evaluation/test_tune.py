"""The best settings are found by replay, and held against questions that nobody looked at."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from typing import Any

import pytest
from langchain_chroma import Chroma
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.runnables import RunnableLambda

from langchain_safe_retrievers.errors import ConfigurationError
from langchain_safe_retrievers.evaluation.dataset import Dataset
from langchain_safe_retrievers.evaluation.evaluate import evaluate
from langchain_safe_retrievers.evaluation.leg_depth import LegDepth
from langchain_safe_retrievers.evaluation.space import weight_grid
from langchain_safe_retrievers.evaluation.tune import split, tune
from langchain_safe_retrievers.evaluation.tuning import Split
from langchain_safe_retrievers.fusion.noisy_or import NoisyOr
from langchain_safe_retrievers.retrievers.ensemble import SafeEnsembleRetriever
from langchain_safe_retrievers.retrievers.hybrid import HybridRetriever
from langchain_safe_retrievers.retrievers.keyword import KeywordRetriever
from langchain_safe_retrievers.testing import FakeLeg

from .legs import Answers, doc, docs

NAMES = [str(number) for number in range(40)]
DATASET = Dataset({name: f"q{name}" for name in NAMES}, {name: {name: 1} for name in NAMES})


def right_at(rank: Callable[[int], int]) -> Answers:
    """Return a leg that has the right answer to question n at rank(n), from 0."""
    answers = {}
    for name in NAMES:
        found = docs("x y z")
        found.insert(rank(int(name)), docs(name)[0])
        answers[f"q{name}"] = found
    return Answers(answers=answers)


def good_and_bad(**settings: Any) -> HybridRetriever:
    legs = {"good": right_at(lambda _: 0), "bad": right_at(lambda _: 3)}
    return HybridRetriever(
        legs=legs, fuser=None, weights={"good": 0.2, "bad": 0.8}, k=10, **settings
    )


def test_the_better_leg_gets_the_greater_weight_and_both_halves_say_so():
    found = tune(good_and_bad(), DATASET, {"weights": weight_grid(["good", "bad"], 5)})

    assert found.settings["weights"]["good"] > 0.5
    assert found.after == Split(1.0, 1.0)
    assert found.before.held_out < 1.0
    assert (len(found.tuning_queries), len(found.held_out_queries)) == (20, 20)
    assert found.p_value < 0.05
    assert found.warning is None
    assert (found.checked, found.mismatches) == (20, 0)


def test_the_settings_are_what_a_hybrid_retriever_takes():
    legs = {"good": right_at(lambda _: 0), "bad": right_at(lambda _: 3)}
    space = {"weights": weight_grid(["good", "bad"], 5), "fuser": [None, NoisyOr()], "k": [4]}

    found = tune(good_and_bad(), DATASET, space)
    made = HybridRetriever(legs=legs, **found.settings)

    for retriever in (made, found.retriever):
        assert evaluate(retriever, DATASET).metrics["nDCG@10"] == 1.0


def test_both_figures_are_what_evaluate_says_of_the_retrievers():
    own = good_and_bad()

    found = tune(own, DATASET, {"weights": [[0.9, 0.1]], "k": [2, 5]}, metric="RR@10")

    for retriever, figures in ((own, found.before), (found.retriever, found.after)):
        values = evaluate(retriever, DATASET, ["RR@10"]).values("RR@10")
        for ids, figure in (
            (found.tuning_queries, figures.tuning),
            (found.held_out_queries, figures.held_out),
        ):
            assert sum(values[each] for each in ids) / len(ids) == pytest.approx(figure)


def test_a_gain_that_does_not_hold_up_is_warned_of():
    tuning, _ = split(NAMES, 0.5, seed=0)
    lucky = right_at(lambda number: 0 if str(number) in tuning else 3)  # knows these alone
    other = right_at(lambda _: 1)
    retriever = SafeEnsembleRetriever(retrievers=[lucky, other], weights=[0.0, 1.0])

    found = tune(retriever, DATASET, {"weights": [[1.0, 0.0]]}, metric="RR")

    assert found.gain.tuning > 0 > found.gain.held_out
    assert found.warning.startswith("the gain does not hold up: +0.5000 on the questions")
    assert "WARNING: the gain does not hold up" in str(found)


def test_a_gain_that_may_be_chance_is_warned_of():
    small = Dataset({name: f"q{name}" for name in NAMES[:4]}, {n: {n: 1} for n in NAMES[:4]})

    found = tune(good_and_bad(), small, {"weights": [[1, 0]]})

    assert found.p_value == 0.5  # 2 of the 4 signs of two questions
    assert "may be chance (p = 0.50)" in found.warning


def test_if_nothing_is_better_the_retrievers_own_settings_stay():
    found = tune(good_and_bad(), DATASET, {"weights": [[0, 1]]}, latency_queries=0)

    assert found.settings == {}
    assert found.gain == Split(0.0, 0.0)
    assert found.warning == "no setting has a higher nDCG@10 than the retriever's own"


def test_without_timed_calls_every_leg_is_asked_once_a_question():
    retriever = good_and_bad()
    space = {"weights": weight_grid(["good", "bad"], 10), "k": [1, 5, 10], "fetch_k": [1, 2, 100]}

    found = tune(retriever, DATASET, space, latency_queries=0)

    asked = [leg.asked for leg in retriever.retrievers]
    assert [len(calls) for calls in asked] == [40, 40]
    assert {depth for calls in asked for _, depth in calls} == {100}
    assert len(found.tried) == 100
    assert found.front == []
    with pytest.raises(ConfigurationError, match="latency_queries=20"):
        found.draw("nowhere.png")


def test_store_parameters_make_a_retriever_each_which_is_asked_anew():
    made = []

    def make(ef: int) -> SafeEnsembleRetriever:
        leg = right_at(lambda number: 0 if number < ef else 3)
        made.append((ef, leg))
        return SafeEnsembleRetriever(retrievers=[leg], k=4)

    found = tune(make, DATASET, {"ef": [10, 40], "k": [1, 4]}, metric="RR", latency_queries=0)

    assert [(ef, len(leg.asked)) for ef, leg in made] == [(10, 40), (40, 40)]
    assert found.settings["ef"] == 40
    assert found.tried[0].settings == {"ef": 10}
    assert found.after == Split(1.0, 1.0)


def test_a_real_store_is_made_anew_for_each_of_its_parameters():
    words = ["honey", "paper", "leaves", "lamps", "flowers", "wings", "hives", "nests"]
    documents = [
        doc(f"{first}-{second}", f"all about {first} and {second}")
        for first in words
        for second in words
    ]
    dataset = Dataset(
        {each.id: each.page_content.removeprefix("all about ") for each in documents[::4]},
        {each.id: {each.id: 1} for each in documents[::4]},
    )
    keyword = KeywordRetriever.from_documents(documents)

    def make(ef: int) -> HybridRetriever:
        store = Chroma(
            f"ef-{ef}",
            DeterministicFakeEmbedding(size=16),
            collection_configuration={"hnsw": {"ef_search": ef}},
        )
        store.add_documents(documents)
        return HybridRetriever(
            vector=store, keyword=keyword, weights={"vector": 0.95, "keyword": 0.05}
        )

    space = {"ef": [10, 200], "weights": weight_grid(["vector", "keyword"], 4), "fetch_k": [20, 64]}
    found = tune(make, dataset, space, latency_queries=5)

    assert len(found.tried) == 2 * 5 * 2 + 1
    assert found.settings["weights"]["keyword"] > 0.05  # the vectors are random
    assert found.gain.held_out > 0
    assert found.front


def test_a_leg_whose_short_list_is_no_start_of_its_long_one_is_noticed():
    def moody(query: str, k: int = 4) -> list[Document]:
        return docs(query[1:] if k > 1 else "y")

    retriever = SafeEnsembleRetriever(retrievers=[RunnableLambda(moody)], k=1, fetch_k=1)

    found = tune(retriever, DATASET, {"fetch_k": [4]})

    assert found.before == Split(1.0, 1.0)  # which it would be, were the leg as it should be
    assert (found.settings, found.mismatches, found.checked) == ({}, 20, 20)
    assert "on 20 of 20 questions tried for real the retriever returned something else" in (
        found.warning
    )


def test_a_question_that_fails_finds_nothing_and_is_listed():
    leg = right_at(lambda _: 0)
    leg.broken = {"q0"}

    found = tune(SafeEnsembleRetriever(retrievers=[leg]), DATASET, {"k": [1, 2]}, metric="RR")

    assert found.failed == {"0": "OSError: no such shard"}
    assert found.mismatches == 0
    assert found.before.tuning + found.before.held_out == pytest.approx(2 - 1 / 20)


def test_a_degraded_question_is_listed():
    legs = [right_at(lambda _: 0), FakeLeg(error=OSError("down"))]
    retriever = SafeEnsembleRetriever(retrievers=legs, on_leg_error="skip")

    assert tune(retriever, DATASET, {"k": [1]}, latency_queries=0).degraded == sorted(NAMES)


def test_a_depth_of_one_leg_alone_is_a_setting():
    retriever = good_and_bad()

    found = tune(retriever, DATASET, {"leg_k": [{"good": 1}]}, metric="RR", latency_queries=3)

    assert found.settings == {"leg_k": {"good": 1}}
    assert isinstance(found.retriever.retrievers[0], LegDepth)
    assert found.mismatches == 0


def test_the_front_is_written_as_csv_and_drawn_as_png(tmp_path):
    space = {"weights": [[1, 0], [0.5, 0.5]], "fetch_k": [1, 4]}
    found = tune(good_and_bad(), DATASET, space, latency_queries=2)

    found.write_csv(tmp_path / "front.csv")
    found.draw(tmp_path / "front.png")

    rows = list(csv.DictReader((tmp_path / "front.csv").read_text().splitlines()))
    assert len(rows) == len(found.tried) == 5
    assert rows[1]["weights"] == "[1, 0]"
    assert sum(int(row["on_front"]) for row in rows) == len(found.front) >= 1
    assert (tmp_path / "front.png").read_bytes().startswith(b"\x89PNG")


def test_the_result_is_json_and_readable():
    found = tune(good_and_bad(), DATASET, {"fuser": [NoisyOr()], "weights": [[1, 0]]})

    read = json.loads(json.dumps(found.to_dict()))

    assert read["settings"] == {"fuser": "NoisyOr()", "weights": [1, 0]}
    assert read["gain"]["held_out"] == found.gain.held_out
    assert "best: fuser=NoisyOr(), weights=[1, 0]" in str(found)


def test_settings_that_come_to_the_same_are_tried_once():
    space = {"c": [10, 60], "fuser": [None, NoisyOr()]}

    found = tune(good_and_bad(), DATASET, space, latency_queries=0)

    assert [each.settings for each in found.tried] == [
        {},
        {"c": 10, "fuser": None},
        {"fuser": NoisyOr()},
        {"c": 60, "fuser": None},
    ]


def test_questions_are_split_the_same_way_each_time():
    assert split(NAMES, 0.25, 1) == split(NAMES[::-1], 0.25, 1) != split(NAMES, 0.25, 2)
    assert [len(part) for part in split(["1", "2"], 0.99, 0)] == [1, 1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"retriever": FakeLeg()}, "is a FakeLeg; expected a SafeEnsembleRetriever"),
        ({"retriever": FakeLeg}, "is a FakeLeg; expected a SafeEnsembleRetriever"),
        ({"space": {"ef": [10]}}, r"\['ef'\] are no settings of a retriever"),
        (
            {"space": {"c": [1, 2]}, "retriever": HybridRetriever(legs={"a": FakeLeg()})},
            r'the fuser is NoisyOr\(\); add "fuser": \[None\]',
        ),
        ({"held_out": 1.0}, "held_out is 1.0"),
        ({"k": 5}, r'k is a setting: {"k": \[5, 10\]}'),
        ({"dataset": Dataset({"1": "a"}, {"1": {"b": 1}})}, "1 answerable questions"),
        ({"max_concurrency": 0}, "max_concurrency is 0"),
        ({"metric": "nDGC"}, "'nDGC' is no metric"),
        (
            {"retriever": SafeEnsembleRetriever(retrievers=[FakeLeg(error=OSError("down"))])},
            "every question failed; the first one with OSError: down",
        ),
    ],
)
def test_arguments_that_cannot_work_are_refused(change, message):
    given = {"retriever": good_and_bad(), "dataset": DATASET, "space": {"k": [1]}, **change}
    with pytest.raises(ConfigurationError, match=message):
        tune(**given)
