"""The laws of a merge as checks, for the engine and for every retriever that ends in it.

Nothing here uses the package: it has its own idea of when two values are one.
"""

from __future__ import annotations

from numbers import Number
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from langchain_core.documents import Document

from langchain_safe_retrievers.merging.langchain_policies import (
    LangChainEnsembleMetaPolicy as Ensemble,
)
from langchain_safe_retrievers.merging.langchain_policies import (
    LangChainMultiQueryUnionPolicy as Union,
)
from langchain_safe_retrievers.merging.policy import MetadataPolicy
from tests.unit_tests.strategies import Model, Record, twin

if TYPE_CHECKING:
    from collections.abc import Sequence

CONFLICTS = "_conflicts"
FUSED = "_fused"
_MISSING = object()


class Run(Protocol):
    """A way to turn legs' lists into one list: the engine, or a retriever over such legs."""

    def __call__(self, legs: Sequence[Sequence[Document]], **settings: Any) -> list[Document]:
        """Return the merged documents; settings: `policy`, `weights`, `fused_score_key`."""


def greedy(a: dict[Any, Any], b: dict[Any, Any]) -> dict[Any, Any]:
    """Merge by emptying whatever it was given: a policy that respects nothing."""
    a.update(b)
    for value in [*a.values(), *b.values()]:
        if isinstance(value, dict | list | set):
            value.clear()
    b.clear()
    return a


IDEMPOTENT: dict[str, Any] = {
    **{
        f"union lists={lists} dicts={dicts} scalars={scalars}": Union(lists, dicts, scalars)
        for lists in ("concat_dedup", "overwrite")
        for dicts in ("deep", "overwrite")
        for scalars in ("overwrite", "keep_first")
    },
    "ensemble max": Ensemble(),
    "ensemble min": Ensemble(score_agg="min", union_keys=()),
    "ensemble overwriting": Ensemble(union_keys=(), overwrite_on_conflict=True),
    "default": MetadataPolicy(),
    "last": MetadataPolicy(fallback="last"),
    "collect": MetadataPolicy(fallback="collect"),
    "table": MetadataPolicy(
        rules={"score": "max", "source": "collect", "tags": "union", "a.b": "last", "b": "first"},
        types={dict: "deep", str: "last", int: "min"},
    ),
    "whole dicts": MetadataPolicy(rules={"a": "deep"}, types={}),
}
"""Policies under which folding once more what is folded already changes nothing."""

POLICIES: dict[str, Any] = {
    **IDEMPOTENT,
    "ensemble sum": Ensemble(score_agg="sum"),
    "ensemble weighted": Ensemble(score_agg="weighted"),
    "sums and means": MetadataPolicy(rules={"score": "mean", "a": "sum", "a.b": "weighted"}),
    "rules that are functions": MetadataPolicy(
        rules={"source": lambda _, b: b, "tags": lambda *_: None, "a.b": lambda a, _: [a]}
    ),
    "types that are functions": MetadataPolicy(types={dict: lambda *_: {}, list: lambda *_: 0}),
    "first dict": lambda a, _: a,
    "second dict": lambda _, b: dict(b),
    "update": lambda a, b: {**a, **b},
    "empty": lambda *_: {},
    "greedy": greedy,
}


def alike(a: Any, b: Any, *, exact: bool = False) -> bool:
    """Tell whether two values are one; with `exact`, their containers' types too."""
    todo, seen = [(a, b)], {(id(a), id(b)): (a, b)}
    while todo:
        pairs = _parts(*todo.pop(), exact=exact)
        if pairs is None:
            return False
        for x, y in pairs:
            if x is not y and (id(x), id(y)) not in seen:
                seen[id(x), id(y)] = (x, y)
                todo.append((x, y))
    return True


def _parts(a: Any, b: Any, *, exact: bool) -> Sequence[tuple[Any, Any]] | None:
    """Return the pairs that must be alike for `a` and `b` to be; None if they are different."""
    kind = _container(a)
    if kind is None or kind != _container(b) or (exact and type(a) is not type(b)):
        return () if kind is _container(b) is None and _one_leaf(a, b) else None
    if kind == "array":
        kinds = [array.dtype.kind if array.dtype.kind in "bMm" else "any" for array in (a, b)]
        one_shape = a.shape == b.shape and kinds[0] == kinds[1]
        return [(a.tolist(), b.tolist())] if one_shape else None
    if len(a) != len(b):
        return None
    return list(zip(a, b, strict=True)) if kind in ("list", "tuple") else _partners(a, b)


