"""Whatever is in a file, it is read or refused, and never breaks the reader."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from langchain_safe_retrievers.codec import encode
from langchain_safe_retrievers.reading.chunking import Chunking, read_file
from langchain_safe_retrievers.reading.kinds import MARKED_UP, READERS, reader_of
from langchain_safe_retrievers.reading.parts import ReadingOptions, UnreadableFileError

from .files import pdf

PIECES = {
    ".csv": ["a", ",", ";", '"', "\n", "text", "\r", "1", "é", "\ufeff"],
    ".html": ["<", ">", "<p", "</p>", "<script>", "<!--", "-->", "&", "&#x110000;", "=", "'", "a"],
    ".jsonl": ["{", "}", "[", "]", '"', ":", ",", "\n", '"text"', "1e999", "\\ud800", "NaN", "a"],
    ".md": ["---\n", "a: ", "&x ", "*x", "[", "{", "? ", "- ", "!!binary ", "\n", "# ", "2024-1-1"],
    ".pdf": [],
    ".txt": ["a", "。", ". ", "\n", "\x00", "\u2028"],
}
SAMPLES = {".pdf": pdf("Bees make honey.", title="Bees")}


def contents(suffix: str) -> st.SearchStrategy[bytes]:
    """Return files of a kind: its own pieces in any order, damaged ones, and any bytes."""
    pieces = st.lists(st.sampled_from(PIECES[suffix] or ["%PDF-1.4\n"])).map("".join)
    sample = SAMPLES.get(suffix, b"")
    damaged = st.tuples(st.integers(0, len(sample)), st.binary(max_size=4)).map(
        lambda cut: sample[: cut[0]] + cut[1] + sample[cut[0] + 3 :]
    )
    return st.one_of(pieces.map(str.encode), st.binary(), damaged)


@pytest.mark.parametrize("suffix", PIECES)
def test_a_file_is_read_or_refused(suffix: str) -> None:
    @given(contents(suffix))
    @example(b"")
    def read(data: bytes) -> None:
        try:
            found = read_file(Path("a" + suffix), data, "a", ReadingOptions(), Chunking(60, 10))
        except UnreadableFileError:
            return
        for number, document in enumerate(found.documents, start=1):
            assert document.id == f"a#{number}"
            assert 0 < len(document.page_content) <= 60
            encode(document.metadata)

    read()


def test_a_suffix_tells_the_kind_in_any_case() -> None:
    assert reader_of(Path("A.MD")) is reader_of(Path("a.markdown"))
    assert reader_of(Path("README")) is None
    assert READERS.keys() > MARKED_UP
