"""One query's two answers, upstream's and ours, compared document by document."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.documents import Document

from langchain_safe_retrievers.auditing.loss import DocumentLoss, LostValue
from langchain_safe_retrievers.auditing.subject import Subject
from langchain_safe_retrievers.explaining.explanation import ExplainedDocument
from langchain_safe_retrievers.explaining.fused import fused_documents
from langchain_safe_retrievers.fusion.fuser import RankedList
from langchain_safe_retrievers.merging.conflicts import find_conflicts, name_of
from langchain_safe_retrievers.merging.values import Interner
from langchain_safe_retrievers.report import RetrievalReport
from langchain_safe_retrievers.trace import Trace

Metadata = Mapping[Any, Any]


@dataclass(frozen=True)
class Answers:
    """What is compared.

    Args:
        query: What was asked.
        lists: The legs' lists; empty for a leg that ours would not ask.
        upstream: What upstream's code made of them, or None if it failed.
        matches: Whether a document passes the filter, or None.
        k: How many documents were asked for, or None.
    """

    query: str
    lists: Sequence[RankedList]
    upstream: Sequence[Document] | None
    matches: Callable[[Document], bool] | None
    k: int | None


@dataclass(frozen=True)
class Comparison:
    """What the comparison found.

    Args:
        documents: The documents that lost something.
        safe: How many documents ours returns.
        repeats: Hits that their leg has at a better rank already.
        is_reordered: Whether upstream's order is another than ours.
    """

    documents: tuple[DocumentLoss, ...] = ()
    safe: int = 0
    repeats: int = 0
    is_reordered: bool = False


def compare_answers(subject: Subject, answers: Answers) -> Comparison:
    """Compare what upstream's code and ours make of the same hits.

    Args:
        subject: What is audited.
        answers: What is compared.

    Returns:
        What was found.
    """
    if not answers.lists:
        return Comparison()
    safe = len(subject.merging(_held(answers), answers.k).run().documents)
    if answers.upstream is None:
        return Comparison(safe=safe)
    documents = _by_identity(subject, answers)
    places = {id(copy.document): i for i, found in enumerate(documents) for copy in found.copies}
    returned: dict[int, list[Document]] = {}
    for document in answers.upstream:
        if id(document) in places:  # else of a leg that ours does not ask
            returned.setdefault(places[id(document)], []).append(document)
    losses = (_loss(answers.query, f, returned.get(i, [])) for i, f in enumerate(documents))
    return Comparison(
        documents=tuple(loss for loss in losses if loss.weight),
        safe=safe,
        repeats=sum(map(_repeats, documents)) if subject.counts_repeats else 0,
        is_reordered=subject.counts_repeats and list(returned) != sorted(returned),
    )


def _repeats(found: ExplainedDocument) -> int:
    return len(found.copies) - len({(copy.leg, copy.query) for copy in found.copies})


def _held(answers: Answers) -> list[RankedList]:
    """Return the lists with the filter held."""
    matches = answers.matches
    if matches is None:
        return list(answers.lists)
    return [
        RankedList([each for each in found if matches(each)], leg=found.leg, query=found.query)
        for found in answers.lists
    ]


def _by_identity(subject: Subject, answers: Answers) -> Sequence[ExplainedDocument]:
    """Return our documents, made of everything that the legs found."""
    merging = subject.merging(answers.lists, None)
    merged = merging.run().documents
    report = RetrievalReport(subject.instead, answers.query)
    return fused_documents(Trace(subject, report, answers.lists, merging, merged)).documents


def _loss(query: str, found: ExplainedDocument, returned: Sequence[Document]) -> DocumentLoss:
    copies = [copy.document for copy in found.copies]
    ids: dict[str | None, None] = {copy.id: None for copy in copies if copy.id is not None}
    texts = {copy.page_content: None for copy in copies}
    for document in returned:
        ids.pop(document.id, None)
        texts.pop(document.page_content, None)
    return DocumentLoss(
        query=query,
        returned=len(returned),
        document=returned[0] if returned else None,
        safe=found.document,
        values=tuple(_lost_values(found, [document.metadata for document in returned])),
        ids=tuple(filter(None, ids)),
        texts=tuple(texts),
    )


def _lost_values(found: ExplainedDocument, returned: Sequence[Metadata]) -> Iterator[LostValue]:
    """Yield each value that some copy had and that no returned document shows."""
    seen = Interner()
    lost: dict[Any, LostValue] = {}
    for copy in found.copies:
        for given, value in copy.document.metadata.items():
            key = _spelled(given, found.document.metadata)
            for path, part in _missing(key, value, returned):
                name = (path, seen.key(part))
                if name not in lost:
                    gone = all(key not in metadata for metadata in returned)
                    kept = path not in dict(_missing(key, value, [found.document.metadata]))
                    lost[name] = LostValue(path, name_of(key), part, (), gone, kept)
                legs = dict.fromkeys((*lost[name].legs, copy.leg))
                lost[name] = replace(lost[name], legs=tuple(legs))
    yield from lost.values()


def _spelled(key: Any, metadata: Metadata) -> Any:
    """Return a key as a dict has it: 1 and True are one key."""
    return key if type(key) is str else next((own for own in metadata if own == key), key)


def _missing(key: Any, value: Any, shown: Sequence[Metadata]) -> list[tuple[str, Any]]:
    """Return the paths and values below a key that no metadata shows."""
    missing: dict[str, list[Any]] = {name_of(key): [value]} if value is not None else {}
    for number, metadata in enumerate(shown):
        here = {key: metadata[key]} if key in metadata else {}
        found = find_conflicts(here, [{key: value}])
        missing = found if not number else {p: v for p, v in found.items() if p in missing}
    return [(path, part) for path, parts in missing.items() for part in parts]
