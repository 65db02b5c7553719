"""Answer from a cache where it can, and let equal calls that are under way be one."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from langchain_safe_retrievers.errors import LegTimeoutError, MetadataError
from langchain_safe_retrievers.fusion.fuser import RankedList
from langchain_safe_retrievers.legs.outcome import Limits, Outcome
from langchain_safe_retrievers.legs.tasks import run_in_tasks
from langchain_safe_retrievers.legs.threads import run_in_own_thread, run_in_threads
from langchain_safe_retrievers.report import LegReport, error_text
from langchain_safe_retrievers.resilience.cache import DocumentCache, copied
from langchain_safe_retrievers.resilience.call import GuardedCall
from langchain_safe_retrievers.resilience.deadline import Deadline
from langchain_safe_retrievers.resilience.flights import Flight
from langchain_safe_retrievers.resilience.waiting import Course, Wait
from langchain_safe_retrievers.retrieval import Retrieval

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Landed:
    """What the leader of a flight tells its followers."""

    found: RankedList | None = None
    error: Exception | None = None
    degraded: bool = False


@dataclass(eq=False)
class Remembering:
    """One call that may be answered from a cache.

    Args:
        cache: Where answers are remembered.
        key: What is asked of whom.
        name: The leg's name, for the report.
        query: The query, for the report.
        call: Returns what asks the leg.
        retrieval: Takes the report.
        deadline: When the call ends.
        is_async: Whether the call is async; calls join those of their own world and loop only.
    """

    cache: DocumentCache
    key: str
    name: str
    query: str
    call: Callable[[], GuardedCall]
    retrieval: Retrieval
    deadline: Deadline
    is_async: bool

    def course(self) -> Course[RankedList]:
        """Look up, or join an equal call, or ask and remember.

        Returns:
            The answer; the caller's own copy if it was somebody else's before.
        """
        found = yield from self._look_up()
        while found is None:
            world = id(asyncio.get_running_loop()) if self.is_async else None
            flight, leads = self.cache.flights.join((self.key, world))
            if leads:
                return (yield from self._lead((self.key, world), flight))
            found = yield from self._follow(flight)
        return found

    def _lead(self, flight_key: object, flight: Flight) -> Course[RankedList]:
        """Ask, for everybody who joins."""
        landed: _Landed | None = None  # cancelled: the followers see to themselves
        try:
            found = yield from self._look_up()  # it may have landed since we looked
            if found is None:
                self.retrieval.cache = self.retrieval.cache or "miss"
                found = yield from self.call().course()
                yield from self._remember(found)
            landed = _Landed(found, degraded=self.retrieval.degraded)
        except Exception as error:
            landed = _Landed(error=error)
            raise
        else:
            return found
        finally:
            self.cache.flights.land(flight_key, flight, lambda: landed and _copy_of(landed))

    def _follow(self, flight: Flight) -> Course[RankedList | None]:
        """Wait for who leads; None if nobody does any more."""
        left = self.deadline.left()
        try:
            landed: _Landed | None = yield Wait(
                partial(flight.answer.result, left), partial(_await_answer, flight, left)
            )
        except TimeoutError:
            msg = f"leg {self.name!r}: an equal call under way did not end before the deadline"
            raise LegTimeoutError(msg) from None
        if landed is None:
            return None
        if landed.error is not None:
            self._report_leg("failed", 0, error_text(landed.error))
            raise landed.error
        found = copied(landed.found or RankedList())
        self.retrieval.cache = "shared"
        self.retrieval.degraded = self.retrieval.degraded or landed.degraded
        self._report_leg("cached", len(found))
        return found

    def _look_up(self) -> Course[RankedList | None]:
        found = yield from self._guarded(
            partial(self.cache.get, self.key), partial(self.cache.aget, self.key)
        )
        if found is not None:
            self.retrieval.cache = "hit"
            self._report_leg("cached", len(found))
        return found  # type: ignore[no-any-return]

    def _remember(self, found: RankedList) -> Course[None]:
        if not self.retrieval.degraded:
            yield from self._guarded(
                partial(self.cache.put, self.key, found), partial(self.cache.aput, self.key, found)
            )

    def _guarded(self, now: Callable[[], Any], later: Callable[[], Any]) -> Course[Any]:
        """Use the cache; one that is down, or late, is a mark in the report and no more."""
        if self.retrieval.cache == "error":
            return None
        try:
            if self.cache.store is None:
                return now()
            with self.cache.breaker:
                return self._value_of((yield self._in_time(now, later)))
        except MetadataError as error:
            self.retrieval.note(f"not cached: {error}")
        except Exception as error:  # noqa: BLE001 - retrieval goes on without the cache
            self.retrieval.cache = "error"
            self.retrieval.note(f"the cache is down: {error_text(error):.200}")
            logger.warning("the cache of leg %r is down: %s", self.name, type(error).__name__)
        return None

    def _value_of(self, outcome: Outcome) -> Any:
        if outcome.status == "timed out":
            msg = f"the cache did not answer within {self.cache.timeout:g} s"
            raise LegTimeoutError(msg)
        if outcome.error is not None:
            raise outcome.error
        return outcome.value

    def _in_time(self, now: Callable[[], Any], later: Callable[[], Any]) -> Wait:
        limits = Limits(timeout=self.deadline.cut(self.cache.timeout))
        owner = id(self.cache)
        if self.cache.is_sync_only:
            later = partial(run_in_own_thread, now, owner)

        async def awaited() -> Outcome:
            return (await run_in_tasks([later], limits))[0]

        return Wait(lambda: run_in_threads([now], limits, [owner])[0], awaited)

    def _report_leg(self, status: Any, hits: int, error: str | None = None) -> None:
        self.retrieval.legs.append(
            LegReport(self.name, self.query, status, hits, error=error, attempts=0)
        )


async def _await_answer(flight: Flight, left: float | None) -> Any:
    answer = asyncio.wrap_future(flight.answer)
    return await asyncio.wait_for(asyncio.shield(answer), left)


def _copy_of(landed: _Landed) -> _Landed:
    """Return what the followers get: nobody changes it, for nobody else has it."""
    if landed.found is None:
        return landed
    return _Landed(copied(landed.found), landed.error, landed.degraded)
