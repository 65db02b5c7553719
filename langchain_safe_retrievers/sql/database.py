"""A database that is only read: where it is, and a connection for each call."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, TypeVar

from langchain_core.runnables.config import run_in_executor

from langchain_safe_retrievers.errors import ConfigurationError
from langchain_safe_retrievers.extras import load

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine
    from sqlalchemy.ext.asyncio import AsyncEngine

_T = TypeVar("_T")


class Database:
    """A URL or an engine, connected to when it is first asked.

    Two are equal when their URLs and options are, or their engines are one. One that was given
    a URL can be pickled and copied; the copy makes its own engine.

    Args:
        given: A SQLAlchemy URL (a string or a `URL`), an `Engine` or an `AsyncEngine`. A URL
            of an asynchronous driver makes an `AsyncEngine`.
        **options: For `create_engine`, with a URL only: `pool_size`, `connect_args` …

    Raises:
        MissingExtraError: SQLAlchemy is not installed.
        ConfigurationError: It is something else, or the URL cannot be read.

    Example:
        >>> Database("postgresql+psycopg://me:secret@localhost/shop")
        Database('postgresql+psycopg://me:***@localhost/shop')
    """

    def __init__(self, given: object, **options: Any) -> None:
        """Remember where the database is."""
        self._given = _read(given, options)
        self._options = options
        self._lock = threading.RLock()
        self._engine: Engine | AsyncEngine | None = None
        self._known: dict[Hashable, Any] = {}

    @property
    def engine(self) -> Engine | AsyncEngine:
        """The engine: the one that was given, or one that is made once."""
        with self._lock:
            if self._engine is None:
                self._engine = _connectable(self._given, self._options)
            return self._engine

    def read(self, job: Callable[[Connection], _T], timeout: float | None) -> _T:
        """Run a job on a connection of its own, read only and in time.

        Args:
            job: What to do with the connection.
            timeout: Seconds a statement may take, or None.

        Returns:
            What the job returned.

        Raises:
            LegTimeoutError: A statement took longer.
            ConfigurationError: The engine can only be awaited.
        """
        from langchain_safe_retrievers.sql.limits import limits  # noqa: PLC0415 - needs the extra

        engine: Any = self.engine
        if engine.dialect.is_async:
            msg = f"{self} can only be awaited; use ainvoke, or the URL of a synchronous driver"
            raise ConfigurationError(msg)
        with engine.connect() as connection, limits(connection, timeout):
            return job(connection)

    async def aread(
        self,
        job: Callable[[Connection], _T],
        timeout: float | None,  # noqa: ASYNC109 - the statement's
    ) -> _T:
        """Run a job without blocking the loop: awaited if the engine can be, else in a thread.

        Args:
            job: What to do with the connection.
            timeout: Seconds a statement may take, or None.

        Returns:
            What the job returned.

        Raises:
            LegTimeoutError: A statement took longer.
        """
        from langchain_safe_retrievers.sql.limits import limits  # noqa: PLC0415 - needs the extra

        def limited(connection: Connection) -> _T:
            with limits(connection, timeout):
                return job(connection)

        engine: Any = self.engine
        if not engine.dialect.is_async:
            return await run_in_executor(None, self.read, job, timeout)
        async with engine.connect() as connection:
            found: _T = await connection.run_sync(limited)
            return found

    def remember(self, key: Hashable, make: Callable[[], _T]) -> _T:
        """Return what was made for a key, making it the first time.

        Args:
            key: What it is made for.
            make: Makes it; should it raise, nothing is remembered.

        Returns:
            What was made.
        """
        with self._lock:
            if key not in self._known:
                self._known[key] = make()
            found: _T = self._known[key]
            return found

    def __repr__(self) -> str:
        """Show the URL without its password."""
        url = getattr(self._given, "url", self._given)
        return f"Database({url.render_as_string(hide_password=True)!r})"

    def __eq__(self, other: object) -> bool:
        """Tell whether both are one database, reached in the same way."""
        if not isinstance(other, Database):
            return NotImplemented
        return bool(self._given == other._given) and self._options == other._options

    def __hash__(self) -> int:
        """Return a hash of the URL or engine."""
        return hash(self._given)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy the URL; refuse for an engine."""
        if hasattr(self._given, "dialect"):
            msg = (
                f"{self} holds an engine, which can be neither pickled nor copied; "
                "give the URL instead, or Database(url, **options)"
            )
            raise ConfigurationError(msg)
        return _again, (self._given.render_as_string(hide_password=False), self._options)


def _again(url: str, options: dict[str, Any]) -> Database:
    return Database(url, **options)


def _read(given: object, options: dict[str, Any]) -> Any:
    """Return a URL object or an engine."""
    sqlalchemy = load("sqlalchemy", extra="sql")
    if isinstance(given, str | sqlalchemy.URL):
        try:
            return sqlalchemy.make_url(given)
        except sqlalchemy.exc.ArgumentError:  # its text would show a password
            msg = "the URL cannot be read; expected one such as 'sqlite:///notes.db'"
            raise ConfigurationError(msg) from None
    if not hasattr(given, "dialect") or not hasattr(given, "connect"):
        msg = f"got {type(given).__name__}; expected a URL, an Engine or an AsyncEngine"
        raise ConfigurationError(msg)
    if options:
        msg = f"{', '.join(sorted(options))}: options are for a URL; the engine was made without"
        raise ConfigurationError(msg)
    return given


def _connectable(given: Any, options: dict[str, Any]) -> Any:
    if hasattr(given, "dialect"):
        return given
    if given.get_dialect().is_async:
        return load("sqlalchemy.ext.asyncio", extra="sql").create_async_engine(given, **options)
    return load("sqlalchemy", extra="sql").create_engine(given, **options)
