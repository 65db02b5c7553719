"""What is sent to PostgreSQL, where the server of the tests cannot show the difference."""

from __future__ import annotations

import pytest
from sqlalchemy import column
from sqlalchemy.dialects import postgresql

from langchain_safe_retrievers.sql.fields import Field
from langchain_safe_retrievers.sql.postgresql import field_of
from langchain_safe_retrievers.sql.pushed import Pushed

WORD = column("word", postgresql.TEXT())
META = column("meta", postgresql.JSONB())


def sql(pushed: Pushed) -> str:
    """Return a test as PostgreSQL's SQL."""
    return str(pushed.test.compile(dialect=postgresql.dialect()))  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "field", [field_of(WORD, by_code_point=True), field_of(META, by_code_point=True)]
)
def test_text_is_ordered_by_code_point_whatever_the_collation(field: Field) -> None:
    assert 'COLLATE "C")' in sql(field.compares("$gt", "a"))


def test_text_equals_byte_by_byte_and_an_index_can_find_it() -> None:
    """A collation may hold "a" and "A" equal; the first of the tests is the index's."""
    test = sql(field_of(WORD, by_code_point=True).equals(["a"]))
    assert test.count("IN (") == 2
    assert 'COLLATE "C") IN (' in test


@pytest.mark.parametrize("kept", [WORD, META])
def test_nothing_is_said_of_text_in_an_encoding_that_orders_otherwise(kept: object) -> None:
    field = field_of(kept, by_code_point=False)  # type: ignore[arg-type]
    assert field.compares("$gt", "a").test is None
    assert field.equals(["a"]).test is None
