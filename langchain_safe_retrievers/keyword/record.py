"""A document as a record of the index, and back."""

from __future__ import annotations

from typing import Any

from langchain_core.documents import Document

from langchain_safe_retrievers.codec import decode, encode
from langchain_safe_retrievers.content_id import content_id
from langchain_safe_retrievers.documents import trusted_document
from langchain_safe_retrievers.errors import ConfigurationError, MetadataError
from langchain_safe_retrievers.keyword.engine import tantivy
from langchain_safe_retrievers.keyword.facts import facts_of

LONGEST_ID = 10_000  # bytes of UTF-8

WORDS, FACTS = "words", "facts"


def schema() -> Any:
    """Return the fields of a record.

    Returns:
        tantivy's schema: the id, the number in order of adding, the words, what filters ask
        for, and the document itself.
    """
    builder = tantivy().SchemaBuilder()
    builder.add_text_field("id", stored=True, tokenizer_name="raw", index_option="basic")
    builder.add_unsigned_field("number", fast=True)
    builder.add_text_field(WORDS, tokenizer_name=WORDS, index_option="freq")
    builder.add_json_field(FACTS, tokenizer_name="raw", index_option="basic", fast=True)
    builder.add_bytes_field("text", stored=True, indexed=False)
    builder.add_bytes_field("metadata", stored=True, indexed=False)
    return builder.build()


def id_of(document: Document, position: int) -> str:
    """Return the id that a document is kept under: its own, else one made of its content.

    Args:
        document: The document.
        position: Its place in what is being added, for the error.

    Returns:
        The id.

    Raises:
        ConfigurationError: Its own id is too long, or no valid Unicode.
        MetadataError: It has no id, and metadata that cannot be represented.
    """
    if not document.id:
        try:
            return content_id(document)
        except MetadataError as error:
            msg = f"document {position} (without an id): {error}"
            raise MetadataError(msg) from None
    if len(document.id.encode(errors="replace")) <= LONGEST_ID and _is_unicode(document.id):
        return document.id
    msg = (
        f"the id of document {position} is {document.id[:50]!r}; "
        f"expected valid Unicode of at most {LONGEST_ID} bytes"
    )
    raise ConfigurationError(msg)


def _is_unicode(text: str) -> bool:
    return text.encode(errors="replace").decode() == text


def to_record(document: Document, id: str, number: int, line: str) -> Any:  # noqa: A002 - LangChain's name
    """Return a document as tantivy takes it.

    Args:
        document: The document.
        id: The id it is kept under.
        number: Its number in order of adding.
        line: The words it is found by, separated by spaces.

    Returns:
        The record.

    Raises:
        MetadataError: The metadata cannot be represented.
    """
    metadata = encode(document.metadata, owner=f"metadata of document {id!r}")
    record = tantivy().Document()
    record.add_text("id", id)
    record.add_unsigned("number", number)
    record.add_text(WORDS, line)
    record.add_json(FACTS, facts_of(document.metadata))
    record.add_bytes("text", document.page_content.encode(errors="surrogatepass"))
    record.add_bytes("metadata", metadata.encode())
    return record


def from_record(record: Any, *, only_id: bool = False) -> Document:
    """Return the document that a record holds.

    Args:
        record: What tantivy stored.
        only_id: Whether its id is enough.

    Returns:
        A new document.
    """
    if only_id:
        return trusted_document("", {}, record.get_first("id"))
    return trusted_document(
        record.get_first("text").decode(errors="surrogatepass"),
        decode(record.get_first("metadata").decode()),
        record.get_first("id"),
    )
