"""`SafeEnsembleRetriever` held against langchain-classic's `EnsembleRetriever`.

A test that takes `ensemble` runs once with each class: the upstream run proves the
expectation, ours has to meet it too. A test that compares both builds the same input twice.

Meant to differ, so not compared here (the retriever's own suite tests them): metadata of
copies that disagree; a text repeated inside one leg; legs of weight 0, which upstream asks;
weights that are negative, not finite or bool; `retrievers=[]` or left out; `c <= 0`; unknown
constructor arguments; named arguments of `invoke` (`k`, `filter`, `run_id`, ...); an `id_key`
that is missing, None, unhashable or of mixed types; legs that answer None, a tuple, a
generator or a dict; two legs that fail at once; the order in which sync legs run;
`max_concurrency`; the runs an async cancel leaves open; `ls_*` metadata.
"""

from __future__ import annotations

import asyncio
import contextvars
import copy
import inspect
import pickle
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from langchain_classic.chains import create_retrieval_chain
from langchain_classic.retrievers import (
    ContextualCompressionRetriever,
    EnsembleRetriever,
    MergerRetriever,
)
from langchain_classic.retrievers.ensemble import unique_by_key as upstream_unique_by_key
from langchain_core.callbacks import (
    AsyncCallbackManager,
    AsyncCallbackManagerForRetrieverRun,
    CallbackManager,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.prompts import PromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import (
    ConfigurableField,
    RunnableBranch,
    RunnableGenerator,
    RunnableLambda,
    RunnableParallel,
    RunnablePassthrough,
    chain,
)
from langchain_core.runnables.config import patch_config
from langchain_core.tools import create_retriever_tool
from pydantic import Field, ValidationError

from langchain_safe_retrievers import SafeEnsembleRetriever, unique_by_key

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Sequence

    from langchain_core.runnables import RunnableConfig

ENSEMBLES = [
    pytest.param(EnsembleRetriever, id="upstream"),
    pytest.param(SafeEnsembleRetriever, id="ours"),
]
WORD = contextvars.ContextVar("WORD", default="unset")


@pytest.fixture(scope="session", params=ENSEMBLES)
def ensemble(request: pytest.FixtureRequest) -> Any:
    """Run a test with upstream's class and with ours."""
    return request.param


def doc(text: str, **metadata: Any) -> Document:
    """Return a document."""
    return Document(page_content=text, metadata=metadata)


def docs(texts: str, **metadata: Any) -> list[Document]:
    """Return a document for each letter."""
    return [doc(letter, **metadata) for letter in texts]


def texts(documents: Sequence[Document]) -> str:
    """Return the documents' texts as one word."""
    return "".join(document.page_content for document in documents)


class Leg(BaseRetriever):
    """A leg that always finds the same, at most `limit` if told so."""

    found: list[Any]
    limit: int = 100

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,
        limit: int | None = None,
    ) -> list[Document]:
        return copy.deepcopy(self.found[: self.limit if limit is None else limit])

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,
        limit: int | None = None,
    ) -> list[Document]:
        return self._get_relevant_documents(query, run_manager=run_manager.get_sync(), limit=limit)


class BoomError(Exception):
    """A leg's own error."""


BOOM = BoomError("the same in every run")


def leg(letters: str, **settings: Any) -> Leg:
    """Return a leg that finds a document for each letter."""
    return Leg(found=docs(letters), **settings)


def echo(query: str) -> list[Document]:
    """Find the query itself."""
    return docs(query)


def failing(error: BaseException) -> RunnableLambda[str, list[Document]]:
    """Return a leg that raises `error`."""

    def fail(query: str) -> list[Document]:
        raise error

    return RunnableLambda(fail)


def both(build: Callable[[Any], Any]) -> tuple[Any, Any]:
    """Return what `build` makes of ours and of upstream."""
    return build(SafeEnsembleRetriever), build(EnsembleRetriever)


def in_a_run(recorder: Any) -> CallbackManagerForRetrieverRun:
    """Return the manager of a retriever run that `recorder` sees."""
    manager = CallbackManager.configure(inheritable_callbacks=[recorder])
    return manager.on_retriever_start(None, "q", name="outer")


async def in_an_async_run(recorder: Any) -> AsyncCallbackManagerForRetrieverRun:
    """Return the manager of an async retriever run that `recorder` sees."""
    manager = AsyncCallbackManager.configure(inheritable_callbacks=[recorder])
    return await manager.on_retriever_start(None, "q", name="outer")


# --- construction ---------------------------------------------------------------------------


def test_ours_is_a_retriever_that_takes_and_gives_what_upstreams_does() -> None:
    assert issubclass(SafeEnsembleRetriever, BaseRetriever)
    ours, upstream = both(lambda cls: cls(retrievers=[leg("a")]))
    assert ours.InputType is upstream.InputType
    assert ours.OutputType == upstream.OutputType
    assert ours.get_input_jsonschema()["type"] == upstream.get_input_jsonschema()["type"]
    assert ours.get_output_jsonschema()["items"] == upstream.get_output_jsonschema()["items"]


def test_every_field_of_upstream_is_there_in_upstreams_order() -> None:
    upstream = list(EnsembleRetriever.model_fields)
    assert [name for name in SafeEnsembleRetriever.model_fields if name in upstream] == upstream


def test_every_argument_that_upstream_does_not_know_has_a_default() -> None:
    known = set(inspect.signature(EnsembleRetriever).parameters)
    ours = inspect.signature(SafeEnsembleRetriever).parameters
    assert known <= set(ours) | {"args"}
    assert all(
        parameter.default is not inspect.Parameter.empty
        or parameter.kind is inspect.Parameter.VAR_POSITIONAL
        for name, parameter in ours.items()
        if name not in known
    )


def test_c_is_60_and_no_id_key_unless_given(ensemble: Any) -> None:
    retriever = ensemble(retrievers=[leg("a")])
    assert (retriever.c, retriever.id_key) == (60, None)
    assert (retriever.name, retriever.tags, retriever.metadata) == (None, None, None)


@pytest.mark.parametrize("given_weights", [{}, {"weights": None}, {"weights": []}])
def test_weights_left_out_are_equal_and_add_up_to_one(
    ensemble: Any, given_weights: dict[str, Any]
) -> None:
    retriever = ensemble(retrievers=[leg("a"), leg("b"), leg("c")], **given_weights)
    assert retriever.weights == [1 / 3, 1 / 3, 1 / 3]
    assert texts(retriever.invoke("q")) == "abc"


def test_whole_weights_in_a_tuple_become_a_list_of_floats(ensemble: Any) -> None:
    retriever = ensemble(retrievers=(leg("a"), leg("b")), weights=(1, 2))
    assert retriever.weights == [1.0, 2.0]
    assert [type(weight) for weight in retriever.weights] == [float, float]
    assert isinstance(retriever.retrievers, list)


