"""A document without an id gets one made of its content."""

from __future__ import annotations

from uuid import UUID

from langchain_core.documents import Document

from langchain_safe_retrievers.content_id import content_id


def test_equal_documents_have_one_id_whatever_the_order_of_their_keys():
    a = Document(page_content="x", metadata={"a": 1, "b": {"c": 2, "d": 3}}, id="kept apart")
    b = Document(page_content="x", metadata={"b": {"d": 3, "c": 2}, "a": 1})
    assert content_id(a) == content_id(b)


def test_text_metadata_and_types_make_other_ids():
    documents = [
        Document(page_content="x"),
        Document(page_content="y"),
        Document(page_content="x", metadata={"a": 1}),
        Document(page_content="x", metadata={"a": "1"}),
        Document(page_content="x", metadata={"a": True}),
        Document(page_content="\ud800"),
    ]
    assert len(set(map(content_id, documents))) == len(documents)


def test_it_is_a_uuid_made_by_a_rule_of_ones_own():
    assert UUID(content_id(Document(page_content="x"))).version == 8
