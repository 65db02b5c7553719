"""What each leg found, as part of a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from langchain_safe_retrievers.explaining.explanation import (
    ExplainedHit,
    ExplainedLeg,
    Explanation,
)
from langchain_safe_retrievers.explaining.markup import Markup, element
from langchain_safe_retrievers.explaining.page import column, milliseconds, plural
from langchain_safe_retrievers.explaining.visible import one_line, shown_value, visible

_BAR = 120
Colors = Mapping[tuple[str, str], int]
"""The number of the colour of a leg's list, by leg and query."""
Nested = Callable[[str, Explanation, str], Markup]
"""Returns what a leg did inside, given a name for it and what its ids begin with."""


def legs_section(
    explanation: Explanation, colors: Colors, prefix: str, nested: Nested
) -> Markup | None:
    """Return a table of the legs, and the list of each.

    Args:
        explanation: What to show.
        colors: The legs' colours.
        prefix: What ids begin with.
        nested: Shows what a leg did inside.

    Returns:
        The section, or None if there are no legs.
    """
    if not explanation.legs:
        return None
    names = ("leg", "asked", "", "hits", "filtered", "weight", "time")
    heads = [column(name, class_="number" if name in names[3:] else None) for name in names]
    longest = max(leg.seconds for leg in explanation.legs)
    rows = [_leg_row(leg, colors, longest) for leg in explanation.legs]
    table = element("table", element("thead", element("tr", heads)), element("tbody", rows))
    lists = [_list(leg, i, explanation, prefix, nested) for i, leg in enumerate(explanation.legs)]
    wide = element("div", table, class_="wide")
    return element("section", element("h2", "What each leg found"), wide, lists)


def _leg_row(leg: ExplainedLeg, colors: Colors, longest: float) -> Markup:
    color = f"c{colors[leg.name, leg.query]}"
    kind = {"ok": "tag ok", "cached": "tag ok", "skipped": "tag", "fallback": "tag warn"}
    tried = f" after {leg.attempts} attempts" if leg.attempts > 1 else ""
    width = round(_BAR * leg.seconds / longest, 1) if longest > 0 else 0
    bar = element("rect", width=width, height=5, class_=color)
    time = element("svg", bar, width=_BAR, height=5, class_="bar", aria_hidden="true")
    status = element("span", leg.status + tried, class_=kind.get(leg.status, "tag bad"))
    error = element("div", element("small", visible(leg.error, 400))) if leg.error else None
    return element(
        "tr",
        element("td", element("span", leg.name, class_=f"legname {color}")),
        element("td", element("bdi", visible(leg.query, 200))),
        element("td", status, error),
        element("td", len(leg.hits), class_="number"),
        element("td", leg.filtered or "", class_="number"),
        element("td", "" if leg.weight is None else f"{leg.weight:.4g}", class_="number"),
        element("td", milliseconds(leg.seconds), time, class_="number"),
    )


def _list(
    leg: ExplainedLeg, number: int, explanation: Explanation, prefix: str, nested: Nested
) -> list[Markup | None]:
    heads = [column(name, class_="number") for name in ("rank", "score")]
    heads += [column(name) for name in ("document", "id", "became")]
    rows = [_hit_row(hit, explanation, prefix) for hit in leg.hits]
    table = element("table", element("thead", element("tr", heads)), element("tbody", rows))
    name = f"{leg.name}: {plural(len(leg.hits), 'hit')}"
    hits = element("details", element("summary", name), element("div", table, class_="wide"))
    inner = [
        nested(f"Inside {leg.name}", each, f"{prefix}{number}.{i}.")
        for i, each in enumerate(leg.inner)
    ]
    return [hits if rows else None, *inner]


def _hit_row(hit: ExplainedHit, explanation: Explanation, prefix: str) -> Markup:
    known = None if hit.document.id is None else element("code", visible(hit.document.id, 60))
    return element(
        "tr",
        element("td", hit.rank, class_="number"),
        element("td", "" if hit.score is None else shown_value(hit.score, 20), class_="number"),
        element("td", element("bdi", one_line(hit.document.page_content, 110)), class_="document"),
        element("td", known),
        element("td", _fate(hit, explanation, prefix)),
    )


def _fate(hit: ExplainedHit, explanation: Explanation, prefix: str) -> Markup | None:
    if hit.counted is None:
        return element("span", "removed by the filter", class_="tag bad")
    if hit.place is None:
        return None
    found = explanation.documents[hit.place]
    became = f"#{found.rank}" if found.rank is not None else f"({found.fused_rank}), not returned"
    return element("a", became, href=f"#{prefix}d{hit.place}")