def test_the_arguments_are_not_changed_by_construction(ensemble: Any) -> None:
    arguments: dict[str, Any] = {"retrievers": [leg("a"), leg("b")], "weights": [2, 1]}
    before = copy.deepcopy(arguments)
    ensemble(**arguments)
    assert arguments == before


def test_the_legs_are_kept_as_the_very_objects(ensemble: Any) -> None:
    one, two = leg("a"), RunnableLambda(echo)
    retriever = ensemble(retrievers=[one, two])
    assert retriever.retrievers[0] is one
    assert retriever.retrievers[1] is two


def test_a_new_list_of_weights_may_be_assigned_later(ensemble: Any, ask: Any) -> None:
    retriever = ensemble(retrievers=[leg("a"), leg("b")])
    retriever.weights = [0.1, 0.9]
    assert texts(ask(retriever, "q")) == "ba"
    retriever.weights = [0.9, 0.1]
    assert texts(ask(retriever, "q")) == "ab"


def test_one_weight_may_be_changed_in_place(ensemble: Any, ask: Any) -> None:
    retriever = ensemble(retrievers=[leg("a"), leg("b")], weights=[0.5, 0.5])
    retriever.weights[1] = 0.6
    assert texts(ask(retriever, "q")) == "ba"


def test_a_leg_may_be_added_later_with_its_weight(ensemble: Any, ask: Any) -> None:
    retriever = ensemble(retrievers=[leg("a"), leg("b")], weights=[1.0, 2.0])
    retriever.retrievers.append(leg("c"))
    retriever.weights.append(3.0)
    assert texts(ask(retriever, "q")) == "cba"


def test_c_and_id_key_may_be_assigned_later(ensemble: Any, ask: Any) -> None:
    one = Leg(found=[doc("x", n=1), doc("x", n=2)])
    two = Leg(found=[doc("x", n=2)])
    retriever = ensemble(retrievers=[one, two], c=60)
    retriever.id_key = "n"
    retriever.c = 1
    assert [document.metadata["n"] for document in ask(retriever, "q")] == [2, 1]


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (
            [1.0],
            "Length of weights must match number of retrievers (got 1 weights for 2 retrievers).",
        ),
        (
            [1.0, 1.0, 1.0],
            "Length of weights must match number of retrievers (got 3 weights for 2 retrievers).",
        ),
        ([0.0, 0.0], "At least one ensemble weight must be greater than zero."),
        ([0, 0], "At least one ensemble weight must be greater than zero."),
    ],
)
def test_weights_that_cannot_work_are_refused_in_upstreams_words(
    ensemble: Any, weights: list[float], message: str
) -> None:
    with pytest.raises(ValidationError) as raised:
        ensemble(retrievers=[leg("a"), leg("b")], weights=weights)
    (error,) = raised.value.errors()
    assert error["msg"] == f"Value error, {message}"


def test_as_many_rank_lists_as_weights_are_asked_for_in_upstreams_words(ensemble: Any) -> None:
    retriever = ensemble(retrievers=[leg("a"), leg("b")])
    with pytest.raises(ValueError) as raised:  # noqa: PT011 - all of the message is compared
        retriever.weighted_reciprocal_rank([docs("a")])
    assert str(raised.value) == ("Number of rank lists must be equal to the number of weights.")


def test_too_few_weights_assigned_later_fail_in_upstreams_words(ensemble: Any, ask: Any) -> None:
    retriever = ensemble(retrievers=[leg("a"), leg("b")])
    retriever.weights = [1.0]
    with pytest.raises(ValueError) as raised:  # noqa: PT011 - all of the message is compared
        ask(retriever, "q")
    assert str(raised.value) == ("Number of rank lists must be equal to the number of weights.")


# --- fusion ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("legs", "settings", "expected"),
    [
        (["a"], {}, "a"),
        (["", ""], {}, ""),
        (["", "ab"], {}, "ab"),
        # b scores 0.5/62 + 0.5/61, a 0.5/61 and c 0.5/62
        (["ab", "bc"], {}, "bac"),
        # equal scores: the first leg's first, then by rank
        (["a", "b"], {}, "ab"),
        (["ab", "ba"], {}, "ab"),
        (["ab", "cd"], {}, "acbd"),
        (["ba", "dc", "fe"], {}, "bdface"),
        # a scores 1/2 and b 2/2
        (["a", "b"], {"weights": [1.0, 2.0], "c": 1}, "ba"),
        # c = 1, weights 3 and 2: a 3/2, b 3/3, c 2/2: b and c tie, b's leg is first
        (["ab", "c"], {"weights": [3.0, 2.0], "c": 1}, "abc"),
        (["c", "ab"], {"weights": [2.0, 3.0], "c": 1}, "acb"),
        # weights are not normalised and need not add up to one
        (["abc", "cba"], {"weights": [100.0, 1.0]}, "abc"),
    ],
)
def test_fused_order_is_by_score_then_leg_then_rank(
    ensemble: Any, ask: Any, legs: list[str], settings: dict[str, Any], expected: str
) -> None:
    retriever = ensemble(retrievers=[leg(letters) for letters in legs], **settings)
    assert ask(retriever, "q") == docs(expected)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
METADATA = st.dictionaries(
    st.text(max_size=5) | st.sampled_from(["score", "source", "retriever", "tags"]),
    JSON,
    max_size=4,
)


@st.composite
def ensembles(draw: st.DrawFn, id_key: str | None = None) -> dict[str, Any]:
    """Draw rank lists without repeats, and weights; copies of a document are all equal."""
    pool = [
        Document(
            id=draw(st.none() | st.just(f"id-{number}")),
            page_content="same" if id_key else f"text {number}",
            metadata=draw(METADATA) | ({id_key: f"key {number}"} if id_key else {}),
        )
        for number in range(6)
    ]
    ranking = st.lists(st.sampled_from(range(6)), unique=True, max_size=6)
    lists = draw(st.lists(ranking, min_size=2, max_size=4))
    weight = st.floats(0.01, 100) | st.integers(1, 3)
    return {
        "lists": [[pool[number] for number in numbers] for numbers in lists],
        "weights": draw(st.none() | st.lists(weight, min_size=len(lists), max_size=len(lists))),
        "c": draw(st.integers(1, 100)),
        "id_key": id_key,
    }


ROUND = {  # every document at every rank once: how the sum is rounded decides the order
    "lists": [docs("abc"), docs("bca"), docs("cab")],
    "weights": None,
    "c": 60,
    "id_key": None,
}


def fused(cls: Any, case: dict[str, Any], how: Callable[[Any, Any], Any]) -> Any:
    """Return what `how` makes of a new ensemble and its own copies of the rank lists."""
    lists = copy.deepcopy(case["lists"])
    retriever = cls(
        retrievers=[async_leg(found) for found in lists],
        weights=case["weights"],
        c=case["c"],
        id_key=case["id_key"],
    )
    return how(retriever, lists)


