"""Which embedding model finds the most on one's own questions, and what it costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict

from langchain_safe_retrievers.errors import ConfigurationError
from langchain_safe_retrievers.evaluation.dataset import Dataset
from langchain_safe_retrievers.evaluation.evaluate import METRICS, evaluate
from langchain_safe_retrievers.evaluation.evaluation import Evaluation
from langchain_safe_retrievers.evaluation.metrics import EXTRA
from langchain_safe_retrievers.evaluation.table import count, indented, ms, table
from langchain_safe_retrievers.extras import load

_BATCH = 1_000  # texts that a model is given at a time
_FLOAT32 = 4  # bytes


@dataclass(frozen=True)
class EmbeddingResult:
    """What one embedding model brought.

    Args:
        name: The model's name.
        evaluation: Quality and times of exact search with its vectors.
        index_seconds: How long it took to embed all documents.
        dimension: How many numbers a vector has.
        index_bytes: What the vectors take as float32: 4 · dimension · documents.
    """

    name: str
    evaluation: Evaluation
    index_seconds: float
    dimension: int
    index_bytes: int

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON-native values."""
        return {**vars(self), "evaluation": self.evaluation.to_dict()}


@dataclass(frozen=True)
class EmbeddingComparison:
    """What some embedding models brought.

    Args:
        dataset: The dataset's name.
        documents: How many documents were embedded.
        results: One for each model, the best first by the first metric.
    """

    dataset: str
    documents: int
    results: Sequence[EmbeddingResult]

    @property
    def best(self) -> EmbeddingResult:
        """The best one by the first metric."""
        return self.results[0]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON-native values."""
        return {
            "dataset": self.dataset,
            "documents": self.documents,
            "results": [each.to_dict() for each in self.results],
        }

    def __str__(self) -> str:
        """Return a table: a row for each model."""
        metrics = list(self.best.evaluation.metrics)
        head = ["model", *metrics, "dimension", "MB", "index s", "query ms (p50)"]
        rows = [
            [
                each.name,
                *(each.evaluation.metrics[name] for name in metrics),
                each.dimension,
                f"{each.index_bytes / 1e6:.2f}",
                f"{each.index_seconds:.2f}",
                ms(each.evaluation.latency["total"].p50),
            ]
            for each in self.results
        ]
        first = f"{self.dataset}: {count(self.documents, 'document')}"
        return "\n".join([first, indented(table(head, rows))])


def compare_embeddings(
    models: Mapping[str, Embeddings],
    dataset: Dataset,
    metrics: Sequence[str] = METRICS,
    *,
    k: int = 100,
    show_progress: bool = False,
) -> EmbeddingComparison:
    """Embed a dataset's documents with several models, and evaluate exact search by cosine.

    No vector store is in between, so the figures are the models' own. Whether two of them
    differ by more than chance, `significance` tells from their evaluations.

    Args:
        models: Name to model, at least one.
        dataset: Questions, judgements and documents.
        metrics: As ir-measures writes them; the first one decides on the order.
        k: How many documents a question returns, at least 1.
        show_progress: Whether to show a progress bar.

    Returns:
        Quality, seconds and bytes of each.

    Raises:
        ConfigurationError: There is no model, or the dataset has no documents.

    Example:
        >>> from langchain_core.embeddings import DeterministicFakeEmbedding
        >>> bees = [Document(page_content="Bees", id="bees")]
        >>> dataset = Dataset({"1": "Bees"}, {"1": {"bees": 1}}, documents=bees)
        >>> models = {"fake": DeterministicFakeEmbedding(size=8)}
        >>> best = compare_embeddings(models, dataset, ["RR"]).best
        >>> best.name, best.evaluation.metrics, best.index_bytes
        ('fake', {'RR': 1.0}, 32)
    """
    if not models or not dataset.documents:
        msg = (
            f"models is {models!r}, and {dataset.name} has {len(dataset.documents)} documents; "
            "expected at least one of each: Dataset(..., documents=[...])"
        )
        raise ConfigurationError(msg)
    results = [
        _result(name, model, dataset, metrics, k, show=show_progress)
        for name, model in models.items()
    ]
    first = str(metrics[0])
    results.sort(key=lambda each: -each.evaluation.metrics[first])
    return EmbeddingComparison(dataset.name, len(dataset.documents), results)


def _result(  # noqa: PLR0913 - what one row needs
    name: str, model: Embeddings, dataset: Dataset, metrics: Sequence[str], k: int, *, show: bool
) -> EmbeddingResult:
    start = perf_counter()
    vectors = _unit(_embedded(model, [each.page_content for each in dataset.documents]))
    seconds = perf_counter() - start
    size, dimension = vectors.shape
    exact = ExactSearch(
        name=name, embeddings=model, documents=dataset.documents, vectors=vectors, k=k
    )
    found = evaluate(exact, dataset, metrics, show_progress=show)
    return EmbeddingResult(name, found, seconds, dimension, _FLOAT32 * size * dimension)


class ExactSearch(BaseRetriever):
    """Compares a question's vector with every document's.

    Args:
        embeddings: Makes the question's vector.
        documents: The documents.
        vectors: Their unit vectors, a numpy array of one row each.
        k: How many to return.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    embeddings: Embeddings
    documents: Sequence[Document]
    vectors: Any
    k: int

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002 - core's signature
    ) -> list[Document]:
        scores = self.vectors @ _unit([self.embeddings.embed_query(query)])[0]
        return [self.documents[place] for place in (-scores).argsort(kind="stable")[: self.k]]


def _embedded(model: Embeddings, texts: Sequence[str]) -> list[list[float]]:
    starts = range(0, len(texts), _BATCH)
    batches = (model.embed_documents(list(texts[start : start + _BATCH])) for start in starts)
    return [vector for batch in batches for vector in batch]


def _unit(vectors: Sequence[Sequence[float]]) -> Any:
    """Return vectors of length 1, and a vector of zeros as it is."""
    np = load("numpy", EXTRA)
    rows = np.asarray(vectors, dtype=np.float32)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths == 0, 1, lengths)
