"""`unique_by_key`, as `langchain_classic.retrievers.ensemble` has it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")
H = TypeVar("H", bound=Hashable)


def unique_by_key(iterable: Iterable[T], key: Callable[[T], H]) -> Iterator[T]:
    """Yield the items whose key no earlier item had.

    The retrievers do not use it (it drops what the later items knew); it is here for code
    that imported it.

    Args:
        iterable: Any items.
        key: Returns an item's hashable key.

    Yields:
        The first item of each key, in order.

    Example:
        >>> list(unique_by_key(["a", "bb", "c"], len))
        ['a', 'bb']
    """
    seen: set[H] = set()
    for item in iterable:
        mark = key(item)
        if mark not in seen:
            seen.add(mark)
            yield item
