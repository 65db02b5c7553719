"""What mypy must find right, or wrong; checked by mypy and run by nobody."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, assert_type

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.prompts import BasePromptTemplate, PromptTemplate
from langchain_core.retrievers import BaseRetriever, RetrieverLike
from langchain_core.runnables import Runnable, RunnableLambda, RunnableSerializable

from langchain_safe_retrievers import (
    DEFAULT_QUERY_PROMPT,
    AllLegsFailedError,
    ConfigurationError,
    DistributionBased,
    Engine,
    Fuser,
    LangChainEnsembleMetaPolicy,
    LangChainMultiQueryUnionPolicy,
    LegReport,
    LegTimeoutError,
    LineListOutputParser,
    MergePolicy,
    MetadataPolicy,
    PolicyError,
    RankedList,
    Ranking,
    ReciprocalRank,
    RelativeScore,
    RetrievalReport,
    SafeEnsembleRetriever,
    SafeMultiQueryRetriever,
    by_content,
    by_id,
    by_key,
    by_levels,
    by_normalized_content,
    collect_reports,
    describe_conflicts,
    unique_by_key,
)
from langchain_safe_retrievers.testing import FakeLeg, texts


def keep_last(a: dict[Any, Any], b: dict[Any, Any]) -> dict[Any, Any]:
    return {**a, **b}


def longer(a: str, b: str) -> str:
    return max(a, b, key=len)


class TopOnly:
    """A fuser of one's own."""

    def contributions(self, leg: Ranking, weight: float) -> list[float]:
        return [weight * (rank == 1) for rank in leg.ranks]


class KeepFirst:
    """A policy of one's own."""

    def merge(self, a: dict[Any, Any], b: dict[Any, Any]) -> dict[Any, Any]:
        return {**b, **a}


class OwnEnsemble(SafeEnsembleRetriever):
    """A subclass that overrides what upstream's users override."""

    def weighted_reciprocal_rank(self, doc_lists: list[list[Document]]) -> list[Document]:
        return super().weighted_reciprocal_rank(doc_lists)[:1]


class OwnMultiQuery(SafeMultiQueryRetriever):
    """A subclass that overrides what upstream's users override."""

    def generate_queries(
        self, question: str, run_manager: CallbackManagerForRetrieverRun | None = None
    ) -> list[str]:
        return [*super().generate_queries(question, run_manager), question]


def swapped_ensemble(vector: BaseRetriever, keyword: RetrieverLike) -> None:
    function: Runnable[str, list[Document]] = RunnableLambda(lambda query: [])
    ensemble = SafeEnsembleRetriever(
        retrievers=[vector, keyword, function], weights=[0.5, 0.3, 0.2]
    )
    assert_type(ensemble, SafeEnsembleRetriever)
    assert_type(ensemble.invoke("q"), list[Document])
    assert_type(ensemble.invoke("q", k=3, filter={"lang": "en"}), list[Document])
    assert_type(ensemble.batch(["q"]), list[list[Document]])
    assert_type(ensemble.weights, list[float])
    assert_type(ensemble.weighted_reciprocal_rank([[], []]), list[Document])
    as_retriever: BaseRetriever = ensemble
    as_leg: RetrieverLike = ensemble
    nested = SafeEnsembleRetriever(retrievers=[as_retriever, as_leg], c=60, id_key="id")
    assert_type(nested | RunnableLambda(texts), RunnableSerializable[str, list[str]])


async def asked_async(ensemble: SafeEnsembleRetriever, multi: SafeMultiQueryRetriever) -> None:
    assert_type(await ensemble.ainvoke("q"), list[Document])
    assert_type(await multi.ainvoke("q"), list[Document])
    assert_type(await multi.agenerate_queries("q"), list[str])


def every_setting(leg: RetrieverLike) -> SafeEnsembleRetriever:
    return SafeEnsembleRetriever(
        retrievers=[leg],
        fuser=RelativeScore(),
        leg_names=["vector"],
        required_legs=("vector",),
        k=3,
        fetch_k=30,
        identity=by_normalized_content,
        merge_policy=LangChainEnsembleMetaPolicy(score_agg="weighted"),
        conflicts_key=None,
        provenance_key="found_by",
        fused_score_key="fused",
        score_key="score",
        on_leg_error="skip",
        leg_timeout=1.5,
    )


