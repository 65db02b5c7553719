"""The share of questions solved without a human, with the evidence for each."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda

from langchain_safe_retrievers.errors import ConfigurationError
from langchain_safe_retrievers.evaluation.birr import Verdict, birr, labels, llm_judge
from langchain_safe_retrievers.testing import FakeLeg


class Judging(FakeListChatModel):
    """A chat model that returns structured output, and remembers what it was asked."""

    verdict: Any
    asked: list[str] = []  # noqa: RUF012 - pydantic copies it
    responses: list[str] = []  # noqa: RUF012 - as above

    def with_structured_output(self, schema, **kwargs):
        def answer(prompt: str) -> Any:
            self.asked.append(prompt)
            return self.verdict

        return RunnableLambda(answer)


def test_the_rate_is_the_share_of_solved_questions_and_each_has_its_evidence():
    found = birr(
        ["a", "b", "c", "d"],
        lambda question, answer: Verdict(question in "abc", f"answer {answer}"),
        answer=str.upper,
    )

    assert found.rate == 0.75
    assert [(each.solved, each.evidence) for each in found.issues] == [
        (True, "answer A"),
        (True, "answer B"),
        (True, "answer C"),
        (False, "answer D"),
    ]


def test_a_rule_may_return_true_or_false():
    assert birr(["a", "b"], lambda question, _: question == "a").rate == 0.5


def test_a_retriever_answers_with_its_documents():
    leg = FakeLeg(documents=[Document(page_content="Turn it off and on.")])

    found = birr(["It hangs."], lambda _, answer: bool(answer), answer=leg)

    assert found.rate == 1.0
    assert found.to_dict()["issues"][0]["answer"] == "Turn it off and on."


def test_what_cannot_be_answered_or_judged_is_listed_and_not_solved():
    def judge(question: str, answer: Any) -> bool:
        if question == "b":
            msg = "no opinion"
            raise LookupError(msg)
        return True

    found = birr(["a", "b"], judge, max_concurrency=2)

    assert (found.rate, found.solved) == (0.5, 1)
    assert [(each.question, each.evidence) for each in found.unjudged] == [
        ("b", "LookupError: no opinion")
    ]


def test_the_interval_is_wilsons():
    found = birr([str(number) for number in range(100)], lambda question, _: int(question) < 80)

    assert found.interval == pytest.approx((0.7111, 0.8666), abs=1e-4)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "labels.jsonl",
            (
                '{"question": "a", "solved": true, "evidence": "ticket 7"}\n\n'
                '{"question": "b", "solved": false}\n'
            ),
        ),
        ("labels.csv", "question,solved,evidence\na,Yes,ticket 7\nb,no,\n"),
    ],
)
def test_labels_of_a_person_are_read_from_a_file(tmp_path, name, text):
    (tmp_path / name).write_text(text, encoding="utf-8")

    found = birr(["a", "b", "c"], labels(tmp_path / name))

    assert [each.solved for each in found.issues] == [True, False, None]
    assert found.issues[0].evidence == "ticket 7"
    assert found.issues[2].evidence == f"LookupError: {name} has no label for 'c'"


@pytest.mark.parametrize("row", ['{"question": "a", "solved": "perhaps"}', '["a", true]', "a,true"])
def test_a_label_that_cannot_be_read_is_shown(tmp_path, row):
    (tmp_path / "labels.jsonl").write_text(row)
    with pytest.raises(ConfigurationError, match=r"labels\.jsonl"):
        labels(tmp_path / "labels.jsonl")


def test_a_model_judges_by_structured_output_and_braces_in_texts_stay():
    model = Judging(verdict={"solved": True, "evidence": "off and on"})

    found = birr(["{answer}?"], llm_judge(model), answer=lambda _: AIMessage("{question}!"))

    assert found.rate == 1.0
    assert found.issues[0].evidence == "off and on"
    assert "Issue:\n{answer}?\n\nAnswer:\n{question}!" in model.asked[0]


def test_a_model_that_returns_no_verdict_has_not_judged():
    found = birr(["a"], llm_judge(Judging(verdict={"solved": "maybe"})))

    assert found.rate == 0.0
    assert "expected a dict with solved and evidence" in found.unjudged[0].evidence


def test_a_prompt_has_both_places():
    with pytest.raises(ConfigurationError, match=r"expected \{question\} and \{answer\}"):
        llm_judge(Judging(verdict=None), prompt="Is {answer} good?")


def test_arguments_that_cannot_work_are_refused():
    for questions in ("a", []):
        with pytest.raises(ConfigurationError, match="at least one question"):
            birr(questions, lambda *_: True)
    with pytest.raises(ConfigurationError, match="the judge returned 1; expected a Verdict"):
        birr(["a"], lambda *_: 1)


def test_the_dict_is_json():
    found = birr(["a"], lambda *_: True, answer=lambda _: object())

    assert json.loads(json.dumps(found.to_dict()))["rate"] == 1.0
