"""An audit in words."""

from __future__ import annotations

from typing import NamedTuple

from langchain_safe_retrievers.auditing.loss import LossReport, Totals
from langchain_safe_retrievers.explaining.page import milliseconds, plural
from langchain_safe_retrievers.explaining.visible import one_line

_KEYS = 4  # keys that the sentence names
_WORTH_SAYING = 0.001  # seconds


class Loss(NamedTuple):
    """One kind of loss: what it is called, how much there is of it, and what that means."""

    name: str
    amount: float
    meaning: str
    unit: str = ""

    @property
    def is_any(self) -> bool:
        """Whether there is any."""
        return self.amount > (_WORTH_SAYING if self.unit else 0)

    @property
    def shown(self) -> str:
        """How much, to be read."""
        return milliseconds(self.amount) if self.unit else f"{self.amount:,}"


def losses_of(totals: Totals) -> list[Loss]:
    """Return every kind of loss that is looked for.

    Args:
        totals: The figures.

    Returns:
        The losses, in the order of this package's promise.
    """
    return [
        Loss("metadata values", totals.values, "found by a leg, and not in what was returned"),
        Loss("keys", totals.keys_gone, "with their value: the document was returned without them"),
        Loss("ids", totals.ids, "of copies, returned under another id or none"),
        Loss("documents", totals.texts, "with another text, taken for the same one"),
        Loss("duplicates", totals.duplicates, "one text, returned again"),
        Loss("filter", totals.leaked, "documents returned although they do not match it"),
        Loss("k", totals.beyond_k, "documents returned although fewer were asked for"),
        Loss("repeats", totals.repeats, "hits of one leg, counted more than once"),
        Loss("order", totals.reordered, "answers in another order than by one vote for each leg"),
        Loss("questions", totals.wasted, "asked in vain: of legs of weight 0, blank, or again"),
        Loss("answers", totals.errors, "lost to an error"),
        Loss(
            "time",
            totals.seconds_saved,
            "spent by invoke, which asks in turn what could be asked side by side",
            unit="s",
        ),
    ]


def sentence_of(report: LossReport) -> str:
    """Return what was lost, in a few sentences without any markup.

    Args:
        report: The report.

    Returns:
        Text for a ticket.
    """
    totals = report.totals
    lost = "; ".join(_parts(report))
    asked = "Over 1 query" if totals.queries == 1 else f"Over {totals.queries:,} queries"
    if not lost:
        return f"{asked}, {report.retriever} lost nothing that its legs had found."
    returned = plural(totals.returned, "document")
    return f"{asked}, {report.retriever} returned {returned}, and lost {lost}. {_instead(report)}"


def _parts(report: LossReport) -> list[str]:
    totals = report.totals
    parts = [_values(report)] if totals.values else []
    for number, one, many in (
        (totals.ids, "id", "ids"),
        (totals.texts, "document taken for another", "documents taken for others"),
        (totals.errors, "whole answer to an error", "whole answers to errors"),
    ):
        if number:
            parts.append(f"{number:,} {one if number == 1 else many}")
    for number, what, how in (
        (totals.duplicates, "document", "returned {} again"),
        (totals.leaked, "document", "returned {} against the filter"),
        (totals.beyond_k, "document", "returned {} beyond k"),
        (totals.repeats, "repeated hit", "counted {} again"),
        (totals.wasted, "question", "asked {} in vain"),
    ):
        if number:
            parts.append(how.format(plural(number, what)))
    return parts


def _values(report: LossReport) -> str:
    names = [one_line(loss.key, 40) for loss in report.keys]
    named = ", ".join(names[:_KEYS]) + (", …" if len(names) > _KEYS else "")
    gone = report.totals.keys_gone
    how = f"; {gone:,} with their key" if gone else ""
    return f"{plural(report.totals.values, 'metadata value')} ({named}{how})"


def _instead(report: LossReport) -> str:
    totals = report.totals
    said = f"{report.instead} returns {plural(totals.safe, 'document')} from the same hits"
    if totals.values:
        places = f"{totals.in_place:,} at their place and {totals.in_conflicts:,} under _conflicts"
        said += f" with every value, {places}"
    if totals.seconds_saved >= _WORTH_SAYING:
        said += f"; side by side, invoke takes {milliseconds(totals.seconds_saved)} less"
    return f"{said}."


def place_of(*, in_place: bool) -> str:
    """Return where ours has what was lost.

    Args:
        in_place: Whether it is where it belongs.

    Returns:
        Some words.

    Example:
        >>> place_of(in_place=False)
        'under _conflicts'
    """
    return "at its place" if in_place else "under _conflicts"