def swapped_multi_query(leg: RetrieverLike) -> None:
    model = FakeListChatModel(responses=["a"])
    multi = SafeMultiQueryRetriever.from_llm(leg, model)
    assert_type(multi, SafeMultiQueryRetriever)
    assert_type(multi.invoke("q"), list[Document])
    assert_type(multi.generate_queries("q"), list[str])
    assert_type(multi.unique_union([Document(page_content="a")]), list[Document])
    prompt: BasePromptTemplate[Any] = PromptTemplate.from_template("{q}")
    SafeMultiQueryRetriever.from_llm(
        retriever=leg, llm=model, prompt=prompt, parser_key="lines", include_original=True
    )
    SafeMultiQueryRetriever(
        retriever=leg,
        llm_chain=DEFAULT_QUERY_PROMPT | model | LineListOutputParser(),
        fusion=ReciprocalRank(),
        original_weight=2,
        max_queries=3,
        merge_policy=LangChainMultiQueryUnionPolicy(scalar_merge="keep_first"),
    )
    SafeMultiQueryRetriever(retriever=leg, llm_chain=model, fusion="union")


def policies(leg: RetrieverLike) -> None:
    table: MergePolicy = MetadataPolicy(rules={"score": "max", "a.b": "last", "title": longer})
    own: MergePolicy = KeepFirst()
    for policy in (table, own, LangChainEnsembleMetaPolicy(), LangChainMultiQueryUnionPolicy()):
        assert_type(policy.merge({}, {}), dict[Any, Any])
    SafeEnsembleRetriever(retrievers=[leg], merge_policy=table)
    SafeEnsembleRetriever(retrievers=[leg], merge_policy=own)
    SafeEnsembleRetriever(retrievers=[leg], merge_policy=keep_last)
    SafeEnsembleRetriever(retrievers=[leg], merge_policy=lambda a, b: {**a, **b})


def identities(leg: RetrieverLike, document: Document) -> None:
    assert_type(by_content(document), str)
    assert_type(by_id(document), str | None)
    assert_type(by_normalized_content(document), str)
    levels = by_levels(by_key("doc_id"), by_id, lambda document: document.metadata.get("url"))
    for identity in (by_content, by_id, by_normalized_content, by_key("doc_id"), levels):
        plain: Callable[[Document], Any] = identity
        SafeEnsembleRetriever(retrievers=[leg], identity=plain)


def fusers(leg: RetrieverLike) -> None:
    own: Fuser = TopOnly()
    every: list[Fuser] = [ReciprocalRank(c=1), RelativeScore(), DistributionBased(), own]
    for fuser in every:
        SafeEnsembleRetriever(retrievers=[leg], fuser=fuser)
    ranked = RankedList([Document(page_content="a")], leg="vector", scores=[0.5])
    as_list: list[Document] = ranked
    assert_type(Engine(fuser=own).merge([as_list, ranked]).documents, list[Document])


def reports(ensemble: SafeEnsembleRetriever) -> None:
    with collect_reports() as collected:
        ensemble.invoke("q")
    assert_type(collected, list[RetrievalReport])
    report = collected[0]
    assert_type(report.legs, tuple[LegReport, ...])
    assert_type(report.to_dict(), dict[str, Any])
    assert_type(report.error, str | None)
    assert_type(describe_conflicts(report.conflicts[1]), str)


def errors(ensemble: SafeEnsembleRetriever) -> None:
    try:
        ensemble.invoke("q")
    except AllLegsFailedError as error:
        assert_type(error.exceptions[0], Exception | ExceptionGroup[Exception])
    except (LegTimeoutError, ConfigurationError) as error:
        assert_type(error, LegTimeoutError | ConfigurationError)
    problem: ValueError = PolicyError("text")
    late: TimeoutError = LegTimeoutError("text")
    raise problem from late


def others() -> None:
    assert_type(unique_by_key(["a"], len), Iterator[str])
    leg = FakeLeg(documents=["a"], hangs=True)
    assert_type(leg.calls, list[tuple[str, dict[str, Any]]])
    assert_type(texts(leg.invoke("q")), list[str])
