"""Audit what somebody has today: what an upstream retriever loses, on the user's own queries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from langchain_core.documents import Document

from langchain_safe_retrievers.auditing.comparing import Answers, compare_answers
from langchain_safe_retrievers.auditing.loss import LegLoss, LossReport, QueryLoss
from langchain_safe_retrievers.auditing.subject import Question, Subject, subject_of
from langchain_safe_retrievers.errors import ConfigurationError
from langchain_safe_retrievers.filters import compile_filter
from langchain_safe_retrievers.fusion.fuser import RankedList
from langchain_safe_retrievers.legs.answers import read_answer
from langchain_safe_retrievers.report import error_text


def audit(
    retriever: Any,
    queries: Iterable[str],
    *,
    filter: Any = None,  # noqa: A002 - LangChain's name
    k: int | None = None,
) -> LossReport:
    """Tell what an upstream retriever loses on these queries, and what ours returns instead.

    Its legs are asked once per query, one after the other, as it does. Its own code then merges
    what they found, and so does our engine: both are judged by exactly the same hits.

    Args:
        retriever: LangChain's `EnsembleRetriever`, `MultiQueryRetriever` or `MergerRetriever`,
            or a list of legs (judged as joined by hand: the first document of each text).
        queries: What to ask; read once.
        filter: The filter that its users give to `invoke`, to see what becomes of it.
        k: The `k` that they give, at least 1.

    Returns:
        The report; `str()` of it is a sentence for a ticket.

    Raises:
        ConfigurationError: It is no such retriever, or `queries` is a string, or `k` less than 1.
        FilterError: The filter cannot be read.

    Example:
        >>> from langchain_safe_retrievers.testing import FakeLeg
        >>> one = FakeLeg(documents=["a"], disagree={"source": "wiki"})
        >>> two = FakeLeg(documents=["a"], disagree={"source": "pdf", "page": 3})
        >>> report = audit([one, two], ["question"])
        >>> report.totals.values, [(loss.key, loss.gone) for loss in report.keys]
        (2, [('source', 0), ('page', 1)])
    """
    if isinstance(queries, str):
        msg = f"queries is {queries!r}; expected a list of queries, such as [{queries!r}]"
        raise ConfigurationError(msg)
    if k is not None and (not isinstance(k, int) or isinstance(k, bool) or k < 1):
        msg = f"k is {k!r}; expected a whole number of at least 1, or None for all documents"
        raise ConfigurationError(msg)
    subject, matches = subject_of(retriever), compile_filter(filter)
    losses = tuple(_audit_query(subject, query, matches, k) for query in queries)
    return LossReport(subject.name, subject.instead, losses)


@dataclass(frozen=True)
class _Asked:
    """A question, and what came of it."""

    question: Question
    found: RankedList
    seconds: float
    error: str | None

    @property
    def useful(self) -> RankedList:
        """What was found, or nothing if ours would not have asked."""
        if not self.question.wasted:
            return self.found
        return RankedList(leg=self.question.name, query=self.question.query)


def _audit_query(
    subject: Subject, query: str, matches: Callable[[Document], bool] | None, k: int | None
) -> QueryLoss:
    try:
        questions = subject.questions(query)
    except Exception as error:  # noqa: BLE001 - the query writer failed, and is reported
        return QueryLoss(query, error=f"writing queries: {error_text(error)}")
    asked = [_ask(question) for question in questions]
    merged, problem = _merge(subject, asked)
    lists = [each.useful for each in asked]
    compared = compare_answers(
        subject, Answers(query, lists, None if problem else merged, matches, k)
    )
    seconds = [each.seconds for each in asked]
    wasted = [each.seconds for each in asked if each.question.wasted]
    return QueryLoss(
        query=query,
        returned=len(merged),
        safe=compared.safe,
        documents=compared.documents,
        legs=tuple(_leg_loss(each, compared.documents) for each in asked),
        leaked=0 if matches is None else sum(not matches(document) for document in merged),
        beyond_k=0 if k is None else max(len(merged) - k, 0),
        repeats=compared.repeats,
        is_reordered=compared.is_reordered,
        wasted=len(wasted),
        seconds_wasted=sum(wasted),
        seconds_saved=sum(seconds) - max(seconds, default=0.0),
        error=problem,
    )


def _merge(subject: Subject, asked: Sequence[_Asked]) -> tuple[list[Document], str | None]:
    """Return what upstream makes of the answers, or why it makes nothing of them."""
    failed = next((each for each in asked if each.error), None)
    if failed is not None:
        return [], f"{failed.question.name}: {failed.error}"
    try:
        return subject.merge([list(each.found) for each in asked]), None
    except Exception as error:  # noqa: BLE001 - what it fails on is what is looked for
        return [], f"merging: {error_text(error)}"


def _ask(question: Question) -> _Asked:
    start = perf_counter()
    found, problem = RankedList(leg=question.name, query=question.query), None
    try:
        answer = question.leg.invoke(question.query)
        seconds = perf_counter() - start
        texts = [Document(page_content=d) if isinstance(d, str) else d for d in answer]
        found = read_answer(texts, question.name, question.query)
    except Exception as error:  # noqa: BLE001 - upstream gives up here, and that is reported
        seconds, problem = perf_counter() - start, error_text(error)
    return _Asked(question, found, seconds, problem)


def _leg_loss(asked: _Asked, documents: Sequence[Any]) -> LegLoss:
    name = asked.question.name
    lost = sum(name in value.legs for document in documents for value in document.values)
    return LegLoss(name, len(asked.found), lost, asked.seconds, int(asked.error is not None))