def async_leg(found: list[Any]) -> RunnableLambda[str, list[Any]]:
    """Return a leg with a coroutine of its own, so that no thread is needed."""

    async def find(query: str) -> list[Any]:
        return found

    return RunnableLambda(lambda query: found, find)


@settings(max_examples=60, deadline=None)
@given(case=st.one_of(ensembles(), ensembles(id_key="key")))
@example(case=ROUND)
@example(case=ROUND | {"weights": [0.1, 0.2, 0.3]})
@example(case=ROUND | {"c": 1})
def test_any_rank_lists_are_fused_as_upstream_fuses_them(ask: Any, case: dict[str, Any]) -> None:
    ours, upstream = both(lambda cls: fused(cls, case, lambda retriever, _: ask(retriever, "q")))
    assert ours == upstream
    assert repr(ours) == repr(upstream)  # True is not 1, and the keys keep their order


@settings(max_examples=60, deadline=None)
@given(case=st.one_of(ensembles(), ensembles(id_key="key")))
@example(case=ROUND)
@example(case=ROUND | {"weights": [0.1, 0.2, 0.3]})
@example(case=ROUND | {"c": 1})
def test_any_rank_lists_given_by_hand_are_fused_as_upstream_fuses_them(
    case: dict[str, Any],
) -> None:
    ours, upstream = both(
        lambda cls: fused(
            cls, case, lambda retriever, lists: retriever.weighted_reciprocal_rank(lists)
        )
    )
    assert ours == upstream
    assert repr(ours) == repr(upstream)


@pytest.mark.parametrize("keys", [["one", "two"], [1, 2], [1.5, 2.5], [("a", 1), ("b", 2)]])
def test_documents_of_one_text_and_two_keys_stay_two(
    ensemble: Any, ask: Any, keys: list[Any]
) -> None:
    first, second = (doc("same", key=key) for key in keys)
    retriever = ensemble(retrievers=[Leg(found=[first, second]), Leg(found=[second])], id_key="key")
    assert ask(retriever, "q") == [second, first]


def test_a_document_found_once_is_returned_as_the_very_object(ensemble: Any) -> None:
    lists = [docs("ab", source="one"), docs("cd", source="two")]
    result = ensemble(retrievers=[leg(""), leg("")]).weighted_reciprocal_rank(lists)
    assert texts(result) == "acbd"
    assert {id(document) for document in result} == {id(d) for found in lists for d in found}


def test_the_rank_lists_are_not_changed(ensemble: Any) -> None:
    lists = [docs("ab", tags=["x"]), docs("ba", tags=["x"])]
    before = copy.deepcopy(lists)
    ensemble(retrievers=[leg(""), leg("")]).weighted_reciprocal_rank(lists)
    assert lists == before


def test_strings_become_documents(ensemble: Any, ask: Any) -> None:
    retriever = ensemble(
        retrievers=[async_leg(["a", "b"]), Leg(found=["b", *docs("c")]), async_leg(docs("d"))]
    )
    result = ask(retriever, "q")
    assert result == docs("badc")
    assert {type(document) for document in result} == {Document}


class Passage(Document):
    """A document with a field of its own."""

    chapter: int = 0


def test_a_kind_of_document_keeps_its_type_and_fields(ensemble: Any, ask: Any) -> None:
    passage = Passage(page_content="a", chapter=7, metadata={"m": 1}, id="p")
    retriever = ensemble(retrievers=[Leg(found=[passage]), leg("b")])
    result = ask(retriever, "q")
    assert result == [passage, *docs("b")]
    assert isinstance(result[0], Passage)


def test_a_kind_of_document_that_two_legs_found_keeps_its_type_and_fields(
    ensemble: Any, ask: Any
) -> None:
    passage = Passage(page_content="a", chapter=7, metadata={"m": [1, {"n": 2}]}, id="p")
    retriever = ensemble(retrievers=[Leg(found=[passage]), Leg(found=[passage])])
    result = ask(retriever, "q")
    assert result == [passage]
    assert isinstance(result[0], Passage)


def test_ids_are_kept(ensemble: Any, ask: Any) -> None:
    found = [Document(id=f"id-{letter}", page_content=letter) for letter in "ab"]
    retriever = ensemble(retrievers=[Leg(found=found), Leg(found=found[::-1])])
    assert [document.id for document in ask(retriever, "q")] == ["id-a", "id-b"]


def test_the_answer_is_a_plain_list(ensemble: Any, ask: Any) -> None:
    assert type(ask(ensemble(retrievers=[leg("ab"), leg("bc")]), "q")) is list


async def test_questions_asked_at_the_same_time_are_kept_apart(ensemble: Any) -> None:
    retriever = echoing(ensemble)
    found = await asyncio.gather(*(retriever.ainvoke(letter) for letter in "abcabc"))
    assert [texts(documents) for documents in found] == ["aA", "bB", "cC"] * 2


def test_one_question_asked_twice_gets_the_same_answer(ensemble: Any, ask: Any) -> None:
    retriever = ensemble(retrievers=[leg("abc"), leg("cbd")])
    assert ask(retriever, "q") == ask(retriever, "q")


# --- methods to call and to override --------------------------------------------------------


@pytest.mark.parametrize("method", ["rank_fusion", "arank_fusion", "weighted_reciprocal_rank"])
def test_a_public_method_takes_upstreams_parameters_first(method: str) -> None:
    ours, upstream = both(lambda cls: inspect.signature(getattr(cls, method)).parameters)
    shape = [(p.name, p.kind, p.default) for p in upstream.values()]
    assert [(p.name, p.kind, p.default) for p in ours.values()][: len(shape)] == shape


def overriding_rank_fusion(base: Any) -> Any:
    """Return a subclass that notes how `rank_fusion` was called, and answers `z`."""

    class Overriding(base):  # type: ignore[misc]
        seen: list[Any] = Field(default_factory=list)

        def rank_fusion(
            self,
            query: str,
            run_manager: CallbackManagerForRetrieverRun,
            *,
            config: RunnableConfig | None = None,
        ) -> list[Document]:
            self.seen.append((query, run_manager, config))
            return docs("z", by="override")

    return Overriding


def overriding_arank_fusion(base: Any) -> Any:
    """Return a subclass that notes how `arank_fusion` was called, and answers `z`."""

    class Overriding(base):  # type: ignore[misc]
        seen: list[Any] = Field(default_factory=list)

        async def arank_fusion(
            self,
            query: str,
            run_manager: AsyncCallbackManagerForRetrieverRun,
            *,
            config: RunnableConfig | None = None,
        ) -> list[Document]:
            self.seen.append((query, run_manager, config))
            return docs("z", by="override")

    return Overriding


