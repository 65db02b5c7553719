"""What a leg may answer, read as one ranked list."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from langchain_core.documents import Document

from langchain_safe_retrievers.errors import LegResultError
from langchain_safe_retrievers.fusion.fuser import RankedList
from langchain_safe_retrievers.merging.values import is_number

_EXPECTED = "a list of documents (or of texts, or of pairs of document and score), or None"


def read_answer(answer: Any, leg: str, query: str = "") -> RankedList:
    """Return a leg's answer as a ranked list.

    None is no results; a text becomes a document; a pair (document, number) is a document
    and its score; any iterable is read once, a lone document or text is a list of one.

    Args:
        answer: What the leg returned.
        leg: The leg's name.
        query: The query it was asked.

    Returns:
        A new list.

    Raises:
        LegResultError: It is something else; the error names the leg.

    Example:
        >>> read_answer(["a", (Document(page_content="b"), 0.5)], leg="vector").scores
        [None, 0.5]
    """
    if isinstance(answer, RankedList) and answer.valid_scores is not None:
        answer = list(zip(answer, answer.valid_scores, strict=True))
    if type(answer) is list and set(map(type, answer)) == {Document}:  # nearly always
        return RankedList(answer, leg=leg, query=query)
    documents, scores = [], []
    for position, item in enumerate(_items(answer, leg), start=1):
        document, score = _read_item(item, leg, position)
        documents.append(document)
        scores.append(score)
    scored = any(score is not None for score in scores)
    return RankedList(documents, leg=leg, query=query, scores=scores if scored else None)


def _items(answer: Any, leg: str) -> Iterable[Any]:
    if answer is None:
        return ()
    if isinstance(answer, (str, Document)):
        return (answer,)
    if isinstance(answer, (Mapping, bytes, bytearray)) or not isinstance(answer, Iterable):
        msg = f"leg {leg!r} returned {type(answer).__name__}; expected {_EXPECTED}"
        raise LegResultError(msg)
    return answer


def _read_item(item: Any, leg: str, position: int) -> tuple[Document, float | None]:
    score = None
    if isinstance(item, tuple) and len(item) == 2 and (item[1] is None or is_number(item[1])):  # noqa: PLR2004
        item, score = item
    if isinstance(item, str):
        item = Document(page_content=item)
    if not isinstance(item, Document):
        msg = f"leg {leg!r} returned {type(item).__name__} at rank {position}; expected {_EXPECTED}"
        raise LegResultError(msg)
    return item, score
