"""The error family is the one that the docstring draws."""

from __future__ import annotations

import copy
import pickle
import re

import pytest

from langchain_safe_retrievers import errors
from langchain_safe_retrievers.errors import AllLegsFailedError, LegTimeoutError, SafeRetrieverError

FAMILY = {
    name: value
    for name, value in vars(errors).items()
    if isinstance(value, type) and issubclass(value, SafeRetrieverError)
}
_NODE = re.compile(
    r"^    (?P<lead>[│ ├└─]*)(?P<name>\w+Error)(?: \((?P<bases>[\w, ]+)\))?", re.MULTILINE
)


def _drawn() -> list[tuple[str, str | None, list[str]]]:
    """Return name, parent and built-in bases of each error that the docstring draws."""
    drawn: list[tuple[str, str | None, list[str]]] = []
    above: list[str] = []
    for node in _NODE.finditer(errors.__doc__ or ""):
        depth = len(node["lead"]) // 4
        del above[depth:]
        bases = node["bases"].split(", ") if node["bases"] else []
        drawn.append((node["name"], above[-1] if above else None, bases))
        above.append(node["name"])
    return drawn


def test_the_drawing_has_every_error_and_no_other() -> None:
    assert sorted(name for name, *_ in _drawn()) == sorted(FAMILY)


@pytest.mark.parametrize(("name", "parent", "bases"), _drawn(), ids=[name for name, *_ in _drawn()])
def test_each_error_is_what_the_drawing_says(
    name: str, parent: str | None, bases: list[str]
) -> None:
    expected = [*filter(None, [parent]), *bases] or ["Exception"]
    assert [base.__name__ for base in FAMILY[name].__bases__] == expected


@pytest.mark.parametrize(
    "kind", [kind for kind in FAMILY.values() if kind is not AllLegsFailedError]
)
def test_an_error_keeps_its_type_and_message_in_pickle_and_copy(kind: type[Exception]) -> None:
    error = kind("what came, what was expected")
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(again) is kind
        assert str(again) == "what came, what was expected"


def _failed() -> AllLegsFailedError:
    return AllLegsFailedError("every leg failed", [ValueError("one"), LegTimeoutError("two")])


def test_all_legs_failed_carries_every_cause() -> None:
    error = _failed()
    assert [str(cause) for cause in error.exceptions] == ["one", "two"]
    assert error.message == "every leg failed"
    assert isinstance(error, ExceptionGroup)
    assert isinstance(error, SafeRetrieverError)


def test_all_legs_failed_stays_what_it_is_when_it_is_split() -> None:
    match, rest = _failed().split(ValueError)
    assert type(match) is AllLegsFailedError
    assert type(rest) is AllLegsFailedError
    assert [str(cause) for cause in match.exceptions] == ["one"]
    assert [str(cause) for cause in rest.exceptions] == ["two"]
    assert type(_failed().subgroup(TimeoutError)) is AllLegsFailedError
    assert type(_failed().derive([KeyError("x")])) is AllLegsFailedError


def test_one_cause_can_be_caught_with_except_star() -> None:
    caught: list[BaseException] = []

    def handle_timeouts() -> None:
        try:
            raise _failed()
        except* TimeoutError as group:
            caught.extend(group.exceptions)

    with pytest.raises(AllLegsFailedError) as rest:
        handle_timeouts()
    assert [str(cause) for cause in caught] == ["two"]
    assert [str(cause) for cause in rest.value.exceptions] == ["one"]


def test_all_legs_failed_survives_pickle() -> None:
    again = pickle.loads(pickle.dumps(_failed()))
    assert type(again) is AllLegsFailedError
    assert [type(cause) for cause in again.exceptions] == [ValueError, LegTimeoutError]


def test_causes_are_needed() -> None:
    with pytest.raises(ValueError, match="non-empty"):
        AllLegsFailedError("every leg failed", [])
