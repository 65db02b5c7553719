"""Ask a retriever every question of a dataset, and measure what comes."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

from langchain_core.documents import Document
from langchain_core.retrievers import RetrieverLike
from langchain_core.runnables import RunnableConfig

from langchain_safe_retrievers.errors import (
    ConfigurationError,
    FilterError,
    MissingExtraError,
    UnacceptedArgumentError,
)
from langchain_safe_retrievers.evaluation.dataset import Dataset
from langchain_safe_retrievers.evaluation.evaluation import Evaluation, QueryResult
from langchain_safe_retrievers.evaluation.metrics import Metrics
from langchain_safe_retrievers.evaluation.side_by_side import aside_by_side, side_by_side
from langchain_safe_retrievers.evaluation.unanswerable import Refusals, best_score
from langchain_safe_retrievers.legs.answers import read_answer
from langchain_safe_retrievers.report import RetrievalReport, collect_reports, error_text

logger = logging.getLogger(__name__)

METRICS = ("nDCG@10", "R@10", "RR@10")
MISTAKES = (ConfigurationError, FilterError, MissingExtraError, UnacceptedArgumentError)
"""What is wrong with every question alike is the caller's to mend, and is raised."""


def evaluate(  # noqa: PLR0913 - all but three are named and may be left out
    retriever: RetrieverLike,
    dataset: Dataset,
    metrics: Sequence[str] = METRICS,
    *,
    max_concurrency: int = 1,
    show_progress: bool = False,
    floor: float | None = None,
    score_key: str = "score",
    config: RunnableConfig | None = None,
    **arguments: Any,
) -> Evaluation:
    """Ask a retriever every question of a dataset, and measure quality, times and failures.

    A question that fails counts as one that found nothing, and is listed; only what is wrong
    with the call itself is raised. Several chunks of one document count as one, at the best
    rank. The figures are what ir-measures computes.

    Args:
        retriever: Any retriever, or chain from a question to documents.
        dataset: The questions and judgements.
        metrics: As ir-measures writes them: "nDCG@10", "R@100", "RR@10", "AP", "P@5" …
        max_concurrency: How many questions are asked side by side, at least 1. With more than
            1 the times are those of a retriever under load.
        show_progress: Whether to show a progress bar.
        floor: The score up to which a document counts as nothing, for questions that have no
            answer; None if only an empty list does.
        score_key: The metadata key that holds a document's score, where the retriever has no
            `fused_score_key`; for `floor`.
        config: The config of every call.
        **arguments: Named arguments of every call: `k`, `filter` …

    Returns:
        The figures.

    Raises:
        ConfigurationError: A metric that is none, or a document that no judgement can be found
            for.
        MissingExtraError: The extra `evaluate` is not installed.

    Example:
        >>> from langchain_core.runnables import RunnableLambda
        >>> found = [Document(page_content="Wasps do not.", id="wasps")]
        >>> found.append(Document(page_content="Bees make honey.", id="bees"))
        >>> dataset = Dataset({"1": "Who makes honey?"}, {"1": {"bees": 1}})
        >>> evaluate(RunnableLambda(lambda query: found), dataset, ["RR@10", "R@10"]).metrics
        {'RR@10': 0.5, 'R@10': 1.0}
    """
    asking = _Asking(retriever, dataset, metrics, floor, score_key)
    config = config or {}

    def ask(query_id: str) -> QueryResult:
        with asking.one(query_id) as answer:
            answer.take(retriever.invoke(asking.text(query_id), config, **arguments))
        return asking.read(answer)

    return asking.judge(side_by_side(ask, dataset.queries, max_concurrency, show=show_progress))


