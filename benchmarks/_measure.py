"""Ratios of two programs timed side by side, and the verdict on a claim."""

from __future__ import annotations

import gc
import json
import os
from pathlib import Path
from time import perf_counter, thread_time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


RESULTS = "BENCHMARK_RESULTS"
"""The environment variable that names the file which gets a line of JSON for each verdict."""


def best_times(
    *programs: Callable[[], object], seconds: float = 4.0, at_least: int = 5
) -> list[float]:
    """Return each program's best time of many, all taking turns.

    What else the machine does only ever adds time, so the best is the program's own; taking
    turns gives every program the same quiet moments. The garbage collector is off meanwhile,
    as in `timeit`.

    Args:
        *programs: What to time.
        seconds: How long to go on, altogether.
        at_least: Turns to take even if that lasts longer.

    Returns:
        Seconds, one figure for each program.
    """
    best = [float("inf")] * len(programs)
    collecting = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        end, turns = perf_counter() + seconds, 0
        while turns < at_least or perf_counter() < end:
            for index, program in enumerate(programs):
                start = thread_time()
                program()
                best[index] = min(best[index], thread_time() - start)
            turns += 1
    finally:
        if collecting:
            gc.enable()
    return best


def verdict(
    claim: str, measured: float, *, at_least: float | None = None, at_most: float | None = None
) -> bool:
    """Print a line for a claim and tell whether it holds.

    Args:
        claim: What is claimed.
        measured: The ratio.
        at_least: The least that it must be.
        at_most: The most that it may be.

    Returns:
        Whether it is within the bounds.
    """
    holds = (at_least is None or measured >= at_least) and (at_most is None or measured <= at_most)
    bounds = [
        f">= {at_least:g}" if at_least is not None else "",
        f"<= {at_most:g}" if at_most is not None else "",
    ]
    required = " and ".join(filter(None, bounds))
    word = "holds" if holds else "FALLS SHORT"
    print(f"{claim}: required {required}, measured {measured:.2f}: {word}", flush=True)
    if RESULTS in os.environ:
        row = {"claim": claim, "required": required, "measured": measured, "holds": bool(holds)}
        with Path(os.environ[RESULTS]).open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    return holds
