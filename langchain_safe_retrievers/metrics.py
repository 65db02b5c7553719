"""RetrievalMetrics: what runs and retrievals do, as metrics that Prometheus reads."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from threading import RLock
from time import monotonic
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler

from langchain_safe_retrievers.errors import ConfigurationError
from langchain_safe_retrievers.extras import load
from langchain_safe_retrievers.report import EVENT

# 0.8 s is where the alert in examples/grafana/alerts.yml lies: a bound makes it exact.
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.4, 0.8, 1.5, 3, 5, 10, 30, 60)
_DOCUMENTS = (0, 1, 2, 3, 5, 10, 20, 50, 100, 200, 500)
_OPEN_RUNS = 20_000  # some 5 MB; runs that nobody ever ends are forgotten, the oldest first
_LONGEST = 100  # characters of a label's value
_OTHER = "other"
_ASKED = frozenset({"ok", "failed", "timed out", "fallback"})  # their seconds tell of the leg
_FAILED = frozenset({"failed", "timed out", "open circuit"})


class RetrievalMetrics(BaseCallbackHandler):
    """Times every run, and counts what every retrieval reports, for Prometheus.

    Give one to every call, sync or async: `chain.invoke(query, {"callbacks": [metrics]})`, or
    `chain.with_config(callbacks=[metrics])`. It runs where the call runs, waits for nothing, and
    is safe in threads. Each retrieval counts once, also one inside another. docs/monitoring.md
    says what each metric means.

    Args:
        registry: A `prometheus_client.CollectorRegistry`; None for the default one. A registry
            takes one handler of a namespace.
        namespace: What every metric's name starts with, before an underscore; "" for nothing.
        max_label_values: How many different values a label may have, at least 1; all further
            ones are counted as "other".

    Raises:
        ConfigurationError: The registry has metrics of these names, or a setting cannot work.
        MissingExtraError: prometheus-client is not installed.

    Example:
        >>> from prometheus_client import CollectorRegistry
        >>> from langchain_safe_retrievers import SafeEnsembleRetriever
        >>> from langchain_safe_retrievers.testing import FakeLeg
        >>> registry = CollectorRegistry()
        >>> metrics = RetrievalMetrics(registry)
        >>> legs = [FakeLeg(documents=["a"]), FakeLeg(error=OSError("down"))]
        >>> retriever = SafeEnsembleRetriever(retrievers=legs, on_leg_error="skip")
        >>> _ = retriever.invoke("question", {"callbacks": [metrics]})
        >>> registry.get_sample_value("retriever_degraded_total")
        1.0
    """

    run_inline = True  # as LangChain's own tracer: in order, and never behind a full thread pool

    def __init__(
        self, registry: Any = None, namespace: str = "", *, max_label_values: int = 100
    ) -> None:
        """Register the metrics."""
        super().__init__()
        prometheus = load("prometheus_client", "metrics")
        _check(namespace, max_label_values)
        self._metrics = _Metrics.made_by(prometheus, namespace)
        self._labels = _Labels(max_label_values)
        self._open: dict[UUID, tuple[tuple[str, str], float]] = {}
        self._lock = RLock()  # a signal handler may retrieve too
        try:
            (prometheus.REGISTRY if registry is None else registry).register(self._metrics)
        except ValueError as error:
            msg = (
                f"the metrics are not registered: {error}; expected a registry without metrics of "
                "these names: make one RetrievalMetrics and give it to every call, or name "
                "another namespace= or registry="
            )
            raise ConfigurationError(msg) from error

    # Runs -----------------------------------------------------------------------------------------

    def on_chain_start(self, *event: Any, **run: Any) -> None:
        """Remember when a chain, prompt or parser started."""
        self._start("chain", *event, **run)

    def on_llm_start(self, *event: Any, **run: Any) -> None:
        """Remember when a model started."""
        self._start("llm", *event, **run)

    def on_chat_model_start(self, *event: Any, **run: Any) -> None:
        """Remember when a chat model started."""
        self._start("llm", *event, **run)

    def on_retriever_start(self, *event: Any, **run: Any) -> None:
        """Remember when a retriever started."""
        self._start("retriever", *event, **run)

    def on_tool_start(self, *event: Any, **run: Any) -> None:
        """Remember when a tool started."""
        self._start("tool", *event, **run)

    def _on_end(self, *_: Any, run_id: UUID, **__: Any) -> None:
        """Observe how long a run took, whichever way it ended."""
        with self._lock:
            labels, started = self._open.pop(run_id, (None, 0.0))
        if labels is not None:
            self._metrics.run_seconds.labels(*labels).observe(monotonic() - started)

    on_chain_end = on_llm_end = on_retriever_end = on_tool_end = _on_end
    on_chain_error = on_llm_error = on_retriever_error = on_tool_error = _on_end

    def _start(self, kind: str, serialized: Any = None, *_: Any, run_id: UUID, **run: Any) -> None:
        name = self._labels.of("name", _name(serialized, run.get("name")))
        kind = self._labels.of("kind", run.get("run_type") or kind)
        with self._lock:
            self._open[run_id] = (name, kind), monotonic()
            if len(self._open) > _OPEN_RUNS:
                del self._open[next(iter(self._open))]

    # Reports --------------------------------------------------------------------------------------

    def on_custom_event(self, name: str, data: Any, **_: Any) -> None:
        """Count what a retrieval reports."""
        if name != EVENT or not isinstance(data, Mapping):
            return
        self._metrics.results.observe(data["documents"])
        self._metrics.degraded.inc(bool(data["degraded"]))
        self._metrics.unparsed.inc(_has_no_queries(data))
        if data["cache"] is not None:
            self._metrics.cache.labels(self._labels.of("outcome", data["cache"])).inc()
        for leg in data["legs"]:
            self._count_leg(leg)
        for key in _conflicting_keys(data["conflicts"]):
            self._metrics.conflicts.labels(self._labels.of("key", key)).inc()

    def _count_leg(self, leg: Mapping[str, Any]) -> None:
        name, status = self._labels.of("leg", leg["leg"]), leg["status"]
        if status in _ASKED:
            self._metrics.leg_seconds.labels(name).observe(leg["seconds"])
        if status in _FAILED:
            error = self._labels.of("error", _error_type(leg["error"] or status))
            self._metrics.leg_failures.labels(name, error).inc()


@dataclass(frozen=True, eq=False)
class _Metrics:
    """The metrics; a registry takes all of them or none."""

    run_seconds: Any
    leg_seconds: Any
    leg_failures: Any
    results: Any
    degraded: Any
    cache: Any
    conflicts: Any
    unparsed: Any

    @classmethod
    def made_by(cls, prometheus: Any, namespace: str) -> _Metrics:
        counter = partial(prometheus.Counter, namespace=namespace, registry=None)
        histogram = partial(prometheus.Histogram, namespace=namespace, registry=None)
        seconds = partial(histogram, buckets=_SECONDS)
        return cls(
            run_seconds=seconds(
                "langchain_runnable_duration_seconds", "How long runs took.", ("name", "kind")
            ),
            leg_seconds=seconds("retriever_leg_duration_seconds", "How long legs took.", ("leg",)),
            leg_failures=counter(
                "retriever_leg_failures", "Legs that gave no answer.", ("leg", "error")
            ),
            results=histogram("retriever_results", "Documents returned.", buckets=_DOCUMENTS),
            degraded=counter("retriever_degraded", "Retrievals that may be worse than asked for."),
            cache=counter("retriever_cache_requests", "What caches said.", ("outcome",)),
            conflicts=counter("retriever_merge_conflicts", "Metadata displaced.", ("key",)),
            unparsed=counter("query_parse_failures", "Retrievals for which no query was written."),
        )

    def collect(self) -> Iterator[Any]:
        """Yield every metric as it is."""
        for metric in vars(self).values():
            yield from metric.collect()

    def describe(self) -> Iterator[Any]:
        """Yield every metric without its values."""
        for metric in vars(self).values():
            yield from metric.describe()


class _Labels:
    """The values that each label has had: at most so many, the others are one."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._known: dict[str, set[str]] = {}
        self._lock = RLock()

    def of(self, label: str, value: object) -> str:
        """Return the value as it may be exposed."""
        text = str(value)[:_LONGEST].encode(errors="replace").decode()
        known = self._known.get(label, ())
        if text in known:
            return text
        with self._lock:
            values = self._known.setdefault(label, set())
            if len(values) >= self._limit and text not in values:
                return _OTHER
            values.add(text)
        return text


