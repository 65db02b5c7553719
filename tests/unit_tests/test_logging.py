"""Logging: a logger for each module, nothing at import, no query or document above DEBUG."""

from __future__ import annotations

import ast
import json
import logging
import re
import subprocess
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote_plus

import pytest
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda
from langchain_core.stores import InMemoryByteStore

import langchain_safe_retrievers
from langchain_safe_retrievers import (
    AllLegsFailedError,
    HybridRetriever,
    SafeEnsembleRetriever,
    SafeMultiQueryRetriever,
)
from langchain_safe_retrievers.resilience.cache import DocumentCache
from langchain_safe_retrievers.retrievers.safe import SafeRetriever
from langchain_safe_retrievers.testing import FakeLeg
from tests.unit_tests.ways import both_ways, every_way, leg_of, writes

if TYPE_CHECKING:
    from collections.abc import Callable

_NAME = "langchain_safe_retrievers"
_PACKAGE = Path(langchain_safe_retrievers.__file__).parent
_FILES = sorted(_PACKAGE.rglob("*.py"))
_OWN = "logging.getLogger(__name__)"
_QUERY = "Has Ms. Quill of 7 Elm Street paid?"
_TEXT = "Ms. Quill owes 40 pounds."
_SECRET = re.compile("quill|elm.?street|paid|40.?pounds", re.IGNORECASE)


def _module(path: Path) -> str:
    parts = path.relative_to(_PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def _calls(path: Path, of: str) -> list[ast.Call]:
    """Return the calls that a module makes of a name's attributes."""
    return [
        node
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.Call) and ast.unparse(node.func).startswith(f"{of}.")
    ]


# Loggers ------------------------------------------------------------------------------------------


def test_a_module_asks_logging_for_nothing_but_the_logger_of_its_own_name():
    """The command line sets logging up, as a program may; what is imported does not."""
    library = [path for path in _FILES if path.parent.name != "cli"]
    asked = {_module(path): list(map(ast.unparse, _calls(path, "logging"))) for path in library}
    others = {module: calls for module, calls in asked.items() if calls not in ([], [_OWN])}

    assert [_OWN] in asked.values()
    assert others == {}


def test_no_message_is_formatted_before_it_is_logged():
    """What is formatted beforehand cannot be told from its template, by a person or a program."""
    calls = [call for path in _FILES for call in _calls(path, "logger")]

    assert len(calls) >= 3
    assert [ast.unparse(it) for it in calls if not isinstance(it.args[0], ast.Constant)] == []


def test_importing_a_module_that_logs_logs_nothing_and_sets_nothing_up():
    own = f"logger = {_OWN}"
    modules = [_module(path) for path in _FILES if own in path.read_text("utf-8").splitlines()]
    program = f"""
import importlib, logging, logging.handlers, warnings
warnings.simplefilter("ignore")
heard = []
class Listener(logging.Handler):
    def emit(self, record):
        if record.name.startswith({_NAME!r}):
            heard.append(record.getMessage())
listener = Listener(1)
root = logging.getLogger()
root.addHandler(listener)
root.setLevel(1)
for name in {modules!r}:
    importlib.import_module(name)
print(heard, root.handlers == [listener], root.level)
known = logging.root.manager.loggerDict.items()
ours = dict((name, it) for name, it in known if name in {modules!r})
for logger in ours.values():
    assert not logger.handlers and not logger.level and logger.propagate, logger
print(sorted(ours) == sorted({modules!r}))
"""
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )

    assert (done.stdout, done.stderr) == ("[] True 1\nTrue\n", "")


# What is in them ----------------------------------------------------------------------------------


_QUOTED: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "its repr": repr,
    "JSON": json.dumps,
    "a URL": quote_plus,
    "in upper case": str.upper,
    "its words": lambda query: " & ".join(query.split()),
    "its end": lambda query: query[8:],
}


def _quotes(query: str) -> Any:
    """Fail as backends do: with the question in the message, and with what they hold."""
    msg = f"cannot parse {query!r}, the closest document is {_TEXT!r}"
    raise ConnectionError(msg)


def _safe(leg: Any, *fallbacks: Any, **fields: Any) -> SafeRetriever:
    return SafeRetriever(retriever=leg, fallbacks=list(fallbacks), retry_wait=0.001, **fields)


class _DownStore(InMemoryByteStore):
    """A cache that is down, and says what it was asked for."""

    def mget(self, keys: Any) -> Any:
        _quotes(str(keys))

    def mset(self, key_value_pairs: Any) -> None:
        _quotes(str(key_value_pairs))


def _multi_query(leg: Any, writer: Any, **fields: Any) -> SafeMultiQueryRetriever:
    return SafeMultiQueryRetriever(retriever=leg, llm_chain=writer, **fields)


