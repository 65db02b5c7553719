"""A retriever is asked every question, and what comes is measured, whatever goes wrong."""

from __future__ import annotations

import asyncio
import threading

import ir_measures
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda

from langchain_safe_retrievers.errors import ConfigurationError, UnacceptedArgumentError
from langchain_safe_retrievers.evaluation.dataset import Dataset
from langchain_safe_retrievers.evaluation.evaluate import aevaluate, evaluate
from langchain_safe_retrievers.evaluation.evaluation import Evaluation
from langchain_safe_retrievers.retrievers.ensemble import SafeEnsembleRetriever
from langchain_safe_retrievers.retrievers.keyword import KeywordRetriever
from langchain_safe_retrievers.retrievers.multi_query import SafeMultiQueryRetriever
from langchain_safe_retrievers.testing import FakeLeg

from .legs import BEES, Answers, doc, docs

METRICS = ["nDCG@3", "R@3", "RR@3"]
TWO = Dataset({"1": "one", "2": "two"}, {"1": {"a": 1}, "2": {"b": 1}})


def test_metrics_are_means_over_the_questions():
    leg = Answers(answers={"one": docs("a b"), "two": docs("a b")})

    found = evaluate(leg, TWO, METRICS)

    assert found.metrics["R@3"] == 1.0
    assert found.metrics["RR@3"] == 0.75
    assert [each.documents for each in found.queries] == [("a", "b"), ("a", "b")]
    assert found.values("RR@3") == {"1": 1.0, "2": 0.5}


def test_a_question_that_fails_counts_as_empty_and_the_others_are_asked():
    leg = Answers(answers={"one": docs("a"), "two": docs("b")}, broken={"one"})

    found = evaluate(leg, TWO, ["RR"])

    assert found.metrics == {"RR": 0.5}
    assert [(each.query_id, each.error) for each in found.failed] == [
        ("1", "OSError: no such shard")
    ]
    assert "failed 1: OSError: no such shard" in str(found)


def test_a_degraded_answer_is_counted():
    legs = [FakeLeg(documents=docs("bees")), FakeLeg(error=OSError("down"))]
    retriever = SafeEnsembleRetriever(retrievers=legs, on_leg_error="skip")

    found = evaluate(retriever, BEES, ["RR"])

    assert found.metrics == {"RR": 1.0}
    assert len(found.degraded) == 1
    assert not found.failed


def test_a_mistake_of_the_caller_is_raised():
    retriever = SafeEnsembleRetriever(retrievers=[FakeLeg(documents=docs("bees"))])

    with pytest.raises(ConfigurationError, match="k is 0"):
        evaluate(retriever, BEES, k=0)
    with pytest.raises(UnacceptedArgumentError, match="flavour"):
        evaluate(KeywordEnsemble(), BEES, flavour="mint")
    with pytest.raises(ConfigurationError, match="without an id"):
        evaluate(FakeLeg(documents=["no id"]), BEES)
    with pytest.raises(ConfigurationError, match="max_concurrency is 0"):
        evaluate(retriever, BEES, max_concurrency=0)


def KeywordEnsemble() -> SafeEnsembleRetriever:  # noqa: N802 - makes one
    leg = KeywordRetriever.from_documents([doc("bees", "Bees make honey.")])
    return SafeEnsembleRetriever(retrievers=[leg], leg_names=["keyword"])


def test_an_interrupt_ends_it():
    with pytest.raises(KeyboardInterrupt):
        evaluate(FakeLeg(error=KeyboardInterrupt()), BEES)


def test_each_leg_and_the_whole_have_latencies():
    found = evaluate(KeywordEnsemble(), BEES)

    assert list(found.latency) == ["total", "keyword"]
    assert 0 < found.latency["keyword"].p50 <= found.latency["total"].p50


def test_a_leg_that_was_not_asked_has_no_latency():
    legs = [FakeLeg(documents=docs("bees")), FakeLeg()]
    retriever = SafeEnsembleRetriever(retrievers=legs, weights=[1, 0])

    assert list(evaluate(retriever, BEES).latency) == ["total", "retriever_1"]


