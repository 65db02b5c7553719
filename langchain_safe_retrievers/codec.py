"""Metadata as JSON text and back, equal and of the same types.

JSON knows None, bools, strings, lists, finite numbers and dicts with string keys; these are
written as they are. Everything else is written as `{"$": [kind, payload]}`, and so is a dict
whose only key is `"$"`, so that no metadata can be mistaken for such a mark.

===========================  ==================================================================
type                         kind and payload
===========================  ==================================================================
float NaN, inf, -inf         `"float"`, its name
int of 2⁶³ and beyond        `"int"`, hexadecimal text (other JSON readers would round it)
str with lone surrogates     `"str"`, code points
tuple, set, frozenset        its name, the items (a set's in the order of their JSON text)
dict with other keys         `"dict"`, pairs of key and value
bytes                        `"bytes"`, base64
date, Decimal, UUID          its name, text
datetime, time               its name, ISO 8601 without zone, offset in seconds or zone's key or
                             None, fold
timedelta                    `"timedelta"`, days, seconds, microseconds
===========================  ==================================================================

A subclass (an enumeration's member, a named tuple, a default dict, a numpy scalar), any other
object, and containers more than 100 levels deep are refused: they would come back as something
else. A NaN comes back as a NaN; object identity is not kept.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable
from datetime import date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from enum import Enum
from reprlib import repr as brief
from typing import Any, TypeAlias
from uuid import UUID
from zoneinfo import ZoneInfo

from langchain_safe_retrievers.errors import MetadataError

MAX_DEPTH = 100  # levels of containers; deeper ones are refused, and so are cycles

_MARK = "$"
_WRITTEN_MARK = '{"$":'  # as `_write` writes it
_SMALL = 2**63
_PLAIN_DEPTH = 8  # levels of containers that are looked through before anything is packed
_Path: TypeAlias = tuple[object, ...]


def encode(value: object, *, owner: str = "metadata", sort_keys: bool = False) -> str:
    """Write a value as JSON text that `decode` reads back equal, type for type.

    Args:
        value: A document's metadata, or any value made of the types in this module's table.
        owner: What the value belongs to, for the error.
        sort_keys: Write keys in order, so that equal dicts give equal texts whatever the order
            of their keys.

    Returns:
        JSON text, valid Unicode.

    Raises:
        MetadataError: Something in it cannot be represented; the error names `owner` and the
            path.

    Example:
        >>> encode({"pages": (1, 2), "due": date(2024, 5, 1)})
        '{"pages":{"$":["tuple",[1,2]]},"due":{"$":["date","2024-05-01"]}}'
    """
    write = _write_sorted if sort_keys else _write
    if _is_plain(value) and _is_unicode(text := write(value)):
        return text
    try:
        packed = _pack(value, ())
    except _UnrepresentableError as error:
        msg = f"{owner} at {_written(error.path)}: {error.problem}"
        raise MetadataError(msg) from None
    return write(packed)


def decode(text: str) -> Any:
    """Read back what `encode` wrote.

    Args:
        text: JSON text from `encode`.

    Returns:
        The value.

    Raises:
        ValueError: The text was not written by `encode`.

    Example:
        >>> decode('{"pages":{"$":["tuple",[1,2]]}}')
        {'pages': (1, 2)}
    """
    if _WRITTEN_MARK not in text:
        return _read(text)
    return _read_marked(text)


_FORM: dict[str, Any] = {"ensure_ascii": False, "separators": (",", ":"), "allow_nan": False}
_write = json.JSONEncoder(**_FORM).encode
_write_sorted = json.JSONEncoder(**_FORM, sort_keys=True).encode


# Writing ------------------------------------------------------------------------------------------


class _UnrepresentableError(Exception):
    """Where something is that cannot be represented, and what is wrong with it."""

    def __init__(self, path: _Path, problem: str) -> None:
        super().__init__(path, problem)
        self.path, self.problem = path, problem


def _is_plain(value: Any, depth: int = 0) -> bool:  # noqa: PLR0911 - one return a kind
    """Tell quickly whether a value is in terms of JSON already, its Unicode aside."""
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return True
    if kind is int:
        return bool(-_SMALL <= value < _SMALL)
    if kind is float:
        return bool(value - value == 0)
    if depth == _PLAIN_DEPTH:
        return False
    if kind is list:
        return all([_is_plain(item, depth + 1) for item in value])  # noqa: C419 - a third quicker
    if kind is not dict or _MARK in value:
        return False
    plain = [type(key) is str and _is_plain(item, depth + 1) for key, item in value.items()]
    return all(plain)


def _pack(value: Any, path: _Path) -> Any:
    """Return the value in terms of JSON."""
    kind = type(value)
    if kind is str:
        return value if _is_unicode(value) else _marked("str", list(map(ord, value)))
    if kind is bool or value is None:
        return value
    if kind is int:
        return value if -_SMALL <= value < _SMALL else _marked("int", hex(value))
    if kind is float:
        return value if value - value == 0 else _marked("float", repr(value))
    pack = _PACKERS.get(kind)
    if pack is None:
        raise _UnrepresentableError(path, _problem(value))
    if len(path) > MAX_DEPTH:
        msg = f"got containers more than {MAX_DEPTH} levels deep (or a cycle), expected fewer"
        raise _UnrepresentableError(path, msg)
    return pack(value, path)


def _is_unicode(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _marked(kind: str, *payload: object) -> dict[str, list[object]]:
    return {_MARK: [kind, *payload]}


def _pack_dict(value: dict[Any, Any], path: _Path) -> dict[str, Any]:
    if all(type(key) is str and _is_unicode(key) for key in value) and [*value] != [_MARK]:
        return {key: _pack(item, (*path, key)) for key, item in value.items()}
    pairs = [[_pack(key, path), _pack(item, (*path, key))] for key, item in value.items()]
    return _marked("dict", pairs)


def _pack_items(values: Iterable[Any], path: _Path) -> list[Any]:
    return [_pack(item, (*path, index)) for index, item in enumerate(values)]


def _pack_set(value: set[Any] | frozenset[Any], path: _Path) -> dict[str, Any]:
    return _marked(type(value).__name__, sorted(_pack_items(value, path), key=_write))


def _pack_datetime(value: datetime, path: _Path) -> dict[str, Any]:
    naive = value.replace(tzinfo=None, fold=0).isoformat()
    return _marked("datetime", naive, _zone(value.tzinfo, path), value.fold)


def _pack_time(value: time, path: _Path) -> dict[str, Any]:
    naive = value.replace(tzinfo=None, fold=0).isoformat()
    return _marked("time", naive, _zone(value.tzinfo, path), value.fold)


def _zone(zone: tzinfo | None, path: _Path) -> float | str | None:
    if zone is None:
        return None
    if type(zone) is timezone:
        return zone.utcoffset(None).total_seconds()
    if type(zone) is ZoneInfo and zone.key is not None:
        return zone.key
    msg = (
        f"got the time zone {brief(zone)}, expected datetime.timezone or a named zoneinfo.ZoneInfo"
    )
    raise _UnrepresentableError(path, msg)


_PACKERS: dict[type, Callable[[Any, _Path], Any]] = {
    dict: _pack_dict,
    list: _pack_items,
    tuple: lambda value, path: _marked("tuple", _pack_items(value, path)),
    set: _pack_set,
    frozenset: _pack_set,
    bytes: lambda value, _: _marked("bytes", base64.b64encode(value).decode()),
    datetime: _pack_datetime,
    time: _pack_time,
    date: lambda value, _: _marked("date", value.isoformat()),
    timedelta: lambda value, _: _marked("timedelta", value.days, value.seconds, value.microseconds),
    Decimal: lambda value, _: _marked("Decimal", str(value)),
    UUID: lambda value, _: _marked("UUID", value.hex),
}


def _problem(value: object) -> str:
    """Say what came, what was expected and what to write."""
    kind = type(value)
    known = next((base.__name__ for base in kind.__mro__[1:] if base in _KNOWN), "")
    if isinstance(value, Enum):
        hint = "store value.value"
    elif isinstance(value, date | time):
        hint = "store value.isoformat()"
    elif known:
        hint = f"it would come back as a plain {known}; store {known}(value)"
    else:
        hint = "store value.tolist()" if hasattr(kind, "tolist") else "store its parts or its text"
    return (
        f"got {kind.__module__}.{kind.__qualname__} {brief(value)}, which has no JSON form; {hint}"
    )


_KNOWN = frozenset({str, int, float, *_PACKERS})


def _written(path: _Path) -> str:
    """Write a path as the filters do: keys and positions joined by dots."""
    shown = path if len(path) <= 8 else (*path[:3], "…")  # noqa: PLR2004 - enough to find it
    return ".".join(map(str, shown)) or "its top"


# Reading ------------------------------------------------------------------------------------------


def _read(text: str) -> Any:
    """Read JSON text that has no space around it, in half of the usual time."""
    value, end = _read_start(text)
    if end != len(text):
        msg = f"expected one JSON text, got more from character {end} on"
        raise ValueError(msg)
    return value


def _unpack(found: dict[str, Any]) -> Any:
    if found.keys() != {_MARK}:
        return found
    kind, *payload = found[_MARK]
    return _READERS[kind](*payload)


def _read_zone(zone: float | str | None) -> tzinfo | None:
    if zone is None:
        return None
    return ZoneInfo(zone) if isinstance(zone, str) else timezone(timedelta(seconds=zone))


_READERS: dict[str, Callable[..., Any]] = {
    "float": float,
    "int": lambda text: int(text, 16),
    "str": lambda points: "".join(map(chr, points)),
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
    "dict": dict,
    "bytes": base64.b64decode,
    "datetime": lambda text, zone, fold: datetime.fromisoformat(text).replace(
        tzinfo=_read_zone(zone), fold=fold
    ),
    "time": lambda text, zone, fold: time.fromisoformat(text).replace(
        tzinfo=_read_zone(zone), fold=fold
    ),
    "date": date.fromisoformat,
    "timedelta": timedelta,
    "Decimal": Decimal,
    "UUID": lambda text: UUID(hex=text),
}

_read_start = json.JSONDecoder().raw_decode
_read_marked = json.JSONDecoder(object_hook=_unpack).decode
