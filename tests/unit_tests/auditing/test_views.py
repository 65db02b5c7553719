from __future__ import annotations

from io import StringIO

from hypothesis import given, settings
from langchain_core.documents import Document
from rich.console import Console

from langchain_safe_retrievers.auditing.audit import audit
from langchain_safe_retrievers.auditing.loss import LossReport
from langchain_safe_retrievers.testing import FakeLeg
from tests.unit_tests.explaining.test_views import HOSTILE, Page
from tests.unit_tests.strategies import ranked_lists


def doc(text: str, id: str | None = None, **metadata: object) -> Document:
    return Document.model_construct(page_content=text, metadata=metadata, id=id, type="Document")


def hostile() -> LossReport:
    first = FakeLeg(documents=[doc(HOSTILE, "1")])
    second = FakeLeg(documents=[doc(HOSTILE, HOSTILE, **{HOSTILE: HOSTILE})])
    return audit([first, second, FakeLeg(documents=[doc("b")])], [HOSTILE, "plain"])


def printed(report: LossReport, **options: object) -> str:
    output = StringIO()
    Console(file=output, width=160, **options).print(report)
    return output.getvalue()


def test_hostile_text_is_only_ever_text():
    page = hostile().to_html()

    read = Page(page.encode().decode())

    assert len(read.all("script")) == len(read.all("style")) == 1
    assert not any(name.startswith("on") for _, attributes in read.tags for name in attributes)
    assert any("<script>alert(1)</script>" in text for text in read.texts)
    assert "\u202e" not in page


def test_the_page_shows_the_sentence_the_keys_the_legs_and_the_worst_examples():
    one, two = FakeLeg(documents=[doc("a", lang="en")]), FakeLeg(documents=[doc("a", page=3)])
    report = audit([one, two], ["which?"])

    texts = Page(report.to_html()).texts

    assert report.sentence in texts
    assert {"page", "retriever_2", "which?", "key gone", "at its place"} <= set(texts)


def test_a_terminal_obeys_nothing_that_a_document_says():
    text = printed(hostile(), force_terminal=True, color_system=None)

    assert "\x1b[31m" not in text
    assert "[U+001B][31m" in text


def test_a_terminal_shows_what_was_lost_and_the_sentence():
    one, two = FakeLeg(documents=[doc("a", lang="en")]), FakeLeg(documents=[doc("a", page=3)])

    text = printed(audit([one, two], ["which?"]))

    assert "page: 3 of retriever_2 is lost; ours has it at its place" in text
    assert (
        "Over 1 query, joining the lists by hand returned 1 document, and lost 1 metadata" in text
    )


def test_a_pipe_gets_no_colours(capsys):
    hostile().show()

    assert "\x1b" not in capsys.readouterr().out


def test_a_notebook_shows_the_page_in_a_sandboxed_frame():
    (frame,) = Page(hostile()._repr_html_()).all("iframe")

    assert frame["sandbox"] == "allow-scripts"


@settings(max_examples=25)
@given(ranked_lists())
def test_any_metadata_is_shown_on_a_page_and_in_a_terminal(lists):
    report = audit([FakeLeg(documents=each) for each in lists], ["q"])

    Page(report.to_html().encode().decode())
    printed(report).encode()
