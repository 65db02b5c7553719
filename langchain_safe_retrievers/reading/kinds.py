"""Which kinds of files are read, and how."""

from __future__ import annotations

from pathlib import Path

from langchain_safe_retrievers.reading.csv_rows import read_csv
from langchain_safe_retrievers.reading.html import read_html
from langchain_safe_retrievers.reading.jsonl import read_jsonl
from langchain_safe_retrievers.reading.markdown import read_markdown
from langchain_safe_retrievers.reading.parts import Reader
from langchain_safe_retrievers.reading.pdf import read_pdf
from langchain_safe_retrievers.reading.text import read_text

READERS: dict[str, Reader] = {
    ".csv": read_csv,
    ".htm": read_html,
    ".html": read_html,
    ".jsonl": read_jsonl,
    ".markdown": read_markdown,
    ".md": read_markdown,
    ".ndjson": read_jsonl,
    ".pdf": read_pdf,
    ".text": read_text,
    ".txt": read_text,
}
"""Suffix to reader."""

MARKED_UP = frozenset({".htm", ".html", ".markdown", ".md"})
"""Suffixes of files whose text has headings as in Markdown."""


def reader_of(path: Path) -> Reader | None:
    """Return what reads a file.

    Args:
        path: The file; told by its suffix.

    Returns:
        The reader, or None if files of this kind are not read.

    Example:
        >>> reader_of(Path("notes.TXT")) is read_text, reader_of(Path("a.png"))
        (True, None)
    """
    return READERS.get(path.suffix.lower())
