"""Bound how many threads one leg may hold at once, those that hang in it included."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass

from langchain_core.runnables import RunnableConfig

from langchain_safe_retrievers.errors import LegHangingError, LegTimeoutError
from langchain_safe_retrievers.fusion.fuser import RankedList
from langchain_safe_retrievers.legs.ask import Ask
from langchain_safe_retrievers.legs.threads import abandoned_threads


class Slots:
    """So many calls of a leg run in threads at once; others wait their turn, first come first.

    Args:
        limit: How many, at least 1.

    Example:
        >>> slots = Slots(1)
        >>> slots.take(timeout=1)
        >>> slots.free
        0
        >>> slots.release()
    """

    def __init__(self, limit: int) -> None:
        """Start with all of them free."""
        self.limit = limit
        self.free = limit
        self._lock = threading.Lock()
        self._waiting: deque[Future[None]] = deque()

    def take(self, timeout: float | None) -> None:
        """Take a slot, waiting for one if need be.

        Args:
            timeout: Seconds to wait, or None for no end.

        Raises:
            LegTimeoutError: None became free in time.
        """
        turn = self._queue()
        if turn is None:
            return
        try:
            turn.result(timeout)
        except BaseException as error:
            self._give_up(turn)
            if isinstance(error, TimeoutError):
                msg = f"no thread became free within {timeout:g} s; {self.limit} are in use"
                raise LegTimeoutError(msg) from None
            raise

    async def atake(self) -> None:
        """Take a slot, waiting for one if need be, without blocking the loop."""
        turn = self._queue()
        if turn is None:
            return
        try:
            await asyncio.wrap_future(turn)
        except BaseException:
            self._give_up(turn)
            raise

    def release(self) -> None:
        """Give a slot back: to who has waited longest, if anybody does."""
        with self._lock:
            while self._waiting:
                turn = self._waiting.popleft()
                if turn.set_running_or_notify_cancel():
                    turn.set_result(None)
                    return
            self.free += 1

    def __reduce__(self) -> tuple[type[Slots], tuple[int]]:
        """Copy and pickle the limit only."""
        return (Slots, (self.limit,))

    def _queue(self) -> Future[None] | None:
        """Take a free slot and return None, or stand in line."""
        with self._lock:
            if self.free:
                self.free -= 1
                return None
            turn: Future[None] = Future()
            self._waiting.append(turn)
            return turn

    def _give_up(self, turn: Future[None]) -> None:
        """Leave the line; a slot that was given at this very moment is given back."""
        with self._lock:
            if turn in self._waiting:
                self._waiting.remove(turn)
                return
        try:
            turn.result(0)
        except (TimeoutError, CancelledError):
            return
        self.release()


@dataclass(eq=False, kw_only=True)
class SlottedAsk(Ask):
    """One question to one leg, which holds a slot for as long as its thread runs.

    Args:
        slots: The leg's slots.
    """

    slots: Slots
    has_begun: bool = False  # and so gives its slot back

    def ask(self, config: RunnableConfig, leg_timeout: float | None) -> RankedList:
        """Ask and read the answer, in a slot that was taken before; see `Ask.ask`."""
        del leg_timeout  # the slots bound what hangs
        self.has_begun = True
        try:
            return super().ask(config, None)
        finally:
            self.slots.release()

    async def aask(self, config: RunnableConfig, leg_timeout: float | None) -> RankedList:
        """Ask and read the answer, in a slot if it takes a thread; see `Ask.aask`."""
        if not self.is_sync_only:
            return await super().aask(config, leg_timeout)
        self.refuse_if_hanging()
        await self.slots.atake()
        try:
            return await self._aask_in_thread(config)
        except RuntimeError:
            if not self.has_begun:  # no thread could be started
                self.slots.release()
            raise

    def refuse_if_hanging(self) -> None:
        """Fail at once if as many threads as there are slots hang in the leg.

        Raises:
            LegHangingError: They do.
        """
        hanging = abandoned_threads(self.owner)
        if hanging >= self.slots.limit:
            msg = f"leg {self.name!r} was not asked: {hanging} threads still hang in it"
            raise LegHangingError(msg)
