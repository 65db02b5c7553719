"""`SafeMultiQueryRetriever` held against langchain-classic's `MultiQueryRetriever`.

A test that takes `multi_query` runs once with each class: the upstream run proves the
expectation, ours has to meet it too. A test that compares both builds the same input twice.

Meant to differ, so not compared here (the retriever's own suite tests them): copies of one
text whose metadata or ids differ, which upstream keeps apart; numbers, bullets, quotes,
fences, labels, white space and repeats in the model's answer; chains that answer anything
but a list of strings; a chain that fails or writes no query; the chain's own list, to which
upstream appends the question, so that its events and traces may show it there; a runnable
other than a retriever as `retriever`; `k`, `filter` and `configurable`, which never reach
upstream's retriever; the tags `query_{i}`; the order in which sync queries run; two queries
that fail at once; the wording of the default prompt; `ls_*` metadata.
"""

from __future__ import annotations

import asyncio
import copy
import inspect
import logging
import pickle
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_classic.base_memory import BaseMemory
from langchain_classic.chains import create_retrieval_chain
from langchain_classic.chains.llm import LLMChain
from langchain_classic.retrievers import (
    ContextualCompressionRetriever,
    EnsembleRetriever,
    MergerRetriever,
    MultiQueryRetriever,
)
from langchain_classic.retrievers.multi_query import (
    LineListOutputParser as UpstreamLineListOutputParser,
)
from langchain_core.callbacks import (
    AsyncCallbackManager,
    AsyncCallbackManagerForRetrieverRun,
    CallbackManager,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.language_models import FakeListChatModel, FakeListLLM
from langchain_core.output_parsers import BaseOutputParser
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder, PromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import (
    ConfigurableField,
    RunnableBranch,
    RunnableLambda,
    RunnableParallel,
    RunnablePassthrough,
    RunnableSequence,
)
from langchain_core.tools import create_retriever_tool
from pydantic import Field, PrivateAttr, ValidationError

from langchain_safe_retrievers import (
    DEFAULT_QUERY_PROMPT,
    LineListOutputParser,
    SafeMultiQueryRetriever,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MULTI_QUERIES = [
    pytest.param(MultiQueryRetriever, id="upstream"),
    pytest.param(SafeMultiQueryRetriever, id="ours"),
]


@pytest.fixture(scope="session", params=MULTI_QUERIES)
def multi_query(request: pytest.FixtureRequest) -> Any:
    """Run a test with upstream's class and with ours."""
    return request.param


def docs(texts: str, **metadata: Any) -> list[Document]:
    """Return a document for each letter."""
    return [Document(page_content=letter, metadata=metadata) for letter in texts]


def texts(documents: Sequence[Document]) -> str:
    """Return the documents' texts as one word."""
    return "".join(document.page_content for document in documents)


class Library(BaseRetriever):
    """A retriever that finds for each query what `answers` holds, or nothing."""

    answers: dict[str, list[Any]]

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        return copy.deepcopy(self.answers.get(query, []))


class BoomError(Exception):
    """A retriever's own error."""


BOOM = BoomError("the same in every run")


def library(**answers: str) -> Library:
    """Return a retriever that finds a document for each letter of the query's answer."""
    return Library(answers={query: docs(letters) for query, letters in answers.items()})


def shelf() -> Library:
    """Return the retriever of most tests: the answers of one, two and q overlap."""
    return library(one="ab", two="bc", q="cd")


def writing(*queries: str) -> RunnableLambda[dict[str, str], list[str]]:
    """Return a chain that writes these queries, in a new list each time."""
    return RunnableLambda(lambda question: list(queries))


def failing(error: BaseException) -> RunnableLambda[dict[str, str], list[str]]:
    """Return a chain that raises `error`."""

    def fail(question: dict[str, str]) -> list[str]:
        raise error

    return RunnableLambda(fail)


def model(*queries: str) -> FakeListChatModel:
    """Return a chat model that always writes these queries, one a line."""
    return FakeListChatModel(responses=["\n".join(queries)])


def from_model(cls: Any, **settings: Any) -> Any:
    """Return a retriever made by `from_llm`, with its own prompt, that searches one and two."""
    prompt = PromptTemplate.from_template("Reword {question}")
    return cls.from_llm(shelf(), model("one", "two"), prompt, **settings)


def from_chain(cls: Any, **settings: Any) -> Any:
    """Return a retriever made by the constructor that searches for one and two."""
    return cls(retriever=shelf(), llm_chain=writing("one", "two"), **settings)


def both(build: Callable[[Any], Any]) -> tuple[Any, Any]:
    """Return what `build` makes of ours and of upstream."""
    return build(SafeMultiQueryRetriever), build(MultiQueryRetriever)


def in_a_run(recorder: Any) -> CallbackManagerForRetrieverRun:
    """Return the manager of a retriever run that `recorder` sees."""
    manager = CallbackManager.configure(inheritable_callbacks=[recorder])
    return manager.on_retriever_start(None, "q", name="outer")


async def in_an_async_run(recorder: Any) -> AsyncCallbackManagerForRetrieverRun:
    """Return the manager of an async retriever run that `recorder` sees."""
    manager = AsyncCallbackManager.configure(inheritable_callbacks=[recorder])
    return await manager.on_retriever_start(None, "q", name="outer")


# --- construction ---------------------------------------------------------------------------


def test_ours_is_a_retriever_that_takes_and_gives_what_upstreams_does() -> None:
    assert issubclass(SafeMultiQueryRetriever, BaseRetriever)
    ours, upstream = both(from_chain)
    assert ours.InputType is upstream.InputType
    assert ours.OutputType == upstream.OutputType
    assert ours.get_input_jsonschema()["type"] == upstream.get_input_jsonschema()["type"]
    assert ours.get_output_jsonschema()["items"] == upstream.get_output_jsonschema()["items"]


def test_from_llm_takes_upstreams_arguments_in_upstreams_order_with_its_defaults() -> None:
    ours, upstream = both(lambda cls: inspect.signature(cls.from_llm).parameters)
    shape = [(p.name, p.kind) for p in upstream.values()]
    assert [(p.name, p.kind) for p in ours.values()][: len(shape)] == shape
    assert ours["prompt"].default is DEFAULT_QUERY_PROMPT
    assert ours["parser_key"].default is upstream["parser_key"].default is None
    assert ours["include_original"].default is upstream["include_original"].default is False
    extra = list(ours.values())[len(shape) :]
    assert all(
        p.default is not inspect.Parameter.empty or p.kind is inspect.Parameter.VAR_KEYWORD
        for p in extra
    )
    assert not any(p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD for p in extra)


def test_from_llm_may_be_called_by_position(multi_query: Any, ask: Any) -> None:
    prompt = PromptTemplate.from_template("Reword {question}")
    retriever = multi_query.from_llm(shelf(), model("one", "two"), prompt, "lines", True)
    assert type(retriever) is multi_query
    assert retriever.include_original is True
    assert texts(ask(retriever, "q")) == "abcd"


def test_from_llm_may_be_called_by_name(multi_query: Any, ask: Any) -> None:
    retriever = multi_query.from_llm(
        retriever=shelf(),
        llm=model("one", "two"),
        prompt=DEFAULT_QUERY_PROMPT,
        parser_key="any",
        include_original=True,
    )
    assert texts(ask(retriever, "q")) == "abcd"


def test_from_llm_called_on_a_subclass_makes_the_subclass(multi_query: Any) -> None:
    class Mine(multi_query):  # type: ignore[misc]
        """A subclass."""

    assert type(from_model(Mine)) is Mine


def test_every_field_of_upstream_is_there_in_upstreams_order() -> None:
    upstream = list(MultiQueryRetriever.model_fields)
    assert [name for name in SafeMultiQueryRetriever.model_fields if name in upstream] == upstream


def test_every_argument_that_upstream_does_not_know_has_a_default() -> None:
    known = set(inspect.signature(MultiQueryRetriever).parameters)
    ours = inspect.signature(SafeMultiQueryRetriever).parameters
    assert known <= set(ours) | {"args"}
    assert all(
        parameter.default is not inspect.Parameter.empty
        or parameter.kind is inspect.Parameter.VAR_POSITIONAL
        for name, parameter in ours.items()
        if name not in known
    )


@pytest.mark.parametrize("build", [from_model, from_chain])
def test_the_defaults_are_upstreams(multi_query: Any, build: Any) -> None:
    retriever = build(multi_query)
    assert retriever.verbose is True
    assert retriever.parser_key == "lines"
    assert retriever.include_original is False
    assert (retriever.name, retriever.tags, retriever.metadata) == (None, None, None)


def test_a_parser_key_is_taken_and_changes_nothing(multi_query: Any, ask: Any) -> None:
    retriever = from_chain(multi_query, parser_key="queries")
    assert retriever.parser_key == "queries"
    assert texts(ask(retriever, "q")) == "abc"
    assert texts(ask(from_model(multi_query, parser_key="queries"), "q")) == "abc"
    assert from_model(multi_query, parser_key="queries").parser_key == "lines"


@pytest.mark.parametrize("missing", ["retriever", "llm_chain"])
def test_both_parts_are_required(multi_query: Any, missing: str) -> None:
    arguments: dict[str, Any] = {"retriever": shelf(), "llm_chain": writing("one")}
    del arguments[missing]
    with pytest.raises(ValidationError):
        multi_query(**arguments)


def test_the_parts_are_kept_as_the_very_objects(multi_query: Any) -> None:
    retriever, chain = shelf(), writing("one")
    made = multi_query(retriever=retriever, llm_chain=chain)
    assert made.retriever is retriever
    assert made.llm_chain is chain


def test_the_chain_of_from_llm_is_prompt_model_and_line_parser() -> None:
    ours, upstream = both(lambda cls: cls.from_llm(shelf(), model("one")))
    assert isinstance(ours.llm_chain, RunnableSequence)
    assert [type(step).__name__ for step in ours.llm_chain.steps] == [
        type(step).__name__ for step in upstream.llm_chain.steps
    ]
    assert ours.llm_chain.first is DEFAULT_QUERY_PROMPT
    assert type(ours.llm_chain.last) is LineListOutputParser


def test_fields_may_be_assigned_later(multi_query: Any, ask: Any) -> None:
    retriever = from_chain(multi_query)
    retriever.include_original = True
    retriever.retriever = library(three="xy", q="yz")
    retriever.llm_chain = writing("three")
    assert texts(ask(retriever, "q")) == "xyz"


def test_the_default_prompt_asks_about_the_question_and_nothing_else() -> None:
    assert isinstance(DEFAULT_QUERY_PROMPT, PromptTemplate)
    assert DEFAULT_QUERY_PROMPT.input_variables == ["question"]
    assert "Why is the sky blue?" in DEFAULT_QUERY_PROMPT.format(question="Why is the sky blue?")


@pytest.mark.parametrize(
    "answer",
    [
        "one",
        "one\ntwo",
        "What is a bee?\nWhere do bees live?\nWho eats honey?",
        "one\n\ntwo\n\n\nthree",
        "\n one\ntwo \n",
        "",
        "\n\n",
    ],
)
def test_plain_lines_are_parsed_as_upstream_parses_them(answer: str) -> None:
    ours, upstream = LineListOutputParser(), UpstreamLineListOutputParser()
    assert isinstance(ours, BaseOutputParser)
    assert ours.parse(answer) == upstream.parse(answer)
    assert ours.invoke(answer) == upstream.invoke(answer)


# --- answers --------------------------------------------------------------------------------


CHAINS: dict[str, Callable[[], Any]] = {
    "function": lambda: writing("one", "two"),
    "chat model": lambda: DEFAULT_QUERY_PROMPT | model("one", "two") | LineListOutputParser(),
    "plain model": lambda: (
        PromptTemplate.from_template("Reword {question}")
        | FakeListLLM(responses=["one\ntwo"])
        | LineListOutputParser()
    ),
    "chat prompt": lambda: (
        ChatPromptTemplate.from_messages([("system", "Reword."), ("human", "{question}")])
        | model("one", "two")
        | LineListOutputParser()
    ),
    "upstream's parser": lambda: (
        DEFAULT_QUERY_PROMPT | model("one", "two") | UpstreamLineListOutputParser()
    ),
    "LLMChain": lambda: LLMChain(
        llm=FakeListLLM(responses=["one\ntwo"]),
        prompt=PromptTemplate.from_template("Reword {question}"),
        output_parser=LineListOutputParser(),
    ),
    "LLMChain of a chat model": lambda: LLMChain(
        llm=model("one", "two"),
        prompt=PromptTemplate.from_template("Reword {question}"),
        output_parser=UpstreamLineListOutputParser(),
    ),
    "with_fallbacks": lambda: failing(BOOM).with_fallbacks([writing("one", "two")]),
    "with_config": lambda: writing("one", "two").with_config(tags=["writer"], run_name="writer"),
}
every_chain = pytest.mark.parametrize("build_chain", CHAINS.values(), ids=CHAINS)
quiet = pytest.mark.filterwarnings("ignore:The class `LLMChain` was deprecated")
CONFIG: dict[str, Any] = {
    "tags": ["call"],
    "metadata": {"user": "ann"},
    "run_name": "search",
    "configurable": {"user_id": "7"},
}


@quiet
@every_chain
@pytest.mark.parametrize(("include_original", "expected"), [(False, "abc"), (True, "abcd")])
def test_any_chain_that_writes_a_list_is_used_and_the_first_seen_stays_first(
    multi_query: Any, ask: Any, build_chain: Any, include_original: bool, expected: str
) -> None:
    retriever = multi_query(
        retriever=shelf(), llm_chain=build_chain(), include_original=include_original
    )
    assert ask(retriever, "q") == docs(expected)


def test_the_original_query_is_searched_last(multi_query: Any, ask: Any) -> None:
    retriever = multi_query(
        retriever=library(one="a", q="b"), llm_chain=writing("one"), include_original=True
    )
    assert texts(ask(retriever, "q")) == "ab"


def test_the_chain_is_given_the_question_under_its_name(multi_query: Any, ask: Any) -> None:
    seen: list[Any] = []

    def write(given: Any) -> list[str]:
        seen.append(given)
        return ["one"]

    ask(multi_query(retriever=shelf(), llm_chain=RunnableLambda(write)), "q")
    assert seen == [{"question": "q"}]


def test_each_query_is_asked_once_as_it_was_written(multi_query: Any, ask: Any) -> None:
    written = ["What is a bee?", "where do BEES live", "the 3 body problem"]
    retriever = multi_query(
        retriever=RecordingLibrary(answers={}), llm_chain=writing(*written), include_original=True
    )
    ask(retriever, "Bees?")
    assert sorted(retriever.retriever._asked) == sorted([*written, "Bees?"])


class Turns(BaseMemory):
    """A memory that always holds the same turn."""

    @property
    def memory_variables(self) -> list[str]:
        """The prompt's other variable."""
        return ["history"]

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Return the turn."""
        return {"history": "Hello."}

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, str]) -> None:
        """Save nothing."""

    def clear(self) -> None:
        """Clear nothing."""


@quiet
def test_the_other_variables_of_an_llm_chain_come_from_its_memory(
    multi_query: Any, ask: Any
) -> None:
    chain = LLMChain(
        llm=FakeListLLM(responses=["one\ntwo"]),
        prompt=PromptTemplate.from_template("{history} Reword {question}"),
        output_parser=LineListOutputParser(),
        memory=Turns(),
    )
    assert texts(ask(multi_query(retriever=shelf(), llm_chain=chain), "q")) == "abc"


@pytest.mark.parametrize(
    "prompt",
    [
        PromptTemplate.from_template("Write {n}: {question}").partial(n="two"),
        PromptTemplate.from_template("{question}? Once more: {question}"),
        ChatPromptTemplate.from_messages(
            [MessagesPlaceholder("history", optional=True), ("human", "{question}")]
        ),
        RunnablePassthrough.assign(n=lambda given: 2)
        | PromptTemplate.from_template("Write {n}: {question}"),
    ],
    ids=["partial", "twice", "optional", "assigned"],
)
def test_a_prompt_may_have_more_than_the_question(multi_query: Any, ask: Any, prompt: Any) -> None:
    chain = prompt | model("one", "two") | LineListOutputParser()
    assert texts(ask(multi_query(retriever=shelf(), llm_chain=chain), "q")) == "abc"


class RecordingLibrary(Library):
    """A library that remembers what it was asked."""

    _asked: list[str] = PrivateAttr(default_factory=list)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        self._asked.append(query)
        return super()._get_relevant_documents(query, run_manager=run_manager)


def test_nothing_found_is_an_empty_list(multi_query: Any, ask: Any) -> None:
    assert ask(multi_query(retriever=library(), llm_chain=writing("one", "two")), "q") == []


def test_the_answer_is_a_plain_list(multi_query: Any, ask: Any) -> None:
    assert type(ask(from_chain(multi_query), "q")) is list


async def test_questions_asked_at_the_same_time_are_kept_apart(multi_query: Any) -> None:
    retriever = spelling(multi_query)
    found = await asyncio.gather(*(retriever.ainvoke(letter) for letter in "abcabc"))
    assert [texts(documents) for documents in found] == ["Aa", "Bb", "Cc"] * 2


def test_the_verbose_retriever_logs_the_queries(
    multi_query: Any, ask: Any, caplog: pytest.LogCaptureFixture
) -> None:
    module = multi_query.generate_queries.__module__
    assert module.endswith(".retrievers.multi_query")
    with caplog.at_level(logging.DEBUG, logger=module):
        ask(from_model(multi_query), "q")
    written = [r for r in caplog.records if r.getMessage().startswith("Generated queries")]
    ours = module.startswith("langchain_safe_retrievers")  # nobody's question above DEBUG
    assert [(record.name, record.levelno, record.getMessage()) for record in written] == [
        (module, logging.DEBUG if ours else logging.INFO, "Generated queries: ['one', 'two']")
    ]


def test_the_retriever_that_is_not_verbose_does_not_log_the_queries(
    multi_query: Any, ask: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        ask(from_chain(multi_query, verbose=False), "q")
    assert "Generated queries" not in caplog.text


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
METADATA = st.dictionaries(
    st.text(max_size=5) | st.sampled_from(["score", "source", "tags"]), JSON, max_size=4
)


@st.composite
def answers(draw: st.DrawFn) -> list[list[Document]]:
    """Draw the documents of some queries; copies of a document are all equal."""
    pool = [
        Document(
            id=draw(st.none() | st.just(f"id-{number}")),
            page_content=f"text {number}",
            metadata=draw(METADATA),
        )
        for number in range(6)
    ]
    found = st.lists(st.sampled_from(range(6)), max_size=8)
    lists = draw(st.lists(found, min_size=1, max_size=4))
    return [[pool[number] for number in numbers] for numbers in lists]


@settings(max_examples=60, deadline=None)
@given(found=answers(), include_original=st.booleans())
def test_any_answers_are_united_as_upstream_unites_them(
    ask: Any, found: list[list[Document]], include_original: bool
) -> None:
    written = [f"query {number}" for number in range(1, len(found))]
    shelves = Library(answers=dict(zip([*written, "q"], found, strict=True)))

    def build(cls: Any) -> Any:
        return cls(
            retriever=shelves,
            llm_chain=writing("nothing", *written),
            include_original=include_original,
        )

    ours, upstream = both(lambda cls: ask(build(cls), "q"))
    assert ours == upstream
    assert repr(ours) == repr(upstream)  # True is not 1, and the keys keep their order


@settings(max_examples=60, deadline=None)
@given(found=answers())
def test_any_documents_given_by_hand_are_united_as_upstream_unites_them(
    found: list[list[Document]],
) -> None:
    flat = [document for documents in found for document in documents]
    ours, upstream = both(lambda cls: from_chain(cls).unique_union(copy.deepcopy(flat)))
    assert ours == upstream
    assert repr(ours) == repr(upstream)


def test_a_document_found_once_is_returned_as_the_very_object(multi_query: Any) -> None:
    documents = docs("abc", source="s")
    united = from_chain(multi_query).unique_union(documents)
    assert [id(document) for document in united] == [id(document) for document in documents]


def test_the_documents_given_are_not_changed(multi_query: Any) -> None:
    documents = docs("abab", tags=["x"])
    before = copy.deepcopy(documents)
    assert texts(from_chain(multi_query).unique_union(documents)) == "ab"
    assert documents == before


class Passage(Document):
    """A document with a field of its own."""

    chapter: int = 0


def test_a_kind_of_document_keeps_its_type_and_fields(multi_query: Any, ask: Any) -> None:
    passage = Passage(page_content="a", chapter=7, metadata={"m": [1]}, id="p")
    retriever = multi_query(
        retriever=Library(answers={"one": [passage], "two": [passage, *docs("b")]}),
        llm_chain=writing("one", "two"),
    )
    result = ask(retriever, "q")
    assert result == [passage, *docs("b")]
    assert isinstance(result[0], Passage)


# --- methods to call and to override --------------------------------------------------------


@pytest.mark.parametrize(
    "method",
    [
        "generate_queries",
        "agenerate_queries",
        "retrieve_documents",
        "aretrieve_documents",
        "unique_union",
    ],
)
def test_a_public_method_takes_upstreams_parameters_first(method: str) -> None:
    ours, upstream = both(lambda cls: inspect.signature(getattr(cls, method)).parameters)
    shape = [(p.name, p.kind) for p in upstream.values()]
    assert [(p.name, p.kind) for p in ours.values()][: len(shape)] == shape
    assert all(p.default is not inspect.Parameter.empty for p in list(ours.values())[len(shape) :])
    assert inspect.iscoroutinefunction(
        getattr(SafeMultiQueryRetriever, method)
    ) == inspect.iscoroutinefunction(getattr(MultiQueryRetriever, method))


def recording(base: Any) -> Any:
    """Return a subclass that notes every call with what it got and gave."""

    class Recording(base):  # type: ignore[misc]
        calls: list[Any] = Field(default_factory=list)

        def generate_queries(
            self, question: str, run_manager: CallbackManagerForRetrieverRun
        ) -> Any:
            queries = super().generate_queries(question, run_manager)
            self.calls.append(("generate_queries", question, run_manager, list(queries)))
            return queries

        async def agenerate_queries(
            self, question: str, run_manager: AsyncCallbackManagerForRetrieverRun
        ) -> Any:
            queries = await super().agenerate_queries(question, run_manager)
            self.calls.append(("agenerate_queries", question, run_manager, list(queries)))
            return queries

        def retrieve_documents(
            self, queries: list[str], run_manager: CallbackManagerForRetrieverRun
        ) -> Any:
            documents = super().retrieve_documents(queries, run_manager)
            self.calls.append(("retrieve_documents", list(queries), run_manager, documents))
            return documents

        async def aretrieve_documents(
            self, queries: list[str], run_manager: AsyncCallbackManagerForRetrieverRun
        ) -> Any:
            documents = await super().aretrieve_documents(queries, run_manager)
            self.calls.append(("aretrieve_documents", list(queries), run_manager, documents))
            return documents

        def unique_union(self, documents: list[Document]) -> Any:
            united = super().unique_union(documents)
            self.calls.append(("unique_union", documents, None, united))
            return united

    return Recording


@pytest.mark.parametrize("include_original", [False, True])
def test_invoke_calls_the_three_methods_in_turn(multi_query: Any, include_original: bool) -> None:
    retriever = from_chain(recording(multi_query), include_original=include_original)
    assert texts(retriever.invoke("q")) == ("abcd" if include_original else "abc")
    generate, retrieve, unite = retriever.calls
    searched = ["one", "two", "q"] if include_original else ["one", "two"]
    found = docs("abbccd" if include_original else "abbc")
    assert generate[:2] == ("generate_queries", "q")
    assert generate[3] == ["one", "two"]
    assert retrieve[:2] == ("retrieve_documents", searched)
    assert retrieve[3] == found
    assert unite[:2] == ("unique_union", found)
    assert isinstance(generate[2], CallbackManagerForRetrieverRun)
    assert generate[2] is retrieve[2]


@pytest.mark.parametrize("include_original", [False, True])
def test_ainvoke_calls_their_async_twins_in_turn(multi_query: Any, include_original: bool) -> None:
    retriever = from_chain(recording(multi_query), include_original=include_original)
    found = asyncio.run(retriever.ainvoke("q"))
    assert texts(found) == ("abcd" if include_original else "abc")
    generate, retrieve, unite = retriever.calls
    searched = ["one", "two", "q"] if include_original else ["one", "two"]
    found = docs("abbccd" if include_original else "abbc")
    assert generate[:2] == ("agenerate_queries", "q")
    assert generate[3] == ["one", "two"]
    assert retrieve[:2] == ("aretrieve_documents", searched)
    assert retrieve[3] == found
    assert unite[:2] == ("unique_union", found)
    assert isinstance(generate[2], AsyncCallbackManagerForRetrieverRun)
    assert generate[2] is retrieve[2]


def test_generate_queries_overridden_says_what_is_searched(multi_query: Any, ask: Any) -> None:
    class Own(multi_query):  # type: ignore[misc]
        def generate_queries(
            self, question: str, run_manager: CallbackManagerForRetrieverRun
        ) -> list[str]:
            return ["two"]

        async def agenerate_queries(
            self, question: str, run_manager: AsyncCallbackManagerForRetrieverRun
        ) -> list[str]:
            return ["two"]

    assert texts(ask(from_chain(Own), "q")) == "bc"
    assert texts(ask(from_chain(Own, include_original=True), "q")) == "bcd"


def test_retrieve_documents_overridden_finds_the_documents(multi_query: Any, ask: Any) -> None:
    class Own(multi_query):  # type: ignore[misc]
        def retrieve_documents(
            self, queries: list[str], run_manager: CallbackManagerForRetrieverRun
        ) -> list[Document]:
            return docs("yxy", queries=queries)

        async def aretrieve_documents(
            self, queries: list[str], run_manager: AsyncCallbackManagerForRetrieverRun
        ) -> list[Document]:
            return docs("yxy", queries=queries)

    assert ask(from_chain(Own), "q") == docs("yx", queries=["one", "two"])


def reverse(documents: list[Document]) -> None:
    documents.reverse()


def replace_the_first(documents: list[Document]) -> None:
    documents[0] = docs("z")[0]


def drop_the_second(documents: list[Document]) -> None:
    del documents[1]


def move_the_last_to_the_front(documents: list[Document]) -> None:
    documents.insert(0, documents.pop())


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (reverse, "cba"),
        (replace_the_first, "zbc"),
        (drop_the_second, "abc"),
        (move_the_last_to_the_front, "cab"),
        (list[Document].clear, ""),
    ],
)
def test_retrieve_documents_overridden_may_edit_what_was_found_in_place(
    multi_query: Any, ask: Any, edit: Callable[[list[Document]], None], expected: str
) -> None:
    class Edited(multi_query):  # type: ignore[misc]
        def retrieve_documents(
            self, queries: list[str], run_manager: CallbackManagerForRetrieverRun
        ) -> Any:
            documents = super().retrieve_documents(queries, run_manager)  # a, b, b, c
            edit(documents)
            return documents

        async def aretrieve_documents(
            self, queries: list[str], run_manager: AsyncCallbackManagerForRetrieverRun
        ) -> Any:
            documents = await super().aretrieve_documents(queries, run_manager)
            edit(documents)
            return documents

    assert texts(ask(from_chain(Edited), "q")) == expected


def test_unique_union_overridden_has_the_last_word(multi_query: Any, ask: Any) -> None:
    class Own(multi_query):  # type: ignore[misc]
        def unique_union(self, documents: list[Document]) -> list[Document]:
            return [*documents[::-1], *docs("z", score=1)]

    assert ask(from_chain(Own), "q") == [*docs("cbba"), *docs("z", score=1)]


def test_a_list_of_lists_goes_from_retrieve_documents_to_unique_union_untouched(
    multi_query: Any, ask: Any
) -> None:
    class Fusing(multi_query):  # type: ignore[misc]
        given: list[Any] = Field(default_factory=list)
        taken: list[Any] = Field(default_factory=list)

        def retrieve_documents(
            self, queries: list[str], run_manager: CallbackManagerForRetrieverRun
        ) -> list[list[Document]]:
            found = [
                self.retriever.invoke(query, config={"callbacks": run_manager.get_child()})
                for query in queries
            ]
            self.given.append(found)
            return found

        async def aretrieve_documents(
            self, queries: list[str], run_manager: AsyncCallbackManagerForRetrieverRun
        ) -> list[list[Document]]:
            found = [
                await self.retriever.ainvoke(query, config={"callbacks": run_manager.get_child()})
                for query in queries
            ]
            self.given.append(found)
            return found

        def unique_union(self, documents: list[list[Document]]) -> list[Document]:
            self.taken.append(documents)
            return documents[-1]

    retriever = from_chain(Fusing)
    assert texts(ask(retriever, "q")) == "bc"
    assert retriever.taken[0] is retriever.given[0]
    assert retriever.taken == [[docs("ab"), docs("bc")]]


def test_overridden_hooks_of_a_retriever_may_build_on_the_class(multi_query: Any, ask: Any) -> None:
    class Shorter(multi_query):  # type: ignore[misc]
        top: int = 2

        def _get_relevant_documents(
            self, query: str, *, run_manager: CallbackManagerForRetrieverRun
        ) -> Any:
            found = super()._get_relevant_documents(query, run_manager=run_manager)
            return found[: self.top]

        async def _aget_relevant_documents(
            self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
        ) -> Any:
            found = await super()._aget_relevant_documents(query, run_manager=run_manager)
            return found[: self.top]

    assert texts(ask(from_chain(Shorter), "q")) == "ab"
    assert texts(ask(from_chain(Shorter, top=1), "q")) == "a"


async def test_each_override_is_used_on_its_own_side_only(multi_query: Any) -> None:
    class SyncOnly(multi_query):  # type: ignore[misc]
        def generate_queries(
            self, question: str, run_manager: CallbackManagerForRetrieverRun
        ) -> list[str]:
            raise BoomError

        def retrieve_documents(
            self, queries: list[str], run_manager: CallbackManagerForRetrieverRun
        ) -> list[Document]:
            raise BoomError

    class AsyncOnly(multi_query):  # type: ignore[misc]
        async def agenerate_queries(
            self, question: str, run_manager: AsyncCallbackManagerForRetrieverRun
        ) -> list[str]:
            raise BoomError

        async def aretrieve_documents(
            self, queries: list[str], run_manager: AsyncCallbackManagerForRetrieverRun
        ) -> list[Document]:
            raise BoomError

    assert texts(await from_chain(SyncOnly).ainvoke("q")) == "abc"
    assert texts(from_chain(AsyncOnly).invoke("q")) == "abc"


@quiet
@every_chain
def test_the_methods_may_be_called_by_hand(
    multi_query: Any, recorder: Any, build_chain: Any
) -> None:
    retriever = multi_query(retriever=shelf(), llm_chain=build_chain(), include_original=True)
    run_manager = in_a_run(recorder)
    queries = retriever.generate_queries("q", run_manager)
    assert queries == ["one", "two"]
    documents = retriever.retrieve_documents(queries, run_manager)
    assert documents == docs("abbc")
    assert retriever.unique_union(documents) == docs("abc")
    assert {"one", "two"} <= {str(run.inputs) for run in recorder.root.children}
    assert any(run.inputs == {"question": "q"} for run in recorder.root.children)
    assert recorder.root.ends == []


@quiet
@every_chain
async def test_the_async_methods_may_be_called_by_hand(
    multi_query: Any, recorder: Any, build_chain: Any
) -> None:
    retriever = multi_query(retriever=shelf(), llm_chain=build_chain(), include_original=True)
    run_manager = await in_an_async_run(recorder)
    queries = await retriever.agenerate_queries("q", run_manager)
    assert queries == ["one", "two"]
    documents = await retriever.aretrieve_documents(queries, run_manager)
    assert documents == docs("abbc")
    assert {"one", "two"} <= {str(run.inputs) for run in recorder.root.children}
    assert any(run.inputs == {"question": "q"} for run in recorder.root.children)
    assert recorder.root.ends == []


def test_the_methods_may_be_called_by_name(multi_query: Any) -> None:
    retriever = from_chain(multi_query)
    manager = CallbackManagerForRetrieverRun.get_noop_manager()
    assert retriever.generate_queries(question="q", run_manager=manager) == ["one", "two"]
    found = retriever.retrieve_documents(queries=["two"], run_manager=manager)
    assert retriever.unique_union(documents=found) == docs("bc")
    assert texts(retriever._get_relevant_documents("q", run_manager=manager)) == "abc"


# --- runs -----------------------------------------------------------------------------------


@quiet
@every_chain
@pytest.mark.parametrize("config", [None, CONFIG], ids=["no config", "config"])
def test_any_chain_leaves_the_runs_it_leaves_upstream(
    runs_of: Any, build_chain: Any, config: Any
) -> None:
    ours, upstream = both(
        lambda cls: runs_of(
            cls(retriever=shelf(), llm_chain=build_chain(), include_original=True), "q", config
        )
    )
    assert ours == upstream
    assert all(len(run.ends) == 1 for root in ours for run in root.flat())


@quiet
@every_chain
@pytest.mark.parametrize("config", [None, CONFIG], ids=["no config", "config"])
def test_any_chain_streams_the_events_it_streams_upstream(
    event_picture: Any, build_chain: Any, config: Any
) -> None:
    ours, upstream = both(
        lambda cls: event_picture(cls(retriever=shelf(), llm_chain=build_chain()), "q", config)
    )
    assert ours == upstream


def test_the_chain_and_each_search_run_as_children(multi_query: Any, runs_of: Any) -> None:
    (root,) = runs_of(from_chain(multi_query, include_original=True), "q", CONFIG)
    assert (root.kind, root.name, root.tags, root.inputs, root.ends) == (
        "retriever",
        "search",
        ["call"],
        "q",
        [docs("abcd")],
    )
    written, *searches = sorted(root.children, key=lambda run: (run.kind, str(run.inputs)))
    assert (written.kind, written.inputs, written.ends) == (
        "chain",
        {"question": "q"},
        [["one", "two"]],
    )
    assert [(run.kind, run.name, run.inputs, run.ends) for run in searches] == [
        ("retriever", "Library", "one", [docs("ab")]),
        ("retriever", "Library", "q", [docs("cd")]),
        ("retriever", "Library", "two", [docs("bc")]),
    ]
    assert [run.tags for run in root.children] == [["call"]] * 4
    assert all(run.metadata["user"] == "ann" for run in root.children)


def test_the_retrievers_own_tags_and_metadata_stay_with_it(multi_query: Any, runs_of: Any) -> None:
    retriever = from_chain(multi_query, tags=["mine"], metadata={"mine": 1}, name="named")
    (root,) = runs_of(retriever, "q")
    assert (root.name, root.tags, root.metadata) == ("named", ["mine"], {"mine": 1})
    assert [(run.tags, run.metadata) for run in root.children] == [([], {})] * 3


def test_a_retriever_called_inside_a_function_joins_the_functions_run(runs_of: Any) -> None:
    def build(cls: Any) -> Any:
        retriever = from_chain(cls)

        def call(query: str) -> Any:
            return retriever.invoke(query)

        async def acall(query: str) -> Any:
            return await retriever.ainvoke(query)

        return RunnableLambda(call, acall, name="outer")

    ours, upstream = both(lambda cls: runs_of(build(cls), "q", CONFIG))
    assert ours == upstream
    names = [run.name for root in ours for run in root.flat()]
    assert names[:2] == ["search", "MultiQueryRetriever"]
    assert names.count("Library") == 2


# --- errors ---------------------------------------------------------------------------------


class Failing(Library):
    """A library that raises `error` for the query `bad`."""

    error: Any

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        if query == "bad":
            raise self.error
        return super()._get_relevant_documents(query, run_manager=run_manager)


@pytest.mark.parametrize("queries", [["bad", "one"], ["one", "bad"], ["one", "bad", "two"]])
def test_a_searchs_error_is_raised_as_the_very_object_and_reported(
    multi_query: Any, ask: Any, recorder: Any, queries: list[str]
) -> None:
    boom = BoomError("no index")
    retriever = multi_query(retriever=Failing(answers={}, error=boom), llm_chain=writing(*queries))
    with pytest.raises(BoomError) as raised:
        ask(retriever, "q", {"callbacks": [recorder]})
    assert raised.value is boom
    assert str(raised.value) == "no index"
    assert recorder.root.ends == [boom]
    (failed,) = (run for run in recorder.root.children if run.inputs == "bad")
    assert failed.ends == [boom]


@pytest.mark.parametrize("method", ["generate_queries", "retrieve_documents", "unique_union"])
def test_an_overridden_methods_error_is_raised_and_reported(
    multi_query: Any, recorder: Any, method: str
) -> None:
    boom = BoomError()

    def fail(*arguments: Any) -> Any:
        raise boom

    retriever = from_chain(type("Broken", (multi_query,), {method: fail}))
    with pytest.raises(BoomError) as raised:
        retriever.invoke("q", {"callbacks": [recorder]})
    assert raised.value is boom
    assert recorder.root.ends == [boom]


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_goes_through(multi_query: Any, error: type[BaseException]) -> None:
    with pytest.raises(error):
        multi_query(retriever=shelf(), llm_chain=failing(error())).invoke("q")
    searching = Failing(answers={}, error=error())
    with pytest.raises(error):
        multi_query(retriever=searching, llm_chain=writing("bad", "one")).invoke("q")


async def test_a_cancelled_call_cancels_the_writer(multi_query: Any) -> None:
    started, stopped = asyncio.Event(), asyncio.Event()

    async def hang(question: Any) -> list[str]:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        return []

    retriever = multi_query(retriever=shelf(), llm_chain=RunnableLambda(hang))
    call = asyncio.create_task(retriever.ainvoke("q"))
    await asyncio.wait_for(started.wait(), 10)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await asyncio.wait_for(stopped.wait(), 10)


class Meeting(Library):
    """A library whose async searches begin together: each waits until `awaited` are there.

    With `patient` they then go on to wait for ever.
    """

    awaited: int
    patient: bool = False
    _begun: int = 0
    _ended: int = 0
    _together: asyncio.Event = PrivateAttr(default_factory=asyncio.Event)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        self._begun += 1
        if self._begun == self.awaited:
            self._together.set()
        try:
            await (asyncio.Event() if self.patient else self._together).wait()
        finally:
            self._ended += 1
        return self._get_relevant_documents(query, run_manager=run_manager.get_sync())


async def test_async_queries_are_searched_side_by_side(multi_query: Any) -> None:
    meeting = Meeting(answers=shelf().answers, awaited=3)
    retriever = multi_query(
        retriever=meeting, llm_chain=writing("one", "two"), include_original=True
    )
    assert texts(await asyncio.wait_for(retriever.ainvoke("q"), 10)) == "abcd"


async def test_a_cancelled_call_cancels_its_searches(multi_query: Any) -> None:
    endless = Meeting(answers={}, awaited=2, patient=True)
    retriever = multi_query(retriever=endless, llm_chain=writing("one", "two"))
    call = asyncio.create_task(retriever.ainvoke("q"))
    await asyncio.wait_for(endless._together.wait(), 10)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await asyncio.sleep(0)
    assert endless._ended == 2


async def test_the_sync_call_works_in_a_running_loop(multi_query: Any) -> None:
    assert texts(from_model(multi_query, include_original=True).invoke("q")) == "abcd"


# --- in chains ------------------------------------------------------------------------------


class FirstOnly(BaseDocumentCompressor):
    """A compressor that keeps the first document."""

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Any = None
    ) -> Sequence[Document]:
        """Return the first."""
        return documents[:1]


USES: dict[str, Callable[[Any], Any]] = {
    "pipe": lambda r: r | RunnableLambda(texts),
    "after a step": lambda r: RunnableLambda(str.lower) | r,
    "in a dict": lambda r: (
        {"context": r | texts, "question": RunnablePassthrough()}
        | PromptTemplate.from_template("{context}: {question}")
    ),
    "in a parallel": lambda r: RunnableParallel(found=r, again=r),
    "with_config": lambda r: r.with_config(tags=["bound"], run_name="bound"),
    "with_retry": lambda r: r.with_retry(stop_after_attempt=2),
    "with_fallbacks": lambda r: r.with_fallbacks([shelf()]),
    "map": lambda r: RunnableLambda(list) | r.map(),
    "branch": lambda r: RunnableBranch((lambda query: query == "q", r), shelf()),
    "compression": lambda r: ContextualCompressionRetriever(
        base_compressor=FirstOnly(), base_retriever=r
    ),
    "merger": lambda r: MergerRetriever(retrievers=[shelf(), r]),
    "ensemble": lambda r: EnsembleRetriever(retrievers=[shelf(), r], weights=[1, 2]),
    "multi-query": lambda r: type(r)(retriever=r, llm_chain=writing("x", "y")),
    "retrieval chain": lambda r: (
        RunnableLambda(lambda query: {"input": query})
        | create_retrieval_chain(r, RunnableLambda(lambda given: texts(given["context"])))
    ),
    "retriever tool": lambda r: create_retriever_tool(r, "search", "Search."),
    "as_tool": lambda r: r.as_tool(name="search", description="Search."),
}


@pytest.mark.filterwarnings("ignore:This API is in beta")
@pytest.mark.parametrize("build", USES.values(), ids=USES)
@pytest.mark.parametrize("config", [None, CONFIG], ids=["no config", "config"])
def test_a_chain_gives_and_leaves_what_it_does_with_upstream(
    runs_of: Any, ask: Any, build: Any, config: Any
) -> None:
    ours, upstream = both(lambda cls: ask(build(from_model(cls)), "q", config))
    assert ours == upstream
    ours, upstream = both(lambda cls: runs_of(build(from_model(cls)), "q", config))
    assert ours == upstream


def spelling(cls: Any) -> Any:
    """Return a retriever that finds a capital for the letter written twice, then the letter."""
    return cls(
        retriever=Library(
            answers={letter: docs(letter) for letter in "abc"}
            | {letter * 2: docs(letter.upper()) for letter in "abc"}
        ),
        llm_chain=RunnableLambda(lambda given: [given["question"] * 2]),
        include_original=True,
    )


async def test_batches_answer_in_the_order_of_the_questions(multi_query: Any) -> None:
    retriever = spelling(multi_query)
    expected = [docs("Aa"), docs("Bb"), docs("Cc")]
    assert retriever.batch(["a", "b", "c"]) == expected
    assert retriever.batch(["a", "b", "c"], {"max_concurrency": 1}) == expected
    assert await retriever.abatch(["a", "b", "c"]) == expected
    assert dict(retriever.batch_as_completed(["a", "b", "c"])) == dict(enumerate(expected))


async def test_batches_return_errors_when_asked_to(multi_query: Any) -> None:
    boom = BoomError()
    retriever = multi_query(
        retriever=Failing(answers={"a": docs("a")}, error=boom),
        llm_chain=RunnableLambda(lambda given: [given["question"]]),
    )
    assert retriever.batch(["a", "bad"], return_exceptions=True) == [docs("a"), boom]
    assert await retriever.abatch(["a", "bad"], return_exceptions=True) == [docs("a"), boom]


async def test_streams_have_one_chunk_the_answer(multi_query: Any) -> None:
    retriever = spelling(multi_query)
    assert list(retriever.stream("a")) == [docs("Aa")]
    assert [chunk async for chunk in retriever.astream("a")] == [docs("Aa")]


def test_fields_can_be_configured(multi_query: Any, ask: Any) -> None:
    retriever = from_chain(multi_query).configurable_fields(
        include_original=ConfigurableField(id="original"),
        retriever=ConfigurableField(id="where"),
    )
    assert {"original", "where"} <= {spec.id for spec in retriever.config_specs}
    assert texts(ask(retriever, "q")) == "abc"
    assert texts(ask(retriever.with_config(configurable={"original": True}), "q")) == "abcd"
    elsewhere = {"configurable": {"where": library(one="z")}}
    assert texts(ask(retriever, "q", elsewhere)) == "z"


def test_a_retriever_can_be_a_configurable_alternative(multi_query: Any, ask: Any) -> None:
    retriever = library(q="z").configurable_alternatives(
        ConfigurableField(id="which"), many=from_chain(multi_query)
    )
    assert texts(ask(retriever, "q")) == "z"
    assert texts(ask(retriever, "q", {"configurable": {"which": "many"}})) == "abc"


# --- copies ---------------------------------------------------------------------------------


def test_a_pickled_retriever_comes_back_equal_and_works(multi_query: Any, ask: Any) -> None:
    retriever = from_model(multi_query, include_original=True)
    ask(retriever, "q")
    restored = pickle.loads(pickle.dumps(retriever))
    assert restored == retriever
    assert type(restored) is multi_query
    assert texts(ask(restored, "q")) == "abcd"


def test_a_deep_copy_shares_nothing_with_its_original(multi_query: Any, ask: Any) -> None:
    retriever = from_model(multi_query)
    duplicate = copy.deepcopy(retriever)
    assert duplicate == retriever
    duplicate.retriever.answers.clear()
    duplicate.include_original = True
    assert texts(ask(retriever, "q")) == "abc"
    assert texts(ask(duplicate, "q")) == ""


def test_a_copy_may_change_a_field(multi_query: Any, ask: Any) -> None:
    retriever = from_chain(multi_query)
    changed = retriever.model_copy(update={"include_original": True})
    assert texts(ask(changed, "q")) == "abcd"
    assert texts(ask(retriever, "q")) == "abc"


def test_retrievers_of_equal_fields_are_equal(multi_query: Any) -> None:
    chain = writing("one")
    one = multi_query(retriever=shelf(), llm_chain=chain)
    assert one == multi_query(retriever=shelf(), llm_chain=chain, include_original=False)
    assert one != multi_query(retriever=shelf(), llm_chain=chain, include_original=True)
    assert one != multi_query(retriever=library(one="z"), llm_chain=chain)


def test_a_dump_has_upstreams_fields_and_values() -> None:
    ours, upstream = both(lambda cls: from_model(cls, include_original=True).model_dump())
    chains = [dump.pop("llm_chain") for dump in (ours, upstream)]
    assert {key: ours[key] for key in upstream.keys() - {"retriever"}} == {
        key: upstream[key] for key in upstream.keys() - {"retriever"}
    }
    assert [chain["middle"] for chain in chains] == [chains[1]["middle"]] * 2


def test_the_representation_names_the_parts(multi_query: Any) -> None:
    shown = repr(from_chain(multi_query, include_original=True))
    assert "retriever=Library(" in shown
    assert "llm_chain=RunnableLambda(" in shown
    assert "include_original=True" in shown
