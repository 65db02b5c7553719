"""Close the runs that a leg opened and, cancelled or hanging, will not close itself."""

from __future__ import annotations

from contextlib import suppress
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager
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


class OpenRuns(BaseCallbackHandler):
    """Remembers which runs below a leg are open; core closes none when a task is cancelled.

    Once closed it refuses whatever the leg still reports, so nobody hears of a run twice:
    it comes first among the handlers, and its error keeps an event from the others.
    """

    run_inline = True
    raise_error = True

    def __init__(self) -> None:
        """Start with no run open."""
        self.open: dict[UUID, tuple[str, UUID | None]] = {}
        self.others: list[BaseCallbackHandler] = []
        self.is_closed = False

    def watch(self, manager: BaseCallbackManager | None) -> None:
        """Watch the runs below a manager, if it has handlers to tell of them.

        Args:
            manager: The manager that the leg gets, changed in place; None for none.
        """
        if manager is not None and manager.handlers:
            self.others = list(manager.handlers)
            manager.handlers.insert(0, self)
            manager.inheritable_handlers.insert(0, self)

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

    def _start(self, kind: str, run_id: UUID, parent_run_id: UUID | None) -> None:
        self._check_open()
        self.open[run_id] = (kind, parent_run_id)

    def _on_end(self, *_: Any, run_id: UUID, **__: Any) -> None:
        """Forget the run."""
        self._check_open()
        self.open.pop(run_id, None)

    def _check_open(self) -> None:
        if self.is_closed:
            msg = "nobody waits for this leg any more; what it still does is not reported"
            raise RunClosedError(msg)

    def on_chain_start(
        self, *_: Any, run_id: UUID, parent_run_id: UUID | None = None, **__: Any
    ) -> None:
        """Remember the run."""
        self._start("chain", run_id, parent_run_id)

    def on_llm_start(
        self, *_: Any, run_id: UUID, parent_run_id: UUID | None = None, **__: Any
    ) -> None:
        """Remember the run."""
        self._start("llm", run_id, parent_run_id)

    def on_chat_model_start(
        self, *_: Any, run_id: UUID, parent_run_id: UUID | None = None, **__: Any
    ) -> None:
        """Remember the run."""
        self._start("llm", run_id, parent_run_id)

    def on_retriever_start(
        self, *_: Any, run_id: UUID, parent_run_id: UUID | None = None, **__: Any
    ) -> None:
        """Remember the run."""
        self._start("retriever", run_id, parent_run_id)

    def on_tool_start(
        self, *_: Any, run_id: UUID, parent_run_id: UUID | None = None, **__: Any
    ) -> None:
        """Remember the run."""
        self._start("tool", run_id, parent_run_id)

    on_chain_end = on_chain_error = _on_end
    on_llm_end = on_llm_error = _on_end
    on_retriever_end = on_retriever_error = _on_end
    on_tool_end = on_tool_error = _on_end