def test_rank_fusion_overridden_is_used_by_invoke(ensemble: Any, recorder: Any) -> None:
    retriever = overriding_rank_fusion(ensemble)(retrievers=[leg("a"), leg("b")])
    result = retriever.invoke("q", {"tags": ["t"], "callbacks": [recorder]})
    assert result == docs("z", by="override")
    ((query, run_manager, config),) = retriever.seen
    assert query == "q"
    assert isinstance(run_manager, CallbackManagerForRetrieverRun)
    assert config["tags"] == ["t"]
    assert recorder.root.ends == [result]
    assert recorder.root.children == []


async def test_arank_fusion_overridden_is_used_by_ainvoke(ensemble: Any, recorder: Any) -> None:
    retriever = overriding_arank_fusion(ensemble)(retrievers=[leg("a"), leg("b")])
    result = await retriever.ainvoke("q", {"tags": ["t"], "callbacks": [recorder]})
    assert result == docs("z", by="override")
    ((query, run_manager, config),) = retriever.seen
    assert query == "q"
    assert isinstance(run_manager, AsyncCallbackManagerForRetrieverRun)
    assert config["tags"] == ["t"]
    assert recorder.root.ends == [result]
    assert recorder.root.children == []


async def test_each_fusion_override_is_used_on_its_own_side_only(ensemble: Any) -> None:
    legs = [leg("a"), leg("b")]
    assert texts(await overriding_rank_fusion(ensemble)(retrievers=legs).ainvoke("q")) == "ab"
    assert texts(overriding_arank_fusion(ensemble)(retrievers=legs).invoke("q")) == "ab"


def test_rank_fusion_overridden_is_used_by_get_relevant_documents(ensemble: Any) -> None:
    retriever = overriding_rank_fusion(ensemble)(retrievers=[leg("a")])
    run_manager = CallbackManagerForRetrieverRun.get_noop_manager()
    assert texts(retriever._get_relevant_documents("q", run_manager=run_manager)) == "z"
    assert retriever.seen == [("q", run_manager, None)]


async def test_arank_fusion_overridden_is_used_by_aget_relevant_documents(
    ensemble: Any,
) -> None:
    retriever = overriding_arank_fusion(ensemble)(retrievers=[leg("a")])
    run_manager = AsyncCallbackManagerForRetrieverRun.get_noop_manager()
    result = await retriever._aget_relevant_documents("q", run_manager=run_manager)
    assert texts(result) == "z"
    assert retriever.seen == [("q", run_manager, None)]


def test_an_override_may_build_on_the_class_it_overrides(ensemble: Any, ask: Any) -> None:
    class Shorter(ensemble):  # type: ignore[misc]
        top: int = 2

        def rank_fusion(
            self,
            query: str,
            run_manager: CallbackManagerForRetrieverRun,
            *,
            config: RunnableConfig | None = None,
        ) -> Any:
            return super().rank_fusion(query, run_manager, config=config)[: self.top]

        async def arank_fusion(
            self,
            query: str,
            run_manager: AsyncCallbackManagerForRetrieverRun,
            *,
            config: RunnableConfig | None = None,
        ) -> Any:
            return (await super().arank_fusion(query, run_manager, config=config))[: self.top]

    assert texts(ask(Shorter(retrievers=[leg("abc"), leg("cd")]), "q")) == "ca"
    assert texts(ask(Shorter(retrievers=[leg("abc"), leg("cd")], top=1), "q")) == "c"


def test_an_override_may_ask_the_legs_itself(ensemble: Any, recorder: Any) -> None:
    class Own(ensemble):  # type: ignore[misc]
        def rank_fusion(
            self,
            query: str,
            run_manager: CallbackManagerForRetrieverRun,
            *,
            config: RunnableConfig | None = None,
        ) -> Any:
            found = [
                retriever.invoke(
                    query, patch_config(config, callbacks=run_manager.get_child(tag=f"own_{i}"))
                )
                for i, retriever in enumerate(self.retrievers)
            ]
            return self.weighted_reciprocal_rank(found)

    retriever = Own(retrievers=[leg("ab"), leg("bc")])
    assert texts(retriever.invoke("q", {"callbacks": [recorder]})) == "bac"
    assert [run.tags for run in recorder.root.children] == [["own_0"], ["own_1"]]


def test_weighted_reciprocal_rank_overridden_gets_one_list_a_leg_and_has_the_last_word(
    ensemble: Any, ask: Any
) -> None:
    class Fused(ensemble):  # type: ignore[misc]
        seen: list[Any] = Field(default_factory=list)

        def weighted_reciprocal_rank(self, doc_lists: list[list[Document]]) -> list[Document]:
            self.seen.append(doc_lists)
            best = super().weighted_reciprocal_rank(doc_lists)[0]
            return [doc(best.page_content, rrf=0.5), doc(best.page_content, rrf=0.25)]

    retriever = Fused(retrievers=[leg("ab"), async_leg(["b"]), leg("")])
    assert ask(retriever, "q") == [doc("b", rrf=0.5), doc("b", rrf=0.25)]
    assert retriever.seen == [[docs("ab"), docs("b"), []]]
    assert all(isinstance(found, list) for found in retriever.seen[0])


def reverse_the_lists(doc_lists: list[list[Document]]) -> None:
    doc_lists.reverse()


def reverse_each_list(doc_lists: list[list[Document]]) -> None:
    for found in doc_lists:
        found.reverse()


def drop_the_last_of_each_list(doc_lists: list[list[Document]]) -> None:
    for found in doc_lists:
        found.pop()


def add_documents(doc_lists: list[list[Document]]) -> None:
    doc_lists[0].insert(0, doc("z"))
    doc_lists[1] += docs("y")


def set_metadata(doc_lists: list[list[Document]]) -> None:
    for found in doc_lists:
        for document in found:
            document.metadata["seen"] = True


@pytest.mark.parametrize(
    "edit",
    [
        reverse_the_lists,
        reverse_each_list,
        drop_the_last_of_each_list,
        add_documents,
        set_metadata,
    ],
)
def test_weighted_reciprocal_rank_overridden_may_edit_the_lists_in_place(
    ask: Any, edit: Callable[[list[list[Document]]], None]
) -> None:
    def build(base: Any) -> Any:
        class Edited(base):  # type: ignore[misc]
            def weighted_reciprocal_rank(self, doc_lists: list[list[Document]]) -> Any:
                edit(doc_lists)
                return super().weighted_reciprocal_rank(doc_lists)

        return Edited(retrievers=[leg("abc"), leg("bcd")], weights=[2, 1])

    ours, upstream = both(lambda cls: ask(build(cls), "q"))
    assert ours == upstream


def test_weighted_reciprocal_rank_overridden_is_used_by_rank_fusion_called_by_hand(
    ensemble: Any,
) -> None:
    class Longest(ensemble):  # type: ignore[misc]
        def weighted_reciprocal_rank(self, doc_lists: list[list[Document]]) -> list[Document]:
            return max(doc_lists, key=len)

    retriever = Longest(retrievers=[leg("a"), leg("bcd"), leg("ef")])
    run_manager = CallbackManagerForRetrieverRun.get_noop_manager()
    assert texts(retriever.rank_fusion("q", run_manager)) == "bcd"