def test_the_legs_are_those_of_the_outermost_retriever():
    inner = SafeEnsembleRetriever(retrievers=[FakeLeg(documents=docs("bees"))], leg_names=["in"])
    outer = SafeEnsembleRetriever(retrievers=[inner], leg_names=["out"])

    assert list(evaluate(outer, BEES).latency) == ["total", "out"]


def test_any_chain_to_documents_is_evaluated():
    retriever = SafeMultiQueryRetriever(
        retriever=FakeLeg(documents=docs("wasps bees")),
        llm_chain=RunnableLambda(lambda _: ["honey", "bees"]),
    )
    chain = RunnableLambda(lambda query: query.lower()) | retriever

    found = evaluate(chain, BEES, ["RR"])

    assert found.metrics == {"RR": 0.5}
    assert list(found.latency) == ["total", "query_1", "query_2"]


@pytest.mark.parametrize("nothing", [None, []])
def test_nothing_may_be_said_in_several_ways(nothing):
    found = evaluate(RunnableLambda(lambda _: nothing), BEES, ["RR"])

    assert (found.metrics, found.failed) == ({"RR": 0.0}, [])


def test_an_answer_that_is_no_documents_is_a_failure():
    found = evaluate(RunnableLambda(lambda _: 7), BEES, ["RR"])

    assert "LegResultError: leg 'RunnableLambda' returned int" in found.failed[0].error


def test_chunks_of_one_document_count_as_one_at_its_best_rank():
    chunks = [
        Document(page_content=text, metadata={"source": source})
        for text, source in [("x", "wasps"), ("y", "wasps"), ("z", "bees")]
    ]
    dataset = Dataset({"1": "q"}, {"1": {"bees": 1}}, doc_id_key="source")

    found = evaluate(FakeLeg(documents=chunks), dataset, ["RR"])

    assert found.queries[0].documents == ("wasps", "bees")
    assert found.metrics == {"RR": 0.5}


def test_named_arguments_and_config_reach_every_call():
    class Tags(BaseCallbackHandler):
        def __init__(self):
            self.seen = []

        def on_retriever_start(self, serialized, query, *, tags=None, **kwargs):
            self.seen.append(tags)

    leg = FakeLeg(documents=docs("bees"))
    tags = Tags()

    evaluate(leg, BEES, k=3, config={"tags": ["mine"], "callbacks": [tags]})

    assert leg.calls == [("Who makes honey?", {"k": 3})]
    assert tags.seen == [["mine"]]


@pytest.mark.parametrize("ways", [1, 3])
def test_so_many_questions_are_asked_side_by_side_and_stay_in_order(ways):
    together = threading.Barrier(ways)

    def answer(query: str) -> list[Document]:
        together.wait(timeout=5)  # fails unless as many are asked at a time
        return [doc(query)]

    names = [str(number) for number in range(6)]
    dataset = Dataset({name: name for name in names}, {name: {name: 1} for name in names})

    found = evaluate(RunnableLambda(answer), dataset, ["RR"], max_concurrency=ways)

    assert [each.documents for each in found.queries] == [(name,) for name in names]
    assert found.metrics == {"RR": 1.0}


async def test_async_never_asks_more_than_so_many_and_finds_the_same():
    running, most = 0, 0

    async def answer(query: str) -> list[Document]:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.001)
        running -= 1
        return [doc(query)]

    names = [str(number) for number in range(9)]
    dataset = Dataset({name: name for name in names}, {name: {name: 1} for name in names})

    found = await aevaluate(RunnableLambda(answer), dataset, ["RR"], max_concurrency=3)

    assert most == 3
    assert found.metrics == {"RR": 1.0}
    assert [each.query_id for each in found.queries] == names


async def test_async_counts_failures_too():
    leg = Answers(answers={"two": docs("b")}, broken={"one"})

    found = await aevaluate(leg, TWO, ["RR"])

    assert found.metrics == {"RR": 0.5}
    assert [each.query_id for each in found.failed] == ["1"]


def test_a_progress_bar_counts_the_questions(capsys):
    evaluate(FakeLeg(documents=docs("bees")), BEES, show_progress=True)

    assert "1/1" in capsys.readouterr().err


