"""Percentiles are nearest-rank: each is a time that was measured."""

from __future__ import annotations

from langchain_safe_retrievers.evaluation.latency import Latency, percentile


def test_of_a_hundred_times_the_percentiles_are_the_50th_95th_and_99th():
    times = [float(number) for number in range(100, 0, -1)]

    assert Latency.of(times) == Latency(100, 50.0, 95.0, 99.0)


def test_one_time_is_every_percentile():
    assert Latency.of([0.5]).to_dict() == {"count": 1, "p50": 0.5, "p95": 0.5, "p99": 0.5}


def test_the_hundredth_percentile_is_the_greatest():
    assert percentile([1.0, 3.0, 2.0], 100) == 3.0
