"""An optional package that is missing is named together with what installs it."""

from __future__ import annotations

import sys

import pytest

from langchain_safe_retrievers.errors import MissingExtraError
from langchain_safe_retrievers.extras import load
from langchain_safe_retrievers.keyword.engine import tantivy
from langchain_safe_retrievers.retrievers.keyword import KeywordRetriever


def test_the_error_names_the_extra_and_the_pip_line():
    expected = r"'no_such_package'.*pip install \"langchain-safe-retrievers\[keyword\]\""
    with pytest.raises(MissingExtraError, match=expected):
        load("no_such_package", extra="keyword")


def test_a_package_that_is_there_but_broken_is_not_called_missing(tmp_path, monkeypatch):
    (tmp_path / "broken_package.py").write_text("import no_such_package")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError) as caught:
        load("broken_package", extra="keyword")
    assert not isinstance(caught.value, MissingExtraError)


def test_without_tantivy_a_keyword_retriever_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "tantivy", None)
    tantivy.cache_clear()
    with pytest.raises(ImportError, match="keyword"):
        KeywordRetriever()
    tantivy.cache_clear()
