"""Close the runs that a leg opened and, cancelled or hanging, will not close itself."""

from __future__ import annotations

from contextlib import suppress
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
        self.others: list[BaseCallbackHandler] = []
        self.is_closed = False

    @classmethod
    def below(cls, manager: BaseCallbackManager | None) -> OpenRuns:
        """Watch the runs below a manager, if it has handlers to tell of them.

        Args:
            manager: The manager that the leg gets, changed in place; None for none.

        Returns:
            Who watches.
        """
        if manager is None or not manager.handlers:
            return cls()
        runs = _Async() if isinstance(manager, AsyncCallbackManager) else _Sync()
        runs.others = list(manager.handlers)
        manager.handlers.insert(0, runs)
        manager.inheritable_handlers.insert(0, runs)
        return runs

    def close(self, error: BaseException) -> None:
        """Tell the other handlers that every open run ended with `error`, the innermost first.

        Args:
            error: Why the runs ended.
        """
        for event, ignored_by, kwargs in self._events():
            with suppress(Exception):  # a handler's own error must not hide why we are here
                handle_event(self.others, event, ignored_by, error, **kwargs)

    async def aclose(self, error: BaseException) -> None:
        """Do as `close` does, for async handlers too.

        Args:
            error: Why the runs ended.
        """
        for event, ignored_by, kwargs in self._events():
            with suppress(Exception):
                await ahandle_event(self.others, event, ignored_by, error, **kwargs)

    def _events(self) -> list[tuple[str, str, dict[str, Any]]]:
        self.is_closed = True
        runs = list(self.open.items())
        self.open.clear()
        return [
            (f"on_{kind}_error", _IGNORED_BY[kind], {"run_id": run_id, "parent_run_id": parent})
            for run_id, (kind, parent) in reversed(runs)
        ]

    def _started(
        self, kind: str, *, run_id: UUID, parent_run_id: UUID | None = None, **_: Any
    ) -> None:
        self.open[run_id] = (kind, parent_run_id)

    def _ended(self, *, run_id: UUID, **_: Any) -> None:
        self.open.pop(run_id, None)


class _Sync(OpenRuns, BaseCallbackHandler):
    raise_error = True

    def _started(self, kind: str, **run: Any) -> None:
        self._check_open()
        super()._started(kind, **run)

    def _ended(self, **run: Any) -> None:
        self._check_open()
        super()._ended(**run)

    def _check_open(self) -> None:
        if self.is_closed:
            msg = "nobody waits for this leg any more; what it still does is not reported"
            raise RunClosedError(msg)

    def on_chain_start(self, *_: Any, **run: Any) -> None:
        self._started("chain", **run)

    def on_llm_start(self, *_: Any, **run: Any) -> None:
        self._started("llm", **run)

    def on_retriever_start(self, *_: Any, **run: Any) -> None:
        self._started("retriever", **run)

    def on_tool_start(self, *_: Any, **run: Any) -> None:
        self._started("tool", **run)

    def _on_end(self, *_: Any, **run: Any) -> None:
        self._ended(**run)

    on_chat_model_start = on_llm_start
    on_chain_end = on_llm_end = on_retriever_end = on_tool_end = _on_end
    on_chain_error = on_llm_error = on_retriever_error = on_tool_error = _on_end


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

    async def _on_end(self, *_: Any, **run: Any) -> None:
        self._ended(**run)

    on_chain_end = on_llm_end = on_retriever_end = on_tool_end = _on_end
    on_chain_error = on_llm_error = on_retriever_error = on_tool_error = _on_end