@pytest.mark.parametrize("position", ["positional", "keyword"])
def test_rank_fusion_may_be_called_by_hand(ensemble: Any, recorder: Any, position: str) -> None:
    retriever = ensemble(retrievers=[leg("ab"), leg("bc")])
    run_manager = in_a_run(recorder)
    if position == "keyword":
        result = retriever.rank_fusion(query="q", run_manager=run_manager, config=None)
    else:
        result = retriever.rank_fusion("q", run_manager, config={"tags": ["t"]})
    assert texts(result) == "bac"
    mark = ["t"] if position == "positional" else []
    children = recorder.root.children
    assert [run.tags for run in children] == [["retriever_1", *mark], ["retriever_2", *mark]]
    assert recorder.root.ends == []


async def test_arank_fusion_may_be_called_by_hand(ensemble: Any, recorder: Any) -> None:
    retriever = ensemble(retrievers=[leg("ab"), leg("bc")])
    run_manager = await in_an_async_run(recorder)
    result = await retriever.arank_fusion("q", run_manager, config={"tags": ["t"]})
    assert texts(result) == "bac"
    children = recorder.root.children
    assert [run.tags for run in children] == [["retriever_1", "t"], ["retriever_2", "t"]]
    assert recorder.root.ends == []


async def test_the_private_hooks_of_a_retriever_may_be_called_by_hand(
    ensemble: Any, recorder: Any
) -> None:
    retriever = ensemble(retrievers=[leg("ab"), leg("bc")])
    found = retriever._get_relevant_documents("q", run_manager=in_a_run(recorder))
    assert texts(found) == "bac"
    found = await retriever._aget_relevant_documents(
        "q", run_manager=await in_an_async_run(recorder)
    )
    assert texts(found) == "bac"
    assert [len(root.children) for root in recorder.roots] == [2, 2]


def test_unique_by_key_keeps_the_first_of_each_key_lazily() -> None:
    words = ["bee", "ant", "bat", "cow", "cat"]
    ours, upstream = (
        list(unique(iter(words), lambda word: word[0]))
        for unique in (unique_by_key, upstream_unique_by_key)
    )
    assert ours == upstream == ["bee", "ant", "cow"]
    endless = unique_by_key(iter(int, 1), lambda number: number)
    assert next(iter(endless)) == 0


# --- configuration --------------------------------------------------------------------------


def configurable_leg(letters: str, key: str) -> Any:
    """Return a leg whose limit can be configured."""
    return leg(letters).configurable_fields(limit=ConfigurableField(id=key, name="Limit"))


def test_config_specs_are_the_legs_each_once(ensemble: Any) -> None:
    retriever = ensemble(
        retrievers=[
            configurable_leg("abc", "one"),
            configurable_leg("abc", "two"),
            configurable_leg("abc", "one"),
            leg("d"),
        ]
    )
    assert sorted(spec.id for spec in retriever.config_specs) == ["one", "two"]


def test_config_specs_equal_upstreams() -> None:
    ours, upstream = both(
        lambda cls: cls(retrievers=[configurable_leg("abc", "one"), configurable_leg("abc", "two")])
    )
    assert ours.config_specs == upstream.config_specs


def test_what_the_call_configures_reaches_the_legs(ensemble: Any, ask: Any) -> None:
    retriever = ensemble(
        retrievers=[configurable_leg("abc", "one"), configurable_leg("xyz", "two")]
    )
    config = {"configurable": {"one": 1, "two": 2}}
    assert texts(ask(retriever, "q", config)) == "axy"
    assert texts(ask(retriever, "q")) == "axbycz"


def test_weights_can_be_configured(ensemble: Any, ask: Any) -> None:
    retriever = ensemble(retrievers=[leg("a"), leg("b")]).configurable_fields(
        weights=ConfigurableField(id="w")
    )
    assert [spec.id for spec in retriever.config_specs] == ["w"]
    assert texts(ask(retriever, "q")) == "ab"
    heavy_second = retriever.with_config(configurable={"w": [0.1, 0.9]})
    assert texts(ask(heavy_second, "q")) == "ba"
    assert texts(ask(retriever, "q", {"configurable": {"w": [0.1, 0.9]}})) == "ba"
    assert texts(ask(retriever, "q")) == "ab"


def test_configured_weights_are_checked_in_upstreams_words(ensemble: Any, ask: Any) -> None:
    retriever = ensemble(retrievers=[leg("a"), leg("b")]).configurable_fields(
        weights=ConfigurableField(id="w")
    )
    with pytest.raises(ValidationError, match=r"got 1 weights for 2 retrievers"):
        ask(retriever, "q", {"configurable": {"w": [1.0]}})


def test_legs_and_constant_and_key_can_be_configured(ensemble: Any, ask: Any) -> None:
    retriever = ensemble(retrievers=[leg("a"), leg("b")], weights=[1.0, 2.0]).configurable_fields(
        retrievers=ConfigurableField(id="legs"),
        c=ConfigurableField(id="c"),
        id_key=ConfigurableField(id="key"),
    )
    legs = [Leg(found=[doc("x", n=1)]), Leg(found=[doc("x", n=2)])]
    config = {"configurable": {"legs": legs, "c": 1, "key": "n"}}
    assert [document.metadata["n"] for document in ask(retriever, "q", config)] == [2, 1]


def test_an_ensemble_can_be_a_configurable_alternative(ensemble: Any, ask: Any) -> None:
    retriever = leg("z").configurable_alternatives(
        ConfigurableField(id="which"), both=ensemble(retrievers=[leg("a"), leg("b")])
    )
    assert texts(ask(retriever, "q")) == "z"
    assert texts(ask(retriever, "q", {"configurable": {"which": "both"}})) == "ab"


# --- legs of every kind ---------------------------------------------------------------------


def flaky() -> Any:
    """Return a leg that fails the first time and is retried."""
    calls: list[str] = []

    def find(query: str) -> list[Document]:
        calls.append(query)
        if len(calls) == 1:
            raise BOOM
        return docs("r")

    return RunnableLambda(find).with_retry(
        stop_after_attempt=2, wait_exponential_jitter=False, retry_if_exception_type=(BoomError,)
    )


def in_pieces() -> Any:
    """Return a leg that gives its documents in two pieces."""

    def pieces(queries: Iterator[str]) -> Iterator[list[Document]]:
        for _ in queries:
            yield docs("g")
            yield docs("h")

    async def async_pieces(queries: AsyncIterator[str]) -> AsyncIterator[list[Document]]:
        async for _ in queries:
            yield docs("g")
            yield docs("h")

    return RunnableGenerator(pieces, async_pieces)


@chain
def decorated(query: str) -> list[Document]:
    """Find the query, as a decorated function."""
    return docs(query)


