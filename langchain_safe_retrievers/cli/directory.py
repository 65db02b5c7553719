"""An index directory: what it was made with, and its retriever."""

from __future__ import annotations

import json
import os
import warnings
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from langchain_safe_retrievers.cli.embeddings import (
    DEFAULT,
    NoEmbeddings,
    difference,
    load_embedding,
    probe,
)
from langchain_safe_retrievers.cli.output import tell
from langchain_safe_retrievers.errors import ConfigurationError
from langchain_safe_retrievers.retrievers.hybrid import HybridRetriever
from langchain_safe_retrievers.retrievers.keyword import KeywordRetriever

MARK = "safe-retrievers.json"
"""The file that says that a directory is an index."""

_FORMAT = 1


@dataclass(frozen=True)
class IndexSettings:
    """What an index was made with.

    Args:
        embedding: The embedding's name.
        probe: What the embedding makes of a fixed text.
        language: As for `KeywordRetriever`.
        format: The version of the directory's layout.
    """

    embedding: str
    probe: list[float] = field(repr=False)
    language: str | None
    format: int = _FORMAT


def read_settings(directory: Path) -> IndexSettings:
    """Read what an index was made with.

    Args:
        directory: Where it is.

    Returns:
        Its settings.

    Raises:
        ConfigurationError: It is no index, or one of another version.
    """
    try:
        found = json.loads((directory / MARK).read_text(encoding="utf-8"))
        settings = IndexSettings(**found)
    except (FileNotFoundError, NotADirectoryError):
        what = "is no index" if directory.exists() else "is not there"
        msg = (
            f"{str(directory)!r} {what}; "
            f"make one: safe-retrievers index PATH --to {str(directory)!r}"
        )
        raise ConfigurationError(msg) from None
    except (TypeError, ValueError, RecursionError):
        msg = f"{str(directory / MARK)!r} is damaged; delete {str(directory)!r} and index again"
        raise ConfigurationError(msg) from None
    if settings.format != _FORMAT:
        msg = (
            f"{str(directory)!r} has the format {settings.format}, which belongs to another "
            f"version of this package; expected {_FORMAT}: index again in a new directory"
        )
        raise ConfigurationError(msg)
    return settings


def is_new(directory: Path) -> bool:
    """Tell whether an index can be made in a directory: it is empty, or not there.

    Args:
        directory: The directory.

    Returns:
        Whether it can; False if an index is there.

    Raises:
        ConfigurationError: It is a file, or holds something else.
    """
    if (directory / MARK).exists():
        return False
    if not directory.exists():
        return True
    if directory.is_dir() and all(path.name.startswith(MARK) for path in directory.iterdir()):
        return True
    msg = f"{str(directory)!r} holds something else than an index; give an empty or new directory"
    raise ConfigurationError(msg)


def make_index(directory: Path, name: str | None, language: str | None) -> Embeddings:
    """Make an empty index.

    Args:
        directory: Where it is to be.
        name: The embedding's name; None for wordllama.
        language: As for `KeywordRetriever`.

    Returns:
        The embedding.

    Raises:
        ValidationError: The language is not known.
        ConfigurationError: The embedding is not known, or makes no vectors.
    """
    KeywordRetriever(language=language)  # refuses one that is not known
    embedding = load_embedding(name or DEFAULT)
    settings = IndexSettings(name or DEFAULT, probe(embedding), language)
    directory.mkdir(parents=True, exist_ok=True)
    draft = directory / f"{MARK}.{os.getpid()}"
    draft.write_text(json.dumps(asdict(settings)), encoding="utf-8")
    draft.replace(directory / MARK)
    return embedding


def embedding_of(directory: Path, name: str | None) -> Embeddings:
    """Load the embedding that an index was made with.

    What the directory says is compared, and never imported: of another embedding than
    wordllama the user gives the name each time.

    Args:
        directory: The index.
        name: The name that the user gave, or None.

    Returns:
        The embedding.

    Raises:
        ConfigurationError: It makes other vectors than those in the index.
    """
    settings = read_settings(directory)
    if name is None and settings.embedding != DEFAULT:
        msg = (
            f"{str(directory)!r} was made with the embedding {settings.embedding!r}; "
            f"write: --embedding {settings.embedding}"
        )
        raise ConfigurationError(msg)
    embedding = load_embedding(name or DEFAULT)
    differs = difference(probe(embedding), settings.probe)
    if differs is None:
        return embedding
    msg = (
        f"{str(directory)!r} was made with the embedding {settings.embedding!r}, and "
        f"{name or DEFAULT!r} makes other vectors ({differs}); give the embedding that it was "
        "made with, or index again in a new directory"
    )
    raise ConfigurationError(msg)


def open_index(
    directory: Path, embedding: Embeddings | None = None, **settings: Any
) -> tuple[HybridRetriever, bool]:
    """Open the retriever of an index.

    Args:
        directory: The index.
        embedding: Its embedding; None if nothing is to be embedded.
        **settings: As for `HybridRetriever`.

    Returns:
        The retriever, and whether its legs hold equal numbers of documents.
    """
    language = read_settings(directory).language
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        retriever = HybridRetriever.from_documents(
            [],
            embedding or NoEmbeddings(),
            persist_directory=directory.resolve(),  # Chroma keeps clients by path as it is written
            index_text=text_of,
            language=language,
            **settings,
        )
    return retriever, not any("repair()" in str(each.message) for each in caught)


def open_to_ask(directory: Path, embedding: str | None, **settings: Any) -> HybridRetriever:
    """Open the retriever of an index to ask it; say so if an addition was cut short.

    Args:
        directory: The index.
        embedding: The name that the user gave, or None.
        **settings: As for `HybridRetriever`.

    Returns:
        The retriever.
    """
    retriever, is_even = open_index(directory, embedding_of(directory, embedding), **settings)
    if not is_even:
        tell(
            f"warning: the last indexing of {str(directory)!r} was cut short; index again, or "
            f"write: safe-retrievers repair {str(directory)!r}"
        )
    return retriever


def text_of(document: Document) -> str:
    r"""Return the words that a document is found by: its file's name, its title, its text.

    Args:
        document: A document.

    Returns:
        The words.

    Example:
        >>> text_of(Document("They make honey.", id="docs/bees.md#1", metadata={"title": "Bees"}))
        'docs/bees.md\nBees\nThey make honey.'
    """
    name = (document.id or "").rpartition("#")[0]
    title = document.metadata.get("title")
    return "\n".join([name, title if isinstance(title, str) else "", document.page_content])
