"""The settings that are worth their time: none is both better and faster."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langchain_safe_retrievers.errors import ConfigurationError
from langchain_safe_retrievers.evaluation.metrics import EXTRA
from langchain_safe_retrievers.extras import load


@dataclass(frozen=True)
class Tried:
    """One setting, and what it brought.

    Args:
        settings: The settings.
        quality: The metric's mean over the tuning questions.
        seconds: The median time of real calls that ask the legs as it does; None if it was not
            measured.
    """

    settings: Mapping[str, Any] = field(default_factory=dict)
    quality: float = 0.0
    seconds: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the setting as JSON-native values; a fuser as it is written."""
        return {
            "settings": plain(self.settings),
            "quality": self.quality,
            "seconds": self.seconds,
        }


def plain(value: Any) -> Any:
    """Return settings as JSON-native values; what JSON has no form for becomes its `repr`.

    Args:
        value: Settings, or a part of them.

    Returns:
        The value.

    Example:
        >>> plain({"k": 5, "weights": (0.5, 0.5), "store": b"x"})
        {'k': 5, 'weights': [0.5, 0.5], 'store': "b'x'"}
    """
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return list(map(plain, value))
    return value if value is None or isinstance(value, str | bool | int | float) else repr(value)


def pareto_front(tried: Iterable[Tried]) -> list[Tried]:
    """Return the settings that no other beats: better at no more time, or faster and as good.

    Args:
        tried: Settings; those without a time are left out.

    Returns:
        The front, the fastest first, its quality rising.

    Example:
        >>> fast, slow, bad = Tried({}, 0.5, 0.01), Tried({}, 0.7, 0.02), Tried({}, 0.6, 0.03)
        >>> pareto_front([slow, bad, fast]) == [fast, slow]
        True
    """
    timed = [each for each in tried if each.seconds is not None]
    timed.sort(key=lambda each: (each.seconds, -each.quality))
    front: list[Tried] = []
    for each in timed:
        if not front or each.quality > front[-1].quality:
            front.append(each)
    return front


def write_csv(path: str | Path, tried: Sequence[Tried], metric: str) -> None:
    """Write settings as CSV: a column for each setting, then metric, seconds and on_front.

    Weights and depths by leg name are written as JSON.

    Args:
        path: The file; one that is there is written over.
        tried: The settings.
        metric: The metric's name.
    """
    names = dict.fromkeys(name for each in tried for name in each.settings)
    front = set(map(id, pareto_front(tried)))
    with Path(path).open("w", encoding="utf-8", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow([*names, metric, "seconds", "on_front"])
        for each in tried:
            settings = plain(each.settings)
            cells = [_cell(settings.get(name, "")) for name in names]
            rows.writerow([*cells, each.quality, each.seconds, int(id(each) in front)])


def _cell(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, list | dict) else value


def draw(path: str | Path, tried: Sequence[Tried], metric: str) -> None:
    """Draw quality against time, and the Pareto front as a line.

    Args:
        path: The PNG file; one that is there is written over.
        tried: The settings.
        metric: The metric's name.

    Raises:
        ConfigurationError: No setting has a time.
        MissingExtraError: matplotlib is not installed.
    """
    front = pareto_front(tried)
    if not front:
        msg = "no setting has a time, so there is nothing to draw; tune with latency_queries=20"
        raise ConfigurationError(msg)
    figure = load("matplotlib.figure", EXTRA).Figure(figsize=(7, 4.5), layout="constrained")
    load("matplotlib.backends.backend_agg", EXTRA).FigureCanvasAgg(figure)  # no window, no state
    axes = figure.add_subplot()
    for points, style in ((tried, _DOTS), (front, _LINE)):
        timed = [each for each in points if each.seconds is not None]
        times = [(each.seconds or 0.0) * 1000 for each in timed]
        axes.plot(times, [each.quality for each in timed], **style)
    axes.set(xlabel="median latency (ms)", ylabel=metric)
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right")
    figure.savefig(path, format="png", dpi=150)


_DOTS = {"linestyle": "", "marker": "o", "markersize": 4, "color": "#8a8f98", "label": "tried"}
_LINE = {"marker": "o", "color": "#0b6e4f", "drawstyle": "steps-post", "label": "Pareto front"}
