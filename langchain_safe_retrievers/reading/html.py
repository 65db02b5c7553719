"""HTML as text, with metadata from its head."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser

from langchain_safe_retrievers.reading.parts import Broken, Part, ReadingOptions
from langchain_safe_retrievers.reading.text import decode

_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]{1,40})", re.IGNORECASE)
_UNSEEN = frozenset({"script", "style", "template", "noscript", "svg", "iframe", "object"})
_INLINE = frozenset(
    {"a", "abbr", "b", "bdi", "bdo", "cite", "code", "data", "dfn", "em", "font", "i", "kbd"}
    | {"mark", "q", "s", "samp", "small", "span", "strong", "sub", "sup", "time", "tt", "u"}
    | {"var", "wbr"}
)
_META = frozenset({"author", "date", "description", "keywords"})


def read_html(data: bytes, options: ReadingOptions) -> Iterator[Part | Broken]:
    r"""Read what a browser shows of a page; headings are marked as in Markdown.

    The title, the language and the author, date, description and keywords become metadata.

    Args:
        data: The file.
        options: How to read it.

    Yields:
        The text, whole.

    Raises:
        UnreadableFileError: It is no text.

    Example:
        >>> page = b"<title>Bees</title><h1>Honey</h1><p>Bees make&nbsp;it.<script>x()</script>"
        >>> [(part.text, part.metadata) for part in read_html(page, ReadingOptions())]
        [('# Honey\n\nBees make it.', {'title': 'Bees'})]
    """
    declared = _CHARSET.search(data, 0, 4096)
    page = _Page()
    name = declared and declared[1].decode("ascii", "replace")
    page.feed(_closed(decode(data, name, options.encoding)))
    page.close()
    yield Part(page.text(), page.metadata)


def _closed(page: str) -> str:
    """Return a page in which every tag has an end: the parser would look for it again and again."""
    end = page.rfind(">") + 1
    return page[:end] + page[end:].replace("<", "&lt;")


class _Page(HTMLParser):
    """Collects the text of a page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.metadata: dict[str, str] = {}
        self._pieces: list[str] = []
        self._title: list[str] | None = None
        self._unseen: list[str] = []
        self._pre = 0

    def text(self) -> str:
        """Return the text, at most one line empty."""
        lines = "".join(self._pieces).split("\n")
        return re.sub(r"\n{3,}", "\n\n", "\n".join(line.rstrip() for line in lines)).strip()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {name: value or "" for name, value in attrs}
        if tag in _UNSEEN:
            self._unseen.append(tag)
        elif tag == "title" and not self._unseen:  # an SVG may have one, too
            self._title = None if self.metadata.get("title") else []
        elif tag == "html" and named.get("lang"):
            self.metadata.setdefault("language", named["lang"])
        elif tag == "meta" and named.get("name", "").lower() in _META:
            self.metadata.setdefault(named["name"].lower(), named.get("content", ""))
        elif not self._unseen:
            self._begin(tag)

    def _begin(self, tag: str) -> None:
        self._pre += tag == "pre"
        if re.fullmatch(r"h[1-6]", tag):
            self._pieces.append(f"\n\n{'#' * int(tag[1])} ")
        elif tag in {"td", "th"}:
            self._pieces.append(" ")
        elif tag not in _INLINE:
            self._pieces.append(_break(tag))

    def handle_endtag(self, tag: str) -> None:
        if tag in _UNSEEN:
            if tag in self._unseen:  # and what was never closed inside it
                del self._unseen[self._unseen.index(tag) :]
        elif tag == "title" and self._title is not None:
            self.metadata["title"] = " ".join("".join(self._title).split())
            self._title = None
        elif not self._unseen and tag not in _INLINE and tag not in {"td", "th"}:
            self._pre = max(0, self._pre - (tag == "pre"))
            self._pieces.append(_break(tag))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)  # <script/>, which XHTML knows, is no reason to stop
        if tag in _UNSEEN:
            self.handle_endtag(tag)

    def handle_data(self, data: str) -> None:
        if self._title is not None:
            self._title.append(data)
        elif not self._unseen:
            self._pieces.append(data if self._pre else self._collapsed(data))

    def _collapsed(self, data: str) -> str:
        text = re.sub(r"\s+", " ", data)
        after_space = not self._pieces or self._pieces[-1][-1:] in {" ", "\n", ""}
        return text.lstrip() if after_space else text


def _break(tag: str) -> str:
    if tag in {"br", "li", "tr", "dt", "dd"}:
        return "\n"
    return "\n\n"
