"""HTML as text."""

from __future__ import annotations

import pytest

from langchain_safe_retrievers.reading.html import read_html
from langchain_safe_retrievers.reading.parts import Part, ReadingOptions


def read(page: str | bytes) -> Part:
    """Read a page."""
    data = page if isinstance(page, bytes) else page.encode()
    (part,) = read_html(data, ReadingOptions())
    assert isinstance(part, Part)
    return part


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<p>Bees   make\n<b>ho</b>ney.</p><p>Wasps</p>", "Bees make honey.\n\nWasps"),
        ("<h2>Bees</h2>Honey", "## Bees\n\nHoney"),
        ("<ul><li>a<li>b</ul>c", "a\nb\n\nc"),
        ("<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>", "a b\n\n c"),
        ("<pre>a\n  b</pre>", "a\n  b"),
        ("a &lt;b&gt; &amp; c&#8230;", "a <b> & c…"),
        ("a<br/>b", "a\nb"),
        ("a<script src='x'/>b", "ab"),
        ("", ""),
    ],
)
def test_the_text_is_what_a_browser_shows(page: str, text: str) -> None:
    assert read(page).text == text


@pytest.mark.parametrize(
    "hidden",
    [
        "<script>x < 1</script>",
        "<style>p{}</style>",
        "<!-- b -->",
        "<template><p>b</template>",
        "<svg><title>b</title><path/></svg>",
    ],
)
def test_what_a_browser_does_not_show_is_no_text(hidden: str) -> None:
    part = read(f"a{hidden}c")
    assert part == Part("ac")


def test_the_head_becomes_metadata() -> None:
    page = (
        '<html lang="en"><head><title>Honey\n bees</title><meta name="Author" content="Ada">'
        '<meta name="viewport" content="x"></head>a'
    )
    assert read(page).metadata == {"language": "en", "title": "Honey bees", "author": "Ada"}


def test_the_encoding_that_a_page_declares_is_used_where_it_is_not_utf8() -> None:
    page = '<meta http-equiv="Content-Type" content="text/html; charset=windows-1252"><p>Bär'
    assert read(page.encode("cp1252")).text == "Bär"
    assert read(page.encode()).text == "Bär"


@pytest.mark.parametrize("page", ["<" * 5000, "<p " * 5000, "<div>" * 20_000 + "a", "</p>" * 9])
def test_a_broken_page_is_read_as_far_as_it_goes(page: str) -> None:
    read(page)