LEGS: dict[str, Callable[[Any], Any]] = {
    "retriever": lambda _: leg("ab"),
    "retriever with tags, metadata and name": lambda _: leg(
        "ab", tags=["own"], metadata={"owner": "me"}, name="mine"
    ),
    "lambda": lambda _: RunnableLambda(echo),
    "lambda with coroutine": lambda _: async_leg(docs("ab")),
    "lambda of strings": lambda _: RunnableLambda(lambda query: [query, "s"]),
    "lambda that gets the config": lambda _: RunnableLambda(
        lambda query, config: docs(query, seen=sorted(config["tags"]))
    ),
    "lambda that asks a retriever": lambda _: RunnableLambda(lambda query: leg("ab").invoke(query)),
    "lambda that returns a retriever": lambda _: RunnableLambda(lambda query: leg("ab")),
    "decorated function": lambda _: decorated,
    "generator": lambda _: in_pieces(),
    "with_fallbacks": lambda _: failing(BOOM).with_fallbacks([leg("f")]),
    "with_retry": lambda _: flaky(),
    "bind": lambda _: leg("abc").bind(limit=1),
    "bind on a lambda": lambda _: RunnableLambda(lambda query, n: docs(query * n)).bind(n=1),
    "with_config": lambda _: leg("ab").with_config(
        tags=["bound"], metadata={"bound": 1}, run_name="renamed"
    ),
    "with_config on a lambda": lambda _: RunnableLambda(echo).with_config(
        configurable={"x": 1}, run_name="renamed"
    ),
    "configurable_fields": lambda _: configurable_leg("ab", "limit"),
    "configurable_fields that are set": lambda _: configurable_leg("ab", "limit").with_config(
        configurable={"limit": 1}
    ),
    "configurable_alternatives": lambda _: leg("a").configurable_alternatives(
        ConfigurableField(id="other"), other=leg("b")
    ),
    "sequence": lambda _: RunnableLambda(str.upper) | leg("ab") | RunnableLambda(lambda d: d[:1]),
    "prompt and retriever": lambda _: (
        RunnableLambda(lambda query: {"x": query})
        | PromptTemplate.from_template("about {x}")
        | RunnableLambda(lambda value: value.to_string())
        | leg("p")
    ),
    "parallel and pick": lambda _: RunnableParallel(x=leg("x"), y=leg("y")).pick("y"),
    "branch": lambda _: RunnableBranch((lambda query: query == "q", leg("a")), leg("b")),
    "ensemble": lambda cls: cls(retrievers=[leg("ab"), leg("bc")], weights=[1, 2]),
    "ensemble of ensembles": lambda cls: cls(
        retrievers=[cls(retrievers=[leg("ab"), cls(retrievers=[leg("d")])]), leg("c")]
    ),
}
every_leg = pytest.mark.parametrize("build_leg", LEGS.values(), ids=LEGS)
CONFIG: dict[str, Any] = {
    "tags": ["call"],
    "metadata": {"user": "ann"},
    "run_name": "search",
    "configurable": {"user_id": "7"},
}


def surrounded(cls: Any, build_leg: Callable[[Any], Any], **settings: Any) -> Any:
    """Return an ensemble with the leg between two retrievers."""
    return cls(retrievers=[leg("az"), build_leg(cls), leg("yb")], **settings)


@every_leg
def test_any_leg_is_asked_and_fused_as_upstream_does(ask: Any, build_leg: Any) -> None:
    ours, upstream = both(lambda cls: ask(surrounded(cls, build_leg), "q"))
    assert ours == upstream


@every_leg
@pytest.mark.parametrize("config", [None, CONFIG], ids=["no config", "config"])
def test_any_leg_leaves_the_runs_it_leaves_upstream(
    runs_of: Any, build_leg: Any, config: Any
) -> None:
    ours, upstream = both(lambda cls: runs_of(surrounded(cls, build_leg), "q", config))
    assert ours == upstream
    assert all(len(run.ends) == 1 for root in ours for run in root.flat())


@every_leg
def test_any_leg_streams_the_events_it_streams_upstream(event_picture: Any, build_leg: Any) -> None:
    ours, upstream = both(lambda cls: event_picture(surrounded(cls, build_leg), "q", CONFIG))
    assert ours == upstream


def test_the_first_and_the_last_event_are_the_ensembles_own(ensemble: Any) -> None:
    async def events() -> list[Any]:
        retriever = ensemble(retrievers=[leg("ab"), leg("bc")])
        return [event async for event in retriever.astream_events("q", version="v2")]

    first, *_, last = asyncio.run(events())
    assert (first["event"], first["data"]) == ("on_retriever_start", {"input": "q"})
    assert (last["event"], texts(last["data"]["output"])) == ("on_retriever_end", "bac")
    assert first["run_id"] == last["run_id"]
    assert first["parent_ids"] == last["parent_ids"] == []


# --- runs -----------------------------------------------------------------------------------


def test_legs_run_as_children_tagged_from_one(ensemble: Any, runs_of: Any) -> None:
    (root,) = runs_of(ensemble(retrievers=[leg("a"), RunnableLambda(echo), leg("b")]), "q")
    assert (root.kind, root.name, root.tags, root.inputs) == (
        "retriever",
        "EnsembleRetriever",
        [],
        "q",
    )
    assert [(run.kind, run.name, run.tags, run.inputs, run.ends) for run in root.children] == [
        ("retriever", "Leg", ["retriever_1"], "q", [docs("a")]),
        ("chain", "echo", ["retriever_2"], "q", [docs("q")]),
        ("retriever", "Leg", ["retriever_3"], "q", [docs("b")]),
    ]


def test_the_calls_tags_and_metadata_reach_the_legs_and_its_name_does_not(
    ensemble: Any, runs_of: Any
) -> None:
    (root,) = runs_of(ensemble(retrievers=[leg("a"), leg("b")]), "q", CONFIG)
    assert (root.name, root.tags) == ("search", ["call"])
    assert root.metadata["user"] == "ann"
    assert [(run.name, run.tags) for run in root.children] == [
        ("Leg", ["call", "retriever_1"]),
        ("Leg", ["call", "retriever_2"]),
    ]
    assert all(run.metadata["user"] == "ann" for run in root.children)


def test_the_ensembles_own_tags_and_metadata_stay_with_it(ensemble: Any, runs_of: Any) -> None:
    retriever = ensemble(
        retrievers=[leg("a"), leg("b")], tags=["mine"], metadata={"mine": 1}, name="named"
    )
    (root,) = runs_of(retriever, "q")
    assert (root.name, root.tags, root.metadata) == ("named", ["mine"], {"mine": 1})
    assert [(run.tags, run.metadata) for run in root.children] == [
        (["retriever_1"], {}),
        (["retriever_2"], {}),
    ]


