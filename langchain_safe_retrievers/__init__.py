"""Drop-in retrievers for LangChain that lose nothing.

No metadata, no document, no leg, no filter, and no time.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langchain_safe_retrievers.auditing.audit import audit
    from langchain_safe_retrievers.auditing.loss import LossReport
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
    from langchain_safe_retrievers.evaluation.birr import birr
    from langchain_safe_retrievers.evaluation.compare import compare
    from langchain_safe_retrievers.evaluation.dataset import Dataset
    from langchain_safe_retrievers.evaluation.embeddings import compare_embeddings
    from langchain_safe_retrievers.evaluation.evaluate import aevaluate, evaluate
    from langchain_safe_retrievers.evaluation.evaluation import Evaluation
    from langchain_safe_retrievers.evaluation.significance import significance
    from langchain_safe_retrievers.evaluation.splitters import compare_splitters
    from langchain_safe_retrievers.evaluation.tune import tune
    from langchain_safe_retrievers.explaining.explain import aexplain, explain, explain_traces
    from langchain_safe_retrievers.explaining.explanation import Explanation
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
    from langchain_safe_retrievers.metrics import RetrievalMetrics
    from langchain_safe_retrievers.queries.parsing import DEFAULT_QUERY_PROMPT, LineListOutputParser
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
    "auditing.audit": ("audit",),
    "auditing.loss": ("LossReport",),
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
    "evaluation.birr": ("birr",),
    "evaluation.compare": ("compare",),
    "evaluation.dataset": ("Dataset",),
    "evaluation.embeddings": ("compare_embeddings",),
    "evaluation.evaluate": ("aevaluate", "evaluate"),
    "evaluation.evaluation": ("Evaluation",),
    "evaluation.significance": ("significance",),
    "evaluation.splitters": ("compare_splitters",),
    "evaluation.tune": ("tune",),
    "explaining.explain": ("aexplain", "explain", "explain_traces"),
    "explaining.explanation": ("Explanation",),
    "fusion.distribution_based": ("DistributionBased",),
    "fusion.fuser": ("Fuser", "RankedList", "Ranking"),
    "fusion.noisy_or": ("NoisyOr",),
    "fusion.reciprocal_rank": ("ReciprocalRank",),
    "fusion.relative_score": ("RelativeScore",),
    "identity": ("by_content", "by_id", "by_key", "by_levels", "by_normalized_content"),
    "in_step": ("Difference",),
    "merging.conflicts": ("describe_conflicts",),
    "merging.fold": ("Engine",),
    "merging.langchain_policies": ("LangChainEnsembleMetaPolicy", "LangChainMultiQueryUnionPolicy"),
    "merging.policy": ("MergePolicy", "MetadataPolicy"),
    "metrics": ("RetrievalMetrics",),
    "queries.parsing": ("DEFAULT_QUERY_PROMPT", "LineListOutputParser"),
    "report": ("LegReport", "RetrievalReport", "collect_reports"),
    "resilience.breaker": ("CircuitBreaker",),
    "resilience.cache": ("DocumentCache",),
    "resilience.floor": ("ScoreFloor",),
    "resilience.guard": ("QueryGuard",),
    "resilience.retry": ("Retry",),
    "resilience.transient": ("is_transient",),
    "retrievers.ensemble": ("SafeEnsembleRetriever",),
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
    "Dataset",
    "Difference",
    "DistributionBased",
    "DocumentCache",
    "Engine",
    "Evaluation",
    "Explanation",
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
    "LossReport",
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
    "RetrievalMetrics",
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
    "aevaluate",
    "aexplain",
    "audit",
    "birr",
    "by_content",
    "by_id",
    "by_key",
    "by_levels",
    "by_normalized_content",
    "collect_reports",
    "collect_traces",
    "compare",
    "compare_embeddings",
    "compare_splitters",
    "describe_conflicts",
    "evaluate",
    "explain",
    "explain_traces",
    "is_transient",
    "significance",
    "tune",
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
