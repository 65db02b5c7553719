from __future__ import annotations

import json
import re
import sys
from html.parser import HTMLParser
from io import StringIO
from typing import ClassVar

import pytest
from hypothesis import given, settings
from langchain_core.documents import Document
from rich.console import Console

from langchain_safe_retrievers import MissingExtraError, SafeEnsembleRetriever
from langchain_safe_retrievers.explaining.explain import explain
from langchain_safe_retrievers.explaining.explanation import Explanation
from langchain_safe_retrievers.explaining.visible import one_line, visible
from langchain_safe_retrievers.testing import FakeLeg
from tests.unit_tests.strategies import ranked_lists

HOSTILE = (
    "<script>alert(1)</script><!-- ]]></style></title>\"'` onload=x "
    "\x00\x1b[31m\u2028\u202e\ud800 end"
)


def doc(text: str, id: str | None = None, **metadata: object) -> Document:
    return Document.model_construct(page_content=text, metadata=metadata, id=id, type="Document")


def explained(*lists: list, **options: object) -> Explanation:
    legs = [FakeLeg(documents=each) for each in lists]
    return explain(SafeEnsembleRetriever(retrievers=legs, **options), "question")


def hostile() -> Explanation:
    first = doc(HOSTILE, HOSTILE, **{HOSTILE: HOSTILE, "n": {HOSTILE: 1}})
    second = doc(HOSTILE, "2", **{HOSTILE: 2})
    legs = [
        FakeLeg(documents=[first, doc("b")]),
        FakeLeg(documents=[second]),
        FakeLeg(error=ValueError(HOSTILE)),
    ]
    names = [f"{HOSTILE}{n}" for n in range(3)]
    retriever = SafeEnsembleRetriever(retrievers=legs, leg_names=names, on_leg_error="skip", k=1)
    return explain(retriever, HOSTILE, filter={"x": {"$ne": HOSTILE}})


class Page(HTMLParser):
    """Reads a page strictly enough: every tag that opens closes, in order."""

    VOID: ClassVar[set[str]] = {"meta", "br"}

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not self.open or self.open[-1] not in ("script", "style"):
            self.texts.append(data)

    def all(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.tags if tag == name]


# The page ----------------------------------------------------------------------------------------


def test_hostile_text_is_only_ever_text():
    page = hostile().to_html()

    read = Page(page)

    assert len(read.all("script")) == len(read.all("style")) == 1
    assert not any(name.startswith("on") for _, attributes in read.tags for name in attributes)
    assert not any(attributes.get("style") for _, attributes in read.tags)
    assert any("<script>alert(1)</script>" in text for text in read.texts)


def test_what_cannot_be_seen_is_shown_by_its_number_and_the_page_is_utf_8():
    page = hostile().to_html()

    assert not re.search("[\x00\x1b\u2028\u202e\ud800]", page)
    assert "[U+202E]" in page
    assert "[U+D800]" in page.encode("utf-8").decode("utf-8")


def test_the_page_refers_to_nothing_outside_itself():
    read = Page(hostile().to_html())

    links = [
        value or ""
        for _, found in read.tags
        for name, value in found.items()
        if name in ("src", "href")
    ]
    assert links
    assert all(link.startswith("#") for link in links)
    assert "url(" not in hostile().to_html()


def test_the_security_policy_allows_the_two_inline_blocks_and_nothing_else():
    (policy,) = [m for m in Page(hostile().to_html()).all("meta") if m.get("http-equiv")]

    rules = dict(rule.split(" ", 1) for rule in (policy["content"] or "").split("; "))
    assert rules["default-src"] == "'none'"
    assert re.fullmatch(r"'sha256-[\w+/=]+'", rules["script-src"])
    assert re.fullmatch(r"'sha256-[\w+/=]+'", rules["style-src"])


def test_every_link_leads_to_a_row_of_the_page_and_every_id_is_its_own():
    inner = SafeEnsembleRetriever(
        retrievers=[FakeLeg(documents=["a", "b"]), FakeLeg(documents=["b"])]
    )
    read = Page(
        explain(SafeEnsembleRetriever(retrievers=[inner, inner.model_copy()]), "q").to_html()
    )

    ids = [attributes["id"] for _, attributes in read.tags if "id" in attributes]
    links = {attributes["href"] for attributes in read.all("a")}
    assert len(ids) == len(set(ids)) == 6
    assert links == {f"#{each}" for each in ids}


