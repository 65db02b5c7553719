"""Whatever comes in from outside is read, or refused by name; it never does anything else.

Each test is also a target for Atheris; see README.md beside this file.
"""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.messages import AIMessage

from langchain_safe_retrievers.codec import decode, encode
from langchain_safe_retrievers.content_id import content_id
from langchain_safe_retrievers.errors import FilterError, MetadataError, QueryOutputError
from langchain_safe_retrievers.filters import compile_filter
from langchain_safe_retrievers.fusion.fuser import RankedList
from langchain_safe_retrievers.identity import (
    by_content,
    by_id,
    by_key,
    by_levels,
    by_normalized_content,
)
from langchain_safe_retrievers.merging.fold import Engine
from langchain_safe_retrievers.merging.values import same
from langchain_safe_retrievers.queries.parsing import queries_from_output
from langchain_safe_retrievers.resilience.cache import _read
from langchain_safe_retrievers.retrievers.sql import SQLRetriever
from tests.unit_tests.sql.cases import INJECTIONS
from tests.unit_tests.strategies import any_values, hostile_values, json_values, twin

any_text = st.text(st.characters(), max_size=60)  # lone surrogates and NUL among it
signs = st.sampled_from([*"[]{}\",:'`\\\n$.-*0123456789ntf ", "null", "NaN", '"$"', "```"])
near_json = st.lists(signs | any_text, max_size=30).map("".join)

# The model-output reader --------------------------------------------------------------------------

outputs = st.recursive(
    near_json | any_text | hostile_values | near_json.map(AIMessage),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["queries", "query", "text", "type", "0"]), inner)
    ),
    max_leaves=8,
)


@given(outputs)
def test_any_model_output_gives_queries_or_is_refused(output: Any) -> None:
    try:
        queries = queries_from_output(output)
    except QueryOutputError:
        return
    assert all(type(query) is str and query == query.strip() != "" for query in queries)
    assert len({" ".join(query.casefold().split()) for query in queries}) == len(queries)


# The filter parser --------------------------------------------------------------------------------

OPERATORS = [
    *("$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin", "$between", "$exists"),
    *("$like", "$ilike", "$contains", "$not_contains", "$and", "$or", "$not", "$near", "$"),
]
filter_keys = st.sampled_from([*OPERATORS, *(name.upper() for name in OPERATORS), "a", "a.b", ""])
written_filters = st.recursive(
    any_values | any_text,
    lambda inner: (
        st.dictionaries(filter_keys | st.sampled_from([1, None, ("a",)]), inner, max_size=3)
        | st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
    ),
    max_leaves=10,
)


@given(written_filters, st.dictionaries(st.sampled_from(["a", "a.b", "b"]), any_values, max_size=3))
def test_any_filter_is_a_test_of_documents_or_is_refused(written: Any, metadata: Any) -> None:
    try:
        matches = compile_filter(written)
    except FilterError:
        return
    document = Document("a")
    document.metadata = metadata
    assert matches is None or type(matches(document)) is bool


# The codec ----------------------------------------------------------------------------------------


@given(any_values | any_text)
def test_any_value_comes_back_from_json_or_is_refused(value: Any) -> None:
    try:
        text = encode(value)
    except MetadataError:
        return
    again = decode(text)
    assert type(again) is type(value)
    assert encode(again) == text


kinds = st.sampled_from(
    ["float", "int", "str", "tuple", "set", "dict", "bytes", "datetime", "UUID"]
)
marked = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | any_text,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(any_text, inner, max_size=3)
        | st.tuples(kinds | any_text, inner).map(lambda pair: {"$": list(pair)})
    ),
    max_leaves=8,
)
answers = st.tuples(any_text, st.lists(st.tuples(any_text, st.none(), marked), max_size=2), marked)


texts = near_json | (marked | answers).map(json.dumps)


@given(st.binary() | texts.map(lambda text: text.encode("utf-8", "replace")))
def test_whatever_a_store_holds_is_an_answer_or_none(value: bytes) -> None:
    for held in (value, b"9999999999999.00" + value):
        found = _read(held)
        assert found is None or all(type(hit) is Document for hit in found)
        assert found is None or found.scores is None or len(found.scores) == len(found)


# Identities ---------------------------------------------------------------------------------------

IDENTITIES = [
    by_content,
    by_id,
    by_key("a"),
    by_normalized_content,
    by_levels(by_key("a"), by_id, by_normalized_content),
]


@given(any_text, any_text, any_values, st.sampled_from(IDENTITIES))
def test_any_document_has_an_identity_that_its_twin_shares(
    text: str, other: str, value: Any, identity: Any
) -> None:
    document, copy = Document(text, id="1"), Document(text, id="1")
    document.metadata, copy.metadata = {"a": value}, {"a": twin(value)}
    stranger = Document(f"{text}{other}x", id="2")

    assert same(identity(document), identity(copy))
    lists = [RankedList([document, stranger]), RankedList([copy])]
    expected = 3 if identity(document) is None else 2  # without an identity each is its own
    assert len(Engine(identity=identity).merge(lists).documents) == expected


@given(any_values)
def test_equal_documents_have_equal_content_ids(value: Any) -> None:
    document = Document("a")
    document.metadata = {"a": value}
    try:
        known = content_id(document)
    except MetadataError:
        return
    assert content_id(deepcopy(document)) == known


# The SQL leg --------------------------------------------------------------------------------------

STATEMENT = """
WITH bees(id, text, lang) AS (VALUES (1, 'bees make honey', 'en'), (2, 'wasps', 'de'))
SELECT id, text, lang, :query AS asked, :terms AS terms FROM bees
WHERE (:lang IS NULL OR lang = :lang) AND instr(:query, :query) LIMIT :k
"""
RETRIEVER = SQLRetriever(
    "sqlite://", statement=STATEMENT, id_column="id", parameters={"lang": None}
)


@given(
    any_text | st.sampled_from(INJECTIONS),
    st.dictionaries(st.sampled_from(["lang", "id", "no such", "a'b"]), json_values | any_text),
)
@settings(max_examples=50)
def test_no_query_and_no_filter_is_sql(query: str, wanted: Any) -> None:
    try:
        found = RETRIEVER.invoke(query, filter=wanted)
        matches = compile_filter(wanted)
    except FilterError:
        return
    assert {hit.page_content for hit in found} <= {"bees make honey", "wasps"}
    assert all(matches is None or matches(hit) for hit in found)
    plain = query.encode("utf-8", "replace").decode()
    assert all(hit.metadata["asked"] == plain for hit in found)
