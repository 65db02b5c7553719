"""The page that explanations and audits are shown on: one file, which loads nothing."""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.resources import files

from langchain_safe_retrievers.explaining.markup import Child, Markup, element

COLORS = 8
"""How many colours legs have; the ninth has the first one's."""


def page(title: str, *body: Child) -> str:
    """Return a whole page.

    Its security policy lets a browser run the one script and use the one style sheet that are
    written here, and load or send nothing: what a document's text holds is text.

    Args:
        title: The page's title.
        *body: What is on it, as for `element`.

    Returns:
        HTML.
    """
    style, script = asset("page.css"), asset("page.js")
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; "
        "base-uri 'none'; form-action 'none'"
    )
    head = element(
        "head",
        element("meta", charset="utf-8"),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("style", Markup(style)),
    )
    inside = element("body", element("main", *body), element("script", Markup(script)))
    return f"<!doctype html>\n{element('html', head, inside, lang='en')}\n"


@cache
def asset(name: str) -> str:
    """Return a file that comes with this package.

    Args:
        name: The file's name.

    Returns:
        Its text.
    """
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def plural(number: int, what: str) -> str:
    """Return a number of things.

    Args:
        number: How many.
        what: One of them.

    Returns:
        Such as "1 hit" or "2 hits".

    Example:
        >>> plural(1, "hit"), plural(1200, "hit")
        ('1 hit', '1,200 hits')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def milliseconds(seconds: float) -> str:
    """Return a time to be read.

    Args:
        seconds: The time in seconds.

    Returns:
        Milliseconds, or seconds from ten on.

    Example:
        >>> milliseconds(0.0123), milliseconds(12.3)
        ('12.3 ms', '12.3 s')
    """
    return f"{seconds:.1f} s" if seconds >= 10 else f"{seconds * 1000:,.1f} ms"  # noqa: PLR2004


def tiles(*pairs: tuple[str, object]) -> Markup:
    """Return figures side by side, each with what it counts.

    Args:
        *pairs: What is counted, and the figure; None for none.

    Returns:
        The markup.
    """
    return element(
        "dl",
        [
            element("div", element("dd", figure), element("dt", name))
            for name, figure in pairs
            if figure is not None
        ],
        class_="tiles",
    )


def column(name: str, *, first: str | None = None, class_: str | None = None) -> Markup:
    """Return the head of a table's column.

    Args:
        name: What stands there.
        first: "ascending" or "descending", how the first press sorts; None if it does not.
        class_: The column's class.

    Returns:
        The markup.
    """
    inside = name if first is None else element("button", name, type="button", data_first=first)
    sort = None if first is None else "none"
    return element("th", inside, scope="col", aria_sort=sort, class_=class_)
