"""A vector store dies and comes back while questions are being asked; no question goes unanswered.

    python examples/resilient.py

A switch stands for the network in front of the store: up, refusing connections, or hanging. The
keyword index is the fallback. After two failed calls the circuit opens, and the store is left alone
until it has rested; then one question tries it, and finds it back.
"""

from __future__ import annotations

import logging
import threading
import time
from zlib import crc32

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.runnables import RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_safe_retrievers import KeywordRetriever, SafeRetriever, collect_reports

# What SafeRetriever does is logged as warnings; here its reports are printed instead.
logging.getLogger("langchain_safe_retrievers").setLevel(logging.ERROR)


class WordCounts(Embeddings):
    """Stand for an embedding model: how often each word occurs, in 64 places."""

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a text."""
        vector = [0.0] * 64
        for word in text.lower().replace(".", "").replace("?", "").split():
            vector[crc32(word.encode()) % 64] += 1.0
        return vector

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return the vectors of several texts."""
        return [self.embed_query(text) for text in texts]


DOCUMENTS = [
    Document("Refunds are paid within 14 days.", id="1", metadata={"page": 7}),
    Document("Parcels are sent on the day of the order.", id="2", metadata={"page": 3}),
    Document("Our shop is closed on Sundays.", id="3", metadata={"page": 1}),
]
store = InMemoryVectorStore(WordCounts())
store.add_documents(DOCUMENTS)
search = store.as_retriever(search_kwargs={"k": 1})

network = "up"
back_up = threading.Event()


def over_the_network(query: str) -> list[Document]:
    """Ask the store, if the network lets us."""
    if network == "refuses":
        message = "vector store: connection refused"
        raise ConnectionError(message)
    if network == "hangs":
        back_up.wait(30)
    return search.invoke(query)


keyword = KeywordRetriever(k=1, name="keyword")
keyword.add_documents(DOCUMENTS)
retriever = SafeRetriever(
    retriever=RunnableLambda(over_the_network, name="vector"),
    fallbacks=[keyword],
    timeout=0.3,
    max_retries=1,
    failure_threshold=2,
    reset_after=1.0,
)


def ask(question: str) -> None:
    """Ask, and print what is found, the report, and the state of the circuit."""
    with collect_reports() as reports:
        found = retriever.invoke(question)
    print(f"\n[network {network}] {question}")
    print(f"  {found[0].page_content} (page {found[0].metadata['page']})")
    print("  " + str(reports[-1]).replace("\n", "\n  "))
    print(f"  the circuit is {retriever.circuit}")


ask("When are refunds paid?")
network = "refuses"
ask("When are parcels sent?")
network = "hangs"
ask("When is the shop closed?")
ask("When are refunds paid?")  # at once: the store is not even asked

network = "up"
back_up.set()
time.sleep(1.1)  # longer than reset_after
ask("When are parcels sent?")
