"""Deadlines."""

from __future__ import annotations

import time

from langchain_safe_retrievers.resilience.deadline import Deadline


def test_no_deadline_leaves_all_the_time_and_cuts_nothing():
    endless = Deadline(None)

    assert (endless.left(), endless.cut(5), endless.cut(None)) == (None, 5, None)
    assert endless.sooner(3) is endless


def test_what_is_left_shrinks_to_nothing_and_no_further():
    deadline = Deadline(0.01)
    first = deadline.left()
    time.sleep(0.02)

    assert 0 < first <= 0.01
    assert deadline.left() == 0 == deadline.cut(5)


def test_a_span_is_cut_to_what_is_left():
    assert Deadline(60).cut(5) == 5
    assert 59 < Deadline(60).cut(None) <= 60
    assert 59 < Deadline(60).cut(100) <= 60


def test_a_sooner_deadline_starts_when_the_other_did():
    deadline = Deadline(60)
    sooner = deadline.sooner(20)

    assert (sooner.seconds, sooner.started) == (40, deadline.started)
    assert deadline.sooner(100).seconds == 0
