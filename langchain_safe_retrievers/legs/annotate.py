"""Facts of a retrieval for tracers, without anybody else's metadata being touched."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from langchain_core.tracers.base import BaseTracer


def annotate(handlers: Iterable[object], run_id: UUID, facts: Mapping[str, Any]) -> None:
    """Add facts to the metadata of a run that has not ended, as tracers record it.

    What tracers make spans of (LangSmith's, OpenTelemetry's instrumentations) reads it when the
    run ends. Events and other handlers see the metadata that upstream shows them.

    Args:
        handlers: The run's handlers; those that are no tracers are passed over.
        run_id: The run.
        facts: JSON-native values.

    Example:
        >>> from langchain_core.tracers.run_collector import RunCollectorCallbackHandler
        >>> annotate([RunCollectorCallbackHandler()], UUID(int=1), {"retriever_hits": 3})
    """
    for handler in handlers:
        run = handler.run_map.get(str(run_id)) if isinstance(handler, BaseTracer) else None
        if run is not None:
            extra = run.extra or {}
            run.extra = {**extra, "metadata": {**(extra.get("metadata") or {}), **facts}}
