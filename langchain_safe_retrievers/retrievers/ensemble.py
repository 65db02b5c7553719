"""SafeEnsembleRetriever: the drop-in for LangChain's `EnsembleRetriever`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.retrievers import RetrieverLike
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.utils import ConfigurableFieldSpec, get_unique_config_specs
from pydantic import Field, field_validator, model_validator

from langchain_safe_retrievers.errors import ConfigurationError
from langchain_safe_retrievers.fusion.fuser import Fuser, RankedList
from langchain_safe_retrievers.fusion.reciprocal_rank import ReciprocalRank
from langchain_safe_retrievers.identity import Identity, by_content, by_id, by_key, by_levels
from langchain_safe_retrievers.legs.ask import Ask
from langchain_safe_retrievers.legs.asking import FailurePolicy, aask_legs, ask_legs
from langchain_safe_retrievers.report import LegReport
from langchain_safe_retrievers.retrieval import Retrieval, current_retrieval
from langchain_safe_retrievers.retrievers.pipeline import PipelineRetriever
from langchain_safe_retrievers.trace import Merging


class SafeEnsembleRetriever(PipelineRetriever):
    """Asks several retrievers side by side and fuses their lists, losing nothing.

    Takes everything that `EnsembleRetriever` takes. By default documents with the same text
    are one, their ranks are fused by weighted reciprocal rank, and their metadata is folded.

    Args:
        retrievers: The legs, at least one; any `RetrieverLike`.
        weights: One for each leg, finite and at least 0; a leg of weight 0 is not asked.
            Omitted, None or []: equal weights that add up to 1.
        c: The constant of reciprocal rank fusion, greater than 0.
        id_key: The metadata key that says which documents are the same; where it is missing
            or None, `Document.id` decides, then the text.
        fuser: How ranks or scores become one score; None for `ReciprocalRank(c)`.
        leg_names: The legs' names in reports, provenance and errors; None for
            "retriever_1", "retriever_2" …
        required_legs: Names of legs whose failure is raised even with `on_leg_error="skip"`.
        k, fetch_k, identity, merge_policy, conflicts_key, provenance_key, fused_score_key,
            score_key, on_leg_error, leg_timeout: As for `PipelineRetriever`.

    Raises:
        ConfigurationError: Settings that cannot work (as a pydantic `ValidationError`).

    Example:
        >>> from langchain_core.runnables import RunnableLambda
        >>> one = Document(page_content="a", metadata={"page": 1})
        >>> two = Document(page_content="a", metadata={"lang": "en"})
        >>> legs = [RunnableLambda(lambda query: [one]), RunnableLambda(lambda query: [two])]
        >>> SafeEnsembleRetriever(retrievers=legs, weights=[0.7, 0.3]).invoke("question")
        [Document(metadata={'page': 1, 'lang': 'en'}, page_content='a')]
    """

    retrievers: list[RetrieverLike]
    weights: list[float] = Field(default_factory=list)  # never empty once it is validated
    c: int = Field(default=60, gt=0)
    id_key: str | None = None
    fuser: Fuser | None = None
    leg_names: list[str] | None = None
    required_legs: tuple[str, ...] = ()

    @property
    def config_specs(self) -> list[ConfigurableFieldSpec]:
        """The configurable fields of the legs."""
        return get_unique_config_specs(
            spec for retriever in self.retrievers for spec in retriever.config_specs
        )

    @model_validator(mode="before")
    @classmethod
    def _set_weights(cls, values: Any) -> Any:
        if not isinstance(values, dict) or not isinstance(values.get("retrievers"), (list, tuple)):
            return values  # pydantic says what is wrong
        legs = len(values["retrievers"])
        if not legs:
            msg = "retrievers is empty; give at least one leg"
            raise ConfigurationError(msg)
        weights = values.get("weights")
        if weights is not None and not isinstance(weights, Iterable):
            msg = f"weights is {weights!r}; expected a list of {legs} numbers"
            raise ConfigurationError(msg)
        weights = [] if weights is None else list(weights)
        if not weights:
            return {**values, "weights": [1 / legs] * legs}
        check_weights(weights, legs)
        return {**values, "weights": weights}

    @field_validator("c", mode="before")
    @classmethod
    def _check_c(cls, c: Any) -> Any:
        if isinstance(c, bool):
            msg = f"c is {c!r}; expected a whole number greater than 0 (60 is usual)"
            raise ConfigurationError(msg)
        return c

    @model_validator(mode="after")
    def _check_leg_names(self) -> SafeEnsembleRetriever:
        names = self._names()
        if len(names) != len(self.retrievers) or len(set(names)) != len(names):
            msg = (
                f"leg_names is {names!r}; expected {len(self.retrievers)} different names, "
                "one for each of retrievers"
            )
            raise ConfigurationError(msg)
        unknown = set(self.required_legs) - set(names)
        if unknown:
            msg = f"required_legs names {sorted(unknown)}, but the legs are {names!r}"
            raise ConfigurationError(msg)
        if self.id_key is not None and self.identity is not by_content:
            msg = "both id_key and identity are given; give one of them"
            raise ConfigurationError(msg)
        return self

    def rank_fusion(
        self,
        query: str,
        run_manager: CallbackManagerForRetrieverRun,
        *,
        config: RunnableConfig | None = None,
    ) -> list[Document]:
        """Ask the legs side by side and fuse what they found.

        Args:
            query: What to ask.
            run_manager: The run that the legs' runs go below.
            config: The config that every leg gets.

        Returns:
            One document per identity, best first.
        """
        retrieval = self._current()
        asks, lists = self._prepare(query, retrieval)
        asked = ask_legs(
            list(asks.values()), self._failure_policy(), retrieval, config, run_manager
        )
        self._sort_reports(retrieval)
        return self.weighted_reciprocal_rank(_fill(lists, asks, asked, retrieval))

    async def arank_fusion(
        self,
        query: str,
        run_manager: AsyncCallbackManagerForRetrieverRun,
        *,
        config: RunnableConfig | None = None,
    ) -> list[Document]:
        """Ask the legs side by side, without blocking the loop, and fuse what they found.

        Args:
            query: What to ask.
            run_manager: The run that the legs' runs go below.
            config: The config that every leg gets.

        Returns:
            One document per identity, best first.
        """
        retrieval = self._current()
        asks, lists = self._prepare(query, retrieval)
        asked = await aask_legs(
            list(asks.values()), self._failure_policy(), retrieval, config, run_manager
        )
        self._sort_reports(retrieval)
        return self.weighted_reciprocal_rank(_fill(lists, asks, asked, retrieval))

    def weighted_reciprocal_rank(self, doc_lists: list[list[Document]]) -> list[Document]:
        """Fuse the legs' lists with `fuser` (by default weighted reciprocal rank) and fold copies.

        Args:
            doc_lists: Each leg's documents, best first; one list for each weight.

        Returns:
            One document per identity, best first.

        Raises:
            ValueError: There are not as many lists as weights.
        """
        if len(doc_lists) != len(self.weights):
            msg = "Number of rank lists must be equal to the number of weights."
            raise ValueError(msg)
        retrieval = current_retrieval(self)
        if retrieval is None:  # else they were checked before the legs were asked
            check_weights(self.weights, len(self.weights))
            retrieval = self._current()
        engine = self._engine(self.fuser or ReciprocalRank(self.c))
        named = [
            found if isinstance(found, RankedList) else RankedList(found, leg=name)
            for found, name in zip(doc_lists, self._names(), strict=True)
        ]
        return retrieval.merge(Merging(engine, named, self.weights, retrieval.k))

    def _retrieve(
        self, query: str, run_manager: CallbackManagerForRetrieverRun, retrieval: Retrieval
    ) -> list[Document]:
        return self.rank_fusion(query, run_manager=run_manager, config=retrieval.config)

    async def _aretrieve(
        self, query: str, run_manager: AsyncCallbackManagerForRetrieverRun, retrieval: Retrieval
    ) -> list[Document]:
        return await self.arank_fusion(query, run_manager=run_manager, config=retrieval.config)

    def _prepare(self, query: str, retrieval: Retrieval) -> tuple[dict[int, Ask], list[RankedList]]:
        """Return what to ask the legs that have a weight, and an empty list for every leg."""
        if len(self.retrievers) != len(self.weights):
            msg = "Number of rank lists must be equal to the number of weights."
            raise ValueError(msg)
        check_weights(self.weights, len(self.weights))
        asks = {}
        names = self._names()
        for i, (leg, weight) in enumerate(zip(self.retrievers, self.weights, strict=True)):
            if weight:
                arguments = self._arguments_for(leg, retrieval)
                asks[i] = Ask(names[i], f"retriever_{i + 1}", leg, query, arguments)
            else:
                retrieval.legs.append(LegReport(names[i], query, "skipped"))
        return asks, [RankedList(leg=name, query=query) for name in names]

    def _sort_reports(self, retrieval: Retrieval) -> None:
        """Put the reports in legs' order, those of legs that were not asked among them."""
        if not all(self.weights):
            names = self._names()
            retrieval.legs.sort(key=lambda report: names.index(report.leg))

    def _legs(self) -> Sequence[Any]:
        return [leg for leg, weight in zip(self.retrievers, self.weights, strict=False) if weight]

    def _names(self) -> list[str]:
        if self.leg_names is not None:
            return self.leg_names
        return [f"retriever_{i + 1}" for i in range(len(self.retrievers))]

    def _identity(self) -> Identity:
        return (
            self.identity
            if self.id_key is None
            else by_levels(by_key(self.id_key), by_id, by_content)
        )

    def _failure_policy(self) -> FailurePolicy:
        return FailurePolicy(self.on_leg_error, self.leg_timeout, self.required_legs)


