"""Which errors may pass by themselves."""

from __future__ import annotations

import json
import socket
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from langchain_safe_retrievers import AllLegsFailedError, FilterError, LegTimeoutError
from langchain_safe_retrievers.errors import CircuitOpenError, LegHangingError
from langchain_safe_retrievers.resilience.transient import http_status, is_transient, retry_after


def _http(status: Any, kind: type[Exception] = RuntimeError, name: str = "status_code"):
    error = kind("http")
    setattr(error, name, status)
    return error


class _Response:
    def __init__(self, status: int, headers: dict[str, str] | None = None) -> None:
        self.status_code = status
        self.headers = headers or {}


def _with_response(status: int, headers: dict[str, str] | None = None) -> Exception:
    error = RuntimeError("http")
    error.response = _Response(status, headers)
    return error


class ConnectTimeout(Exception):  # noqa: N818 - its name is what is read
    """As httpx and requests call it, which derive it from no built-in error."""


class APIConnectionError(Exception):
    """As the model providers' packages call it."""


class _GrpcError(Exception):
    def __init__(self, code: str) -> None:
        self._code = code

    def code(self) -> Any:
        return type("Code", (), {"name": self._code})


@pytest.mark.parametrize(
    "error",
    [
        TimeoutError(),
        LegTimeoutError(),
        ConnectionResetError(),
        ConnectionRefusedError(),
        BrokenPipeError(),
        socket.gaierror(),
        ConnectTimeout(),
        APIConnectionError(),
        _http(429),
        _http(500),
        _http(503, ValueError),
        _http(502, name="code"),
        _http(504, name="status"),
        _with_response(503),
        _GrpcError("UNAVAILABLE"),
        AllLegsFailedError("all", [ValueError(), TimeoutError()]),
    ],
    ids=repr,
)
def test_timeouts_connection_errors_and_busy_servers_are_worth_another_attempt(error: Exception):
    assert is_transient(error)


@pytest.mark.parametrize(
    "error",
    [
        ValueError(),
        TypeError(),
        KeyError(),
        RuntimeError(),
        PermissionError(),
        json.JSONDecodeError("bad", "", 0),
        UnicodeDecodeError("utf-8", b"", 0, 1, "bad"),
        FilterError(),
        _http(400),
        _http(401),
        _http(403, ConnectionError),
        _http(404, APIConnectionError),
        _with_response(401),
        _GrpcError("UNAUTHENTICATED"),
        LegHangingError(),
        CircuitOpenError(),
        AllLegsFailedError("all", [ValueError(), _http(401)]),
    ],
    ids=repr,
)
def test_mistakes_refusals_and_what_asks_to_be_left_alone_are_not(error: Exception):
    assert not is_transient(error)


class _HostileError(Exception):
    @property
    def response(self) -> Any:
        raise RuntimeError

    def code(self) -> Any:
        raise RuntimeError


def test_an_error_whose_attributes_fail_says_nothing():
    assert http_status(_HostileError()) is None
    assert retry_after(_HostileError()) is None
    assert not is_transient(_HostileError())


@pytest.mark.parametrize("status", [True, "503", 99, 600, None, 503.0])
def test_what_is_no_http_status_is_none(status: Any):
    assert http_status(_http(status)) is None


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("2", 2.0),
        ("0.5", 0.5),
        ("-3", 0.0),
        ("soon", None),
        ("inf", None),
        ("nan", None),
        ("", None),
    ],
)
def test_retry_after_is_read_as_seconds(said: str, seconds: float | None):
    assert retry_after(_with_response(429, {"retry-after": said})) == seconds


def test_retry_after_is_read_as_a_date():
    then = datetime.now(UTC) + timedelta(seconds=30)
    seconds = retry_after(_with_response(503, {"Retry-After": format_datetime(then, usegmt=True)}))

    assert 25 < seconds <= 30


def test_retry_after_is_read_from_the_error_itself():
    error = RuntimeError()
    error.retry_after = 7

    assert retry_after(error) == 7
