"""Whether the difference of two retrievers may be chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from langchain_safe_retrievers.errors import ConfigurationError
from langchain_safe_retrievers.evaluation.evaluation import Evaluation
from langchain_safe_retrievers.evaluation.metrics import EXTRA
from langchain_safe_retrievers.evaluation.table import count
from langchain_safe_retrievers.extras import load

RESAMPLES = 9_999


@dataclass(frozen=True)
class Significance:
    """The difference of two retrievers on the same questions.

    Args:
        metric: What was compared.
        before: The first one's mean.
        after: The second one's mean.
        p_value: How often chance alone makes a difference of at least this size.
        better: On how many questions the second one is better.
        worse: On how many it is worse.
        equal: On how many both are equal.
    """

    metric: str
    before: float
    after: float
    p_value: float
    better: int
    worse: int
    equal: int

    @property
    def difference(self) -> float:
        """The second one's mean less the first one's."""
        return self.after - self.before

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as JSON-native values."""
        return {**asdict(self), "difference": self.difference}

    def __str__(self) -> str:
        """Return one line."""
        return (
            f"{self.metric}: {self.before:.4f} -> {self.after:.4f} ({self.difference:+.4f}), "
            f"p = {self.p_value:.4f}; better on {count(self.better, 'question')}, worse on "
            f"{self.worse}, equal on {self.equal}"
        )


def significance(before: Evaluation, after: Evaluation, metric: str) -> Significance:
    """Test whether two evaluations on the same questions differ by more than chance.

    The test is Fisher's randomization test on the questions' differences, two-sided (scipy's
    `permutation_test`): if the two retrievers were equal, each difference could as well have
    the other sign. The p-value is the share of 10,000 random choices of signs (all choices,
    where there are fewer) whose mean is at least as far from 0. It assumes nothing about how
    the metric is spread, while most differences are exactly 0 and the rest far from normal.
    Source: Smucker, Allan and Carterette, "A Comparison of Statistical Significance Tests for
    Information Retrieval Evaluation", CIKM 2007.

    Args:
        before: The one evaluation.
        after: The other, of the same questions.
        metric: One of both evaluations' metrics.

    Returns:
        The difference and its p-value.

    Raises:
        ConfigurationError: The questions are not the same, or the metric is missing.

    Example:
        >>> from langchain_safe_retrievers.evaluation.evaluation import QueryResult
        >>> from langchain_safe_retrievers.evaluation.unanswerable import Refusals
        >>> def run(*values):
        ...     found = [QueryResult(str(i), "", values={"P@1": v}) for i, v in enumerate(values)]
        ...     return Evaluation("r", "d", {"P@1": 0.0}, found, Refusals(0, 0, 3, 0))
        >>> found = significance(run(0.0, 0.0, 0.0), run(1.0, 1.0, 1.0), "P@1")
        >>> found.difference, found.p_value  # 2 of the 8 choices of signs reach it
        (1.0, 0.25)
    """
    pairs = _pairs(before, after, metric)
    differences = [new - old for old, new in pairs]
    return Significance(
        metric,
        before=fmean(old for old, _ in pairs),
        after=fmean(new for _, new in pairs),
        p_value=p_value(differences),
        better=sum(each > 0 for each in differences),
        worse=sum(each < 0 for each in differences),
        equal=sum(each == 0 for each in differences),
    )


def p_value(differences: Sequence[float]) -> float:
    """Return the p-value of the randomization test; see `significance`.

    Args:
        differences: One for each question.

    Returns:
        In (0, 1]; 1 if there is no difference anywhere.
    """
    some = [each for each in differences if each]  # the sign of 0 changes no mean
    if not some:
        return 1.0
    np, stats = load("numpy", EXTRA), load("scipy.stats", EXTRA)
    if len(some) == 1:  # scipy wants two; both choices of the sign are as far from 0
        return 1.0
    found = stats.permutation_test(
        (np.asarray(some),),
        lambda sample, axis: sample.mean(axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=RESAMPLES,
        rng=np.random.default_rng(0),
        batch=1_000,
    )
    return float(found.pvalue)


def _pairs(before: Evaluation, after: Evaluation, metric: str) -> list[tuple[float, float]]:
    for each in (before, after):
        if metric not in each.metrics:
            msg = f"{metric!r} is not among the metrics of {each.retriever}: {list(each.metrics)}"
            raise ConfigurationError(msg)
    old, new = before.values(metric), after.values(metric)
    if old.keys() != new.keys() or not old:
        other = sorted(old.keys() ^ new.keys())
        msg = (
            f"the two evaluations have {len(old)} and {len(new)} answerable questions, and not "
            f"the same ones ({other[:5]} are in one alone); evaluate both on one dataset"
        )
        raise ConfigurationError(msg)
    return [(old[key], new[key]) for key in old]
