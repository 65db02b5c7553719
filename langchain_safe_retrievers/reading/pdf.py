"""The text layer of a PDF, page by page."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

from langchain_safe_retrievers.extras import load
from langchain_safe_retrievers.reading.parts import (
    Broken,
    Part,
    ReadingOptions,
    UnreadableFileError,
)

_INFO = ("title", "author", "subject", "keywords")


def read_pdf(data: bytes, _options: ReadingOptions) -> Iterator[Part | Broken]:
    """Read the pages of a PDF that have text; title, author and so on become metadata.

    Args:
        data: The file.

    Yields:
        A page, and each page that cannot be read.

    Raises:
        UnreadableFileError: It is no PDF, needs a password, or has no text layer.
        MissingExtraError: pypdf is not installed.
    """
    reader, info = _opened(data)
    is_blank = True
    for number in range(1, len(reader.pages) + 1):
        try:
            text = reader.pages[number - 1].extract_text()
        except Exception as error:  # noqa: BLE001 - pypdf raises anything on a damaged page
            is_blank = False
            yield Broken(number, f"the page cannot be read: {type(error).__name__}: {error}")
            continue
        if text.strip():
            is_blank = False
            yield Part(text.replace("\0", ""), info, {"page": number})
    if is_blank:
        msg = "has no text layer, as of a scan: run OCR over it first"
        raise UnreadableFileError(msg)


def _opened(data: bytes) -> tuple[Any, dict[str, str]]:
    pypdf = load("pypdf", "cli")
    try:
        reader = pypdf.PdfReader(io.BytesIO(data))
        locked = reader.is_encrypted and not reader.decrypt("")
        if not locked:
            len(reader.pages)
            return reader, _info(reader)
    except Exception as error:  # noqa: BLE001 - pypdf raises anything on a damaged file
        msg = f"is no PDF that can be read: {type(error).__name__}: {error}"
        raise UnreadableFileError(msg) from None
    msg = "needs a password: save it without one"
    raise UnreadableFileError(msg)


def _info(reader: Any) -> dict[str, str]:
    own = reader.metadata
    found = {name: getattr(own, name, None) for name in _INFO} if own else {}
    return {name: str(value) for name, value in found.items() if value}
