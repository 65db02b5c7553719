"""What a model or a user's chain may answer, and the queries that are read out of it."""

from __future__ import annotations

import copy
import json
import pickle
import time
from collections import UserDict
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_classic.retrievers import multi_query as upstream
from langchain_core.language_models import BaseLanguageModel, FakeListChatModel, FakeListLLM
from langchain_core.load import dumps
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder, PromptTemplate
from pydantic import BaseModel

from langchain_safe_retrievers.errors import ConfigurationError, QueryOutputError
from langchain_safe_retrievers.queries.parsing import (
    DEFAULT_QUERY_PROMPT,
    LineListOutputParser,
    parse_queries,
    prompt_variable,
    queries_from_output,
)

# -- markers ---------------------------------------------------------------------------------

MARKERS = [
    ("1. ", "2. "),
    ("1) ", "2) "),
    ("1)", "2)"),
    ("(1) ", "(2) "),
    ("1.) ", "2.) "),
    ("1: ", "2: "),
    ("1 - ", "2 - "),
    ("[1] ", "[2] "),
    ("#1: ", "#2: "),
    ("1、", "2、"),
    ("1．", "2．"),
    ("１．", "２．"),
    ("（1）", "（2）"),
    ("一、", "二、"),
    ("①", "②"),
    ("① ", "② "),
    ("1\ufe0f\u20e3 ", "2\ufe0f\u20e3 "),
    ("Q1: ", "Q2: "),
    ("Q1. ", "Q2. "),
    ("a) ", "b) "),
    ("(a) ", "(b) "),
    ("A. ", "B. "),
    ("i. ", "ii. "),
    ("- ", "- "),
    ("* ", "* "),
    ("+ ", "+ "),
    ("> ", "> "),
    ("• ", "• "),
    ("– ", "– "),
    ("— ", "— "),
    ("・", "・"),
    ("● ", "● "),
    ("- 1. ", "- 2. "),
    ("**1.** ", "**2.** "),
    ("### 1. ", "### 2. "),
    ("Question 1: ", "Question 2: "),
    ("**Question 1:** ", "**Question 2:** "),
    ("**Question 1**: ", "**Question 2**: "),
    ("Query: ", "Query: "),
    ("1. Query: ", "2. Query: "),
    ("Alternative 1 - ", "Alternative 2 - "),
    ("Version 1: ", "Version 2: "),
    ("Rephrased question 1 (simple): ", "Rephrased question 2 (formal): "),
    ("问题1：", "问题2："),
    ("查询：", "查询："),
    ("第一个问题：", "第二个问题："),
]


@pytest.mark.parametrize("markers", MARKERS, ids=lambda pair: pair[0])
def test_markers_of_every_kind_come_off_and_the_query_keeps_its_number(
    markers: tuple[str, str],
) -> None:
    text = f"{markers[0]}What is RAG?\n{markers[1]}2024 tax rules"
    assert parse_queries(text) == ["What is RAG?", "2024 tax rules"]


@pytest.mark.parametrize(
    "marker",
    [
        "1. ",
        "1) ",
        "(1) ",
        "1: ",
        "1、",
        "①",
        "Q1: ",
        "a) ",
        "- ",
        "* ",
        "• ",
        "Query: ",
        "问题1：",
    ],
)
def test_the_marker_of_a_single_line_comes_off(marker: str) -> None:
    assert parse_queries(f"{marker}2024 tax rules") == ["2024 tax rules"]


@pytest.mark.parametrize(
    ("text", "queries"),
    [
        ("1. a\n1. b\n1. c", ["a", "b", "c"]),
        ("1. a\n2. b\n4. c", ["a", "b", "c"]),
        ("a\n2. b\n3. c", ["a", "b", "c"]),
        ("1. a\n2. b\n1. c\n2. d", ["a", "b", "c", "d"]),
        ("1.What is A?\n2.What is B?", ["What is A?", "What is B?"]),
        ("1. What is A? 2. What is B? 3. C", ["What is A?", "What is B?", "C"]),
        ("1. a\n2. b\n3. 2. Bundesliga", ["a", "b", "2. Bundesliga"]),
        ("1. a\n2. b\n(2) c", ["a", "b", "c"]),
    ],
)
def test_numbering_is_found_by_looking_at_the_lines_together(text: str, queries: list[str]) -> None:
    assert parse_queries(text) == queries


