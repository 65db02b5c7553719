"""Let equal calls that are under way at once be one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any


class Flight:
    """One call that is under way, and how many wait for it beside the one who makes it."""

    def __init__(self) -> None:
        """Start with nobody waiting."""
        self.followers = 0
        self.answer: Future[Any] = Future()


class Flights:
    """The calls that are under way, by key.

    Example:
        >>> flights = Flights()
        >>> first, leads = flights.join("key")
        >>> second, follows = flights.join("key")
        >>> first is second, leads, follows
        (True, True, False)
        >>> flights.land("key", first, lambda: 42)
        >>> second.answer.result()
        42
    """

    def __init__(self) -> None:
        """Start with none."""
        self._lock = threading.Lock()
        self._under_way: dict[object, Flight] = {}

    def join(self, key: object) -> tuple[Flight, bool]:
        """Join the call of this key, or be the first.

        Args:
            key: What is asked.

        Returns:
            The call, and whether the caller leads: it is to `land` it.
        """
        with self._lock:
            flight = self._under_way.get(key)
            if flight is not None:
                flight.followers += 1
                return flight, False
            flight = self._under_way[key] = Flight()
            return flight, True

    def land(self, key: object, flight: Flight, answer: Callable[[], object]) -> None:
        """Give everybody who joined the answer; who comes later starts anew.

        Args:
            key: What was asked.
            flight: The call.
            answer: Returns what the followers get, None if it fails; not called if there are
                none.
        """
        with self._lock:
            self._under_way.pop(key, None)
        if flight.followers:
            value = None
            try:
                value = answer()
            finally:
                flight.answer.set_result(value)
