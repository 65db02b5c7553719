"""The text layer of a PDF."""

from __future__ import annotations

import io

import pypdf
import pytest

from langchain_safe_retrievers.reading.parts import (
    Broken,
    Part,
    ReadingOptions,
    UnreadableFileError,
)
from langchain_safe_retrievers.reading.pdf import read_pdf

from .files import pdf

HOW = ReadingOptions()


def test_a_page_with_text_is_a_part_that_knows_its_number() -> None:
    title = {"title": "Insects"}
    assert list(read_pdf(pdf("Bees make honey.", "", "Wasps", title="Insects"), HOW)) == [
        Part("Bees make honey.", title, {"page": 1}),
        Part("Wasps", title, {"page": 3}),
    ]


@pytest.mark.parametrize("data", [b"", b"Bees", b"%PDF-1.4\n%%EOF", pdf("Bees")[:200]])
def test_what_is_no_pdf_is_refused(data: bytes) -> None:
    with pytest.raises(UnreadableFileError, match=r"no PDF that can be read|no text layer"):
        list(read_pdf(data, HOW))


def test_a_scan_is_refused_with_what_to_do() -> None:
    with pytest.raises(UnreadableFileError, match="no text layer, as of a scan: run OCR"):
        list(read_pdf(pdf("", ""), HOW))


def test_a_pdf_with_a_password_is_refused_with_what_to_do() -> None:
    writer = pypdf.PdfWriter(io.BytesIO(pdf("Bees")))
    writer.encrypt("secret", algorithm="RC4-128")
    locked = io.BytesIO()
    writer.write(locked)
    with pytest.raises(UnreadableFileError, match="needs a password: save it without one"):
        list(read_pdf(locked.getvalue(), HOW))


def test_a_damaged_page_is_told_of_and_the_others_are_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    extract = pypdf.PageObject.extract_text

    def damaged(page: pypdf.PageObject) -> str:
        if page.page_number == 0:
            msg = "no font"
            raise KeyError(msg)
        return extract(page)

    monkeypatch.setattr(pypdf.PageObject, "extract_text", damaged)
    problem, part = read_pdf(pdf("Bees", "Wasps"), HOW)
    assert problem == Broken(1, "the page cannot be read: KeyError: 'no font'")
    assert part == Part("Wasps", {}, {"page": 2})
