"""One course of action for sync and async: a generator that yields what is to be waited for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Wait:
    """Something to wait for, in either world.

    Args:
        now: Waits in this thread, and returns the result.
        later: Returns what is awaited for the result.
    """

    now: Callable[[], Any]
    later: Callable[[], Awaitable[Any]]


Course = Generator[Wait, Any, T]


def run(course: Course[T]) -> T:
    """Follow a course in this thread; what a wait raises is raised at its `yield`.

    Args:
        course: Yields what to wait for, and is sent the results.

    Returns:
        What the course returns.

    Example:
        >>> def course():
        ...     return (yield Wait(lambda: 20, None)) + 1
        >>> run(course())
        21
    """
    try:
        wait = next(course)
        while True:
            try:
                result = wait.now()
            except BaseException as error:  # noqa: BLE001 - the course decides
                wait = course.throw(error)
            else:
                wait = course.send(result)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]


async def arun(course: Course[T]) -> T:
    """Follow a course without blocking the loop; as `run`.

    Args:
        course: Yields what to wait for, and is sent the results.

    Returns:
        What the course returns.
    """
    try:
        wait = next(course)
        while True:
            try:
                result = await wait.later()
            except BaseException as error:  # noqa: BLE001 - the course decides
                wait = course.throw(error)
            else:
                wait = course.send(result)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
