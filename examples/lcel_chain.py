"""A retrieval chain in LCEL, sync and async, that can say what its retrieval did.

    python examples/lcel_chain.py

One leg is down. The answer arrives all the same, and the report names the leg.
"""

from __future__ import annotations

import asyncio
import logging

from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda, RunnablePassthrough

from langchain_safe_retrievers import SafeEnsembleRetriever, collect_reports


def handbook(_query: str) -> list[Document]:
    """Stand for a leg that answers."""
    return [Document("Refunds are paid within 14 days.", metadata={"page": 7})]


def archive(_query: str) -> list[Document]:
    """Stand for a leg that is down."""
    message = "archive: connection refused"
    raise ConnectionError(message)


def numbered(documents: list[Document]) -> str:
    """Return the documents as the prompt's context."""
    return "\n".join(f"[{n}] {found.page_content}" for n, found in enumerate(documents, 1))


# A skipped leg is always logged as a warning; here the report is printed instead.
logging.getLogger("langchain_safe_retrievers").setLevel(logging.ERROR)

retriever = SafeEnsembleRetriever(
    retrievers=[RunnableLambda(handbook), RunnableLambda(archive)], on_leg_error="skip"
)
prompt = ChatPromptTemplate.from_template("{context}\n\nQuestion: {question}")
model = FakeListChatModel(responses=["Within 14 days [1]."])  # your chat model
chain = (
    {"context": retriever | numbered, "question": RunnablePassthrough()}
    | prompt
    | model
    | StrOutputParser()
)
question = "When is my refund paid?"

with collect_reports() as reports:
    print("invoke: ", chain.invoke(question))
    print("ainvoke:", asyncio.run(chain.ainvoke(question)))

print(f"{len(reports)} retrievals")
for report in reports:
    print(report)
