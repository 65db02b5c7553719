"""Fuzz one of the tests in test_inputs.py, guided by coverage, with Atheris.

    pip install atheris
    python -m tests.fuzz.fuzz TEST [options of libFuzzer]

Without a test's name it lists them. Such a run goes on until it finds something or is stopped;
`-max_total_time=60` ends it after a minute.
"""

from __future__ import annotations

import sys


def main(*arguments: str) -> None:
    """Fuzz the test that is named first."""
    import atheris  # no part of the test extra

    with atheris.instrument_imports(include=["langchain_safe_retrievers"]):
        from tests.fuzz import test_inputs
    targets = {name: test for name, test in vars(test_inputs).items() if name.startswith("test_")}
    if not arguments or arguments[0] not in targets:
        sys.exit("\n".join(["expected one of", *targets]))
    target = targets[arguments[0]].hypothesis.fuzz_one_input
    atheris.Setup(["fuzz.py", *arguments[1:]], target)
    atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:])
