"""SafeRetriever: any retriever, with its troubles kept away from its caller."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.retrievers import RetrieverLike
from langchain_core.runnables.utils import ConfigurableFieldSpec, get_unique_config_specs
from pydantic import Field, PrivateAttr, field_validator, model_validator

from langchain_safe_retrievers.codec import encode
from langchain_safe_retrievers.errors import ConfigurationError, MetadataError
from langchain_safe_retrievers.fusion.fuser import RankedList
from langchain_safe_retrievers.legs.ask import Ask
from langchain_safe_retrievers.legs.inner import around
from langchain_safe_retrievers.legs.slots import Slots, SlottedAsk
from langchain_safe_retrievers.report import RetrievalReport
from langchain_safe_retrievers.resilience.attempt import Attempt
from langchain_safe_retrievers.resilience.breaker import CircuitState
from langchain_safe_retrievers.resilience.cache import DocumentCache
from langchain_safe_retrievers.resilience.call import GuardedCall, seen_from_outside
from langchain_safe_retrievers.resilience.deadline import Deadline
from langchain_safe_retrievers.resilience.floor import ScoreFloor
from langchain_safe_retrievers.resilience.guard import QueryGuard
from langchain_safe_retrievers.resilience.remember import Remembering
from langchain_safe_retrievers.resilience.retry import Retry, RetryOn
from langchain_safe_retrievers.resilience.transient import is_transient
from langchain_safe_retrievers.resilience.waiting import Course, arun, run
from langchain_safe_retrievers.retrieval import Retrieval
from langchain_safe_retrievers.retrievers.reporting import ReportingRetriever
from langchain_safe_retrievers.retrievers.safe_state import SafeState


class SafeRetriever(ReportingRetriever):
    """Any retriever, with its troubles kept away from its caller.

    In this order: guard the query → look in the cache → circuit breaker → until the deadline,
    ask again after errors that may pass, each attempt under the timeout → fallbacks. What
    happened is in the report.

    Args:
        retriever: Any `RetrieverLike`.
        fallbacks: Other retrievers, asked in order if it fails, one attempt each.
        timeout: Seconds that one attempt may take, greater than 0; None for no limit.
        deadline: Seconds that the whole call may take, greater than 0; None for no limit. Of
            it, one timeout (at most half) is kept for each fallback.
        max_retries: How often to ask again, at least 0.
        retry_wait: Seconds before the first retry; each further pause is twice as long, and
            some chance is added.
        max_retry_wait: Seconds that a pause lasts at most; a Retry-After is heeded beyond that.
        retry_on: Which errors are worth it: a function of the error, or a tuple of classes. By
            default timeouts, connection errors, and HTTP 429 and 5xx.
        failure_threshold: After how many failed calls in a row the retriever is left alone, at
            least 1; None for never.
        reset_after: Seconds until it is tried again, greater than 0.
        cache: Where to remember answers; True for `DocumentCache()`, None or False for nowhere.
            Answers that are degraded are not remembered.
        cache_namespace: Tells this retriever's answers from others' in a store that several
            share; change it when the documents behind it have changed.
        min_score: Hits that score less are cut, by the leg's score or `score_key`; None for
            all. Higher is better; a hit without a score is kept.
        score_key: The metadata key that holds a score where the leg gives none beside its hits.
        max_query_chars: How long a query may be, at least 1; None for any length.
        max_abandoned: How many threads the retriever may hold, at least 1, those that hang in
            it included. Further calls wait their turn; if all hang, they fail at once.
        k: How many documents to return, at least 1; None for all.

    Raises:
        ConfigurationError: Settings that cannot work (as a pydantic `ValidationError`).

    Example:
        >>> from langchain_safe_retrievers.testing import FakeLeg
        >>> dead = FakeLeg(error=ConnectionError("refused"))
        >>> retriever = SafeRetriever(
        ...     retriever=dead, fallbacks=[FakeLeg(documents=["a"])], max_retries=0
        ... )
        >>> retriever.invoke("question")
        [Document(metadata={}, page_content='a')]
    """

    retriever: RetrieverLike
    fallbacks: list[RetrieverLike] = Field(default_factory=list)
    timeout: float | None = Field(default=5.0, gt=0, strict=True, allow_inf_nan=False)
    deadline: float | None = Field(default=10.0, gt=0, strict=True, allow_inf_nan=False)
    max_retries: int = Field(default=2, ge=0, strict=True)
    retry_wait: float = Field(default=0.1, ge=0, strict=True, allow_inf_nan=False)
    max_retry_wait: float = Field(default=5.0, ge=0, strict=True, allow_inf_nan=False)
    retry_on: RetryOn = is_transient
    failure_threshold: int | None = Field(default=5, ge=1, strict=True)
    reset_after: float = Field(default=30.0, gt=0, strict=True, allow_inf_nan=False)
    cache: DocumentCache | None = None
    cache_namespace: str = ""
    min_score: float | None = Field(default=None, strict=True, allow_inf_nan=False)
    score_key: str = "score"
    max_query_chars: int | None = Field(default=8000, ge=1, strict=True)
    max_abandoned: int = Field(default=32, ge=1, strict=True)

    _state: SafeState = PrivateAttr()  # one, for pydantic finds a private attribute slowly

    @field_validator("cache", mode="before")
    @classmethod
    def _make_cache(cls, value: Any) -> Any:
        if isinstance(value, bool):
            return DocumentCache() if value else None
        return value

    @model_validator(mode="after")
    def _check_namespace(self) -> SafeRetriever:
        if self.cache is not None:
            self._name(self.cache)
        return self

    def model_post_init(self, context: Any) -> None:
        """Start with a closed circuit and no thread in use."""
        super().model_post_init(context)
        self._state = SafeState.new(self._legs(), self._limits())

    @property
    def config_specs(self) -> list[ConfigurableFieldSpec]:
        """The configurable fields of the retriever and its fallbacks."""
        return get_unique_config_specs(spec for leg in self._legs() for spec in leg.config_specs)

    @property
    def circuit(self) -> CircuitState:
        """The state of the circuit breaker: "closed", "open" or "half-open"."""
        return self._current_state().breaker.state

    def _limits(self) -> tuple[int | None, float, int]:
        return self.failure_threshold, self.reset_after, self.max_abandoned

    def _current_state(self) -> SafeState:
        """Return what is remembered: nothing yet once the legs or limits are others."""
        state, legs, limits = self._state, self._legs(), self._limits()
        if not state.is_of(legs, limits):
            self._state = state = SafeState.new(legs, limits)
        return state

    def _name(self, cache: DocumentCache) -> str:
        """Return what tells this retriever's answers from others' in a cache."""
        named = self._current_state().name()
        if cache.store is None:
            return named.fingerprint if self.cache_namespace else named.in_memory
        if named.opaque and not self.cache_namespace:
            msg = (
                f"the cache has a store that others may share, and cannot tell one "
                f'{named.opaque[0]} from another; write cache_namespace="…", a name for what is '
                "searched"
            )
            raise ConfigurationError(msg)
        return named.fingerprint

    def _legs(self) -> Sequence[Any]:
        return [self.retriever, *self.fallbacks]

    def _retrieve(
        self, query: str, run_manager: CallbackManagerForRetrieverRun, retrieval: Retrieval
    ) -> list[Document]:
        return run(self._course(query, run_manager, retrieval, is_async=False))

    async def _aretrieve(
        self, query: str, run_manager: AsyncCallbackManagerForRetrieverRun, retrieval: Retrieval
    ) -> list[Document]:
        return await arun(self._course(query, run_manager, retrieval, is_async=True))

    def _course(
        self, query: str, run_manager: Any, retrieval: Retrieval, *, is_async: bool
    ) -> Course[list[Document]]:
        """Guard, remember or ask, hold the filter, and cut what scores too low."""
        cleaned = QueryGuard(self.max_query_chars).clean(query)
        if cleaned != query:
            retrieval.note("characters that no store can read were taken out of the query")
        deadline = Deadline(self.deadline, retrieval.started)
        call = partial(self._call, cleaned, run_manager, retrieval, deadline)
        key = None if self.cache is None else self._key(self.cache, cleaned, retrieval)
        if self.cache is None or key is None:
            found = yield from call().course()
        else:
            name = self.retriever.get_name()
            found = yield from Remembering(
                self.cache, key, name, cleaned, call, retrieval, deadline, is_async
            ).course()
        return self._cut(retrieval.hold_filter(found), retrieval)

    def _call(
        self, query: str, run_manager: Any, retrieval: Retrieval, deadline: Deadline
    ) -> GuardedCall:
        state = self._current_state()
        return GuardedCall(
            asks=self._asks(query, retrieval, state.slots),
            attempt=Attempt(retrieval.config, run_manager),
            retrieval=retrieval,
            breaker=nullcontext() if self.failure_threshold is None else state.breaker,
            retry=self._retry,
            timeout=self.timeout,
            deadline=deadline,
        )

    def _retry(self) -> Retry:
        return Retry(self.max_retries, self.retry_wait, self.max_retry_wait, self.retry_on)

    def _asks(self, query: str, retrieval: Retrieval, slots: Sequence[Slots]) -> list[Ask]:
        asks: list[Ask] = []
        for number, (leg, its) in enumerate(zip(self._legs(), slots, strict=True), start=1):
            name = leg.get_name()
            name = name if number == 1 else f"{name} (fallback {number - 1})"
            arguments = self._arguments_for(leg, retrieval)
            tag = f"retriever_{number}"
            asks.append(SlottedAsk(name, tag, leg, query, arguments, slots=its))
        return asks

    def _key(self, cache: DocumentCache, query: str, retrieval: Retrieval) -> str | None:
        """Return all that an answer depends on as text, or None if it has no such form."""
        named = self._name(cache)
        configurable = (retrieval.config or {}).get("configurable")
        if not configurable and not retrieval.arguments:  # nearly always
            return f"{self.cache_namespace!r} {named} {retrieval.k} {query}"
        seen = {
            name: value
            for name, value in (configurable or {}).items()
            if not str(name).startswith(("__", "checkpoint_"))  # of the graph around us
        }
        settings = [self.cache_namespace, named]
        try:
            return encode([settings, query, retrieval.k, retrieval.arguments, seen], sort_keys=True)
        except MetadataError as error:
            retrieval.note(f"not cached: an argument of the call has no form as JSON: {error}")
            return None

    def _cut(self, found: RankedList, retrieval: Retrieval) -> RankedList:
        if self.min_score is None:
            return found
        kept = ScoreFloor(self.min_score, self.score_key).kept(found)
        if len(kept) < len(found):
            cut = len(found) - len(kept)
            retrieval.note(f"min_score={self.min_score:g} cut {cut} of {len(found)} hits")
        return kept

    def _report(
        self,
        retrieval: Retrieval,
        query: str,
        documents: Sequence[Document],
        error: BaseException | None,
    ) -> RetrievalReport:
        inner = around()
        if inner is not None and retrieval.legs:
            inner.status, inner.attempts = seen_from_outside(retrieval.legs)
        return super()._report(retrieval, query, documents, error)