def _check(namespace: object, max_label_values: object) -> None:
    if not isinstance(namespace, str) or not re.fullmatch(r"([a-zA-Z_]\w*)?", namespace, re.ASCII):
        msg = (
            f"namespace is {namespace!r}; expected letters, digits and underscores, such as "
            '"shop", or "" for none'
        )
        raise ConfigurationError(msg)
    if type(max_label_values) is not int or max_label_values < 1:
        msg = (
            f"max_label_values is {max_label_values!r}; expected a whole number of at least 1, "
            "such as 100"
        )
        raise ConfigurationError(msg)


def _name(serialized: Any, name: object) -> object:
    """Return what a run is called, else what ran."""
    known = serialized if isinstance(serialized, Mapping) else {}
    return name or known.get("name") or (known.get("id") or ["unknown"])[-1]


def _error_type(text: str) -> str:
    """Return the type of an error that is told as "Type: message"."""
    return text.partition(":")[0]


def _has_no_queries(report: Mapping[str, Any]) -> bool:
    """Tell whether the query writer failed, or wrote what holds no queries."""
    unreadable = _error_type(report["error"] or "") == "QueryOutputError"
    return unreadable or report.get("query_writer_error") is not None


def _conflicting_keys(conflicts: Any) -> Iterator[str]:
    """Yield the top-level metadata key of every conflict; a cut report has text in places."""
    for displaced in conflicts.values() if isinstance(conflicts, Mapping) else ():
        for path in displaced if isinstance(displaced, Mapping) else ():
            yield path.partition(".")[0]
