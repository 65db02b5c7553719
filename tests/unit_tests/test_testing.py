"""The fake legs that users test with, too."""

from __future__ import annotations

import asyncio
import copy
import pickle
import threading
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.documents import Document

from langchain_safe_retrievers.testing import FakeLeg, texts
from tests.unit_tests.ways import PATIENCE, RunLog, both_ways, eventually, every_way

if TYPE_CHECKING:
    from collections.abc import Callable


class _Passage(Document):
    """A document of a type of its own."""


@every_way
def test_it_returns_what_it_is_told_to_and_texts_become_documents(call: Callable[..., Any]):
    given = _Passage(page_content="b", metadata={"n": 1})

    found = call(FakeLeg(documents=["a", given]), "q")

    assert found == [Document(page_content="a"), given]
    assert type(found[1]) is _Passage


@both_ways
@pytest.mark.parametrize("answer", [None, "text", 7, {"a": 1}])
def test_what_is_no_list_is_returned_as_it_is(call: Callable[..., Any], answer: Any):
    assert call(FakeLeg(documents=answer), "q") == answer


@both_ways
def test_pairs_stay_pairs_of_document_and_score(call: Callable[..., Any]):
    leg = FakeLeg(documents=[("a", 0.5)], disagree={"by": "leg"})

    assert call(leg, "q") == [(Document(page_content="a", metadata={"by": "leg"}), 0.5)]


@both_ways
def test_it_remembers_what_it_was_asked(call: Callable[..., Any]):
    leg = FakeLeg()

    call(leg, "one")
    call(leg, "two", k=3, filter={"a": 1})

    assert leg.calls == [("one", {}), ("two", {"k": 3, "filter": {"a": 1}})]


@both_ways
def test_it_raises_what_it_is_told_to(call: Callable[..., Any]):
    error, log = ValueError("broken"), RunLog()

    with pytest.raises(ValueError, match="broken") as raised:
        call(FakeLeg(documents=["a"], error=error), "q", {"callbacks": [log]})

    assert raised.value is error
    assert log.errors == {"FakeLeg": error}


@both_ways
def test_it_repeats_each_document_in_a_row(call: Callable[..., Any]):
    assert texts(call(FakeLeg(documents=["a", "b"], repeat=2), "q")) == ["a", "a", "b", "b"]


@both_ways
def test_disagreeing_metadata_is_laid_over_a_copy(call: Callable[..., Any]):
    given = Document(page_content="a", metadata={"source": "db", "n": 1}, id="7")

    found = call(FakeLeg(documents=[given], disagree={"source": "fake"}), "q")

    assert found == [Document(page_content="a", metadata={"source": "fake", "n": 1}, id="7")]
    assert given.metadata == {"source": "db", "n": 1}


@both_ways
def test_it_hangs_until_it_is_released(call: Callable[..., Any]):
    leg = FakeLeg(documents=["a"], hangs=True)
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.extend(call(leg, "q")), daemon=True)
    thread.start()
    assert eventually(lambda: leg.calls)
    assert found == []

    leg.release()
    thread.join(PATIENCE)

    assert texts(found) == ["a"]
    assert texts(call(leg, "q")) == ["a"]


def test_an_async_call_that_hangs_can_be_cancelled():
    with pytest.raises(TimeoutError):
        asyncio.run(asyncio.wait_for(FakeLeg(hangs=True).ainvoke("q"), 0.01))


@both_ways
def test_it_delays_its_answer(call: Callable[..., Any]):
    assert texts(call(FakeLeg(documents=["a"], delay=0.001), "q")) == ["a"]


@pytest.mark.parametrize("of", [copy.deepcopy, lambda leg: pickle.loads(pickle.dumps(leg))])
def test_it_can_be_copied_and_pickled(of: Callable[[FakeLeg], FakeLeg]):
    leg = FakeLeg(documents=["a"], hangs=True, repeat=2, disagree={"by": "leg"})

    other = of(leg)
    other.release()

    assert len(other.invoke("q")) == 2
    assert (len(other.calls), len(leg.calls)) == (1, 0)


@pytest.mark.parametrize("fields", [{"delay": -1}, {"repeat": 0}])
def test_settings_that_cannot_work_are_refused(fields: dict[str, Any]):
    with pytest.raises(ValueError, match=next(iter(fields))):
        FakeLeg(**fields)


def test_texts_are_the_documents_texts_in_order():
    assert texts([Document(page_content="b"), Document(page_content="a")]) == ["b", "a"]
