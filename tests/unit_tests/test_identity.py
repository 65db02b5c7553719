"""Which documents are the same one."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from langchain_core.documents import Document

from langchain_safe_retrievers.identity import (
    by_content,
    by_id,
    by_key,
    by_levels,
    by_normalized_content,
)
from langchain_safe_retrievers.merging.fold import Engine


def doc(text: str = "a", doc_id: str | None = None, **metadata: Any) -> Document:
    """Make a document."""
    return Document(page_content=text, id=doc_id, metadata=metadata)


def count(identity: Any, *documents: Document) -> int:
    """Return how many documents these are by an identity, each found by a leg of its own."""
    return len(Engine(identity=identity).merge([[document] for document in documents]).documents)


def test_by_content_looks_at_the_text_alone() -> None:
    assert by_content(doc("a b", "1", x=1)) == "a b"
    assert count(by_content, doc("a", "1"), doc("a", "2"), doc("A"), doc("a ")) == 3


def test_empty_texts_are_one_text() -> None:
    assert count(by_content, doc(""), doc("")) == 1


def test_by_id_is_the_id_or_none() -> None:
    assert by_id(doc("a", "7")) == "7"
    assert by_id(doc("a")) is None
    assert count(by_id, doc("a", "1"), doc("b", "1"), doc("a"), doc("a")) == 3


@pytest.mark.parametrize(
    "text",
    [
        "Café au lait",
        "Cafe\u0301 au lait",
        "  café\tAU\nlait ",
        "CAFÉ\u00a0au\u2003lait",
        "cafe\u0301\r\nau\x0blait",
    ],
)
def test_by_normalized_content_ignores_composition_white_space_and_case(text: str) -> None:
    assert by_normalized_content(doc(text)) == "café au lait"


@pytest.mark.parametrize(
    ("one", "other", "documents"),
    [
        ("Straße", "STRASSE", 1),
        ("Σίσυφος", "ΣΊΣΥΦΟΣ", 1),
        ("cafe", "café", 2),
        ("a b", "ab", 2),
        ("ﬁ", "fi", 1),
        ("①", "1", 2),
        ("", " \n\t", 1),
    ],
)
def test_by_normalized_content_ignores_no_more_than_that(
    one: str, other: str, documents: int
) -> None:
    assert count(by_normalized_content, doc(one), doc(other)) == documents


def test_by_key_reads_one_metadata_key() -> None:
    assert by_key("n")(doc(n=[1, 2])) == [1, 2]
    assert by_key("n")(doc(n=None)) is None
    assert by_key("n")(doc()) is None


def test_documents_whose_key_is_missing_or_none_are_never_merged() -> None:
    assert count(by_key("n"), doc(), doc(), doc(n=None), doc(n=None)) == 4


def test_a_false_value_is_a_value() -> None:
    values: tuple[Any, ...] = (0, "", False, [], {}, float("nan"))
    for value in values:
        assert count(by_key("n"), doc("a", n=value), doc("b", n=value)) == 1


def test_one_true_and_text_one_are_three_keys() -> None:
    values: list[Any] = [1, 1.0, True, "1", "True"]
    assert count(by_key("n"), *(doc(n=value) for value in values)) == 4


@pytest.mark.parametrize(
    ("one", "other"),
    [([1], [True]), ({"a": 1}, {"a": True}), ({1}, {True}), ([1], (1,)), ([], {}), ("a", ["a"])],
)
def test_keys_need_not_be_hashable_to_be_told_apart(one: Any, other: Any) -> None:
    documents = [doc(n=one), doc(n=other), doc(n=copy.deepcopy(one)), doc(n=copy.deepcopy(other))]
    assert count(by_key("n"), *documents) == 2


def test_levels_take_the_first_that_can_say() -> None:
    identity = by_levels(by_key("n"), by_id, by_content)
    assert identity(doc("a", "7", n=3)) == (0, 3)
    assert identity(doc("a", "7", n=None)) == (1, "7")
    assert identity(doc("a")) == (2, "a")


def test_levels_that_all_cannot_say_say_none() -> None:
    assert by_levels(by_key("n"), by_id)(doc()) is None
    assert by_levels()(doc()) is None


def test_documents_of_different_levels_are_different() -> None:
    assert count(by_levels(by_id, by_content), doc("x", "a"), doc("a"), doc("a", "a")) == 2


def test_an_identity_may_be_any_function() -> None:
    assert count(lambda document: document.page_content[0], doc("ab"), doc("ac"), doc("b")) == 2


@pytest.mark.parametrize(
    "identity",
    [by_content, by_id, by_normalized_content, by_key("n"), by_levels(by_key("n"), by_id)],
)
def test_identities_survive_pickle_and_deepcopy(identity: Any) -> None:
    assert pickle.loads(pickle.dumps(identity)) == identity == copy.deepcopy(identity)


def test_identities_compare_by_what_they_read() -> None:
    assert by_key("a") == by_key("a") != by_key("b")
    assert by_levels(by_key("a"), by_id) == by_levels(by_key("a"), by_id) != by_levels(by_id)
    assert len({by_key("a"), by_key("a"), by_levels(by_id), by_levels(by_id)}) == 2
