"""`safe-retrievers index`."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import click
from langchain_core.embeddings import Embeddings

from langchain_safe_retrievers.cli import options
from langchain_safe_retrievers.cli.directory import (
    MARK,
    embedding_of,
    is_new,
    make_index,
    open_index,
    read_settings,
)
from langchain_safe_retrievers.cli.indexing import Counts, Indexing, IndexingOptions, shown_path
from langchain_safe_retrievers.cli.manifest import Manifest
from langchain_safe_retrievers.cli.output import progress, say, say_json, tell
from langchain_safe_retrievers.errors import ConfigurationError
from langchain_safe_retrievers.reading.chunking import Chunking
from langchain_safe_retrievers.reading.kinds import READERS, reader_of
from langchain_safe_retrievers.reading.parts import ReadingOptions
from langchain_safe_retrievers.reading.walking import Walk, walk
from langchain_safe_retrievers.retrievers.hybrid import HybridRetriever

_TOLD = 20  # problems that are printed one by one


def _encoding(_ctx: click.Context, _param: click.Parameter, name: str | None) -> str | None:
    try:
        if name is not None:
            codecs.lookup(name)
            b"a".decode(name, "replace")
    except LookupError:
        msg = f"{name!r} is no encoding of text; write, say, --encoding cp1252"
        raise click.BadParameter(msg) from None
    return name


@click.command("index")
@click.argument(
    "paths",
    metavar="PATH...",
    nargs=-1,
    required=True,
    type=click.Path(exists=True, path_type=Path, resolve_path=True),
)
@click.option(
    "--to",
    "directory",
    metavar="DIR",
    required=True,
    type=click.Path(path_type=Path),
    help="The index: new, or one to bring in step.",
)
@options.embedding
@click.option(
    "--language",
    help="Language of stop words and stems of a new index, or none; english if left out.",
)
@click.option("--encoding", callback=_encoding, help="Encoding of files that are not in UTF-8.")
@click.option("--text-key", metavar="NAME", help="Column or field that is a record's text.")
@click.option("--chunk-size", type=click.IntRange(min=50), default=1000, show_default=True)
@click.option("--chunk-overlap", type=click.IntRange(min=0), default=100, show_default=True)
@click.option(
    "--max-size",
    metavar="MB",
    type=click.IntRange(min=1),
    default=100,
    show_default=True,
    help="Leave out larger files.",
)
@click.option("--strict", is_flag=True, help="Stop at the first thing that cannot be read.")
@options.as_json
def command(  # noqa: PLR0913 - what the command line has
    *,
    paths: tuple[Path, ...],
    directory: Path,
    embedding: str | None,
    language: str | None,
    encoding: str | None,
    text_key: str | None,
    chunk_size: int,
    chunk_overlap: int,
    max_size: int,
    strict: bool,
    as_json: bool,
) -> int:
    """Index text, Markdown, HTML, PDF, JSON lines and CSV files, and folders of them.

    Run again, it reads what is new or changed, and deletes what is gone from a folder that is
    named. Front matter, columns and fields become metadata. What cannot be read is told of on
    stderr and left out, with --strict it ends the run.

    \b
    Example:
      safe-retrievers index docs faq.csv --to idx
    """  # noqa: D301 - click's mark for lines that are kept
    if chunk_overlap >= chunk_size:
        msg = f"--chunk-overlap {chunk_overlap} is not less than --chunk-size {chunk_size}"
        raise click.UsageError(msg)
    how = IndexingOptions(
        ReadingOptions(encoding, text_key),
        Chunking(chunk_size, chunk_overlap),
        max_size * 1_000_000,
        strict,
    )
    problems: list[dict[str, str]] = []

    def problem(where: str, why: str) -> None:
        problems.append({"where": where, "problem": why})
        if len(problems) <= _TOLD:
            tell(f"{where}: {why}")

    counts = _index(paths, directory, how, (embedding, language), problem)
    if len(problems) > _TOLD:
        tell(f"and {len(problems) - _TOLD} more that could not be read; --json lists all")
    if as_json:
        say_json({"index": str(directory), **counts.to_dict(), "problems": problems})
    else:
        say(f"{directory}: {counts}")
    return 0


def _index(
    paths: tuple[Path, ...],
    directory: Path,
    how: IndexingOptions,
    made_with: tuple[str | None, str | None],
    problem: Callable[[str, str], None],
) -> Counts:
    for path in paths:
        if path.is_file() and reader_of(path) is None:
            raise ConfigurationError(_nothing((path,), Walk(others=1)))
    (embedding, language), found = made_with, walk(paths, MARK)
    if is_new(directory):
        if not found.files:
            raise ConfigurationError(_nothing(paths, found))
        loaded = make_index(directory, embedding, _language(language) if language else "english")
    else:
        _hold_language(directory, language)
        loaded = embedding_of(directory, embedding)
    with closing(Manifest(directory)) as manifest:
        retriever = _whole(directory, loaded, manifest)
        indexing = Indexing(retriever, manifest, how, problem)
        with progress("Indexing") as shown:
            counts = indexing.run(paths, found, shown(list(found.files), len(found.files)))
    if not found.files and not counts.deleted:
        raise ConfigurationError(_nothing(paths, found))
    return counts


def _whole(directory: Path, embedding: Embeddings, manifest: Manifest) -> HybridRetriever:
    """Open an index; mend it if its last writing was cut short."""
    retriever, is_even = open_index(directory, embedding)
    if not is_even:
        retriever.repair()
    entries = manifest.entries()
    written = all(entry.digest for entry in entries)
    if written and sum(entry.chunks for entry in entries) != retriever.leg("keyword").count():
        manifest.distrust()  # somebody else has written to it
    return retriever


def _nothing(paths: tuple[Path, ...], found: Walk) -> str:
    named = ", ".join(map(shown_path, paths))
    others = f" (but {found.others} of other kinds)" if found.others else ""
    closed = "".join(f"; {shown_path(path)}: {why}" for path, why in found.closed.items())
    return f"no file to index in {named}{others}; expected {', '.join(sorted(READERS))}{closed}"


def _language(name: str) -> str | None:
    return None if name.lower() == "none" else name


def _hold_language(directory: Path, given: str | None) -> None:
    own = read_settings(directory).language
    if given is not None and _language(given) != own:
        msg = (
            f"{str(directory)!r} was made with --language {own or 'none'}, and --language is "
            f"{given}; leave it out, or index in a new directory"
        )
        raise ConfigurationError(msg)
