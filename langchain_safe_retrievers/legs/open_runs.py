"""Close the runs that a leg opened and, cancelled or hanging, will not close itself."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from threading import Condition
from time import monotonic
from typing import Any
from uuid import UUID

from langchain_core.callbacks import (
    AsyncCallbackHandler,
    AsyncCallbackManager,
    BaseCallbackHandler,
    BaseCallbackManager,
)
from langchain_core.callbacks.manager import ahandle_event, handle_event

from langchain_safe_retrievers.errors import LegError
from langchain_safe_retrievers.legs.annotate import annotate

_PATIENCE = 0.1  # seconds that handlers are given to hear of the start or end of a run
_IGNORED_BY = {
    "chain": "ignore_chain",
    "llm": "ignore_llm",
    "retriever": "ignore_retriever",
    "tool": "ignore_agent",
}


class RunClosedError(LegError):
    """Stops a leg that nobody waits for any more at the next run that it starts or ends."""


class OpenRuns:
    """Remembers which runs below a leg are open; core closes none when a task is cancelled.

    Once closed, in threads, it refuses whatever the leg still reports, so nobody hears of a run
    twice: it comes first among the handlers, and its error keeps an event from the others.

    Example:
        >>> from langchain_core.callbacks import CallbackManager
        >>> OpenRuns.below(CallbackManager(handlers=[])).open
        {}
    """

    def __init__(self) -> None:
        """Start with no run open."""
        self.open: dict[UUID, tuple[str, UUID | None]] = {}
        self.around: list[OpenRuns] = []
        self.others: list[BaseCallbackHandler] = []
        self.is_closed = False
        self.name = ""
        self.leg: UUID | None = None
        self.telling: set[UUID] = set()
        self.changed = Condition()

    @classmethod
    def below(cls, manager: BaseCallbackManager | None, name: str = "") -> OpenRuns:
        """Watch the runs below a manager, if it has handlers to tell of them.

        Args:
            manager: The manager that the leg gets, changed in place; None for none.
            name: The leg's name, for tracers.

        Returns:
            Who watches.
        """
        if manager is None or not manager.handlers:
            return cls()
        runs = _Async() if isinstance(manager, AsyncCallbackManager) else _Sync()
        runs.name = name
        runs.around = [other for other in manager.handlers if isinstance(other, OpenRuns)]
        runs.others = [
            other for other in manager.handlers if not isinstance(other, (OpenRuns, _Last))
        ]
        for handlers in (manager.handlers, manager.inheritable_handlers):
            handlers.insert(0, runs)
            if isinstance(runs, _Sync):
                handlers.append(_Last(runs))
        return runs

    def close(self, error: BaseException) -> None:
        """Tell the other handlers that every open run ended with `error`, the innermost first.

        Args:
            error: Why the runs ended.
        """
        with self.changed:
            self.changed.wait_for(lambda: not self.telling, _PATIENCE)
            events = self._events()
        for event, ignored_by, kwargs in events:
            with suppress(Exception):  # a handler's own error must not hide why we are here
                handle_event(self.others, event, ignored_by, error, **kwargs)

    async def aclose(self, error: BaseException) -> None:
        """Do as `close` does, for async handlers too.

        Args:
            error: Why the runs ended.
        """
        try:  # inline handlers hear of an end before we do: let us hear of it too
            until = monotonic() + _PATIENCE
            await asyncio.sleep(0)
            while self.telling and monotonic() < until:  # noqa: ASYNC110 - threads change it
                await asyncio.sleep(0.001)
        finally:
            with self.changed:
                events = self._events()
            for event, ignored_by, kwargs in events:
                with suppress(Exception):
                    await ahandle_event(self.others, event, ignored_by, error, **kwargs)

    def _events(self) -> list[tuple[str, str, dict[str, Any]]]:
        self.is_closed = True
        events: list[tuple[str, str, dict[str, Any]]] = []
        with suppress(KeyError):  # a run is taken out by who ends it: us, or the leg's thread
            while True:
                run_id, (kind, parent) = self.open.popitem()
                ids = {"run_id": run_id, "parent_run_id": parent}
                if self.leg == run_id:
                    annotate(self.others, run_id, {"retriever_leg": self.name})
                if all([other.forget(run_id) for other in self.around]):  # noqa: C419 - each of them
                    events.append((f"on_{kind}_error", _IGNORED_BY[kind], ids))
        return events

    def forget(self, run_id: UUID) -> bool:
        """Take note that another one closes a run.

        Args:
            run_id: The run.

        Returns:
            Whether the others are to be told: not if this one has told them already.
        """
        return self.open.pop(run_id, None) is not None or not self.is_closed

    def _started(
        self, kind: str, *, run_id: UUID, parent_run_id: UUID | None = None, **_: Any
    ) -> None:
        self.open[run_id] = (kind, parent_run_id)
        self.leg = self.leg or run_id  # the first is the leg's own

    def _ended(self, result: Any = None, *_: Any, run_id: UUID, **__: Any) -> bool:
        if self.leg == run_id:
            hits = {"retriever_hits": len(result)} if isinstance(result, list) else {}
            annotate(self.others, run_id, {"retriever_leg": self.name, **hits})
        return self.open.pop(run_id, None) is not None


class _Sync(OpenRuns, BaseCallbackHandler):
    raise_error = True

    def _started(self, kind: str, **run: Any) -> None:
        with self.changed:
            self._check_open()
            super()._started(kind, **run)
            self.telling.add(run["run_id"])

    def _ended(self, *results: Any, **run: Any) -> bool:
        with self.changed:
            known = super()._ended(*results, **run) or self._check_open()
            self.telling.add(run["run_id"])
        return known

    def _check_open(self) -> bool:
        if self.is_closed:
            msg = "nobody waits for this leg any more; what it still does is not reported"
            raise RunClosedError(msg)
        return True

    def on_chain_start(self, *_: Any, **run: Any) -> None:
        self._started("chain", **run)

    def on_llm_start(self, *_: Any, **run: Any) -> None:
        self._started("llm", **run)

    def on_retriever_start(self, *_: Any, **run: Any) -> None:
        self._started("retriever", **run)

    def on_tool_start(self, *_: Any, **run: Any) -> None:
        self._started("tool", **run)

    def _on_end(self, *results: Any, **run: Any) -> None:
        self._ended(*results, **run)

    on_chat_model_start = on_llm_start
    on_chain_end = on_llm_end = on_retriever_end = on_tool_end = _on_end
    on_chain_error = on_llm_error = on_retriever_error = on_tool_error = _on_end


class _Last(BaseCallbackHandler):
    """Comes last among the handlers: once it hears of a run's start or end, all have."""

    def __init__(self, runs: OpenRuns) -> None:
        self.runs = runs

    def _heard(self, *_: Any, run_id: UUID, **__: Any) -> None:
        with self.runs.changed:
            self.runs.telling.discard(run_id)
            self.runs.changed.notify_all()

    on_chain_start = on_llm_start = on_chat_model_start = _heard
    on_retriever_start = on_tool_start = _heard
    on_chain_end = on_llm_end = on_retriever_end = on_tool_end = _heard
    on_chain_error = on_llm_error = on_retriever_error = on_tool_error = _heard


