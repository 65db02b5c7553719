"""What the retrievers inside a leg let the retriever around it know."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass

from langchain_safe_retrievers.report import LegStatus


@dataclass(eq=False, slots=True)
class Inner:
    """What retrievers of this package, inside one leg that is being asked, say of themselves.

    Args:
        degraded: Whether an answer in there may be worse than asked for.
        status: How a `SafeRetriever` came by its answer, or None.
        attempts: How often it asked.

    Example:
        >>> Inner().degraded
        False
    """

    degraded: bool = False
    status: LegStatus | None = None
    attempts: int = 1


NOTHING_SAID = Inner()

_inner: ContextVar[Inner | None] = ContextVar("inner_of_leg", default=None)


def listen() -> Inner:
    """Begin to listen, in this context, to the retrievers inside a leg.

    Returns:
        What they will fill.
    """
    inner = Inner()
    _inner.set(inner)
    return inner


def around() -> Inner | None:
    """Return where to tell the retriever around this one, or None if there is none."""
    return _inner.get()
