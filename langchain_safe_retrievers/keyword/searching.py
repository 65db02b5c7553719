"""Hits of a query in an order that does not depend on how the index lies on disk."""

from __future__ import annotations

from collections.abc import Iterator
from operator import neg
from typing import Any, TypeAlias

Hit: TypeAlias = tuple[float, Any]
"""A score (higher is better), and the address of the document that has it."""

_SPARE = 2  # hits asked for beyond k, so that ties at the end are mostly settled at once
_GROWTH = 4  # how many times more are asked for when they do not suffice
_LONGEST_TIE = 1000  # hits after which tied ones are taken as tantivy orders them


def ranked_hits(searcher: Any, query: Any, k: int) -> Iterator[Hit]:
    """Yield all hits, best first, among equals the document that was added first.

    The index is asked for a few more than `k`, and for more only when that many are taken
    (because a filter refuses some) or when there is a tie at the end.

    Args:
        searcher: A view of the index.
        query: tantivy's query.
        k: How many will probably be taken, at least 1.

    Yields:
        The hits.
    """
    seen: set[tuple[int, int]] = set()
    limit = k + _SPARE
    while size := searcher.num_docs:
        limit = min(limit, size)
        hits = _first_hits(searcher, query, limit)
        complete = len(hits) < limit or limit == size
        for hit in hits if complete else _settled(hits):
            place = hit[1].segment_ord, hit[1].doc
            if place not in seen:
                seen.add(place)
                yield hit
        if complete:
            return
        limit *= _GROWTH


def _first_hits(searcher: Any, query: Any, limit: int) -> list[Hit]:
    hits: list[Hit] = searcher.search(query, limit, count=False).hits
    scores = [score for score, _ in hits]
    if len(set(scores)) == len(scores):
        return hits
    numbers = searcher.fast_field_values("number", [address for _, address in hits])
    ranked = sorted(zip(map(neg, scores), numbers, range(len(hits)), strict=True))
    return [hits[position] for _, _, position in ranked]


def _settled(hits: list[Hit]) -> list[Hit]:
    """Return the hits that nothing which was not asked for can tie with."""
    last = hits[-1][0]
    return hits if len(hits) > _LONGEST_TIE else [hit for hit in hits if hit[0] > last]
