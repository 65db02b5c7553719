"""Two retrievers are held against each other without judgements."""

from __future__ import annotations

import json

import pytest
from langchain_core.documents import Document

from langchain_safe_retrievers.errors import ConfigurationError
from langchain_safe_retrievers.evaluation.compare import compare
from langchain_safe_retrievers.evaluation.dataset import Dataset
from langchain_safe_retrievers.identity import by_key
from langchain_safe_retrievers.retrievers.ensemble import SafeEnsembleRetriever
from langchain_safe_retrievers.testing import FakeLeg

from .legs import Answers, docs


def answering(**answers: str) -> Answers:
    return Answers(answers={query: docs(names) for query, names in answers.items()})


def test_equal_answers_are_alike_in_every_measure():
    found = compare(answering(q="a b c"), answering(q="a b c"), ["q"])

    assert (found.overlap, found.rbo, found.tau) == (1.0, pytest.approx(1.0), pytest.approx(1.0))
    assert found.changed_most() == []


def test_every_measure_is_the_mean_over_the_questions():
    found = compare(answering(q="a b", r="a b"), answering(q="a b", r="b a"), ["q", "r"], k=1)

    assert found.overlap == 0.5
    assert found.tau == pytest.approx(0.0)


def test_the_questions_that_changed_most_come_first_and_unchanged_ones_not():
    before = answering(q="a b c", r="a b c", s="a b c")
    after = answering(q="a c b", r="x y z", s="a b c")

    found = compare(before, after, Dataset({"1": "q", "2": "r", "3": "s"}, {}))

    assert [change.query for change in found.changed_most()] == ["r", "q"]
    assert [change.query for change in found.changed_most(1)] == ["r"]


def test_a_move_shows_both_ranks_and_where_the_legs_had_it():
    vector, keyword = docs("a b"), docs("b c")
    legs = [FakeLeg(documents=vector), FakeLeg(documents=keyword)]
    names = ["vector", "keyword"]
    before = SafeEnsembleRetriever(retrievers=legs, weights=[1.0, 0.0], leg_names=names)
    after = SafeEnsembleRetriever(retrievers=legs, weights=[0.2, 0.8], leg_names=names)

    (change,) = compare(before, after, ["q"], k=2).changes

    assert [str(move) for move in change.moves] == [
        "2 -> 1  b (vector 2 -> 2, keyword - -> 1)",
        "- -> 2  c (keyword - -> 2)",
        "1 -> 3  a (vector 1 -> 1)",
    ]


def test_what_changed_is_explained_on_both_sides():
    legs = [FakeLeg(documents=docs("a b")), FakeLeg(documents=docs("b c"))]
    before = SafeEnsembleRetriever(retrievers=legs[:1])
    after = SafeEnsembleRetriever(retrievers=legs)

    (change,) = compare(before, after, ["q"]).changes
    old, new = change.explanations()

    assert [[each.document.id for each in found.returned] for found in (old, new)] == [
        ["a", "b"],
        ["b", "a", "c"],
    ]
    assert compare(legs[0], legs[1], ["q"]).changes[0].explanations() == (None, None)
    assert compare(before, before, ["q"]).changes[0].traces == ((), ())


def test_only_moves_within_the_first_k_of_either_are_shown():
    (change,) = compare(answering(q="a b c d"), answering(q="a b d c"), ["q"], k=2).changes

    assert change.moves == []


def test_documents_are_the_same_by_the_identity_that_is_given():
    one, other = (
        FakeLeg(documents=[Document(page_content=text, metadata={"key": [1]})]) for text in "ab"
    )

    assert compare(one, other, ["q"]).overlap == 0.0
    assert compare(one, other, ["q"], identity=by_key("key")).overlap == 1.0


def test_a_question_that_fails_is_listed_and_the_others_are_compared():
    broken = Answers(answers={"r": docs("a")}, broken={"q"})

    found = compare(answering(q="a", r="a"), broken, ["q", "r"], max_concurrency=2)

    assert found.errors == {"q": "OSError: no such shard"}
    assert [change.query for change in found.changes] == ["r"]
    assert "failed: 'q': OSError: no such shard" in str(found)


def test_if_every_question_fails_there_are_no_means():
    found = compare(FakeLeg(error=OSError()), FakeLeg(), ["q"])

    assert (found.overlap, found.rbo, found.tau, found.latency) == (None, None, None, None)
    assert "0 unchanged" in str(found)


def test_the_dict_is_json():
    found = compare(answering(q="a b"), answering(q="b"), ["q"])

    read = json.loads(json.dumps(found.to_dict()))

    assert read["changes"][0]["moves"][1] == {
        "id": "a",
        "text": "a",
        "before": 1,
        "after": None,
        "legs_before": {},
        "legs_after": {},
    }


def test_arguments_that_cannot_work_are_refused():
    with pytest.raises(ConfigurationError, match="queries is 'q'"):
        compare(FakeLeg(), FakeLeg(), "q")
    with pytest.raises(ConfigurationError, match="k is 0"):
        compare(FakeLeg(), FakeLeg(), ["q"], k=0)


def test_a_text_shows_the_first_moves_of_what_changed_most():
    found = str(compare(answering(q="a b c d e f"), answering(q="f a b c d e"), ["q"]))

    assert "6 -> 1  f" in found
    assert found.endswith("4 -> 5  d\n    and 1 move more")
