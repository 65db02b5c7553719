"""Hypothesis strategies: metadata as found in the wild, and ranked lists in which copies occur."""

from __future__ import annotations

import copy
from collections import OrderedDict, defaultdict, namedtuple
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NoReturn
from uuid import UUID

import numpy as np
from hypothesis import strategies as st
from langchain_core.documents import Document
from pydantic import BaseModel

if TYPE_CHECKING:
    from collections.abc import Callable


class Colour(Enum):
    """An enum that is nothing else."""

    RED = 0
    BLUE = 1


class Size(IntEnum):
    """An enum whose members are ints."""

    SMALL = 0
    LARGE = 1


class Tongue(StrEnum):
    """An enum whose members are strings."""

    EN = "en"
    DE = "de"


class Model(BaseModel):
    """A pydantic model."""

    n: int


@dataclass
class Record:
    """A dataclass that compares by value and is not hashable."""

    n: int


class Tags(list[Any]):
    """A list of a type of its own."""


Point = namedtuple("Point", "x y")  # noqa: PYI024 - the untyped kind is what people put there


class EqRaises:
    """An object that cannot be compared."""

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> NoReturn:
        """Refuse."""
        msg = "no comparison"
        raise RuntimeError(msg)


class HashRaises:
    """An object that cannot be hashed."""

    def __hash__(self) -> int:
        """Refuse."""
        msg = "no hash"
        raise RuntimeError(msg)


class ReprRaises:
    """An object that cannot be shown."""

    def __repr__(self) -> str:
        """Refuse."""
        msg = "no text"
        raise RuntimeError(msg)


class BoolRaises:
    """An object that is neither true nor false, nor are its comparisons."""

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> Any:
        """Answer with something that has no truth value."""
        return self

    def __bool__(self) -> bool:
        """Refuse."""
        msg = "no truth value"
        raise RuntimeError(msg)


def nested(levels: int, innermost: Any) -> Any:
    """Return `innermost` inside `levels` dicts and lists."""
    value = innermost
    for level in range(levels):
        value = [value] if level % 2 else {"d": value}
    return value


def cyclic_dict(n: int) -> dict[str, Any]:
    """Return a dict that holds itself."""
    value: dict[str, Any] = {"n": n}
    value["me"] = value
    return value


def cyclic_list(n: int) -> list[Any]:
    """Return a list that holds itself."""
    value: list[Any] = [n]
    value.append(value)
    return value


def sharing(n: int) -> dict[str, Any]:
    """Return a dict that holds one list at several places."""
    shared = [n]
    return {"x": shared, "y": {"z": shared}, "w": [shared, shared]}


EQ_RAISES = EqRaises()
HOSTILE: dict[str, Callable[[int], Any]] = {
    "none": lambda _: None,
    "int": lambda n: n,
    "bool": bool,
    "digit": str,
    "float": float,
    "negative zero": lambda _: -0.0,
    "nan": lambda _: float("nan"),
    "infinity": lambda n: float("inf") if n else float("-inf"),
    "huge int": lambda n: 10**400 + n,
    "complex": lambda n: complex(n, n),
    "decimal": Decimal,
    "decimal nan": lambda _: Decimal("NaN"),
    "decimal signaling nan": lambda _: Decimal("sNaN"),
    "fraction": lambda n: Fraction(n, 3),
    "list": lambda n: [n, n, 7],
    "empty list": lambda _: [],
    "tuple": lambda n: (n, "x"),
    "named tuple": lambda n: Point(n, 0),
    "set": lambda n: {n, "x"},
    "frozenset": lambda n: frozenset({n, "y"}),
    "dict": lambda n: {"n": n, "k": {"deep": [n]}},
    "empty dict": lambda _: {},
    "dict of odd keys": lambda n: {1: n, None: n, (1, 2): n, "1": n, 0.5: n},
    "dict with a bool key": lambda n: {True: n},
    "ordered dict": lambda n: OrderedDict(n=n, m=1),
    "default dict": lambda n: defaultdict(list, {"n": [n]}),
    "list subclass": lambda n: Tags([n]),
    "aware datetime": lambda n: datetime(2024, 1, 1 + n, tzinfo=UTC),
    "other zone": lambda n: datetime(2024, 1, 1 + n, 2, tzinfo=timezone(timedelta(hours=2))),
    "naive datetime": lambda n: datetime(2024, 1, 1 + n),  # noqa: DTZ001 - naive on purpose
    "date": lambda n: date(2024, 1, 1 + n),
    "enum": Colour,
    "int enum": Size,
    "str enum": lambda n: list(Tongue)[n],
    "bytes": lambda n: bytes([n]),
    "bytearray": lambda n: bytearray([n]),
    "uuid": lambda n: UUID(int=n),
    "numpy int": np.int64,
    "numpy small int": np.int8,
    "numpy float": np.float32,
    "numpy nan": lambda _: np.float64("nan"),
    "numpy bool": np.bool_,
    "numpy str": np.str_,
    "numpy datetime": lambda n: np.datetime64("2024-01-01") + n,
    "numpy not-a-time": lambda _: np.datetime64("NaT"),
    "array": lambda n: np.array([n, 2]),
    "float array": lambda n: np.array([n, float("nan")]),
    "bool array": lambda n: np.array([bool(n), True]),
    "matrix": lambda n: np.array([[n, 2], [3, 4]], dtype=np.float32),
    "0-d array": np.array,
    "0-d bool array": lambda n: np.array(bool(n)),
    "empty array": lambda _: np.zeros((0, 3)),
    "str array": lambda n: np.array([str(n), "x"]),
    "object array": lambda n: np.array([n, "x", None, EQ_RAISES], dtype=object),
    "time array": lambda n: np.array(["2024-01-01"], dtype="M8[ns]") + n,
    "model": lambda n: Model(n=n),
    "dataclass": Record,
    "__eq__ raises": lambda _: EqRaises(),
    "__hash__ raises": lambda _: HashRaises(),
    "__repr__ raises": lambda _: ReprRaises(),
    "__bool__ raises": lambda _: BoolRaises(),
    "cyclic dict": cyclic_dict,
    "cyclic list": cyclic_list,
    "1,000 levels": lambda n: nested(1000, n),
    "shared parts": sharing,
}
"""Name to a function that makes that kind of value, in two variants: 0 and 1."""


