"""How deep must legs be asked for k = 10? Quality and latency of a hybrid search by depth.

    python benchmarks/fetch_depth.py --data DIR

`DIR` holds a retrieval set in BEIR layout (corpus.jsonl, queries.jsonl, qrels.tsv) with unit
vectors NAME.corpus.npy and NAME.queries.npy. The legs are Chroma and BM25Retriever, fused by
reciprocal rank. The default depth, max(50, 2 k), is required to reach 99 % of the best nDCG@10
that any depth up to 200 reaches, for at most twice the latency of depth 10.
"""

import argparse
import json
import re
import statistics
import sys
import time
import warnings
from itertools import pairwise
from pathlib import Path

import ir_measures
import numpy as np
import snowballstemmer
from _measure import verdict
from chromadb import EphemeralClient
from langchain_chroma import Chroma
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from langchain_safe_retrievers import SafeEnsembleRetriever, by_id

warnings.filterwarnings("ignore", ".*langchain-community.*", DeprecationWarning)
from langchain_community.retrievers import BM25Retriever  # noqa: E402 - warns of its sunset

STEMMER = snowballstemmer.stemmer("english")
STOP_WORDS = {"a", "an", "and", "are", "as", "at", "be", "by", "can", "do", "does", "for", "how"}
STOP_WORDS |= {"in", "is", "it", "of", "on", "or", "that", "the", "this", "to", "what", "with"}
K, DEPTHS = 10, (10, 20, 50, 100, 200)


class Known(Embeddings):
    """Vectors that were computed before."""

    def __init__(self, texts, vectors):
        self.vectors = dict(zip(texts, vectors.astype(float).tolist(), strict=True))

    def embed_documents(self, texts):
        return [self.vectors[text] for text in texts]

    def embed_query(self, text):
        return self.vectors[text]


def read(folder):
    corpus = [json.loads(line) for line in (folder / "corpus.jsonl").open()]
    queries = [json.loads(line) for line in (folder / "queries.jsonl").open()]
    rows = [line.split("\t") for line in (folder / "qrels.tsv").read_text().splitlines()[1:]]
    name = next(folder.glob("*.corpus.npy")).name.removesuffix(".corpus.npy")
    vectors = [np.load(folder / f"{name}.{part}.npy") for part in ("corpus", "queries")]
    qrels = [ir_measures.Qrel(query, doc, int(grade)) for query, doc, grade in rows]
    return corpus, queries, qrels, vectors


def build(corpus, queries, vectors):
    texts = [f"{doc.get('title', '')}\n{doc['text']}".strip() for doc in corpus]
    asked = [query["text"] for query in queries]
    known = Known(texts + asked, np.concatenate(vectors))
    store = Chroma("depth", known, client=EphemeralClient())
    docs = [Document(t, id=doc["_id"]) for t, doc in zip(texts, corpus, strict=True)]
    for start in range(0, len(docs), 2000):
        store.add_documents(docs[start : start + 2000])
    return store, BM25Retriever.from_documents(docs, preprocess_func=words)


def words(text):
    """Return the stems of the words that say something; CJK runs as characters and pairs."""
    found = []
    for run in re.findall(r"[\u3400-\u9fff]+|[^\W\u3400-\u9fff]+", text.lower()):
        if "\u3400" <= run[0] <= "\u9fff":
            found += [*run, *map("".join, pairwise(run))]
        elif run not in STOP_WORDS:
            found.append(STEMMER.stemWord(run))
    return found


def measure(store, keywords, queries, qrels, depth):
    keywords.k = depth  # BM25Retriever cannot be told per call
    legs = [store.as_retriever(), keywords]
    safe = SafeEnsembleRetriever(retrievers=legs, identity=by_id, k=K, fetch_k=depth)
    run, seconds = [], []
    for query in queries:
        start = time.perf_counter()
        found = safe.invoke(query["text"])
        seconds.append(time.perf_counter() - start)
        run += [ir_measures.ScoredDoc(query["_id"], d.id, -i) for i, d in enumerate(found)]
    ndcg = ir_measures.calc_aggregate([ir_measures.nDCG @ K], qrels, run)
    return next(iter(ndcg.values())), statistics.median(seconds) * 1000


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="a set in BEIR layout")
    corpus, queries, qrels, vectors = read(parser.parse_args().data)
    store, keywords = build(corpus, queries, vectors)
    measured = {d: measure(store, keywords, queries[:300], qrels, d) for d in DEPTHS}
    for depth, (ndcg, ms) in measured.items():
        print(f"depth {depth:>3}: nDCG@10 {ndcg:.4f}, median {ms:.1f} ms a query")
    best = max(ndcg for ndcg, _ in measured.values())
    quality, latency = measured[50][0] / best, measured[50][1] / measured[10][1]
    deep = verdict("depth 50 by default, share of the best nDCG@10", quality, at_least=0.99)
    quick = verdict("depth 50 by default, in times of depth 10", latency, at_most=2)
    return 0 if deep and quick else 1


if __name__ == "__main__":
    sys.exit(main())