def test_a_number_that_no_other_line_continues_belongs_to_the_query() -> None:
    text = "1. FC Köln results\nBundesliga results"
    assert parse_queries(text) == ["1. FC Köln results", "Bundesliga results"]


GENUINE = [
    "3 body problem explained",
    "2024 tax rules",
    "1984 by George Orwell",
    "12 angry men",
    "(500) Days of Summer",
    "3.5 mm jack",
    "10:30 train",
    "1:1 ratio",
    "2. Bundesliga",
    "42",
    "R",
    "C# vs C++",
    "C. elegans genome",
    "I. Newton laws",
    "-5 degrees celsius",
    "+1 area code",
    "*args in python",
    "*args and **kwargs",
    "2**3**4 in python",
    "__init__",
    "__init__ vs __new__",
    "`map` vs `filter`",
    '"cats" or "dogs"',
    "What is 1) in the list?",
    "404 error: how to fix",
    "A/B testing",
    ".NET garbage collection",
    "# of planets in the solar system",
    "e.g. what is X",
    "Question - answering systems",
    "Q4 revenue",
    "Version 3.5 release notes",
    "I hope this helps meaning",
    "let me know lyrics",
    "If you have diabetes can you eat rice?",
    "Here is the news: who reads it?",
    "What does the <think> tag mean?",
    "Is </think> a token?",
    "希望工程是什么？",
]


@pytest.mark.parametrize("query", GENUINE)
@pytest.mark.parametrize(
    "form",
    [
        "{}",
        "{}\nsomething else",
        "something else\n{}",
        "- {}\n- something else",
        "1. {}\n2. something else",
        "Here are two versions of the question:\n1) something else\n2) {}",
    ],
)
def test_a_genuine_query_survives_in_every_form_of_answer(query: str, form: str) -> None:
    assert query in parse_queries(form.format(query))


@pytest.mark.parametrize("query", [query for query in GENUINE if "\\" not in query])
def test_a_genuine_query_survives_in_json(query: str) -> None:
    assert query in parse_queries(json.dumps([query, "something else"]))


# -- quotes, markup, JSON --------------------------------------------------------------------


@pytest.mark.parametrize(
    "quotes", ['""', "''", "``", "**", "__", "“”", "‘’", "«»", "「」", "『』", "《》"]
)
def test_quotes_and_markup_around_a_whole_query_come_off(quotes: str) -> None:
    opening, closing = quotes[0], quotes[1]
    text = f"{opening}What's RAG?{closing}\nthe word {opening}RAG{closing} explained"
    assert parse_queries(text) == ["What's RAG?", f"the word {opening}RAG{closing} explained"]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("**What is RAG?**", "What is RAG?"),
        ("***What is RAG?***", "What is RAG?"),
        ("What is **RAG** now?", "What is RAG now?"),
        ('1. **"What is RAG?"**', "What is RAG?"),
        ("```What is RAG?```", "What is RAG?"),
        ("```\nWhat is RAG?\n```", "What is RAG?"),
        ("~~~text\nWhat is RAG?\n~~~", "What is RAG?"),
        ("<query>What is RAG?</query>", "What is RAG?"),
        ("<answer>\nWhat is RAG?\n</answer>", "What is RAG?"),
        ("Question: what is love?", "what is love?"),
        ("Question:\nwhat is love?", "what is love?"),
    ],
)
def test_markup_comes_off(text: str, query: str) -> None:
    assert parse_queries(text) == [query]


