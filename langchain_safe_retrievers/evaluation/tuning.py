"""What tuning found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from langchain_safe_retrievers.evaluation.pareto import (
    Tried,
    draw,
    pareto_front,
    plain,
    write_csv,
)
from langchain_safe_retrievers.evaluation.table import count, indented, ms, table

_SHOWN = 10


@dataclass(frozen=True)
class Split:
    """A metric on both halves of the questions.

    Args:
        tuning: On the questions that the settings were chosen by.
        held_out: On those that nobody looked at.
    """

    tuning: float
    held_out: float


@dataclass(frozen=True)
class Tuning:
    """What tuning found.

    Args:
        metric: What was to be raised.
        settings: The best settings; empty if the retriever's own are.
        retriever: The retriever with these settings.
        before: The metric with the retriever's own settings.
        after: The metric with the best ones.
        p_value: How often chance alone makes a difference as great as the one on the held-out
            questions.
        tried: Every setting, in the space's order; the retriever's own come first.
        tuning_queries: Ids of the questions that the settings were chosen by.
        held_out_queries: Ids of the others.
        failed: Question id to what was raised; such a question found nothing.
        degraded: Ids of the questions that some leg failed on.
        checked: On how many questions the retriever's own and the best settings were tried for
            real.
        mismatches: On how many of those the retriever returned something else than the replay
            said: a leg whose short list is not the start of its long one.
        warning: Why not to trust the gain, or None.
    """

    metric: str
    settings: Mapping[str, Any]
    retriever: Any = field(repr=False)
    before: Split
    after: Split
    p_value: float
    tried: Sequence[Tried] = field(repr=False)
    tuning_queries: Sequence[str] = field(repr=False)
    held_out_queries: Sequence[str] = field(repr=False)
    failed: Mapping[str, str] = field(default_factory=dict)
    degraded: Sequence[str] = ()
    checked: int = 0
    mismatches: int = 0
    warning: str | None = None

    @property
    def gain(self) -> Split:
        """What the best settings gain over the retriever's own."""
        return Split(
            self.after.tuning - self.before.tuning, self.after.held_out - self.before.held_out
        )

    @property
    def front(self) -> list[Tried]:
        """The Pareto front of quality against time, the fastest first."""
        return pareto_front(self.tried)

    def write_csv(self, path: str | Path) -> None:
        """Write every setting with its quality and time as CSV; `on_front` marks the front.

        Args:
            path: The file; one that is there is written over.
        """
        write_csv(path, self.tried, self.metric)

    def draw(self, path: str | Path) -> None:
        """Draw quality against time, and the Pareto front as a line.

        Args:
            path: The PNG file; one that is there is written over.

        Raises:
            ConfigurationError: No time was measured.
        """
        draw(path, self.tried, self.metric)

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the retriever as JSON-native values."""
        return {
            "metric": self.metric,
            "settings": plain(self.settings),
            "before": asdict(self.before),
            "after": asdict(self.after),
            "gain": asdict(self.gain),
            "p_value": self.p_value,
            "warning": self.warning,
            "tried": [each.to_dict() for each in self.tried],
            "front": [each.to_dict() for each in self.front],
            "tuning_queries": list(self.tuning_queries),
            "held_out_queries": list(self.held_out_queries),
            "failed": dict(self.failed),
            "degraded": list(self.degraded),
            "checked": self.checked,
            "mismatches": self.mismatches,
        }

    def __str__(self) -> str:
        """Return both figures of both settings, the warning, and the front."""
        halves = (len(self.tuning_queries), len(self.held_out_queries))
        head = (
            f"{count(len(self.tried), 'setting')} tried on {count(halves[0], 'question')}, the "
            f"best one held against {halves[1]} more; {len(self.failed)} failed, "
            f"{len(self.degraded)} degraded"
        )
        rows: list[list[object]] = [
            ["own settings", self.before.tuning, self.before.held_out],
            ["best settings", self.after.tuning, self.after.held_out],
            ["gain", f"{self.gain.tuning:+.4f}", f"{self.gain.held_out:+.4f}"],
        ]
        parts = [table([self.metric, "tuning", "held out"], rows), f"p = {self.p_value:.4f}"]
        parts.append(f"best: {_text(self.settings)}")
        if self.warning:
            parts.append(f"WARNING: {self.warning}")
        if self.front:
            rows = [[ms(each.seconds), each.quality, _text(each.settings)] for each in self.front]
            parts.append(table(["ms", self.metric, "settings"], rows[:_SHOWN]))
        return "\n".join([head, *map(indented, parts)])


def _text(settings: Mapping[str, Any]) -> str:
    found = ", ".join(f"{name}={_short(value)}" for name, value in settings.items())
    return found or "the retriever's own"


def _short(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_short(item)}" for key, item in value.items()) + "}"
    return f"{value:g}" if isinstance(value, float) else str(value)
