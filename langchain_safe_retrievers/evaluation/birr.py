"""The business issue resolution rate: how many questions needed no human."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable

from langchain_safe_retrievers.errors import ConfigurationError
from langchain_safe_retrievers.evaluation.side_by_side import side_by_side
from langchain_safe_retrievers.evaluation.table import count, indented, percent
from langchain_safe_retrievers.report import error_text

_SHOWN = 5
_TRUE, _FALSE = {"true", "yes", "1"}, {"false", "no", "0"}
_PROMPT = """You judge a help desk. Was the user's issue solved by the answer, so that no human has
to take over? An answer that only points elsewhere, is about something else, or is incomplete or
unsupported solves nothing.

Issue:
{question}

Answer:
{answer}"""
_SCHEMA = {
    "title": "Verdict",
    "description": "Whether the issue was solved without a human.",
    "type": "object",
    "properties": {
        "evidence": {"type": "string", "description": "The words of the answer that decide it."},
        "solved": {"type": "boolean", "description": "Whether no human has to take over."},
    },
    "required": ["evidence", "solved"],
}


@dataclass(frozen=True)
class Verdict:
    """What a judge says of one question.

    Args:
        solved: Whether it was solved without a human.
        evidence: Why the judge says so.
    """

    solved: bool
    evidence: str = ""


@dataclass(frozen=True)
class Issue:
    """One question, its answer and the verdict.

    Args:
        question: The question.
        answer: What was answered: text, documents, or whatever `answer` returned.
        solved: Whether it was solved without a human; None if it could not be judged.
        evidence: Why the judge says so, or what went wrong.
    """

    question: str
    answer: Any
    solved: bool | None
    evidence: str


@dataclass(frozen=True)
class ResolutionRate:
    """How many questions were solved without a human.

    Args:
        issues: Each question with its verdict.
    """

    issues: Sequence[Issue]

    @property
    def solved(self) -> int:
        """How many were solved."""
        return sum(issue.solved is True for issue in self.issues)

    @property
    def unjudged(self) -> list[Issue]:
        """Those that could not be answered or judged; none of them counts as solved."""
        return [issue for issue in self.issues if issue.solved is None]

    @property
    def rate(self) -> float:
        """The share of all questions that were solved."""
        return self.solved / len(self.issues)

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of the rate: few questions say little."""
        return wilson(self.solved, len(self.issues))

    def to_dict(self) -> dict[str, Any]:
        """Return the figures and verdicts as JSON-native values; answers as text."""
        return {
            "rate": self.rate,
            "interval": list(self.interval),
            "solved": self.solved,
            "unjudged": len(self.unjudged),
            "issues": [{**vars(issue), "answer": text_of(issue.answer)} for issue in self.issues],
        }

    def __str__(self) -> str:
        """Return the rate, and some questions that were not solved, with the evidence."""
        low, high = self.interval
        head = (
            f"BIRR {percent(self.rate)} ({self.solved} of {count(len(self.issues), 'question')}; "
            f"95 % interval {percent(low)} to {percent(high)}), {len(self.unjudged)} not judged"
        )
        open_ones = [issue for issue in self.issues if issue.solved is not True]
        lines = [f"not solved: {issue.question!r}: {issue.evidence}" for issue in open_ones]
        return "\n".join([head, *map(indented, lines[:_SHOWN])])


Judge = Callable[[str, Any], "Verdict | bool"]
"""Says of a question and its answer whether that solved it."""


def birr(
    questions: Iterable[str],
    judge: Judge,
    *,
    answer: Runnable[str, Any] | Callable[[str], Any] | None = None,
    max_concurrency: int = 1,
    show_progress: bool = False,
) -> ResolutionRate:
    """Return the business issue resolution rate: the share of questions solved without a human.

    Args:
        questions: What users asked.
        judge: Says of a question and its answer whether that solved it: a rule of yours,
            `labels(file)`, or `llm_judge(model)`.
        answer: Answers a question: a chain, a retriever or a function; None if the judge needs
            no answer, as `labels` does.
        max_concurrency: How many questions are answered and judged side by side, at least 1.
        show_progress: Whether to show a progress bar.

    Returns:
        The rate, with the evidence for each question. A question whose answering or judging
        raised an error is not judged, and does not count as solved.

    Raises:
        ConfigurationError: There is no question.

    Example:
        >>> answers = {"Where is my key?": "Under the mat.", "Why?": "Please call us."}
        >>> def rule(question, answer):
        ...     return Verdict("call us" not in answer, evidence=answer)
        >>> print(birr(answers, rule, answer=answers.get))
        BIRR 50.0 % (1 of 2 questions; 95 % interval 9.5 % to 90.5 %), 0 not judged
          not solved: 'Why?': Please call us.
    """
    asked = list(questions)
    if isinstance(questions, str) or not asked:
        msg = f"questions is {questions!r}; expected a list of at least one question"
        raise ConfigurationError(msg)
    ask = answer.invoke if isinstance(answer, Runnable) else answer or (lambda _: None)

    def resolve(question: str) -> Issue:
        found = None
        try:
            found = ask(question)
            verdict = _read(judge(question, found))
        except ConfigurationError:
            raise
        except Exception as error:  # noqa: BLE001 - it is listed, and the others are judged
            return Issue(question, found, None, error_text(error))
        return Issue(question, found, verdict.solved, verdict.evidence)

    return ResolutionRate(side_by_side(resolve, asked, max_concurrency, show=show_progress))


