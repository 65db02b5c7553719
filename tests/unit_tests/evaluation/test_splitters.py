"""Splitters are held against each other by whether their chunks are found, whole."""

from __future__ import annotations

import json

import pytest
from langchain_core.documents import Document
from langchain_text_splitters import CharacterTextSplitter

from langchain_safe_retrievers.errors import ConfigurationError
from langchain_safe_retrievers.evaluation.splitters import compare_splitters
from langchain_safe_retrievers.testing import FakeLeg

TEXT = """Bees make honey in a hive.

Wasps build nests of paper.

Ants carry leaves to their colony."""
DOCUMENTS = [Document(page_content=TEXT, metadata={"source": "insects"})]
QUESTIONS = {
    "Who makes honey?": "Bees make\nhoney",
    "What are nests of?": "build NESTS of paper",
    "Who has a colony?": "carry leaves to their colony",
}


class Characters:
    """Cuts after so many characters, wherever that is."""

    def __init__(self, size: int) -> None:
        self.size = size

    def split_documents(self, documents):
        return [
            Document(page_content=each.page_content[start : start + self.size], id="all the same")
            for each in documents
            for start in range(0, len(each.page_content), self.size)
        ]


def test_the_best_splitter_comes_first_with_its_quality_seconds_and_bytes():
    paragraphs = CharacterTextSplitter(separator="\n\n", chunk_size=40, chunk_overlap=0)
    splitters = {"torn": Characters(10), "paragraphs": paragraphs}

    found = compare_splitters(splitters, DOCUMENTS, QUESTIONS)

    assert [each.name for each in found.results] == ["paragraphs", "torn"]
    assert found.best.metrics == {"Success@5": 1.0, "RR@10": 1.0}
    assert (found.best.intact, found.best.chunks) == (1.0, 3)
    assert found.best.chunk_bytes == len(TEXT) - 4  # without two blank lines
    assert found.results[1].metrics == {"Success@5": 0.0, "RR@10": 0.0}
    assert found.results[1].intact == 0.0
    assert "paragraphs" in str(found).split("\n")[2]


def test_an_answer_that_was_cut_in_two_counts_as_not_found():
    # 28 characters: "Bees make honey in a hive.\n\n" is whole, the others are cut
    found = compare_splitters({"characters": Characters(28)}, DOCUMENTS, QUESTIONS).best

    assert found.intact == pytest.approx(2 / 3)
    assert found.metrics["Success@5"] == pytest.approx(found.intact)


def test_what_a_model_has_to_read_is_the_mean_of_the_chunks_returned():
    def index(chunks: list[Document]) -> FakeLeg:
        return FakeLeg(documents=chunks[:2])

    found = compare_splitters({"tens": Characters(10)}, DOCUMENTS, QUESTIONS, index=index)

    assert found.best.characters == 20
    assert json.loads(json.dumps(found.to_dict()))["results"][0]["chunks"] == 10


def test_an_answer_that_no_document_has_is_named():
    with pytest.raises(ConfigurationError, match=r"'Who\?' is 'Bob', which stands in none"):
        compare_splitters({"c": Characters(9)}, DOCUMENTS, {"Who?": "Bob"})


def test_splitters_and_questions_are_needed():
    with pytest.raises(ConfigurationError, match="0 splitters and 3 questions"):
        compare_splitters({}, DOCUMENTS, QUESTIONS)