@pytest.mark.parametrize(
    "text",
    [
        '["a b", "2024 tax"]',
        '```json\n["a b", "2024 tax"]\n```\nI hope this helps!',
        'Here are the queries: ["a b", "2024 tax"]',
        'Sure!\n{"queries": ["a b", "2024 tax"]}',
        '{"reasoning": "vary it", "queries": ["1. a b", "2. 2024 tax"]}',
        '{"queries": "1. a b\\n2. 2024 tax"}',
        '[{"query": "a b", "why": "short"}, {"query": "2024 tax", "why": "new"}]',
        '{"question1": "a b", "question2": "2024 tax"}',
        '{"query": "a b"}\n{"query": "2024 tax"}',
        "['a b', '2024 tax']",
        '["a b", "2024 tax",]',
        '["a b", "2024 tax", "cut o',
        '[\n"a b",\n"2024 tax"\n',
        '"a b",\n"2024 tax"',
    ],
)
def test_json_is_read_whole_embedded_or_nearly_right(text: str) -> None:
    assert parse_queries(text) == ["a b", "2024 tax"]


# -- chatter ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "introduction",
    [
        "Here are 3 different versions of the question:",
        "Here are three alternative versions of your question",
        "Sure! Here you go:",
        "Sure!",
        "Certainly! I'd be happy to help rephrase the question.",
        "Sure!\nHere are the queries:\n",
        "**Alternative questions:**",
        "以下是三个不同版本的问题：",
        "Hier sind zwei Fassungen:",
    ],
)
@pytest.mark.parametrize(
    "sign_off",
    [
        "Let me know if you need more!",
        "I hope this helps!",
        "Hope this helps! 😊",
        "I hope this helps",
        "Feel free to ask for more.\nI hope these help.",
        "These versions look at it from several sides.",
        "Would you like me to write more?",
        "希望这些问题对您有帮助！",
        "如果您需要更多版本，请告诉我。",
    ],
)
@pytest.mark.parametrize("form", ["what is RAG\nRAG explained", "1. what is RAG\n2. RAG explained"])
def test_introductions_and_sign_offs_are_left_out(
    introduction: str, sign_off: str, form: str
) -> None:
    text = f"{introduction}\n{form}\n\n{sign_off}"
    assert parse_queries(text) == ["what is RAG", "RAG explained"]


def test_a_query_on_the_line_of_its_introduction_is_kept() -> None:
    text = "Here is the rephrased question: What is RAG?"
    assert parse_queries(text) == ["What is RAG?"]


def test_a_line_that_only_looks_like_an_introduction_is_kept_when_nothing_follows() -> None:
    assert parse_queries("How do I fix this error:") == ["How do I fix this error:"]


def test_comments_between_the_items_of_a_list_are_left_out() -> None:
    text = "1. what is RAG\nThis one is simple.\n2. RAG explained\nThis one is not."
    assert parse_queries(text) == ["what is RAG", "RAG explained"]


# -- thoughts --------------------------------------------------------------------------------


@pytest.mark.parametrize("tag", ["think", "thinking", "reasoning", "THINK"])
@pytest.mark.parametrize(
    "form",
    [
        "<{0}>\nWhat do they want?\n1. draft\n</{0}>\n\n1. a b\n2. c d",
        "<{0}>short</{0}>1. a b\n2. c d",
        "<{0}>one</{0}> <{0}>two</{0}>\na b\nc d",
        "What do they want?\n1. draft\n</{0}>\na b\nc d",
        "they want two.</{0}>a b\nc d",
        "a b\nc d\n<{0}>are these good?",
        "<{0}>They want two.\n\n1. a b\n2. c d",
        "1. a b\n2. c d\n</{0}>",
    ],
)
def test_thoughts_are_never_queries_whichever_tag_is_missing(tag: str, form: str) -> None:
    assert parse_queries(form.format(tag)) == ["a b", "c d"]


@pytest.mark.parametrize(
    "text", ["<think>They want two.\nI shall vary.", "<think>a</think>", "plan.\n</think>"]
)
def test_an_answer_that_is_all_thought_holds_no_query(text: str) -> None:
    assert parse_queries(text) == []