def check_weights(weights: Sequence[Any], legs: int) -> None:
    """Check the weights of an ensemble.

    Args:
        weights: One for each leg.
        legs: How many legs there are.

    Raises:
        ConfigurationError: There are not as many weights as legs, one is no finite number of
            at least 0, or all are 0.

    Example:
        >>> check_weights([0.5, 0.5], legs=2)
    """
    if len(weights) != legs:
        msg = (
            "Length of weights must match number of retrievers "
            f"(got {len(weights)} weights for {legs} retrievers)."
        )
        raise ConfigurationError(msg)
    for i, weight in enumerate(weights):
        is_number = type(weight) is float or (
            isinstance(weight, Real) and not isinstance(weight, bool)
        )
        if not is_number or not math.isfinite(weight) or weight < 0:
            msg = f"weights[{i}] is {weight!r}; expected a finite number of at least 0"
            raise ConfigurationError(msg)
    if not any(weight > 0 for weight in weights):
        msg = "At least one ensemble weight must be greater than zero."
        raise ConfigurationError(msg)


def _fill(
    lists: list[RankedList], asks: dict[int, Ask], asked: list[RankedList], retrieval: Retrieval
) -> list[list[Document]]:
    """Put the answers at their legs' places, the filter held."""
    for i, found in zip(asks, asked, strict=True):
        lists[i] = retrieval.hold_filter(found)
    return list(lists)
