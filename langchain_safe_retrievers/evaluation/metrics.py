"""Ranking metrics, as ir-measures computes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_safe_retrievers.errors import ConfigurationError
from langchain_safe_retrievers.extras import load

EXTRA = "evaluate"
Ranking = Sequence[str]
"""The ids of what was found, best first."""


class Metrics:
    """Some metrics over some judgements, to be computed for any number of runs.

    Args:
        names: As ir-measures writes them: "nDCG@10", "R@100", "RR@10", "AP", "P@5" …
        qrels: Question id to document id to grade.

    Raises:
        ConfigurationError: A name is none of a metric, or there is no name.
        MissingExtraError: ir-measures is not installed.

    Example:
        >>> Metrics(["RR@10"], {"1": {"bees": 1}}).of({"1": ["wasps", "bees"]})
        {'1': {'RR@10': 0.5}}
    """

    def __init__(self, names: Sequence[str], qrels: Mapping[str, Mapping[str, int]]) -> None:
        """Read the names."""
        measures = load("ir_measures", EXTRA)
        self.names = _checked(names)
        self._measures = {_parsed(measures, name): name for name in self.names}
        self._qrels = qrels
        self._evaluator = _evaluator(measures, list(self._measures), qrels)

    def of(self, run: Mapping[str, Ranking]) -> dict[str, dict[str, float]]:
        """Return the value of each metric for each question.

        Args:
            run: Question id to what was found; a question that is missing found nothing.

        Returns:
            Question id to metric to value.
        """
        values: dict[str, dict[str, float]] = {query: {} for query in self._qrels}
        for each in self._evaluator.iter_calc({key: scored(run[key]) for key in run}):
            values[each.query_id][self._measures[each.measure]] = float(each.value)
        return values

    def mean(self, values: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
        """Return each metric over all questions, as its own rule has it: the mean, or the sum.

        Args:
            values: What `of` returned.

        Returns:
            Metric to value; empty if there are no questions.
        """
        found = {}
        for measure, name in self._measures.items():
            aggregate = measure.aggregator()
            for each in values.values():
                aggregate.add(each[name])
            found[name] = float(aggregate.result())
        return found if values else {}


def scored(ranking: Ranking) -> dict[str, float]:
    """Return scores that put documents in this order and no other: n, n − 1, … 1.

    Scores of a retriever's own may tie, and every tool breaks ties in its own way; these are
    whole numbers, so that none is rounded.

    Args:
        ranking: Document ids, each once, best first.

    Returns:
        Document id to score.

    Example:
        >>> scored(["b", "a"])
        {'b': 2.0, 'a': 1.0}
    """
    size = len(ranking)
    return {document: float(size - place) for place, document in enumerate(ranking)}


def _checked(names: Sequence[str]) -> list[str]:
    if isinstance(names, str) or not names:
        msg = f'metrics is {names!r}; expected a list of names, such as ["nDCG@10", "R@10"]'
        raise ConfigurationError(msg)
    return list(map(str, names))


def _parsed(measures: Any, name: str) -> Any:
    try:
        return measures.parse_measure(name)
    except (NameError, SyntaxError, ValueError, TypeError) as error:
        msg = (
            f"{name!r} is no metric of ir-measures; expected a name such as "
            '"nDCG@10", "R@100", "RR@10", "AP" or "P@5"'
        )
        raise ConfigurationError(msg) from error


def _evaluator(measures: Any, wanted: list[Any], qrels: Mapping[str, Mapping[str, int]]) -> Any:
    try:
        return measures.evaluator(wanted, qrels)
    except (ValueError, AssertionError, RuntimeError) as error:  # no cutoff, no provider
        msg = f"ir-measures cannot compute {', '.join(map(str, wanted))}: {error}"
        raise ConfigurationError(msg) from error