_BROKEN = RunnableLambda(_quotes)
_FINE = leg_of(Document(_TEXT, metadata={"source": "a"}))
_OTHER = leg_of(Document(_TEXT, metadata={"source": "b"}))
_OPEN = _safe(_BROKEN, _FINE, failure_threshold=1, max_retries=0)
_RETRIEVERS: dict[str, Callable[[], Any]] = {
    "a leg quotes the query": lambda: SafeEnsembleRetriever(
        retrievers=[_BROKEN, _FINE], on_leg_error="skip"
    ),
    "a leg raises": lambda: SafeEnsembleRetriever(retrievers=[_BROKEN, _FINE]),
    "all legs quote the query": lambda: SafeEnsembleRetriever(
        retrievers=[_BROKEN, _BROKEN], on_leg_error="skip"
    ),
    "a leg returns nonsense": lambda: SafeEnsembleRetriever(
        retrievers=[RunnableLambda(lambda query: {query: _TEXT}), _FINE], on_leg_error="skip"
    ),
    "copies disagree": lambda: SafeEnsembleRetriever(retrievers=[_FINE, _OTHER]),
    "hybrid": lambda: HybridRetriever(keyword=_FINE, vector=_BROKEN, on_leg_error="skip"),
    "queries are written": lambda: _multi_query(_FINE, writes(_QUERY, f"{_QUERY} Really?")),
    "a query fails": lambda: _multi_query(
        _BROKEN, writes(_QUERY, f"{_QUERY} Really?"), on_leg_error="skip"
    ),
    "no query is written": lambda: _multi_query(_FINE, writes()),
    "the writer quotes the query": lambda: _multi_query(
        _FINE, RunnableLambda(lambda inputs: _quotes(inputs["question"]))
    ),
    "retries and a fallback": lambda: _safe(_BROKEN, _FINE),
    "fallbacks fail too": lambda: _safe(_BROKEN, _BROKEN),
    "an open circuit": lambda: _OPEN,
    "a control character in the query": lambda: RunnableLambda(lambda q: f"{q}\0") | _safe(_FINE),
    "a query that is too long": lambda: _safe(_FINE, max_query_chars=3),
    "a cache that is down": lambda: _safe(
        _FINE, cache=DocumentCache(store=_DownStore()), cache_namespace="test"
    ),
    "scores that are too low": lambda: _safe(FakeLeg(documents=[(_TEXT, 0.1)]), min_score=0.5),
    "nested": lambda: SafeEnsembleRetriever(
        retrievers=[
            SafeEnsembleRetriever(retrievers=[_BROKEN, _BROKEN], on_leg_error="skip"),
            _FINE,
        ],
        on_leg_error="skip",
    ),
}


def _told(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return what was logged above DEBUG."""
    return [
        logging.Formatter().format(record)
        for record in caplog.records
        if record.name.startswith(_NAME) and record.levelno > logging.DEBUG
    ]


@every_way
@pytest.mark.parametrize("over", _RETRIEVERS.values(), ids=_RETRIEVERS)
def test_no_query_and_no_document_is_logged_above_debug(
    call: Callable[..., Any], over: Callable[[], Any], caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.DEBUG, logger=_NAME)

    with suppress(ConnectionError, ValueError, AllLegsFailedError):  # the caller knows the query
        call(over(), _QUERY)

    assert [text for text in _told(caplog) if _SECRET.search(text)] == []


@both_ways
@pytest.mark.parametrize("quoted", _QUOTED.values(), ids=_QUOTED)
def test_however_an_error_quotes_the_query_it_is_not_logged_above_debug(
    call: Callable[..., Any], quoted: Callable[[str], str], caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.DEBUG, logger=_NAME)
    broken = FakeLeg(error=ConnectionError(f"cannot parse: {quoted(_QUERY)}"))

    call(SafeEnsembleRetriever(retrievers=[broken, _FINE], on_leg_error="skip"), _QUERY)
    call(_safe(broken, _FINE), _QUERY)

    assert len(_told(caplog)) >= 2
    assert [text for text in _told(caplog) if _SECRET.search(text)] == []


@every_way
def test_a_leg_that_is_late_is_logged_without_the_query(
    call: Callable[..., Any], caplog: pytest.LogCaptureFixture
):
    late = FakeLeg(hangs=True)

    call(
        SafeEnsembleRetriever(retrievers=[late, _FINE], on_leg_error="skip", leg_timeout=0.2),
        _QUERY,
    )
    late.release()

    assert "'retriever_1'" in caplog.text
    assert "LegTimeoutError" in caplog.text
    assert not _SECRET.search(caplog.text)


@every_way
def test_a_warning_names_the_leg_and_the_type_of_its_error(
    call: Callable[..., Any], caplog: pytest.LogCaptureFixture
):
    retriever = SafeEnsembleRetriever(
        retrievers=[_BROKEN, _FINE], leg_names=["vector", "keyword"], on_leg_error="skip"
    )

    call(retriever, _QUERY)

    record = caplog.records[0]
    assert (record.levelno, record.name) == (logging.WARNING, f"{_NAME}.legs.asking")
    assert "'vector'" in record.getMessage()
    assert "ConnectionError" in record.getMessage()


@pytest.mark.parametrize(
    "over",
    [
        lambda leg: SafeEnsembleRetriever(retrievers=[leg, _FINE], on_leg_error="skip"),
        lambda leg: _safe(leg, _FINE, max_retries=0),
        lambda leg: _safe(leg, _FINE, max_retries=1),
    ],
    ids=["skipped", "replaced", "asked again"],
)
def test_debug_tells_the_whole_error_in_one_line(
    over: Callable[[Any], Any], caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.DEBUG, logger=_NAME)

    over(FakeLeg(error=ConnectionError("no such host:\nsearch.example"))).invoke("q")

    told = [it.getMessage() for it in caplog.records if it.levelno == logging.DEBUG]
    assert any("ConnectionError: no such host: search.example" in text for text in told)