def twin(value: Any) -> Any:
    """Return `value` built again: equal wherever it can be compared, sharing no container."""
    made: dict[int, Any] = {}
    todo: list[tuple[Any, Any]] = []

    def shell(item: Any) -> Any:
        if id(item) in made:
            return made[id(item)]
        if isinstance(item, dict | list):
            made[id(item)] = empty = copy.copy(item)
            empty.clear()
            todo.append((item, empty))
            return empty
        if isinstance(item, tuple):
            parts = map(shell, item)
            return type(item)(*parts) if hasattr(item, "_fields") else tuple(parts)
        if isinstance(item, set | bytearray | np.ndarray | datetime | Model | Record):
            return copy.copy(item)
        return float(str(item)) if type(item) is float else item

    top = shell(value)
    while todo:
        item, empty = todo.pop()
        if isinstance(item, dict):
            for key, inner in item.items():
                empty[key] = shell(inner)
        else:
            empty.extend(map(shell, item))
    return top


_words = st.sampled_from(["", "a", "b", "1", "Ångström"])
json_leaves = st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from([0.5, 1.0]) | _words
json_values = st.recursive(
    json_leaves,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "b", "c.d"]), inner, max_size=3)
    ),
    max_leaves=8,
)
"""Nested JSON-like values, few enough for equal ones to meet."""

hostile_leaves = st.builds(
    lambda name, n: HOSTILE[name](n), st.sampled_from(list(HOSTILE)), st.integers(0, 1)
)
hostile_values = st.recursive(
    hostile_leaves,
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.lists(inner, max_size=2).map(tuple)
        | st.dictionaries(st.sampled_from(["a", "b", 1, None]), inner, max_size=2)
    ),
    max_leaves=4,
)
"""Everything that has been seen to break a merge, also inside lists, tuples and dicts."""

any_values = json_values | hostile_values
json_keys = st.sampled_from(["source", "score", "tags", "a", "b"])
any_keys = json_keys | st.sampled_from([1, True, None, (1, 2), "c.d"])


@st.composite
def ranked_lists(
    draw: st.DrawFn,
    values: st.SearchStrategy[Any] = any_values,
    keys: st.SearchStrategy[Any] = any_keys,
) -> list[list[Document]]:
    """Draw one to three legs' documents: few contents, ids and values, so copies occur."""
    pool = draw(st.lists(values, min_size=1, max_size=4))
    value = st.sampled_from(range(len(pool))).map(pool.__getitem__)
    documents = st.builds(
        Document,
        page_content=st.sampled_from("abc"),
        id=st.sampled_from([None, "1", "2"]),
        metadata=st.dictionaries(keys, value | value.map(twin), max_size=4),
    )
    return draw(st.lists(st.lists(documents, max_size=4), min_size=1, max_size=3))
