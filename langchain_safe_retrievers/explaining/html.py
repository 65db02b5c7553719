"""An explanation as a page."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_safe_retrievers.explaining.explanation import (
    ExplainedCopy,
    ExplainedDocument,
    Explanation,
)
from langchain_safe_retrievers.explaining.html_legs import Colors, legs_section
from langchain_safe_retrievers.explaining.markup import Markup, element, joined
from langchain_safe_retrievers.explaining.origins import ExplainedValue
from langchain_safe_retrievers.explaining.page import (
    COLORS,
    column,
    milliseconds,
    page,
    plural,
    tiles,
)
from langchain_safe_retrievers.explaining.rank_flow import rank_flow
from langchain_safe_retrievers.explaining.visible import one_line, shown_value, visible

_TEXT = 4000  # characters of a document's text that the page shows
_BAR = 120


def explanation_page(explanation: Explanation) -> str:
    """Return an explanation as one self-contained page.

    Args:
        explanation: What to show.

    Returns:
        HTML.
    """
    title = f"Why is this document here? {one_line(explanation.query, 60)}"
    return page(title, *_body(explanation, ""))


def _body(explanation: Explanation, prefix: str) -> list[Markup | None]:
    colors = {(leg.name, leg.query): i % COLORS for i, leg in enumerate(explanation.legs)}
    return [
        _header(explanation),
        *_notices(explanation),
        _flow(explanation, prefix),
        _documents(explanation, colors, prefix),
        legs_section(explanation, colors, prefix, _nested),
        _unplaced(explanation, prefix),
    ]


def _header(explanation: Explanation) -> Markup:
    legs, report = explanation.legs, explanation.report
    filtered = sum(leg.filtered for leg in legs)
    conflicts = sum(len(found.conflicts) for found in explanation.returned)
    figures = [
        ("in the answer", len(explanation.returned)),
        ("documents after fusion", len(explanation.documents)),
        (f"hits of {plural(len(legs), 'leg')}", sum(len(leg.hits) for leg in legs)),
        (
            "removed by the filter",
            filtered if filtered or "filter" in explanation.arguments else None,
        ),
        ("conflicts kept", conflicts),
        ("altogether", milliseconds(report.seconds)),
    ]
    call = {f"{name} given": shown_value(value) for name, value in explanation.arguments.items()}
    settings = [
        element("div", element("dt", name), element("dd", element("code", value)))
        for name, value in {**call, **explanation.settings}.items()
    ]
    cache = element("span", f" cache: {report.cache}", class_="tag") if report.cache else None
    return element(
        "header",
        element("p", f"Why is this document here?  {explanation.retriever}", cache, class_="what"),
        element("h1", element("bdi", visible(explanation.query, 400) or "(empty query)")),
        tiles(*figures),
        element("dl", settings, class_="settings") if settings else None,
    )


def _notices(explanation: Explanation) -> list[Markup]:
    report, notices = explanation.report, []
    if report.error:
        failed = joined([element("strong", "The retrieval failed. "), visible(report.error, 2000)])
        notices.append(element("p", failed, class_="notice bad", role="alert"))
    if report.notes:
        items = element("ul", [element("li", visible(note, 1000)) for note in report.notes])
        notices.append(element("div", items, class_="notice"))
    if report.degraded and not report.error:
        text = "This answer may be worse than asked for: something in it failed."
        notices.append(element("p", text, class_="notice bad"))
    return notices


def _flow(explanation: Explanation, prefix: str) -> Markup | None:
    drawing = rank_flow(explanation, prefix)
    if drawing is None:
        return None
    hint = (
        "A line leads from a document's rank in a leg to its rank in the answer; the wider, the "
        "more that leg adds to its score. Point at a document, or reach it by Tab, to see it alone."
    )
    wide = element("div", drawing, class_="wide", tabindex=0, role="region", aria_label="Rank flow")
    return element("section", element("h2", "Rank flow"), element("p", hint, class_="hint"), wide)


# The table of documents --------------------------------------------------------------------------


def _documents(explanation: Explanation, colors: Colors, prefix: str) -> Markup:
    most = max((found.score or 0.0 for found in explanation.documents), default=0.0)
    scored = any(found.score is not None for found in explanation.documents)
    heads = [
        column("#", first="ascending", class_="number"),
        column("document", first="ascending"),
        column("score", first="descending", class_="number") if scored else None,
        *(column(name, first="ascending", class_="number") for name, _ in colors),
        column("conflicts", first="descending", class_="number"),
    ]
    rows = [
        _row(index, found, colors, prefix, most if scored else None)
        for index, found in _in_order(explanation.documents)
    ]
    hint = (
        "Every document after fusion. Under a leg stands the rank it gave. Open a document for its "
        "text, and for where each metadata value came from."
    )
    table = element(
        "table",
        element("thead", element("tr", heads)),
        element("tbody", rows),
        class_="sortable",
    )
    wide = element("div", table, class_="wide") if rows else element("p", "None.", class_="hint")
    return element("section", element("h2", "Documents"), element("p", hint, class_="hint"), wide)


def _in_order(documents: Sequence[ExplainedDocument]) -> list[tuple[int, ExplainedDocument]]:
    """Return the documents with their index, those of the answer first."""
    last = len(documents) + 1
    return sorted(enumerate(documents), key=lambda pair: (pair[1].rank or last, pair[0]))


def _row(
    index: int, found: ExplainedDocument, colors: Colors, prefix: str, most: float | None
) -> Markup:
    rank = found.rank if found.rank is not None else f"({found.fused_rank})"
    order = found.rank or 1_000_000 + (found.fused_rank or 0)
    lost = sum(len(value.displaced) for value in found.conflicts)
    cells = [
        element("td", rank, class_="number", data_v=order),
        element("td", _inside(found, colors), class_="document", data_v=_start(found)),
        None if most is None else _score_cell(found, colors, most),
        *(_rank_cell(found, *leg) for leg in colors),
        element(
            "td",
            element("span", lost, class_="tag warn") if lost else "",
            class_="number",
            data_v=lost,
        ),
    ]
    removed = None if found.rank is not None else "removed"
    return element("tr", cells, id=f"{prefix}d{index}", class_=removed)


def _start(found: ExplainedDocument) -> str:
    return one_line(found.document.page_content, 90) or "(no text)"


def _removal(found: ExplainedDocument) -> Markup | None:
    if found.rank is not None:
        return None
    why = "removed later" if found.removed_by == "step" else "cut by k"
    return element("span", why, class_="tag")


def _score_cell(found: ExplainedDocument, colors: Colors, most: float) -> Markup:
    if found.score is None:
        return element("td", class_="number")
    score = f"{found.score:.4f}"
    return element(
        "td", score, _bar(found.copies, colors, most), class_="number", data_v=found.score
    )


def _bar(copies: Sequence[ExplainedCopy], colors: Colors, most: float) -> Markup | None:
    """Draw what each leg adds to a score."""
    if not 0 < most < float("inf"):
        return None
    at, parts = 0.0, []
    for copy in copies:
        width = _BAR * (copy.contribution or 0.0) / most
        if width > 0:
            title = element("title", f"{copy.leg}: +{copy.contribution:.4g}")
            color = f"c{colors.get((copy.leg, copy.query), 0)}"
            bar = {"x": round(at, 1), "width": round(width, 1), "height": 7, "class_": color}
            parts.append(element("rect", title, **bar))
            at += width
    return element("svg", parts, width=_BAR, height=7, class_="bar", aria_hidden="true")


def _rank_cell(found: ExplainedDocument, leg: str, query: str) -> Markup:
    ranks = [copy.rank for copy in found.copies if (copy.leg, copy.query) == (leg, query)]
    if not ranks:
        return element("td", class_="number")
    return element("td", ", ".join(map(str, ranks)), class_="number", data_v=min(ranks))


def _inside(found: ExplainedDocument, colors: Colors) -> Markup:
    document = found.document
    return element(
        "details",
        element("summary", element("bdi", _start(found)), _removal(found)),
        element("div", visible(document.page_content, _TEXT), class_="text", dir="auto"),
        _joined(found, colors),
        _metadata(found, colors),
    )


def _joined(found: ExplainedDocument, colors: Colors) -> Markup:
    document_id = "" if found.document.id is None else f"id {shown_value(found.document.id, 80)}. "
    if not found.copies:
        return element(
            "p", document_id, "In no leg's list: a later step brought it in.", class_="joined"
        )
    chips = [_chip(copy, colors) for copy in found.copies]
    how = ""
    if len(found.copies) > 1:
        on = "" if found.joined_on is None else f" = {shown_value(found.joined_on, 80)}"
        how = f"{len(found.copies)} copies, one by {found.joined_by}{on}: "
    return element("p", document_id, how or "Found by ", chips, class_="joined")


def _chip(copy: ExplainedCopy, colors: Colors) -> Markup:
    score = "" if copy.score is None else f", score {shown_value(copy.score, 20)}"
    gain = "" if copy.contribution is None else f", adds {copy.contribution:.4g}"
    title = f"{copy.leg} asked {copy.query!r}: rank {copy.rank}{score}{gain}"
    color = colors.get((copy.leg, copy.query), 0)
    return element("span", f"{copy.leg} #{copy.rank}", class_=f"chip c{color}", title=title)


def _metadata(found: ExplainedDocument, colors: Colors) -> Markup | None:
    if not found.values:
        return None
    heads = [column(name) for name in ("metadata", "value", "came from", "displaced")]
    rows = [element("tr", _value_cells(value, found, colors)) for value in found.values]
    return element("table", element("thead", element("tr", heads)), element("tbody", rows))


def _value_cells(value: ExplainedValue, found: ExplainedDocument, colors: Colors) -> list[Markup]:
    chips = [_chip(found.copies[number], colors) for number in value.copies]
    origin: object = chips or element("span", "no copy: it was made here", class_="lost")
    if value.is_joined:
        origin = ["joined: ", chips]
    shown: object = element("code", shown_value(value.value))
    if not value.is_shown:
        origin, shown = "", element("span", "none", class_="lost")
    lost = [
        element(
            "div",
            element("s", element("code", shown_value(each.value))),
            " ",
            [_chip(found.copies[number], colors) for number in each.copies],
            class_="lost",
        )
        for each in value.displaced
    ]
    kind = "path mono conflict" if lost else "path mono"
    texts = (one_line(value.path, 60), shown, origin, lost)
    return [element("td", text, class_=kind if not i else None) for i, text in enumerate(texts)]


def _nested(name: str, explanation: Explanation, prefix: str) -> Markup:
    body = _body(explanation, prefix)
    summary = element("summary", f"{name}: {explanation.retriever}")
    return element("details", summary, element("article", body), class_="inner")


def _unplaced(explanation: Explanation, prefix: str) -> Markup | None:
    if not explanation.inner:
        return None
    parts = [
        _nested("Retrieval", each, f"{prefix}x{i}.") for i, each in enumerate(explanation.inner)
    ]
    hint = element("p", "They ran inside a leg, under a query of their own.", class_="hint")
    return element("section", element("h2", "Other retrievals inside"), hint, parts)
