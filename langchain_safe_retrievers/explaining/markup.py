"""HTML and SVG that cannot hold anything but what was meant: all text is escaped on its way in."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from langchain_safe_retrievers.explaining.visible import visible


class Markup(str):
    """Text that is markup already; every other text is escaped."""

    __slots__ = ()


Child = object
_VOID = frozenset({"meta", "br"})


def element(name: str, /, *children: Child, **attributes: object) -> Markup:
    """Return an element.

    Args:
        name: The tag's name.
        *children: Markup as it is; any other text escaped; lists of both; None for nothing.
        **attributes: Their values are escaped; `class_` is `class`, `_` is `-`; None leaves
            one out, True gives it no value.

    Returns:
        The markup.

    Example:
        >>> element("td", "<script>", element("b", 1), class_='x" onload="y')
        '<td class="x&quot; onload=&quot;y">&lt;script&gt;<b>1</b></td>'
    """
    given = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _VOID:
        return Markup(f"<{name}{given}>")
    return Markup(f"<{name}{given}>{joined(children)}</{name}>")


def joined(children: Iterable[Child]) -> Markup:
    """Return several pieces, one after the other.

    Args:
        children: As for `element`.

    Returns:
        The markup.

    Example:
        >>> joined(["a < b", Markup("<br>"), None])
        'a &lt; b<br>'
    """
    return Markup("".join(map(_child, children)))


def _child(child: Child) -> str:
    if child is None:
        return ""
    if isinstance(child, Markup):
        return child
    if isinstance(child, (list, tuple)):
        return joined(child)
    return escape(visible(str(child)))


def _attribute(key: str, value: object) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(visible(str(value)))}"'
