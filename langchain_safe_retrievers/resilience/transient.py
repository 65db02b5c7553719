"""Which errors may pass by themselves, and when their sender says to come back."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from langchain_safe_retrievers.errors import CircuitOpenError, LegHangingError

_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504})
_GRPC_CODES = frozenset({"UNAVAILABLE", "DEADLINE_EXCEEDED", "RESOURCE_EXHAUSTED"})
# What clients call these errors that derive them from no built-in error (httpx, requests,
# urllib3, botocore, redis, the model providers' packages).
_ENDINGS = (
    "ConnectionError",
    "ConnectError",
    "ConnectTimeout",
    "ReadError",
    "ReadTimeout",
    "PoolTimeout",
    "Timeout",
    "TimeoutError",
    "TimeoutException",
    "RemoteProtocolError",
    "ServiceUnavailable",
    "RateLimitError",
)


_KINDS = (TimeoutError, ConnectionError, socket.gaierror)
_NEVER = (ValueError, TypeError, PermissionError)


def is_transient(error: BaseException) -> bool:
    """Tell whether asking again may help.

    An HTTP status decides where the error carries one (408, 425, 429, 500, 502, 503, 504),
    then a gRPC code; else it is transient if it is a timeout or a connection error, by type or
    by its class's name. A group is, if one of its errors is. ValueError, TypeError and errors
    of permission are not.

    Args:
        error: What a leg raised.

    Returns:
        Whether to ask again.

    Example:
        >>> is_transient(ConnectionResetError()), is_transient(ValueError("no such field"))
        (True, False)
    """
    if isinstance(error, (LegHangingError, CircuitOpenError)):  # they say not to be asked now
        return False
    if isinstance(error, BaseExceptionGroup):
        return any(map(is_transient, error.exceptions))
    status, grpc = http_status(error), _grpc_code(error)
    if status is not None:
        return status in _STATUSES
    if grpc is not None:
        return grpc in _GRPC_CODES
    return isinstance(error, _KINDS) or (
        not isinstance(error, _NEVER)
        and any(kind.__name__.endswith(_ENDINGS) for kind in type(error).__mro__)
    )


def http_status(error: BaseException) -> int | None:
    """Return the HTTP status that an error carries, itself or in its response.

    Args:
        error: What a leg raised.

    Returns:
        100 to 599, or None.

    Example:
        >>> error = RuntimeError("busy")
        >>> error.status_code = 429
        >>> http_status(error)
        429
    """
    for owner in (error, _get(error, "response")):
        for name in ("status_code", "status", "code", "http_status"):
            status = _get(owner, name)
            if type(status) is int and 100 <= status <= 599:  # noqa: PLR2004 - HTTP's own range
                return status
    return None


def retry_after(error: BaseException) -> float | None:
    """Return how long the sender of an error asks to be left alone (RFC 9110, Retry-After).

    Args:
        error: What a leg raised; it, or its `response`, may have `headers` or `retry_after`.

    Returns:
        Seconds, at least 0, or None if it does not say.

    Example:
        >>> error = RuntimeError("busy")
        >>> error.headers = {"Retry-After": "1.5"}
        >>> retry_after(error)
        1.5
    """
    for owner in (error, _get(error, "response")):
        headers = _get(owner, "headers")
        for said in (_get(owner, "retry_after"), *_header(headers)):
            seconds = _seconds(said)
            if seconds is not None:
                return max(seconds, 0.0)
    return None


def _header(headers: Any) -> list[Any]:
    if not isinstance(headers, Mapping):
        return []
    return [headers[name] for name in headers if str(name).lower() == "retry-after"]


def _seconds(said: Any) -> float | None:
    if isinstance(said, (int, float)) and not isinstance(said, bool):
        return float(said) if said < float("inf") else None
    if not isinstance(said, str):
        return None
    try:
        seconds = float(said)
    except ValueError:
        return _until(said)
    return seconds if seconds < float("inf") else None


def _until(date: str) -> float | None:
    try:
        then = parsedate_to_datetime(date)
    except (ValueError, TypeError, OverflowError):
        return None
    if then.tzinfo is None:
        then = then.replace(tzinfo=UTC)
    return (then - datetime.now(UTC)).total_seconds()


def _grpc_code(error: BaseException) -> str | None:
    code = _get(error, "code")
    try:
        name = getattr(code(), "name", None) if callable(code) else None
    except Exception:  # noqa: BLE001 - somebody else's method of that name
        return None
    return name if isinstance(name, str) else None


def _get(owner: Any, name: str) -> Any:
    try:
        return getattr(owner, name, None)
    except Exception:  # noqa: BLE001 - a property that fails says nothing
        return None
