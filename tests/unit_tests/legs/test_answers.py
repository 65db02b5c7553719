"""What a leg may answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from langchain_core.documents import Document

from langchain_safe_retrievers import LegResultError, RankedList
from langchain_safe_retrievers.legs.answers import read_answer
from langchain_safe_retrievers.testing import texts

if TYPE_CHECKING:
    from collections.abc import Iterator


class _Passage(Document):
    """A document of a type of its own."""


_A, _B = Document(page_content="a"), Document(page_content="b")


def _generated() -> Iterator[Any]:
    yield _A
    yield "b"


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (None, []),
        ([], []),
        ((), []),
        ("a", ["a"]),
        ("", [""]),
        (_A, ["a"]),
        ([_A, _B], ["a", "b"]),
        ((_A, _B), ["a", "b"]),
        (["a", _B], ["a", "b"]),
        (_generated(), ["a", "b"]),
        ({"a": 1}.keys(), ["a"]),
        ([("a", 0.5), (_B, 2)], ["a", "b"]),
        (RankedList([_A, _B]), ["a", "b"]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_these_answers_are_read_as_a_ranked_list(answer: Any, expected: list[str]):
    found = read_answer(answer, "vector", "cats")

    assert texts(found) == expected
    assert (found.leg, found.query) == ("vector", "cats")


@pytest.mark.parametrize(
    ("answer", "came"),
    [
        ({"documents": [_A]}, "dict"),
        (7, "int"),
        (True, "bool"),
        (b"text", "bytes"),
        (bytearray(b"text"), "bytearray"),
        (object(), "object"),
        ([_A, 7], "int at rank 2"),
        ([None], "NoneType at rank 1"),
        ([_A, {"page_content": "b"}], "dict at rank 2"),
        ([(_A, "high")], "tuple at rank 1"),
        ([(_A, True)], "tuple at rank 1"),
        ([(_A, 0.5, 0.7)], "tuple at rank 1"),
        ([[_A]], "list at rank 1"),
    ],
)
def test_any_other_answer_is_an_error_that_names_the_leg_and_what_came(answer: Any, came: str):
    with pytest.raises(LegResultError) as refused:
        read_answer(answer, "vector")

    assert f"leg 'vector' returned {came}; expected a list of documents" in str(refused.value)


def test_a_leg_result_error_is_a_type_error():
    with pytest.raises(TypeError):
        read_answer(7, "vector")


def test_scores_come_from_pairs_and_from_nowhere_else():
    assert read_answer([(_A, 0.5), (_B, 2)], "x").scores == [0.5, 2]
    assert read_answer([_A, (_B, np.float32(0.5))], "x").scores == [None, 0.5]
    assert read_answer([_A, _B], "x").scores is None


def test_documents_keep_their_identity_and_type_and_the_list_is_a_new_one():
    passage = _Passage(page_content="p")
    answer = [passage, _A]

    found = read_answer(answer, "x")

    assert found[0] is passage
    assert found is not answer
    found.clear()
    assert answer == [passage, _A]


def test_what_a_generator_raises_midway_is_raised():
    def broken() -> Iterator[Document]:
        yield _A
        msg = "lost the connection"
        raise RuntimeError(msg)

    with pytest.raises(RuntimeError, match="lost the connection"):
        read_answer(broken(), "x")
