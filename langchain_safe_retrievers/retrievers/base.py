"""What every retriever of this package has in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any, Literal

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
from pydantic import ConfigDict, Field, field_validator

from langchain_safe_retrievers.errors import ConfigurationError, UnacceptedArgumentError
from langchain_safe_retrievers.fusion.fuser import Fuser
from langchain_safe_retrievers.identity import Identity, by_content
from langchain_safe_retrievers.legs.arguments import holds_filter, takes
from langchain_safe_retrievers.legs.asking import FailurePolicy
from langchain_safe_retrievers.legs.filters import filter_for
from langchain_safe_retrievers.legs.outcome import passes_through
from langchain_safe_retrievers.merging.copying import copy_containers
from langchain_safe_retrievers.merging.fold import Engine
from langchain_safe_retrievers.merging.langchain_policies import LangChainEnsembleMetaPolicy
from langchain_safe_retrievers.merging.policy import MergePolicy, Metadata
from langchain_safe_retrievers.report import EVENT, RetrievalReport, deliver
from langchain_safe_retrievers.retrieval import Retrieval, current_retrieval, in_progress

# What core's own `invoke` understands; they are no arguments for the legs.
_FOR_CORE = frozenset({"run_id", "tags", "metadata", "verbose"})


class PipelineRetriever(BaseRetriever):
    """Base of the retrievers here: asks legs, holds the filter, and lets the engine merge.

    Args:
        k: How many documents to return, at least 1; None for all. Also per call:
            `invoke(query, k=3)`.
        fetch_k: How many documents to ask of each leg that can be told, once `k` is given;
            None for max(50, 2 · k).
        identity: Which documents are the same one.
        merge_policy: What a metadata key becomes when copies disagree.
        conflicts_key: Metadata key for the values that folding displaced, or None.
        provenance_key: Metadata key for where each copy was found, or None.
        fused_score_key: Metadata key for the fused score (a rank score, no probability), or None.
        score_key: Metadata key where legs put their own score.
        on_leg_error: "raise" a leg's error, or "skip" the leg.
        leg_timeout: Seconds after which a leg has failed; None to wait for ever.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    k: int | None = Field(default=None, ge=1, strict=True)
    fetch_k: int | None = Field(default=None, ge=1, strict=True)
    identity: Identity = by_content
    merge_policy: MergePolicy | Callable[[Metadata, Metadata], Metadata] = (
        LangChainEnsembleMetaPolicy()
    )
    conflicts_key: str | None = "_conflicts"
    provenance_key: str | None = None
    fused_score_key: str | None = None
    score_key: str = "score"
    on_leg_error: Literal["raise", "skip"] = "raise"
    leg_timeout: float | None = Field(default=None, gt=0, strict=True, allow_inf_nan=False)

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
                report = self._report(retrieval, query, len(documents), problem)
                if run_manager.handlers:
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
                report = self._report(retrieval, query, len(documents), problem)
                if run_manager.handlers:
                    child = patch_config(None, callbacks=run_manager.get_child())
                    with _unless(problem):
                        await adispatch_custom_event(EVENT, report.to_dict(), config=child)
                if passes_through(problem):
                    with _unless(problem):
                        await run_manager.on_retriever_error(problem)

    @field_validator("merge_policy", "fuser", "fusion", mode="before", check_fields=False)
    @classmethod
    def _refuse_class(cls, value: Any) -> Any:
        if isinstance(value, type):
            msg = f"the class {value.__name__} was given; write {value.__name__}()"
            raise ConfigurationError(msg)
        return value

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
        retrieval.ask_for(retrieval.given.get("k", self.k), self.fetch_k, taken)

    def _current(self) -> Retrieval:
        """Return the retrieval in progress, or a new one if a method was called from outside."""
        retrieval = current_retrieval(self)
        if retrieval is None:
            retrieval = Retrieval(self)
            self._begin(retrieval)
        return retrieval

    def _arguments_for(self, leg: Any, retrieval: Retrieval) -> dict[str, Any]:
        arguments = {name: value for name, value in retrieval.arguments.items() if takes(leg, name)}
        if retrieval.depth is not None and takes(leg, "k"):
            arguments["k"] = retrieval.depth
        if "filter" in arguments:  # each leg gets its own
            wanted = copy_containers(arguments["filter"])
            arguments["filter"] = filter_for(leg, wanted, retrieval.config)
        elif retrieval.matches is not None and holds_filter(leg):
            arguments["filter"] = copy_containers(retrieval.arguments["filter"])
        return arguments

    def _engine(self, fuser: Fuser) -> Engine:
        return Engine(
            identity=self._identity(),
            fuser=fuser,
            policy=self.merge_policy,
            conflicts_key=self.conflicts_key,
            provenance_key=self.provenance_key,
            fused_score_key=self.fused_score_key,
            score_key=self.score_key,
        )

    def _identity(self) -> Identity:
        return self.identity

    def _failure_policy(self) -> FailurePolicy:
        return FailurePolicy(self.on_leg_error, self.leg_timeout)

    def _report(
        self, retrieval: Retrieval, query: str, documents: int, error: BaseException | None
    ) -> RetrievalReport:
        report = retrieval.report(self.get_name(), query, documents, error)
        deliver(report)
        return report


def _unless(problem: BaseException | None) -> AbstractContextManager[None]:
    """Hold back what a handler raises if there is a problem already: that one is to be raised."""
    return suppress(Exception) if problem is not None else nullcontext()
