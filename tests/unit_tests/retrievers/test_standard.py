"""LangChain's standard tests for retrievers, over every retriever of the package."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.prompts import PromptTemplate
from langchain_core.runnables import RunnableLambda
from langchain_tests.integration_tests import RetrieversIntegrationTests

from langchain_safe_retrievers import (
    LineListOutputParser,
    SafeEnsembleRetriever,
    SafeMultiQueryRetriever,
)

if TYPE_CHECKING:
    from langchain_core.retrievers import BaseRetriever


def find_five(query: str) -> list[Document]:
    """Find five documents about `query`."""
    return [Document(page_content=f"{query} {n}", metadata={"n": n}) for n in range(5)]


def find_shared(query: str) -> list[Document]:
    """Find two documents, one of which `find_five` finds too, with other metadata."""
    return [
        Document(page_content=f"{query} 3", metadata={"n": 3, "source": "shared"}),
        Document(page_content=f"{query} alone"),
    ]


class TestSafeEnsembleRetriever(RetrieversIntegrationTests):
    """Two legs that share a document."""

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        """The class under test."""
        return SafeEnsembleRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        """Two plain functions as legs."""
        return {"retrievers": [RunnableLambda(find_five), RunnableLambda(find_shared)]}

    @property
    def retriever_query_example(self) -> str:
        """A question."""
        return "bees"


class TestSafeMultiQueryRetriever(RetrieversIntegrationTests):
    """A fake chat model that writes two queries."""

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        """The class under test."""
        return SafeMultiQueryRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        """A plain function to search, and a chain of prompt, model and parser."""
        prompt = PromptTemplate.from_template("Reword: {question}")
        model = FakeListChatModel(responses=["bees\nwasps"])
        return {
            "retriever": RunnableLambda(find_five),
            "llm_chain": prompt | model | LineListOutputParser(),
        }

    @property
    def retriever_query_example(self) -> str:
        """A question."""
        return "Which insects make honey?"
