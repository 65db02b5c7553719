"""Drop-in retrievers for LangChain that lose nothing.

No metadata, no document, no leg, no filter, and no time.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langchain_safe_retrievers.errors import (
        AllLegsFailedError,
        CallerError,
        CircuitOpenError,
        ConfigurationError,
        FilterError,
        IndexLockedError,
        LegError,
        LegHangingError,
        LegResultError,
        LegTimeoutError,
        MetadataError,
        MissingExtraError,
        PolicyError,
        QueryError,
        QueryOutputError,
        SafeRetrieverError,
        UnacceptedArgumentError,
    )
    from langchain_safe_retrievers.fusion.distribution_based import DistributionBased
    from langchain_safe_retrievers.fusion.fuser import Fuser, RankedList, Ranking
    from langchain_safe_retrievers.fusion.noisy_or import NoisyOr
    from langchain_safe_retrievers.fusion.reciprocal_rank import ReciprocalRank
    from langchain_safe_retrievers.fusion.relative_score import RelativeScore
    from langchain_safe_retrievers.identity import (
        by_content,
        by_id,
        by_key,
        by_levels,
        by_normalized_content,
    )
    from langchain_safe_retrievers.in_step import Difference
    from langchain_safe_retrievers.merging.conflicts import describe_conflicts
    from langchain_safe_retrievers.merging.fold import Engine
    from langchain_safe_retrievers.merging.langchain_policies import (
        LangChainEnsembleMetaPolicy,
        LangChainMultiQueryUnionPolicy,
    )
    from langchain_safe_retrievers.merging.policy import MergePolicy, MetadataPolicy
    from langchain_safe_retrievers.queries.parsing import (
        DEFAULT_QUERY_PROMPT,
        LineListOutputParser,
    )
    from langchain_safe_retrievers.report import LegReport, RetrievalReport, collect_reports
    from langchain_safe_retrievers.resilience.breaker import CircuitBreaker
    from langchain_safe_retrievers.resilience.cache import DocumentCache
    from langchain_safe_retrievers.resilience.floor import ScoreFloor
    from langchain_safe_retrievers.resilience.guard import QueryGuard
    from langchain_safe_retrievers.resilience.retry import Retry
    from langchain_safe_retrievers.resilience.transient import is_transient
    from langchain_safe_retrievers.retrievers.ensemble import SafeEnsembleRetriever
    from langchain_safe_retrievers.retrievers.hybrid import HybridRetriever
    from langchain_safe_retrievers.retrievers.keyword import KeywordRetriever
    from langchain_safe_retrievers.retrievers.multi_query import SafeMultiQueryRetriever
    from langchain_safe_retrievers.retrievers.safe import SafeRetriever
    from langchain_safe_retrievers.retrievers.sql import SQLRetriever
    from langchain_safe_retrievers.retrievers.vector import VectorRetriever
    from langchain_safe_retrievers.trace import Merging, Trace, collect_traces
    from langchain_safe_retrievers.unique import unique_by_key

_WHERE = {
    "errors": (
        "AllLegsFailedError",
        "CallerError",
        "CircuitOpenError",
        "ConfigurationError",
        "FilterError",
        "IndexLockedError",
        "LegError",
        "LegHangingError",
        "LegResultError",
        "LegTimeoutError",
        "MetadataError",
        "MissingExtraError",
        "PolicyError",
        "QueryError",
        "QueryOutputError",
        "SafeRetrieverError",
        "UnacceptedArgumentError",
    ),
    "fusion.distribution_based": ("DistributionBased",),
    "fusion.fuser": ("Fuser", "RankedList", "Ranking"),
    "fusion.noisy_or": ("NoisyOr",),
    "fusion.reciprocal_rank": ("ReciprocalRank",),
    "fusion.relative_score": ("RelativeScore",),
    "identity": ("by_content", "by_id", "by_key", "by_levels", "by_normalized_content"),
    "merging.conflicts": ("describe_conflicts",),
    "merging.fold": ("Engine",),
    "merging.langchain_policies": ("LangChainEnsembleMetaPolicy", "LangChainMultiQueryUnionPolicy"),
    "merging.policy": ("MergePolicy", "MetadataPolicy"),
    "queries.parsing": ("DEFAULT_QUERY_PROMPT", "LineListOutputParser"),
    "report": ("LegReport", "RetrievalReport", "collect_reports"),
    "resilience.breaker": ("CircuitBreaker",),
    "resilience.cache": ("DocumentCache",),
    "resilience.floor": ("ScoreFloor",),
    "resilience.guard": ("QueryGuard",),
    "resilience.retry": ("Retry",),
    "resilience.transient": ("is_transient",),
    "retrievers.ensemble": ("SafeEnsembleRetriever",),
    "in_step": ("Difference",),
    "retrievers.hybrid": ("HybridRetriever",),
    "retrievers.keyword": ("KeywordRetriever",),
    "retrievers.multi_query": ("SafeMultiQueryRetriever",),
    "retrievers.safe": ("SafeRetriever",),
    "retrievers.sql": ("SQLRetriever",),
    "retrievers.vector": ("VectorRetriever",),
    "trace": ("Merging", "Trace", "collect_traces"),
    "unique": ("unique_by_key",),
}
_MODULES = {name: module for module, names in _WHERE.items() for name in names}

__version__ = "0.1.0"

__all__ = [
    "DEFAULT_QUERY_PROMPT",
    "AllLegsFailedError",
    "CallerError",
    "CircuitBreaker",
    "CircuitOpenError",
    "ConfigurationError",
    "Difference",
    "DistributionBased",
    "DocumentCache",
    "Engine",
    "FilterError",
    "Fuser",
    "HybridRetriever",
    "IndexLockedError",
    "KeywordRetriever",
    "LangChainEnsembleMetaPolicy",
    "LangChainMultiQueryUnionPolicy",
    "LegError",
    "LegHangingError",
    "LegReport",
    "LegResultError",
    "LegTimeoutError",
    "LineListOutputParser",
    "MergePolicy",
    "Merging",
    "MetadataError",
    "MetadataPolicy",
    "MissingExtraError",
    "NoisyOr",
    "PolicyError",
    "QueryError",
    "QueryGuard",
    "QueryOutputError",
    "RankedList",
    "Ranking",
    "ReciprocalRank",
    "RelativeScore",
    "RetrievalReport",
    "Retry",
    "SQLRetriever",
    "SafeEnsembleRetriever",
    "SafeMultiQueryRetriever",
    "SafeRetriever",
    "SafeRetrieverError",
    "ScoreFloor",
    "Trace",
    "UnacceptedArgumentError",
    "VectorRetriever",
    "by_content",
    "by_id",
    "by_key",
    "by_levels",
    "by_normalized_content",
    "collect_reports",
    "collect_traces",
    "describe_conflicts",
    "is_transient",
    "unique_by_key",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    value = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
