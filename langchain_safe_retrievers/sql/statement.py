"""Search by the user's own statement, its parameters bound."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, CursorResult, Executable, text

from langchain_safe_retrievers.errors import ConfigurationError
from langchain_safe_retrievers.sql.found import Found, Wanted, take, warn_if_cut
from langchain_safe_retrievers.sql.full_text import any_of_terms, terms
from langchain_safe_retrievers.sql.rows import Layout

_PAGED = {"yield_per": 100}  # where the statement itself sets no limit
_DEEPER = 4  # how many times as many rows are asked for when too few match the filter
_BIG = 2**63
_SCALARS = (str, bool, int, float, Decimal, date, bytes, UUID)


@dataclass(frozen=True)
class StatementSearch:
    """A statement that finds rows, best first.

    Args:
        statement: SQL text, or a SQLAlchemy statement.
        parameters: Values of parameters that the filter does not give.
        layout: Which column becomes what.
    """

    statement: str | Executable
    parameters: Mapping[str, Any]
    layout: Layout

    def find(self, connection: Connection, wanted: Wanted) -> Found:
        """Return the best documents that match, asking deeper until enough do.

        Args:
            connection: A connection.
            wanted: What is asked for.

        Returns:
            What was found.

        Raises:
            ConfigurationError: A parameter has no value, or a column is not in the result.
        """
        statement: Any = text(self.statement) if isinstance(self.statement, str) else self.statement
        names = _names(statement, connection)
        values = self._values(names, wanted, connection.dialect.name)
        if any(not values[name].strip() for name in ("query", "terms") if name in names):
            return Found()  # nothing was asked; an empty MATCH is an error
        found = (
            self._find_deeper(connection, statement, values, wanted)
            if "k" in names
            else self._take(connection.execute(statement, values, execution_options=_PAGED), wanted)
        )
        warn_if_cut(found, wanted)
        return found

    def _find_deeper(
        self, connection: Connection, statement: Any, values: dict[str, Any], wanted: Wanted
    ) -> Found:
        """Bind more to `:k` until enough rows match or there are no more."""
        depth = min(wanted.k, wanted.row_limit)
        while True:
            found = self._take(connection.execute(statement, {**values, "k": depth}), wanted)
            enough = len(found.documents) >= wanted.k
            if enough or found.rows < depth or depth == wanted.row_limit:
                return found
            depth = min(depth * _DEEPER, wanted.row_limit)

    def _take(self, result: CursorResult[Any], wanted: Wanted) -> Found:
        with result:
            return take(self._rows(result), self.layout, wanted)

    def _values(self, names: set[str], wanted: Wanted, dialect: str) -> dict[str, Any]:
        own = {"query": wanted.query, "terms": any_of_terms(terms(wanted.query)), "k": wanted.k}
        known = {**self.parameters, **_equalities(wanted.filter), **own}
        for name in names:
            if name not in known:
                raise ConfigurationError(_no_value(name))
        return {name: _sendable(known[name], dialect) for name in names}

    def _rows(self, result: CursorResult[Any]) -> Iterator[dict[str, Any]]:
        if not result.returns_rows:
            msg = "the statement returns no rows; expected a SELECT"
            raise ConfigurationError(msg)
        names = tuple(result.keys())
        if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
            msg = (
                f"the statement returns {', '.join(map(repr, twice))} more than once, and only one "
                "could be kept; give each column a name of its own: SELECT a.name AS a_name"
            )
            raise ConfigurationError(msg)
        for name in self.layout.names():
            if name not in names:
                msg = f"the statement returns no column {name!r}; it returns {', '.join(names)}"
                raise ConfigurationError(msg)
        return (dict(zip(names, row, strict=True)) for row in result)


def _names(statement: Any, connection: Connection) -> set[str]:
    """Return the names of the parameters that have no value of their own."""
    binds = statement.compile(dialect=connection.dialect).binds
    return {name for name, bind in binds.items() if bind.required}


def _equalities(filter: Any) -> dict[str, Any]:  # noqa: A002 - LangChain's name
    """Return the keys that a filter wants to equal one plain value."""
    found: dict[str, Any] = {}
    for key, wanted in filter.items() if isinstance(filter, Mapping) else ():
        if key.lower() == "$and":
            for part in wanted:
                found.update(_equalities(part))
            continue
        value = wanted["$eq"] if isinstance(wanted, Mapping) and "$eq" in wanted else wanted
        if value is None or isinstance(value, _SCALARS):
            found[key] = value
    return found


def _sendable(value: Any, dialect: str) -> Any:
    """Return what the engine takes; what it cannot hold becomes something that equals it nowhere.

    The filter still has the last word: it compares rows with the value that was given.
    """
    if isinstance(value, str):
        nul = value if dialect == "sqlite" else value.replace("\0", "\ufffd")
        return nul.encode("utf-8", "replace").decode()
    if dialect == "sqlite" and isinstance(value, int):
        return max(-_BIG, min(value, _BIG - 1))
    return value


def _no_value(name: str) -> str:
    return (
        f"the statement's parameter :{name} has no value: give filter={{{name!r}: …}}, "
        f"or a default with parameters={{{name!r}: …}}"
    )
