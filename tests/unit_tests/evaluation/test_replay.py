"""What is replayed is, in every ranking, what the retriever itself returns with that setting."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.documents import Document

from langchain_safe_retrievers.evaluation.dataset import Dataset
from langchain_safe_retrievers.evaluation.hits import Asking, collect_hits
from langchain_safe_retrievers.evaluation.replay import cut
from langchain_safe_retrievers.evaluation.trial import trials_of
from langchain_safe_retrievers.fusion.distribution_based import DistributionBased
from langchain_safe_retrievers.fusion.fuser import RankedList
from langchain_safe_retrievers.fusion.noisy_or import NoisyOr
from langchain_safe_retrievers.fusion.reciprocal_rank import ReciprocalRank
from langchain_safe_retrievers.fusion.relative_score import RelativeScore
from langchain_safe_retrievers.identity import by_content, by_id, by_levels
from langchain_safe_retrievers.retrievers.ensemble import SafeEnsembleRetriever
from langchain_safe_retrievers.retrievers.hybrid import HybridRetriever

from .legs import Answers, Untold, docs

FUSERS = [None, ReciprocalRank(1), RelativeScore(), DistributionBased(), NoisyOr()]
WEIGHTS = st.lists(st.sampled_from([0.0, 0.25, 1.0, 3.0]), min_size=3, max_size=3).filter(any)
SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "weights": WEIGHTS,
        "fuser": st.sampled_from(FUSERS),
        "c": st.sampled_from([1, 60]),
        "k": st.sampled_from([None, 1, 3, 100]),
        "fetch_k": st.sampled_from([None, 1, 2, 4]),
        "leg_k": st.dictionaries(st.sampled_from(["one", "two"]), st.integers(1, 6), max_size=2),
    },
)
HITS = st.lists(
    st.builds(
        Document,
        page_content=st.sampled_from("abcdef"),
        id=st.sampled_from([None, "1", "2", "3"]),
        metadata=st.fixed_dictionaries({"year": st.integers(1, 2), "key": st.integers(0, 5)}),
    ),
    max_size=6,
)
SCORES = st.lists(st.integers(-3, 3).map(float), min_size=6, max_size=6).map(
    lambda scores: sorted(scores, reverse=True)
)
BY_KEY = Dataset({"1": "q"}, {"1": {"0": 1}}, doc_id_key="key")


@st.composite
def retrievers(draw: Any) -> SafeEnsembleRetriever:
    one, two = (
        Answers(answers={"q": draw(HITS)}, scores=draw(st.sampled_from([{}, {"q": draw(SCORES)}])))
        for _ in "ab"
    )
    legs = {"one": one, "two": two, "three": Untold(answers={"q": draw(HITS)})}
    identity = draw(st.sampled_from([by_content, by_id, by_levels(by_id, by_content)]))
    if draw(st.booleans()):
        return HybridRetriever(legs=legs, identity=identity)
    return SafeEnsembleRetriever(
        retrievers=list(legs.values()), leg_names=list(legs), identity=identity
    )


@given(
    retriever=retrievers(),
    space=st.lists(SETTINGS, min_size=1, max_size=4),
    wanted=st.sampled_from([None, {"year": 2}]),
)
@settings(max_examples=40)
def test_a_replay_ranks_as_the_retriever_itself_does(retriever, space, wanted):
    """Over repeats, ties, missing scores, copies that disagree, filters, and legs untold."""
    space = [each for each in space if "c" not in each or not each.get("fuser", retriever.fuser)]
    arguments = {"filter": wanted}
    asking = Asking(BY_KEY, {}, arguments, 1, show=False)
    trials = trials_of(retriever, [{}, *space], arguments)

    hits = collect_hits(asking, trials, ["1"])

    for trial in trials:
        found = trial.retriever.invoke("q", filter=wanted)
        ids = list(dict.fromkeys(str(each.metadata["key"]) for each in found))
        assert hits.ranking(trial, "1") == ids, trial.settings


def test_the_id_is_the_first_that_any_copy_has_as_folding_keeps_it():
    bare, known = Document(page_content="a"), Document(page_content="a", id="7")
    legs = [Answers(answers={"q": [bare]}), Answers(answers={"q": [known]})]
    ensemble = SafeEnsembleRetriever(retrievers=legs)
    dataset = Dataset({"1": "q"}, {"1": {"7": 1}})
    trials = trials_of(ensemble, [{}], {})

    hits = collect_hits(Asking(dataset, {}, {}, 1, show=False), trials, ["1"])

    assert hits.ranking(trials[0], "1") == ["7"] == [d.id for d in ensemble.invoke("q")]


def test_legs_are_asked_once_as_deep_as_any_setting_goes():
    legs = {"one": Answers(answers={"q": docs("a b")}), "two": Untold(answers={"q": docs("b")})}
    retriever = HybridRetriever(legs=legs)
    space = [
        {"k": 3},
        {"k": 300},
        {"fetch_k": 20},
        {"weights": [1, 0]},
        {"weights": [0, 1]},
        {"leg_k": {"one": 700}},
    ]
    trials = trials_of(retriever, space, {})

    collect_hits(Asking(BY_KEY, {}, {}, 1, show=False), trials, ["1"])

    assert legs["one"].asked == [("q", 700)]
    assert legs["two"].asked == ["q"]


def test_a_leg_that_no_setting_weighs_is_not_asked():
    legs = {"one": Answers(), "two": Answers()}
    retriever = HybridRetriever(legs=legs, weights={"one": 1, "two": 0})
    trials = trials_of(retriever, [{"k": 3}], {})

    collect_hits(Asking(BY_KEY, {}, {}, 1, show=False), trials, ["1"])

    assert [len(leg.asked) for leg in legs.values()] == [1, 0]


def test_a_list_is_cut_with_its_scores():
    found = RankedList(docs("a b c"), leg="one", query="q", scores=[3, 2, 1])

    short = cut(found, 2)

    assert [each.id for each in short] == ["a", "b"]
    assert (short.valid_scores, short.leg, short.query) == ([3, 2], "one", "q")
    assert cut(found, None) is cut(found, 3) is found
