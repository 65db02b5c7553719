"""Bytes as text."""

from __future__ import annotations

import codecs

import pytest

from langchain_safe_retrievers.reading.parts import Part, ReadingOptions, UnreadableFileError
from langchain_safe_retrievers.reading.text import decode, read_text

MARKS = {
    "utf-8": codecs.BOM_UTF8,
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
    "utf-32-le": codecs.BOM_UTF32_LE,
    "utf-32-be": codecs.BOM_UTF32_BE,
}


def test_a_text_is_one_part() -> None:
    assert list(read_text("蜂蜜".encode(), ReadingOptions())) == [Part("蜂蜜")]


@pytest.mark.parametrize("name", MARKS)
def test_a_byte_order_mark_says_the_encoding_and_is_no_text(name: str) -> None:
    assert decode(MARKS[name] + "Bär 蜂".encode(name)) == "Bär 蜂"


def test_every_line_ending_becomes_one() -> None:
    assert decode(b"a\r\nb\rc\n") == "a\nb\nc\n"


def test_what_is_not_utf8_is_refused_with_the_byte_and_what_to_write() -> None:
    with pytest.raises(UnreadableFileError, match=r"not in utf-8 \(byte 2\).*--encoding cp1252"):
        decode("Bär".encode("cp1252"))


def test_what_is_not_utf8_is_read_in_the_first_encoding_that_fits() -> None:
    assert decode("Bär".encode("cp1252"), None, "ascii", "cp1252") == "Bär"


def test_utf8_is_never_mistaken_for_the_other_encoding() -> None:
    assert decode("Bär".encode(), "cp1252") == "Bär"


def test_an_unknown_encoding_or_one_of_bytes_is_passed_over() -> None:
    assert decode(b"\xe4", "no-such", "hex", "latin-1") == "ä"


def test_a_text_with_a_nul_is_binary() -> None:
    with pytest.raises(UnreadableFileError, match="no text: character 2 is a NUL"):
        decode(b"a\x00b")
