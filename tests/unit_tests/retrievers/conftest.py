"""Ways to ask a retriever, and a picture of the runs it leaves, for the drop-in suites.

`Safe` in front of a name and the `ls_*` metadata that core derives from the class name
are left out of the pictures: they cannot be equal between two classes.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import BaseMessage
from langchain_core.runnables.config import merge_configs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from uuid import UUID

    from langchain_core.runnables import Runnable, RunnableConfig


def _ask(runnable: Runnable[Any, Any], query: Any, config: RunnableConfig | None = None) -> Any:
    return runnable.invoke(query, config)


def _ask_async(
    runnable: Runnable[Any, Any], query: Any, config: RunnableConfig | None = None
) -> Any:
    return asyncio.run(runnable.ainvoke(query, config))


@pytest.fixture(scope="session", params=[_ask, _ask_async], ids=["invoke", "ainvoke"])
def ask(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Run a test twice: through `invoke` and through `ainvoke`."""
    chosen: Callable[..., Any] = request.param
    return chosen


def _plain_name(name: str | None) -> str:
    return re.sub(r"\bSafe(?=[A-Z])", "", name or "")


def _plain_metadata(metadata: Mapping[str, Any] | None) -> dict[str, Any]:
    return {k: v for k, v in sorted((metadata or {}).items()) if not k.startswith("ls_")}


def _plain(value: Any) -> Any:
    """Return a message's text (its id is new in every run), lists as they are now, or `value`."""
    if isinstance(value, BaseMessage):
        return value.content
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return list(value) if isinstance(value, list) else value


def _plain_tags(tags: list[str] | None) -> list[str]:
    """Return the tags in order, without the `query_{i}` tags that only ours sets."""
    return sorted(tag for tag in tags or [] if not tag.startswith("query_"))


@dataclass(frozen=True)
class Run:
    """What one run showed: `ends` holds every end and error event it had, so one item."""

    kind: str
    name: str
    tags: list[str]
    metadata: dict[str, Any]
    inputs: Any
    ends: list[Any] = field(default_factory=list)
    children: list[Run] = field(default_factory=list)

    def flat(self) -> list[Run]:
        """Return this run and all below it, parents first."""
        return [self, *(run for child in self.children for run in child.flat())]


class RunRecorder(BaseCallbackHandler):
    """Remember every run of the calls it is given to, as a forest."""

    raise_error = True

    def __init__(self) -> None:
        """Start with no runs."""
        self.runs: dict[UUID, tuple[UUID | None, Run]] = {}

    @property
    def roots(self) -> list[Run]:
        """The runs without a parent; children in a fixed order, whoever started first."""
        for _, run in self.runs.values():
            run.children.clear()
        for parent_id, run in self.runs.values():
            if parent_id is not None:
                self.runs[parent_id][1].children.append(run)
        for _, run in self.runs.values():
            run.children.sort(key=lambda child: (child.tags, child.name, repr(child.inputs)))
        return [run for parent_id, run in self.runs.values() if parent_id is None]

    @property
    def root(self) -> Run:
        """The only run without a parent."""
        (root,) = self.roots
        return root

    def _start(self, kind: str, inputs: Any, event: dict[str, Any]) -> None:
        self.runs[event["run_id"]] = (
            event.get("parent_run_id"),
            Run(
                kind=kind,
                name=_plain_name(event.get("name")),
                tags=_plain_tags(event.get("tags")),
                metadata=_plain_metadata(event.get("metadata")),
                inputs=_plain(inputs),
            ),
        )

    def _end(self, outcome: Any, event: dict[str, Any]) -> None:
        self.runs[event["run_id"]][1].ends.append(_plain(outcome))

    def on_chain_start(self, serialized: Any, inputs: Any, **event: Any) -> None:
        """Remember a chain."""
        self._start("chain", inputs, event)

    def on_retriever_start(self, serialized: Any, query: str, **event: Any) -> None:
        """Remember a retriever."""
        self._start("retriever", query, event)

    def on_tool_start(self, serialized: Any, input_str: str, **event: Any) -> None:
        """Remember a tool."""
        self._start("tool", input_str, event)

    def on_llm_start(self, serialized: Any, prompts: list[str], **event: Any) -> None:
        """Remember a language model."""
        self._start("llm", prompts, event)

    def on_chat_model_start(self, serialized: Any, messages: Any, **event: Any) -> None:
        """Remember a chat model."""
        self._start("chat_model", [[m.content for m in batch] for batch in messages], event)

    def on_chain_end(self, outputs: Any, **event: Any) -> None:
        """Remember a chain's output."""
        self._end(outputs, event)

    def on_retriever_end(self, documents: Any, **event: Any) -> None:
        """Remember a retriever's documents."""
        self._end(documents, event)

    def on_tool_end(self, output: Any, **event: Any) -> None:
        """Remember a tool's output."""
        self._end(output, event)

    def on_llm_end(self, response: Any, **event: Any) -> None:
        """Remember a model's text."""
        self._end([[answer.text for answer in batch] for batch in response.generations], event)

    def on_chain_error(self, error: BaseException, **event: Any) -> None:
        """Remember a chain's error."""
        self._end(error, event)

    def on_retriever_error(self, error: BaseException, **event: Any) -> None:
        """Remember a retriever's error."""
        self._end(error, event)


@pytest.fixture
def recorder() -> RunRecorder:
    """Give a recorder to put among a call's callbacks."""
    return RunRecorder()


@pytest.fixture(scope="session")
def runs_of(ask: Callable[..., Any]) -> Callable[..., list[Run]]:
    """Ask by `invoke` and by `ainvoke`, and return the roots of the runs that this left."""

    def roots(
        runnable: Runnable[Any, Any], query: Any, config: RunnableConfig | None = None
    ) -> list[Run]:
        recorder = RunRecorder()
        ask(runnable, query, merge_configs(config, {"callbacks": [recorder]}))
        return recorder.roots

    return roots


async def _events(
    runnable: Runnable[Any, Any], query: Any, config: RunnableConfig | None
) -> list[dict[str, Any]]:
    return [
        dict(event)
        async for event in runnable.astream_events(query, config, version="v2")
        if event["event"] != "on_custom_event"
    ]


@pytest.fixture(scope="session")
def event_picture() -> Callable[..., list[dict[str, Any]]]:
    """Stream events (version 2), without custom events, ids replaced by names."""

    def picture(
        runnable: Runnable[Any, Any], query: Any, config: RunnableConfig | None = None
    ) -> list[dict[str, Any]]:
        events = asyncio.run(_events(runnable, query, config))
        names = {event["run_id"]: _plain_name(event["name"]) for event in events}
        pictures = [
            {
                "event": event["event"],
                "name": _plain_name(event["name"]),
                "parents": [names[parent] for parent in event["parent_ids"]],
                "tags": _plain_tags(event["tags"]),
                "metadata": _plain_metadata(event["metadata"]),
                "data": _plain(event["data"]),
            }
            for event in events
        ]
        return sorted(pictures, key=repr)

    return picture
