"""The rank flow: how each document came from its rank in each leg to its fused rank, drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from langchain_safe_retrievers.explaining.explanation import (
    ExplainedDocument,
    ExplainedHit,
    ExplainedLeg,
    Explanation,
)
from langchain_safe_retrievers.explaining.markup import Markup, element
from langchain_safe_retrievers.explaining.page import COLORS, plural
from langchain_safe_retrievers.explaining.visible import one_line

ROWS = 20
"""Ranks of a leg that are drawn, and documents of the answer."""
_MORE = 4  # documents that did not make it, drawn below
_ROW, _TOP, _SIDE, _DOT = 28, 62, 62, 9
_FEW = 3  # legs that leave room for longer texts


@dataclass(frozen=True)
class Column:
    """A leg's list as it is drawn: first its first ranks, then what is deeper and matters.

    Args:
        leg: The leg.
        color: The number of its colour.
        x: Where it stands.
        top: Where its first row is; every other column is set lower, so that the lines of those
            farther out pass between its dots.
        room: How many characters fit above it.
        rows: The hit at each row.
    """

    leg: ExplainedLeg
    color: int
    x: int
    top: int
    room: int
    rows: Sequence[ExplainedHit]

    def y(self, row: int) -> int:
        """Return where a row stands."""
        return self.top + _ROW * row


@dataclass(frozen=True)
class Layout:
    """Where everything stands: half of the legs on each side, the answer between them.

    Args:
        columns: The legs that found something.
        answer: Where the answer's column begins.
        label: How wide it is.
        drawn: The documents, with their indices: the answer, then the best of what is not in it.
        prefix: What the ids of the table's rows begin with.
    """

    columns: Sequence[Column]
    answer: int
    label: int
    drawn: Sequence[tuple[int, ExplainedDocument]]
    prefix: str

    @property
    def kept(self) -> int:
        """How many of the documents are in the answer."""
        return sum(found.rank is not None for _, found in self.drawn)

    @property
    def size(self) -> tuple[int, int]:
        """Width and height."""
        right = max(self.answer + self.label, *(column.x for column in self.columns)) + _SIDE
        ends = [column.y(len(column.rows)) for column in self.columns]
        return right, max(_TOP + _ROW * (len(self.drawn) + 1), *ends)

    def y(self, number: int) -> int:
        """Return where a document of the answer stands; what is not in it is below the cut."""
        return _TOP + _ROW * (number + (number >= self.kept))


def rank_flow(explanation: Explanation, prefix: str = "") -> Markup | None:
    """Draw a line for each document from its rank in each leg to its fused rank.

    A line has its leg's colour, and is the wider, the more it contributes.

    Args:
        explanation: What to draw.
        prefix: What the ids of the table's rows begin with.

    Returns:
        An SVG, or None if there is nothing to draw.
    """
    drawn = _drawn(explanation)
    if not drawn or not any(leg.hits for leg in explanation.legs):
        return None
    layout = _layout(explanation, drawn, prefix)
    under = plural(len(explanation.returned), "document")
    parts = [
        _head(layout.answer + layout.label // 2, "answer", under),
        *(_rail(column) for column in layout.columns),
        *(_others(column, layout) for column in layout.columns),
        _cut(layout),
        *(_document(number, layout) for number in range(len(drawn))),
    ]
    width, height = layout.size
    size = {"viewBox": f"0 0 {width} {height}", "width": width, "height": height}
    name = "Rank flow: from each leg's ranks to the ranks of the answer"
    return element("svg", *parts, class_="flow", role="group", aria_label=name, **size)


def _drawn(explanation: Explanation) -> list[tuple[int, ExplainedDocument]]:
    numbered = list(enumerate(explanation.documents))
    answer = [pair for pair in numbered if pair[1].rank is not None]
    answer.sort(key=lambda pair: pair[1].rank or 0)
    rest = [pair for pair in numbered if pair[1].rank is None]
    return answer[:ROWS] + rest[:_MORE]


def _layout(
    explanation: Explanation, drawn: Sequence[tuple[int, ExplainedDocument]], prefix: str
) -> Layout:
    wanted = {index for index, _ in drawn}
    legs = [(color, leg) for color, leg in enumerate(explanation.legs) if leg.hits]
    left = (len(legs) + 1) // 2
    step, gap, label = (124, 150, 456) if len(legs) <= _FEW else (92, 120, 330)
    answer = _SIDE + step * (left - 1) + gap
    columns = []
    for number, (color, leg) in enumerate(legs):
        away = left - 1 - number if number < left else number - left  # from the answer
        x = gap + step * away
        x = answer - x if number < left else answer + label + x
        nearer = away < (left - 1 if number < left else len(legs) - left - 1)
        top = _TOP + (_ROW // 2 if nearer and away % 2 == 0 else 0)
        rows = [*leg.hits[:ROWS], *(hit for hit in leg.hits[ROWS:] if hit.place in wanted)]
        columns.append(Column(leg, color % COLORS, x, top, step // 7, rows))
    return Layout(columns, answer, label, drawn, prefix)


def _head(x: int, name: str, under: str) -> Markup:
    return element(
        "g",
        element("text", name, x=x, y=18, class_="head"),
        element("text", under, x=x, y=35, class_="under"),
    )


def _rail(column: Column) -> Markup:
    x, leg = column.x, column.leg
    hits = plural(len(leg.hits), "hit")
    title = element("title", f"{leg.name} asked {leg.query!r}: {hits}")
    under = leg.query if leg.name.startswith("query_") else hits
    rail = {"x1": x, "x2": x, "y1": column.y(0), "y2": column.y(len(column.rows) - 1)}
    head = _head(x, one_line(leg.name, column.room - 2), one_line(under, column.room))
    return element("g", title, head, element("line", **rail, class_="rail"))


def _others(column: Column, layout: Layout) -> list[Markup]:
    """Draw the hits that no drawn document came from."""
    drawn = {index for index, _ in layout.drawn}
    return [
        _dot(column, row, "filtered" if hit.counted is None else "other")
        for row, hit in enumerate(column.rows)
        if hit.place not in drawn
    ]


def _dot(column: Column, row: int, kind: str = "") -> Markup:
    x, y, hit = column.x, column.y(row), column.rows[row]
    return element(
        "g",
        element("title", one_line(hit.document.page_content, 80)) if kind else None,
        element("circle", cx=x, cy=y, r=_DOT, class_=f"dot {kind}".strip()),
        element("text", hit.rank, x=x, y=y + 4, class_=f"rank {kind}".strip()),
        class_=f"c{column.color}",
    )


def _cut(layout: Layout) -> Markup | None:
    """Draw the line below the answer, if something is left out."""
    if layout.kept == len(layout.drawn):
        return None
    y, x = _TOP + _ROW * layout.kept, layout.answer
    name = {"k": "cut by k", "step": "removed later"}[layout.drawn[-1][1].removed_by or "k"]
    return element(
        "g",
        element("line", x1=x, x2=x + layout.label, y1=y, y2=y, class_="cut"),
        element("text", name, x=x + layout.label // 2, y=y + 4, class_="cutname"),
    )


def _document(number: int, layout: Layout) -> Markup:
    """Draw a document: its curves, its dots, and its name, which leads to its row of the table."""
    index, found = layout.drawn[number]
    y = layout.y(number)
    shares = _shares(found)
    lines, dots = [], []
    for column in layout.columns:
        for row, hit in enumerate(column.rows):
            if hit.place == index:
                share = shares.get((column.leg.name, column.leg.query, hit.counted or 0), 0.0)
                lines.append(_curve(column, row, layout, y, share))
                dots.append(_dot(column, row))
    kind = "document" if found.rank is not None else "document removed"
    title = element("title", _summary(found))
    return element("g", title, *lines, *dots, _label(index, found, layout, y), class_=kind)


def _label(index: int, found: ExplainedDocument, layout: Layout, y: int) -> Markup:
    x, height = layout.answer, _ROW - 4
    box = {"x": x, "y": y - height // 2, "width": layout.label, "height": height, "rx": height // 2}
    rank = found.rank if found.rank is not None else found.fused_rank
    name = one_line(found.document.page_content, layout.label // 8) or "(no text)"
    room = {
        "x": x + height + 8,
        "y": box["y"],
        "width": layout.label - 2 * height,
        "height": height,
    }
    return element(
        "a",
        element("rect", **box, class_="box"),
        element("circle", cx=x + height // 2, cy=y, r=_DOT + 1, class_="end"),
        element("text", rank, x=x + height // 2, y=y + 4, class_="rank"),
        element(
            "svg", element("text", name, y=height // 2 + 4, class_="label"), **room
        ),  # it clips
        href=f"#{layout.prefix}d{index}",
    )


def _shares(found: ExplainedDocument) -> dict[tuple[str, str, int], float]:
    """Return how much of the greatest contribution each copy adds, from 0 to 1."""
    gains = {(c.leg, c.query, c.rank): c.contribution or 0.0 for c in found.copies}
    most = max(gains.values(), default=0.0)
    return {key: gain / most if most > 0 else 0.4 for key, gain in gains.items()}


def _curve(column: Column, row: int, layout: Layout, y: int, share: float) -> Markup:
    from_left = column.x < layout.answer
    start = column.x + _DOT if from_left else column.x - _DOT
    end = layout.answer if from_left else layout.answer + layout.label
    bend = (start + end) // 2
    path = f"M{start} {column.y(row)}C{bend} {column.y(row)} {bend} {y} {end} {y}"
    width = round(1 + 3 * max(share, 0), 2)
    return element("path", d=path, stroke_width=width, class_=f"curve c{column.color}")


def _summary(found: ExplainedDocument) -> str:
    parts = [f"{copy.leg} at rank {copy.rank}{_gain(copy.contribution)}" for copy in found.copies]
    rank = f"rank {found.rank}" if found.rank is not None else "not in the answer"
    score = "" if found.score is None else f", score {found.score:.4g}"
    return f"{rank}{score}: {'; '.join(parts) or 'in no list'}"


def _gain(contribution: float | None) -> str:
    return "" if contribution is None else f" (+{contribution:.4g})"
