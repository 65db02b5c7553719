"""Which named arguments of `invoke` a leg takes, and what reaches it in the end."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import (
    ConfigurableField,
    Runnable,
    RunnableLambda,
    RunnablePassthrough,
)
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_safe_retrievers import SafeEnsembleRetriever
from langchain_safe_retrievers.legs.arguments import takes
from langchain_safe_retrievers.testing import FakeLeg, texts
from tests.unit_tests.ways import both_ways, each_retriever, ensemble_of, leg_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from langchain_core.runnables import RunnableConfig


class _Plain(BaseRetriever):
    """Takes nothing but the query."""

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return [Document(page_content="plain")]


class _SyncOnly(BaseRetriever):
    """Takes `k` and `lang` by name, and tells what it got; async, core runs it in a thread."""

    default_k: int = 0

    def _get_relevant_documents(
        self, query: str, *, run_manager: Any, k: int | None = None, lang: str = "any"
    ) -> list[Document]:
        return [Document(page_content=f"k={k or self.default_k} lang={lang}")]


class _Strict(_SyncOnly):
    """The same, for async too."""

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: Any, k: int | None = None, lang: str = "any"
    ) -> list[Document]:
        return self._get_relevant_documents(query, run_manager=run_manager, k=k, lang=lang)


def _function(query: str, *, k: int | None = None, lang: str = "any") -> list[str]:
    return [f"k={k or 0} lang={lang}"]


async def _afunction(query: str, *, k: int | None = None, lang: str = "any") -> list[str]:
    return _function(query, k=k, lang=lang)


def _with_config(
    query: str, config: RunnableConfig, k: int | None = None, lang: str = "any"
) -> list[str]:
    return _function(query, k=k, lang=lang)


class _Callable:
    """A callable that cannot be hashed."""

    __hash__ = None  # type: ignore[assignment]

    def __call__(self, query: str, k: int | None = None, lang: str = "any") -> list[str]:
        return _function(query, k=k, lang=lang)


class _Method:
    def ask(self, query: str, k: int | None = None, lang: str = "any") -> list[str]:
        return _function(query, k=k, lang=lang)


def _told_legs() -> dict[str, Runnable[Any, Any]]:
    """Return legs that take `k` and `lang`, and say what they got, by how they are made."""
    strict = _Strict()
    return {
        "retriever": strict,
        "bind": strict.bind(unused_by_others="x").bound,
        "with_config": strict.with_config(tags=["a"]),
        "with_retry": strict.with_retry(wait_exponential_jitter=False),
        "with_fallbacks": strict.with_fallbacks([_Strict()]),
        "configurable_fields": strict.configurable_fields(default_k=ConfigurableField(id="k0")),
        "configurable_alternatives": strict.configurable_alternatives(
            ConfigurableField(id="which"), other=_Strict()
        ),
        "sequence": strict | RunnablePassthrough(),
        "deep": (strict.with_fallbacks([strict]) | RunnablePassthrough()).with_config(tags=["a"]),
        "function": RunnableLambda(_function),
        "both functions": RunnableLambda(_function, _afunction),
        "function with config": RunnableLambda(_with_config),
        "partial": RunnableLambda(partial(_function)),
        "method": RunnableLambda(_Method().ask),
        "unhashable callable": RunnableLambda(_Callable()),
        "retriever for sync alone": _SyncOnly(),
        "ensemble": ensemble_of(strict, fetch_k=50),
        "wrapped ensemble": ensemble_of(strict, fetch_k=50).with_config(tags=["a"]),
    }


def _silent_legs() -> dict[str, Runnable[Any, Any]]:
    """Return legs that take no named argument, by how they are made."""
    plain = _Plain()
    return {
        "retriever": plain,
        "with_retry": plain.with_retry(),
        "with_fallbacks, one of two": FakeLeg(documents=["plain"]).with_fallbacks([plain]),
        "configurable_fields": plain.configurable_fields(tags=ConfigurableField(id="t")),
        "sequence that ends in one that does": leg_of("plain")
        | RunnableLambda(lambda found, k=None, lang=None: found),
        "function": leg_of("plain"),
        "builtin": RunnableLambda(lambda query: ["plain"]).with_config(tags=["a"]),
        "passthrough": RunnablePassthrough() | RunnableLambda(lambda query: ["plain"]),
    }


@pytest.mark.parametrize("made", _told_legs())
def test_a_leg_that_declares_an_argument_gets_it_however_it_is_wrapped(made: str):
    assert takes(_told_legs()[made], "lang")
    assert takes(_told_legs()[made], "k")


@both_ways
@each_retriever
@pytest.mark.parametrize("made", _told_legs())
def test_named_arguments_reach_the_leg_that_declares_them(
    call: Callable[..., Any], over: Any, made: str
):
    found = call(over(_told_legs()[made]), "q", k=1, lang="en")

    assert texts(found) == ["k=50 lang=en"]


@pytest.mark.parametrize("made", _silent_legs())
def test_a_leg_that_does_not_declare_an_argument_does_not_take_it(made: str):
    assert not takes(_silent_legs()[made], "lang")
    assert not takes(_silent_legs()[made], "k")


@both_ways
@pytest.mark.parametrize("made", _silent_legs())
def test_arguments_never_reach_a_leg_that_does_not_declare_them(
    call: Callable[..., Any], made: str
):
    told = FakeLeg(documents=["told"])
    ensemble = SafeEnsembleRetriever(retrievers=[_silent_legs()[made], told])

    assert texts(call(ensemble, "q", k=2, lang="en")) == ["plain", "told"]
    assert told.calls == [("q", {"k": 50, "lang": "en"})]


@both_ways
def test_an_alternative_that_does_not_declare_an_argument_does_not_get_it(
    call: Callable[..., Any],
):
    leg = _Strict().configurable_alternatives(ConfigurableField(id="which"), plain=leg_of("plain"))

    found = call(ensemble_of(leg), "q", {"configurable": {"which": "plain"}}, k=1)

    assert texts(found) == ["plain"]


def test_what_core_reads_itself_reaches_only_a_leg_that_names_it():
    class _Tagged(BaseRetriever):
        def _get_relevant_documents(self, query: str, *, tags: Any = None) -> list[Document]:
            return []

    assert takes(_Tagged(), "tags")
    for name in ("tags", "metadata", "verbose", "run_id", "run_name"):
        assert not takes(FakeLeg(), name)
    assert not takes(_Strict(), "run_manager")
    assert not takes(RunnableLambda(_with_config), "config")


def test_a_leg_may_say_itself_what_it_takes():
    class _Asked(_Plain):
        def takes_argument(self, name: str) -> bool:
            return name == "lang"

    assert takes(_Asked(), "lang")
    assert not takes(_Asked(), "k")


def _is_odd(document: Document) -> bool:
    return not document.metadata["even"]


@both_ways
def test_a_vector_store_takes_k_and_filter_as_it_does_by_itself(call: Callable[..., Any]):
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
    store.add_documents(
        [Document(page_content=f"text {n}", metadata={"even": n % 2 == 0}) for n in range(60)]
    )

    found = call(ensemble_of(store.as_retriever()), "q", k=20, filter=_is_odd)

    # 60 texts, 30 of them odd: k = 20 asks the store for 80, which holds all 30
    assert len(found) == 20
    assert not any(document.metadata["even"] for document in found)
