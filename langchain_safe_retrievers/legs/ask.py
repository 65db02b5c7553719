"""One question to one leg."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

from langchain_core.callbacks import BaseCallbackManager
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda, RunnableSequence
from langchain_core.runnables.config import patch_config
from langchain_core.vectorstores import VectorStore, VectorStoreRetriever

from langchain_safe_retrievers.errors import LegHangingError
from langchain_safe_retrievers.fusion.fuser import RankedList
from langchain_safe_retrievers.legs.answers import read_answer
from langchain_safe_retrievers.legs.arguments import inside
from langchain_safe_retrievers.legs.inner import NOTHING_SAID, Inner, listen
from langchain_safe_retrievers.legs.open_runs import OpenRuns, watch_thread
from langchain_safe_retrievers.legs.threads import (
    MAX_ABANDONED,
    abandoned_threads,
    run_in_own_thread,
)


@dataclass(eq=False)
class Ask:
    """One question to one leg.

    Args:
        name: The leg's name, for reports and errors.
        tag: The tag of its run.
        leg: Any `RetrieverLike`.
        query: What to ask.
        arguments: Named arguments for its `invoke`.
    """

    name: str
    tag: str
    leg: Runnable[str, Any]
    query: str
    arguments: dict[str, Any] = field(default_factory=dict)

    runs: OpenRuns = field(default_factory=OpenRuns)
    inner: Inner = NOTHING_SAID

    @property
    def owner(self) -> int:
        """Who is to blame for the threads that hang in this leg."""
        return id(self.leg)

    @property
    def is_sync_only(self) -> bool:
        """Whether `ainvoke` would run the leg's sync code in the loop's own executor."""
        return is_sync_only(self.leg)

    def config(self, config: RunnableConfig | None, run_manager: Any) -> RunnableConfig:
        """Return the leg's config: the caller's whole config, below the retriever's run.

        Args:
            config: The caller's config.
            run_manager: The retriever's run, or None.

        Returns:
            A new config.
        """
        child = run_manager.get_child(tag=self.tag) if run_manager is not None else None
        self.runs = OpenRuns.below(child, self.name)
        return patch_config(config, callbacks=child) if config is None else _below(config, child)

    def ask(self, config: RunnableConfig, leg_timeout: float | None) -> RankedList:
        """Ask and read the answer.

        Args:
            config: The leg's config.
            leg_timeout: Seconds after which nobody waits any more, or None.

        Returns:
            The leg's documents.

        Raises:
            LegHangingError: Too many threads hang in the leg already.
            LegResultError: The leg returned no list of documents.
        """
        if leg_timeout is not None:
            self._check_abandoned()
        self.inner = listen()
        answer = self.leg.invoke(self.query, config, **self.arguments)
        return read_answer(answer, self.name, self.query)

    async def aask(self, config: RunnableConfig, leg_timeout: float | None) -> RankedList:
        """Ask and read the answer without blocking the loop; as `ask`.

        Args:
            config: The leg's config.
            leg_timeout: Seconds after which nobody waits any more, or None.

        Returns:
            The leg's documents.
        """
        # Core's default async method takes no arguments, and hangs in the loop's own executor.
        if (self.arguments or leg_timeout is not None) and self.is_sync_only:
            self._check_abandoned()
            return await self._aask_in_thread(config)
        self.inner = listen()
        answer = await self.leg.ainvoke(self.query, config, **self.arguments)
        read = partial(read_answer, answer, self.name, self.query)
        if isinstance(answer, Iterator):  # it may block, or hang
            self._check_abandoned()
            return cast("RankedList", await run_in_own_thread(read, self.owner))
        return read()

    async def _aask_in_thread(self, config: RunnableConfig) -> RankedList:
        """Ask in a thread that nothing but itself can end."""
        manager: Any = config.get("callbacks")
        if isinstance(manager, BaseCallbackManager):
            watch_thread(manager)
        found: RankedList = await run_in_own_thread(lambda: self.ask(config, None), self.owner)
        return found

    def _check_abandoned(self) -> None:
        if abandoned_threads(self.owner) >= MAX_ABANDONED:
            msg = f"leg {self.name!r} was not asked: {MAX_ABANDONED} threads still hang in it"
            raise LegHangingError(msg)


def _below(config: RunnableConfig, callbacks: Any) -> RunnableConfig:
    """Return what core's `patch_config` does for a config that is complete, in less time."""
    below = config.copy()
    below["tags"] = config.get("tags", []).copy()
    below["metadata"] = config.get("metadata", {}).copy()
    below["configurable"] = config.get("configurable", {}).copy()
    below.pop("run_name", None)
    below.pop("run_id", None)
    if callbacks is not None:
        below["callbacks"] = callbacks
    return below


def is_sync_only(leg: Any) -> bool:
    """Tell whether `ainvoke` would run a leg's sync code in the loop's own executor.

    Args:
        leg: Any Runnable.

    Returns:
        Whether it, or all that it wraps, has no async code of its own.

    Example:
        >>> is_sync_only(RunnableLambda(lambda query: []).with_retry())
        True
    """
    parts = leg.steps if isinstance(leg, RunnableSequence) else inside(leg)
    if parts:
        return all(map(is_sync_only, parts))
    if isinstance(leg, RunnableLambda):
        return not hasattr(leg, "afunc")
    if isinstance(leg, VectorStoreRetriever):
        return type(leg.vectorstore).asimilarity_search is VectorStore.asimilarity_search
    # Core's own: the default, or what it puts in its place for one without a `run_manager`.
    search = getattr(type(leg), "_aget_relevant_documents", None)
    return getattr(search, "__module__", None) == BaseRetriever.__module__
