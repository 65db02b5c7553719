"""Serve the metrics of a retriever whose one leg fails now and then, for Prometheus to scrape.

    python examples/metrics.py [--port 9464] [--questions 20]

It asks its questions, prints what Prometheus would read, and ends. With `--port` it goes on asking,
one question each tenth of a second, and serves http://127.0.0.1:PORT/metrics until Ctrl+C. Point
Prometheus there, and load examples/grafana/ to see it.
"""

from __future__ import annotations

import argparse
import itertools
import logging
import random
import time

from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda
from prometheus_client import CollectorRegistry, generate_latest, start_http_server

from langchain_safe_retrievers import SafeEnsembleRetriever
from langchain_safe_retrievers.metrics import RetrievalMetrics

chance = random.Random(7)  # noqa: S311 - the same failures every time


def vector(_query: str) -> list[Document]:
    """Stand for a vector store on the network: one question in five fails."""
    time.sleep(chance.uniform(0.001, 0.02))
    if chance.random() < 0.2:  # noqa: PLR2004
        message = "vector store: connection refused"
        raise ConnectionError(message)
    return [Document("Refunds are paid within 14 days.", metadata={"page": 7})]


def keyword(_query: str) -> list[Document]:
    """Stand for an index in memory that knows the same text by another page number."""
    return [Document("Refunds are paid within 14 days.", metadata={"page": 8})]


parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
parser.add_argument("--port", type=int, help="serve here until Ctrl+C")
parser.add_argument("--questions", type=int, default=20, help="how many to ask without --port")
given = parser.parse_args()

# A skipped leg is always logged as a warning; here its metric is shown instead.
logging.getLogger("langchain_safe_retrievers").setLevel(logging.ERROR)

registry = CollectorRegistry()  # or leave it out, for prometheus_client's own
retriever = SafeEnsembleRetriever(
    retrievers=[RunnableLambda(vector), RunnableLambda(keyword)],
    leg_names=["vector", "keyword"],
    on_leg_error="skip",
).with_config(callbacks=[RetrievalMetrics(registry)])

if given.port is None:
    for _ in range(given.questions):
        retriever.invoke("When is my refund paid?")
    for line in generate_latest(registry).decode().splitlines():
        if not line.startswith("#") and "_bucket" not in line and "_created" not in line:
            print(line)
else:
    start_http_server(given.port, "127.0.0.1", registry)
    print(f"http://127.0.0.1:{given.port}/metrics")
    try:
        for _ in itertools.count():
            retriever.invoke("When is my refund paid?")
            time.sleep(0.1)
    except KeyboardInterrupt:
        print("ended")
