"""What a database says of a table: its columns, their types, and the full text it has."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

import sqlalchemy
from sqlalchemy import ColumnElement, Connection, TableClause, column, select, types
from sqlalchemy.dialects.postgresql import TSVECTOR
from sqlalchemy.exc import NoSuchTableError, SAWarning

from langchain_safe_retrievers.errors import ConfigurationError
from langchain_safe_retrievers.sql import postgresql, sqlite
from langchain_safe_retrievers.sql.fields import Field, Fields, Unsure
from langchain_safe_retrievers.sql.full_text import Fts5, FullText, LikeTerms, TsVector
from langchain_safe_retrievers.sql.rows import (
    Layout,
    read_bool,
    read_date,
    read_datetime,
    read_json,
)
from langchain_safe_retrievers.sql.table import TableSearch


@dataclass(frozen=True)
class Source:
    """Which table to search, and which of its columns becomes what.

    Args:
        table: The table's or view's name.
        schema: Its schema, or None for the default.
        text: The text column.
        id: The id column, or None for a primary key of one column.
        metadata: The columns that become metadata; None for all others.
        spread: A JSON column whose object's keys become metadata, or None.
        vector: A tsvector column to search, or None for the table's only one.
        language: The text search configuration.
        full_text: Whether to use the engine's full text.
    """

    table: str
    schema: str | None
    text: str
    id: str | None
    metadata: tuple[str, ...] | None
    spread: str | None
    vector: str | None
    language: str
    full_text: bool


def reflect(connection: Connection, source: Source) -> TableSearch:
    """Look a table up, and return how to search it.

    Args:
        connection: A connection.
        source: Which table and columns.

    Returns:
        The search.

    Raises:
        ConfigurationError: A table, column or language does not exist; the error lists those
            that do.
    """
    declared, key = _columns(connection, source)
    lite = connection.dialect.name == "sqlite"
    if lite and source.id == "rowid":  # every table has it, and lists it nowhere
        declared.setdefault("rowid", types.Integer())
    _check_columns(source, declared)
    made = [column(name, types.NullType() if lite else kind) for name, kind in declared.items()]
    table = sqlalchemy.table(source.table, *made, schema=source.schema)
    layout = _layout(source, declared, key, lite=lite)
    return TableSearch(
        columns=tuple(table.c[name] for name in layout.names() if name != layout.score),
        layout=layout,
        full_text=_full_text(connection, source, table, layout),
        fields=_fields(connection, table, declared, layout),
    )


def _columns(connection: Connection, source: Source) -> tuple[dict[str, Any], str | None]:
    """Return the type of each column, and the primary key if it is one column."""
    inspector = sqlalchemy.inspect(connection)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SAWarning)  # of types that SQLAlchemy does not know
            found = inspector.get_columns(source.table, source.schema)
            key = inspector.get_pk_constraint(source.table, source.schema)["constrained_columns"]
    except NoSuchTableError:
        names = [
            *inspector.get_table_names(source.schema),
            *inspector.get_view_names(source.schema),
        ]
        msg = f"there is no table {source.table!r}; there is {_listed(names)}"
        raise ConfigurationError(msg) from None
    return {each["name"]: each["type"] for each in found}, key[0] if len(key) == 1 else None


def _check_columns(source: Source, declared: Iterable[str]) -> None:
    wanted: dict[str, Iterable[str | None]] = {
        "text_column": [source.text],
        "id_column": [source.id],
        "metadata_columns": source.metadata or (),
        "metadata_json_column": [source.spread],
        "search_column": [source.vector],
    }
    for setting, names in wanted.items():
        for name in names:
            if name is not None and name not in declared:
                msg = (
                    f"{setting}: table {source.table!r} has no column {name!r}; "
                    f"it has {_listed(declared)}"
                )
                raise ConfigurationError(msg)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"


def _layout(source: Source, declared: Mapping[str, Any], key: str | None, *, lite: bool) -> Layout:
    number = source.id or key
    metadata = source.metadata
    if metadata is None:
        taken = {source.text, number, source.spread}
        metadata = tuple(
            name
            for name, kind in declared.items()
            if name not in taken and (lite or not isinstance(kind, types.NullType | TSVECTOR))
        )
    free = (f"score {number}" for number in count())
    return Layout(
        text=source.text,
        id=number,
        metadata=metadata,
        spread=source.spread,
        score=next(name for name in free if name not in declared),
        decoders=_decoders(declared) if lite else {},
    )


def _decoders(declared: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: decode
        for name, kind in declared.items()
        for known, decode in _DECODERS
        if isinstance(kind, known)
    }


_DECODERS = (
    (types.JSON, read_json),
    (types.Boolean, read_bool),
    (types.Date, read_date),
    (types.DateTime, read_datetime),
)


# Fields -------------------------------------------------------------------------------------------


def _fields(
    connection: Connection, table: TableClause, declared: Mapping[str, Any], layout: Layout
) -> Fields:
    dialect = connection.dialect.name
    utf8 = _is_utf8(connection)

    def field(name: str) -> Field:
        if dialect == "sqlite":
            return sqlite.field_of(table.c[name], declared[name], utf8)
        if dialect == "postgresql":
            return postgresql.field_of(table.c[name], utf8)
        return Unsure()

    columns = {name: field(name) for name in layout.metadata or ()}
    if layout.spread is None:
        return Fields(columns)
    spread = field(layout.spread)
    return Fields(columns, spread if hasattr(spread, "path") else Unsure())


def _is_utf8(connection: Connection) -> bool:
    show = {"sqlite": "PRAGMA encoding", "postgresql": "SHOW server_encoding"}
    statement = show.get(connection.dialect.name)
    if statement is None:
        return False
    return connection.exec_driver_sql(statement).scalar() in ("UTF-8", "UTF8")


# Full text ----------------------------------------------------------------------------------------


def _full_text(
    connection: Connection, source: Source, table: TableClause, layout: Layout
) -> FullText:
    text = table.c[source.text]
    ties = (table.c[layout.id],) if layout.id else ()
    if source.full_text and connection.dialect.name == "postgresql":
        _check_language(connection, source.language)
        return TsVector(table, _as_text(text), source.language, _vector(source, table), ties)
    index = _fts5(connection, source, table) if source.full_text else None
    return index or LikeTerms(table, _as_text(text), ties)


def _as_text(text: ColumnElement[Any]) -> ColumnElement[Any]:
    plain = isinstance(text.type, types.String | types.NullType)
    return text if plain and not isinstance(text.type, types.Enum) else text.cast(types.Text())


def _vector(source: Source, table: TableClause) -> ColumnElement[Any] | None:
    if source.vector is not None:
        return table.c[source.vector]
    found = [each for each in table.c if isinstance(each.type, TSVECTOR)]
    return found[0] if len(found) == 1 else None


def _check_language(connection: Connection, language: str) -> None:
    names = sqlalchemy.table("pg_ts_config", column("cfgname"), schema="pg_catalog")
    known = [str(name) for name in connection.execute(select(names.c.cfgname)).scalars()]
    if language.rpartition(".")[2] not in known:
        msg = f"language: the database has no text search configuration {language!r}; it has "
        raise ConfigurationError(msg + _listed(known))


def _fts5(connection: Connection, source: Source, table: TableClause) -> Fts5 | None:
    """Return the table's FTS5 index: itself, or one whose `content` it is."""
    if connection.dialect.name != "sqlite":
        return None
    master = sqlalchemy.table(
        "sqlite_master", column("name"), column("type"), column("sql"), schema=source.schema
    )
    made = connection.execute(select(master.c.name, master.c.sql).where(master.c.type == "table"))
    indexes = {name: sql for name, sql in made.all() if sql and _FTS5.match(sql)}
    if source.table in indexes:
        return Fts5(table, *_hidden(table))
    for name, sql in indexes.items():
        if (_option(sql, "content") or "").lower() == source.table.lower():
            return _external(connection, source, table, name, sql)
    return None


