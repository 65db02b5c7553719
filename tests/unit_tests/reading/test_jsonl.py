"""JSON lines."""

from __future__ import annotations

import json

import pytest

from langchain_safe_retrievers.reading.jsonl import read_jsonl
from langchain_safe_retrievers.reading.parts import Broken, Part, ReadingOptions


def read(text: str, text_key: str | None = None) -> list[Part | Broken]:
    """Read JSON lines."""
    return list(read_jsonl(text.encode(), ReadingOptions(text_key=text_key)))


def test_the_other_fields_are_metadata() -> None:
    line = {"_id": "7", "title": "Bees", "text": "Honey", "metadata": {"year": 2024}, "n": None}
    metadata = {"_id": "7", "title": "Bees", "metadata": {"year": 2024}, "n": None}
    assert read(json.dumps(line)) == [Part("Honey", metadata, {"line": 1})]


@pytest.mark.parametrize("key", ["text", "page_content", "content", "body"])
def test_the_text_is_found_under_the_usual_names(key: str) -> None:
    assert read(json.dumps({"a": 1, key: "Honey"})) == [Part("Honey", {"a": 1}, {"line": 1})]


def test_the_text_can_be_named() -> None:
    parts = read('{"text": "a", "answer": "b"}\n{"text": "a"}', text_key="answer")
    assert parts == [
        Part("b", {"text": "a"}, {"line": 1}),
        Broken(2, "has no text under 'answer'; it has text"),
    ]


def test_an_object_without_a_text_is_its_names_and_values() -> None:
    assert read('{"name": "Bee", "legs": 6, "sting": null}') == [
        Part("name: Bee\nlegs: 6", {"name": "Bee", "legs": 6, "sting": None}, {"line": 1})
    ]


def test_a_dumped_document_has_its_metadata_back() -> None:
    line = '{"id": "1", "type": "Document", "page_content": "Honey", "metadata": {"a": 1}}'
    assert read(line) == [Part("Honey", {"a": 1}, {"line": 1})]


def test_a_text_is_a_line_and_empty_lines_are_passed_over() -> None:
    assert read('\n"Honey\u2028bees"\n \n') == [Part("Honey\u2028bees", {}, {"line": 2})]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"text": "a"', "is no JSON: Expecting ',' delimiter (character 13)"),
        ("[1, 2]", "is [1, 2]; expected an object"),
        ("7", "is 7; expected an object"),
        ('{"text": "a", "b": 1, "b": 2}', "the name 'b' stands twice in one object"),
        ('{"text": ' + "9" * 5000 + "}", "that can be kept"),
        ("[" * 100_000, "that can be kept"),
    ],
    ids=["cut short", "a list", "a number", "a name twice", "a huge number", "too deep"],
)
def test_a_broken_line_is_told_of_by_its_number_and_the_others_are_read(
    line: str, problem: str
) -> None:
    first, broken, last = read(f'{{"text": "a"}}\n{line}\n{{"text": "b"}}')
    assert (first, last) == (Part("a", {}, {"line": 1}), Part("b", {}, {"line": 3}))
    assert isinstance(broken, Broken)
    assert broken.place == 2
    assert problem in broken.problem