def _read(verdict: Any) -> Verdict:
    if isinstance(verdict, bool):
        return Verdict(verdict)
    if isinstance(verdict, Verdict):
        return verdict
    msg = f"the judge returned {verdict!r}; expected a Verdict, or True or False"
    raise ConfigurationError(msg)


def labels(path: str | Path) -> Judge:
    """Return the judge that reads what a person wrote down.

    Args:
        path: A file of JSON lines, `{"question": ..., "solved": true, "evidence": ...}`, or a
            CSV file with these columns; `evidence` may be missing.

    Returns:
        The judge; a question that is not in the file is not judged.

    Raises:
        ConfigurationError: A row cannot be read.
    """
    file = Path(path)
    known = dict(_label(file, row) for row in _rows(file))

    def judge(question: str, _: Any) -> Verdict:
        if question not in known:
            msg = f"{file.name} has no label for {question!r}"
            raise LookupError(msg)
        return known[question]

    return judge


def _rows(file: Path) -> list[Any]:
    with file.open(encoding="utf-8", newline="") as stream:
        if file.suffix == ".csv":
            return list(csv.DictReader(stream))
        try:
            return [json.loads(line) for line in stream if line.strip()]
        except ValueError as error:
            msg = f"{file} is not JSON lines ({error}); a CSV file's name ends in .csv"
            raise ConfigurationError(msg) from error


def _label(file: Path, row: Any) -> tuple[str, Verdict]:
    solved = str(row.get("solved")).lower() if isinstance(row, Mapping) else ""
    if solved not in _TRUE | _FALSE or not row.get("question"):
        msg = f'{file} has {row!r}; expected {{"question": ..., "solved": true or false}}'
        raise ConfigurationError(msg)
    return row["question"], Verdict(solved in _TRUE, str(row.get("evidence") or ""))


def llm_judge(model: BaseChatModel, prompt: str = _PROMPT) -> Judge:
    """Return the judge that asks a chat model, by structured output.

    Hold some of its verdicts against a person's before you rely on it.

    Args:
        model: A model that can return structured output.
        prompt: With {question} and {answer} in it.

    Returns:
        The judge.

    Raises:
        ConfigurationError: The prompt lacks one of the two.
    """
    if "{question}" not in prompt or "{answer}" not in prompt:
        msg = f"the prompt is {prompt[:80]!r}; expected {{question}} and {{answer}} in it"
        raise ConfigurationError(msg)
    structured: Any = model.with_structured_output(_SCHEMA)

    def judge(question: str, answer: Any) -> Verdict:
        parts = {"{question}": question, "{answer}": text_of(answer)}
        found = structured.invoke(_filled(prompt, parts))
        if not isinstance(found, Mapping) or not isinstance(found.get("solved"), bool):
            msg = f"the model returned {found!r}; expected a dict with solved and evidence"
            raise TypeError(msg)
        return Verdict(found["solved"], str(found.get("evidence", "")))

    return judge


def _filled(prompt: str, parts: Mapping[str, str]) -> str:
    """Return the prompt with its two parts in place, whatever braces they have."""
    before, _, rest = prompt.partition("{question}")
    filled = [each.replace("{answer}", parts["{answer}"]) for each in (before, rest)]
    return parts["{question}"].join(filled)


def text_of(answer: Any) -> str:
    """Return an answer as text.

    Args:
        answer: Text, a message, documents, or anything else.

    Returns:
        The text; documents one after the other.
    """
    if isinstance(answer, list | tuple):
        return "\n\n".join(map(text_of, answer))
    for name in ("page_content", "text"):
        text = getattr(answer, name, None)
        if isinstance(text, str):
            return str(text)
    return str(answer)


def wilson(successes: int, trials: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a share.

    With n trials, share p and z = 1.96: (p + z²/2n ± z·√(p(1−p)/n + z²/4n²)) / (1 + z²/n).
    Source: Wilson, "Probable Inference, the Law of Succession, and Statistical Inference",
    Journal of the American Statistical Association 22, 1927.

    Args:
        successes: At most `trials`.
        trials: At least 1.

    Returns:
        The two ends, in [0, 1].

    Example:
        >>> [round(end, 3) for end in wilson(1, 2)]
        [0.095, 0.905]
    """
    z, share = 1.96, successes / trials
    middle = share + z * z / (2 * trials)
    half = z * sqrt(share * (1 - share) / trials + (z / (2 * trials)) ** 2)
    scale = 1 + z * z / trials
    return max(0.0, (middle - half) / scale), min(1.0, (middle + half) / scale)
