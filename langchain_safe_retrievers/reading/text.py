"""Plain text, and bytes as text for the other readers."""

from __future__ import annotations

import codecs
from collections.abc import Iterator

from langchain_safe_retrievers.reading.parts import (
    Broken,
    Part,
    ReadingOptions,
    UnreadableFileError,
)

_MARKS = (  # UTF-32's mark begins with UTF-16's
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def read_text(data: bytes, options: ReadingOptions) -> Iterator[Part | Broken]:
    """Read a plain text.

    Args:
        data: The file.
        options: How to read it.

    Yields:
        The text, whole.

    Raises:
        UnreadableFileError: It is no text.
    """
    yield Part(decode(data, options.encoding))


def decode(data: bytes, *others: str | None) -> str:
    r"""Return bytes as text: as their byte order mark says, else as UTF-8, else as others say.

    Args:
        data: The bytes.
        *others: Encodings to try in turn where it is not UTF-8.

    Returns:
        The text, a line ending as "\n".

    Raises:
        UnreadableFileError: It is in none of these, or it holds a NUL and so is no text.

    Example:
        >>> decode(b"\xef\xbb\xbfa\r\nb"), decode("é".encode("cp1252"), "cp1252")
        ('a\nb', 'é')
    """
    text = _decoded(data, [name for name in others if name])
    nul = text.find("\0")
    if nul >= 0:
        msg = f"is no text: character {nul + 1} is a NUL"
        raise UnreadableFileError(msg)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _decoded(data: bytes, others: list[str]) -> str:
    marked = next((name for mark, name in _MARKS if data.startswith(mark)), "utf-8")
    failures = []
    for name in (marked, *others):
        try:
            return data.decode(name)
        except (UnicodeError, LookupError) as error:
            failures.append(error)
    first = failures[0]
    place = f" (byte {first.start + 1})" if isinstance(first, UnicodeDecodeError) else ""
    names = " or ".join(dict.fromkeys((marked, *others)))
    msg = f"is not in {names}{place}; if it is a text, name its encoding: --encoding cp1252"
    raise UnreadableFileError(msg)
