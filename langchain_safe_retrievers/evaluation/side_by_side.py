"""Do one thing for each of many, so many at a time, in order."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, TypeVar

from langchain_safe_retrievers.errors import ConfigurationError
from langchain_safe_retrievers.evaluation.metrics import EXTRA
from langchain_safe_retrievers.extras import load

T = TypeVar("T")
R = TypeVar("R")


def side_by_side(
    do: Callable[[T], R], items: Collection[T], max_concurrency: int = 1, *, show: bool = False
) -> list[R]:
    """Do something for each item, each in its own copy of the context.

    Args:
        do: What to do.
        items: The items.
        max_concurrency: How many threads to use; with 1 everything is done in this one.
        show: Whether to show a progress bar.

    Returns:
        What `do` returned, in the items' order.

    Raises:
        ConfigurationError: `max_concurrency` is no whole number of at least 1.

    Example:
        >>> side_by_side(str.upper, ["a", "b"], max_concurrency=2)
        ['A', 'B']
    """
    check_concurrency(max_concurrency)
    if max_concurrency == 1:
        return [copy_context().run(do, item) for item in shown(items, len(items), show=show)]
    with ThreadPoolExecutor(max_concurrency) as pool:
        futures = [pool.submit(copy_context().run, do, item) for item in items]
        try:
            return [future.result() for future in shown(futures, len(items), show=show)]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


async def aside_by_side(
    do: Callable[[T], Awaitable[R]],
    items: Collection[T],
    max_concurrency: int = 1,
    *,
    show: bool = False,
) -> list[R]:
    """Do something for each item without blocking the loop; as `side_by_side`.

    Args:
        do: What to do.
        items: The items.
        max_concurrency: How many tasks at a time.
        show: Whether to show a progress bar.

    Returns:
        What `do` returned, in the items' order.
    """
    check_concurrency(max_concurrency)
    gate = asyncio.Semaphore(max_concurrency)

    async def through(item: T) -> R:
        async with gate:
            return await do(item)

    tasks = [asyncio.ensure_future(through(item)) for item in items]
    try:
        return [await task for task in shown(tasks, len(items), show=show)]
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def check_concurrency(max_concurrency: int) -> None:
    """Check how many are to be done at a time.

    Args:
        max_concurrency: The number.

    Raises:
        ConfigurationError: It is no whole number of at least 1.
    """
    if type(max_concurrency) is not int or max_concurrency < 1:
        msg = f"max_concurrency is {max_concurrency!r}; expected a whole number of at least 1"
        raise ConfigurationError(msg)


def shown(items: Iterable[T], total: int, *, show: bool) -> Iterable[T]:
    """Return the items, behind a progress bar if it is wanted.

    Args:
        items: The items.
        total: How many there are.
        show: Whether a bar is wanted.

    Returns:
        The items.
    """
    if not show:
        return items
    bar: Any = load("tqdm", EXTRA).tqdm(items, total=total, unit="question")
    return bar  # type: ignore[no-any-return]
