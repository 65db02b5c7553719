"""What `SafeMultiQueryRetriever` does better than the class it stands in for."""

from __future__ import annotations

import logging
import threading
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel, FakeListLLM
from langchain_core.messages import AIMessage
from langchain_core.prompts import ChatPromptTemplate, PromptTemplate
from langchain_core.runnables import ConfigurableField, RunnableLambda
from pydantic import ValidationError

from langchain_safe_retrievers import (
    ConfigurationError,
    LineListOutputParser,
    QueryOutputError,
    ReciprocalRank,
    RelativeScore,
    SafeMultiQueryRetriever,
    collect_reports,
)
from langchain_safe_retrievers.testing import FakeLeg, texts
from tests.unit_tests.ways import (
    RunLog,
    both_ways,
    ensemble_of,
    every_way,
    writes,
)

if TYPE_CHECKING:
    from collections.abc import Callable

_ECHO = RunnableLambda(lambda query: [query])


def _multi(leg: Any = _ECHO, *queries: str | None, **fields: Any) -> SafeMultiQueryRetriever:
    return SafeMultiQueryRetriever(retriever=leg, llm_chain=writes(*queries), **fields)


def _finding(**found: str) -> RunnableLambda[Any, Any]:
    """Return a leg that finds a document for each letter of what it finds for a query."""
    return RunnableLambda(lambda query: list(found[query]))


# The leg ------------------------------------------------------------------------------------------


@every_way
@pytest.mark.parametrize(
    "leg",
    [
        _ECHO,
        FakeLeg(documents=["a"]) | RunnableLambda(lambda found: ["one", "two"]),
        RunnableLambda(lambda query: 1 / 0).with_fallbacks([_ECHO]),
        _ECHO.with_retry(),
        _ECHO.bind(),
        ensemble_of(_ECHO),
        ensemble_of(_ECHO).configurable_fields(k=ConfigurableField(id="k")),
    ],
    ids=["function", "sequence", "fallbacks", "retry", "bind", "ensemble", "configurable"],
)
def test_any_retriever_like_is_a_retriever(call: Callable[..., Any], leg: Any):
    assert texts(call(_multi(leg, "one", "two"), "q")) == ["one", "two"]


@every_way
def test_metadata_of_all_copies_is_folded_and_order_is_first_seen(call: Callable[..., Any]):
    def ask(query: str) -> list[Document]:
        texts_of = {"one": ["a", "b"], "two": ["c", "a"]}[query]
        return [Document(page_content=text, metadata={query: 1, "by": query}) for text in texts_of]

    found = call(_multi(RunnableLambda(ask), "one", "two", merge_policy=_keep_first), "q")

    assert texts(found) == ["a", "b", "c"]
    assert found[0].metadata == {
        "one": 1,
        "by": "one",
        "two": 1,
        "_conflicts": {"by": ["one", "two"]},
    }
    assert found[1].metadata == {"one": 1, "by": "one"}


def _keep_first(a: dict[str, Any], b: dict[str, Any]) -> dict[str, Any]:
    return {**b, **a}


@both_ways
def test_the_order_is_that_of_the_queries_whichever_ends_first(call: Callable[..., Any]):
    done = threading.Event()

    def ask(query: str) -> list[str]:
        if query == "one":
            assert done.wait(10)
        done.set()
        return [query]

    assert texts(call(_multi(RunnableLambda(ask), "one", "two"), "q")) == ["one", "two"]


@both_ways
def test_each_query_is_a_run_of_its_own_below_the_retrievers(call: Callable[..., Any]):
    log = RunLog()

    call(_multi(FakeLeg(), "a", "b"), "q", {"callbacks": [log]})

    own = log.run("SafeMultiQueryRetriever")
    runs = [run for run, name in log.names.items() if name == "FakeLeg"]
    assert sorted(log.tags[run][-1] for run in runs) == ["query_1", "query_2"]
    assert {log.parents[run] for run in runs} == {own}
    assert log.unclosed == {}


# Writing queries ----------------------------------------------------------------------------------


@every_way
@pytest.mark.parametrize("variable", ["question", "query", "input", "x"])
@pytest.mark.parametrize("kind", [PromptTemplate, ChatPromptTemplate])
@pytest.mark.parametrize("made", ["from_llm", "chain with parser", "chain without parser"])
def test_a_prompt_with_one_variable_of_any_name_works(
    call: Callable[..., Any], variable: str, kind: Any, made: str
):
    asked: list[str] = []
    prompt = kind.from_template(f"Rewrite: {{{variable}}}")
    model = RunnableLambda(lambda value: asked.append(value.to_string()) or "1. a\n2. b")
    if made == "from_llm":
        retriever = SafeMultiQueryRetriever.from_llm(
            _ECHO, FakeListChatModel(responses=["1. a\n2. b"]), prompt
        )
    elif made == "chain with parser":
        chain = prompt | model | LineListOutputParser()
        retriever = SafeMultiQueryRetriever(retriever=_ECHO, llm_chain=chain)
    else:
        retriever = SafeMultiQueryRetriever(retriever=_ECHO, llm_chain=prompt | model)

    assert texts(call(retriever, "cats")) == ["a", "b"]
    assert made == "from_llm" or asked[-1].endswith("Rewrite: cats")


