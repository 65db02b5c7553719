"""Index a folder's text files, keep the index in step with them, and ask it.

    python examples/hybrid.py FOLDER [QUERY …] [--index DIRECTORY] [--kind SUFFIX]

The index is kept: a second run embeds only what is new or changed, and deletes what is gone.
`--kind txt` is a filter on nested metadata. The vectors here are made of characters, so that the
example runs offline; put your own embeddings in their place.
"""

from __future__ import annotations

import argparse
import math
import zlib
from itertools import pairwise
from pathlib import Path

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from langchain_safe_retrievers.retrievers.hybrid import HybridRetriever


class CharacterEmbeddings(Embeddings):
    """Counts pairs of characters; knows no meaning, and needs no model."""

    embedded = 0

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return a unit vector for each text."""
        self.embedded += len(texts)
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """Return a unit vector."""
        counts = [0.0] * 256
        for pair in pairwise(text):
            counts[zlib.crc32("".join(pair).encode()) % 256] += 1.0
        length = math.hypot(*counts) or 1.0
        return [count / length for count in counts]


def paragraphs(folder: Path) -> list[Document]:
    """Return the paragraphs of a folder's text files, each with an id of its own."""
    return [
        Document(
            page_content=text.strip(),
            metadata={"file": {"name": path.name, "kind": path.suffix[1:]}, "place": (place,)},
            id=f"{path.relative_to(folder)}#{place}",
        )
        for path in sorted(folder.rglob("*"))
        if path.suffix in (".txt", ".md")
        for place, text in enumerate(
            path.read_text(encoding="utf-8", errors="replace").split("\n\n")
        )
        if text.strip()
    ]


arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
arguments.add_argument("folder", type=Path)
arguments.add_argument("queries", nargs="*", metavar="QUERY")
arguments.add_argument("--index", type=Path, default=Path("hybrid-index"))
arguments.add_argument("--kind", help="only files of this kind: txt or md")
given = arguments.parse_args()

embeddings = CharacterEmbeddings()
retriever = HybridRetriever.from_documents(
    [],
    embeddings,
    persist_directory=given.index,
    index_text=lambda document: f"{document.metadata['file']['name']}\n{document.page_content}",
    provenance_key="found_by",
    k=2,
)
documents = paragraphs(given.folder)
retriever.add_documents(documents)
there = {document.id for document in documents}
gone = [held.id for held in retriever.leg("keyword").documents() if held.id not in there]
retriever.delete(gone)
print(f"{len(documents)} paragraphs: {embeddings.embedded} embedded now, {len(gone)} deleted")

wanted = {"file.kind": given.kind} if given.kind else None
for query in given.queries:
    print(f"\nQ: {query}")
    for document in retriever.invoke(query, filter=wanted):
        legs = ", ".join(f"{hit['leg']} #{hit['rank']}" for hit in document.metadata["found_by"])
        print(f"  {document.id}: {document.page_content} ({legs})")
