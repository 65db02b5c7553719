"""Questions, and which documents answer them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from langchain_core.documents import Document

from langchain_safe_retrievers.errors import ConfigurationError

Qrels = Mapping[str, Mapping[str, int]]
"""Question id to document id to grade: the higher the more relevant, 0 or less not at all."""


@dataclass(frozen=True)
class Dataset:
    """Questions and judgements, and the documents if they are at hand.

    A question without a document of grade 1 or more is unanswerable: the right answer to it is
    nothing. Such questions are counted by themselves, and stand in no ranking figure.

    Args:
        queries: Question id to question.
        qrels: Question id to document id to grade.
        doc_id_key: The metadata key under which a retrieved document carries the id that
            `qrels` names; None for `Document.id`.
        documents: The corpus; only comparisons that build an index need it.
        name: What to call it.
        unjudged: Ids of the questions that `from_beir` left out.

    Raises:
        ConfigurationError: There is no question, or `qrels` is not as above.

    Example:
        >>> data = Dataset({"1": "Who makes honey?", "2": "Who is Bob?"}, {"1": {"bees": 1}})
        >>> list(data.answerable), list(data.unanswerable)
        (['1'], ['2'])
    """

    queries: Mapping[str, str]
    qrels: Qrels
    doc_id_key: str | None = None
    documents: Sequence[Document] = field(default=(), repr=False)
    name: str = "dataset"
    unjudged: Sequence[str] = ()

    def __post_init__(self) -> None:
        """Check that the parts fit together."""
        if not self.queries:
            msg = f"{self.name} has no questions; expected a dict such as {{'1': 'a question'}}"
            raise ConfigurationError(msg)
        for query_id, grades in self.qrels.items():
            if query_id not in self.queries:
                msg = f"qrels judges {query_id!r}, which is none of the questions' ids"
                raise ConfigurationError(msg)
            _check_grades(query_id, grades)

    @cached_property
    def answerable(self) -> dict[str, str]:
        """The questions that have a relevant document, by id."""
        return {key: text for key, text in self.queries.items() if self._relevant(key)}

    @cached_property
    def unanswerable(self) -> dict[str, str]:
        """The questions that have none, by id."""
        return {key: text for key, text in self.queries.items() if key not in self.answerable}

    @cached_property
    def judgements(self) -> dict[str, dict[str, int]]:
        """The grades of the answerable questions, as ir-measures takes them."""
        return {key: dict(self.qrels[key]) for key in self.answerable}

    def _relevant(self, query_id: str) -> bool:
        return any(grade > 0 for grade in self.qrels.get(query_id, {}).values())

    def doc_id(self, document: Document) -> str:
        """Return the id by which `qrels` would name a retrieved document.

        Args:
            document: What a retriever returned.

        Returns:
            The value of `doc_id_key`, or `Document.id` if there is no such key to look under.

        Raises:
            ConfigurationError: The document has none.
        """
        found = self.find_id(document)
        if found is None:
            raise ConfigurationError(self._without_id(document))
        return found

    def find_id(self, document: Document) -> str | None:
        """Return the id by which `qrels` would name a document, or None if it has none.

        Args:
            document: A document.

        Returns:
            As `doc_id`.
        """
        key = self.doc_id_key
        found = document.id if key is None else document.metadata.get(key)
        return None if found is None else str(found)

    def _without_id(self, document: Document) -> str:
        text = document.page_content[:40]
        if self.doc_id_key is not None:
            return (
                f"the retriever returned a document without the metadata key {self.doc_id_key!r} "
                f"({text!r}), which the dataset names as doc_id_key; its keys are "
                f"{sorted(map(str, document.metadata))}"
            )
        return (
            f"the retriever returned a document without an id ({text!r}), so no judgement can be "
            "found for it; give the documents ids, or name the metadata key that holds them: "
            'Dataset(..., doc_id_key="source")'
        )

    @classmethod
    def from_beir(
        cls,
        directory: str | Path,
        *,
        split: str = "test",
        doc_id_key: str | None = None,
        keep_unjudged: bool = False,
    ) -> Dataset:
        """Read a directory in BEIR's layout: queries.jsonl, qrels.tsv and corpus.jsonl.

        A line of queries.jsonl has `_id` and `text`, one of corpus.jsonl also `title` and
        `metadata`; a row of the qrels has question, document and grade with tabs between.
        corpus.jsonl may be missing.

        Args:
            directory: Where the files are.
            split: The judgements are read from qrels/SPLIT.tsv if there is no qrels.tsv.
            doc_id_key: As for the class.
            keep_unjudged: Whether a question that the judgements do not name is unanswerable.
                If not it is left out: BEIR's queries.jsonl holds those of all splits. A
                question whose documents all have grade 0 is unanswerable in either case.

        Returns:
            The dataset.

        Raises:
            ConfigurationError: A file is missing or cannot be read.
        """
        place = Path(directory)
        queries = {str(each["_id"]): each["text"] for each in _objects(place / "queries.jsonl")}
        qrels = _read_qrels(place, split)
        unjudged = set() if keep_unjudged else queries.keys() - qrels.keys()
        corpus = place / "corpus.jsonl"
        return cls(
            {key: text for key, text in queries.items() if key not in unjudged},
            qrels,
            doc_id_key=doc_id_key,
            documents=[_document(each) for each in _objects(corpus)] if corpus.exists() else [],
            name=place.name,
            unjudged=sorted(unjudged),
        )

    def write_qrels(self, path: str | Path) -> None:
        """Write the judgements of the answerable questions in TREC's format.

        Args:
            path: The file; one that is there is written over.
        """
        lines = (
            f"{trec_token(query)} 0 {trec_token(document)} {grade}\n"
            for query, grades in self.judgements.items()
            for document, grade in grades.items()
        )
        Path(path).write_text("".join(lines), encoding="utf-8")


def trec_token(name: str) -> str:
    """Return an id as TREC's files can hold it: without white space.

    Args:
        name: An id.

    Returns:
        The id itself; one with white space in it is percent-encoded as in a URL.

    Example:
        >>> trec_token("guide.pdf#2"), trec_token("my guide.pdf")
        ('guide.pdf#2', 'my%20guide.pdf')
    """
    return _WHITE.sub(_percent, name) if _WHITE_SPACE.search(name) else name


_WHITE_SPACE = re.compile(r"\s")
_WHITE = re.compile(r"[\s%]")


def _percent(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match[0].encode())


def _check_grades(query_id: str, grades: object) -> None:
    if isinstance(grades, Mapping) and all(
        isinstance(document, str) and isinstance(grade, int) for document, grade in grades.items()
    ):
        return
    msg = (
        f"qrels[{query_id!r}] is {grades!r}; expected document ids with whole grades, such as "
        "{'doc-1': 1}"
    )
    raise ConfigurationError(msg)


def _objects(file: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of a JSON lines file."""
    for number, line in enumerate(_lines(file), start=1):
        try:
            found = json.loads(line)
            found["_id"], found["text"]
        except (ValueError, KeyError, TypeError) as error:
            msg = f'{file}, line {number} is {line[:80]!r}; expected {{"_id": ..., "text": ...}}'
            raise ConfigurationError(msg) from error
        yield found


def _lines(file: Path) -> list[str]:
    if not file.exists():
        msg = f"{file} is missing; expected BEIR's layout: queries.jsonl, qrels.tsv, corpus.jsonl"
        raise ConfigurationError(msg)
    return [line for line in file.read_text(encoding="utf-8").split("\n") if line.strip()]


def _document(found: Mapping[str, Any]) -> Document:
    text = f"{found.get('title') or ''}\n{found['text']}".strip()
    return Document(page_content=text, metadata=found.get("metadata") or {}, id=str(found["_id"]))


def _read_qrels(place: Path, split: str) -> dict[str, dict[str, int]]:
    file = place / "qrels.tsv"
    if not file.exists():
        file = place / "qrels" / f"{split}.tsv"
    qrels: dict[str, dict[str, int]] = {}
    for number, line in enumerate(_lines(file), start=1):
        try:
            query, document, grade = line.rstrip("\r").split("\t")
            if number > 1 or grade.lstrip("-").isdecimal():  # else it is the header
                qrels.setdefault(query, {})[document] = int(grade)
        except ValueError as error:
            msg = (
                f"{file}, line {number} is {line!r}; expected question, document and a whole "
                "grade with tabs between"
            )
            raise ConfigurationError(msg) from error
    return qrels
