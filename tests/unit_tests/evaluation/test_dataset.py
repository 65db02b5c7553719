"""A dataset is questions and judgements, from BEIR's files or plain Python."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from langchain_core.documents import Document

from langchain_safe_retrievers.errors import ConfigurationError
from langchain_safe_retrievers.evaluation.dataset import Dataset, trec_token

QUERIES = [{"_id": "1", "text": "Who makes honey?"}, {"_id": "2", "text": "Who is Bob?"}]
CORPUS = [
    {"_id": "bees", "title": "Bees", "text": "make honey", "metadata": {"page": 1}},
    {"_id": "wasps", "text": "do not"},
]


def written(place: Path, qrels: str, name: str = "qrels.tsv") -> Path:
    for file, rows in (("queries.jsonl", QUERIES), ("corpus.jsonl", CORPUS)):
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (place / file).write_text(text, encoding="utf-8")
    (place / name).parent.mkdir(exist_ok=True)
    (place / name).write_text(qrels, encoding="utf-8")
    return place


HEADER = "query-id\tcorpus-id\tscore\n"


def test_a_directory_in_beirs_layout_is_read(tmp_path):
    found = Dataset.from_beir(written(tmp_path, HEADER + "1\tbees\t2\n"))

    assert found.queries == {"1": "Who makes honey?"}
    assert found.qrels == {"1": {"bees": 2}}
    assert found.documents == [
        Document(page_content="Bees\nmake honey", metadata={"page": 1}, id="bees"),
        Document(page_content="do not", id="wasps"),
    ]


def test_the_judgements_of_a_split_are_read_with_or_without_a_header(tmp_path):
    place = written(tmp_path, "1\tbees\t1\r\n", name="qrels/dev.tsv")

    assert Dataset.from_beir(place, split="dev").qrels == {"1": {"bees": 1}}


def test_a_question_that_no_judgement_names_is_left_out_and_listed(tmp_path):
    found = Dataset.from_beir(written(tmp_path, HEADER + "1\tbees\t1\n"))

    assert found.unjudged == ["2"]
    assert not found.unanswerable


def test_a_question_that_no_judgement_names_is_unanswerable_on_request(tmp_path):
    place = written(tmp_path, HEADER + "1\tbees\t1\n")

    assert list(Dataset.from_beir(place, keep_unjudged=True).unanswerable) == ["2"]


def test_a_question_whose_documents_are_all_of_grade_0_is_unanswerable(tmp_path):
    found = Dataset.from_beir(written(tmp_path, HEADER + "1\tbees\t1\n2\twasps\t0\n"))

    assert list(found.answerable) == ["1"]
    assert list(found.unanswerable) == ["2"]


@pytest.mark.parametrize(
    ("qrels", "message"),
    [
        (HEADER + "1 bees 1\n", r"qrels.tsv, line 2 is '1 bees 1'; expected question"),
        (HEADER + "1\tbees\thigh\n", "line 2 .* whole grade"),
        (HEADER + "1\tbees\t1\n9\tbees\t1\n", "judges '9', which is none of the questions' ids"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_place(tmp_path, qrels, message):
    with pytest.raises(ConfigurationError, match=message):
        Dataset.from_beir(written(tmp_path, qrels))


def test_a_broken_line_and_a_missing_file_are_named(tmp_path):
    with pytest.raises(ConfigurationError, match=r"queries.jsonl is missing; expected BEIR"):
        Dataset.from_beir(tmp_path)
    (tmp_path / "queries.jsonl").write_text('{"id": 1}\n')
    with pytest.raises(ConfigurationError, match=r'line 1 is .*expected {"_id"'):
        Dataset.from_beir(tmp_path)


@pytest.mark.parametrize("grades", [["bees"], {"bees": "1"}, {1: 1}, None])
def test_judgements_of_another_form_are_refused(grades):
    with pytest.raises(ConfigurationError, match="expected document ids with whole grades"):
        Dataset({"1": "a"}, {"1": grades})


def test_a_dataset_without_questions_is_refused():
    with pytest.raises(ConfigurationError, match="has no questions"):
        Dataset({}, {})


def test_a_document_is_known_by_its_id():
    assert Dataset({"1": "a"}, {}).doc_id(Document(page_content="a", id="x")) == "x"


def test_a_document_is_known_by_the_key_that_the_dataset_names():
    named = Dataset({"1": "a"}, {}, doc_id_key="number")
    chunk = Document(page_content="a", id="chunk-of-the-store", metadata={"number": 7})

    assert named.doc_id(chunk) == "7"


def test_a_document_without_an_id_is_an_error_that_says_what_to_write():
    with pytest.raises(ConfigurationError, match=r"without an id \('a'\).*doc_id_key="):
        Dataset({"1": "a"}, {}).doc_id(Document(page_content="a", metadata={"source": "s"}))
    named = Dataset({"1": "a"}, {}, doc_id_key="number")
    with pytest.raises(ConfigurationError, match=r"the metadata key 'number'.*\['source'\]"):
        named.doc_id(Document(page_content="a", id="1", metadata={"source": "s"}))


def test_an_id_with_white_space_is_one_word_in_a_trec_file():
    assert trec_token("a b%\u3000") == "a%20b%25%E3%80%80"
    assert trec_token("100%") == "100%"