# -- lines and duplicates --------------------------------------------------------------------


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\u2028", "\n \t\n", "\n\u200b\n", "\n---\n"])
def test_lines_end_as_any_system_ends_them_and_empty_ones_are_dropped(end: str) -> None:
    assert parse_queries(end.join(["\ufeffa b", "c d ", " \u00a0e f", ""])) == ["a b", "c d", "e f"]


def test_lines_of_markers_or_punctuation_alone_are_dropped() -> None:
    assert parse_queries("1.\n***\n?!\n2)\nfoo\n(3)\n•") == ["foo"]


def test_of_repeated_queries_the_first_stays_whatever_their_case_and_spacing() -> None:
    assert parse_queries("What is A?\nwhat  IS a?\nB\n- WHAT is A?") == ["What is A?", "B"]


# -- any text --------------------------------------------------------------------------------

FRAGMENTS = [
    "1.", "2)", "(3)", "①", "Q1:", "- ", "* ", "**", "`", "```", "~~~json", '"', "'", "“", "”",
    "「", "Question 1:", "Here are versions:", "I hope this helps!", "<think>", "</think>",
    "<query>",
    "[", "]", "{", "}", ",", ":", "：", "?", "\n", "\r", "\u2028", "\u200b", "\ufeff", " ", "\t",
    "\x00", "\ud800", "问题", "a", "What is A?", "2024", "😊", "\\", "_", "#", "1\ufe0f\u20e3",
]  # fmt: skip
answers = st.text() | st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=3)).map("".join)


@given(answers)
def test_any_text_gives_stripped_unique_queries_with_words(text: str) -> None:
    queries = parse_queries(text)
    folded = [" ".join(query.casefold().split()) for query in queries]
    assert len(set(folded)) == len(folded)
    assert all(query == query.strip() for query in queries)
    assert all(any(char.isalnum() for char in query) for query in queries)
    assert all(len(query.splitlines()) == 1 for query in queries)


words = st.text(st.sampled_from("bcdfghjklmnpqrtuwxyzäßжщ中日"), min_size=2, max_size=8)
clean_lines = st.lists(st.lists(words, min_size=2, max_size=5).map(" ".join), max_size=8)


@given(clean_lines)
def test_lines_without_markers_come_through_unchanged(lines: list[str]) -> None:
    first: dict[str, str] = {}
    for line in lines:
        first.setdefault(line.casefold(), line)
    assert parse_queries("\n".join(lines)) == list(first.values())


@given(clean_lines, st.sampled_from([("1. ", "{}. "), ("1) ", "{}) "), ("- ", "- ")]))
def test_marked_lines_read_as_the_same_lines_unmarked(
    lines: list[str], marker: tuple[str, str]
) -> None:
    marked = [marker[1].format(n) + line for n, line in enumerate(lines, start=1)]
    assert parse_queries("\n".join(marked)) == parse_queries("\n".join(lines))


@pytest.mark.parametrize("markers", MARKERS, ids=lambda pair: pair[0])
def test_reading_what_was_read_changes_nothing(markers: tuple[str, str]) -> None:
    queries = parse_queries(f"Sure!\n{markers[0]}What is RAG?\n{markers[1]}2024 tax rules")
    assert parse_queries("\n".join(queries)) == queries


