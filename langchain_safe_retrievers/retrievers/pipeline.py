"""What the retrievers that merge lists have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from pydantic import Field, field_validator

from langchain_safe_retrievers.errors import ConfigurationError
from langchain_safe_retrievers.fusion.fuser import Fuser
from langchain_safe_retrievers.identity import Identity, by_content
from langchain_safe_retrievers.legs.asking import FailurePolicy
from langchain_safe_retrievers.merging.fold import Engine
from langchain_safe_retrievers.merging.langchain_policies import LangChainEnsembleMetaPolicy
from langchain_safe_retrievers.merging.policy import MergePolicy, Metadata
from langchain_safe_retrievers.retrieval import Retrieval
from langchain_safe_retrievers.retrievers.reporting import ReportingRetriever


class PipelineRetriever(ReportingRetriever):
    """Base of the retrievers that merge: asks legs, holds the filter, and lets the engine merge.

    Args:
        k: As for `ReportingRetriever`.
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

    @field_validator("merge_policy", "fuser", "fusion", mode="before", check_fields=False)
    @classmethod
    def _refuse_class(cls, value: Any) -> Any:
        if isinstance(value, type):
            msg = f"the class {value.__name__} was given; write {value.__name__}()"
            raise ConfigurationError(msg)
        return value

    def _begin(self, retrieval: Retrieval) -> None:
        super()._begin(retrieval)
        retrieval.fetch_k = self.fetch_k

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
