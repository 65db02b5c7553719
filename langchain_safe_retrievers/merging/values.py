"""When two metadata values are the same value.

Python's `==` is the wrong question for metadata: it says that `1 == True`, that
`nan != nan`, it returns an array for two arrays, and a user's `__eq__` may raise. Here
`1`, `True` and `"1"` are three values, `1` and `1.0` are one, NaN is NaN, arrays are
compared whole, and nothing raises, whatever the value is and however deep it nests.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from numbers import Number
from typing import Any, TypeGuard

SCALARS = frozenset({str, int, float, bool, bytes, type(None)})
"""Types whose equal values are the same, if both have exactly that type."""
_PEEK = 32  # items of a container that its bucket looks at


def same(a: object, b: object) -> bool:
    """Tell whether two metadata values are the same value; never raises.

    Equal values of one type are the same; numbers (never bools) are compared by value
    across their types; dicts by key, lists and tuples in order, sets and arrays by
    content. An object that cannot be compared is the same only as itself. Cycles and any
    depth of nesting are handled, in time linear in the size of the values.

    Args:
        a: Any value.
        b: Any value.

    Returns:
        Whether `a` and `b` are one value.

    Example:
        >>> same({"n": 1}, {"n": 1.0}), same(1, True), same(float("nan"), float("nan"))
        (True, False, True)
    """
    if a is b:
        return True
    kind = type(a)
    if kind in SCALARS and kind is type(b):
        return bool(a == b or (a != a and b != b))  # noqa: PLR0124 - NaN is not itself
    return surely_same(a, b) or _same_step_by_step(a, b)


def surely_same(a: Any, b: Any) -> bool:
    """Tell quickly whether two values are the same; False means only that it cannot tell.

    Python's own `==` answers at the speed of C; what is left is to look for places where it
    took one type for another (`1 == True`).

    Args:
        a: Any value.
        b: Any value.

    Returns:
        True only if `same(a, b)`.

    Example:
        >>> surely_same({"n": 1}, {"n": 1}), surely_same({"n": 1}, {"n": True})
        (True, False)
    """
    try:
        if type(a) is dict is type(b):
            return a == b and _same_types_in_dicts(a, b)
        return bool(a == b) and _same_types(a, b)
    except Exception:  # noqa: BLE001 - arrays have no truth value, `__eq__` may raise, cycles never end
        return False


def _same_types(a: Any, b: Any) -> bool:
    """Tell whether two equal values also have the same types all the way down."""
    kind = type(a)
    if kind is not type(b):
        return False
    if kind is dict:
        return _same_types_in_dicts(a, b)
    if kind is list or kind is tuple:
        for item, other in zip(a, b):  # noqa: B905 - equal, so equally long
            if type(item) is not type(other):
                return False
            if type(item) not in SCALARS and not _same_types(item, other):
                return False
        return True
    return kind in SCALARS or (family(a) is None and kind.__module__ != "numpy")


def _same_types_in_dicts(a: dict[Any, Any], b: dict[Any, Any]) -> bool:
    for key, value in a.items():
        if type(key) is not str:
            return False
        kind = type(value)
        if kind is str:  # only strings equal it, and most values are strings: spare the look-up
            continue
        other = b[key]
        if value is other:
            continue
        if kind is not type(other):
            return False
        if kind is dict:
            if not _same_types_in_dicts(value, other):
                return False
        elif kind not in SCALARS and not _same_types(value, other):
            return False
    return True


def _same_step_by_step(a: Any, b: Any) -> bool:
    """Compare without recursion, each pair of containers once (cycles, depth, sharing)."""
    todo, seen = [(a, b)], {(id(a), id(b)): (a, b)}  # ids are reused: keep their objects alive
    while todo:
        pair = todo.pop()
        pairs = _pairs(*pair)
        if pairs is None:
            if not _same_leaves(*pair):
                return False
            continue
        for x, y in pairs:
            if x is not y and (id(x), id(y)) not in seen:
                seen[id(x), id(y)] = (x, y)
                todo.append((x, y))
    return True


_STRINGS = {str}
_FAMILIES = {dict: "dict", list: "list", tuple: "tuple", set: "set", frozenset: "set"}
_DIFFERENT = ((0, 1),)


def _pairs(a: Any, b: Any) -> Iterable[tuple[Any, Any]] | None:
    """Return the pairs that decide whether containers are the same; None for two leaves."""
    kind = family(a)
    if kind is None and family(b) is None:
        return None
    if kind != family(b):
        return _DIFFERENT
    try:
        return _PAIRS[kind](a, b) if len(a) == len(b) else _DIFFERENT
    except Exception:  # noqa: BLE001 - a container that cannot be read is only itself
        return _DIFFERENT


def _dict_pairs(a: Mapping[Any, Any], b: Mapping[Any, Any]) -> Iterable[tuple[Any, Any]]:
    if _only_strings(a) and _only_strings(b):
        return [(value, b[key]) for key, value in a.items()] if a.keys() == b.keys() else _DIFFERENT
    seen = Interner()
    theirs = {seen.key(key): value for key, value in b.items()}
    ours = {seen.key(key): value for key, value in a.items()}
    if ours.keys() != theirs.keys():
        return _DIFFERENT
    return [(value, theirs[key]) for key, value in ours.items()]


def _sequence_pairs(a: Sequence[Any], b: Sequence[Any]) -> Iterable[tuple[Any, Any]]:
    return list(zip(a, b, strict=True))


def _set_pairs(a: AbstractSet[Any], b: AbstractSet[Any]) -> Iterable[tuple[Any, Any]]:
    seen = Interner()
    return () if set(seen.keys(a)) == set(seen.keys(b)) else _DIFFERENT


def _array_pairs(a: Any, b: Any) -> Iterable[tuple[Any, Any]]:
    same_kind = _array_kind(a) == _array_kind(b)
    return [(a.tolist(), b.tolist())] if same_kind and a.shape == b.shape else _DIFFERENT


def _array_kind(array: Any) -> str:
    """Return "b", "m" or "M" for bools, durations and times, which may turn into ints."""
    kind = str(array.dtype.kind)
    return kind if kind in "bmM" else ""


_PAIRS: dict[str | None, Any] = {
    "dict": _dict_pairs,
    "list": _sequence_pairs,
    "tuple": _sequence_pairs,
    "set": _set_pairs,
    "array": _array_pairs,
}


def family(value: object) -> str | None:
    """Return the name of the container family of `value`, or None if it is a leaf.

    Args:
        value: Any value.

    Returns:
        `"dict"`, `"list"`, `"tuple"`, `"set"` (frozen or not), `"array"` (numpy), or None.

    Example:
        >>> family({}), family(frozenset()), family("text")
        ('dict', 'set', None)
    """
    kind = type(value)
    if kind in SCALARS:
        return None
    for base, name in _FAMILIES.items():
        if issubclass(kind, base):
            return name
    return "array" if kind.__module__ == "numpy" and getattr(value, "ndim", None) else None


def is_dict(value: object) -> TypeGuard[dict[Any, Any]]:
    """Tell whether `value` is a dict, without asking the value itself what it is.

    Args:
        value: Any value.

    Returns:
        Whether its type is dict or a subclass.

    Example:
        >>> is_dict({}), is_dict([])
        (True, False)
    """
    return issubclass(type(value), dict)


def _same_leaves(a: Any, b: Any) -> bool:
    if is_number(a) and is_number(b):
        return _equal(a, b) or _equal(b, a)  # Decimal(1) denies what numpy's 1 says
    if issubclass(type(a), str) and issubclass(type(b), str):
        return _equal(a, b)
    if _is_bool(a) and _is_bool(b):
        return bool(a) is bool(b)
    if type(a) is not type(b) or not _equal(a, b):
        return False
    return not hasattr(type(a), "dtype") or _array_kind(a) == _array_kind(b)


def _equal(a: Any, b: Any) -> bool:
    try:
        return bool(a == b) or (bool(a != a) and bool(b != b))  # noqa: PLR0124 - NaN is not itself
    except Exception:  # noqa: BLE001 - the value's own `__eq__` failed: it equals only itself
        return False


def _is_bool(value: object) -> bool:
    kind = type(value)
    return kind is bool or (kind.__module__ == "numpy" and kind.__name__ in ("bool", "bool_"))


def is_number(value: object) -> bool:
    """Tell whether `value` is a number of any kind (int, float, Decimal, numpy …), not a bool.

    Args:
        value: Any value.

    Returns:
        True for numbers, NaN and infinities included.

    Example:
        >>> is_number(0.5), is_number(True), is_number("0.5")
        (True, False, False)
    """
    kind = type(value)
    if kind is int or kind is float:
        return True
    return issubclass(kind, Number) and not _is_bool(value) and kind.__name__ != "timedelta64"


def bucket(value: object) -> Hashable:
    """Return a hashable that is equal for values that are the same; never raises.

    Different values may share a bucket, so `same` decides inside it; strings, numbers and
    bools have one of their own.

    Args:
        value: Any value.

    Returns:
        The bucket.

    Example:
        >>> bucket(1) == bucket(1.0), bucket(1) == bucket(True)
        (True, False)
    """
    exact = _exact_key(value)
    if exact is not None:
        return exact
    kind = family(value)
    try:
        if kind is None:
            return (type(value), hash(value) if value == value else "nan")  # noqa: PLR0124
        return (kind, len(value), _peek(kind, value))  # type: ignore[arg-type]
    except Exception:  # noqa: BLE001 - unhashable, or a container that cannot be read
        return (kind or type(value),)


def _exact_key(value: Any) -> Hashable | None:
    """Return a key that only values that are the same share, for strings, numbers and bools."""
    kind = type(value)
    if issubclass(kind, str):
        return str.__str__(value)
    if kind is int:
        return ("number", value)
    try:
        if _is_bool(value):
            return ("bool", bool(value))
        if kind is float or is_number(value):
            value = value.item() if kind.__module__ == "numpy" else value  # Decimal refuses numpy's
            hash(value)
            return ("number", value if value == value else "nan")  # noqa: PLR0124
    except Exception:  # noqa: BLE001 - a number that cannot be hashed or compared
        return None
    return None


def _peek(kind: str, value: Any) -> Hashable:
    if kind == "dict" and len(value) <= _PEEK:
        return frozenset((bucket(k), _shallow(v)) for k, v in value.items())
    if kind in ("list", "tuple"):
        return tuple(_shallow(item) for item in value[:_PEEK])
    return None


def _shallow(value: object) -> Hashable:
    kind = family(value)
    return ("container", kind) if kind else bucket(value)


class Interner:
    """Gives values that are the same one hashable key, and different values different keys.

    Example:
        >>> seen = Interner()
        >>> seen.key([1]) == seen.key([1.0]), seen.key([1]) == seen.key([True])
        (True, False)
    """

    __slots__ = ("_seen",)

    def __init__(self) -> None:
        """Start with no value seen."""
        self._seen: dict[Hashable, list[object]] = {}

    def key(self, value: object) -> Hashable:
        """Return the key of `value`: equal to an earlier one exactly if the values are the same.

        Args:
            value: Any value, hashable or not.

        Returns:
            A hashable key; a string is its own key.
        """
        exact = _exact_key(value)
        if exact is not None:
            return exact
        here = bucket(value)
        peers = self._seen.setdefault(here, [])
        for index, peer in enumerate(peers):
            if same(peer, value):
                return (here, index)
        peers.append(value)
        return (here, len(peers) - 1)

    def keys(self, values: Collection[object]) -> Collection[Hashable]:
        """Return the key of each value.

        Args:
            values: Any values.

        Returns:
            Their keys, in order.
        """
        if _only_strings(values):
            return values
        return [self.key(value) for value in values]


def _only_strings(values: Collection[object]) -> bool:
    return set(map(type, values)) <= _STRINGS


def distinct(values: Iterable[Any]) -> list[Any]:
    """Return `values` without those that are the same as an earlier one, order kept.

    Args:
        values: Any values, hashable or not.

    Returns:
        A new list.

    Example:
        >>> distinct([1, 1.0, True, "1", [1], [1]])
        [1, True, '1', [1]]
    """
    values = list(values)
    if len(values) == 2:  # noqa: PLR2004 - two copies: the common case
        return values[:1] if same(*values) else values
    kept: dict[Hashable, Any] = {}
    for key, value in zip(Interner().keys(values), values, strict=True):
        kept.setdefault(key, value)
    return list(kept.values())
