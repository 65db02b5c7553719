"""What the legs found, asked once, and how long that takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from statistics import median
from time import perf_counter
from typing import Any

from langchain_core.documents import Document
from langchain_core.runnables import RunnableConfig

from langchain_safe_retrievers.errors import ConfigurationError
from langchain_safe_retrievers.evaluation.dataset import Dataset
from langchain_safe_retrievers.evaluation.evaluate import MISTAKES
from langchain_safe_retrievers.evaluation.leg_depth import at_depth
from langchain_safe_retrievers.evaluation.replay import NOT_ASKED, Replay, same_documents
from langchain_safe_retrievers.evaluation.side_by_side import side_by_side
from langchain_safe_retrievers.evaluation.trial import Trial
from langchain_safe_retrievers.report import error_text
from langchain_safe_retrievers.retrievers.ensemble import SafeEnsembleRetriever
from langchain_safe_retrievers.trace import Trace, collect_traces


@dataclass(frozen=True)
class Asking:
    """How questions are asked.

    Args:
        dataset: The questions.
        config: The config of every call.
        arguments: The named arguments of every call.
        max_concurrency: How many questions are asked side by side.
        show: Whether to show a progress bar.
    """

    dataset: Dataset
    config: RunnableConfig
    arguments: Mapping[str, Any]
    max_concurrency: int
    show: bool

    def ask(self, retriever: SafeEnsembleRetriever, query: str) -> list[Document]:
        """Return what a retriever finds for a question.

        Args:
            retriever: The retriever.
            query: The question's id.

        Returns:
            The documents.
        """
        return retriever.invoke(self.dataset.queries[query], self.config, **self.arguments)

    def trace(self, retriever: SafeEnsembleRetriever, query: str) -> Trace | str:
        """Return what a question's retrieval went through, or its error.

        Args:
            retriever: The retriever.
            query: The question's id.

        Returns:
            The trace, or the error as text.
        """
        with collect_traces() as traces:
            try:
                self.ask(retriever, query)
            except MISTAKES:
                raise
            except Exception as error:  # noqa: BLE001 - it is listed, and the others are asked
                return error_text(error)
        return traces[-1]


@dataclass(eq=False)
class Hits:
    """What the legs found, for each way of asking that cannot be replayed from another.

    Args:
        replays: Way of asking to question id to its hits.
        failed: Question id to what was raised.
        degraded: Ids of the questions that some leg failed on.
    """

    replays: dict[Any, dict[str, Replay]] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    degraded: set[str] = field(default_factory=set)

    def note(self, traces: Mapping[str, Trace | str]) -> None:
        """Remember which questions failed, and on which some leg failed.

        Args:
            traces: Question id to what its retrieval went through, or its error.
        """
        for query, trace in traces.items():
            if isinstance(trace, str):
                self.failed[query] = trace
            elif trace.report.degraded:
                self.degraded.add(query)

    def ranking(self, trial: Trial, query: str) -> list[str]:
        """Return the ids that a trial's retriever would return.

        Args:
            trial: The trial.
            query: The question's id.

        Returns:
            Document ids, best first; none if the question failed.
        """
        replay = self.replays[trial.source].get(query)
        return replay.ranking(trial.plan) if replay else []

    def runs(self, trials: Sequence[Trial], queries: Sequence[str]) -> list[dict[str, list[str]]]:
        """Return what each trial's retriever would return, question by question.

        Args:
            trials: The trials.
            queries: The questions' ids.

        Returns:
            For each trial, question id to document ids.
        """
        runs: list[dict[str, list[str]]] = [{} for _ in trials]
        for query in queries:
            for run, trial in zip(runs, trials, strict=True):
                run[query] = self.ranking(trial, query)
            for replays in self.replays.values():
                if query in replays:
                    replays[query].forget()
        return runs

    def agrees(self, asking: Asking, trials: Sequence[Trial], query: str) -> bool:
        """Tell whether retrievers do what the replay says.

        Args:
            asking: How to ask.
            trials: The retrievers' trials; one that is there twice is asked once.
            query: The question's id.

        Returns:
            Whether each returns the same documents in the same order.
        """
        return all(self._agrees(asking, trial, query) for trial in dict.fromkeys(trials))

    def _agrees(self, asking: Asking, trial: Trial, query: str) -> bool:
        try:
            found = asking.ask(trial.retriever, query)
        except Exception:  # noqa: BLE001 - it may fail where it failed before
            return query in self.failed
        return same_documents(found, self.ranking(trial, query), asking.dataset)


def collect_hits(asking: Asking, trials: Sequence[Trial], queries: Sequence[str]) -> Hits:
    """Ask the legs once per question, as deep as any trial goes.

    Args:
        asking: How to ask.
        trials: The trials.
        queries: The questions' ids.

    Returns:
        The hits.

    Raises:
        ConfigurationError: Every question failed.
    """
    hits = Hits()
    for source in dict.fromkeys(trial.source for trial in trials):
        asked = _deepest([trial for trial in trials if trial.source == source])
        traces = side_by_side(
            partial(asking.trace, asked), queries, asking.max_concurrency, show=asking.show
        )
        hits.replays[source] = {
            query: _replay(asking, asked, trace)
            for query, trace in zip(queries, traces, strict=True)
            if isinstance(trace, Trace)
        }
        hits.note(dict(zip(queries, traces, strict=True)))
    if len(hits.failed) == len(queries):
        msg = f"every question failed; the first one with {next(iter(hits.failed.values()))}"
        raise ConfigurationError(msg)
    return hits


def _replay(asking: Asking, retriever: SafeEnsembleRetriever, trace: Trace) -> Replay:
    found = {each.leg: each for each in trace.found}
    return Replay(retriever, asking.dataset, found, asking.arguments)


def _deepest(trials: Sequence[Trial]) -> SafeEnsembleRetriever:
    """Return a retriever whose legs are asked as deep as any of the trials asks them."""
    retriever = trials[0].retriever
    legs, weights = [], []
    for number, leg in enumerate(retriever.retrievers):
        depths = [trial.plan.depths[number] for trial in trials]
        deepest = None if None in depths else max(each or NOT_ASKED for each in depths)
        legs.append(at_depth(leg, deepest) if deepest else leg)
        weights.append(0.0 if deepest == NOT_ASKED else 1.0)
    update = {"retrievers": legs, "weights": weights, "k": None, "fetch_k": None}
    return retriever.model_copy(update=update)


def time_calls(asking: Asking, trials: Sequence[Trial], queries: Sequence[str]) -> dict[Any, float]:
    """Return the median time of real calls for each way of asking the legs.

    Args:
        asking: How to ask.
        trials: The trials; the first one of each way of asking is timed.
        queries: The questions' ids; none for no times.

    Returns:
        `Trial.asks` to seconds.
    """
    seconds: dict[Any, float] = {}
    for trial in trials:
        if queries and trial.asks not in seconds:
            asking.trace(trial.retriever, queries[0])  # the first call opens what is to be opened
            seconds[trial.asks] = median(_seconds(asking, trial, query) for query in queries)
    return seconds


def _seconds(asking: Asking, trial: Trial, query: str) -> float:
    start = perf_counter()
    asking.trace(trial.retriever, query)
    return perf_counter() - start
