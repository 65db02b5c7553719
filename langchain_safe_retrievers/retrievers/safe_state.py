"""What a `SafeRetriever` remembers of its legs from call to call, for as long as they are those."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import is_
from typing import Any, NamedTuple
from uuid import uuid4

from pydantic import BaseModel

from langchain_safe_retrievers.legs.slots import Slots
from langchain_safe_retrievers.merging.copying import copy_containers
from langchain_safe_retrievers.resilience.breaker import CircuitBreaker
from langchain_safe_retrievers.resilience.fingerprint import fingerprint


@dataclass(frozen=True)
class Named:
    """What tells some legs' answers from others' in a cache.

    Args:
        legs: The legs.
        settings: What their own settings were.
        fingerprint: Those settings as text, the same in every process.
        opaque: The classes of what the fingerprint cannot tell apart.
        token: Tells these legs from all others in this process; another once they are changed.
    """

    legs: Sequence[Any]
    settings: Sequence[Mapping[str, Any]]
    fingerprint: str
    opaque: tuple[str, ...]
    token: str

    @classmethod
    def of(cls, legs: Sequence[Any]) -> Named:
        """Name legs as they are now.

        Args:
            legs: The legs.

        Returns:
            Their name.
        """
        known = [_known(leg) for leg in legs]
        token = " ".join(own.token for own in known)
        return cls(legs, [own.settings for own in known], *fingerprint(legs), token)

    @property
    def in_memory(self) -> str:
        """The name in a cache that no other process shares."""
        return f"{self.token} {self.fingerprint}" if self.opaque else self.fingerprint

    def still_fits(self) -> bool:
        """Tell whether nobody has changed the legs' own settings since."""
        return all(map(_has_settings, self.legs, self.settings))


@dataclass
class SafeState:
    """Circuit, threads and name of some legs.

    Args:
        legs: The legs.
        limits: `failure_threshold`, `reset_after` and `max_abandoned`.
        breaker: The first leg's circuit.
        slots: Each leg's threads.
        named: What they are called in a cache, once that was asked.
    """

    legs: Sequence[Any]
    limits: tuple[int | None, float, int]
    breaker: CircuitBreaker
    slots: list[Slots]
    named: Named | None = None

    @classmethod
    def new(cls, legs: Sequence[Any], limits: tuple[int | None, float, int]) -> SafeState:
        """Start with a closed circuit and no thread in use.

        Args:
            legs: The legs.
            limits: As above.

        Returns:
            The state.
        """
        threshold, reset_after, threads = limits
        slots = [Slots(threads) for _ in legs]
        return cls(legs, limits, CircuitBreaker(threshold or 1, reset_after), slots)

    def is_of(self, legs: Sequence[Any], limits: tuple[int | None, float, int]) -> bool:
        """Tell whether it is the state of these legs under these limits.

        Args:
            legs: The legs.
            limits: As above.

        Returns:
            False once a field was set, or a copy made with others.
        """
        same = len(legs) == len(self.legs) and all(map(is_, legs, self.legs))
        return same and limits == self.limits

    def name(self) -> Named:
        """Return what the legs are called in a cache, as they are now."""
        named = self.named
        if named is None or not named.still_fits():
            self.named = named = Named.of(self.legs)
        return named


class _Known(NamedTuple):
    """A leg that was seen, how it was set, and what nobody else is called."""

    leg: Callable[[], Any]
    settings: Mapping[str, Any]
    token: str


_seen: dict[int, _Known] = {}  # by id, for as long as the leg lives: retrievers have no hash


def _known(leg: Any) -> _Known:
    """Return what is known of a leg, whichever retriever it is in; it is new once it changes."""
    place = id(leg)
    known = _seen.get(place)
    if known is None or known.leg() is not leg or not _has_settings(leg, known.settings):
        seen = weakref.ref(leg, lambda _: _seen.pop(place, None))
        _seen[place] = known = _Known(seen, _settings(leg), uuid4().hex)
    return known


def _settings(leg: Any) -> Mapping[str, Any]:
    """Return a leg's own settings, dicts such as `search_kwargs` copied."""
    if not isinstance(leg, BaseModel):
        return {}
    own = vars(leg)
    return {
        name: copy_containers(own[name]) if type(own[name]) is dict else own[name]
        for name in type(leg).model_fields
        if name in own
    }


def _has_settings(leg: Any, settings: Mapping[str, Any]) -> bool:
    own = vars(leg) if settings else {}
    try:
        for name, value in settings.items():
            now = own[name]
            if now is not value and not (type(now) is dict and now == value):
                return False
    except Exception:  # noqa: BLE001 - values that cannot be compared may be others
        return False
    return True
