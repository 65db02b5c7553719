"""Run every benchmark, print one table of claims, and write it as JSON.

    python benchmarks/run.py [--heavy] [--data DIRECTORY] [--json results.json]

Without arguments it takes under ten minutes. `--heavy` adds those that write 100,000 documents and
more, which take half an hour; `--data` those that need the retrieval sets (benchmarks/quality.py
says how they are laid out). Returns 1 if a claim falls short, or a benchmark fails.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

from _measure import RESULTS

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Benchmark:
    """A program in this folder, and what it takes.

    Args:
        name: The file's name without `.py`.
        arguments: Its arguments.
        heavy: Whether it takes minutes.
        data: Whether it takes `--data`: "sets" for the directory of the sets, or a set's name.
    """

    name: str
    arguments: tuple[str, ...] = ()
    heavy: bool = False
    data: str | None = None

    def command(self, data: Path | None) -> list[str]:
        """Return the command line."""
        place = () if data is None or self.data is None else ("--data", str(data / self.data))
        return [sys.executable, str(HERE / f"{self.name}.py"), *self.arguments, *place]


BENCHMARKS = [
    Benchmark("union"),
    Benchmark("fuse"),
    Benchmark("invoke"),
    Benchmark("import_time"),
    Benchmark("safe"),
    Benchmark("explain"),
    Benchmark("tune"),
    Benchmark("load", ("--seconds", "60")),
    Benchmark("ingestion", ("--documents", "10000")),
    Benchmark("evaluate", data="scifact"),
    Benchmark("fetch_depth", data="anthropic_docs_qa"),
    Benchmark("quality", data="."),
    Benchmark("keyword_index", heavy=True),
    Benchmark("keyword_index", ("--full",), heavy=True),
    Benchmark("hybrid", heavy=True),
    Benchmark("ingestion", heavy=True),
]


def results_of(benchmark: Benchmark, data: Path | None) -> list[dict[str, Any]]:
    """Run a benchmark; return its claims, and one more if it failed."""
    started = monotonic()
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "results.jsonl"
        environment = {**os.environ, RESULTS: str(file), "PYTHONWARNINGS": "ignore"}
        done = subprocess.run(benchmark.command(data), env=environment, check=False)  # noqa: S603
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    took = {"benchmark": benchmark.name, "seconds": round(monotonic() - started, 1)}
    results = [{**took, **json.loads(line)} for line in lines]
    if done.returncode and all(result["holds"] for result in results):
        claim = f"{benchmark.name} ended with code {done.returncode}"
        results.append({**took, "claim": claim, "required": "0", "measured": None, "holds": False})
    return results


def table(results: list[dict[str, Any]]) -> str:
    """Return the claims as a Markdown table."""
    rows = ["| claim | required | measured | verdict |", "| --- | --- | --- | --- |"]
    for each in results:
        measured = "" if each["measured"] is None else f"{each['measured']:.3g}"
        verdict = "holds" if each["holds"] else "**falls short**"
        rows.append(f"| {each['claim']} | {each['required']} | {measured} | {verdict} |")
    return "\n".join(rows)


def main() -> int:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--heavy", action="store_true", help="those that take minutes, too")
    parser.add_argument("--data", type=Path, help="the directory of the retrieval sets")
    parser.add_argument("--json", type=Path, default=Path("benchmark-results.json"))
    given = parser.parse_args()
    results: list[dict[str, Any]] = []
    for benchmark in BENCHMARKS:
        if (benchmark.heavy and not given.heavy) or (benchmark.data and given.data is None):
            continue
        print(f"\n== {benchmark.name} {' '.join(benchmark.arguments)}", flush=True)
        results += results_of(benchmark, given.data)
    print(f"\n{table(results)}")
    given.json.write_text(json.dumps(results, indent=2, ensure_ascii=False), encoding="utf-8")
    return 0 if all(result["holds"] for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
