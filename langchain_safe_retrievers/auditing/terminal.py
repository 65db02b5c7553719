"""An audit in a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from langchain_safe_retrievers.auditing.loss import DocumentLoss, LossReport
from langchain_safe_retrievers.auditing.wording import losses_of, place_of
from langchain_safe_retrievers.explaining.page import milliseconds
from langchain_safe_retrievers.explaining.terminal import table, text
from langchain_safe_retrievers.explaining.visible import one_line, shown_value

_KEYS, _EXAMPLES = 12, 3


def loss_parts(report: LossReport) -> Iterator[Any]:
    """Yield what rich prints of an audit, from top to bottom.

    Args:
        report: What to show.

    Yields:
        Things that rich prints.
    """
    yield text(f"What {report.retriever} loses", "bold")
    losses = [
        (loss.name, loss.shown, loss.meaning) for loss in losses_of(report.totals) if loss.is_any
    ]
    yield _rows(("lost", "how much", ""), losses, numbers=("how much",))
    keys = [(one_line(loss.key, 40), loss.values, loss.gone) for loss in report.keys]
    if keys:
        yield _rows(("metadata key", "values lost", "key gone"), keys[:_KEYS])
    legs = [
        (leg.leg, leg.hits, leg.values, leg.failures or "", milliseconds(leg.seconds))
        for leg in report.legs
    ]
    yield _rows(("leg", "hits", "values lost", "failures", "time"), legs)
    for loss in report.worst(_EXAMPLES):
        yield from _example(loss)
    errors = [(one_line(q.query, 60), one_line(q.error, 120)) for q in report.queries if q.error]
    if errors:
        yield _rows(("query without an answer", "why"), errors[:_KEYS], numbers=())
    yield text("")
    yield text("For a ticket:", "bold")
    yield text(report.sentence)


def _rows(
    heads: Sequence[str], rows: Sequence[Sequence[object]], numbers: Sequence[str] | None = None
) -> Any:
    found = table(*heads, numbers=heads[1:] if numbers is None else numbers)
    for row in rows:
        found.add_row(*map(text, row))
    return found


def _example(loss: DocumentLoss) -> Iterator[Any]:
    yield text(f"{one_line(loss.query, 60)}: {one_line(loss.safe.page_content, 80)}", "bold")
    for value in loss.values:
        yield text(
            f"   {one_line(value.path, 50)}: {shown_value(value.value, 60)} of "
            f"{', '.join(value.legs)} is lost; ours has it {place_of(in_place=value.in_place)}"
        )
    for known in loss.ids:
        yield text(f"   id {shown_value(known, 60)} is lost")
    for other in loss.texts:
        yield text(f"   text {shown_value(other, 80)} is lost")
    if loss.returned > 1:
        yield text(f"   returned {loss.returned} times")
