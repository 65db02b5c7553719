"""Embedding models are held against each other by exact search on one's own questions."""

from __future__ import annotations

import json

import pytest
from langchain_core.embeddings import Embeddings

from langchain_safe_retrievers.errors import ConfigurationError
from langchain_safe_retrievers.evaluation.dataset import Dataset
from langchain_safe_retrievers.evaluation.embeddings import compare_embeddings
from langchain_safe_retrievers.evaluation.significance import significance

from .legs import docs

DATASET = Dataset(
    {"1": "a", "2": "b"}, {"1": {"a": 1}, "2": {"b": 1}}, documents=docs("c b a"), name="letters"
)


class Letters(Embeddings):
    """Knows a text by its first letter, or by nothing at all."""

    def __init__(self, *, knows: bool, size: int) -> None:
        self.knows, self.size, self.batches = knows, size, 0

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.batches += 1
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        place = ord(text[0]) - ord("a") if self.knows else 0
        return [5.0 * (number == place) for number in range(self.size)]


def test_the_best_model_comes_first_with_its_quality_seconds_and_bytes():
    models = {"blind": Letters(knows=False, size=3), "letters": Letters(knows=True, size=4)}

    found = compare_embeddings(models, DATASET, ["RR@10", "R@1"])

    assert [each.name for each in found.results] == ["letters", "blind"]
    assert found.best.evaluation.metrics == {"RR@10": 1.0, "R@1": 1.0}
    assert found.results[1].evaluation.metrics["RR@10"] == pytest.approx((1 / 3 + 1 / 2) / 2)
    assert (found.best.dimension, found.best.index_bytes) == (4, 4 * 4 * 3)
    assert found.best.index_seconds > 0
    assert [line.split()[0] for line in str(found).split("\n")] == [
        "letters:",
        "model",
        "letters",
        "blind",
    ]


def test_documents_are_embedded_in_batches_once():
    model = Letters(knows=True, size=3)
    many = Dataset({"1": "a"}, {"1": {"a": 1}}, documents=docs("a") * 2500)

    compare_embeddings({"m": model}, many, ["RR"])

    assert model.batches == 3


def test_a_vector_of_zeros_is_like_nothing():
    blank = Letters(knows=True, size=2)  # "c" has no place

    found = compare_embeddings({"m": blank}, DATASET, ["R@1"])

    assert found.best.evaluation.metrics == {"R@1": 1.0}


def test_no_more_than_k_documents_are_found():
    model = Letters(knows=True, size=3)

    found = compare_embeddings({"m": model}, DATASET, ["R@1"], k=2)

    assert [len(each.documents) for each in found.best.evaluation.queries] == [2, 2]


def test_two_models_can_be_tested_and_the_result_is_json():
    models = {"blind": Letters(knows=False, size=3), "letters": Letters(knows=True, size=3)}
    found = compare_embeddings(models, DATASET, ["RR"])

    assert significance(found.results[1].evaluation, found.best.evaluation, "RR").better == 2
    assert json.loads(json.dumps(found.to_dict()))["results"][0]["name"] == "letters"


def test_models_and_documents_are_needed():
    with pytest.raises(ConfigurationError, match=r"models is \{\}"):
        compare_embeddings({}, DATASET)
    with pytest.raises(ConfigurationError, match="dataset has 0 documents"):
        compare_embeddings({"m": Letters(knows=True, size=3)}, Dataset({"1": "a"}, {}))
