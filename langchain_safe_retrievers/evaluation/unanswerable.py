"""Questions that have no answer: who returns nothing is right."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from langchain_core.documents import Document

from langchain_safe_retrievers.errors import ConfigurationError
from langchain_safe_retrievers.evaluation.table import percent
from langchain_safe_retrievers.fusion.fuser import RankedList
from langchain_safe_retrievers.merging.values import is_number

if TYPE_CHECKING:
    from langchain_safe_retrievers.evaluation.evaluation import QueryResult


@dataclass(frozen=True)
class Refusals:
    """How often nothing was returned, or nothing with a score above the floor.

    Args:
        questions: How many questions have no answer.
        refused: To how many of them nothing was returned. A question that failed is not
            among them: it is an accident, not a refusal.
        answerable: How many questions have an answer.
        wrongly_refused: To how many of those nothing was returned all the same.
        floor: The score that counts as nothing, or None if only an empty list does.
    """

    questions: int
    refused: int
    answerable: int
    wrongly_refused: int
    floor: float | None = None

    @property
    def share(self) -> float | None:
        """The share of the unanswerable questions that were refused; None if there are none."""
        return self.refused / self.questions if self.questions else None

    @property
    def wrong_share(self) -> float | None:
        """The share of the answerable questions that were refused; None if there are none."""
        return self.wrongly_refused / self.answerable if self.answerable else None

    @classmethod
    def of(
        cls,
        unanswerable: Iterable[QueryResult],
        answerable: Iterable[QueryResult],
        floor: float | None,
    ) -> Refusals:
        """Count.

        Args:
            unanswerable: What was found for questions that have no answer.
            answerable: What was found for the others.
            floor: As for the class.

        Returns:
            The counts.
        """
        wrong, right = (
            [_is_refused(result, floor) for result in results]
            for results in (answerable, unanswerable)
        )
        return cls(len(right), sum(right), len(wrong), sum(wrong), floor)

    def to_dict(self) -> dict[str, Any]:
        """Return the counts and shares as JSON-native values."""
        return {**asdict(self), "share": self.share, "wrong_share": self.wrong_share}

    def __str__(self) -> str:
        """Return one line."""
        what = "nothing" if self.floor is None else f"nothing above {self.floor:g}"
        return (
            f"{what} returned for {self.refused} of {self.questions} unanswerable questions "
            f"({percent(self.share)}), and for {self.wrongly_refused} of {self.answerable} "
            f"answerable ones ({percent(self.wrong_share)})"
        )


def _is_refused(result: QueryResult, floor: float | None) -> bool:
    if result.error is not None:
        return False
    best = result.best_score
    return not result.documents or (floor is not None and best is not None and best <= floor)


def best_score(documents: list[Document], keys: Iterable[str | None]) -> float | None:
    """Return the highest score among documents.

    Args:
        documents: What a retriever returned.
        keys: The metadata keys to look under, in turn.

    Returns:
        The score, or None if there is no document.

    Raises:
        ConfigurationError: A document has no score.
    """
    known = documents.valid_scores if isinstance(documents, RankedList) else None
    scores = [
        score if score is not None else _score(document, keys)
        for document, score in zip(documents, known or [None] * len(documents), strict=True)
    ]
    return max(scores, default=None)


def _score(document: Document, keys: Iterable[str | None]) -> float:
    for key in keys:
        score = document.metadata.get(key) if key is not None else None
        if is_number(score):
            return float(score)  # type: ignore[arg-type]
    msg = (
        f"a floor is given, but the document {document.page_content[:40]!r} has no score to hold "
        'against it; let the retriever write one: fused_score_key="score", or name its key: '
        'score_key="relevance"'
    )
    raise ConfigurationError(msg)
