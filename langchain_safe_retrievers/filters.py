r"""The portable metadata filter: a wall that holds whatever the legs did.

The language is Mongo's, as Chroma and PGVector write it. A filter is a mapping; each key is a
metadata key, or `$and`, `$or` (a list of filters) or `$not` (a filter, or a list of which none may
match). All keys of one mapping must match.

=============================  ====================================================================
written                        a document matches when its value
=============================  ====================================================================
`{"a": 1}`                     equals 1; the same as `{"a": {"$eq": 1}}`
`{"a": {"$gt": 1, "$lt": 9}}`  passes every operator
`$eq` `$ne`                    equals · does not equal the operand
`$in` `$nin`                   equals one · equals none of a list
`$gt` `$gte` `$lt` `$lte`      lies above · at or above · below · at or below the operand
`$between`                     lies in `[low, high]`, both ends included
`$exists`                      is there (None too): `True` · is not there: `False`
`$contains` `$not_contains`    is · is not a list, tuple or set with an element equal to the operand
`$like` `$ilike`               is a string that fits an SQL pattern (`%` any text, `_` any
                               character, `\` escapes) · in any case
`$not`                         fails the operators in it: `{"a": {"$not": {"$gt": 1}}}`
`{"a": {"b": 1}}`              is a dict equal to `{"b": 1}`
`{"a.b": 1}`                   under `b` in the dict under `a` equals 1; a key `"a.b"` comes first
=============================  ====================================================================

- A missing key fails every operator; `$ne`, `$nin`, `$not_contains`, `$not` and `$exists: False`
  are negations, so it passes them.
- Equality: 1, True and "1" are three values; 1, 1.0 and Decimal(1) are one; NaN equals NaN; a
  member of a `str` or `int` enumeration equals its string or number, any other only itself; lists,
  dicts and arrays are compared whole, so a scalar never equals a list.
- Order: numbers with numbers (never bool), strings with strings by code point, dates with dates. A
  string beside a date is read as ISO 8601, a date as its midnight, a time without zone as UTC. What
  cannot be compared does not match, and no value raises.

Where the stores differ: Chroma takes one key a mapping, ranges over numbers only and `$in` over
values of one type, cuts the fraction off an operand beside a stored integer (its 0.5 equals 0),
keeps 1 and 1.0 apart in `$contains`, and reads `#document` as the text, which is no metadata key
here. PGVector drops a document without the key on `$ne` and `$nin`, compares `$in`, `$nin` and
`$like` as text, and lets a scalar equal any element of a list: write `$contains` for that.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import date
from difflib import get_close_matches
from numbers import Number, Real
from reprlib import repr as brief
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

from langchain_safe_retrievers.errors import FilterError
from langchain_safe_retrievers.merging.values import same
from langchain_safe_retrievers.ordering import scale_of, time_of

if TYPE_CHECKING:
    from langchain_core.documents import Document

MAX_DEPTH = 64  # levels of `$and`, `$or` and `$not`; deeper filters are refused

_Path: TypeAlias = tuple[str, ...]
_Test: TypeAlias = Callable[[Any], bool]  # of one value
_Matcher: TypeAlias = Callable[[Mapping[str, Any]], bool]  # of one document's metadata

_MISSING, _NAN, _NOT_PLAIN = object(), object(), object()


def compile_filter(filter: object) -> Callable[[Document], bool] | None:  # noqa: A002 - LangChain's name
    """Return a filter as a predicate of documents, or None when there is nothing to hold.

    Args:
        filter: A mapping in the language of this module, checked here once; or a callable
            `Document -> bool`, as the in-memory store takes it, whose own errors pass through. None
            and an empty mapping are no filter. Anything else is a store's own filter (an
            expression, a client's object): only its store can read it, so nothing is held here.

    Returns:
        A function that says whether a document matches. For a mapping it never raises.

    Raises:
        FilterError: The mapping cannot be read: an unknown operator, an operand of the wrong kind,
            or more than 64 levels.

    Example:
        >>> from langchain_core.documents import Document
        >>> matches = compile_filter({"lang": "en", "year": {"$gte": 2020}})
        >>> matches(Document(page_content="…", metadata={"lang": "en", "year": 2024}))
        True
        >>> matches(Document(page_content="…", metadata={"lang": "en"}))
        False
    """
    if isinstance(filter, Mapping):
        if not filter:
            return None
        matches = _filter(filter, ())
        return lambda document: matches(document.metadata)
    if callable(filter):
        return lambda document: bool(filter(document))
    return None


# Reading a filter ---------------------------------------------------------------------------------


def _filter(written: object, path: _Path) -> _Matcher:
    if not isinstance(written, Mapping) or not written:
        raise _refusal(path, written, 'a filter with a key in it, such as {"lang": "en"}')
    return _all_of([_entry(key, value, path) for key, value in written.items()])


def _entry(key: object, written: object, path: _Path) -> _Matcher:
    if not isinstance(key, str):
        raise _refusal(path, key, 'a metadata key as a string, such as {"lang": "en"}')
    here = _below(path, key)
    if not key.startswith("$"):
        return _field(key, written, here)
    name = key.lower()  # as PGVector does
    if name not in _COMBINATIONS:
        raise _unknown(key, path, (*_COMBINATIONS, "a metadata key"))
    if name == "$not" and isinstance(written, Mapping):
        return _not(_filter(written, here))
    if not isinstance(written, list | tuple) or not written:
        raise _refusal(here, written, 'a list of filters, such as [{"lang": "en"}]')
    parts = [_filter(part, (*path, f"{key}[{i}]")) for i, part in enumerate(written)]
    return _COMBINATIONS[name](parts)


def _field(key: str, written: object, path: _Path) -> _Matcher:
    """Read what is asked of one metadata key: operators, or the value it must equal."""
    if _has_operators(written):
        return _operators(key, written, path)
    if isinstance(written, Mapping):
        for name, inner in written.items():
            if _has_operators(inner):
                raise _refusal(path, written, f'operators under a dotted key, "{key}.{name}"')
    return _reading(key, _equal_to(written, path))


def _has_operators(written: object) -> TypeGuard[Mapping[Any, object]]:
    return isinstance(written, Mapping) and any(str(name).startswith("$") for name in written)


def _operators(key: str, written: Mapping[Any, object], path: _Path) -> _Matcher:
    return _all_of([_operator(key, name, operand, path) for name, operand in written.items()])


def _operator(key: str, name: str, operand: object, path: _Path) -> _Matcher:
    here = _below(path, name)
    if name in _TESTS:
        return _reading(key, _TESTS[name](operand, here))
    if name in _NEGATIONS:
        return _not(_reading(key, _TESTS[_NEGATIONS[name]](operand, here)))
    if name == "$exists":
        return _exists(key, operand, here)
    if name != "$not":
        raise _unknown(name, path, (*_TESTS, *_NEGATIONS, "$exists", "$not"))
    if not _has_operators(operand):
        raise _refusal(here, operand, 'operators, such as {"$gt": 1}')
    return _not(_operators(key, operand, here))


def _exists(key: str, operand: object, path: _Path) -> _Matcher:
    if not isinstance(operand, bool):
        raise _refusal(path, operand, "True or False")
    present = _reading(key, lambda _: True)
    return present if operand else _not(present)


# Matching metadata --------------------------------------------------------------------------------


def _all_of(parts: Sequence[_Matcher]) -> _Matcher:
    if len(parts) == 1:
        return parts[0]
    return lambda metadata: all(part(metadata) for part in parts)


def _any_of(parts: Sequence[_Matcher]) -> _Matcher:
    if len(parts) == 1:
        return parts[0]
    return lambda metadata: any(part(metadata) for part in parts)


def _none_of(parts: Sequence[_Matcher]) -> _Matcher:
    return _not(_any_of(parts))


def _not(part: _Matcher) -> _Matcher:
    return lambda metadata: not part(metadata)


def _reading(key: str, test: _Test) -> _Matcher:
    """Test the value under a key or dotted path; a missing one fails, and so does a raising one."""
    steps = key.split(".")

    def matches(metadata: Mapping[str, Any]) -> bool:
        value = metadata.get(key, _MISSING)
        try:
            if value is _MISSING:
                value = _walk(metadata, steps)
            return value is not _MISSING and test(value)
        except Exception:  # noqa: BLE001 - a value whose own methods raise compares with nothing
            return False

    return matches


def _walk(value: Any, steps: Sequence[str]) -> Any:
    for step in steps:
        if not isinstance(value, (dict, Mapping)):  # dict first: an abstract check is slow
            return _MISSING
        value = value.get(step, _MISSING)
    return value


# Testing one value --------------------------------------------------------------------------------


def _equal_to(operand: object, _path: _Path) -> _Test:
    return _equal_to_any([operand])


def _one_of(operand: object, path: _Path) -> _Test:
    if not isinstance(operand, list | tuple | set | frozenset):
        raise _refusal(path, operand, 'a list of values, such as ["en", "de"]')
    return _equal_to_any(list(operand))


def _equal_to_any(operands: Sequence[object]) -> _Test:
    """Test whether a value equals an operand: one set look-up for plain values, else one by one."""
    plain = frozenset(map(_plain, operands)) - {_NOT_PLAIN}
    others = [operand for operand in operands if _plain(operand) is _NOT_PLAIN]

    def test(value: object) -> bool:
        key = _plain(value)
        if key in plain:
            return True
        candidates = operands if key is _NOT_PLAIN else others
        return bool(candidates) and any(same(value, operand) for operand in candidates)

    return test


def _plain(value: object) -> object:
    """Return a key that two plain values share exactly when they are equal, else `_NOT_PLAIN`."""
    kind = type(value)
    if kind is str or kind is int or value is None:
        return value
    if kind is bool:
        return bool, value
    if kind is list or kind is dict:
        return _NOT_PLAIN
    try:
        if kind is float or (isinstance(value, Number) and hash(value) is not None):
            return value if value == value else _NAN  # noqa: PLR0124 - only NaN differs from itself
        return str.__str__(value) if isinstance(value, str) else _NOT_PLAIN
    except Exception:  # noqa: BLE001 - a signalling NaN, a value whose own methods raise
        return _NOT_PLAIN


def _contains(operand: object, _path: _Path) -> _Test:
    equal = _equal_to_any([operand])
    return lambda value: (
        isinstance(value, list | tuple | set | frozenset) and any(map(equal, value))
    )


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[object, _Path], _Test]:
    """Make the reader of one range operator, given how it compares a value with its bound."""

    def read(bound: object, path: _Path) -> _Test:
        scale = scale_of(bound)
        if scale is None:
            raise _refusal(path, bound, "a number, a string or a date")
        bound_time = None if scale is Real else time_of(bound)

        def test(value: object) -> bool:
            own = scale_of(value)
            if own is scale and scale is not date:
                return bool(compare(value, bound))
            return {own, scale} <= {str, date} and bool(compare(time_of(value), bound_time))

        return test

    return read


def _between(operand: object, path: _Path) -> _Test:
    if not isinstance(operand, list | tuple) or len(operand) != 2:  # noqa: PLR2004 - the two ends
        raise _refusal(path, operand, "the two ends of a range, such as [2020, 2024]")
    low, high = _TESTS["$gte"](operand[0], path), _TESTS["$lte"](operand[1], path)
    return lambda value: low(value) and high(value)


def _like(flags: int) -> Callable[[object, _Path], _Test]:
    """Make the reader of one pattern operator, given the flags of its regular expression."""

    def read(operand: object, path: _Path) -> _Test:
        if not isinstance(operand, str) or not _PATTERN.fullmatch(operand):
            raise _refusal(path, operand, r"a pattern such as '20%'; a backslash is written '\\'")
        fits = re.compile(_expression(operand), flags | re.DOTALL).fullmatch
        return lambda value: isinstance(value, str) and fits(value) is not None

    return read


def _expression(pattern: str) -> str:
    """Turn an SQL pattern into a regular expression that never tries a `%` twice."""
    pieces = [""]
    for escaped, plain in re.findall(r"\\(.)|(.)", pattern, re.DOTALL):
        if plain == "%":
            pieces.append("")
        else:
            pieces[-1] += "." if plain == "_" else re.escape(escaped or plain)
    first, *middle = pieces
    if not middle:
        return first
    *middle, last = middle
    return first + "".join(f"(?>.*?{piece})" for piece in middle) + ".*" + last


_PATTERN = re.compile(r"(?:[^\\]|\\.)*", re.DOTALL)


_COMBINATIONS = {"$and": _all_of, "$or": _any_of, "$not": _none_of}

_TESTS: dict[str, Callable[[object, _Path], _Test]] = {
    "$eq": _equal_to,
    "$in": _one_of,
    "$gt": _ordered(operator.gt),
    "$gte": _ordered(operator.ge),
    "$lt": _ordered(operator.lt),
    "$lte": _ordered(operator.le),
    "$between": _between,
    "$contains": _contains,
    "$like": _like(0),
    "$ilike": _like(re.IGNORECASE),
}

_NEGATIONS = {"$ne": "$eq", "$nin": "$in", "$not_contains": "$contains"}


# Refusing -----------------------------------------------------------------------------------------


def _below(path: _Path, step: object) -> _Path:
    if len(path) >= MAX_DEPTH:
        msg = f"Filter at {'.'.join(path[:3])}…: got more than {MAX_DEPTH} levels, expected fewer; "
        raise FilterError(msg + "write conditions side by side in one mapping or list")
    return (*path, str(step))


def _refusal(path: _Path, came: object, expected: str) -> FilterError:
    place = f" at {'.'.join(path)}" if path else ""
    return FilterError(f"Filter{place}: got {brief(came)}, expected {expected}")


def _unknown(name: object, path: _Path, known: Collection[str]) -> FilterError:
    close = get_close_matches(str(name).strip().lower(), known, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else "."
    return _refusal(path, name, f"one of {', '.join(known)}{hint}")