class _Async(OpenRuns, AsyncCallbackHandler):
    """The same as coroutines: core tells the others nothing of a model if one runs inline."""

    async def on_chain_start(self, *_: Any, **run: Any) -> None:
        self._started("chain", **run)

    async def on_llm_start(self, *_: Any, **run: Any) -> None:
        self._started("llm", **run)

    async def on_chat_model_start(self, *_: Any, **run: Any) -> None:
        self._started("llm", **run)

    async def on_retriever_start(self, *_: Any, **run: Any) -> None:
        self._started("retriever", **run)

    async def on_tool_start(self, *_: Any, **run: Any) -> None:
        self._started("tool", **run)

    async def _on_end(self, *results: Any, **run: Any) -> None:
        self._ended(*results, **run)

    on_chain_end = on_llm_end = on_retriever_end = on_tool_end = _on_end
    on_chain_error = on_llm_error = on_retriever_error = on_tool_error = _on_end


def watch_thread(manager: BaseCallbackManager) -> None:
    """Let those who watch below a loop refuse what a thread reports, which a coroutine cannot.

    Args:
        manager: The manager that a leg in a thread gets, changed in place.
    """
    for handlers in (manager.handlers, manager.inheritable_handlers):
        last = [_Last(one) for one in handlers if isinstance(one, _Async)]
        handlers[:] = [_in_thread(one) if isinstance(one, _Async) else one for one in handlers]
        handlers.extend(last)


def _in_thread(runs: _Async) -> _Sync:
    same = _Sync()
    same.__dict__ = runs.__dict__  # what one knows, both know
    return same