def test_unanswerable_questions_stand_in_no_ranking_figure():
    dataset = Dataset({"1": "one", "2": "who?", "3": "what?"}, {"1": {"a": 1}})
    leg = Answers(answers={"one": docs("a"), "who?": docs("a")})

    found = evaluate(leg, dataset, ["RR"])

    assert found.metrics == {"RR": 1.0}
    assert found.refusals.questions == 2
    assert found.refusals.share == 0.5
    assert found.refusals.wrong_share == 0.0
    assert "nothing returned for 1 of 2 unanswerable questions (50.0 %)" in str(found)


def test_a_dataset_of_unanswerable_questions_alone_has_no_metrics():
    found = evaluate(FakeLeg(), Dataset({"1": "who?"}, {}))

    assert found.metrics == {}
    assert found.refusals.share == 1.0


def test_a_fused_score_up_to_the_floor_counts_as_nothing():
    dataset = Dataset({"1": "one", "2": "who?"}, {"1": {"a": 1}})
    legs = [
        Answers(answers={"one": docs("a"), "who?": docs("a")}),
        Answers(answers={"one": docs("a")}),
    ]
    retriever = SafeEnsembleRetriever(retrievers=legs, weights=[1, 1], c=1, fused_score_key="fused")

    found = evaluate(retriever, dataset, ["RR"], floor=0.5)  # 1/(1+1) from one leg, 1 from two

    assert found.refusals.refused == 1
    assert found.refusals.wrongly_refused == 0
    assert found.queries[0].best_score == 1.0


@given(
    rankings=st.lists(st.lists(st.sampled_from("abcdefgh"), unique=True), min_size=1, max_size=4),
    relevant=st.lists(st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 3)), max_size=4),
)
@settings(max_examples=50)
def test_every_figure_is_what_ir_measures_says_of_the_files(tmp_path_factory, rankings, relevant):
    """Ids with white space, ties in the legs' scores, grades, empty answers: all the same."""
    name = "a question {}".format
    queries = {name(number): str(number) for number in range(len(rankings))}
    qrels = {
        name(number): {f"d {each}": grade for each, grade in grades.items()}
        for number, grades in enumerate(relevant[: len(rankings)])
    }
    answers = {
        str(number): [doc(f"d {each}", score=1.0) for each in ranking]
        for number, ranking in enumerate(rankings)
    }
    dataset = Dataset(queries, qrels)
    names = ["nDCG@3", "nDCG", "R@2", "RR@10", "AP(rel=2)", "P@3", "Success@1"]
    place = tmp_path_factory.mktemp("trec")

    found = evaluate(Answers(answers=answers), dataset, names)
    found.write_run(place / "run")
    dataset.write_qrels(place / "qrels")

    if not found.metrics:
        assert not dataset.answerable
        return
    measures = {ir_measures.parse_measure(each): each for each in names}
    theirs = ir_measures.calc_aggregate(
        list(measures),
        ir_measures.read_trec_qrels(str(place / "qrels")),
        ir_measures.read_trec_run(str(place / "run")),
    )
    for measure, value in theirs.items():
        assert found.metrics[measures[measure]] == pytest.approx(value, abs=1e-9)


def test_an_evaluation_is_saved_and_loaded_whole(tmp_path):
    legs = [FakeLeg(documents=docs("bees")), FakeLeg(error=OSError("down"))]
    retriever = SafeEnsembleRetriever(retrievers=legs, on_leg_error="skip")
    found = evaluate(retriever, BEES)

    found.save(tmp_path / "found.json")

    assert Evaluation.load(tmp_path / "found.json") == found


def test_judgements_that_know_documents_by_other_ids_are_told_of(caplog: pytest.LogCaptureFixture):
    dataset = Dataset({"1": "Who makes honey?"}, {"1": {"bees.md": 1}})
    leg = FakeLeg(documents=[Document(page_content="Bees.", id="docs/bees.md")])
    evaluate(leg, dataset, ["RR@10"])

    assert (
        "name documents as 'bees.md', the retriever returns them as 'docs/bees.md'" in caplog.text
    )