def test_own_and_given_tags_and_metadata_combine_as_upstream_combines_them(
    runs_of: Any, event_picture: Any
) -> None:
    def build(cls: Any) -> Any:
        return cls(
            retrievers=[leg("a", tags=["leg"]), leg("b", metadata={"user": "leg"})],
            tags=["mine", "call"],
            metadata={"user": "own", "mine": 1},
            name="named",
        )

    ours, upstream = both(lambda cls: runs_of(build(cls), "q", CONFIG))
    assert ours == upstream
    ours, upstream = both(lambda cls: event_picture(build(cls), "q", CONFIG))
    assert ours == upstream


def test_an_ensemble_called_inside_a_function_joins_the_functions_run(
    runs_of: Any,
) -> None:
    def build(cls: Any) -> Any:
        retriever = cls(retrievers=[leg("ab"), RunnableLambda(echo)])

        def call(query: str) -> Any:
            return retriever.invoke(query)

        async def acall(query: str) -> Any:
            return await retriever.ainvoke(query)

        return RunnableLambda(call, acall, name="outer")

    ours, upstream = both(lambda cls: runs_of(build(cls), "q", CONFIG))
    assert ours == upstream
    assert [run.name for root in ours for run in root.flat()] == [
        "search",
        "EnsembleRetriever",
        "Leg",
        "echo",
    ]


def test_the_callers_context_variables_reach_the_legs(ensemble: Any, ask: Any) -> None:
    retriever = ensemble(
        retrievers=[
            RunnableLambda(lambda query: docs(WORD.get())),
            RunnableLambda(lambda query: docs(WORD.get())),
        ]
    )
    token = WORD.set("w")
    try:
        assert texts(ask(retriever, "q")) == "w"
    finally:
        WORD.reset(token)


# --- errors ---------------------------------------------------------------------------------


@pytest.mark.parametrize("position", [0, 1, 2])
def test_a_legs_error_is_raised_as_the_very_object_and_reported(
    ensemble: Any, ask: Any, recorder: Any, position: int
) -> None:
    boom = BoomError("no index")
    legs: list[Any] = [leg("a"), leg("b")]
    legs.insert(position, failing(boom))
    with pytest.raises(BoomError) as raised:
        ask(ensemble(retrievers=legs), "q", {"callbacks": [recorder]})
    assert raised.value is boom
    assert str(raised.value) == "no index"
    assert recorder.root.ends == [boom]
    (failed,) = (run for run in recorder.root.children if run.name == "fail")
    assert (failed.tags, failed.ends) == ([f"retriever_{position + 1}"], [boom])


def test_a_legs_error_ends_the_event_stream(ensemble: Any) -> None:
    async def events() -> list[Any]:
        retriever = ensemble(retrievers=[leg("a"), failing(BoomError("no index"))])
        return [event async for event in retriever.astream_events("q", version="v2")]

    with pytest.raises(BoomError, match="no index"):
        asyncio.run(events())


def test_an_overridden_methods_error_is_reported(ensemble: Any, ask: Any, recorder: Any) -> None:
    boom = BoomError()

    class Broken(ensemble):  # type: ignore[misc]
        def weighted_reciprocal_rank(self, doc_lists: list[list[Document]]) -> list[Document]:
            raise boom

    with pytest.raises(BoomError) as raised:
        ask(Broken(retrievers=[leg("a"), leg("b")]), "q", {"callbacks": [recorder]})
    assert raised.value is boom
    assert recorder.root.ends == [boom]


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_in_a_leg_goes_through(ensemble: Any, error: type[BaseException]) -> None:
    with pytest.raises(error):
        ensemble(retrievers=[failing(error()), leg("a")]).invoke("q")


async def test_async_legs_are_asked_side_by_side(ensemble: Any) -> None:
    here, there = asyncio.Event(), asyncio.Event()

    def meeting(mine: asyncio.Event, other: asyncio.Event, letters: str) -> Any:
        async def find(query: str) -> list[Document]:
            mine.set()
            await other.wait()
            return docs(letters)

        return RunnableLambda(find)

    retriever = ensemble(retrievers=[meeting(here, there, "a"), meeting(there, here, "b")])
    found = await asyncio.wait_for(retriever.ainvoke("q"), 10)
    assert texts(found) == "ab"


async def test_a_cancelled_call_cancels_its_legs(ensemble: Any) -> None:
    started, stopped = asyncio.Event(), asyncio.Event()

    async def hang(query: str) -> list[Document]:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        return []

    retriever = ensemble(retrievers=[leg("a"), RunnableLambda(hang)])
    call = asyncio.create_task(retriever.ainvoke("q"))
    await asyncio.wait_for(started.wait(), 10)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await asyncio.wait_for(stopped.wait(), 10)


async def test_the_sync_call_works_in_a_running_loop(ensemble: Any) -> None:
    retriever = ensemble(retrievers=[leg("ab"), RunnableLambda(echo), leg("bc")])
    assert texts(retriever.invoke("q")) == "baqc"


# --- in chains ------------------------------------------------------------------------------


class FirstOnly(BaseDocumentCompressor):
    """A compressor that keeps the first document."""

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Any = None
    ) -> Sequence[Document]:
        """Return the first."""
        return documents[:1]


CHAINS: dict[str, Callable[[Any], Any]] = {
    "pipe": lambda r: r | RunnableLambda(texts),
    "pipe method": lambda r: r.pipe(texts, name="named"),
    "after a step": lambda r: RunnableLambda(str.upper) | r,
    "in a dict": lambda r: (
        {"context": r | texts, "question": RunnablePassthrough()}
        | PromptTemplate.from_template("{context}: {question}")
    ),
    "in a parallel": lambda r: RunnableParallel(found=r, again=r),
    "with_config": lambda r: r.with_config(tags=["bound"], run_name="bound"),
    "with_retry": lambda r: r.with_retry(stop_after_attempt=2),
    "with_fallbacks": lambda r: r.with_fallbacks([leg("z")]),
    "as the fallback": lambda r: failing(BOOM).with_fallbacks([r]),
    "with_types": lambda r: r.with_types(input_type=str),
    "map": lambda r: RunnableLambda(list) | r.map(),
    "branch": lambda r: RunnableBranch((lambda query: query == "q", r), leg("z")),
    "compression": lambda r: ContextualCompressionRetriever(
        base_compressor=FirstOnly(), base_retriever=r
    ),
    "merger": lambda r: MergerRetriever(retrievers=[leg("z"), r]),
    "retrieval chain": lambda r: (
        RunnableLambda(lambda query: {"input": query})
        | create_retrieval_chain(r, RunnableLambda(lambda given: texts(given["context"])))
    ),
    "retriever tool": lambda r: create_retriever_tool(r, "search", "Search."),
    "as_tool": lambda r: r.as_tool(name="search", description="Search."),
}


