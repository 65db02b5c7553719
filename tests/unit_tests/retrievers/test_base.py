"""What every retriever here has in common: k, filter, named arguments, runs, copies, equality."""

from __future__ import annotations

import copy
import pickle
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda
from pydantic import ValidationError

from langchain_safe_retrievers import (
    ConfigurationError,
    FilterError,
    LangChainEnsembleMetaPolicy,
    LegResultError,
    MetadataPolicy,
    ReciprocalRank,
    SafeEnsembleRetriever,
    UnacceptedArgumentError,
    by_key,
    by_normalized_content,
    collect_reports,
)
from langchain_safe_retrievers.testing import FakeLeg, texts
from tests.unit_tests.ways import (
    RunLog,
    both_ways,
    each_retriever,
    ensemble_of,
    every_way,
    leg_of,
    multi_query_over,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_LETTERS = list("abcde")
_EN = Document(page_content="english", metadata={"lang": "en", "year": 2024})
_DE = Document(page_content="german", metadata={"lang": "de", "year": 2020})


# k ------------------------------------------------------------------------------------------------


@every_way
@each_retriever
@pytest.mark.parametrize(
    ("field", "arguments", "expected"),
    [
        (None, {}, "abcde"),
        (2, {}, "ab"),
        (None, {"k": 2}, "ab"),
        (2, {"k": 3}, "abc"),
        (2, {"k": None}, "abcde"),
        (9, {}, "abcde"),
    ],
)
def test_k_is_given_to_the_constructor_or_per_call_which_wins(
    call: Callable[..., Any], over: Any, field: int | None, arguments: Any, expected: str
):
    retriever = over(FakeLeg(documents=_LETTERS), k=field)

    assert texts(call(retriever, "q", **arguments)) == list(expected)


@every_way
@each_retriever
@pytest.mark.parametrize("k", [0, -1, True, "3", 2.5])
def test_a_k_that_cannot_work_is_refused_per_call(call: Callable[..., Any], over: Any, k: Any):
    leg = FakeLeg(documents=_LETTERS)

    with pytest.raises(ConfigurationError, match=r"k is .*; expected a whole number"):
        call(over(leg), "q", k=k)

    assert leg.calls == []


@each_retriever
@pytest.mark.parametrize("field", ["k", "fetch_k"])
@pytest.mark.parametrize("number", [0, -1, True, "3", 2.5])
def test_a_k_that_cannot_work_is_refused_by_the_constructor(over: Any, field: str, number: Any):
    with pytest.raises(ValueError, match=field):
        over(FakeLeg(), **{field: number})


@both_ways
@each_retriever
@pytest.mark.parametrize(
    ("fields", "arguments", "asked"),
    [
        ({}, {}, {}),
        ({"k": 3}, {}, {"k": 50}),
        ({}, {"k": 40}, {"k": 80}),
        ({"fetch_k": 7}, {"k": 20}, {"k": 7}),
        ({"fetch_k": 7}, {}, {"k": 7}),
        ({"k": 3}, {"k": None}, {}),
    ],
)
def test_each_leg_that_can_be_told_is_asked_for_more_than_k(
    call: Callable[..., Any], over: Any, fields: Any, arguments: Any, asked: dict[str, int]
):
    leg = FakeLeg(documents=_LETTERS)

    call(over(leg, **fields), "q", **arguments)

    assert leg.calls == [("q", asked)]


# filter -------------------------------------------------------------------------------------------


@every_way
@each_retriever
def test_a_filter_reaches_the_leg_and_is_a_wall_if_the_leg_ignores_it(
    call: Callable[..., Any], over: Any
):
    leg = FakeLeg(documents=[_DE, _EN, _DE])

    found = call(over(leg), "q", filter={"lang": "en"})

    assert found == [_EN]
    assert leg.calls[-1] == ("q", {"filter": {"lang": "en"}})


@both_ways
def test_a_filter_is_a_wall_for_legs_that_cannot_be_told(call: Callable[..., Any]):
    ensemble = SafeEnsembleRetriever(
        retrievers=[FakeLeg(documents=[_DE]), leg_of(_DE, _EN), leg_of("no metadata")]
    )

    assert call(ensemble, "q", filter={"lang": "en"}) == [_EN]


@both_ways
@each_retriever
def test_k_counts_what_passes_the_filter(call: Callable[..., Any], over: Any):
    documents = [Document(page_content=str(n), metadata={"even": n % 2 == 0}) for n in range(10)]

    found = call(over(FakeLeg(documents=documents)), "q", k=2, filter={"even": False})

    assert texts(found) == ["1", "3"]


@both_ways
@each_retriever
def test_copies_that_fail_the_filter_are_not_folded_in(call: Callable[..., Any], over: Any):
    other = Document(page_content="english", metadata={"lang": "de", "secret": 1})

    found = call(over(FakeLeg(documents=[other, _EN])), "q", filter={"lang": "en"})

    assert found == [_EN]


@both_ways
@each_retriever
def test_a_function_is_a_filter_too(call: Callable[..., Any], over: Any):
    def recent(document: Document) -> bool:
        return bool(document.metadata["year"] > 2021)

    leg = FakeLeg(documents=[_DE, _EN])

    assert call(over(leg), "q", filter=recent) == [_EN]
    assert leg.calls == [("q", {"filter": recent})]


@both_ways
@each_retriever
def test_a_filter_that_no_leg_takes_is_an_error(call: Callable[..., Any], over: Any):
    with pytest.raises(UnacceptedArgumentError, match="'filter', which none of its legs"):
        call(over(leg_of(_DE, _EN)), "q", filter={"lang": "en"})


@both_ways
@each_retriever
def test_no_filter_is_no_argument(call: Callable[..., Any], over: Any):
    assert len(call(over(leg_of(_DE, _EN)), "q", filter=None)) == 2


@every_way
@each_retriever
@pytest.mark.parametrize("bad", [{"a": {"$near": 1}}, {"$or": 7}, {1: 2}])
def test_a_filter_that_cannot_be_read_is_refused_before_any_leg_is_asked(
    call: Callable[..., Any], over: Any, bad: Any
):
    leg = FakeLeg(documents=[_EN])

    with pytest.raises(FilterError):
        call(over(leg), "q", filter=bad)

    assert leg.calls == []


@both_ways
@each_retriever
def test_a_filter_holds_whatever_a_subclass_adds(call: Callable[..., Any], over: Any):
    leg = FakeLeg(documents=[_EN])
    kind = type(over(leg))

    class Adding(kind):  # type: ignore[misc, valid-type]
        def weighted_reciprocal_rank(self, doc_lists: Any) -> list[Document]:
            return [_DE, *super().weighted_reciprocal_rank(doc_lists)]

        def unique_union(self, documents: Any) -> list[Document]:
            return [_DE, *super().unique_union(documents)]

    retriever = Adding(**dict(over(leg)))

    assert call(retriever, "q") == [_DE, _EN]
    assert call(retriever, "q", filter={"lang": "en"}) == [_EN]
    assert call(retriever, "q", k=1) == [_DE]


# Other arguments ----------------------------------------------------------------------------------


@every_way
@each_retriever
def test_a_named_argument_reaches_a_leg_that_declares_it(call: Callable[..., Any], over: Any):
    leg = RunnableLambda(lambda query, lang="any": [f"{query} in {lang}"])

    assert texts(call(over(leg), "cats", lang="en")) == ["cats in en"]


@every_way
@each_retriever
def test_a_named_argument_that_no_leg_takes_is_an_error(call: Callable[..., Any], over: Any):
    with pytest.raises(UnacceptedArgumentError) as refused:
        call(over(leg_of("a")), "q", lang="en", top_n=3)

    assert isinstance(refused.value, TypeError)
    assert "was given 'lang', 'top_n', which none of its legs (RunnableLambda) takes" in str(
        refused.value
    )


@both_ways
def test_a_named_argument_reaches_the_innermost_of_nested_retrievers(call: Callable[..., Any]):
    leg = FakeLeg(documents=[_EN, _DE])
    nested = ensemble_of(multi_query_over(ensemble_of(leg)).with_retry())

    assert call(nested, "q", lang="x", filter={"lang": "en"}) == [_EN]
    assert leg.calls == [("q", {"lang": "x", "filter": {"lang": "en"}})]

    with pytest.raises(UnacceptedArgumentError):
        call(ensemble_of(multi_query_over(leg_of("a"))), "q", lang="x")


@both_ways
@each_retriever
def test_bound_arguments_are_arguments(call: Callable[..., Any], over: Any):
    retriever = over(FakeLeg(documents=[_DE, _EN])).bind(filter={"lang": "en"})

    assert call(retriever, "q") == [_EN]
    assert call(retriever | RunnableLambda(texts), "q") == ["english"]


@both_ways
@each_retriever
def test_legs_get_arguments_of_their_own(call: Callable[..., Any], over: Any):
    def change(query: str, *, options: dict[str, int] | None = None, **other: Any) -> list[str]:
        other["more"] = 1
        return [query]

    given = {"a": 1}
    retriever = over(RunnableLambda(change))

    for _ in range(2):
        assert texts(call(retriever, "q", options=given, k=2)) == ["q"]
    assert given == {"a": 1}


# Runs ---------------------------------------------------------------------------------------------


@both_ways
@each_retriever
def test_run_id_is_the_id_of_its_own_run_and_no_argument(call: Callable[..., Any], over: Any):
    log, run_id = RunLog(), uuid4()
    retriever = over(leg_of("a"))

    assert texts(call(retriever, "q", {"callbacks": [log]}, run_id=run_id)) == ["a"]
    assert log.names[run_id] == type(retriever).__name__


@both_ways
@each_retriever
@pytest.mark.parametrize(
    "argument", [{"tags": ["mine"]}, {"metadata": {"user": 7}}, {"verbose": True}]
)
def test_what_core_takes_is_no_argument_for_the_legs(
    call: Callable[..., Any], over: Any, argument: Any, capsys: pytest.CaptureFixture[str]
):
    leg = FakeLeg(documents=["a"])

    assert texts(call(over(leg), "q", **argument)) == ["a"]
    assert texts(call(over(leg_of("a")), "q", **argument)) == ["a"]
    assert leg.calls == [("q", {})]


@both_ways
@each_retriever
def test_ls_retriever_name_is_in_its_own_runs_metadata(call: Callable[..., Any], over: Any):
    log = RunLog()
    retriever = over(FakeLeg(documents=["a"]), metadata={"mine": 1}, tags=["own"])

    call(retriever, "q", {"callbacks": [log], "metadata": {"user": 7}, "tags": ["given"]})

    run = log.run(type(retriever).__name__)
    name = "safeensemble" if over is ensemble_of else "safemultiquery"
    assert log.metadata[run] == {"user": 7, "ls_retriever_name": name, "mine": 1}
    assert log.tags[run] == ["given", "own"]
    leg_run = log.run("FakeLeg")
    assert log.metadata[leg_run] == {"user": 7, "ls_retriever_name": "fakeleg"}
    assert log.parents[leg_run] == run


@both_ways
@each_retriever
@pytest.mark.parametrize("reads", ["tags", "metadata"])
def test_a_run_has_exactly_one_start_and_one_end(call: Callable[..., Any], over: Any, reads: str):
    log = RunLog()

    found = call(over(FakeLeg(documents=["a"])), "q", {"callbacks": [log]})

    assert log.unclosed == {}
    run = log.run("SafeEnsembleRetriever" if over is ensemble_of else "SafeMultiQueryRetriever")
    assert log.ends[run] == [found]


# What legs answer ---------------------------------------------------------------------------------


def _generate() -> Iterator[Any]:
    yield "a"
    yield Document(page_content="b")


def _generate_and_break() -> Iterator[Any]:
    yield "a"
    msg = "lost midway"
    raise ConnectionError(msg)


_ANSWERS: dict[str, tuple[Callable[[], Any], Any]] = {
    "None": (lambda: None, []),
    "nothing": (list, []),
    "str": (lambda: "a", ["a"]),
    "Document": (lambda: Document(page_content="a"), ["a"]),
    "list of str": (lambda: ["a", "b"], ["a", "b"]),
    "tuple": (lambda: ("a", Document(page_content="b")), ["a", "b"]),
    "generator": (_generate, ["a", "b"]),
    "pairs": (lambda: [(Document(page_content="a"), 0.5), ("b", 0.25)], ["a", "b"]),
    "broken generator": (_generate_and_break, ConnectionError),
    "dict": (lambda: {"a": 1}, LegResultError),
    "int": (lambda: 7, LegResultError),
    "bytes": (lambda: b"a", LegResultError),
    "bad item": (lambda: ["a", 7], LegResultError),
}


@every_way
@each_retriever
@pytest.mark.parametrize("kind", _ANSWERS)
def test_an_answer_is_treated_the_same_in_sync_and_async(
    call: Callable[..., Any], over: Any, kind: str
):
    answer, expected = _ANSWERS[kind]
    retriever = over(FakeLegOf(answer=answer))

    if isinstance(expected, list):
        assert texts(call(retriever, "q")) == expected
    else:
        with pytest.raises(expected):
            call(retriever, "q")


@both_ways
@each_retriever
@pytest.mark.parametrize("kind", ["broken generator", "dict", "int", "bytes", "bad item"])
def test_a_bad_answer_is_a_failure_that_can_be_skipped(
    call: Callable[..., Any], over: Any, kind: str
):
    legs = [FakeLegOf(answer=_ANSWERS[kind][0]), leg_of("a")]
    retriever = SafeEnsembleRetriever(retrievers=[over(legs[0]), legs[1]], on_leg_error="skip")

    with collect_reports() as reports:
        assert texts(call(retriever, "q")) == ["a"]

    assert [leg.status for leg in reports[-1].legs] == ["failed", "ok"]


class FakeLegOf(FakeLeg):
    """A leg whose answer is made anew each time."""

    answer: Any

    def _answer(self) -> Any:
        return self.answer()


# Scores, provenance, conflicts --------------------------------------------------------------------


@both_ways
@each_retriever
def test_fused_score_provenance_and_conflicts_are_there_on_request(
    call: Callable[..., Any], over: Any
):
    one = Document(page_content="a", metadata={"source": "vec"}, id="1")
    two = Document(page_content="a", metadata={"source": "bm25"}, id="2")
    leg = FakeLeg(documents=[(one, 0.75), (two, 0.5)])
    plain = call(over(leg, conflicts_key=None), "q")[0].metadata

    (found,) = call(
        over(leg, conflicts_key="clash", provenance_key="where", fused_score_key="fused"), "q"
    )

    assert "_conflicts" not in plain
    assert found.metadata["clash"]["source"] == ["vec", "bm25"]
    assert found.metadata["clash"]["Document.id"] == ["1", "2"]
    assert found.metadata["fused"] == pytest.approx(1 / 61)
    first = found.metadata["where"][0]
    assert first["leg"] == ("retriever_1" if over is ensemble_of else "query_1")
    assert (first["query"], first["rank"], first["score"], first["id"]) == ("q", 1, 0.75, "1")
    assert found.id == "1"


@both_ways
@each_retriever
def test_merge_policy_identity_and_score_key_are_used(call: Callable[..., Any], over: Any):
    one = Document(page_content="A  b", metadata={"n": 1, "s": 0.5})
    two = Document(page_content="a B", metadata={"n": 2, "s": 0.7})
    retriever = over(
        FakeLeg(documents=[one, two]),
        identity=by_normalized_content,
        merge_policy=MetadataPolicy(rules={"n": "collect"}),
        score_key="s",
        provenance_key="where",
    )

    (found,) = call(retriever, "q")

    assert (found.page_content, found.metadata["n"]) == ("A  b", [1, 2])
    assert found.metadata["where"][0]["score"] == 0.5


@both_ways
@each_retriever
def test_a_merge_policy_may_be_a_function(call: Callable[..., Any], over: Any):
    documents = [Document(page_content="a", metadata={"n": n}) for n in (1, 2)]

    (found,) = call(over(FakeLeg(documents=documents), merge_policy=_last), "q")

    assert found.metadata == {"n": 2, "_conflicts": {"n": [1, 2]}}


def _last(a: dict[str, Any], b: dict[str, Any]) -> dict[str, Any]:
    return dict(b)


@both_ways
@each_retriever
def test_inputs_are_never_changed(call: Callable[..., Any], over: Any):
    documents = [Document(page_content="a", metadata={"tags": [n]}) for n in (1, 2)]
    leg = FakeLeg(documents=documents)

    (found,) = call(over(leg, provenance_key="where"), "q")
    found.metadata["tags"].append(3)

    assert [document.metadata for document in documents] == [{"tags": [1]}, {"tags": [2]}]


# As an object -------------------------------------------------------------------------------------


def _every_field() -> dict[str, Any]:
    return {
        "k": 3,
        "fetch_k": 9,
        "identity": by_key("n"),
        "merge_policy": MetadataPolicy(rules={"n": "max"}),
        "conflicts_key": "clash",
        "provenance_key": "where",
        "fused_score_key": "fused",
        "score_key": "s",
        "on_leg_error": "skip",
        "leg_timeout": 5.0,
        "tags": ["own"],
        "metadata": {"mine": 1},
    }


def _picklable(over: Any, **fields: Any) -> Any:
    retriever = over(FakeLeg(documents=["a", "b"]), **fields)
    if over is multi_query_over:
        retriever.llm_chain = RunnableLambda(_write)
    return retriever


def _write(inputs: dict[str, str]) -> list[str]:
    return [inputs["question"]]


_COPIES: list[Callable[[Any], Any]] = [
    copy.deepcopy,
    copy.copy,
    lambda retriever: pickle.loads(pickle.dumps(retriever)),
    lambda retriever: retriever.model_copy(),
    lambda retriever: type(retriever)(**dict(retriever)),
]


@both_ways
@each_retriever
@pytest.mark.parametrize("copied", _COPIES, ids=["deep", "shallow", "pickled", "model", "fields"])
def test_a_copy_equals_the_original_and_answers_as_it_does(
    call: Callable[..., Any], over: Any, copied: Callable[[Any], Any]
):
    retriever = _picklable(over, **_every_field())

    other = copied(retriever)

    assert other == retriever
    assert other is not retriever
    assert call(other, "q") == call(retriever, "q")


@each_retriever
@pytest.mark.parametrize("field", [*_every_field()])
def test_a_retriever_with_another_setting_is_another(over: Any, field: str):
    leg = FakeLeg()
    one, same = over(leg), over(leg)
    if over is multi_query_over:
        same.llm_chain = one.llm_chain

    assert one == same
    setattr(same, field, _every_field()[field])
    assert one != same


@each_retriever
def test_an_argument_the_constructor_does_not_know_is_refused(over: Any):
    with pytest.raises(ValidationError, match="top_k"):
        over(FakeLeg(), top_k=3)


@each_retriever
@pytest.mark.parametrize("value", ["ignore", None, True])
def test_on_leg_error_is_raise_or_skip(over: Any, value: Any):
    with pytest.raises(ValidationError, match="on_leg_error"):
        over(FakeLeg(), on_leg_error=value)


@both_ways
@each_retriever
def test_settings_assigned_later_are_used(call: Callable[..., Any], over: Any):
    retriever = over(FakeLeg(documents=_LETTERS))

    retriever.k = 2

    assert texts(call(retriever, "q")) == ["a", "b"]


@both_ways
@each_retriever
def test_one_retriever_may_be_used_inside_itself(call: Callable[..., Any], over: Any):
    depth: list[int] = []

    def ask(query: str) -> list[Any]:
        if query == "inner":
            return ["inner"]
        depth.append(1)
        return [*call(retriever, "inner", k=1), "outer", "outer too"]

    retriever = over(RunnableLambda(ask))

    assert texts(call(retriever, "q", k=2)) == ["inner", "outer"]


@pytest.mark.parametrize("field", ["merge_policy", "fuser"])
def test_a_class_where_an_object_is_expected_is_refused_with_what_to_write(field: str):
    given = LangChainEnsembleMetaPolicy if field == "merge_policy" else ReciprocalRank

    with pytest.raises(ValidationError, match=rf"write {given.__name__}\(\)"):
        SafeEnsembleRetriever(retrievers=[FakeLeg()], **{field: given})
