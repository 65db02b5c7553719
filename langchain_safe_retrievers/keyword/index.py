"""The embedded keyword index: documents by id, found by their words, ranked by BM25.

BM25: `score(d) = Σ_terms idf(t) · tf·(k1 + 1) / (tf + k1·(1 - b + b·|d| / avg))` with
`idf(t) = ln(1 + (N - n + 0.5) / (n + 0.5))`, k1 = 1.2, b = 0.75; the sum is over the query's terms,
repeated ones included. idf is above 0 for every term. tantivy rounds `|d|` to one byte, and counts
deleted documents in N and n until it merges them away. Ties: the document that was added first.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Any

from langchain_core.documents import Document

from langchain_safe_retrievers.errors import FilterError
from langchain_safe_retrievers.filters import compile_filter
from langchain_safe_retrievers.keyword.engine import tantivy
from langchain_safe_retrievers.keyword.filters import FilterQueries
from langchain_safe_retrievers.keyword.record import WORDS, from_record, id_of, schema, to_record
from langchain_safe_retrievers.keyword.searching import ranked_hits
from langchain_safe_retrievers.keyword.tokenizer import Tokenizer
from langchain_safe_retrievers.keyword.writing import transaction


class KeywordIndex:
    """An index in memory or in a directory.

    Readers never wait. Writing is all or nothing: what a call wrote is there for every reader in
    any process once the call has returned, and none of it if it raised or its process was killed.

    Args:
        tokenizer: How texts become terms.
        directory: Where the index is or is to be, or None for memory.
        lock_timeout: Seconds to wait for another writer, at least 0.
        index_text: Returns what a document is found by; None for its text.

    Example:
        >>> index = KeywordIndex(Tokenizer("auto", "english"))
        >>> index.upsert([Document(page_content="Bees make honey.", id="1")])
        ['1']
        >>> [document.id for document, score in index.search("honey bee", k=3)]
        ['1']
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        directory: Path | None = None,
        *,
        lock_timeout: float = 0.0,
        index_text: Callable[[Document], str] | None = None,
    ) -> None:
        """Open the index, or make an empty one."""
        self.tokenizer, self.directory = tokenizer, directory
        self.lock_timeout, self.index_text = lock_timeout, index_text
        self._schema = schema()
        self._index = tantivy().Index(self._schema, path=directory and str(directory))
        self._index.register_tokenizer(WORDS, tokenizer.analyzer)
        self._index.config_reader("manual")
        self._filters = FilterQueries(self._index)
        self._writing, self._commits = Lock(), 0
        self._view: tuple[object, Any] = (None, None)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as the directory; an index in memory cannot be pickled or copied."""
        if self.directory is None:
            msg = (
                "a keyword index in memory cannot be pickled or copied; "
                "give it a persist_directory, and every copy opens that"
            )
            raise TypeError(msg)
        split, language = self.tokenizer.split, self.tokenizer.language
        return _reopened, (split, language, self.directory, self.lock_timeout, self.index_text)

    # Reading --------------------------------------------------------------------------------------

    def __len__(self) -> int:
        """Return how many documents there are."""
        return int(self._searcher().num_docs)

    def __iter__(self) -> Iterator[Document]:
        """Yield every document, in the order in which they were added."""
        searcher = self._searcher()
        everything = tantivy().Query.all_query()
        for _, address in ranked_hits(searcher, everything, max(1, searcher.num_docs)):
            yield from_record(searcher.doc(address))

    def get(self, ids: Iterable[str]) -> list[Document]:
        """Return the documents that have these ids, in their order, unknown ones passed over.

        Args:
            ids: The ids; one that is repeated counts once.

        Returns:
            The documents.
        """
        searcher = self._searcher()
        addresses = [self._address(searcher, own) for own in dict.fromkeys(ids)]
        return [from_record(searcher.doc(found)) for found in addresses if found is not None]

    def search(
        self,
        query: str,
        k: int,
        filter: object = None,  # noqa: A002 - LangChain's name
        *,
        only_ids: bool = False,
    ) -> list[tuple[Document, float]]:
        """Return the documents that share a term with the query, best first.

        Args:
            query: Any text; nothing in it is syntax.
            k: How many documents at most, at least 1.
            filter: The portable filter, or a callable from a document to whether it matches.
            only_ids: Whether the documents' ids are enough; ignored beside a filter.

        Returns:
            Documents and their scores.

        Raises:
            FilterError: The filter cannot be read.
        """
        matches = _matcher(filter)
        terms = self.tokenizer.terms(query)
        if not terms:
            return []
        searcher = self._searcher()
        hits = ranked_hits(searcher, self._query(terms, filter), k)
        bare = only_ids and matches is None
        found = ((from_record(searcher.doc(at), only_id=bare), score) for score, at in hits)
        if matches is not None:
            found = ((document, score) for document, score in found if matches(document))
        return list(islice(found, min(k, sys.maxsize)))

    def _query(self, terms: Iterable[str], filter: object) -> Any:  # noqa: A002 - LangChain's name
        query, occur = tantivy().Query, tantivy().Occur
        parts = []
        for term, times in Counter(terms).items():
            part = query.term_query(self._schema, WORDS, term, "freq")
            parts.append((occur.Should, part if times == 1 else query.boost_query(part, times)))
        wanted = query.boolean_query(parts)
        if not isinstance(filter, Mapping) or not filter:
            return wanted
        allowed = query.const_score_query(self._filters.may(filter), 0.0)
        return query.boolean_query([(occur.Must, wanted), (occur.Must, allowed)])

    def _address(self, searcher: Any, id: str) -> Any:  # noqa: A002 - LangChain's name
        query = tantivy().Query.term_query(self._schema, "id", id, "basic")
        hits = searcher.search(query, 1, count=False).hits
        return hits[0][1] if hits else None

    def _searcher(self) -> Any:
        """Return a view of the last commit, whichever process made it."""
        seen, searcher = self._view
        last = self._last_commit()
        if seen != last:
            self._index.reload()
            searcher = self._index.searcher()
            self._view = (last, searcher)
        return searcher

    def _last_commit(self) -> object:
        """Return what differs after every commit."""
        if self.directory is None:
            return self._commits
        status = (self.directory / "meta.json").stat()
        return self._commits, status.st_ino, status.st_mtime_ns, status.st_size

    # Writing --------------------------------------------------------------------------------------

    def upsert(self, documents: Iterable[Document]) -> list[str]:
        """Write documents, each in the place of the one that has its id, in one commit.

        Args:
            documents: Read once; one without an id gets `content_id`.

        Returns:
            Their ids, in order.

        Raises:
            ConfigurationError: An id that cannot be kept; nothing is written.
            MetadataError: Metadata that cannot be represented; nothing is written.
            IndexLockedError: Another process is writing.
        """
        with self.upserting(documents) as ids:
            return ids

    @contextmanager
    def upserting(self, documents: Iterable[Document]) -> Iterator[list[str]]:
        """Write documents as `upsert` does; commit when the block ends, unless it raises.

        tantivy goes on indexing, in a thread of its own, while the block runs.

        Args:
            documents: Read once, before the block.

        Yields:
            Their ids, in order.
        """
        ids: list[str] = []
        with self._transaction() as writer:
            first = self._next_number()
            for position, document in enumerate(documents):
                id = id_of(document, position)  # noqa: A001 - LangChain's name
                record = to_record(document, id, first + position, self._line(document))
                writer.delete_documents_by_term("id", id)
                writer.add_document(record)
                ids.append(id)
            yield ids

    def delete(self, ids: Iterable[str]) -> list[str]:
        """Delete documents, in one commit.

        Args:
            ids: Their ids; unknown ones are passed over.

        Returns:
            The ids of those that were there.

        Raises:
            IndexLockedError: Another process is writing.
        """
        with self.deleting(ids) as found:
            return found

    @contextmanager
    def deleting(self, ids: Iterable[str]) -> Iterator[list[str]]:
        """Delete documents as `delete` does; commit when the block ends, unless it raises.

        Args:
            ids: Their ids; unknown ones are passed over.

        Yields:
            The ids of those that were there.
        """
        with self._transaction() as writer:
            searcher = self._searcher()
            found = [own for own in dict.fromkeys(ids) if self._address(searcher, own) is not None]
            for own in found:
                writer.delete_documents_by_term("id", own)
            yield found

    @contextmanager
    def _transaction(self) -> Iterator[Any]:
        """Write alone; readers look again after it, however it ended."""
        with self._writing:
            try:
                with transaction(self._index, self._place(), self.lock_timeout) as writer:
                    yield writer
            finally:
                self._commits += 1

    def _line(self, document: Document) -> str:
        text = document.page_content if self.index_text is None else self.index_text(document)
        return self.tokenizer.line(text)

    def _place(self) -> str:
        return "memory" if self.directory is None else repr(str(self.directory))

    def _next_number(self) -> int:
        everything = tantivy().Query.all_query()
        last = self._searcher().search(everything, 1, count=False, order_by_field="number").hits
        return last[0][0] + 1 if last else 0


def _reopened(
    split: Any,
    language: str | None,
    directory: Path,
    lock_timeout: float,
    index_text: Callable[[Document], str] | None,
) -> KeywordIndex:
    tokenizer = Tokenizer(split, language)
    return KeywordIndex(tokenizer, directory, lock_timeout=lock_timeout, index_text=index_text)


def _matcher(filter: object) -> Callable[[Document], bool] | None:  # noqa: A002 - LangChain's name
    matches = compile_filter(filter)
    if matches is None and filter is not None and not isinstance(filter, Mapping):
        msg = (
            f"Filter: got {type(filter).__name__}, which a keyword index cannot read; "
            'expected a mapping such as {"lang": "en"}, or a callable'
        )
        raise FilterError(msg)
    return matches
