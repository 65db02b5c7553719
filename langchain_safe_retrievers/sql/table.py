"""Search a table: full text where the engine has it, the filter in its WHERE clause."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnClause, Connection, Select, select

from langchain_safe_retrievers.sql.fields import Fields
from langchain_safe_retrievers.sql.filters import push
from langchain_safe_retrievers.sql.found import Found, Wanted, take, warn_if_cut
from langchain_safe_retrievers.sql.full_text import FullText, terms
from langchain_safe_retrievers.sql.pushed import ALWAYS, UNKNOWN, Pushed
from langchain_safe_retrievers.sql.rows import Layout

_PAGE = 100  # rows fetched at a time where it is not known how many are needed


@dataclass(frozen=True)
class TableSearch:
    """A table as it was found, and how to search it.

    Args:
        columns: The columns to read.
        layout: Which of them becomes what.
        full_text: How its text is searched.
        fields: What a filter's keys are in it.
    """

    columns: tuple[ColumnClause[Any], ...]
    layout: Layout
    full_text: FullText
    fields: Fields

    def find(self, connection: Connection, wanted: Wanted) -> Found:
        """Return the best documents that match.

        Args:
            connection: A connection.
            wanted: What is asked for.

        Returns:
            What was found.
        """
        words = terms(wanted.query)
        if not words:
            return Found()
        pushed = self._pushed(wanted)
        limit = min(wanted.k, wanted.row_limit) if pushed.exact else wanted.row_limit
        options = {} if pushed.exact else {"yield_per": min(_PAGE, limit)}
        statement = self._select(words, pushed).limit(limit)
        with connection.execute(statement, execution_options=options) as result:
            found = take(map(self._row, result), self.layout, wanted)
        if not pushed.exact:
            warn_if_cut(found, wanted)
        return found

    def _pushed(self, wanted: Wanted) -> Pushed:
        if wanted.matches is None:
            return ALWAYS
        return push(wanted.filter, self.fields) if isinstance(wanted.filter, Mapping) else UNKNOWN

    def _select(self, words: list[str], pushed: Pushed) -> Select[Any]:
        match = self.full_text.match(words)
        tests = [match.test] if pushed.test is None else [match.test, pushed.test]
        found = select(match.score.label(None), *self.columns).select_from(match.source)
        return found.where(*tests).order_by(*match.order)

    def _row(self, row: Iterable[Any]) -> dict[Any, Any]:
        names = (self.layout.score, *(column.name for column in self.columns))
        return dict(zip(names, row, strict=True))