def _external(
    connection: Connection, source: Source, table: TableClause, name: str, sql: str
) -> Fts5 | None:
    indexed = sqlalchemy.inspect(connection).get_columns(name, source.schema)
    if source.text not in [each["name"] for each in indexed]:
        return None
    index = sqlalchemy.table(name, schema=source.schema)
    link = _column(table, _option(sql, "content_rowid") or "rowid")
    return Fts5(index.join(table, _column(index, "rowid") == link), *_hidden(index))


def _hidden(index: TableClause) -> tuple[ColumnElement[Any], ColumnElement[Any]]:
    """Return the columns that every FTS5 table has: the one to MATCH, and the rank."""
    return _column(index, index.name), _column(index, "rank")


def _column(table: TableClause, name: str) -> ColumnElement[Any]:
    """Return a column of a table, also one that the engine does not list."""
    if name not in table.c:
        table.append_column(column(name))
    return table.c[name]


def _option(sql: str, name: str) -> str | None:
    """Return an option of an FTS5 table, from the statement that made it."""
    found = re.search(rf"[(,]\s*{name}\s*=\s*(?:'([^']*)'|\"([^\"]*)\"|(\w+))", sql, re.IGNORECASE)
    return next((value for value in found.groups() if value is not None), None) if found else None


_FTS5 = re.compile(r"\s*CREATE\s+VIRTUAL\s+TABLE\b.*?\bUSING\s+fts5\b", re.IGNORECASE | re.DOTALL)
