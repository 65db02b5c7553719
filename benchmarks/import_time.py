"""`import langchain_safe_retrievers` against `import langchain_classic.retrievers`.

python benchmarks/import_time.py

Each import runs in a new interpreter. The package's own import must take at most 0.9 of
upstream's time. It is lazy, so what a program pays once it names both retrievers is printed too,
and what langchain-core alone costs, which both pay.
"""

import subprocess
import sys
import time

from _measure import verdict

OURS = "import langchain_safe_retrievers"
BOTH = "from langchain_safe_retrievers import SafeEnsembleRetriever, SafeMultiQueryRetriever"
UPSTREAM = "import langchain_classic.retrievers"
CORE = "import langchain_core.retrievers, langchain_core.prompts, langchain_core.runnables"


def seconds(statement):
    start = time.perf_counter()
    subprocess.run([sys.executable, "-W", "ignore", "-c", statement], check=True)  # noqa: S603 - our own statements
    return time.perf_counter() - start


def main():
    rounds = [[seconds(each) for each in (OURS, UPSTREAM, BOTH, CORE, "pass")] for _ in range(8)]
    ours, upstream, both, core, nothing = map(min, zip(*rounds, strict=True))
    print(
        f"langchain-core alone, in times of upstream: {(core - nothing) / (upstream - nothing):.2f}"
    )
    named = (both - nothing) / (upstream - nothing)
    print(f"both retrievers named, in times of upstream: {named:.2f}")
    ratio = max(ours - nothing, 0) / (upstream - nothing)
    holds = verdict("import of the package, in times of upstream", ratio, at_most=0.9)
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
