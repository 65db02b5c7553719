"""Close the runs that a leg opened and, cancelled or hanging, will not close itself."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.callbacks.manager import ahandle_event, handle_event

_IGNORED_BY = {
    "chain": "ignore_chain",
    "llm": "ignore_llm",
    "retriever": "ignore_retriever",
    "tool": "ignore_agent",
}


class OpenRuns(BaseCallbackHandler):
    """Remembers which runs below a leg are open; core closes none when a task is cancelled."""

    run_inline = True

    def __init__(self) -> None:
        """Start with no run open."""
        self.open: dict[UUID, tuple[str, UUID | None]] = {}

    def close(self, handlers: list[BaseCallbackHandler], error: BaseException) -> None:
        """Tell the handlers that every open run ended with `error`, the innermost first.

        Args:
            handlers: Whom to tell.
            error: Why the runs ended.
        """
        for event, ignored_by, kwargs in self._events():
            handle_event(handlers, event, ignored_by, error, **kwargs)

    async def aclose(self, handlers: list[BaseCallbackHandler], error: BaseException) -> None:
        """Do as `close` does, for async handlers too.

        Args:
            handlers: Whom to tell.
            error: Why the runs ended.
        """
        for event, ignored_by, kwargs in self._events():
            await ahandle_event(handlers, event, ignored_by, error, **kwargs)

    def _events(self) -> list[tuple[str, str, dict[str, Any]]]:
        runs = list(self.open.items())
        self.open.clear()
        return [
            (f"on_{kind}_error", _IGNORED_BY[kind], {"run_id": run_id, "parent_run_id": parent})
            for run_id, (kind, parent) in reversed(runs)
        ]

    def _start(self, kind: str, run_id: UUID, parent_run_id: UUID | None) -> None:
        self.open[run_id] = (kind, parent_run_id)

    def _end(self, run_id: UUID) -> None:
        self.open.pop(run_id, None)

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

    def _on_end(self, *_: Any, run_id: UUID, **__: Any) -> None:
        """Forget the run."""
        self._end(run_id)

    on_chain_end = on_chain_error = _on_end
    on_llm_end = on_llm_error = _on_end
    on_retriever_end = on_retriever_error = _on_end
    on_tool_end = on_tool_error = _on_end
