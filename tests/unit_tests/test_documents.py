"""A trusted document is as good as one that pydantic made."""

from __future__ import annotations

import copy
import pickle

import pytest
from langchain_core.documents import Document
from langchain_core.load import dumps

from langchain_safe_retrievers.documents import trusted_document, without_content


@pytest.mark.parametrize("id", ["7", None])
def test_a_trusted_document_cannot_be_told_from_a_checked_one(id):
    trusted = trusted_document("a", {"page": (1, None)}, id)
    checked = Document(page_content="a", metadata={"page": (1, None)}, id=id)
    assert type(trusted) is Document
    assert trusted == checked
    for look in (repr, str, dumps, pickle.dumps, Document.model_dump_json, vars):
        assert look(trusted) == look(checked)
    assert trusted.model_fields_set == checked.model_fields_set
    assert copy.deepcopy(trusted) == trusted.model_copy() == checked


def test_trusted_documents_share_nothing():
    one, other = trusted_document("a", {}, "1"), trusted_document("b", {}, "2")
    one.metadata["page"] = 1
    one.id = "3"
    assert other == Document(page_content="b", id="2")


def test_without_content_leaves_the_ids_and_the_documents_as_they_were():
    document = Document(page_content="a", metadata={"page": 1}, id="7")
    assert without_content([document]) == [Document(page_content="", id="7")]
    assert document.page_content == "a"
