"""An explanation in a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from langchain_safe_retrievers.explaining.explanation import (
    ExplainedDocument,
    ExplainedLeg,
    Explanation,
)
from langchain_safe_retrievers.explaining.page import COLORS, milliseconds, plural
from langchain_safe_retrievers.explaining.visible import one_line, shown_value, visible
from langchain_safe_retrievers.extras import load

_LEFT_OUT = 5  # documents that are not in the answer and are shown all the same
_STYLES = ("blue", "dark_orange", "cyan", "magenta", "yellow", "red", "green", "purple")


def text(content: object, style: str = "") -> Any:
    """Return text for a terminal, which obeys nothing that is in it.

    Args:
        content: What to print.
        style: How, in rich's words.

    Returns:
        A `rich.text.Text`.
    """
    return load("rich.text", "explain").Text(visible(str(content)), style)


def table(*heads: str, numbers: Sequence[str] = ()) -> Any:
    """Return an empty table.

    Args:
        *heads: The columns' names.
        numbers: Which of them are to be on the right.

    Returns:
        A `rich.table.Table`.
    """
    box = load("rich.box", "explain").SIMPLE_HEAD
    found = load("rich.table", "explain").Table(box=box, pad_edge=False, header_style="bold")
    for head in heads:
        right = head in numbers
        found.add_column(text(head), justify="right" if right else "left", no_wrap=right)
    return found


def explanation_parts(explanation: Explanation) -> Iterator[Any]:
    """Yield what rich prints of an explanation, from top to bottom.

    Args:
        explanation: What to show.

    Yields:
        Things that rich prints.
    """
    yield from _head(explanation)
    yield _legs(explanation.legs)
    if explanation.documents:
        yield _documents(explanation)
    yield from _left_out(explanation)
    for found in explanation.returned:
        yield from _origins(found)
    for leg in explanation.legs:
        for inner in leg.inner:
            yield from _nested(f"inside {leg.name}", inner)
    for inner in explanation.inner:
        yield from _nested("another retrieval inside", inner)


def _head(explanation: Explanation) -> Iterator[Any]:
    report = explanation.report
    given = {f"{name} given": shown_value(each) for name, each in explanation.arguments.items()}
    yield text(one_line(explanation.query, 200), "bold")
    answer = plural(len(explanation.returned), "document")
    yield text(f"{explanation.retriever}: {answer} in {milliseconds(report.seconds)}", "dim")
    for name, value in {**given, **explanation.settings}.items():
        yield text(f"{name}: {value}", "dim")
    if report.error:
        yield text(f"failed: {report.error}", "bold red")
    for note in report.notes:
        yield text(f"note: {note}", "yellow")
    if report.degraded:
        yield text("degraded: something in it failed", "bold red")


def _legs(legs: Sequence[ExplainedLeg]) -> Any:
    numbers = ("hits", "filtered", "weight", "time")
    found = table("leg", "asked", "", *numbers, numbers=numbers)
    for number, leg in enumerate(legs):
        tried = f" after {leg.attempts} attempts" if leg.attempts > 1 else ""
        error = f": {one_line(leg.error, 120)}" if leg.error else ""
        fine = leg.status in ("ok", "cached", "skipped")
        found.add_row(
            text(leg.name, _STYLES[number % COLORS]),
            text(one_line(leg.query, 60)),
            text(f"{leg.status}{tried}{error}", "" if fine else "red"),
            text(len(leg.hits)),
            text(leg.filtered or ""),
            text("" if leg.weight is None else f"{leg.weight:.4g}"),
            text(milliseconds(leg.seconds)),
        )
    return found


def _documents(explanation: Explanation) -> Any:
    legs = [(leg.name, leg.query) for leg in explanation.legs]
    names = [name for name, _ in legs]
    numbers = ["#", "score", *names, "conflicts"]
    found = table(*numbers, "document", numbers=numbers)
    rest = [each for each in explanation.documents if each.rank is None]
    for document in (*explanation.returned, *rest[:_LEFT_OUT]):
        found.add_row(*map(text, _cells(document, legs)), style="" if document.rank else "dim")
    return found


def _cells(found: ExplainedDocument, legs: Sequence[tuple[str, str]]) -> list[object]:
    lost = sum(len(value.displaced) for value in found.values)
    ranks = [
        ", ".join(str(copy.rank) for copy in found.copies if (copy.leg, copy.query) == leg)
        for leg in legs
    ]
    return [
        found.rank if found.rank is not None else f"({found.fused_rank})",
        "" if found.score is None else f"{found.score:.4f}",
        *ranks,
        lost or "",
        one_line(found.document.page_content, 72),
    ]


def _left_out(explanation: Explanation) -> Iterator[Any]:
    removed = [found.removed_by for found in explanation.documents]
    filtered = sum(leg.filtered for leg in explanation.legs)
    for number, what, why in (
        (removed.count("k"), "document", "cut by k"),
        (removed.count("step"), "document", "removed later"),
        (filtered, "hit", "removed by the filter"),
    ):
        if number:
            yield text(f"{plural(number, what)} {why}", "dim")


def _origins(found: ExplainedDocument) -> Iterator[Any]:
    """Yield where the metadata of a document that had several copies came from."""
    if len(found.copies) < 2:  # noqa: PLR2004 - nothing was folded
        return
    who = [f"{copy.leg} #{copy.rank}" for copy in found.copies]
    on = "" if found.joined_on is None else f" = {shown_value(found.joined_on, 60)}"
    yield text("")
    yield text(f"#{found.rank} {', '.join(who)}: one by {found.joined_by}{on}", "bold")
    for value in found.values:
        origin = ", ".join(who[number] for number in value.copies) or "no copy: it was made here"
        how = "joined from" if value.is_joined else "from"
        shown = f"{shown_value(value.value, 80)} {how} {origin}" if value.is_shown else "none"
        line = text(f"   {one_line(value.path, 60)}: {shown}")
        for lost in value.displaced:
            source = ", ".join(who[number] for number in lost.copies)
            line.append_text(text(f"; displaced {shown_value(lost.value, 80)}", "yellow"))
            line.append_text(text(f" from {source}" if source else "", "yellow"))
        yield line


def _nested(name: str, explanation: Explanation) -> Iterator[Any]:
    group = load("rich.console", "explain").Group(*explanation_parts(explanation))
    title = text(f"{name}: {explanation.retriever}")
    yield load("rich.panel", "explain").Panel(group, title=title, title_align="left")