@pytest.mark.filterwarnings("ignore:This API is in beta")
@pytest.mark.parametrize("build", CHAINS.values(), ids=CHAINS)
@pytest.mark.parametrize("config", [None, CONFIG], ids=["no config", "config"])
def test_a_chain_gives_and_leaves_what_it_does_with_upstream(
    runs_of: Any, ask: Any, build: Any, config: Any
) -> None:
    def retriever(cls: Any) -> Any:
        return build(cls(retrievers=[leg("ab"), RunnableLambda(echo), leg("bc")]))

    ours, upstream = both(lambda cls: ask(retriever(cls), "q", config))
    assert ours == upstream
    ours, upstream = both(lambda cls: runs_of(retriever(cls), "q", config))
    assert ours == upstream


def echoing(cls: Any) -> Any:
    """Return an ensemble that finds the query and its capital."""
    return cls(retrievers=[RunnableLambda(echo), RunnableLambda(lambda q: docs(q.upper()))])


def test_batch_answers_in_the_order_of_the_questions(ensemble: Any) -> None:
    retriever = echoing(ensemble)
    assert [texts(found) for found in retriever.batch(["a", "b", "c"])] == ["aA", "bB", "cC"]
    config = {"max_concurrency": 1, "tags": ["t"]}
    assert [texts(found) for found in retriever.batch(["a", "b"], config)] == ["aA", "bB"]
    assert dict(retriever.batch_as_completed(["a", "b"])) == {
        0: docs("aA"),
        1: docs("bB"),
    }


async def test_abatch_answers_in_the_order_of_the_questions(ensemble: Any) -> None:
    retriever = echoing(ensemble)
    answers = await retriever.abatch(["a", "b", "c"])
    assert [texts(found) for found in answers] == ["aA", "bB", "cC"]
    completed = [item async for item in retriever.abatch_as_completed(["a", "b"])]
    assert dict(completed) == {0: docs("aA"), 1: docs("bB")}


async def test_batch_returns_errors_when_asked_to(ensemble: Any) -> None:
    boom = BoomError()

    def find(query: str) -> list[Document]:
        if query == "bad":
            raise boom
        return docs(query)

    retriever = ensemble(retrievers=[leg("a"), RunnableLambda(find)])
    expected = [docs("ab"), boom, docs("ac")]
    assert retriever.batch(["b", "bad", "c"], return_exceptions=True) == expected
    assert await retriever.abatch(["b", "bad", "c"], return_exceptions=True) == expected
    with pytest.raises(BoomError):
        retriever.batch(["b", "bad", "c"])


def test_each_question_of_a_batch_may_have_its_own_config(ensemble: Any, recorder: Any) -> None:
    configs = [{"run_name": name, "callbacks": [recorder]} for name in ("one", "two")]
    echoing(ensemble).batch(["a", "b"], configs)
    assert sorted((run.name, run.inputs) for run in recorder.roots) == [("one", "a"), ("two", "b")]
    assert [len(run.children) for run in recorder.roots] == [2, 2]


async def test_streams_have_one_chunk_the_answer(ensemble: Any) -> None:
    retriever = echoing(ensemble)
    assert list(retriever.stream("a")) == [docs("aA")]
    assert [chunk async for chunk in retriever.astream("a")] == [docs("aA")]
    assert list(retriever.transform(iter(["a"]))) == [docs("aA")]


def test_the_config_may_be_given_by_position(ensemble: Any, recorder: Any) -> None:
    echoing(ensemble).invoke("a", {"callbacks": [recorder], "tags": ["t"]})
    echoing(ensemble).invoke("a", None)
    echoing(ensemble).invoke(input="a", config={})
    assert recorder.root.tags == ["t"]


# --- copies ---------------------------------------------------------------------------------


def test_a_pickled_ensemble_comes_back_equal_and_works(ensemble: Any, ask: Any) -> None:
    retriever = ensemble(
        retrievers=[leg("ab"), leg("bc")], weights=[1, 2], c=7, id_key=None, tags=["t"]
    )
    restored = pickle.loads(pickle.dumps(retriever))
    assert restored == retriever
    assert type(restored) is ensemble
    assert ask(restored, "q") == ask(retriever, "q")


def test_a_used_ensemble_can_still_be_pickled_and_copied(ensemble: Any, ask: Any) -> None:
    retriever = ensemble(retrievers=[leg("ab"), leg("bc")])
    ask(retriever, "q")
    assert pickle.loads(pickle.dumps(retriever)) == retriever
    assert copy.deepcopy(retriever) == retriever


def test_a_deep_copy_shares_nothing_with_its_original(ensemble: Any, ask: Any) -> None:
    retriever = ensemble(retrievers=[leg("a"), leg("b")])
    duplicate = copy.deepcopy(retriever)
    assert duplicate == retriever
    duplicate.weights[1] = 5.0
    duplicate.retrievers[0].found.clear()
    assert texts(ask(retriever, "q")) == "ab"
    assert texts(ask(duplicate, "q")) == "b"


def test_a_copy_may_change_a_field(ensemble: Any, ask: Any) -> None:
    retriever = ensemble(retrievers=[leg("a"), leg("b")])
    changed = retriever.model_copy(update={"weights": [0.1, 0.9]})
    assert texts(ask(changed, "q")) == "ba"
    assert texts(ask(retriever, "q")) == "ab"


def test_ensembles_of_equal_fields_are_equal(ensemble: Any) -> None:
    one = ensemble(retrievers=[leg("a"), leg("b")])
    assert one == ensemble(retrievers=[leg("a"), leg("b")], weights=[0.5, 0.5], c=60)
    assert one != ensemble(retrievers=[leg("a"), leg("b")], c=61)
    assert one != ensemble(retrievers=[leg("a"), leg("b")], weights=[1, 2])
    assert one != ensemble(retrievers=[leg("a"), leg("c")])
    assert one != ensemble(retrievers=[leg("a"), leg("b")], id_key="n")


def test_a_dump_has_upstreams_fields_and_values() -> None:
    ours, upstream = both(lambda cls: cls(retrievers=[leg("a"), leg("b")], tags=["t"]).model_dump())
    assert {key: ours[key] for key in upstream} == upstream


def test_the_representation_names_the_legs_and_the_weights(ensemble: Any) -> None:
    shown = repr(ensemble(retrievers=[leg("a"), leg("b")], weights=[1, 2]))
    assert "retrievers=[Leg(" in shown
    assert "weights=[1.0, 2.0]" in shown


def test_a_subclass_may_add_fields_and_private_attributes(ensemble: Any, ask: Any) -> None:
    class Counted(ensemble):  # type: ignore[misc]
        label: str = "x"
        _calls: int = 0

        def weighted_reciprocal_rank(self, doc_lists: list[list[Document]]) -> Any:
            self._calls += 1
            return super().weighted_reciprocal_rank(doc_lists)

    retriever = Counted(retrievers=[leg("a"), leg("b")], label="y")
    ask(retriever, "q")
    ask(retriever, "q")
    assert (retriever.label, retriever._calls) == ("y", 2)
    assert retriever.weights == [0.5, 0.5]