@pytest.mark.parametrize(
    "part",
    ["a\n", " ", "*", "`", "[", "[\n", '{"a":', "<think>", "</think>", "</think>\n", '"', '["a",',
     "**a ", "!", "1(", "Sure ", "here is question ", "1. a? ", '"a ', "\n", "if you ", "#",
     "Query:", "- ", "1. ", "问题", "? ", "<query>", '"[', "(1) ", "\\'", ">\t"],
)  # fmt: skip
def test_time_grows_with_the_length_of_the_text_and_not_its_square(part: str) -> None:
    def seconds(length: int) -> float:
        text = part * (length // len(part))
        start = time.process_time()
        parse_queries(text)
        return time.process_time() - start

    short = min(seconds(20_000) for _ in range(3))
    long = min(seconds(320_000) for _ in range(2))
    assert long < 16 * 12 * max(short, 0.001)  # the square would be 256 times


# -- what a chain returns --------------------------------------------------------------------


class Lines(BaseModel):
    """A pydantic answer, as `with_structured_output` gives."""

    lines: list[str]


@dataclass
class Queries:
    """A dataclass answer; the attribute `queries` comes before `text`."""

    queries: tuple[str, ...] | None
    text: str = "not this"


@dataclass
class Text:
    """An answer as some completion clients give it."""

    text: str = "1. a b\n2. c d"
    lines: list[str] | None = field(default=None)


THINKING = {"type": "thinking", "thinking": "x y"}
TWO_BLOCKS = [{"type": "text", "text": "1. a b"}, {"type": "text", "text": "2. c d"}]


@pytest.mark.parametrize(
    "output",
    [
        "1. a b\n2. c d",
        ["a b", "c d"],
        ("a b", "c d"),
        [" a b ", "", "\t", "c d", "A  b"],
        ["1. a b", "2. c d"],
        ["- a b", "- c d"],
        AIMessage("1. a b\n2. c d"),
        AIMessage([{"type": "reasoning", "reasoning": "x y"}, *TWO_BLOCKS]),
        AIMessage([THINKING, "a b", "c d"]),
        [AIMessage("a b"), HumanMessage("c d")],
        [THINKING, *TWO_BLOCKS],
        [
            {"type": "reasoning", "text": "x y"},
            {"type": "image", "url": "z"},
            *TWO_BLOCKS,
        ],
        {"lines": ["a b", "c d"]},
        {"text": "1. a b\n2. c d"},
        {"queries": ("a b", "c d")},
        {"question": "x y", "text": ["a b", "c d"]},
        {"queries": None, "text": "a b\nc d"},
        {"text": {"lines": {"queries": ["a b", "c d"]}}},
        {"text": AIMessage("a b\nc d")},
        UserDict({"lines": ["a b", "c d"]}),
        Lines(lines=["a b", "c d"]),
        Queries(("a b", "c d")),
        Text(),
        [Text("a b"), {"lines": ["c d"]}],
    ],
    ids=repr,
)
def test_every_form_a_chain_may_return_is_read(output: object) -> None:
    assert queries_from_output(output) == ["a b", "c d"]


def test_items_of_a_list_are_one_query_each_and_keep_their_words() -> None:
    items = ['"quoted" words', "Question: x", "Sure!", "two\nlines", "2. Bundesliga", "*args"]
    assert queries_from_output(items) == items


def test_the_chains_own_list_is_never_changed() -> None:
    output = {"lines": ["1. a", " ", "2. b", "B"]}
    before = copy.deepcopy(output)
    queries_from_output(output).append("more")
    assert output == before


def test_an_empty_answer_holds_no_query() -> None:
    assert queries_from_output("") == queries_from_output([]) == queries_from_output([" "]) == []


def test_a_clean_list_comes_back_as_a_new_list() -> None:
    output = ["a", "b"]
    assert queries_from_output(output) == output
    assert queries_from_output(output) is not output


def _cycle() -> list[object]:
    cycle: list[object] = []
    cycle.append(cycle)
    return cycle


class Unprintable:
    """An object whose `repr` fails."""

    def __repr__(self) -> str:
        """Fail."""
        raise RuntimeError


@pytest.mark.parametrize(
    ("output", "named"),
    [
        (None, "NoneType: None"),
        (5, "int: 5"),
        (b"a b", "bytes: b'a b'"),
        ({"a b"}, "set: {'a b'}"),
        ({"answer": "a b"}, "dict: {'answer': 'a b'}"),
        ({"text": None}, "dict: {'text': None}"),
        ({"text": 5}, "int: 5"),
        (["a b", 5], "int: 5"),
        (["a b", None], "NoneType: None"),
        (_cycle(), "list: "),
        (Unprintable(), "Unprintable: <Unprintable instance"),
    ],
    ids=["None", "int", "bytes", "set", "key", "empty", "deep", "item", "gap", "cycle", "repr"],
)
def test_any_other_output_is_an_error_that_names_it_and_the_forms_expected(
    output: object, named: str
) -> None:
    with pytest.raises(QueryOutputError, match="'queries', 'lines' or 'text'") as caught:
        queries_from_output(output)
    assert named in str(caught.value)


def test_the_error_shows_a_long_output_in_short() -> None:
    with pytest.raises(QueryOutputError) as caught:
        queries_from_output({"answer": "a" * 10_000})
    assert len(str(caught.value)) < 400


@given(st.lists(st.text()))
@settings(max_examples=50)
def test_any_list_of_strings_is_read(items: list[str]) -> None:
    queries = queries_from_output(items)
    assert len(queries) <= len(items)
    assert all(query and query == query.strip() for query in queries)


# -- parser and prompt -----------------------------------------------------------------------


@pytest.mark.parametrize("text", ["a\nb", "a\n\nb\n", "  a\nb"])
def test_the_parser_agrees_with_langchain_classic_on_clean_lines(text: str) -> None:
    assert LineListOutputParser().parse(text) == upstream.LineListOutputParser().parse(text)


def test_the_parser_ends_a_chain_of_prompt_and_model() -> None:
    models: list[BaseLanguageModel[Any]] = [
        FakeListLLM(responses=["1. a\n2. b"]),
        FakeListChatModel(responses=["- a\n- b"]),
    ]
    for model in models:
        chain = DEFAULT_QUERY_PROMPT | model | LineListOutputParser()
        assert chain.invoke({"question": "q"}) == ["a", "b"]
        assert list(chain.stream({"question": "q"}))[-1] == ["a", "b"]


@pytest.mark.asyncio
async def test_the_parser_ends_an_async_chain() -> None:
    chain = FakeListChatModel(responses=["1. a\n2. b"]) | LineListOutputParser()
    assert await chain.ainvoke("q") == ["a", "b"]


def test_the_parser_keeps_the_text_blocks_of_a_message_apart() -> None:
    assert LineListOutputParser().invoke(AIMessage([THINKING, *TWO_BLOCKS])) == ["a b", "c d"]


def test_the_parser_is_a_value_that_copies_pickles_and_serialises() -> None:
    parser = LineListOutputParser()
    assert copy.deepcopy(parser) == pickle.loads(pickle.dumps(parser)) == parser
    assert parser._type == "line_list"
    assert "LineListOutputParser" in dumps(FakeListLLM(responses=["a"]) | parser)
    assert parser.OutputType == list[str]


def test_the_default_prompt_takes_the_place_of_upstreams() -> None:
    assert DEFAULT_QUERY_PROMPT.input_variables == upstream.DEFAULT_QUERY_PROMPT.input_variables
    assert "Why {x}?" in DEFAULT_QUERY_PROMPT.format(question="Why {x}?")


@pytest.mark.parametrize(
    "prompt",
    [
        PromptTemplate.from_template("Rewrite {frage}"),
        PromptTemplate.from_template("Write {n} of {frage}").partial(n="3"),
        ChatPromptTemplate.from_messages(
            [
                ("system", "Rewrite."),
                MessagesPlaceholder("history", optional=True),
                ("human", "{frage}"),
            ]
        ),
    ],
    ids=["plain", "partial", "chat"],
)
def test_the_variable_of_a_prompt_may_have_any_name(
    prompt: PromptTemplate | ChatPromptTemplate,
) -> None:
    assert prompt_variable(prompt) == "frage"


@pytest.mark.parametrize(
    ("template", "named"), [("Rewrite", "needs none"), ("{n} of {question}", "'n', 'question'")]
)
def test_a_prompt_with_none_or_several_variables_is_an_error_that_names_them(
    template: str, named: str
) -> None:
    with pytest.raises(ConfigurationError, match=named):
        prompt_variable(PromptTemplate.from_template(template))
