"""Why is this document here? Ask a small staff handbook, and explain the answer.

    python examples/explain.py [QUERY] [--html PAGE] [--json FILE]

Two legs hold the same passages and know different things about them: a vector store that was
filled from the wiki, and a keyword index that was filled from the PDF export. The explanation is
printed, and written as a page if a name for it is given. The vectors are made of characters, so
that the example runs offline.
"""

from __future__ import annotations

import argparse
import json
import math
import zlib
from pathlib import Path

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_safe_retrievers.explaining.explain import explain
from langchain_safe_retrievers.retrievers.hybrid import HybridRetriever
from langchain_safe_retrievers.retrievers.keyword import KeywordRetriever

HANDBOOK = """
travel: Book trains and flights through the travel desk at least fourteen days ahead.
travel: Travel expenses are refunded within 14 days of a complete claim.
travel: First class is refunded only for journeys of more than six hours.
travel: Hotel costs are refunded up to 140 euros a night, breakfast included.
travel: A lost receipt may be replaced by a signed statement, once a quarter.
travel: Mileage for a private car is refunded at 30 cents a kilometre.
travel: Expenses in a foreign currency are refunded at the rate of the day of payment.
travel: Taxi rides are refunded when no public transport runs.
customers: A customer may return goods within 14 days and gets a full refund.
customers: Refunds go back to the card that was used for the purchase.
customers: Damaged goods are replaced at once; no refund is needed.
customers: Answer every complaint within one working day.
customers: Discounts above ten per cent need the consent of a team lead.
leave: Full-time staff have thirty days of paid leave a year.
leave: Ask for leave at least two weeks ahead, in the calendar.
leave: Unused leave lapses at the end of March of the following year.
leave: Parental leave is applied for seven weeks before it begins.
equipment: A laptop is replaced after four years, or when it fails.
equipment: Report a lost phone to the service desk within an hour.
equipment: Private use of company phones is allowed within reason.
equipment: Expenses for a home office desk are refunded up to 400 euros.
security: Passwords are changed when there is a reason to, not every month.
security: Visitors sign in at the front desk and wear a badge.
security: Never send customer data by e-mail without encryption.
"""


class CharacterEmbeddings(Embeddings):
    """Counts runs of three characters; knows no meaning, and needs no model."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return a unit vector for each text."""
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """Return a unit vector."""
        counts = [0.0] * 512
        text = f"  {text.lower()} "
        for start in range(len(text) - 2):
            counts[zlib.crc32(text[start : start + 3].encode()) % 512] += 1.0
        length = math.hypot(*counts) or 1.0
        return [count / length for count in counts]


def passages(source: str) -> list[Document]:
    """Return the handbook as one of its sources knows it."""
    documents = []
    for number, line in enumerate(HANDBOOK.strip().splitlines(), start=1):
        topic, _, text = line.partition(": ")
        metadata = {
            "wiki": {"source": "wiki", "topic": topic, "tags": [topic, "handbook"], "version": 7},
            "pdf": {
                "source": "handbook.pdf",
                "page": number // 3 + 1,
                "tags": ["handbook", "2026"],
            },
        }[source]
        documents.append(Document(page_content=text, metadata=metadata, id=f"passage-{number}"))
    return documents


def handbook() -> HybridRetriever:
    """Return a retriever over both sources."""
    vectors = InMemoryVectorStore(CharacterEmbeddings())
    vectors.add_documents(passages("wiki"))
    keywords = KeywordRetriever()
    keywords.add_documents(passages("pdf"))
    return HybridRetriever(vector=vectors, keyword=keywords, k=6, fetch_k=14)


arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
arguments.add_argument("query", nargs="?", default="When are travel expenses refunded?")
arguments.add_argument("--html", type=Path, metavar="PAGE")
arguments.add_argument("--json", type=Path, metavar="FILE")


def main() -> None:
    """Explain the answer to one query."""
    given = arguments.parse_args()
    explanation = explain(handbook(), given.query)
    explanation.show()
    if given.html:
        given.html.write_text(explanation.to_html(), encoding="utf-8")
    if given.json:
        given.json.write_text(json.dumps(explanation.to_dict(), indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
