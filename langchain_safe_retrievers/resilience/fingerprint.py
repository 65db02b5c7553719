"""Tell retrievers with different settings apart, in a cache that they share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import is_dataclass
from enum import Enum
from typing import Any

from pydantic import BaseModel

from langchain_safe_retrievers.codec import encode
from langchain_safe_retrievers.errors import MetadataError

_MAX_LEVELS = 20
# What our own retrievers remember from call to call, which no answer depends on.
_STATE = frozenset(
    {
        "langchain_safe_retrievers.in_step.WriteLock",
        "langchain_safe_retrievers.late_reading.InStep",
        "langchain_safe_retrievers.retrievers.safe_state.SafeState",
    }
)


def fingerprint(retriever: object) -> tuple[str, tuple[str, ...]]:
    """Return a text of a retriever's settings, and what in it cannot be told apart.

    Classes, fields of pydantic models and dataclasses, and plain values are told apart. A
    function is told by its name only, and any other object (a store, a client), in a private
    attribute too, by its class.

    Args:
        retriever: Any Runnable.

    Returns:
        The text, the same in every process; and the classes of the objects that it cannot see
        into.

    Example:
        >>> from langchain_safe_retrievers.testing import FakeLeg
        >>> fingerprint(FakeLeg(delay=1)) == fingerprint(FakeLeg(delay=2))
        False
    """
    opaque: list[str] = []
    text = encode(_settings(retriever, opaque, _MAX_LEVELS), sort_keys=True)
    return text, tuple(dict.fromkeys(opaque))


def _settings(value: Any, opaque: list[str], levels: int) -> Any:
    if isinstance(value, BaseModel) and levels:
        fields = {
            name: _settings(getattr(value, name, None), opaque, levels - 1)
            for name, field in type(value).model_fields.items()
            if field.exclude is not True or getattr(value, name, None) is not None
        }
        for name, held in (value.__pydantic_private__ or {}).items():
            if isinstance(held, str):
                fields[name] = held
            elif _class_name(held) not in _STATE:
                _plain(held, opaque)  # an index, a client: not a setting, but what answers
        return [_class_name(value), fields]
    if is_dataclass(value) and not isinstance(value, type) and levels:
        return [_class_name(value), _settings(vars(value), opaque, levels - 1)]
    if isinstance(value, Mapping) and levels:
        return {str(key): _settings(item, opaque, levels - 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)) and levels:
        return [_settings(item, opaque, levels - 1) for item in value]
    return _plain(value, opaque)


def _plain(value: Any, opaque: list[str]) -> Any:
    if isinstance(value, Enum):
        return [_class_name(value), value.name]
    try:
        encode(value)
    except MetadataError:
        name = getattr(value, "__qualname__", None) or _class_name(value)
        opaque.append(str(name))
        return str(name)
    return value


def _class_name(value: object) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"
