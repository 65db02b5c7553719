"""When to ask again, and how long to wait before."""

from __future__ import annotations

import pytest

from langchain_safe_retrievers.resilience.retry import Retry


def _asked_to_wait(seconds: float) -> Exception:
    error = ConnectionError()
    error.retry_after = seconds
    return error


@pytest.mark.parametrize(("attempt", "least"), [(1, 1.0), (2, 2.0), (3, 4.0)])
def test_each_pause_is_twice_the_one_before_and_some_chance(attempt: int, least: float):
    retry = Retry(max_retries=3, wait=1.0, max_wait=100.0)
    pauses = {retry.pause(TimeoutError(), attempt) for _ in range(20)}

    assert all(least <= pause <= least + 1 for pause in pauses)
    assert len(pauses) > 1


def test_a_pause_grows_to_max_wait_and_no_further():
    assert 3.0 <= Retry(max_retries=20, wait=1.0, max_wait=3.0).pause(TimeoutError(), 15) <= 4.0


def test_an_error_that_asks_for_more_time_gets_it():
    assert Retry(wait=0.1, max_wait=1.0).pause(_asked_to_wait(30), 1) == 30


def test_an_error_that_asks_for_less_time_gets_the_usual_pause():
    assert Retry(wait=1.0).pause(_asked_to_wait(0.1), 1) >= 1.0


def test_after_max_retries_there_is_no_further_attempt():
    retry = Retry(max_retries=2)

    assert retry.pause(TimeoutError(), 2) is not None
    assert retry.pause(TimeoutError(), 3) is None


def test_without_retries_there_is_one_attempt():
    assert Retry(max_retries=0).pause(TimeoutError(), 1) is None


def test_an_error_that_will_not_pass_is_not_tried_again():
    assert Retry().pause(ValueError(), 1) is None


def test_retry_on_may_be_a_tuple_of_classes():
    retry = Retry(retry_on=(KeyError,))

    assert retry.pause(KeyError(), 1) is not None
    assert retry.pause(TimeoutError(), 1) is None


def test_retry_on_may_be_a_function():
    retry = Retry(retry_on=lambda error: "busy" in str(error))

    assert retry.pause(RuntimeError("busy"), 1) is not None
    assert retry.pause(RuntimeError("dead"), 1) is None
