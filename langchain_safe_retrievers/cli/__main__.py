"""`python -m langchain_safe_retrievers.cli`, where the program `safe-retrievers` is not on PATH."""

from __future__ import annotations

import sys

from langchain_safe_retrievers.cli.app import main

if __name__ == "__main__":
    sys.exit(main())
