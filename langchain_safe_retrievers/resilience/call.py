"""One guarded call: cache → breaker → until the deadline, attempts and pauses → fallbacks."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from time import monotonic
from typing import Any

from langchain_safe_retrievers.errors import (
    AllLegsFailedError,
    CallerError,
    CircuitOpenError,
    LegTimeoutError,
)
from langchain_safe_retrievers.fusion.fuser import RankedList
from langchain_safe_retrievers.legs.ask import Ask
from langchain_safe_retrievers.legs.asking import log_text
from langchain_safe_retrievers.legs.outcome import Outcome, passes_through
from langchain_safe_retrievers.report import LegReport, LegStatus, error_text
from langchain_safe_retrievers.resilience.deadline import Deadline
from langchain_safe_retrievers.resilience.retry import Retry
from langchain_safe_retrievers.resilience.waiting import Course, Wait
from langchain_safe_retrievers.retrieval import Retrieval

logger = logging.getLogger(__name__)


@dataclass(eq=False)
class Tried:
    """What one leg has been through.

    Args:
        ask: The question to it.
        status: What its answer is called, if there is one.
        attempts: How often it was asked.
        started: When it was asked first.
    """

    ask: Ask
    status: LegStatus = "ok"
    attempts: int = 0
    started: float = field(default_factory=monotonic)

    def report(self, hits: int, error: BaseException | None) -> LegReport:
        """Return how it ended.

        Args:
            hits: How many documents it returned.
            error: What it raised, or None.

        Returns:
            Its report.
        """
        status = self.status if error is None else _status_of(error)
        text = None if error is None else error_text(error)
        seconds = monotonic() - self.started
        return LegReport(self.ask.name, self.ask.query, status, hits, seconds, text, self.attempts)


@dataclass(eq=False)
class GuardedCall:
    """One call of a retriever and its fallbacks.

    Args:
        asks: The question to the retriever, then to each fallback.
        attempt: Asks once: an ask and the seconds it may take, or None, in; a wait for what
            became of it out.
        retrieval: Takes the reports.
        breaker: Lets the retriever be asked, or not; entered around all attempts.
        retry: Returns the rule by which to ask again; called once something failed.
        timeout: Seconds that one attempt may take, or None.
        deadline: When the whole call ends.
    """

    asks: Sequence[Ask]
    attempt: Callable[[Ask, float | None], Wait]
    retrieval: Retrieval
    breaker: AbstractContextManager[Any]
    retry: Callable[[], Retry]
    timeout: float | None
    deadline: Deadline

    def course(self) -> Course[RankedList]:
        """Ask the retriever, then its fallbacks, until one answers.

        Returns:
            The answer.

        Raises:
            Exception: The retriever's own error, if it has no fallbacks.
            AllLegsFailedError: The retriever and every fallback failed.
        """
        errors: list[Exception] = []
        for place, ask in enumerate(self.asks):
            try:
                deadline = self._share(place)
                ask_it = self._fallback if place else self._primary
                found = yield from ask_it(ask, deadline)
            except CallerError:
                raise
            except Exception as error:  # noqa: BLE001 - the next one is asked
                errors.append(error)
                self._tell_failed(place, error)
            else:
                self.retrieval.degraded = self.retrieval.degraded or place > 0
                return found
        if len(errors) == 1:
            raise errors[0]
        causes = "; ".join(
            f"{ask.name}: {error_text(error):.200}"
            for ask, error in zip(self.asks, errors, strict=True)
        )
        msg = f"the retriever and every fallback failed: {causes}"
        raise AllLegsFailedError(msg, errors)

    def _primary(self, ask: Ask, deadline: Deadline) -> Course[RankedList]:
        """Ask under the breaker, again and again."""
        tried = Tried(ask)
        with self._recorded(tried) as answers, self.breaker:
            while True:
                outcome = yield from self._attempt(tried, deadline)
                if outcome.error is None:
                    break
                yield from self._pause(tried, outcome.error, deadline)
            answers.append(outcome.value)
        return answers[0]

    def _fallback(self, ask: Ask, deadline: Deadline) -> Course[RankedList]:
        """Ask once."""
        tried = Tried(ask, "fallback")
        with self._recorded(tried) as answers:
            outcome = yield from self._attempt(tried, deadline)
            if outcome.error is not None:
                raise outcome.error
            answers.append(outcome.value)
        return answers[0]

    def _attempt(self, tried: Tried, deadline: Deadline) -> Course[Outcome]:
        limit = deadline.cut(self.timeout)
        if limit == 0:
            msg = f"leg {tried.ask.name!r} was not asked: the deadline has passed"
            return Outcome("timed out", error=LegTimeoutError(msg))
        tried.attempts += 1
        outcome: Outcome = yield self.attempt(tried.ask, limit)
        self.retrieval.degraded = self.retrieval.degraded or tried.ask.inner.degraded
        return outcome

    def _pause(self, tried: Tried, error: BaseException, deadline: Deadline) -> Course[None]:
        """Wait before the next attempt, or raise the error if there is to be none."""
        pause = self.retry().pause(error, tried.attempts)
        left = deadline.left()
        if pause is None or (left is not None and pause >= left):
            raise error
        name = tried.ask.name
        logger.warning(
            "leg %r failed at attempt %d, asked again in %.2f s: %s",
            name,
            tried.attempts,
            pause,
            type(error).__name__,
        )
        logger.debug("leg %r failed: %s", name, log_text(error))
        self.retrieval.note(f"{name}: attempt {tried.attempts} failed: {error_text(error)}")
        yield Wait(partial(time.sleep, pause), partial(asyncio.sleep, pause))

    def _share(self, place: int) -> Deadline:
        """Keep one timeout for each fallback that is left, at most half of the time that is."""
        left, further = self.deadline.left(), len(self.asks) - 1 - place
        if left is None or not further:
            return self.deadline
        kept = left if self.timeout is None else self.timeout * further
        return self.deadline.sooner(min(kept, left / 2))

    @contextmanager
    def _recorded(self, tried: Tried) -> Iterator[list[RankedList]]:
        """Report how a leg ends, whichever way it does."""
        answers: list[RankedList] = []
        problem: BaseException | None = None
        try:
            yield answers
        except BaseException as error:
            problem = error
            raise
        finally:
            hits = len(answers[0]) if answers else 0
            self.retrieval.legs.append(tried.report(hits, problem))

    def _tell_failed(self, place: int, error: Exception) -> None:
        name, what = self.asks[place].name, type(error).__name__
        logger.debug("leg %r failed: %s", name, log_text(error))
        if place + 1 < len(self.asks):
            further = self.asks[place + 1].name
            logger.warning("leg %r failed, %r is asked in its place: %s", name, further, what)
        elif place:  # else its own error is raised
            logger.warning("leg %r failed, and nobody is left to ask: %s", name, what)


def _status_of(error: BaseException) -> LegStatus:
    if passes_through(error):
        return "cancelled"
    if isinstance(error, CircuitOpenError):
        return "open circuit"
    return "timed out" if isinstance(error, LegTimeoutError) else "failed"


def seen_from_outside(legs: Sequence[LegReport]) -> tuple[LegStatus, int]:
    """Return what a retriever around this one says of it.

    Args:
        legs: The reports of the retriever and the fallbacks that were asked.

    Returns:
        The status of the one that answered, or of the first; and all attempts.
    """
    answered = [leg for leg in legs if leg.status in ("ok", "cached", "fallback")]
    return (answered or legs)[0].status, sum(leg.attempts for leg in legs)
