"""Leave a leg alone that fails again and again."""

from __future__ import annotations

import threading
from time import monotonic
from types import TracebackType
from typing import Literal

from langchain_safe_retrievers.errors import CallerError, CircuitOpenError

CircuitState = Literal["closed", "open", "half-open"]


class CircuitBreaker:
    """Opens after failures in a row, and lets one call through once it has rested.

    While it is open nobody is asked. After `reset_after` seconds it is half open: one call is
    a trial, and closes it, or opens it anew. A trial that neither succeeds nor fails within
    `reset_after` seconds is forgotten. It may be used from any number of threads and tasks;
    copies and pickles of it start closed.

    Args:
        failure_threshold: How many failures in a row open it, at least 1.
        reset_after: Seconds, greater than 0, until an open circuit is tried again.

    Raises:
        CircuitOpenError: On entering, while it is open.

    Example:
        >>> breaker = CircuitBreaker(failure_threshold=1, reset_after=60)
        >>> try:
        ...     with breaker:
        ...         raise ConnectionError
        ... except ConnectionError:
        ...     print(breaker.state)
        open
    """

    def __init__(self, failure_threshold: int = 5, reset_after: float = 30.0) -> None:
        """Start closed."""
        self.failure_threshold = failure_threshold
        self.reset_after = reset_after
        self._lock = threading.Lock()
        self._failures = 0
        self._rests_until: float | None = None  # None while it is closed
        self._trial_until: float | None = None

    @property
    def state(self) -> CircuitState:
        """Whether calls are let through: "closed", "open", or "half-open" (one is)."""
        if self._rests_until is None:
            return "closed"
        return "open" if monotonic() < self._rests_until else "half-open"

    def __enter__(self) -> None:
        """Let a call through, or refuse it."""
        with self._lock:
            if self._rests_until is None:
                return
            now = monotonic()
            waits = max(self._rests_until, self._trial_until or 0.0) - now
            if waits > 0:
                msg = (
                    f"not asked: it failed {self._failures} times in a row, and is tried again "
                    f"in {waits:.1f} s"
                )
                raise CircuitOpenError(msg)
            self._trial_until = now + self.reset_after

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Count how the call ended; a cancelled one, or a mistake of the caller, says nothing."""
        with self._lock:
            self._trial_until = None
            if error is None:
                self._failures, self._rests_until = 0, None
            elif isinstance(error, Exception) and not isinstance(error, CallerError):
                self._failures += 1
                if self._failures >= self.failure_threshold:
                    self._rests_until = monotonic() + self.reset_after

    def __reduce__(self) -> tuple[type[CircuitBreaker], tuple[int, float]]:
        """Copy and pickle the settings only."""
        return (CircuitBreaker, (self.failure_threshold, self.reset_after))
