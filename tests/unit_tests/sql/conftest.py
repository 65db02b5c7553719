"""A SQLite database with a table, its FTS5 index, and a table that is one."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

SCHEMA = """
CREATE TABLE docs (
    id INTEGER PRIMARY KEY, text TEXT, lang TEXT, year INTEGER, meta JSON, day DATE, raw BLOB
);
INSERT INTO docs VALUES
    (1, 'bees make honey', 'en', 2020, '{"a": {"b": 1}}', '2024-01-01', x'00ff'),
    (2, 'wasps make no honey', 'en', 2021, '{"a": {"b": "x"}}', '2024-02-01', NULL),
    (3, '100% wool_en "coat"', 'de', 2022, NULL, 'some day', NULL),
    (4, 'Bienen: bees, bees', 'de', 2023, 'no json', NULL, NULL);
CREATE TABLE plain AS SELECT * FROM docs;
CREATE VIRTUAL TABLE docs_index USING fts5(text, content='docs', content_rowid='id');
INSERT INTO docs_index (docs_index) VALUES ('rebuild');
CREATE VIRTUAL TABLE notes USING fts5(text, lang UNINDEXED, tokenize = 'porter');
INSERT INTO notes SELECT text, lang FROM docs;
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the database's file."""
    path = tmp_path / "docs.db"
    connection = sqlite3.connect(path)
    connection.executescript(SCHEMA)
    connection.close()
    return path


@pytest.fixture
def url(path: Path) -> str:
    """Return the database's URL."""
    return f"sqlite:///{path}"
