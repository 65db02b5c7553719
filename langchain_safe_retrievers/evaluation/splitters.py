"""Which way of splitting documents finds the most on one's own questions, and what it costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from time import perf_counter
from typing import Any, Protocol

from langchain_core.documents import Document
from langchain_core.retrievers import RetrieverLike

from langchain_safe_retrievers.errors import ConfigurationError
from langchain_safe_retrievers.evaluation.dataset import Dataset
from langchain_safe_retrievers.evaluation.evaluate import evaluate
from langchain_safe_retrievers.evaluation.evaluation import Evaluation
from langchain_safe_retrievers.evaluation.table import count, indented, ms, percent, table
from langchain_safe_retrievers.retrievers.keyword import KeywordRetriever

Index = Callable[[list[Document]], RetrieverLike]
"""Makes a retriever of chunks; each has an id, which it must return."""
_METRICS = ("Success@5", "RR@10")
_DEPTH = 10


class Splitter(Protocol):
    """What splits documents, as LangChain's text splitters do."""

    def split_documents(self, documents: Sequence[Document]) -> Sequence[Document]:
        """Return the documents' chunks."""


@dataclass(frozen=True)
class SplitterResult:
    """What one splitter brought.

    Args:
        name: The splitter's name.
        metrics: Metric to its mean over all questions; one whose answer was cut in two counts 0.
        evaluation: What was found for the questions whose answer is whole in some chunk.
        intact: The share of the questions whose answer is whole in some chunk.
        chunks: How many chunks there are.
        characters: How many characters the chunks returned for a question have, on average:
            what a model has to read.
        split_seconds: How long splitting took.
        index_seconds: How long indexing took.
        chunk_bytes: What the chunks' texts take in UTF-8.
    """

    name: str
    metrics: Mapping[str, float]
    evaluation: Evaluation
    intact: float
    chunks: int
    characters: float
    split_seconds: float
    index_seconds: float
    chunk_bytes: int

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON-native values."""
        return {
            **vars(self),
            "metrics": dict(self.metrics),
            "evaluation": self.evaluation.to_dict(),
        }


@dataclass(frozen=True)
class SplitterComparison:
    """What some splitters brought.

    Args:
        questions: How many questions were asked.
        results: One for each splitter, the best first by the first metric.
    """

    questions: int
    results: Sequence[SplitterResult]

    @property
    def best(self) -> SplitterResult:
        """The best one by the first metric."""
        return self.results[0]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON-native values."""
        return {
            "questions": self.questions,
            "results": [each.to_dict() for each in self.results],
        }

    def __str__(self) -> str:
        """Return a table: a row for each splitter."""
        metrics = list(self.best.metrics)
        head = ["splitter", *metrics, "intact", "chunks", "read", "MB", "split s", "index s", "ms"]
        rows = [
            [
                each.name,
                *(each.metrics[name] for name in metrics),
                percent(each.intact),
                each.chunks,
                round(each.characters),
                f"{each.chunk_bytes / 1e6:.2f}",
                f"{each.split_seconds:.2f}",
                f"{each.index_seconds:.2f}",
                ms(each.evaluation.latency["total"].p50),
            ]
            for each in self.results
        ]
        return "\n".join([count(self.questions, "question"), indented(table(head, rows))])


