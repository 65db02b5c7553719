"""Many callers at once, over legs that fail and hang: every call ends in time, and nothing grows.

python benchmarks/load.py [--seconds 60] [--callers 64] [--tasks 1000]

Each leg answers after 50 to 200 ms; 10 % of its calls raise, and 5 % hang. First threads ask with
`invoke`, each again as soon as it was answered; a call that hangs in a thread cannot be stopped,
and comes back after 5 s. Then tasks ask with `ainvoke`, all at once, and again once the last was
answered; there a call hangs for ever, and is cancelled.

No call may take longer than its deadline and 10 %, or return anything but what the legs found that
its report says have answered. From the tenth second on (of fewer than 20, from half time) memory,
threads and open files must not grow.
"""

import argparse
import asyncio
import itertools
import logging
import random
import statistics
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field

import psutil
from _measure import verdict
from langchain_core.retrievers import BaseRetriever
from pydantic import PrivateAttr

from langchain_safe_retrievers import SafeEnsembleRetriever, SafeRetriever, collect_reports

HANGS = 5.0  # seconds that a thread is lost for
ERRORS, HANGING = 0.10, 0.05  # of a leg's calls


class Leg(BaseRetriever):
    """Finds one document for a query, late, or fails, or hangs."""

    name: str
    _dice: random.Random = PrivateAttr(default_factory=lambda: random.Random(7))  # noqa: S311
    _stopped: threading.Event = PrivateAttr(default_factory=threading.Event)

    def stop(self):
        self._stopped.set()

    def _plan(self):
        """Return how long to wait, and whether to fail then."""
        fate = self._dice.random()
        if fate < HANGING:
            return None, False
        return self._dice.uniform(0.05, 0.2), fate < HANGING + ERRORS

    def _answer(self, query, *, fails):
        if fails:
            msg = "connection reset"
            raise ConnectionError(msg)
        return [f"{query} {self.name}"]

    def _get_relevant_documents(self, query, *, run_manager):  # noqa: ARG002 - core's signature
        seconds, fails = self._plan()
        self._stopped.wait(HANGS if seconds is None else seconds)
        return self._answer(query, fails=fails)

    async def _aget_relevant_documents(self, query, *, run_manager):  # noqa: ARG002
        seconds, fails = self._plan()
        await asyncio.sleep(1e6 if seconds is None else seconds)
        return self._answer(query, fails=fails)


