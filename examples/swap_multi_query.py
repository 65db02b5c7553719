"""Swap ``MultiQueryRetriever`` in one line; one text that two queries find is one document again.

    python examples/swap_multi_query.py

Many stores write the score of a hit into its metadata. The same text found by two queries then
differs in its metadata, and langchain-classic returns it twice: of four places, two are wasted.
"""

from __future__ import annotations

from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.runnables import RunnableLambda

# Was: from langchain_classic.retrievers import MultiQueryRetriever
from langchain_safe_retrievers import SafeMultiQueryRetriever as MultiQueryRetriever

TEXTS = {
    "Store tea in a tin, away from light.": {"topics": ["tea", "storage"], "shelf": {"room": "A"}},
    "Green tea keeps for one year.": {"topics": ["tea", "shelf life"], "shelf": {"room": "B"}},
    "Coffee beans go stale in weeks.": {"topics": ["coffee"], "shelf": {"room": "C"}},
}


def search(query: str) -> list[Document]:
    """Return the texts that share a word with the query, their score in the metadata."""
    asked = set(query.lower().split())
    scored = [(len(asked & set(text.lower().split())), text) for text in TEXTS]
    return [
        Document(text, metadata={**TEXTS[text], "score": score})
        for score, text in sorted(scored, key=lambda hit: -hit[0])
        if score
    ]


model = FakeListChatModel(responses=["1. store green tea\n2. how long green tea keeps"])
retriever = MultiQueryRetriever.from_llm(RunnableLambda(search), model)
found = retriever.invoke("How do I keep tea fresh?")

print(f"{len(found)} documents, each text once")
for document in found:
    print(f"- {document.page_content} {document.metadata}")
