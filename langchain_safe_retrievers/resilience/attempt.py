"""Ask a leg once, under a timeout, in a bounded number of threads."""

from __future__ import annotations

from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import Any

from langchain_core.runnables import RunnableConfig

from langchain_safe_retrievers.errors import LegTimeoutError
from langchain_safe_retrievers.legs.ask import Ask
from langchain_safe_retrievers.legs.asking import FailurePolicy, arun_asks, run_asks
from langchain_safe_retrievers.legs.outcome import Outcome
from langchain_safe_retrievers.legs.slots import SlottedAsk
from langchain_safe_retrievers.resilience.waiting import Wait


@dataclass(frozen=True)
class Attempt:
    """How a leg is asked once.

    Args:
        config: The caller's config.
        run_manager: The run that the leg's goes below.
    """

    config: RunnableConfig | None
    run_manager: Any

    def __call__(self, ask: Ask, limit: float | None) -> Wait:
        """Return what is to be waited for.

        Args:
            ask: The question.
            limit: Seconds that it may take, or None.

        Returns:
            A wait for its `Outcome`.
        """
        return Wait(partial(self._now, ask, limit), partial(self._later, ask, limit))

    def _now(self, ask: Ask, limit: float | None) -> Outcome:
        if limit is not None and isinstance(ask, SlottedAsk):
            return self._in_a_slot(ask, limit)
        return copy_context().run(self._here, ask)

    def _here(self, ask: Ask) -> Outcome:
        """Ask in this thread, for as long as it takes."""
        config = ask.config(self.config, self.run_manager)
        try:
            return Outcome("ok", value=Ask.ask(ask, config, None))
        except Exception as error:  # noqa: BLE001 - who called decides what becomes of it
            return Outcome("failed", error=error)
        except BaseException as error:
            ask.runs.close(error)
            raise

    def _in_a_slot(self, ask: SlottedAsk, limit: float) -> Outcome:
        started = monotonic()
        try:
            ask.refuse_if_hanging()
            ask.slots.take(limit)
        except LegTimeoutError as error:
            return Outcome("timed out", error=error, seconds=monotonic() - started)
        left = max(limit - (monotonic() - started), 0.001)
        try:
            policy = FailurePolicy(timeout=left)
            return run_asks([ask], policy, self.config, self.run_manager)[0]
        except Exception:  # no thread could be started, so none gives the slot back
            ask.slots.release()
            raise

    async def _later(self, ask: Ask, limit: float | None) -> Outcome:
        policy = FailurePolicy(timeout=limit)
        return (await arun_asks([ask], policy, self.config, self.run_manager))[0]