def test_a_long_text_is_cut_on_the_page_and_whole_in_the_data():
    explanation = explained([doc("x" * 100_000)])

    assert len(explanation.to_html()) < 60_000
    assert explanation.to_dict()["documents"][0]["text"] == "x" * 100_000


def test_the_picture_draws_at_most_20_ranks_and_what_the_answer_took_from_deeper():
    first = [doc(f"a{n}") for n in range(60)]
    explanation = explained([*first, doc("z")], [doc("z")], k=3)

    flow = explanation.to_html().partition("<svg")[2].partition("</svg></div>")[0]

    assert flow.count('class="dot') == 20 + 1 + 1
    assert ">61</text>" in flow


@pytest.mark.parametrize("legs", [1, 2, 3, 5, 9])
def test_the_picture_has_a_column_for_each_leg_and_room_for_all_of_it(legs):
    page = explained(*([doc("a"), doc(str(n))] for n in range(legs))).to_html()

    (size,) = [each for each in Page(page).all("svg") if each.get("class") == "flow"]
    places = [float(each["cx"]) for each in Page(page).all("circle")]
    assert page.count('class="rail"') == legs
    assert 0 < min(places) < max(places) < float(size["width"])
    assert len(set(places)) == legs + 1


def test_nothing_found_is_a_page_too():
    assert "question" in Page(explained([]).to_html()).texts


def test_a_notebook_shows_the_page_in_a_sandboxed_frame():
    (frame,) = Page(hostile()._repr_html_()).all("iframe")

    assert frame["sandbox"] == "allow-scripts"
    assert frame["srcdoc"] == hostile_page(frame["srcdoc"])


def hostile_page(page: str | None) -> str:
    assert Page(page or "").all("html")
    return page or ""


@settings(max_examples=25)
@given(ranked_lists())
def test_any_metadata_is_shown_on_a_page_in_a_terminal_and_as_json(lists):
    explanation = explained(*lists) if lists else explained([])

    Page(explanation.to_html().encode().decode())
    printed(explanation).encode()
    json.dumps(explanation.to_dict(), allow_nan=False)


@settings(max_examples=25)
@given(ranked_lists())
def test_every_conflict_of_the_report_is_explained(lists):
    explanation = explained(*lists) if lists else explained([])

    for rank, conflicts in explanation.report.conflicts.items():
        (found,) = [each for each in explanation.documents if each.rank == rank]
        assert conflicts.keys() <= {value.path for value in found.values}


# The terminal ------------------------------------------------------------------------------------


def printed(explanation: Explanation, **options: object) -> str:
    output = StringIO()
    Console(file=output, width=120, **options).print(explanation)
    return output.getvalue()


def test_a_terminal_shows_ranks_origins_and_displaced_values():
    explanation = explained(
        [doc("a", lang="en")], [doc("b"), doc("a", lang="de")], leg_names=["x", "y"]
    )

    text = printed(explanation)

    assert "#1 x #1, y #2: one by by_content" in text
    assert "lang: 'en' from x #1; displaced 'de' from y #2" in text


def test_a_terminal_obeys_nothing_that_a_document_says():
    text = printed(hostile(), force_terminal=True, color_system=None)

    assert "\x1b[31m" not in text
    assert "[U+001B][31m" in text


def test_what_looks_like_rich_markup_is_printed_as_it_is():
    assert "[red]a[/red]" in printed(explained([doc("[red]a[/red]")]))


def test_a_pipe_gets_no_colours(capsys):
    explained(["a"]).show()

    assert "\x1b" not in capsys.readouterr().out


def test_without_rich_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "rich.console", None)

    with pytest.raises(MissingExtraError, match=r"langchain-safe-retrievers\[explain\]"):
        explained(["a"]).show()


# Text --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\r\nb\tc", "a\nb\tc"),
        ("a\x00", "a[U+0000]"),
        ("\u200fשלום", "\u200fשלום"),
        ("a\rb", "a[U+000D]b"),
    ],
)
def test_what_can_be_seen_stays_and_what_cannot_is_numbered(text, shown):
    assert visible(text) == shown


def test_a_cut_text_says_so_and_a_whole_one_does_not():
    assert (visible("abc", 3), visible("abcd", 3)) == ("abc", "abc …")
    assert (one_line("a b", 3), one_line("a  b  c", 3)) == ("a b", "a b …")
