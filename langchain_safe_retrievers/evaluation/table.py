"""Plain text tables and figures, for the results' `__str__`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table of aligned columns; the first is flush left, the others flush right.

    Args:
        head: The columns' names.
        rows: One cell for each column; a float is shown with four digits, None as "-".

    Returns:
        Lines of text.

    Example:
        >>> print(table(["metric", "value"], [["nDCG@10", 0.5]]))
        metric    value
        nDCG@10  0.5000
    """
    lines = [[str(name) for name in head], *([_cell(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(_line(line, widths).rstrip() for line in lines)


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = [f"{cell:>{width}}" for cell, width in zip(cells[1:], widths[1:], strict=True)]
    return "  ".join([f"{cells[0]:<{widths[0]}}", *padded])


def ms(seconds: float | None) -> str:
    """Return a time in milliseconds.

    Args:
        seconds: The time, or None if it was not measured.

    Returns:
        A number with one digit after the point, or "-".

    Example:
        >>> ms(0.0123)
        '12.3'
    """
    return "-" if seconds is None else f"{seconds * 1000:.1f}"


def percent(share: float | None) -> str:
    """Return a share in per cent.

    Args:
        share: In [0, 1], or None if there is none.

    Returns:
        Such as "12.5 %", or "-".

    Example:
        >>> percent(0.125)
        '12.5 %'
    """
    return "-" if share is None else f"{share:.1%}".replace("%", " %")


def indented(text: str) -> str:
    """Return a text with two blanks before every line.

    Args:
        text: The text.

    Returns:
        The text.
    """
    return "\n".join("  " + line for line in text.split("\n"))


def count(number: int, what: str) -> str:
    """Return a number with its noun.

    Args:
        number: How many.
        what: One of them.

    Returns:
        Such as "1 question" or "2 questions"; a y at the end becomes ies.

    Example:
        >>> count(1, "question"), count(2, "query")
        ('1 question', '2 queries')
    """
    if number == 1:
        return f"1 {what}"
    return f"{number} {what[:-1]}ies" if what.endswith("y") else f"{number} {what}s"
