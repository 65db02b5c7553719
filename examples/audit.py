"""What does my EnsembleRetriever lose? Audit one, on its own questions.

    python examples/audit.py [--html PAGE] [--json FILE]

The retriever is LangChain's own, over two legs that hold the same staff handbook and know different
things about it. Nothing is changed: its legs are asked, and its own code merges what they found.
Put your retriever and your questions in their place.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from explain import handbook
from langchain_classic.retrievers import EnsembleRetriever

from langchain_safe_retrievers.auditing.audit import audit

QUESTIONS = [
    "When are travel expenses refunded?",
    "How many days of leave do I have?",
    "What if I lose my phone?",
    "May a customer return damaged goods?",
    "Who replaces my laptop?",
]

arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
arguments.add_argument("--html", type=Path, metavar="PAGE")
arguments.add_argument("--json", type=Path, metavar="FILE")
given = arguments.parse_args()

legs = handbook().retrievers
report = audit(EnsembleRetriever(retrievers=legs, weights=[0.5, 0.5]), QUESTIONS)
report.show()
if given.html:
    given.html.write_text(report.to_html(), encoding="utf-8")
if given.json:
    given.json.write_text(json.dumps(report.to_dict(), indent=2), encoding="utf-8")