@both_ways
@pytest.mark.parametrize("wrapped", ["with_config", "with_retry", "with_fallbacks", "bind", "in"])
def test_a_prompts_variable_is_found_however_the_chain_is_wrapped(
    call: Callable[..., Any], wrapped: str
):
    chain = PromptTemplate.from_template("{x}") | RunnableLambda(lambda value: value.to_string())
    llm_chain: Any = {
        "with_config": chain.with_config(tags=["writer"]),
        "with_retry": chain.with_retry(wait_exponential_jitter=False),
        "with_fallbacks": chain.with_fallbacks([chain]),
        "bind": chain.bind(),
        "in": chain.with_config(tags=["writer"]) | LineListOutputParser(),
    }[wrapped]
    retriever = SafeMultiQueryRetriever(retriever=_ECHO, llm_chain=llm_chain)

    with collect_reports() as reports:
        assert texts(call(retriever, "cats")) == ["cats"]

    assert reports[0].notes == ()


@both_ways
def test_variables_that_are_filled_already_do_not_count(call: Callable[..., Any]):
    prompt = PromptTemplate.from_template("{n} versions of {x}").partial(n="3")
    retriever = SafeMultiQueryRetriever.from_llm(_ECHO, FakeListLLM(responses=["a\nb"]), prompt)

    assert texts(call(retriever, "q")) == ["a", "b"]


@pytest.mark.parametrize("template", ["{question} {n}", "no variable"])
def test_from_llm_refuses_a_prompt_that_has_not_exactly_one_variable(template: str):
    prompt = PromptTemplate.from_template(template)

    with pytest.raises(ConfigurationError, match="exactly one variable"):
        SafeMultiQueryRetriever.from_llm(_ECHO, FakeListLLM(responses=["a"]), prompt)


def test_from_llm_takes_every_field_of_the_retriever():
    retriever = SafeMultiQueryRetriever.from_llm(
        _ECHO, FakeListLLM(responses=["a"]), k=3, max_queries=2, on_leg_error="skip"
    )

    assert (retriever.k, retriever.max_queries, retriever.on_leg_error) == (3, 2, "skip")


@every_way
@pytest.mark.parametrize(("max_queries", "asked"), [(1, "a"), (2, "ab"), (9, "abc"), (None, "abc")])
def test_max_queries_caps_what_the_model_wrote(
    call: Callable[..., Any], max_queries: int | None, asked: str
):
    retriever = _multi(_ECHO, "a", "b", "c", max_queries=max_queries)

    assert texts(call(retriever, "q")) == list(asked)
    retriever.include_original = True
    assert texts(call(retriever, "q")) == [*asked, "q"]


@pytest.mark.parametrize("max_queries", [0, -1, True, "3", 1.5])
def test_a_max_queries_that_cannot_work_is_refused(max_queries: Any):
    with pytest.raises(ValidationError, match="max_queries"):
        _multi(max_queries=max_queries)


_FORMS: dict[str, Any] = {
    "str": "1. a\n2. b",
    "list": ["a", "b"],
    "tuple": ("a", "b"),
    "message": AIMessage("a\nb"),
    "message of blocks": AIMessage([{"type": "text", "text": "a\nb"}]),
    "message that thinks": AIMessage(
        [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "a\nb"}]
    ),
    "dict with lines": {"lines": ["a", "b"]},
    "dict with text": {"text": "a\nb"},
    "LLMChain": {"question": "q", "text": ["a", "b"]},
    "dict with queries": {"queries": ("a", "b")},
    "object with lines": SimpleNamespace(lines=["a", "b"]),
    "object with queries": SimpleNamespace(queries="a\nb"),
    "list of messages": [AIMessage("a"), AIMessage("b")],
    "repeated and blank": ["a", " ", "A ", "b", "a"],
    "CRLF and thoughts": "<think>which?</think>\r\na\r\n\r\n- b\r\n",
}


@every_way
@pytest.mark.parametrize("form", _FORMS)
def test_queries_are_read_from_any_usual_form(call: Callable[..., Any], form: str):
    chain = RunnableLambda(lambda inputs: _FORMS[form])

    assert texts(call(SafeMultiQueryRetriever(retriever=_ECHO, llm_chain=chain), "q")) == ["a", "b"]


