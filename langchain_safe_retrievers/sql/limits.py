"""Limits of one connection: it only reads, and no statement runs for too long.

Nothing is ever committed. On PostgreSQL the transaction is READ ONLY and has a statement timeout;
on SQLite `PRAGMA query_only` holds and a progress handler stops what is late; both are put back
as they were. Other engines only roll back.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from inspect import isawaitable
from time import monotonic
from typing import Any

from sqlalchemy import Connection, func, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.util import await_only

from langchain_safe_retrievers.errors import LegTimeoutError

_QUERY_CANCELED = "57014"  # PostgreSQL's code for a statement that was stopped
_LONGEST = 2**31 - 1  # milliseconds PostgreSQL can count
_STEPS = 10_000  # of SQLite's virtual machine between two looks at the clock


@contextmanager
def limits(connection: Connection, timeout: float | None) -> Iterator[None]:
    """Hold the limits while a connection is used.

    Args:
        connection: One that was not used yet.
        timeout: Seconds a statement may take, or None.

    Yields:
        Nothing.

    Raises:
        LegTimeoutError: A statement took longer.
    """
    hold = _LIMITS.get(connection.dialect.name)
    if hold is None:
        yield
        return
    with hold(connection, timeout):
        yield


@contextmanager
def _postgresql(connection: Connection, timeout: float | None) -> Iterator[None]:
    connection.execution_options(isolation_level="READ COMMITTED", postgresql_readonly=True)
    if timeout is not None:
        most = str(min(math.ceil(timeout * 1000), _LONGEST))
        connection.execute(select(func.set_config("statement_timeout", most, True)))  # noqa: FBT003
    try:
        yield
    except DBAPIError as error:
        code = getattr(error.orig, "sqlstate", None) or getattr(error.orig, "pgcode", None)
        if timeout is None or code != _QUERY_CANCELED:
            raise
        raise _too_late(timeout) from error


@contextmanager
def _sqlite(connection: Connection, timeout: float | None) -> Iterator[None]:
    driver: Any = connection.connection.driver_connection
    was = connection.exec_driver_sql("PRAGMA query_only").scalar()
    end = math.inf if timeout is None else monotonic() + timeout
    try:
        connection.exec_driver_sql("PRAGMA query_only = ON")
        _wait(driver.set_progress_handler(lambda: monotonic() > end, _STEPS))
        yield
    except DBAPIError as error:
        if timeout is None or str(error.orig) != "interrupted":
            raise
        raise _too_late(timeout) from error
    finally:
        _wait(driver.set_progress_handler(None, _STEPS))
        connection.exec_driver_sql(f"PRAGMA query_only = {'ON' if was else 'OFF'}")


def _wait(answer: Any) -> Any:
    """Return the answer of a driver's method, of an asynchronous one too."""
    return await_only(answer) if isawaitable(answer) else answer


def _too_late(timeout: float) -> LegTimeoutError:
    return LegTimeoutError(f"the statement was stopped after statement_timeout={timeout} s")


_LIMITS: dict[str, Callable[[Connection, float | None], AbstractContextManager[None]]] = {
    "postgresql": _postgresql,
    "sqlite": _sqlite,
}
