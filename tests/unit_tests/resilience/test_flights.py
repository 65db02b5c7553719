"""Equal calls that are under way at once are one."""

from __future__ import annotations

import pytest

from langchain_safe_retrievers.resilience.flights import Flights


def test_who_comes_first_leads_and_the_others_get_the_answer():
    flights = Flights()
    flight, leads = flights.join("key")
    others = [flights.join("key") for _ in range(3)]
    flights.land("key", flight, lambda: "answer")

    assert leads
    assert [(f is flight, led) for f, led in others] == [(True, False)] * 3
    assert flight.answer.result(0) == "answer"


def test_calls_of_other_keys_are_other_flights():
    flights = Flights()

    assert flights.join("one")[1]
    assert flights.join("two")[1]


def test_who_comes_after_the_landing_leads_anew():
    flights = Flights()
    flight, _ = flights.join("key")
    flights.land("key", flight, lambda: None)

    assert flights.join("key")[1]


def test_nobody_is_asked_for_an_answer_that_nobody_waits_for():
    flights = Flights()
    flight, _ = flights.join("key")

    flights.land("key", flight, lambda: pytest.fail("asked"))


def test_followers_get_none_if_the_answer_cannot_be_made():
    flights = Flights()
    flight, _ = flights.join("key")
    flights.join("key")

    with pytest.raises(ZeroDivisionError):
        flights.land("key", flight, lambda: 1 / 0)
    assert flight.answer.result(0) is None
