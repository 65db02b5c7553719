"""How much time is left."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import monotonic


@dataclass(frozen=True)
class Deadline:
    """A point in time, so many seconds from now.

    Args:
        seconds: Greater than 0, or None for no end.

    Example:
        >>> Deadline(None).left() is None, 59 < Deadline(60).left() <= 60
        (True, True)
    """

    seconds: float | None
    started: float = field(default_factory=monotonic)

    def left(self) -> float | None:
        """Return the seconds that are left, 0 if none are, or None if there is no end."""
        if self.seconds is None:
            return None
        return max(self.started + self.seconds - monotonic(), 0.0)

    def cut(self, seconds: float | None) -> float | None:
        """Return a span of time, or what is left if that is less.

        Args:
            seconds: The span, or None for no end.

        Returns:
            Seconds, or None.
        """
        left = self.left()
        if left is None or seconds is None:
            return seconds if left is None else left
        return min(seconds, left)

    def sooner(self, seconds: float) -> Deadline:
        """Return the deadline that comes so much earlier.

        Args:
            seconds: How much.

        Returns:
            A new deadline, the same one if it has no end.
        """
        if self.seconds is None:
            return self
        return Deadline(max(self.seconds - seconds, 0.0), self.started)
