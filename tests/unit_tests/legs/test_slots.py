"""Slots bound how many threads a leg holds at once."""

from __future__ import annotations

import asyncio
import pickle
import threading
import time

import pytest
from langchain_core.runnables import RunnableLambda

from langchain_safe_retrievers import LegTimeoutError
from langchain_safe_retrievers.legs.slots import Slots, SlottedAsk


def test_a_slot_that_is_free_is_taken_at_once_and_given_back():
    slots = Slots(2)
    slots.take(0)
    slots.take(0)
    assert slots.free == 0
    slots.release()

    assert slots.free == 1


def test_who_waits_in_vain_is_told_how_many_are_in_use():
    slots = Slots(1)
    slots.take(0)

    with pytest.raises(
        LegTimeoutError, match=r"no thread became free within 0\.01 s; 1 are in use"
    ):
        slots.take(0.01)
    slots.release()
    assert slots.free == 1


def test_a_released_slot_goes_to_who_has_waited_longest():
    slots, order = Slots(1), []
    slots.take(0)

    def wait(name: str) -> None:
        slots.take(5)
        order.append(name)
        slots.release()

    threads = [threading.Thread(target=wait, args=(name,)) for name in "abc"]
    for place, thread in enumerate(threads, start=1):
        thread.start()
        while len(slots._waiting) < place:
            time.sleep(0.001)
    slots.release()
    for thread in threads:
        thread.join(5)

    assert order == ["a", "b", "c"]
    assert slots.free == 1


async def test_a_task_waits_without_blocking_the_loop():
    slots = Slots(1)
    slots.take(0)
    asyncio.get_running_loop().call_later(0.01, slots.release)
    await asyncio.wait_for(slots.atake(), 5)

    assert slots.free == 0


async def test_a_task_that_is_cancelled_leaves_the_line():
    slots = Slots(1)
    slots.take(0)
    task = asyncio.create_task(slots.atake())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    slots.release()

    assert slots.free == 1


async def test_a_slot_given_to_a_task_at_the_moment_it_is_cancelled_is_not_lost():
    slots = Slots(1)
    slots.take(0)
    task = asyncio.create_task(slots.atake())
    await asyncio.sleep(0)
    slots.release()  # it is the task's now, but the task does not know yet
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert slots.free == 1


def test_no_more_than_the_limit_are_ever_inside_and_none_is_lost():
    slots, lock, inside, most = Slots(3), threading.Lock(), [0], [0]

    def work() -> None:
        for _ in range(50):
            try:
                slots.take(0.0005)
            except LegTimeoutError:
                continue
            with lock:
                inside[0] += 1
                most[0] = max(most[0], inside[0])
            time.sleep(0.0002)
            with lock:
                inside[0] -= 1
            slots.release()

    threads = [threading.Thread(target=work) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert most[0] <= 3
    assert slots.free == 3


async def test_a_slot_is_given_back_if_no_thread_can_be_started(monkeypatch):
    def refuse(work: object) -> None:
        raise RuntimeError

    monkeypatch.setattr("langchain_safe_retrievers.legs.threads.start_in_thread", refuse)
    leg, slots = RunnableLambda(lambda query: [query]), Slots(1)
    ask = SlottedAsk("leg", "retriever_1", leg, "q", slots=slots)

    with pytest.raises(RuntimeError):
        await ask.aask({}, 1.0)

    assert slots.free == 1


async def test_a_legs_own_runtime_error_gives_its_slot_back_once():
    def fail(query: str) -> None:
        raise RuntimeError

    slots = Slots(1)
    ask = SlottedAsk("leg", "retriever_1", RunnableLambda(fail), "q", slots=slots)

    with pytest.raises(RuntimeError):
        await ask.aask({}, 1.0)

    assert slots.free == 1


def test_a_pickled_copy_starts_with_all_of_them_free():
    slots = Slots(2)
    slots.take(0)

    assert pickle.loads(pickle.dumps(slots)).free == 2
