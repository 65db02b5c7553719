"""Swap ``EnsembleRetriever`` in one line; a document found by two legs knows what both knew.

    python examples/swap_ensemble.py

A keyword index and a vector store rarely keep the same metadata. langchain-classic returns the
first leg's copy and drops the other's: here the page, the tags and the author.
"""

from __future__ import annotations

from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda

# Was: from langchain_classic.retrievers import EnsembleRetriever
from langchain_safe_retrievers import SafeEnsembleRetriever as EnsembleRetriever

TEXT = "Refunds are paid within 14 days."


def vectors(_query: str) -> list[Document]:
    """Stand for a vector store: flat metadata."""
    return [
        Document("Shipping takes 3 days.", metadata={"source": "vectors", "lang": "en"}),
        Document(TEXT, metadata={"source": "vectors", "lang": "en"}),
    ]


def keywords(_query: str) -> list[Document]:
    """Stand for a keyword index: the full record."""
    record = {
        "source": "keywords",
        "page": 7,
        "tags": ["refund"],
        "author": {"name": "Ada"},
    }
    return [Document(TEXT, metadata=record)]


retriever = EnsembleRetriever(
    retrievers=[RunnableLambda(vectors), RunnableLambda(keywords)], weights=[0.5, 0.5]
)
for document in retriever.invoke("When is my refund paid?"):
    print(document.page_content)
    for key, value in document.metadata.items():
        print(f"    {key}: {value}")

# ``_conflicts`` tells that the legs disagreed on "source"; name it otherwise or turn it off with
# ``conflicts_key``. Two more keys are off until named: who found it, and the fused score.
telling = retriever.model_copy(update={"provenance_key": "found_by", "fused_score_key": "rrf"})
best = telling.invoke("When is my refund paid?")[0].metadata
print(f"fused score {best['rrf']:.4f}")
for hit in best["found_by"]:
    print(f"    {hit['leg']} at rank {hit['rank']}, contributes {hit['contribution']:.4f}")