def _partners(a: Any, b: Any) -> Sequence[tuple[Any, Any]] | None:
    """Return the values of the keys of two dicts that are alike, nothing for alike elements."""
    partners = [(x, next((y for y in b if alike(x, y)), _MISSING)) for x in a]
    if any(y is _MISSING for _, y in partners):
        return None
    return [(a[x], b[y]) for x, y in partners] if isinstance(a, dict) else ()


def _container(value: Any) -> str | None:
    for kinds, name in (
        (dict, "dict"),
        (list, "list"),
        (tuple, "tuple"),
        ((set, frozenset), "set"),
    ):
        if isinstance(value, kinds):
            return name
    return "array" if isinstance(value, np.ndarray) else None


def _one_leaf(a: Any, b: Any) -> bool:
    a, b = (bool(value) if isinstance(value, np.bool_) else value for value in (a, b))
    numbers = [isinstance(value, Number) and not isinstance(value, bool) for value in (a, b)]
    texts = [isinstance(value, str) for value in (a, b)]
    if not (all(numbers) or all(texts) or type(a) is type(b)):
        return False
    return a is b or _equal(a, b) or _equal(b, a)


def _equal(a: Any, b: Any) -> bool:
    try:
        return bool(a == b) or bool(a != a and b != b)  # noqa: PLR0124 - NaN
    except Exception:  # noqa: BLE001 - it refuses, or cannot from this side: Decimal(0) == np.int64(0)
        return False


def lost(copy: Any, folded: Any, conflicts: dict[str, list[Any]]) -> list[str]:
    """Return the paths at which `copy` had a value that is neither shown nor recorded."""
    found: list[str] = []
    todo: list[tuple[str, Any, Any]] = []
    seen: dict[tuple[int, int], Any] = {}
    recorded: dict[str, list[Any]] = {}
    for path, values in conflicts.items():
        recorded.setdefault(_spelled(path), []).extend(values)

    def look_below(prefix: str, mine: Any, shown: Any) -> None:
        if (id(mine), id(shown)) not in seen:
            seen[id(mine), id(shown)] = (mine, shown)
            for key, value in mine.items():
                path = _spelled(f"{prefix}{key if type(key) is str else repr(key)}")
                todo.append((path, value, shown.get(key, _MISSING)))

    look_below("", copy, folded)
    while todo:
        path, value, shown = todo.pop()
        if value is None or value is shown or _shows(shown, value):
            continue
        if any(alike(value, known) for known in recorded.get(path, ())):
            continue
        if isinstance(value, dict) and isinstance(shown, dict):
            look_below(f"{path}.", value, shown)
        else:
            found.append(path)
    return found


def _spelled(path: str) -> str:
    """Return the path with the keys True and False spelled 1 and 0: a dict holds one of the two."""
    return ".".join({"True": "1", "False": "0"}.get(key, key) for key in path.split("."))


def _shows(shown: Any, value: Any) -> bool:
    if alike(shown, value):
        return True
    if not isinstance(shown, list | tuple | set | frozenset):
        return False
    items = value if isinstance(value, list | tuple | set | frozenset) else (value,)
    return any(alike(value, element) for element in shown) or all(
        any(alike(item, element) for element in shown) for item in items
    )


def snapshot(value: Any) -> list[Any]:
    """Return who holds whom below `value`, and what arrays say: equal only if nothing changed."""
    picture: list[Any] = []
    todo, seen = [value], {id(value)}
    while todo:
        item = todo.pop()
        inside: list[Any] = []
        if isinstance(item, Document | Model | Record):
            inside = list(vars(item).values())
        elif isinstance(item, dict):
            inside = [part for pair in item.items() for part in pair]
        elif isinstance(item, list | tuple | set | frozenset):
            inside = list(item)
        elif isinstance(item, np.ndarray):
            picture.append(item.tobytes())
        elif isinstance(item, bytearray):
            picture.append(bytes(item))
        picture.append((id(item), type(item), [id(part) for part in inside]))
        for part in inside:
            if id(part) not in seen:
                seen.add(id(part))
                todo.append(part)
    return picture


def copies_of(document: Document, legs: Sequence[Sequence[Document]]) -> list[Document]:
    """Return the documents of the legs that have the document's text, in legs' order."""
    return [c for leg in legs for c in leg if c.page_content == document.page_content]


def bare(document: Document) -> dict[Any, Any]:
    """Return the metadata without the record of conflicts."""
    return {key: value for key, value in document.metadata.items() if key != CONFLICTS}


