"""What the retrievers that ask others have in common: arguments, filter, and report."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
    adispatch_custom_event,
    dispatch_custom_event,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config, patch_config
from pydantic import ConfigDict, Field

from langchain_safe_retrievers.errors import UnacceptedArgumentError
from langchain_safe_retrievers.legs.annotate import annotate
from langchain_safe_retrievers.legs.arguments import holds_filter, takes
from langchain_safe_retrievers.legs.filters import filter_for
from langchain_safe_retrievers.legs.inner import around
from langchain_safe_retrievers.legs.outcome import passes_through
from langchain_safe_retrievers.merging.copying import copy_containers
from langchain_safe_retrievers.report import EVENT, RetrievalReport, deliver
from langchain_safe_retrievers.retrieval import Retrieval, current_retrieval, in_progress
from langchain_safe_retrievers.trace import Trace, deliver_trace, traces_are_collected

# What core's own `invoke` understands; they are no arguments for the legs.
_FOR_CORE = frozenset({"run_id", "tags", "metadata", "verbose"})


class ReportingRetriever(BaseRetriever):
    """Base of the retrievers here that ask others: reads arguments, holds the filter, reports.

    Args:
        k: How many documents to return, at least 1; None for all. Also per call:
            `invoke(query, k=3)`.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    k: int | None = Field(default=None, ge=1, strict=True)

    def invoke(
        self,
        input: str,  # noqa: A002 - core's name
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Retrieve documents.

        Args:
            input: The query.
            config: The config, all of which reaches every leg.
            **kwargs: `k`, `filter`, and any named argument that a leg takes.

        Returns:
            One document per identity, best first.

        Raises:
            UnacceptedArgumentError: No leg takes an argument.
            FilterError: The filter cannot be read.
            AllLegsFailedError: Every leg failed, and failing legs are to be skipped.
        """
        config = ensure_config(config)
        with in_progress(Retrieval(self, config, kwargs)):
            return super().invoke(input, config, **kwargs)

    async def ainvoke(
        self,
        input: str,  # noqa: A002 - core's name
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Retrieve documents without blocking the loop; as `invoke`.

        Args:
            input: The query.
            config: The config, all of which reaches every leg.
            **kwargs: `k`, `filter`, and any named argument that a leg takes.

        Returns:
            One document per identity, best first.
        """
        config = ensure_config(config)
        with in_progress(Retrieval(self, config, kwargs)):
            return await super().ainvoke(input, config, **kwargs)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        retrieval = current_retrieval(self) or Retrieval(self, given=kwargs)
        with in_progress(retrieval):
            documents: list[Document] = []
            problem: BaseException | None = None
            try:
                self._begin(retrieval)
                documents = retrieval.finish(self._retrieve(query, run_manager, retrieval))
            except BaseException as error:
                problem = error
                raise
            else:
                return documents
            finally:
                report = self._report(retrieval, query, documents, problem)
                if run_manager.handlers:
                    annotate(run_manager.handlers, run_manager.run_id, report.to_metadata())
                    child = patch_config(None, callbacks=run_manager.get_child())
                    with _unless(problem):
                        dispatch_custom_event(EVENT, report.to_dict(), config=child)
                if passes_through(problem):  # core tells handlers of an `Exception` only
                    with _unless(problem):
                        run_manager.on_retriever_error(problem)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        retrieval = current_retrieval(self) or Retrieval(self, given=kwargs)
        with in_progress(retrieval):
            documents: list[Document] = []
            problem: BaseException | None = None
            try:
                self._begin(retrieval)
                documents = retrieval.finish(await self._aretrieve(query, run_manager, retrieval))
            except BaseException as error:
                problem = error
                raise
            else:
                return documents
            finally:
                report = self._report(retrieval, query, documents, problem)
                if run_manager.handlers:
                    annotate(run_manager.handlers, run_manager.run_id, report.to_metadata())
                    child = patch_config(None, callbacks=run_manager.get_child())
                    with _unless(problem):
                        await adispatch_custom_event(EVENT, report.to_dict(), config=child)
                if passes_through(problem):
                    with _unless(problem):
                        await run_manager.on_retriever_error(problem)

    @abstractmethod
    def _retrieve(
        self, query: str, run_manager: CallbackManagerForRetrieverRun, retrieval: Retrieval
    ) -> list[Document]:
        """Ask, fuse and fold."""

    @abstractmethod
    async def _aretrieve(
        self, query: str, run_manager: AsyncCallbackManagerForRetrieverRun, retrieval: Retrieval
    ) -> list[Document]:
        """Ask, fuse and fold, without blocking the loop."""

    @abstractmethod
    def _legs(self) -> Sequence[Any]:
        """Return the legs that are asked."""

    def takes_argument(self, name: str) -> bool:
        """Tell whether `invoke` does something with a named argument.

        Args:
            name: The argument's name.

        Returns:
            True for `k`, and for what any leg takes.
        """
        return name == "k" or any(takes(leg, name) for leg in self._legs())

    def _begin(self, retrieval: Retrieval) -> None:
        """Read the arguments of `invoke`: each is for us, for core, or for a leg that takes it."""
        k = retrieval.given.get("k", self.k)
        retrieval.ask_for(k, k, self._taken(retrieval) if retrieval.given else {})

    def _taken(self, retrieval: Retrieval) -> dict[str, Any]:
        """Return the arguments that are for the legs, `k` aside; one for nobody is an error."""
        given = {
            name: value for name, value in retrieval.given.items() if name not in ("k", "run_id")
        }
        wanted = given.get("filter", ...)
        if wanted is None or (isinstance(wanted, Mapping) and not wanted):
            del given["filter"]  # nothing to filter by
        taken = {name: value for name, value in given.items() if self.takes_argument(name)}
        if retrieval.is_nested and "filter" in given:  # the outer one has checked; we hold it
            taken["filter"] = given["filter"]
        unknown = given.keys() - taken.keys() - _FOR_CORE
        if unknown:
            legs = ", ".join(type(leg).__name__ for leg in self._legs())
            msg = (
                f"{self.get_name()} was given {', '.join(map(repr, sorted(unknown)))}, which none "
                f"of its legs ({legs}) takes; leave it out, or use a leg that declares it"
            )
            raise UnacceptedArgumentError(msg)
        return taken

    def _current(self) -> Retrieval:
        """Return the retrieval in progress, or a new one if a method was called from outside."""
        retrieval = current_retrieval(self)
        if retrieval is None:
            retrieval = Retrieval(self)
            self._begin(retrieval)
        return retrieval

    def _arguments_for(self, leg: Any, retrieval: Retrieval) -> dict[str, Any]:
        if not retrieval.arguments and retrieval.depth is None:
            return {}
        arguments = {name: value for name, value in retrieval.arguments.items() if takes(leg, name)}
        if retrieval.depth is not None and takes(leg, "k"):
            arguments["k"] = retrieval.depth
        if "filter" in arguments:  # each leg gets its own
            wanted = copy_containers(arguments["filter"])
            arguments["filter"] = filter_for(leg, wanted, retrieval.config)
        elif retrieval.matches is not None and holds_filter(leg):
            arguments["filter"] = copy_containers(retrieval.arguments["filter"])
        return arguments

    def _report(
        self,
        retrieval: Retrieval,
        query: str,
        documents: Sequence[Document],
        error: BaseException | None,
    ) -> RetrievalReport:
        report = retrieval.report(self.get_name(), query, len(documents), error)
        inner = around()
        if inner is not None:
            inner.degraded = inner.degraded or report.degraded
        deliver(report)
        if traces_are_collected():
            deliver_trace(Trace(self, report, retrieval.found, retrieval.merging, documents))
        return report


def _unless(problem: BaseException | None) -> AbstractContextManager[None]:
    """Hold back what a handler raises if there is a problem already: that one is to be raised."""
    return suppress(Exception) if problem is not None else nullcontext()