async def aevaluate(  # noqa: PLR0913 - as evaluate
    retriever: RetrieverLike,
    dataset: Dataset,
    metrics: Sequence[str] = METRICS,
    *,
    max_concurrency: int = 1,
    show_progress: bool = False,
    floor: float | None = None,
    score_key: str = "score",
    config: RunnableConfig | None = None,
    **arguments: Any,
) -> Evaluation:
    """Ask a retriever every question without blocking the loop; as `evaluate`.

    Args:
        retriever: Any retriever, or chain from a question to documents.
        dataset: The questions and judgements.
        metrics: As ir-measures writes them.
        max_concurrency: How many questions are asked side by side, at least 1.
        show_progress: Whether to show a progress bar.
        floor: The score up to which a document counts as nothing, or None.
        score_key: The metadata key that holds a document's score.
        config: The config of every call.
        **arguments: Named arguments of every call: `k`, `filter` …

    Returns:
        The figures.
    """
    asking = _Asking(retriever, dataset, metrics, floor, score_key)
    config = config or {}

    async def ask(query_id: str) -> QueryResult:
        with asking.one(query_id) as answer:
            answer.take(await retriever.ainvoke(asking.text(query_id), config, **arguments))
        return asking.read(answer)

    return asking.judge(
        await aside_by_side(ask, dataset.queries, max_concurrency, show=show_progress)
    )


@dataclass
class _Answer:
    """One question, while it is asked and when it has been."""

    query_id: str
    retriever: str
    reports: list[RetrievalReport]
    documents: list[Document] = field(default_factory=list)
    seconds: float = 0.0
    error: str | None = None

    def take(self, documents: Any) -> None:
        """Take what a retriever returned, in any form that a leg may return it in."""
        self.documents = read_answer(documents, self.retriever)


@dataclass
class _Asking:
    """What all questions of an evaluation share."""

    retriever: Any
    dataset: Dataset
    names: Sequence[str]
    floor: float | None
    score_key: str

    def __post_init__(self) -> None:
        self.metrics = Metrics(self.names, self.dataset.judgements)

    def text(self, query_id: str) -> str:
        return self.dataset.queries[query_id]

    @contextmanager
    def one(self, query_id: str) -> Iterator[_Answer]:
        """Time what is asked inside, and keep its reports and its error."""
        with collect_reports() as reports:
            answer = _Answer(query_id, name_of(self.retriever), reports)
            start = perf_counter()
            try:
                yield answer
            except MISTAKES:
                raise
            except Exception as error:  # noqa: BLE001 - it is listed, and the others are asked
                answer.error = error_text(error)
            finally:
                answer.seconds = perf_counter() - start

    def read(self, answer: _Answer) -> QueryResult:
        """Return what an answer says, but for its metrics."""
        documents = answer.documents
        outer = answer.reports[-1] if answer.reports else None  # the innermost come first
        return QueryResult(
            query_id=answer.query_id,
            query=self.text(answer.query_id),
            documents=tuple(dict.fromkeys(map(self.dataset.doc_id, documents))),
            seconds=answer.seconds,
            legs=outer.legs if outer else (),
            degraded=any(report.degraded for report in answer.reports),
            error=answer.error,
            best_score=None if self.floor is None else best_score(documents, self._score_keys()),
        )

    def _score_keys(self) -> tuple[str | None, str]:
        return getattr(self.retriever, "fused_score_key", None), self.score_key

    def judge(self, results: Sequence[QueryResult]) -> Evaluation:
        """Return the evaluation, with the metrics."""
        values = self.metrics.of({each.query_id: each.documents for each in results})
        judged = [replace(each, values=values.get(each.query_id, {})) for each in results]
        unanswerable = [each for each in judged if not each.values]
        answerable = [each for each in judged if each.values]
        self._compare_ids(results)
        return Evaluation(
            name_of(self.retriever),
            self.dataset.name,
            self.metrics.mean(values),
            judged,
            Refusals.of(unanswerable, answerable, self.floor),
        )

    def _compare_ids(self, results: Sequence[QueryResult]) -> None:
        """Tell if no document that a judgement names was ever returned: it may have another id."""
        named = {known for each in self.dataset.judgements.values() for known in each}
        returned = {known for each in results for known in each.documents}
        if named and returned and named.isdisjoint(returned):
            logger.warning(
                "none of the %d judged documents was returned to any question; the judgements "
                "name documents as %r, the retriever returns them as %r: is Dataset(doc_id_key=…) "
                "what you want?",
                len(named),
                min(named),
                min(returned),
            )


def name_of(retriever: Any) -> str:
    """Return a retriever's name.

    Args:
        retriever: Any Runnable.

    Returns:
        What it calls itself, or its class's name.
    """
    get_name = getattr(retriever, "get_name", None)
    return str(get_name()) if get_name is not None else type(retriever).__name__
