"""The two named merge policies: presets of `MetadataPolicy` for the two drop-ins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

from langchain_safe_retrievers.errors import PolicyError
from langchain_safe_retrievers.merging.policy import Metadata, MetadataPolicy
from langchain_safe_retrievers.merging.rules import Rule

ListMerge = Literal["concat_dedup", "overwrite"]
DictMerge = Literal["deep", "overwrite"]
ScalarMerge = Literal["overwrite", "keep_first"]
ScoreAgg = Literal["max", "min", "sum", "weighted"]


@dataclass(frozen=True)
class LangChainMultiQueryUnionPolicy:
    """The policy of a union over queries: lists add up, dicts merge, the last scalar wins.

    Args:
        list_merge: "concat_dedup" (first, then the new items of the second, in order; tuples
            and sets likewise) or "overwrite".
        dict_merge: "deep" (key by key) or "overwrite".
        scalar_merge: "overwrite" (the last value wins) or "keep_first".

    Raises:
        PolicyError: A setting is not one of these.

    Example:
        >>> LangChainMultiQueryUnionPolicy().merge({"tags": ["a"], "n": 1}, {"tags": ["b"], "n": 2})
        {'tags': ['a', 'b'], 'n': 2}
    """

    list_merge: ListMerge = "concat_dedup"
    dict_merge: DictMerge = "deep"
    scalar_merge: ScalarMerge = "overwrite"

    def __post_init__(self) -> None:
        """Check the settings."""
        _check_choice("list_merge", self.list_merge, get_args(ListMerge))
        _check_choice("dict_merge", self.dict_merge, get_args(DictMerge))
        _check_choice("scalar_merge", self.scalar_merge, get_args(ScalarMerge))

    @cached_property
    def table(self) -> MetadataPolicy:
        """The rule table that this policy is a preset of."""
        lists: Rule = "union" if self.list_merge == "concat_dedup" else "last"
        dicts: Rule = "deep" if self.dict_merge == "deep" else "last"
        return MetadataPolicy(
            types={dict: dicts, list: lists, tuple: lists, set: lists, frozenset: lists},
            fallback="last" if self.scalar_merge == "overwrite" else "first",
        )

    def merge(self, a: Metadata, b: Metadata) -> Metadata:
        """Return the metadata that two copies become.

        Args:
            a: The first copy's metadata.
            b: The second copy's metadata.

        Returns:
            A new dict.
        """
        merged = {**a, **b}
        for key in merged:
            if key in a and key in b:
                merged[key] = self.merge_value(a[key], b[key])
        return merged

    def resolve(self, path: Any, values: Sequence[Any], weights: Sequence[float]) -> Any:
        """Return what the values of one path become.

        Args:
            path: Dotted path, or a top-level key of any type.
            values: The values of the copies that have it, in legs' order; at least one.
            weights: The weight of each such copy's leg.

        Returns:
            The combined value.
        """
        return self.table.resolve(path, values, weights)

    def merge_value(self, a: Any, b: Any) -> Any:
        """Return what two values of one key become.

        Args:
            a: The first copy's value.
            b: The second copy's value.

        Returns:
            The combined value.
        """
        return self.table.merge_value(a, b)


@dataclass(frozen=True)
class LangChainEnsembleMetaPolicy:
    """The policy of an ensemble: scores are aggregated, the first leg's scalar wins.

    Lists and dicts combine by type (items in order; key by key).

    Args:
        score_key: Dotted path of the score.
        score_agg: "max", "min", "sum" or "weighted" (Σ wᵢ·scoreᵢ over the copies' legs).
            Values that are no numbers are left out; with none at all the first one stays.
        union_keys: Paths whose first value is kept whatever `overwrite_on_conflict` says.
        overwrite_on_conflict: Whether the last scalar wins instead of the first.

    Raises:
        PolicyError: A setting is not one of these, or two of them contradict each other.

    Example:
        >>> policy = LangChainEnsembleMetaPolicy()
        >>> policy.merge({"score": 0.2, "source": "a"}, {"score": 0.9, "source": "b", "page": 1})
        {'score': 0.9, 'source': 'a', 'page': 1}
    """

    score_key: str = "score"
    score_agg: ScoreAgg = "max"
    union_keys: tuple[str, ...] = ("source", "retriever")
    overwrite_on_conflict: bool = False

    def __post_init__(self) -> None:
        """Check the settings."""
        if not isinstance(self.union_keys, str):
            object.__setattr__(self, "union_keys", tuple(self.union_keys))
        self.validate()

    def validate(self) -> None:
        """Check the settings.

        Raises:
            PolicyError: A setting is not one of those allowed, or two contradict each other.
        """
        _check_choice("score_agg", self.score_agg, get_args(ScoreAgg))
        if isinstance(self.union_keys, str):
            keys = repr(self.union_keys)
            msg = f"union_keys is the text {keys}; write union_keys=({keys},)"
            raise PolicyError(msg)
        if self.overwrite_on_conflict and self.union_keys:
            msg = (
                f"overwrite_on_conflict=True contradicts union_keys={self.union_keys!r}, which "
                "keep their first value; write union_keys=() to overwrite every key, or leave "
                "overwrite_on_conflict=False"
            )
            raise PolicyError(msg)
        if self.score_key in self.union_keys:
            key = repr(self.score_key)
            msg = f"{key} is both the score_key and one of union_keys; it can have one rule"
            raise PolicyError(msg)

    @cached_property
    def table(self) -> MetadataPolicy:
        """The rule table that this policy is a preset of."""
        return MetadataPolicy(
            rules={self.score_key: self.score_agg, **dict.fromkeys(self.union_keys, "first")},
            fallback="last" if self.overwrite_on_conflict else "first",
        )

    def merge(self, a: Metadata, b: Metadata) -> Metadata:
        """Return the metadata that two copies become, both legs weighing 1.

        Args:
            a: The first copy's metadata.
            b: The second copy's metadata.

        Returns:
            A new dict.
        """
        return self.table.merge(a, b)

    def resolve(self, path: Any, values: Sequence[Any], weights: Sequence[float]) -> Any:
        """Return what the values of one path become, given the weights of their legs.

        Args:
            path: Dotted path, or a top-level key of any type.
            values: The values of the copies that have it, in legs' order; at least one.
            weights: The weight of each such copy's leg.

        Returns:
            The combined value.
        """
        return self.table.resolve(path, values, weights)


def _check_choice(name: str, came: object, allowed: tuple[str, ...]) -> None:
    if came not in allowed:
        msg = f"{name} is {came!r}; expected one of {', '.join(map(repr, allowed))}"
        raise PolicyError(msg)
