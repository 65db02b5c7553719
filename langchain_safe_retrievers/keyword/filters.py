"""The portable filter as a query of the index, so that it holds before anything is ranked.

Not everything can be told from terms (`facts`): patterns, dicts and lists as wholes, two numbers
that round to one float. So a filter is read in one of two ways: `may`, a query that no matching
document fails, or `must`, one that only matching documents pass. A negation reads what is below
it the other way. The index asks for `may` and checks what it finds against the filter itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, NamedTuple, TypeAlias

from langchain_safe_retrievers.keyword.engine import tantivy
from langchain_safe_retrievers.keyword.facts import (
    KEPT,
    number_term,
    path_key,
    scalar_term,
    string_term,
    time_term,
)
from langchain_safe_retrievers.keyword.record import FACTS
from langchain_safe_retrievers.ordering import scale_of

Query: TypeAlias = Any  # tantivy's


class FilterQueries:
    """Writes filters as queries of one index.

    Args:
        index: A tantivy index with a JSON field `facts`.
    """

    def __init__(self, index: Any) -> None:
        """Remember the index."""
        self._index, self._schema = index, index.schema
        self._engine = tantivy()

    def may(self, filter: Mapping[str, Any]) -> Query:  # noqa: A002 - LangChain's name
        """Return a query that every document passes which matches the filter.

        Args:
            filter: A filter that `compile_filter` has accepted.

        Returns:
            A query; what it finds is to be checked, what it does not find need not be.
        """
        return self._filter(filter, surely=False)

    # Combining ------------------------------------------------------------------------------------

    def _all(self, parts: Sequence[Query]) -> Query:
        return self._combined(self._engine.Occur.Must, parts)

    def _any(self, parts: Sequence[Query]) -> Query:
        return self._combined(self._engine.Occur.Should, parts)

    def _combined(self, occur: Any, parts: Sequence[Query]) -> Query:
        if len(parts) == 1:
            return parts[0]
        return self._engine.Query.boolean_query([(occur, part) for part in parts])

    def _not(self, part: Query) -> Query:
        occur = self._engine.Occur
        everything = self._engine.Query.all_query()
        return self._engine.Query.boolean_query([(occur.Must, everything), (occur.MustNot, part)])

    def _unknown(self, *, surely: bool) -> Query:
        query = self._engine.Query
        return query.empty_query() if surely else query.all_query()

    # Reading --------------------------------------------------------------------------------------

    def _filter(self, written: Mapping[str, Any], *, surely: bool) -> Query:
        return self._all([self._entry(*entry, surely=surely) for entry in written.items()])

    def _entry(self, key: str, written: Any, *, surely: bool) -> Query:
        name = key.lower()
        if name == "$not":
            parts = [written] if isinstance(written, Mapping) else written
            return self._not(self._any([self._filter(part, surely=not surely) for part in parts]))
        if name in ("$and", "$or"):
            combine = self._all if name == "$and" else self._any
            return combine([self._filter(part, surely=surely) for part in written])
        operators = written if _has_operators(written) else {"$eq": written}
        return self._operators(key, operators, surely=surely)

    def _operators(self, path: str, written: Mapping[str, Any], *, surely: bool) -> Query:
        return self._all([self._operator(path, *entry, surely=surely) for entry in written.items()])

    def _operator(  # noqa: PLR0911 - one return an operator
        self, path: str, name: str, operand: Any, *, surely: bool
    ) -> Query:
        if name == "$not":
            return self._not(self._operators(path, operand, surely=not surely))
        if name in _NEGATIONS:
            inner = self._operator(path, _NEGATIONS[name], operand, surely=not surely)
            return self._not(inner)
        if name == "$exists":
            exists = self._exists(path)
            return exists if operand else self._not(exists)
        if name == "$between":
            bounds = {"$gte": operand[0], "$lte": operand[1]}
            return self._operators(path, bounds, surely=surely)
        if name in ("$eq", "$in", "$contains"):
            kind = "c" if name == "$contains" else ""
            operands = operand if name == "$in" else [operand]
            return self._equal(path, kind, list(operands), surely=surely)
        if name in _RANGES:
            return self._range(path, name, operand, surely=surely)
        return self._unknown(surely=True) if surely else self._exists(path)  # $like, $ilike

    # Asking for terms -----------------------------------------------------------------------------

    def _exists(self, path: str) -> Query:
        return self._engine.Query.exists_query(f"{FACTS}.{path_key(path)}")

    def _terms(self, path: str, terms: Sequence[str]) -> Query:
        field = f"{FACTS}.{path_key(path)}"
        if len(terms) == 1:
            return self._engine.Query.term_query(self._schema, field, terms[0], "basic")
        return self._engine.Query.term_set_query(self._schema, field, terms)

    def _equal(self, path: str, kind: str, operands: Sequence[Any], *, surely: bool) -> Query:
        """Ask for values equal to an operand, or (kind `c`) containers with such an element."""
        terms = [scalar_term(operand) for operand in operands]
        if surely:
            certain = [f"{kind}{term}" for term in terms if term and term[0] in _IDENTIFYING]
            return self._terms(path, certain) if certain else self._unknown(surely=True)
        if not terms:
            return self._unknown(surely=True)
        if any(term is None or term == "x" for term in terms):
            return self._exists(path)
        return self._terms(path, [f"{kind}{term}" for term in (*terms, "x")])

    def _range(self, path: str, name: str, bound: Any, *, surely: bool) -> Query:
        """Ask for the values on one side of a bound: those among which it can be ordered."""
        side, inclusive = _RANGES[name]
        pieces = [
            piece
            for own in _bounds(bound)
            for piece in side(own, inclusive=inclusive, surely=surely)
        ]
        written = [f"{FACTS}.{path_key(path)}:{piece}" for piece in pieces]
        found = [self._index.parse_query(" OR ".join(written))] if written else []
        if not surely:
            found.append(self._terms(path, ["x"]))
        return self._any(found) if found else self._unknown(surely=True)


def _has_operators(written: Any) -> bool:
    return isinstance(written, Mapping) and any(str(name).startswith("$") for name in written)


_NEGATIONS = {"$ne": "$eq", "$nin": "$in", "$not_contains": "$contains"}
_IDENTIFYING = frozenset("snbmz")  # kinds in which equal terms mean equal values


# Ranges -------------------------------------------------------------------------------------------
#
# Written as tantivy reads them, from letters and digits of our own making only: `[a TO b}` is from
# `a` (included) to `b` (excluded). The terms from `tx` to `ty` belong to values that share a
# number's float or a string's first 64 bytes with the bound, and may lie on either side of it.


class _Bound(NamedTuple):
    """A bound among the terms of one kind."""

    term: str
    exact: bool = True  # whether the term says all of the bound
    shared: bool = False  # whether other values may have the term with something after it

    @property
    def kind(self) -> str:
        return self.term[0]

    def above(self, *, inclusive: bool, surely: bool) -> list[str]:
        after = chr(ord(self.kind) + 1)
        if surely and self.shared:
            at = [f"[{self.term} TO {self.term}]"] if inclusive and self.exact else []
            return [*at, f"{{{self.term}y TO {after}}}"]
        opening = "[" if self._holds(inclusive=inclusive, surely=surely) else "{"
        return [f"{opening}{self.term} TO {after}}}"]

    def under(self, *, inclusive: bool, surely: bool) -> list[str]:
        closing = "]" if self._holds(inclusive=inclusive, surely=surely) else "}"
        found = [f"[{self.kind} TO {self.term}{closing}"]
        if self.shared and not surely and self.kind == "s":  # numbers there have a term `x`, too
            found.append(f"{{{self.term} TO {self.term}y}}")
        return found

    def _holds(self, *, inclusive: bool, surely: bool) -> bool:
        """Whether values that have just this term are on the wanted side."""
        return inclusive if self.exact else not surely


def _bounds(value: Any) -> list[_Bound]:
    """Return a bound in each kind of terms that it can be compared with."""
    scale = scale_of(value)
    if scale is str:
        return [*_among(string_term(str.__str__(value)), 2 * KEPT), *_times("d", value)]
    if scale is date:
        return [*_times("d", value), *_times("i", value)]
    return _among(number_term(value), 0)


def _among(term: str, room: int) -> list[_Bound]:
    """Return the bound that a term makes, shared if it is longer than `room` digits."""
    own, mark, _ = term.partition("x")
    return [_Bound(own, not mark, len(own) > room)] if own[:1] in ("n", "s") else []


def _times(kind: str, value: Any) -> list[_Bound]:
    term = time_term(kind, value)
    return [] if term is None else [_Bound(term)]


_RANGES = {
    "$gt": (_Bound.above, False),
    "$gte": (_Bound.above, True),
    "$lt": (_Bound.under, False),
    "$lte": (_Bound.under, True),
}
