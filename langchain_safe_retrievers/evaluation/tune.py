"""Find a retriever's best settings: its legs are asked once, and fusion is replayed."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from langchain_core.runnables import RunnableConfig

from langchain_safe_retrievers.errors import ConfigurationError
from langchain_safe_retrievers.evaluation.dataset import Dataset
from langchain_safe_retrievers.evaluation.hits import Asking, collect_hits, time_calls
from langchain_safe_retrievers.evaluation.metrics import Metrics
from langchain_safe_retrievers.evaluation.pareto import Tried
from langchain_safe_retrievers.evaluation.side_by_side import check_concurrency
from langchain_safe_retrievers.evaluation.significance import p_value
from langchain_safe_retrievers.evaluation.space import Space, settings_of
from langchain_safe_retrievers.evaluation.trial import Made, trials_of
from langchain_safe_retrievers.evaluation.tuning import Split, Tuning
from langchain_safe_retrievers.retrievers.ensemble import SafeEnsembleRetriever

_Run = Mapping[str, Sequence[str]]
_CHANCE = 0.05
_HOLDS = 0.5  # the part of a gain that must be there on the held-out questions too


def tune(  # noqa: PLR0913 - all but three are named and may be left out
    retriever: SafeEnsembleRetriever | Made,
    dataset: Dataset,
    space: Space,
    *,
    metric: str = "nDCG@10",
    held_out: float = 0.5,
    seed: int = 0,
    max_settings: int | None = None,
    latency_queries: int = 20,
    max_concurrency: int = 1,
    show_progress: bool = False,
    config: RunnableConfig | None = None,
    **arguments: Any,
) -> Tuning:
    """Find the settings that raise a metric the most, and hold them against fresh questions.

    The legs are asked once per question, as deep as any setting goes; fusion is then replayed
    from their hits. The replay ranks exactly as the retriever does if a leg's shorter list is
    the start of its longer one; the retriever's own and the best settings are tried for real,
    and the result says on how many questions that was otherwise.

    Args:
        retriever: An ensemble or hybrid retriever; or a function that makes one from the
            parameters of its store, which `space` names. Each one that it makes is asked anew.
        dataset: The questions and judgements; those without an answer are left out.
        space: Name to the values to try, all combined with all; or a list of settings. The
            names are `weights` (see `weight_grid`), `c`, `fuser`, `k`, `fetch_k`, `leg_k` (leg
            name to how many documents that leg alone is asked for), and the function's own.
        metric: What to raise, as ir-measures writes it.
        held_out: The share of the questions that the settings are not chosen by, between 0
            and 1.
        seed: Splits the questions, and draws settings, the same way again.
        max_settings: How many settings to draw at random if there are more; None for all.
        latency_queries: On how many questions to time real calls, for each way of asking the
            legs, and to hold replays against real answers; 0 for neither.
        max_concurrency: How many questions are asked side by side, at least 1. Times are
            measured one by one.
        show_progress: Whether to show a progress bar.
        config: The config of every call.
        **arguments: Named arguments of every call, such as `filter`; `k` is a setting.

    Returns:
        The best settings, a retriever that has them, both figures, and all that was tried.

    Raises:
        ConfigurationError: A setting that cannot work, too few questions, or a retriever of
            another kind.

    Example:
        >>> from langchain_safe_retrievers.testing import FakeLeg
        >>> from langchain_core.documents import Document
        >>> bees, wasps = (Document(page_content=text, id=text) for text in ("bees", "wasps"))
        >>> legs = [FakeLeg(documents=[bees, wasps]), FakeLeg(documents=[wasps, bees])]
        >>> ensemble = SafeEnsembleRetriever(retrievers=legs, weights=[0.4, 0.6])
        >>> dataset = Dataset({"1": "a?", "2": "b?"}, {"1": {"bees": 1}, "2": {"bees": 1}})
        >>> found = tune(ensemble, dataset, {"weights": [[0.6, 0.4], [0.5, 0.5]]}, metric="RR")
        >>> found.settings, found.before.held_out, found.after.held_out
        ({'weights': [0.6, 0.4]}, 0.5, 1.0)
    """
    _check(arguments, max_concurrency)
    asking = Asking(dataset, config or {}, arguments, max_concurrency, show_progress)
    halves = split(list(dataset.answerable), held_out, seed)
    trials = trials_of(retriever, settings_of(space, most=max_settings, seed=seed), arguments)
    hits = collect_hits(asking, trials, [*halves[0], *halves[1]])
    sample = halves[0][:latency_queries]
    seconds = time_calls(asking, trials, sample)
    on_tuning = _Quality(dataset, metric, halves[0])
    tried = [
        Tried(trial.settings, on_tuning.mean(run), seconds.get(trial.asks))
        for trial, run in zip(trials, hits.runs(trials, halves[0]), strict=True)
    ]
    best = max(range(len(tried)), key=lambda number: tried[number].quality)  # of equals the first
    pair = trials[0], trials[best]
    runs = hits.runs(pair, halves[1])
    on_fresh = _Quality(dataset, metric, halves[1])
    found = Tuning(
        metric,
        pair[1].settings,
        pair[1].retriever,
        Split(tried[0].quality, on_fresh.mean(runs[0])),
        Split(tried[best].quality, on_fresh.mean(runs[1])),
        on_fresh.chance(*runs),
        tried,
        *halves,
        hits.failed,
        sorted(hits.degraded),
        len(sample),
        sum(not hits.agrees(asking, pair, query) for query in sample),
    )
    return replace(found, warning=warning_of(found))


def _check(arguments: Mapping[str, Any], max_concurrency: int) -> None:
    if "k" in arguments:
        msg = f'k={arguments["k"]!r} is given for every call; k is a setting: {{"k": [5, 10]}}'
        raise ConfigurationError(msg)
    check_concurrency(max_concurrency)


def split(queries: Sequence[str], held_out: float, seed: int) -> tuple[list[str], list[str]]:
    """Split questions at random.

    Args:
        queries: Their ids.
        held_out: The share of the second part, between 0 and 1.
        seed: Splits the same way again.

    Returns:
        The questions to tune on, and those held out; at least one each.

    Raises:
        ConfigurationError: There are fewer than two, or `held_out` is out of range.

    Example:
        >>> [len(part) for part in split(["1", "2", "3", "4"], held_out=0.25, seed=0)]
        [3, 1]
    """
    if not 0 < held_out < 1:
        msg = f"held_out is {held_out!r}; expected a share between 0 and 1, such as 0.5"
        raise ConfigurationError(msg)
    if len(queries) < 2:  # noqa: PLR2004 - one for each part
        msg = f"the dataset has {len(queries)} answerable questions; expected at least 2, to split"
        raise ConfigurationError(msg)
    mixed = sorted(queries)
    random.Random(seed).shuffle(mixed)  # noqa: S311 - no secret
    kept = len(mixed) - min(len(mixed) - 1, max(1, round(held_out * len(mixed))))
    return mixed[:kept], mixed[kept:]


def warning_of(found: Tuning) -> str | None:
    """Say why a gain is not to be trusted.

    Args:
        found: What tuning found.

    Returns:
        Sentences, or None if there is nothing to say.
    """
    gain, fresh = found.gain, len(found.held_out_queries)
    said = []
    if gain.tuning <= 0:
        said.append(f"no setting has a higher {found.metric} than the retriever's own")
    elif gain.held_out < _HOLDS * gain.tuning:
        said.append(
            f"the gain does not hold up: {gain.tuning:+.4f} on the questions the settings were "
            f"chosen by, {gain.held_out:+.4f} on the {fresh} held out"
        )
    elif found.p_value > _CHANCE:
        said.append(
            f"the gain on the {fresh} held-out questions ({gain.held_out:+.4f}) may be chance "
            f"(p = {found.p_value:.2f}); judge more questions"
        )
    if found.mismatches:
        said.append(
            f"on {found.mismatches} of {found.checked} questions tried for real the retriever "
            "returned something else than the replay: evaluate it with these settings"
        )
    return "; ".join(said) or None


class _Quality:
    """A metric over some questions."""

    def __init__(self, dataset: Dataset, metric: str, queries: Sequence[str]) -> None:
        self.metrics = Metrics([metric], {key: dataset.judgements[key] for key in queries})
        self.metric = self.metrics.names[0]

    def mean(self, run: _Run) -> float:
        return self.metrics.mean(self.metrics.of(run))[self.metric]

    def chance(
        self, before: Mapping[str, Sequence[str]], after: Mapping[str, Sequence[str]]
    ) -> float:
        """Return the p-value of two runs' difference."""
        old, new = self.metrics.of(before), self.metrics.of(after)
        return p_value([new[key][self.metric] - old[key][self.metric] for key in old])
