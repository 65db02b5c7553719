"""SafeMultiQueryRetriever: the drop-in for LangChain's `MultiQueryRetriever`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Any, Literal

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.language_models import BaseLanguageModel
from langchain_core.prompts import BasePromptTemplate
from langchain_core.retrievers import RetrieverLike
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import patch_config
from pydantic import Field

from langchain_safe_retrievers.errors import QueryOutputError
from langchain_safe_retrievers.fusion.fuser import Fuser, RankedList
from langchain_safe_retrievers.fusion.reciprocal_rank import ReciprocalRank
from langchain_safe_retrievers.legs.arguments import inside
from langchain_safe_retrievers.legs.ask import Ask
from langchain_safe_retrievers.legs.asking import aask_legs, ask_legs
from langchain_safe_retrievers.legs.open_runs import OpenRuns
from langchain_safe_retrievers.merging.langchain_policies import LangChainMultiQueryUnionPolicy
from langchain_safe_retrievers.merging.policy import MergePolicy, Metadata
from langchain_safe_retrievers.queries.parsing import (
    DEFAULT_QUERY_PROMPT,
    LineListOutputParser,
    prompt_variable,
    queries_from_output,
)
from langchain_safe_retrievers.queries.text import unique_queries
from langchain_safe_retrievers.report import error_text
from langchain_safe_retrievers.retrieval import Retrieval, current_retrieval
from langchain_safe_retrievers.retrievers.pipeline import PipelineRetriever
from langchain_safe_retrievers.trace import Merging

logger = logging.getLogger(__name__)


class SafeMultiQueryRetriever(PipelineRetriever):
    r"""Lets a model write several queries, asks them side by side, and unites what they find.

    Takes everything that `MultiQueryRetriever` takes. By default documents with the same text
    are one, in the order in which the queries, one after the other, show them first, and
    their metadata is folded. When the model fails or writes nothing usable, the user's own
    question is asked, and the report says so.

    Args:
        retriever: Any `RetrieverLike`.
        llm_chain: Takes `{"question": …}` (or its prompt's one variable) and returns queries
            in any usual form: text, a list, a message, a dict or object with `queries`,
            `lines` or `text`.
        verbose: Whether to log the queries at level INFO.
        parser_key: Not used; taken for compatibility.
        include_original: Whether to ask the user's question as well, last.
        max_queries: How many written queries to ask at most, at least 1; None for all.
        fusion: "union" (first-seen order), or a fuser that ranks across queries.
        k, fetch_k, identity, merge_policy, conflicts_key, provenance_key, fused_score_key,
            score_key, on_leg_error, leg_timeout: As for `PipelineRetriever`.
        original_weight: Weight of the user's question, above 0, where others have 1.

    Example:
        >>> from langchain_core.runnables import RunnableLambda
        >>> writer = RunnableLambda(lambda inputs: f"1. {inputs['question']}\n2. about it")
        >>> echo = RunnableLambda(lambda query: [f"found by {query}", "found by all"])
        >>> found = SafeMultiQueryRetriever(retriever=echo, llm_chain=writer).invoke("cats")
        >>> [document.page_content for document in found]
        ['found by cats', 'found by all', 'found by about it']
    """

    retriever: RetrieverLike
    llm_chain: Runnable[Any, Any]
    verbose: bool = True
    parser_key: str = "lines"
    include_original: bool = False
    max_queries: int | None = Field(default=None, ge=1, strict=True)
    fusion: Literal["union"] | Fuser = "union"
    original_weight: float = Field(default=1.0, gt=0, strict=True, allow_inf_nan=False)
    merge_policy: MergePolicy | Callable[[Metadata, Metadata], Metadata] = (
        LangChainMultiQueryUnionPolicy()
    )

    @classmethod
    def from_llm(
        cls,
        retriever: RetrieverLike,
        llm: BaseLanguageModel[Any],
        prompt: BasePromptTemplate[Any] = DEFAULT_QUERY_PROMPT,
        parser_key: str | None = None,  # noqa: ARG003 - upstream's, not used there either
        include_original: bool = False,  # noqa: FBT001, FBT002 - upstream's positional order
        **kwargs: Any,
    ) -> SafeMultiQueryRetriever:
        """Return a retriever whose queries a model writes.

        Args:
            retriever: Any `RetrieverLike`.
            llm: The model.
            prompt: A prompt with one variable of any name.
            parser_key: Not used; taken for compatibility.
            include_original: Whether to ask the user's question as well, last.
            **kwargs: Any other field of the retriever.

        Returns:
            The retriever.

        Raises:
            ConfigurationError: The prompt has not exactly one variable.
        """
        prompt_variable(prompt)
        chain = prompt | llm | LineListOutputParser()
        return cls(
            retriever=retriever, llm_chain=chain, include_original=include_original, **kwargs
        )

    def generate_queries(
        self, question: str, run_manager: CallbackManagerForRetrieverRun | None = None
    ) -> list[str]:
        """Let the model write queries.

        Args:
            question: What the user asked.
            run_manager: The run that the model's run goes below, or None.

        Returns:
            At most `max_queries` queries; the question itself if there is none usable.

        Raises:
            QueryOutputError: The chain returned something that is no form of queries.
        """
        config, runs = self._config(run_manager)
        try:
            output = self.llm_chain.invoke(self._input(question), config=config)
        except Exception as error:  # noqa: BLE001 - reported, and the question itself is searched
            return self._without_writer(question, error)
        except BaseException as error:
            runs.close(error)
            raise
        return self._read(question, output)

    async def agenerate_queries(
        self, question: str, run_manager: AsyncCallbackManagerForRetrieverRun | None = None
    ) -> list[str]:
        """Let the model write queries, without blocking the loop.

        Args:
            question: What the user asked.
            run_manager: The run that the model's run goes below, or None.

        Returns:
            At most `max_queries` queries; the question itself if there is none usable.

        Raises:
            QueryOutputError: The chain returned something that is no form of queries.
        """
        config, runs = self._config(run_manager)
        try:
            output = await self.llm_chain.ainvoke(self._input(question), config=config)
        except Exception as error:  # noqa: BLE001 - reported, and the question itself is searched
            return self._without_writer(question, error)
        except BaseException as error:
            await runs.aclose(error)
            raise
        return self._read(question, output)

    def retrieve_documents(
        self, queries: list[str], run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        """Ask every query, side by side.

        Args:
            queries: What to ask.
            run_manager: The run that the queries' runs go below.

        Returns:
            All documents found, query after query.
        """
        retrieval = self._current()
        lists = ask_legs(
            self._asks(queries, retrieval),
            self._failure_policy(),
            retrieval,
            retrieval.config,
            run_manager,
        )
        return _Lists(map(retrieval.hold_filter, lists))

    async def aretrieve_documents(
        self, queries: list[str], run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        """Ask every query, side by side, without blocking the loop.

        Args:
            queries: What to ask.
            run_manager: The run that the queries' runs go below.

        Returns:
            All documents found, query after query.
        """
        retrieval = self._current()
        lists = await aask_legs(
            self._asks(queries, retrieval),
            self._failure_policy(),
            retrieval,
            retrieval.config,
            run_manager,
        )
        return _Lists(map(retrieval.hold_filter, lists))

    def unique_union(self, documents: Sequence[Any]) -> list[Document]:
        """Unite what the queries found: one document per identity, metadata folded.

        Args:
            documents: Documents, query after query, or a list of them for each query.

        Returns:
            The documents, in first-seen order unless `fusion` ranks them.
        """
        retrieval = self._current()
        lists = _as_lists(documents)
        fuser = ReciprocalRank() if self.fusion == "union" else self.fusion
        weights = [self._weight(found, retrieval) for found in lists]
        first_seen = self.fusion == "union"
        return retrieval.merge(
            Merging(self._engine(fuser), lists, weights, retrieval.k, first_seen)
        )

    def _retrieve(
        self, query: str, run_manager: CallbackManagerForRetrieverRun, retrieval: Retrieval
    ) -> list[Document]:
        queries = self._with_original(self.generate_queries(query, run_manager), query)
        retrieval.queries = queries
        return self.unique_union(self.retrieve_documents(queries, run_manager))

    async def _aretrieve(
        self, query: str, run_manager: AsyncCallbackManagerForRetrieverRun, retrieval: Retrieval
    ) -> list[Document]:
        queries = self._with_original(await self.agenerate_queries(query, run_manager), query)
        retrieval.queries = queries
        return self.unique_union(await self.aretrieve_documents(queries, run_manager))

    def _with_original(self, queries: Sequence[str], question: str) -> list[str]:
        """Return the queries with the question last, once, if it is to be asked."""
        if not self.include_original:
            return list(queries)
        asked = unique_queries([question])
        return [query for query in unique_queries([question, *queries]) if query not in asked] + [
            question
        ]

    def _input(self, question: str) -> dict[str, str]:
        """Return the question under the name that the chain's prompt has for it."""
        chain: Any = self.llm_chain
        while inner := inside(chain):
            chain = inner[0]
        prompt = getattr(chain, "prompt", chain)
        names = {"question"}
        if isinstance(prompt, BasePromptTemplate):
            names = set(prompt.input_variables).difference(prompt.partial_variables)
        return {names.pop() if len(names) == 1 else "question": question}

    def _config(self, run_manager: Any) -> tuple[RunnableConfig, OpenRuns]:
        """Return the config for the model's chain, and who watches its runs."""
        retrieval = current_retrieval(self)
        child = None if run_manager is None else run_manager.get_child()
        runs = OpenRuns.below(child)
        return patch_config(retrieval.config if retrieval else None, callbacks=child), runs

    def _read(self, question: str, output: Any) -> list[str]:
        queries = queries_from_output(output)[: self.max_queries]
        if not queries:
            return self._without_writer(question, QueryOutputError("the model wrote no query"))
        if self.verbose:
            logger.info("%d queries were written", len(queries))
            logger.debug("Generated queries: %s", queries)
        return queries

    def _without_writer(self, question: str, error: Exception) -> list[str]:
        """Report that the model did not help; the user's own question is searched."""
        logger.warning(
            "no queries were written, the question itself is searched: %s", type(error).__name__
        )
        retrieval = current_retrieval(self)
        if retrieval is not None:
            retrieval.query_writer_error = why = error_text(error)
            text = f"no queries were written ({why}); the question itself was searched"
            retrieval.note(text, degraded=True)
        return [question]

    def _asks(self, queries: Sequence[str], retrieval: Retrieval) -> list[Ask]:
        arguments = self._arguments_for(self.retriever, retrieval)
        return [
            Ask(f"query_{i}", f"query_{i}", self.retriever, query, arguments)
            for i, query in enumerate(queries, start=1)
        ]

    def _weight(self, found: Sequence[Document], retrieval: Retrieval) -> float:
        original = retrieval.queries[-1] if self.include_original and retrieval.queries else None
        return (
            self.original_weight
            if original is not None and getattr(found, "query", None) == original
            else 1.0
        )

    def _legs(self) -> Sequence[Any]:
        return [self.retriever]


class _Lists(list[Document]):
    """All documents, query after query, that remembers which list each query had."""

    def __init__(self, lists: Iterable[RankedList]) -> None:
        self.lists = list(lists)
        super().__init__(self._end_to_end())

    def _end_to_end(self) -> Iterator[Document]:
        return (document for found in self.lists for document in found)

    def is_untouched(self) -> bool:
        """Tell whether nobody has added, removed or moved a document since."""
        pairs = zip_longest(self, self._end_to_end())
        return all(document is original for document, original in pairs)


def _as_lists(documents: Sequence[Any]) -> list[Sequence[Document]]:
    if isinstance(documents, _Lists) and documents.is_untouched():
        return list(documents.lists)
    if any(isinstance(item, (list, tuple)) for item in documents):
        return [list(found) for found in documents]
    return [documents]
