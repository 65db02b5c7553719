"""A part of a filter as SQL: what every matching row passes, and whether only those do.

What cannot be said in SQL is left to `compile_filter`, which always has the last word; so a test
may let too much through, never too little, and may be negated only if it is exact. Every test is
true or false for every row, never NULL.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, and_, false, not_, or_, true

MOST = 300  # size of a filter that is pushed down; SQLite refuses expressions that nest too deep


class Pushed(NamedTuple):
    """A test for a WHERE clause.

    Args:
        test: Every row whose document matches passes it; None if nothing is known.
        exact: Whether no other row passes it.
        size: How big it is.
    """

    test: ColumnElement[bool] | None
    exact: bool
    size: int = 1


UNKNOWN = Pushed(None, exact=False)
NEVER = Pushed(false(), exact=True)
ALWAYS = Pushed(true(), exact=True)


def all_of(parts: Sequence[Pushed]) -> Pushed:
    """Return a test that rows pass if they pass all that are known.

    Args:
        parts: The tests.

    Returns:
        The test.
    """
    known = [part.test for part in parts if part.test is not None]
    if not known:
        return ALWAYS if all(part.exact for part in parts) else UNKNOWN
    return _sized(and_(*known), parts)


def any_of(parts: Sequence[Pushed]) -> Pushed:
    """Return a test that rows pass if they pass one; nothing is known unless all are.

    Args:
        parts: The tests.

    Returns:
        The test.
    """
    known = [part.test for part in parts if part.test is not None]
    if len(known) < len(parts):
        return UNKNOWN
    return _sized(or_(*known), parts) if known else NEVER


def negated(part: Pushed) -> Pushed:
    """Return a test that rows pass if they do not match `part`.

    Args:
        part: The test.

    Returns:
        The test, unknown unless `part` is exact.
    """
    if part.test is None or not part.exact:
        return UNKNOWN
    return part._replace(test=not_(part.test))


def _sized(test: Any, parts: Sequence[Pushed]) -> Pushed:
    size = sum(part.size for part in parts) + 1
    return Pushed(test, all(part.exact for part in parts), size) if size <= MOST else UNKNOWN
