"""On the front is what nothing else beats."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from langchain_safe_retrievers.evaluation.pareto import Tried, pareto_front, plain

TRIED = st.lists(
    st.builds(
        Tried,
        st.just({}),
        st.integers(0, 4).map(float),
        st.one_of(st.none(), st.integers(0, 4).map(float)),
    ),
    max_size=12,
)


@given(tried=TRIED)
def test_every_setting_is_beaten_or_equalled_by_one_on_the_front_and_none_there_is_beaten(tried):
    front = [(each.seconds, each.quality) for each in pareto_front(tried)]

    for each in tried:
        if each.seconds is not None:
            assert any(s <= each.seconds and q >= each.quality for s, q in front)
    assert front == sorted(front)
    assert len({quality for _, quality in front}) == len({s for s, _ in front}) == len(front)


def test_without_times_there_is_no_front():
    assert pareto_front([Tried({"k": 1}, 0.5)]) == []


def test_settings_become_json_native():
    assert plain({1: (2, [None, True]), "a": {"b": 0.5}}) == {
        "1": [2, [None, True]],
        "a": {"b": 0.5},
    }
