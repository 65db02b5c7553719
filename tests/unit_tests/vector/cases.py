"""What every store is tested with: documents of two tenants, filters that fit, and the checks."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from langchain_safe_retrievers.filters import compile_filter
from langchain_safe_retrievers.retrievers.hybrid import HybridRetriever
from langchain_safe_retrievers.retrievers.vector import VectorRetriever
from tests.unit_tests.test_codec import same_types


class Angles(Embeddings):
    """Embeds a text that begins with a number of degrees as the unit vector in that direction."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        first = text.split(maxsplit=1)[0]
        angle = math.radians(float(first) if first.isdecimal() else 45.0)
        return [math.cos(angle), math.sin(angle)]


def record(n: int) -> dict[str, Any]:
    """Return metadata that JSON knows, and a SQL leg therefore reads as it is."""
    return {
        "tenant": "ab"[n % 2],
        "page": n % 5 + (0.5 if n % 7 == 0 else 0),
        "law": {"chapter": "第二章" if n % 3 else "第一章", "article": {"number": n}},
        "day": f"2024-01-{n % 28 + 1:02}",
        "tags": ["x", 1] if n % 4 == 0 else [],
        "draft": n % 6 == 0,
        **({"note": None} if n % 5 == 0 else {}),
        **({"law.chapter": "literal"} if n == 7 else {}),  # a literal key comes first
    }


DOCUMENTS = [
    Document(page_content=f"{n * 4} bees make honey", metadata=record(n), id=f"law-{n}")
    for n in range(40)
]

FILTERS: list[dict[str, Any]] = [
    {"tenant": "a"},
    {"tenant": {"$in": ["a", "z"]}, "draft": False},
    {"tenant": {"$ne": "a"}},
    {"tenant": {"$like": "_"}},
    {"tenant": {"$gt": "a"}},
    {"page": 2},
    {"page": 2.5},
    {"page": {"$gte": 1, "$lt": 3}},
    {"page": {"$nin": [0, 1]}},
    {"page": "2"},
    {"page": {"$in": [1, "a", True, Decimal(3)]}},
    {"page": {"$in": []}},
    {"law.chapter": "第二章"},
    {"law.chapter": "literal"},
    {"law.chapter": {"$ne": "第一章"}},
    {"law.article.number": {"$between": [5, 9]}},
    {"law": {"chapter": "第一章", "article": {"number": 3}}},
    {"day": {"$gte": "2024-01-20"}},
    {"day": {"$lt": date(2024, 1, 5)}},
    {"day": {"$gt": datetime(2024, 1, 10, tzinfo=UTC), "$lte": "2024-01-12"}},
    {"$not": {"day": {"$gte": "2024-01-02"}}},
    {"tags": {"$contains": "x"}},
    {"tags": {"$contains": 1}},
    {"tags": {"$not_contains": "x"}, "tenant": "b"},
    {"tags": "x"},
    {"draft": True},
    {"draft": 1},
    {"note": {"$exists": True}},
    {"note": {"$exists": False}, "tenant": "a"},
    {"note": None},
    {"nothing": "there"},
    {"a.b": {"$exists": False}, "page": {"$gt": 4}},
    {"$or": [{"tenant": "a", "page": 1}, {"$and": [{"tenant": "b"}, {"draft": True}]}]},
    {"$not": [{"tenant": "a"}, {"page": {"$lt": 3}}]},
]

KINDS: list[dict[str, Any]] = [
    {},
    {"a": {"b": {"c": [1, "x", None, 2.5, {"d": []}]}}},
    {"nan": math.nan, "inf": math.inf, "minus": -math.inf, "big": 2**70, "none": None},
    {"tuple": (1, ("x",)), "set": {1, 2}, "bytes": b"\x00\xff", "decimal": Decimal("1.50")},
    {"day": date(2024, 5, 1), "moment": datetime(2024, 5, 1, 12, tzinfo=UTC), "": "", "a.b": 1},
    {"$": ["tuple", [1]], "id": "mine", "_id": "mine", "_collection_name": 1, "content": "mine"},
    {"z": 1, "a": True, "1": "one", "é": "劳动"},
]


def matching(written: Any, documents: list[Document]) -> set[str | None]:
    """Return the ids of the documents that match."""
    matches = compile_filter(written)
    assert matches is not None
    return {document.id for document in documents if matches(document)}


def check_filters(retriever: Any, documents: list[Document]) -> None:
    """Every filter finds all that match and nothing else, with k above their number."""
    for written in FILTERS:
        for asked in (written, {"$not": written}, {"tenant": "a", "$or": [written]}):
            found = {document.id for document in retriever.invoke("40 bees", k=50, filter=asked)}
            assert found == matching(asked, documents), asked


def check_metadata(retriever: VectorRetriever) -> None:
    """What goes in comes out equal, type for type, by search, by id and from end to end."""
    documents = [
        Document(page_content=f"{n} kind", metadata=metadata, id=f"kind-{n}")
        for n, metadata in enumerate(KINDS)
    ]
    assert retriever.add_documents(documents) == [document.id for document in documents]
    ids = [document.id or "" for document in documents]
    for held in (
        retriever.invoke("0", k=1000),
        retriever.get_by_ids(ids),
        list(retriever.documents()),
    ):
        by_id = {document.id: document for document in held}
        for document in documents:
            assert by_id[document.id].page_content == document.page_content
            assert same_types(by_id[document.id].metadata, document.metadata)
    retriever.delete([*ids, "unknown"])
    assert retriever.get_by_ids(ids) == []


def check_writing(retriever: HybridRetriever) -> None:
    """Documents are added, changed and deleted in both legs; what differs is told and mended."""
    first, other = (
        Document(page_content="10 wasps", metadata={"n": n}, id=f"new-{n}") for n in range(2)
    )
    changed = Document(page_content="20 ants", metadata={"n": {"m": 2}}, id="new-0")
    before = len(list(retriever.leg("vector").documents()))
    assert retriever.add_documents([first, other]) == ["new-0", "new-1"]
    retriever.add_documents([changed])
    assert retriever.invoke("20 ants", k=1, filter={"n.m": 2}) == [changed]
    retriever.delete(["new-1", "unknown"])
    assert not retriever.check()
    assert len(list(retriever.leg("vector").documents())) == before + 1
    retriever.leg("keyword").delete(["new-0"])
    retriever.leg("keyword").add_documents([other])
    assert (retriever.check().missing, retriever.check().extra) == (("new-0",), ("new-1",))
    retriever.repair()
    assert not retriever.check()
    assert retriever.leg("keyword").get(["new-0", "new-1"]) == [changed]
    retriever.delete(["new-0"])


def check_scores(retriever: VectorRetriever) -> None:
    """Scores of unit vectors are cosines, for one hit, too."""
    texts = ("90", "0", "180", "60")
    ids = retriever.add_documents([Document(page_content=text) for text in texts])
    found: Any = retriever.invoke("0", k=4)
    assert [document.page_content for document in found] == ["0", "60", "90", "180"]
    assert all(
        math.isclose(score, cosine, abs_tol=1e-5)
        for score, cosine in zip(found.scores, (1, 0.5, 0, -1), strict=True)
    )
    nearest: Any = retriever.invoke("90", k=1)
    assert math.isclose(nearest.scores[0], 1, abs_tol=1e-5)
    retriever.delete(ids)