def compare_splitters(  # noqa: PLR0913 - all but three are named and may be left out
    splitters: Mapping[str, Splitter],
    documents: Sequence[Document],
    questions: Mapping[str, str],
    metrics: Sequence[str] = _METRICS,
    *,
    index: Index | None = None,
    show_progress: bool = False,
) -> SplitterComparison:
    """Split documents in several ways, and see which way's chunks are found, whole.

    Chunks have no judgements of their own, so an answer is given by its words: a chunk is
    relevant if it holds all of them. The metrics are such that do not depend on how many chunks
    do, for chunks that overlap would have an advantage.

    Args:
        splitters: Name to splitter, at least one.
        documents: What to split.
        questions: Question to the words that answer it, as they stand in one of the documents;
            only white space and case may differ.
        metrics: As ir-measures writes them; the first one decides on the order.
        index: Makes a retriever of chunks; None for `KeywordRetriever`, 10 chunks a question.
        show_progress: Whether to show a progress bar.

    Returns:
        Quality, seconds and bytes of each.

    Raises:
        ConfigurationError: There is no splitter or no question, or an answer's words stand in no
            document.

    Example:
        >>> class Sentences:
        ...     def split_documents(self, documents):
        ...         parts = [part for each in documents for part in each.page_content.split(". ")]
        ...         return [Document(page_content=part) for part in parts]
        >>> text = [Document(page_content="Bees make honey. Wasps do not.")]
        >>> questions = {"Who makes honey?": "bees make honey"}
        >>> found = compare_splitters({"sentences": Sentences()}, text, questions).best
        >>> found.metrics, found.intact, found.chunks
        ({'Success@5': 1.0, 'RR@10': 1.0}, 1.0, 2)
    """
    if not splitters or not questions:
        msg = (
            f"there are {len(splitters)} splitters and {len(questions)} questions; expected at "
            "least one of each"
        )
        raise ConfigurationError(msg)
    _check_answers(documents, questions)
    results = [
        _result(name, splitter, documents, questions, metrics, index or _by_keywords, show_progress)
        for name, splitter in splitters.items()
    ]
    results.sort(key=lambda each: -each.metrics[str(metrics[0])])
    return SplitterComparison(len(questions), results)


def _by_keywords(chunks: list[Document]) -> RetrieverLike:
    return KeywordRetriever.from_documents(chunks, k=_DEPTH)


def _result(  # noqa: PLR0913, PLR0917 - what one row needs
    name: str,
    splitter: Splitter,
    documents: Sequence[Document],
    questions: Mapping[str, str],
    metrics: Sequence[str],
    index: Index,
    show: bool,  # noqa: FBT001 - private
) -> SplitterResult:
    start = perf_counter()
    chunks = [
        Document(page_content=chunk.page_content, metadata=chunk.metadata, id=str(number))
        for number, chunk in enumerate(splitter.split_documents(documents))
    ]
    split = perf_counter()
    retriever = index(chunks)
    indexed = perf_counter()
    qrels = _judged(chunks, questions)
    dataset = Dataset({text: text for text in questions}, qrels, name=name)
    found = evaluate(retriever, dataset, metrics, show_progress=show)
    lengths = {chunk.id: len(chunk.page_content) for chunk in chunks}
    return SplitterResult(
        name,
        {each: sum(found.values(each).values()) / len(questions) for each in map(str, metrics)},
        found,
        len(dataset.answerable) / len(questions),
        len(chunks),
        fmean(sum(lengths[each] for each in result.documents) for result in found.queries),
        split - start,
        indexed - split,
        sum(len(chunk.page_content.encode()) for chunk in chunks),
    )


def _judged(chunks: Sequence[Document], questions: Mapping[str, str]) -> dict[str, dict[str, int]]:
    """Return, for each question, the chunks that hold all words of its answer."""
    texts = {chunk.id or "": _words(chunk.page_content) for chunk in chunks}
    answers = {question: _words(answer) for question, answer in questions.items()}
    return {
        question: {key: 1 for key, text in texts.items() if answer in text}
        for question, answer in answers.items()
    }


def _check_answers(documents: Sequence[Document], questions: Mapping[str, str]) -> None:
    texts = [_words(document.page_content) for document in documents]
    for question, answer in questions.items():
        words = _words(answer)
        if not words or not any(words in text for text in texts):
            msg = (
                f"the answer to {question!r} is {answer!r}, which stands in none of the documents; "
                "expected words as one of them has them"
            )
            raise ConfigurationError(msg)


def _words(text: str) -> str:
    return " ".join(text.split()).casefold()
