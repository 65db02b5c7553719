"""How two retrievers differ on the same questions: what to look at before a canary."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from langchain_core.documents import Document
from langchain_core.retrievers import RetrieverLike
from langchain_core.runnables import RunnableConfig

from langchain_safe_retrievers.errors import ConfigurationError
from langchain_safe_retrievers.evaluation.comparison import Change, Comparison, Move
from langchain_safe_retrievers.evaluation.dataset import Dataset
from langchain_safe_retrievers.evaluation.evaluate import MISTAKES, name_of
from langchain_safe_retrievers.evaluation.overlap import (
    kendall_tau,
    overlap_at,
    rank_biased_overlap,
)
from langchain_safe_retrievers.evaluation.side_by_side import side_by_side
from langchain_safe_retrievers.identity import Identity, by_content, by_id, by_levels
from langchain_safe_retrievers.legs.answers import read_answer
from langchain_safe_retrievers.merging.values import Interner
from langchain_safe_retrievers.report import error_text
from langchain_safe_retrievers.trace import Trace, collect_traces

IDENTITY = by_levels(by_id, by_content)


def compare(  # noqa: PLR0913 - all but three are named and may be left out
    before: RetrieverLike,
    after: RetrieverLike,
    queries: Iterable[str] | Dataset,
    *,
    k: int = 10,
    identity: Identity = IDENTITY,
    max_concurrency: int = 1,
    show_progress: bool = False,
    config: RunnableConfig | None = None,
    **arguments: Any,
) -> Comparison:
    """Ask two retrievers the same questions, and tell how their answers differ.

    No judgements are needed: it shows what a change changes, not whether it is for the better.

    Args:
        before: The one retriever, such as the one in service.
        after: The other.
        queries: The questions, or a dataset that has them.
        k: How many ranks matter, at least 1.
        identity: Which documents are the same: those with one id, and of those without an id
            those with one text.
        max_concurrency: How many questions are asked side by side, at least 1.
        show_progress: Whether to show a progress bar.
        config: The config of every call.
        **arguments: Named arguments of every call: `k` is that of the comparison.

    Returns:
        The differences.

    Raises:
        ConfigurationError: There is no question, or `k` is less than 1.

    Example:
        >>> from langchain_core.runnables import RunnableLambda
        >>> docs = [Document(page_content=text, id=text) for text in ["bees", "wasps", "ants"]]
        >>> first, second = (RunnableLambda(lambda query, d=d: d) for d in (docs, docs[1:]))
        >>> change = compare(first, second, ["Who makes honey?"], k=2).changes[0]
        >>> change.overlap, [str(move) for move in change.moves]
        (0.5, ['2 -> 1  wasps', '3 -> 2  ants', '1 -> -  bees'])
    """
    texts = list(queries.queries.values() if isinstance(queries, Dataset) else queries)
    _check(texts, queries, k)
    config = config or {}

    def ask(query: str) -> Change | str:
        try:
            answers = [_ask(each, query, config, arguments) for each in (before, after)]
        except MISTAKES:
            raise
        except Exception as error:  # noqa: BLE001 - it is listed, and the others are asked
            return error_text(error)
        return _change(query, answers[0], answers[1], k, identity)

    found = side_by_side(ask, texts, max_concurrency, show=show_progress)
    return Comparison(
        name_of(before),
        name_of(after),
        k,
        [each for each in found if isinstance(each, Change)],
        {text: each for text, each in zip(texts, found, strict=True) if isinstance(each, str)},
    )


def _check(texts: Sequence[str], queries: object, k: int) -> None:
    if isinstance(queries, str) or not texts:
        msg = f"queries is {queries!r}; expected a list of at least one question"
        raise ConfigurationError(msg)
    if type(k) is not int or k < 1:
        msg = f"k is {k!r}; expected a whole number of at least 1"
        raise ConfigurationError(msg)


@dataclass(frozen=True)
class _Answer:
    documents: Sequence[Document]
    seconds: float
    traces: Sequence[Trace]


def _ask(
    retriever: RetrieverLike, query: str, config: RunnableConfig, arguments: Mapping[str, Any]
) -> _Answer:
    with collect_traces() as traces:
        start = perf_counter()
        documents = retriever.invoke(query, config, **arguments)
        seconds = perf_counter() - start
    return _Answer(read_answer(documents, name_of(retriever), query), seconds, traces)


def _change(query: str, before: _Answer, after: _Answer, k: int, identity: Identity) -> Change:
    names = _Names(identity)
    old, new = (names.ranked(each.documents) for each in (before, after))
    a, b = list(old), list(new)
    kept = b[:k] + [key for key in a[:k] if key not in b[:k]]
    ranks = [{key: rank for rank, key in enumerate(keys, start=1)} for keys in (a, b)]
    moved = [key for key in kept if ranks[0].get(key) != ranks[1].get(key)]
    legs = [names.legs(each.traces) if moved else {} for each in (before, after)]
    return Change(
        query,
        overlap_at(a, b, k),
        rank_biased_overlap(a, b),
        kendall_tau(a, b),
        (before.seconds, after.seconds),
        [
            Move(
                {**old, **new}[key],
                ranks[0].get(key),
                ranks[1].get(key),
                *(
                    {leg: found[key] for leg, found in side.items() if key in found}
                    for side in legs
                ),
            )
            for key in moved
        ],
        (before.traces, after.traces) if moved else ((), ()),
    )


class _Names:
    """Knows the documents of two answers by their identity."""

    def __init__(self, identity: Identity) -> None:
        self.identity, self.interner = identity, Interner()

    def ranked(self, documents: Iterable[Document]) -> dict[Hashable, Document]:
        """Return the documents by identity, in order, each once, at its best rank."""
        found: dict[Hashable, Document] = {}
        for document in documents:
            found.setdefault(self._key(document), document)
        return found

    def legs(self, traces: Sequence[Trace]) -> dict[str, dict[Hashable, int]]:
        """Return each leg's documents with their ranks, of the outermost retriever."""
        legs: dict[str, dict[Hashable, int]] = {}
        for found in traces[-1].found if traces else ():
            ranks = legs.setdefault(found.leg, {})
            for rank, document in enumerate(found, start=1):
                ranks.setdefault(self._key(document), rank)
        return legs

    def _key(self, document: Document) -> Hashable:
        name = self.identity(document)
        return id(document) if name is None else self.interner.key(name)
