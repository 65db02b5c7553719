"""Closing the runs that nobody else will close."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID, uuid4

import pytest
from langchain_core.callbacks import (
    AsyncCallbackHandler,
    AsyncCallbackManager,
    BaseCallbackHandler,
    CallbackManager,
)

from langchain_safe_retrievers.legs.open_runs import OpenRuns, RunClosedError, watch_thread

_KINDS = ("chain", "llm", "retriever", "tool")
_ERROR = TimeoutError("too late")


class _Listener(BaseCallbackHandler):
    def __init__(self) -> None:
        self.heard: list[tuple[str, Any, UUID, UUID | None]] = []

    def _hear(self, kind: str, error: Any, run_id: UUID, parent_run_id: UUID | None) -> None:
        self.heard.append((kind, error, run_id, parent_run_id))

    def on_chain_error(self, error: Any, *, run_id: Any, parent_run_id: Any = None, **_: Any):
        self._hear("chain", error, run_id, parent_run_id)

    def on_llm_error(self, error: Any, *, run_id: Any, parent_run_id: Any = None, **_: Any):
        self._hear("llm", error, run_id, parent_run_id)

    def on_retriever_error(self, error: Any, *, run_id: Any, parent_run_id: Any = None, **_: Any):
        self._hear("retriever", error, run_id, parent_run_id)

    def on_tool_error(self, error: Any, *, run_id: Any, parent_run_id: Any = None, **_: Any):
        self._hear("tool", error, run_id, parent_run_id)


class _AsyncListener(AsyncCallbackHandler):
    def __init__(self) -> None:
        self.heard: list[UUID] = []

    async def on_retriever_error(self, error: Any, *, run_id: UUID, **_: Any) -> None:
        self.heard.append(run_id)


class _Deaf(_Listener):
    @property
    def ignore_retriever(self) -> bool:
        return True


def watching(*listeners: BaseCallbackHandler) -> Any:
    """Return a watcher of the runs below a manager with these handlers."""
    handlers = list(listeners)
    return OpenRuns.below(CallbackManager(handlers=handlers, inheritable_handlers=handlers[:]))


def test_open_runs_are_closed_innermost_first_below_their_parents():
    listener = _Listener()
    runs = watching(listener)
    outer, inner = uuid4(), uuid4()
    runs.on_retriever_start({}, "q", run_id=outer)
    runs.on_chain_start({}, {}, run_id=inner, parent_run_id=outer)

    runs.close(_ERROR)

    assert listener.heard == [
        ("chain", _ERROR, inner, outer),
        ("retriever", _ERROR, outer, None),
    ]


@pytest.mark.parametrize("kind", _KINDS)
@pytest.mark.parametrize("end", ["end", "error"])
def test_a_run_that_ended_is_not_closed_again(kind: str, end: str):
    listener, run = _Listener(), uuid4()
    runs = watching(listener)
    getattr(runs, f"on_{kind}_start")({}, "q", run_id=run)
    assert list(runs.open) == [run]

    getattr(runs, f"on_{kind}_{end}")("any", run_id=run)
    runs.close(_ERROR)

    assert listener.heard == []


@pytest.mark.parametrize("kind", [*_KINDS, "chat_model"])
def test_every_kind_of_run_is_closed_once_by_its_own_event(kind: str):
    listener, run = _Listener(), uuid4()
    runs = watching(listener)
    getattr(runs, f"on_{kind}_start")({}, "q", run_id=run)

    runs.close(_ERROR)
    runs.close(_ERROR)

    assert [heard[0] for heard in listener.heard] == ["llm" if kind == "chat_model" else kind]


async def test_async_handlers_are_told_too():
    listener, alistener, run = _Listener(), _AsyncListener(), uuid4()
    runs = watching(listener, alistener)
    runs.on_retriever_start({}, "q", run_id=run)

    await runs.aclose(_ERROR)

    assert alistener.heard == [run]
    assert [heard[2] for heard in listener.heard] == [run]


def test_a_handler_that_ignores_such_runs_is_not_told():
    deaf, run = _Deaf(), uuid4()
    runs = watching(deaf)
    runs.on_retriever_start({}, "q", run_id=run)

    runs.close(_ERROR)

    assert deaf.heard == []


def test_the_end_of_an_unknown_run_is_nothing_to_it():
    watching(_Listener()).on_chain_end({}, run_id=uuid4())


def test_once_closed_nothing_that_the_leg_still_reports_reaches_the_other_handlers():
    listener, run = _Listener(), uuid4()
    manager = CallbackManager(handlers=[listener], inheritable_handlers=[listener])
    runs = OpenRuns.below(manager)
    child = manager.on_chain_start({}, {}, run_id=run)
    runs.close(_ERROR)

    with pytest.raises(RunClosedError):
        child.on_chain_error(ValueError())
    with pytest.raises(RunClosedError):
        manager.on_chain_start({}, {})

    assert [heard[1] for heard in listener.heard] == [_ERROR]


def test_a_manager_without_handlers_is_left_as_it_is():
    manager = CallbackManager(handlers=[])
    assert OpenRuns.below(manager).open == OpenRuns.below(None).open == {}
    assert manager.handlers == []


@pytest.mark.parametrize("first", ["inner", "outer"])
def test_a_run_that_two_watch_is_closed_once(first: str):
    listener = _Listener()
    manager = CallbackManager(handlers=[listener], inheritable_handlers=[listener])
    outer = OpenRuns.below(manager)
    inner = OpenRuns.below(manager)
    manager.on_chain_start({}, {}, run_id=uuid4())
    order = [inner, outer] if first == "inner" else [outer, inner]

    for runs in order:
        runs.close(_ERROR)

    assert [heard[1] for heard in listener.heard] == [_ERROR]
    assert inner.open == outer.open == {}


async def test_an_end_that_inline_handlers_have_heard_of_is_waited_for():
    listener, run = _Listener(), uuid4()
    listener.run_inline = True
    manager = AsyncCallbackManager(handlers=[listener], inheritable_handlers=[listener])
    runs = OpenRuns.below(manager)
    child = await manager.on_chain_start({}, {}, run_id=run)
    end = asyncio.create_task(child.on_chain_error(ValueError()))
    while not listener.heard:  # noqa: ASYNC110 - it is about a single turn of the loop
        await asyncio.sleep(0)
    assert list(runs.open) == [run]  # it is told after the inline ones

    await runs.aclose(_ERROR)
    await end

    assert [type(heard[1]) for heard in listener.heard] == [ValueError]


def test_what_a_thread_below_a_loop_reports_is_refused_once_closed():
    listener = _Listener()
    manager = AsyncCallbackManager(handlers=[listener], inheritable_handlers=[listener])
    outer = OpenRuns.below(manager)
    inner = OpenRuns.below(manager)
    watch_thread(manager)
    in_thread = CallbackManager.configure(manager)
    child = in_thread.on_chain_start({}, {})
    assert list(inner.open) == list(outer.open) == [child.run_id]
    inner.close(_ERROR)

    with pytest.raises(RunClosedError):
        child.on_chain_error(ValueError())

    assert [heard[1] for heard in listener.heard] == [_ERROR]
