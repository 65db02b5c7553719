"""A leg that searches a SQL database."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Self

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, Field, model_validator

from langchain_safe_retrievers.errors import ConfigurationError, FilterError
from langchain_safe_retrievers.filters import compile_filter
from langchain_safe_retrievers.fusion.fuser import RankedList
from langchain_safe_retrievers.sql.database import Database

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from langchain_safe_retrievers.sql.found import Found, Wanted


class SQLRetriever(BaseRetriever):
    """Searches a table, or runs your own statement; reads only, and holds the filter.

    A table is searched with its engine's full text: FTS5 on SQLite, if the table is an FTS5 table
    or the `content` of one; `websearch_to_tsquery` and `ts_rank` on PostgreSQL; LIKE elsewhere. A
    row is found if it has any of the query's words, and no character of a query is syntax. The
    portable filter goes into the WHERE clause as far as SQL compares as it does; the rest is held
    over the rows, in rank order, until `k` match.

    A statement names what it needs: `:query` is the query as it was asked, `:terms` its words,
    each quoted, joined by OR (as FTS5's MATCH and `websearch_to_tsquery` read it), `:k` how many
    rows, and `:column` the value that the filter wants that column to equal. Its ORDER BY is the
    rank. The whole filter is held over its rows, asking for more of them while too few match.

    Nothing of a query or filter becomes SQL text. Each call has a connection of its own. What a
    statement writes is never committed, and refused on SQLite and PostgreSQL.

    Args:
        database: A SQLAlchemy URL, an `Engine`, an `AsyncEngine`, or a `Database(url, **options)`.
            With a URL the retriever can be pickled and copied.
        table: The table or view to search; its columns are checked at the first query.
        schema_name: The table's schema, or None for the default.
        statement: The statement to run instead: SQL text or a SQLAlchemy statement.
        parameters: Values of the statement's parameters that the filter does not give.
        text_column: The column that becomes the text.
        id_column: The column that becomes the id, as a string; None for a table's primary key
            of one column.
        metadata_columns: The columns that become metadata, under their names; None for all
            that are not used otherwise (of a table: whose type is known and no tsvector). The
            filter reads these.
        metadata_json_column: A column whose JSON object's keys become metadata too; a column
            of the same name comes first.
        score_column: The statement's column with the score, higher is better.
        search_column: A tsvector column to search; None for the table's only one.
        language: PostgreSQL's text search configuration.
        full_text: False to search a table with LIKE all the same.
        k: How many documents, at least 1. Also per call: `invoke(query, k=3)`.
        row_limit: How many rows a call reads at most while it looks for `k` that match.
        statement_timeout: Seconds a statement may take on SQLite and PostgreSQL, or None.

    Raises:
        MissingExtraError: SQLAlchemy is not installed.
        ConfigurationError: Neither or both of `table` and `statement` are given.

    Example:
        >>> from langchain_safe_retrievers.retrievers.sql import SQLRetriever
        >>> retriever = SQLRetriever(
        ...     "sqlite://",
        ...     statement="SELECT 7 AS id, 'about ' || :query AS text, 'en' AS lang",
        ...     id_column="id",
        ... )
        >>> retriever.invoke("bees", filter={"lang": "en"})
        [Document(id='7', metadata={'lang': 'en'}, page_content='about bees')]
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    database: Database
    table: str | None = None
    schema_name: str | None = None
    statement: Any = None
    parameters: dict[str, Any] = Field(default_factory=dict)
    text_column: str = "text"
    id_column: str | None = None
    metadata_columns: tuple[str, ...] | None = None
    metadata_json_column: str | None = None
    score_column: str | None = None
    search_column: str | None = None
    language: str = "english"
    full_text: bool = True
    k: int = Field(default=4, ge=1)
    row_limit: int = Field(default=10_000, ge=1)
    statement_timeout: float | None = Field(default=30.0, gt=0)

    def __init__(self, database: object, **settings: Any) -> None:
        """Take the database first, as a URL or an engine."""
        if not isinstance(database, Database):
            database = Database(database)
        super().__init__(database=database, **settings)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.table is None) == (self.statement is None):
            came = "neither" if self.table is None else "both"
            msg = f"got {came} of table and statement; expected one: table='notes', text_column=…"
            raise ConfigurationError(msg)
        return self

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002 - core's signature
        k: int | None = None,
        filter: Any = None,  # noqa: A002 - LangChain's name
    ) -> list[Document]:
        return self.database.read(self._search(query, k, filter), self.statement_timeout)

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,  # noqa: ARG002 - core's signature
        k: int | None = None,
        filter: Any = None,  # noqa: A002 - LangChain's name
    ) -> list[Document]:
        return await self.database.aread(self._search(query, k, filter), self.statement_timeout)

    def _search(self, query: str, k: Any, filter: Any) -> Callable[[Connection], RankedList]:  # noqa: A002
        """Return what to do with a connection; what was asked for is checked here."""
        wanted = self._wanted(query, self.k if k is None else k, filter)
        find = self._find_in_table if self.statement is None else self._find_by_statement
        return lambda connection: find(connection, wanted).ranked(query)

    def _wanted(self, query: str, k: Any, filter: Any) -> Wanted:  # noqa: A002
        from langchain_safe_retrievers.sql.found import Wanted  # noqa: PLC0415 - needs the extra

        if not isinstance(k, int) or isinstance(k, bool) or k < 1:
            msg = f"k is {k!r}; expected a whole number of at least 1"
            raise ConfigurationError(msg)
        matches = compile_filter(filter)
        if filter is not None and matches is None and not isinstance(filter, Mapping):
            msg = f"Filter: got {type(filter).__name__}, expected a mapping or a function"
            raise FilterError(msg)
        return Wanted(query, k, filter, matches, self.row_limit)

    def _find_in_table(self, connection: Connection, wanted: Wanted) -> Found:
        from langchain_safe_retrievers.sql.reflect import Source, reflect  # noqa: PLC0415 - needs the extra

        source = Source(
            table=self.table or "",
            schema=self.schema_name,
            text=self.text_column,
            id=self.id_column,
            metadata=self.metadata_columns,
            spread=self.metadata_json_column,
            vector=self.search_column,
            language=self.language,
            full_text=self.full_text,
        )
        search = self.database.remember(source, lambda: reflect(connection, source))
        return search.find(connection, wanted)

    def _find_by_statement(self, connection: Connection, wanted: Wanted) -> Found:
        from langchain_safe_retrievers.sql.rows import Layout  # noqa: PLC0415 - needs the extra
        from langchain_safe_retrievers.sql.statement import StatementSearch  # noqa: PLC0415

        layout = Layout(
            text=self.text_column,
            id=self.id_column,
            metadata=self.metadata_columns,
            spread=self.metadata_json_column,
            score=self.score_column,
        )
        return StatementSearch(self.statement, self.parameters, layout).find(connection, wanted)
