"""The package as a user imports it."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

import langchain_safe_retrievers

_PUBLIC = [
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
_NEVER_LOADED = [
    "cachetools",
    "ir_measures",
    "matplotlib",
    "prometheus_client",
    "rich",
    "scipy",
    "tantivy",
    "sqlalchemy",
    "chromadb",
    "hypothesis",
    "langchain",
    "langchain_chroma",
    "langchain_classic",
    "langchain_community",
    "langchain_tests",
    "langchain_text_splitters",
    "numpy",
    "rank_bm25",
    "sentence_transformers",
    "torch",
    "wordllama",
]
_OF_CORE = [
    "callbacks",
    "documents",
    "language_models",
    "output_parsers",
    "prompts",
    "retrievers",
    "runnables",
    "runnables.configurable",
]


def _loaded_by(program: str) -> set[str]:
    """Run a program with warnings as errors, and return the packages it loaded."""
    tell = "import sys; print(*{name.partition('.')[0] for name in sys.modules})"
    command = [sys.executable, "-W", "error", "-c", f"{program}\n{tell}"]
    run = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)  # noqa: S603
    assert run.stderr == ""
    return set(run.stdout.split())


def test_the_public_names_are_these():
    assert langchain_safe_retrievers.__all__ == _PUBLIC


@pytest.mark.parametrize("name", _PUBLIC)
def test_every_public_name_is_there_and_documented(name: str):
    value = getattr(langchain_safe_retrievers, name)

    if name == "DEFAULT_QUERY_PROMPT":
        assert value.input_variables == ["question"]
    else:
        assert value.__name__ == name
        assert value.__module__.startswith("langchain_safe_retrievers.")
        assert (value.__doc__ or "").split("\n\n")[0].endswith(".")


def test_dir_shows_every_public_name_before_any_was_used():
    _loaded_by(
        "import langchain_safe_retrievers as p\n"
        "assert set(p.__all__) <= set(dir(p)), dir(p)\n"
        "assert '__version__' in dir(p)"
    )


def test_star_import_gives_the_public_names():
    names: dict[str, object] = {}
    exec("from langchain_safe_retrievers import *", names)  # noqa: S102 - a star import needs a module

    assert set(_PUBLIC) <= names.keys()


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'UnsafeRetriever'"):
        langchain_safe_retrievers.UnsafeRetriever  # noqa: B018
    with pytest.raises(ImportError):
        from langchain_safe_retrievers import EnsembleRetriever  # noqa: F401


def test_importing_warns_of_nothing_and_loads_no_other_package():
    loaded = _loaded_by("import langchain_safe_retrievers")

    assert loaded.isdisjoint(_NEVER_LOADED)


def test_using_every_public_name_loads_nothing_that_core_does_not_load():
    core = _loaded_by("".join(f"import langchain_core.{module}\n" for module in _OF_CORE))
    everything = _loaded_by("from langchain_safe_retrievers import *")

    assert (everything - core).isdisjoint(_NEVER_LOADED)


def test_py_typed_is_there():
    assert files("langchain_safe_retrievers").joinpath("py.typed").is_file()


def test_the_version_is_the_one_that_is_declared():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))

    assert langchain_safe_retrievers.__version__ == project["project"]["version"]
