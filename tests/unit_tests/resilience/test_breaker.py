"""A circuit breaker opens after failures, and is tried again after a rest."""

from __future__ import annotations

import asyncio
import copy
import pickle
import threading
import time

import pytest

from langchain_safe_retrievers import FilterError
from langchain_safe_retrievers.errors import CircuitOpenError
from langchain_safe_retrievers.resilience.breaker import CircuitBreaker

_REST = 0.05


def _fail(breaker: CircuitBreaker, error: BaseException | None = None) -> None:
    with pytest.raises(BaseException), breaker:  # noqa: B017, PT011 - whatever was given
        raise error or ConnectionError


def _opened(reset_after: float = _REST) -> CircuitBreaker:
    breaker = CircuitBreaker(failure_threshold=2, reset_after=reset_after)
    _fail(breaker)
    _fail(breaker)
    return breaker


def test_it_opens_after_so_many_failures_in_a_row_and_then_refuses():
    breaker = CircuitBreaker(failure_threshold=2, reset_after=60)
    _fail(breaker)
    assert breaker.state == "closed"
    _fail(breaker)

    assert breaker.state == "open"
    with (
        pytest.raises(CircuitOpenError, match=r"failed 2 times in a row, .* again in 60\.0 s"),
        breaker,
    ):
        pytest.fail("it was let through")


def test_a_success_between_failures_starts_the_count_anew():
    breaker = CircuitBreaker(failure_threshold=2)
    _fail(breaker)
    with breaker:
        pass
    _fail(breaker)

    assert breaker.state == "closed"


def test_after_a_rest_one_call_is_let_through_and_no_second_beside_it():
    breaker = _opened()
    time.sleep(_REST)
    assert breaker.state == "half-open"
    breaker.__enter__()  # the trial

    with pytest.raises(CircuitOpenError), breaker:
        pytest.fail("two were let through")


def test_a_trial_that_succeeds_closes_it():
    breaker = _opened()
    time.sleep(_REST)
    with breaker:
        pass

    assert breaker.state == "closed"


def test_a_trial_that_fails_opens_it_anew():
    breaker = _opened()
    time.sleep(_REST)
    _fail(breaker)

    assert breaker.state == "open"


@pytest.mark.parametrize("error", [asyncio.CancelledError(), KeyboardInterrupt(), FilterError()])
def test_a_cancelled_call_or_a_mistake_of_the_caller_says_nothing_of_the_leg(error: BaseException):
    breaker = CircuitBreaker(failure_threshold=1)
    _fail(breaker, error)

    assert breaker.state == "closed"


def test_a_cancelled_trial_leaves_room_for_the_next():
    breaker = _opened()
    time.sleep(_REST)
    _fail(breaker, KeyboardInterrupt())
    with breaker:
        pass

    assert breaker.state == "closed"


def test_a_trial_that_never_ends_is_forgotten_after_a_rest():
    breaker = _opened()
    time.sleep(_REST)
    breaker.__enter__()  # and never left
    time.sleep(_REST)
    with breaker:
        pass

    assert breaker.state == "closed"


@pytest.mark.parametrize(
    "again", [copy.deepcopy, copy.copy, lambda b: pickle.loads(pickle.dumps(b))]
)
def test_a_copy_starts_closed_with_the_same_settings(again):
    other = again(_opened(reset_after=60))

    assert (other.state, other.failure_threshold, other.reset_after) == ("closed", 2, 60)


def test_of_many_threads_one_is_let_through_when_it_is_tried():
    breaker = _opened()
    time.sleep(_REST)
    start, hold = threading.Barrier(20), threading.Event()
    through: list[bool] = []

    def call() -> None:
        start.wait()
        try:
            with breaker:
                through.append(True)
                hold.wait(5)
        except CircuitOpenError:
            through.append(False)
        if len(through) == 20:
            hold.set()

    threads = [threading.Thread(target=call) for _ in range(20)]
    for thread in threads:
        thread.start()
    while len(through) < 20:
        time.sleep(0.001)
    hold.set()
    for thread in threads:
        thread.join()

    assert sum(through) == 1
