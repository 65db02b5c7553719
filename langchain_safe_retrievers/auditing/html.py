"""An audit as a page."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.documents import Document

from langchain_safe_retrievers.auditing.loss import DocumentLoss, LossReport, QueryLoss
from langchain_safe_retrievers.auditing.wording import losses_of, place_of
from langchain_safe_retrievers.explaining.markup import Child, Markup, element
from langchain_safe_retrievers.explaining.page import (
    COLORS,
    column,
    milliseconds,
    page,
    tiles,
)
from langchain_safe_retrievers.explaining.visible import one_line, shown_value, visible

_WORST, _BAR = 10, 200


def loss_page(report: LossReport) -> str:
    """Return an audit as one self-contained page.

    Args:
        report: What to show.

    Returns:
        HTML.
    """
    return page(
        f"What {report.retriever} loses",
        _header(report),
        _losses(report),
        _keys(report),
        _legs(report),
        _worst(report),
        _queries(report),
    )


def _header(report: LossReport) -> Markup:
    totals = report.totals
    figures = [
        ("queries", totals.queries),
        ("documents returned", totals.returned),
        ("metadata values lost", f"{totals.values:,}"),
        ("ids lost", totals.ids or None),
        ("answers lost", totals.errors or None),
        ("against the filter", totals.leaked or None),
        ("time lost in turn", milliseconds(totals.seconds_saved)),
    ]
    return element(
        "header",
        element("p", "Audit, by the hits of its own legs", class_="what"),
        element("h1", f"What {report.retriever} loses"),
        tiles(*figures),
        element("p", visible(report.sentence), class_="ticket"),
    )


def _section(name: str, hint: str | None, *children: Child) -> Markup:
    told = element("p", hint, class_="hint") if hint else None
    return element("section", element("h2", name), told, *children)


def _table(heads: Sequence[Markup], rows: Sequence[Markup], *, sorts: bool = True) -> Markup:
    inside = [element("thead", element("tr", heads)), element("tbody", rows)]
    table = element("table", *inside, class_="sortable" if sorts else None)
    return element("div", table, class_="wide")


def _number(value: float, shown: object = None) -> Markup:
    text = f"{value:,}" if shown is None else shown
    return element("td", text if value else "", class_="number", data_v=value)


def _losses(report: LossReport) -> Markup:
    found = losses_of(report.totals)
    rows = [
        element(
            "tr",
            element("td", loss.name),
            element("td", loss.shown, class_="number"),
            element("td", loss.meaning),
        )
        for loss in found
        if loss.is_any
    ]
    heads = [column("lost"), column("how much", class_="number"), column("")]
    none = ", ".join(loss.name for loss in found if not loss.is_any)
    hint = f"Looked for as well, and not found: {none}." if none else None
    return _section("What is lost", hint, _table(heads, rows, sorts=False) if rows else None)


def _keys(report: LossReport) -> Markup | None:
    if not report.keys:
        return None
    most = report.keys[0].values
    rows = [
        element(
            "tr",
            element("td", element("bdi", one_line(loss.key, 60)), class_="path mono"),
            _number(loss.values),
            _number(loss.gone),
            element("td", _bar(loss.values / most, 0)),
        )
        for loss in report.keys
    ]
    heads = [
        column("metadata key", first="ascending"),
        column("values lost", first="descending", class_="number"),
        column("key gone", first="descending", class_="number"),
        column(""),
    ]
    hint = "A value is lost if a leg found it and no returned copy of the document has it."
    return _section("By metadata key", hint, _table(heads, rows))


def _bar(share: float, color: int) -> Markup:
    bar = element("rect", width=round(_BAR * share, 1), height=7, class_=f"c{color % COLORS}")
    return element("svg", bar, width=_BAR, height=7, class_="bar", aria_hidden="true")


def _legs(report: LossReport) -> Markup:
    longest = max((leg.seconds for leg in report.legs), default=0.0) or 1.0
    rows = [
        element(
            "tr",
            element("td", element("span", leg.leg, class_=f"legname c{number % COLORS}")),
            _number(leg.hits),
            _number(leg.values),
            _number(leg.failures),
            _number(leg.seconds, milliseconds(leg.seconds)),
            element("td", _bar(leg.seconds / longest, number)),
        )
        for number, leg in enumerate(report.legs)
    ]
    names = ("hits", "values lost", "failures", "time")
    heads = [column("leg", first="ascending")]
    heads += [column(name, first="descending", class_="number") for name in names]
    hint = (
        "In turn, a query takes as long as all of its legs together; side by side, as the slowest."
    )
    return _section("By leg", hint, _table([*heads, column("")], rows))


def _worst(report: LossReport) -> Markup | None:
    worst = report.worst(_WORST)
    examples = [_example(loss, is_open=not number) for number, loss in enumerate(worst)]
    if not examples:
        return None
    return _section("Worst examples", "Open one to see what was lost of it.", examples)


def _example(loss: DocumentLoss, *, is_open: bool) -> Markup:
    parts = [
        f"{len(loss.values)} values" if loss.values else "",
        f"{len(loss.ids)} ids" if loss.ids else "",
        f"{len(loss.texts)} texts" if loss.texts else "",
        f"returned {loss.returned} times" if loss.returned > 1 else "",
    ]
    tag = element("span", ", ".join(filter(None, parts)), class_="tag warn")
    name = element("bdi", one_line(loss.safe.page_content, 90) or "(no text)")
    asked = element("p", "Asked: ", element("bdi", visible(loss.query, 300)), class_="joined")
    rows = [
        element(
            "tr",
            element("td", one_line(value.path, 60), class_="path mono conflict"),
            element("td", element("code", shown_value(value.value))),
            element("td", ", ".join(value.legs)),
            element("td", "key gone" if value.is_key_lost else "another value shown"),
            element("td", place_of(in_place=value.in_place)),
        )
        for value in loss.values
    ]
    rows += [_other("Document.id", known, in_place=known == loss.safe.id) for known in loss.ids]
    rows += [_other("Document.page_content", text) for text in loss.texts]
    names = ("lost", "value", "found by", "returned", "ours has it")
    table = _table([column(name) for name in names], rows, sorts=False) if rows else None
    both = [_metadata("It returned", loss.document), _metadata("Ours returns", loss.safe)]
    return element("details", element("summary", name, tag), asked, table, both, open=is_open)


def _other(path: str, value: str, *, in_place: bool = False) -> Markup:
    where = place_of(in_place=in_place)
    texts = (path, element("code", shown_value(value)), "", "another one, or none", where)
    classes = ("path mono conflict", None, None, None, None)
    cells = zip(texts, classes, strict=True)
    return element("tr", [element("td", text, class_=kind) for text, kind in cells])


def _metadata(name: str, document: Document | None) -> Markup:
    shown = "nothing" if document is None else shown_value(document.metadata, 2000)
    return element("p", f"{name}: ", element("code", shown), class_="joined")


def _queries(report: LossReport) -> Markup:
    names = (
        "returned",
        "ours",
        "values",
        "ids",
        "duplicates",
        "repeats",
        "against filter",
        "in turn",
    )
    heads = [column("query", first="ascending")]
    heads += [column(name, first="descending", class_="number") for name in names]
    rows = [_query(loss) for loss in report.queries]
    return _section("By query", None, _table(heads, rows))


def _query(loss: QueryLoss) -> Markup:
    error = element("div", element("small", visible(loss.error, 400))) if loss.error else None
    query = element("bdi", visible(loss.query, 300))
    documents = loss.documents
    return element(
        "tr",
        element("td", query, error, class_="document", data_v=one_line(loss.query, 100)),
        _number(loss.returned),
        _number(loss.safe),
        _number(loss.values),
        _number(sum(len(document.ids) for document in documents)),
        _number(sum(max(document.returned - 1, 0) for document in documents)),
        _number(loss.repeats),
        _number(loss.leaked),
        _number(loss.seconds_saved, milliseconds(loss.seconds_saved)),
    )