def check_nothing_is_lost(run: Run, legs: list[list[Document]], policy: Any) -> None:
    """Law 1, and that there is one document for each text."""
    documents = run(legs, policy=policy)
    texts = [document.page_content for document in documents]
    assert sorted(texts) == sorted({document.page_content for leg in legs for document in leg})
    for document in documents:
        conflicts = document.metadata.get(CONFLICTS, {})
        copies = copies_of(document, legs)
        for copy in copies:
            assert lost(copy.metadata, bare(document), conflicts) == []
        ids = {copy.id for copy in copies} - {None}
        assert ids <= {document.id, *conflicts.get("Document.id", ())}


def check_equal_copies_change_nothing(run: Run, legs: list[list[Document]], policy: Any) -> None:
    """Law 2, first half: copies with equal metadata give that metadata and no conflict."""
    for leg in legs:
        for document in leg:
            copy = type(document)(page_content=document.page_content, metadata={})
            copy.id, copy.metadata = document.id, twin(document.metadata)
            (folded,) = run([[document], [copy], [document, copy]], policy=policy)
            assert alike(folded.metadata, document.metadata, exact=True)
            assert folded.id == document.id


def check_folding_again_changes_nothing(run: Run, legs: list[list[Document]], policy: Any) -> None:
    """Law 2, second half: what is folded, folded again with its copies, stays as it is."""
    for folded in run(legs, policy=policy):
        copies = copies_of(folded, legs)
        (again,) = run([[folded], *([copy] for copy in copies)], policy=policy)
        assert alike(again.metadata, folded.metadata)
        assert again.id == folded.id


def check_same_input_same_output(run: Run, legs: list[list[Document]], policy: Any) -> None:
    """Law 3: the same legs give the same documents, keys in the same order."""
    one, two = run(legs, policy=policy), run(legs, policy=policy)
    assert [(d.page_content, d.id) for d in one] == [(d.page_content, d.id) for d in two]
    for first, second in zip(one, two, strict=True):
        assert alike(list(first.metadata), list(second.metadata))
        assert alike(first.metadata, second.metadata, exact=True)


def check_inputs_are_never_changed(run: Run, legs: list[list[Document]], policy: Any) -> None:
    """Law 4: inputs stay as they are; what was not folded is returned itself."""
    before = snapshot(legs)
    documents = run(legs, policy=policy)
    assert snapshot(legs) == before
    for document in documents:
        copies = copies_of(document, legs)
        if len(copies) == 1:
            assert document is copies[0]
        elif CONFLICTS in document.metadata:
            assert all(document.metadata is not copy.metadata for copy in copies)


def check_results_are_the_callers_own(run: Run, legs: list[list[Document]], policy: Any) -> None:
    """Law 4: emptying every container that folding made leaves the inputs as they are."""
    before = snapshot(legs)
    inputs = {id(part) for part in _dicts_and_lists(legs)}
    for document in run(legs, policy=policy):
        copies = copies_of(document, legs)
        for path, merged in document.metadata.items():
            values = [copy.metadata[path] for copy in copies if path in copy.metadata]
            combined = not any(alike(merged, value) for value in values)
            assert not (combined and id(merged) in inputs)
        if not any(document is copy for copy in copies):
            document.metadata.clear()
    assert snapshot(legs) == before


def _dicts_and_lists(value: Any) -> list[Any]:
    found, todo, seen = [], [value], {id(value)}
    while todo:
        item = todo.pop()
        if isinstance(item, dict | list):
            found.append(item)
            for part in item.values() if isinstance(item, dict) else item:
                if id(part) not in seen:
                    seen.add(id(part))
                    todo.append(part)
        elif hasattr(item, "metadata"):
            todo.append(item.metadata)
    return found


def check_order_of_legs_does_not_matter(run: Run, legs: list[list[Document]], policy: Any) -> None:
    """Law 6: the legs in another order give the same documents, in some order."""
    texts = {document.page_content for leg in legs for document in leg}
    for order in (legs, legs[::-1], legs[1:] + legs[:1]):
        documents = run(order, policy=policy)
        assert sorted(document.page_content for document in documents) == sorted(texts)


def check_one_leg_one_vote(
    run: Run, legs: list[list[Document]], policy: Any, weights: Sequence[float] = (1.0, 0.5, 0.25)
) -> None:
    """Law 8: a score is Σ w / (60 + the best rank in the leg), however often a leg repeats it."""
    weights = weights[: len(legs)]
    expected: dict[str, float] = {}
    for leg, weight in zip(legs, weights, strict=True):
        texts = [document.page_content for document in leg]
        for text in set(texts):
            expected[text] = expected.get(text, 0.0) + weight / (60 + texts.index(text) + 1)
    documents = run(legs, policy=policy, weights=weights, fused_score_key=FUSED)
    assert {d.page_content: d.metadata[FUSED] for d in documents} == expected
    fused = [document.metadata[FUSED] for document in documents]
    assert fused == sorted(fused, reverse=True)