def _type_name(value: object) -> str:
    return type(value).__name__


@every_way
@pytest.mark.parametrize(
    "output", [None, 7, 1.5, object(), {"answer": "a"}, [7], b"a"], ids=_type_name
)
def test_any_other_form_is_an_error_that_says_what_came(call: Callable[..., Any], output: Any):
    leg = FakeLeg()
    chain = RunnableLambda(lambda inputs: output)

    with pytest.raises(QueryOutputError, match="the query writer returned"):
        call(SafeMultiQueryRetriever(retriever=leg, llm_chain=chain), "q")

    assert leg.calls == []


@both_ways
@pytest.mark.parametrize("include_original", [False, True])
def test_the_chains_own_list_is_never_changed(call: Callable[..., Any], include_original: bool):
    own = ["a", "a", " b "]
    retriever = SafeMultiQueryRetriever(
        retriever=_ECHO,
        llm_chain=RunnableLambda(lambda inputs: own),
        include_original=include_original,
        max_queries=1,
    )

    for _ in range(2):
        assert texts(call(retriever, "q")) == ["a", "q"][: 1 + include_original]
    assert own == ["a", "a", " b "]


@every_way
@pytest.mark.parametrize("include_original", [False, True])
@pytest.mark.parametrize("kind", ["fails", "empty", "blank", "thoughts"])
def test_without_a_usable_query_the_question_itself_is_searched_and_the_report_says_so(
    call: Callable[..., Any],
    kind: str,
    include_original: bool,
    caplog: pytest.LogCaptureFixture,
):
    def write(inputs: Any) -> Any:
        if kind == "fails":
            msg = "no model"
            raise ConnectionError(msg)
        return {"empty": [], "blank": " \n\t", "thoughts": "<think>hm</think>"}[kind]

    retriever = SafeMultiQueryRetriever(
        retriever=_ECHO, llm_chain=RunnableLambda(write), include_original=include_original
    )

    with collect_reports() as reports:
        assert texts(call(retriever, "cats")) == ["cats"]

    report = reports[-1]
    (note,) = report.notes
    assert note.startswith("no queries were written (")
    assert ("ConnectionError: no model" in note) == (kind == "fails")
    assert note.endswith("; the question itself was searched")
    assert (report.degraded, report.queries, report.error) == (True, ("cats",), None)
    assert [leg.query for leg in report.legs] == ["cats"]
    assert caplog.records[0].levelno == logging.WARNING


@both_ways
def test_a_failing_model_leaves_its_own_error_event(call: Callable[..., Any]):
    log = RunLog()

    def write(inputs: Any) -> Any:
        msg = "no model"
        raise ConnectionError(msg)

    retriever = SafeMultiQueryRetriever(retriever=_ECHO, llm_chain=RunnableLambda(write))
    call(retriever, "q", {"callbacks": [log]})

    assert str(log.errors["write"]) == "no model"
    assert log.unclosed == {}


@both_ways
@pytest.mark.parametrize("verbose", [True, False])
def test_written_queries_are_logged_at_debug_if_verbose(
    call: Callable[..., Any], verbose: bool, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.DEBUG, "langchain_safe_retrievers")

    call(_multi(_ECHO, "a", "b", verbose=verbose), "q")

    assert ("Generated queries: ['a', 'b']" in caplog.text) == verbose


def test_queries_can_be_had_without_a_run_manager():
    assert _multi(_ECHO, "a", "b").generate_queries("q") == ["a", "b"]
    assert _multi(_ECHO).generate_queries("q") == ["q"]


async def test_queries_can_be_had_without_a_run_manager_async():
    assert await _multi(_ECHO, "a", "b").agenerate_queries("q") == ["a", "b"]
    assert await _multi(_ECHO).agenerate_queries("q") == ["q"]


def test_documents_can_be_had_by_calling_the_steps_one_by_one():
    retriever = _multi(_ECHO, "a", "b", "a", k=2)
    manager = CallbackManagerForRetrieverRun.get_noop_manager()

    found = retriever.retrieve_documents(retriever.generate_queries("q"), manager)

    assert texts(retriever.unique_union(found)) == ["a", "b"]


# The question itself ------------------------------------------------------------------------------


@every_way
@pytest.mark.parametrize(
    ("written", "asked"),
    [
        (["a", "b"], ["a", "b", "cats"]),
        (["a", None, "b"], ["a", "b", "cats"]),
        (["CATS ", "a"], ["a", "cats"]),
        ([None], ["cats"]),
    ],
)
def test_the_question_is_asked_last_and_not_twice(
    call: Callable[..., Any], written: list[str | None], asked: list[str]
):
    with collect_reports() as reports:
        assert texts(call(_multi(_ECHO, *written, include_original=True), "cats")) == asked

    assert list(reports[-1].queries) == asked


