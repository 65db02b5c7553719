"""Ask legs side by side, and settle what becomes of those that fail."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.runnables import RunnableConfig

from langchain_safe_retrievers.errors import AllLegsFailedError, LegTimeoutError
from langchain_safe_retrievers.fusion.fuser import RankedList
from langchain_safe_retrievers.legs.ask import Ask
from langchain_safe_retrievers.legs.open_runs import RunClosedError
from langchain_safe_retrievers.legs.outcome import Limits, Outcome
from langchain_safe_retrievers.legs.tasks import run_in_tasks
from langchain_safe_retrievers.legs.threads import MAX_ABANDONED, run_in_threads
from langchain_safe_retrievers.report import LegReport, LegStatus, error_text
from langchain_safe_retrievers.retrieval import Retrieval

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class FailurePolicy:
    """What becomes of an answer when legs fail.

    Args:
        on_error: "raise" (the first failed leg's own error; the others are cancelled) or
            "skip" (go on without it, leaving a warning, an error event and a report).
        timeout: Seconds after which a leg has failed, or None.
        required: Names of the legs whose failure is raised even if others are skipped.
    """

    on_error: Literal["raise", "skip"] = "raise"
    timeout: float | None = None
    required: Collection[str] = ()


def ask_legs(
    asks: Sequence[Ask],
    policy: FailurePolicy,
    retrieval: Retrieval,
    config: RunnableConfig | None,
    run_manager: CallbackManagerForRetrieverRun | None,
) -> list[RankedList]:
    """Ask legs side by side in threads, and settle what becomes of those that fail.

    Args:
        asks: What to ask whom.
        policy: What becomes of the answer when legs fail.
        retrieval: Takes the legs' reports.
        config: The config that the legs get.
        run_manager: The retriever's run.

    Returns:
        One list for each ask, in their order; empty for a leg that was skipped.

    Raises:
        AllLegsFailedError: Every leg failed, and failing legs are to be skipped.
        Exception: A leg's own error, if it is not to be skipped.
    """
    return _settle(asks, run_asks(asks, policy, config, run_manager), policy, retrieval)


async def aask_legs(
    asks: Sequence[Ask],
    policy: FailurePolicy,
    retrieval: Retrieval,
    config: RunnableConfig | None,
    run_manager: AsyncCallbackManagerForRetrieverRun | None,
) -> list[RankedList]:
    """Ask legs side by side in tasks; as `ask_legs`.

    Args:
        asks: What to ask whom.
        policy: What becomes of the answer when legs fail.
        retrieval: Takes the legs' reports.
        config: The config that the legs get.
        run_manager: The retriever's run.

    Returns:
        One list for each ask, in their order; empty for a leg that was skipped.

    Raises:
        AllLegsFailedError: Every leg failed, and failing legs are to be skipped.
        Exception: A leg's own error, if it is not to be skipped.
    """
    return _settle(asks, await arun_asks(asks, policy, config, run_manager), policy, retrieval)


def run_asks(
    asks: Sequence[Ask],
    policy: FailurePolicy,
    config: RunnableConfig | None,
    run_manager: CallbackManagerForRetrieverRun | None,
) -> list[Outcome]:
    """Ask legs side by side in threads; every run that they opened is closed.

    Args:
        asks: What to ask whom.
        policy: Whether one failure ends the others, and when a leg is late.
        config: The config that the legs get.
        run_manager: The retriever's run.

    Returns:
        What became of each ask, in their order; one that is late has a `LegTimeoutError`.
    """
    limits = _limits(policy, config)
    configs = [ask.config(config, run_manager) for ask in asks]
    jobs = [partial(ask.ask, its, policy.timeout) for ask, its in zip(asks, configs, strict=True)]
    outcomes: list[Outcome] | None = None
    try:
        outcomes = run_in_threads(jobs, limits, [ask.owner for ask in asks])
    finally:
        for ask, error in _given_up(asks, outcomes, policy):
            ask.runs.close(error)
    return _with_errors(asks, outcomes, policy)


async def arun_asks(
    asks: Sequence[Ask],
    policy: FailurePolicy,
    config: RunnableConfig | None,
    run_manager: AsyncCallbackManagerForRetrieverRun | None,
) -> list[Outcome]:
    """Ask legs side by side in tasks; as `run_asks`.

    Args:
        asks: What to ask whom.
        policy: Whether one failure ends the others, and when a leg is late.
        config: The config that the legs get.
        run_manager: The retriever's run.

    Returns:
        What became of each ask, in their order; one that is late has a `LegTimeoutError`.
    """
    limits = _limits(policy, config)
    if policy.timeout is not None and any(ask.is_sync_only for ask in asks):
        limits = replace(limits, workers=min(limits.workers or MAX_ABANDONED, MAX_ABANDONED))
    configs = [ask.config(config, run_manager) for ask in asks]
    jobs = [partial(ask.aask, its, policy.timeout) for ask, its in zip(asks, configs, strict=True)]
    outcomes: list[Outcome] | None = None
    try:
        outcomes = await run_in_tasks(jobs, limits)
    finally:
        for ask, error in _given_up(asks, outcomes, policy):
            await ask.runs.aclose(error)
    return _with_errors(asks, outcomes, policy)


def _limits(policy: FailurePolicy, config: RunnableConfig | None) -> Limits:
    workers = (config or {}).get("max_concurrency")
    stop = policy.on_error == "raise"
    return Limits(workers and max(workers, 1), policy.timeout, stop)


def _given_up(
    asks: Sequence[Ask], outcomes: Sequence[Outcome] | None, policy: FailurePolicy
) -> list[tuple[Ask, Exception]]:
    """Return the asks that nobody waits for any more, and why."""
    if outcomes is None:  # something that no policy holds back ended the call
        return [(ask, RunClosedError("the call was cancelled")) for ask in asks]
    given_up: list[tuple[Ask, Exception]] = []
    for ask, outcome in zip(asks, outcomes, strict=True):
        if outcome.status == "timed out":
            given_up.append((ask, _late_error(ask, policy)))
        elif outcome.status == "cancelled":
            given_up.append((ask, RunClosedError("another leg failed")))
    return given_up


def _with_errors(
    asks: Sequence[Ask], outcomes: Sequence[Outcome], policy: FailurePolicy
) -> list[Outcome]:
    if policy.timeout is None:
        return list(outcomes)
    return [
        replace(outcome, error=_late_error(ask, policy))
        if outcome.status == "timed out"
        else outcome
        for ask, outcome in zip(asks, outcomes, strict=True)
    ]


def _late_error(ask: Ask, policy: FailurePolicy) -> LegTimeoutError:
    return LegTimeoutError(f"leg {ask.name!r} did not answer within {policy.timeout:g} s")


def _settle(
    asks: Sequence[Ask], outcomes: Sequence[Outcome], policy: FailurePolicy, retrieval: Retrieval
) -> list[RankedList]:
    """Report every outcome; raise what is not to be skipped; return the lists."""
    failed = []
    for ask, outcome in zip(asks, outcomes, strict=True):
        retrieval.legs.append(_leg_report(ask, outcome))
        retrieval.degraded = retrieval.degraded or ask.inner.degraded
        if outcome.error is not None:
            failed.append((ask, outcome.error))
    if failed:
        retrieval.degraded = True
        _raise_or_warn(asks, failed, policy)
    return [
        outcome.value if outcome.status == "ok" else RankedList(leg=ask.name, query=ask.query)
        for ask, outcome in zip(asks, outcomes, strict=True)
    ]


def _raise_or_warn(
    asks: Sequence[Ask], failed: Sequence[tuple[Ask, BaseException]], policy: FailurePolicy
) -> None:
    for ask, error in failed:
        if policy.on_error == "raise" or ask.name in policy.required:
            _add_note(error, f"raised by leg {ask.name!r}")
            raise error
    fate = "and was skipped" if len(failed) < len(asks) else "as every leg did"
    for ask, error in failed:
        logger.warning("leg %r failed %s: %s", ask.name, fate, type(error).__name__)
        logger.debug("leg %r failed: %s", ask.name, log_text(error))
    if len(failed) == len(asks):
        causes = "; ".join(f"{ask.name}: {error_text(error):.200}" for ask, error in failed)
        msg = f"every leg failed: {causes}"
        raise AllLegsFailedError(
            msg, [error for _, error in failed if isinstance(error, Exception)]
        )


def log_text(error: BaseException) -> str:
    r"""Return an error's type and message for a log at DEBUG: one line, not long.

    It may quote the query and documents in any form: above DEBUG, log the type alone.

    Args:
        error: What a leg raised.

    Returns:
        At most 200 characters.

    Example:
        >>> log_text(ValueError("cannot read\n'my secret'"))
        "ValueError: cannot read 'my secret'"
    """
    return f"{' '.join(error_text(error).split()):.200}"


def _leg_report(ask: Ask, outcome: Outcome) -> LegReport:
    error = None if outcome.error is None else error_text(outcome.error)
    status: LegStatus = outcome.status
    if ask.inner.status is not None and status in ("ok", "failed"):
        status = ask.inner.status  # how a SafeRetriever came by its answer, or why it failed
    hits = len(outcome.value) if outcome.status == "ok" else 0
    return LegReport(ask.name, ask.query, status, hits, outcome.seconds, error, ask.inner.attempts)


def _add_note(error: BaseException, note: str) -> None:
    """Add a note once, also to an error object that a leg raises again and again."""
    with suppress(Exception):  # an error that takes no note is raised all the same
        if note not in getattr(error, "__notes__", ()):
            error.add_note(note)
