"""How jobs may run side by side, and what becomes of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeGuard

Status = Literal["ok", "failed", "timed out", "cancelled"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a job.

    Args:
        status: "ok", "failed", "timed out", or "cancelled" (another job's failure ended it).
        value: What the job returned, if it is ok.
        error: What the job raised, if it failed.
        seconds: How long it ran.
    """

    status: Status
    value: Any = None
    error: BaseException | None = None
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Limits:
    """How jobs may run.

    Args:
        workers: How many may run at once, at least 1, or None for all.
        timeout: Seconds from a job's start after which it is given up, or None.
        stop_on_error: Whether one failure cancels the jobs that have not ended.
    """

    workers: int | None = None
    timeout: float | None = None
    stop_on_error: bool = True


def passes_through(error: BaseException | None) -> TypeGuard[BaseException]:
    """Tell whether an error is one that no failure policy holds back.

    Args:
        error: What a job raised, or None.

    Returns:
        True for KeyboardInterrupt, SystemExit, CancelledError and their like.

    Example:
        >>> passes_through(KeyboardInterrupt()), passes_through(ValueError()), passes_through(None)
        (True, False, False)
    """
    return error is not None and not isinstance(error, Exception)