@both_ways
@pytest.mark.parametrize(("weight", "expected"), [(1.0, "ab"), (2.0, "ba"), (0.5, "ab")])
def test_the_question_may_weigh_more_where_a_fuser_ranks(
    call: Callable[..., Any], weight: float, expected: str
):
    # "a" has 1/61, "b" has weight/61; a tie keeps the queries' order
    retriever = _multi(
        _finding(other="a", cats="b"),
        "other",
        include_original=True,
        original_weight=weight,
        fusion=ReciprocalRank(),
        fused_score_key="s",
    )

    found = call(retriever, "cats")

    assert texts(found) == list(expected)
    scores = {document.page_content: document.metadata["s"] for document in found}
    assert scores == pytest.approx({"a": 1 / 61, "b": weight / 61})


@both_ways
def test_the_weight_is_that_of_the_question_only_if_it_is_included(call: Callable[..., Any]):
    retriever = _multi(
        _finding(one="a", two="b"), "one", "two", original_weight=9, fusion=ReciprocalRank()
    )

    assert texts(call(retriever, "cats")) == ["a", "b"]


@both_ways
def test_the_weight_stays_the_questions_when_queries_before_it_are_skipped(
    call: Callable[..., Any],
):
    def ask(query: str) -> list[str]:
        if query == "bad":
            msg = "broken"
            raise ValueError(msg)
        return [query]

    retriever = _multi(
        RunnableLambda(ask),
        "bad",
        "one",
        include_original=True,
        original_weight=2,
        fusion=ReciprocalRank(),
        on_leg_error="skip",
    )

    assert texts(call(retriever, "cats")) == ["cats", "one"]


@pytest.mark.parametrize("weight", [0, -1, float("nan"), float("inf"), True])
def test_a_weight_that_cannot_work_is_refused(weight: Any):
    with pytest.raises(ValidationError, match="original_weight"):
        _multi(original_weight=weight)


# Fusion across queries ----------------------------------------------------------------------------


@every_way
@pytest.mark.parametrize(
    ("fusion", "k", "expected"),
    [
        ("union", None, "xyz"),  # first seen
        (ReciprocalRank(), None, "yxz"),  # y 1/62 + 1/61, x 1/61, z 1/62
        ("union", 2, "xy"),  # the best two, in first-seen order
        ("union", 1, "y"),
        (ReciprocalRank(), 2, "yx"),
        (ReciprocalRank(), 1, "y"),
    ],
)
def test_union_keeps_first_seen_order_and_a_fuser_ranks_and_k_keeps_the_best(
    call: Callable[..., Any], fusion: Any, k: int | None, expected: str
):
    retriever = _multi(_finding(one="xy", two="yz"), "one", "two", fusion=fusion)

    assert texts(call(retriever, "q", k=k)) == list(expected)


@both_ways
def test_a_query_has_one_vote_however_often_it_finds_a_document(call: Callable[..., Any]):
    # y: 1/62 + 1/61; x, found three times by one query, 1/61
    retriever = _multi(_finding(one="xxxy", two="yz"), "one", "two", fusion=ReciprocalRank())

    assert texts(call(retriever, "q"))[0] == "y"


@both_ways
def test_a_fuser_by_scores_reads_the_legs_own(call: Callable[..., Any]):
    leg = RunnableLambda(
        lambda query: (
            [("a", 0.9), ("b", 0.8), ("c", 0.0)]
            if query == "one"
            else [("b", 0.9), ("c", 0.1), ("a", 0.0)]
        )
    )
    retriever = _multi(leg, "one", "two", fusion=RelativeScore())

    # a 1 + 0, b 8/9 + 1, c 0 + 1/9
    assert texts(call(retriever, "q")) == ["b", "a", "c"]


@both_ways
def test_provenance_tells_the_query_that_found_a_document(call: Callable[..., Any]):
    retriever = _multi(_finding(one="x", two="yx"), "one", "two", provenance_key="p")

    found = call(retriever, "q")

    assert [(it["query"], it["rank"]) for it in found[0].metadata["p"]] == [("one", 1), ("two", 2)]


@pytest.mark.parametrize("fusion", ["rrf", None, 60])
def test_fusion_is_union_or_a_fuser(fusion: Any):
    with pytest.raises(ValidationError, match="fusion"):
        _multi(fusion=fusion)


@both_ways
def test_a_chat_model_and_a_completion_model_may_write(call: Callable[..., Any]):
    for model in (FakeListChatModel(responses=["a\nb"] * 2), FakeListLLM(responses=["a\nb"] * 2)):
        assert texts(call(SafeMultiQueryRetriever.from_llm(_ECHO, model), "q")) == ["a", "b"]