@dataclass
class Load:
    """Two guarded legs, one of them with a fallback, and what became of the calls."""

    timeout: float
    deadline: float
    seconds: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    statuses: Counter = field(default_factory=Counter)
    samples: list[tuple[float, float, int, int]] = field(default_factory=list)

    def __post_init__(self):
        """Make the retriever, and remember when it all began."""
        self.legs = [Leg(name=name) for name in ("vector", "keyword", "spare")]
        vector, keyword, spare = self.legs
        limits = {"timeout": self.timeout, "deadline": self.deadline, "failure_threshold": None}
        self.retriever = SafeEnsembleRetriever(
            retrievers=[
                SafeRetriever(retriever=vector, fallbacks=[spare], max_abandoned=128, **limits),
                SafeRetriever(retriever=keyword, max_abandoned=128, **limits),
            ],
            leg_names=["vector", "keyword"],
            on_leg_error="skip",
        )
        self.queries = (f"question {number}" for number in itertools.count())
        self.process = psutil.Process()
        self.started = time.monotonic()

    def ask(self):
        """Ask once, and look at what comes."""
        query, start = next(self.queries), time.monotonic()
        with collect_reports() as reports:
            try:
                found = self.retriever.invoke(query)
            except Exception:  # noqa: BLE001 - every leg failed, as their reports say
                found = []
        self._judge(query, found, reports, start)

    async def aask(self):
        query, start = next(self.queries), time.monotonic()
        with collect_reports() as reports:
            try:
                found = await self.retriever.ainvoke(query)
            except Exception:  # noqa: BLE001 - as above
                found = []
        self._judge(query, found, reports, start)

    def _judge(self, query, found, reports, start):
        self.seconds.append(time.monotonic() - start)
        answered = [
            leg.leg.removesuffix(" (fallback 1)")
            for report in reports[:-1]
            for leg in report.legs
            if leg.status in ("ok", "fallback")
        ]
        expected = sorted(f"{query} {name}" for name in answered)
        if sorted(hit.page_content for hit in found) != expected:
            self.wrong.append(f"{query}: {found}, expected {expected}")
        self.statuses.update(leg.status for leg in reports[-1].legs)

    def watch(self):
        """Take a sample of what is held."""
        now = time.monotonic() - self.started
        memory = self.process.memory_info().rss / 2**20
        self.samples.append((now, memory, threading.active_count(), self.process.num_fds()))

    def judged(self, name, seconds):
        """Print the figures, and tell whether all is well."""
        calls, ms = len(self.seconds), [each * 1000 for each in sorted(self.seconds)]
        print(f"{name}: {calls} calls in {seconds:.0f} s; legs: {dict(self.statuses)}")
        quantiles = [ms[int(calls * part)] for part in (0.5, 0.95, 0.99)]
        print("  median, 95 %, 99 %, longest: {:.0f} {:.0f} {:.0f} ms, ".format(*quantiles), end="")
        print(f"{ms[-1]:.0f} ms; deadline {self.deadline * 1000:.0f} ms")
        settled = [sample for sample in self.samples if sample[0] >= min(10.0, seconds / 2)]
        half = len(settled) // 2
        early, late = settled[:half], settled[half:]
        for place, what in ((1, "memory, MiB"), (2, "threads"), (3, "open files")):
            values = [[sample[place] for sample in part] for part in (early, late)]
            print(f"  {what}: at most {max(values[0]):.0f}, then at most {max(values[1]):.0f}")
        longest = max(self.seconds) / self.deadline
        growth = [
            statistics.median(sample[place] for sample in late)
            / max(statistics.median(sample[place] for sample in early), 1)
            for place in (1, 2, 3)
        ]
        return all(
            [
                verdict(f"{name}: longest call, of its deadline", longest, at_most=1.1),
                verdict(f"{name}: wrong results", len(self.wrong), at_most=0),
                verdict(f"{name}: memory later, of memory before", growth[0], at_most=1.1),
                verdict(f"{name}: threads later, of threads before", growth[1], at_most=1.25),
                verdict(f"{name}: open files later, of files before", growth[2], at_most=1.1),
            ]
        )


def in_threads(seconds, callers):
    """Let threads ask, each as soon as it was answered."""
    load = Load(timeout=2.5, deadline=4.0)
    end = load.started + seconds
    lock = threading.Lock()
    load.queries = _locked(load.queries, lock)

    def call():
        while time.monotonic() < end:
            load.ask()

    threads = [threading.Thread(target=call) for _ in range(callers)]
    for thread in threads:
        thread.start()
    while time.monotonic() < end:
        time.sleep(min(0.25, seconds / 20))
        load.watch()
    for thread in threads:
        thread.join()
    for leg in load.legs:
        leg.stop()
    return load.judged(f"{callers} threads", seconds)


def _locked(items, lock):
    """Yield items to several threads."""

    class Locked:
        def __next__(self):
            with lock:
                return next(items)

    return Locked()


async def in_tasks(seconds, tasks):
    """Let tasks ask all at once, again and again; a thousand keep their loop busy for seconds."""
    load = Load(timeout=12.0, deadline=25.0)
    end = load.started + seconds
    watcher = asyncio.create_task(watch(load))
    while time.monotonic() < end:
        await asyncio.gather(*(load.aask() for _ in range(tasks)))
    watcher.cancel()
    await asyncio.wait([watcher])
    left = len(asyncio.all_tasks()) - 1
    holds = load.judged(f"{tasks} tasks", time.monotonic() - load.started)
    return verdict(f"{tasks} tasks: tasks left", left, at_most=0) and holds


async def watch(load):
    while True:
        await asyncio.sleep(0.25)
        load.watch()


def main():
    logging.getLogger("langchain_safe_retrievers").setLevel(logging.ERROR)
    parser = argparse.ArgumentParser(description="Load on legs that fail and hang.")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--callers", type=int, default=64)
    parser.add_argument("--tasks", type=int, default=1000)
    asked = parser.parse_args()
    threads = in_threads(asked.seconds, asked.callers)
    tasks = asyncio.run(in_tasks(asked.seconds, asked.tasks))
    return 0 if threads and tasks else 1


if __name__ == "__main__":
    sys.exit(main())
