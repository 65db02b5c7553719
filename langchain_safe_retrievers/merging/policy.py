"""Merge policies: the rule that says what a metadata key becomes when copies disagree."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from typing import Any, Protocol, runtime_checkable

from langchain_safe_retrievers.errors import PolicyError
from langchain_safe_retrievers.merging.rules import RULES, Rule, apply_rule, union
from langchain_safe_retrievers.merging.values import copy_containers, family, is_dict, same

Metadata = dict[Any, Any]
_Seen = dict[tuple[int, int], tuple[Any, Any]]  # the pairs of dicts met on the way, kept alive: ids are reused
_MAX_DEPTH = 100  # dicts nested deeper than this are combined whole, as scalars are


@runtime_checkable
class MergePolicy(Protocol):
    """What a merge policy does; a plain function of two dicts is one as well."""

    def merge(self, a: Metadata, b: Metadata) -> Metadata:
        """Return the metadata that two copies become, leaving both as they are."""


class Resolver(Protocol):
    """A policy that decides key by key, as all policies of this package do."""

    @property
    def always(self) -> Collection[str]:
        """The keys to be asked about even where all copies agree."""

    def resolve(self, path: Any, values: Sequence[Any], weights: Sequence[float]) -> Any:
        """Return what the values of one path become."""


def as_resolver(policy: object) -> Resolver | None:
    """Return the policy if it decides key by key, or None if it takes whole dicts.

    Args:
        policy: A merge policy.

    Returns:
        The policy itself, or None. A subclass that overrides `merge` alone means that one.

    Example:
        >>> as_resolver(MetadataPolicy()) is None, as_resolver(lambda a, b: b) is None
        (False, True)
    """
    mro = type(policy).__mro__
    definers = [next((base for base in mro if name in vars(base)), None) for name in ("merge", "resolve")]
    return policy if definers[1] and definers[0] is definers[1] else None  # type: ignore[return-value]


def merge_pairwise(
    policy: MergePolicy | Callable[[Metadata, Metadata], Metadata], copies: Sequence[Metadata]
) -> Metadata:
    """Return the metadata that copies become under any policy, applied from the left.

    The policy is given copies of the containers, so that one that changes its arguments
    changes no input.

    Args:
        policy: A `MergePolicy`, or a function of two dicts.
        copies: The copies' metadata, in legs' order; at least one.

    Returns:
        A new dict.

    Raises:
        PolicyError: The policy returned something that is no dict.

    Example:
        >>> merge_pairwise(lambda a, b: {**a, **b}, [{"x": 1}, {"y": 2}])
        {'x': 1, 'y': 2}
    """
    merged = reduce(getattr(policy, "merge", policy), map(copy_containers, copies))
    if not is_dict(merged):
        msg = (
            f"the merge policy {policy!r} returned {type(merged).__name__}; it takes two "
            "metadata dicts and returns the dict that they become"
        )
        raise PolicyError(msg)
    return merged


class _RulesByType(dict[type, Rule | None]):
    """A rule for every type: its own, else that of its nearest base (a bool is no int here)."""

    def __missing__(self, kind: type) -> Rule | None:
        bases = () if kind is bool else kind.__mro__
        self[kind] = rule = next((self[base] for base in bases if base in self), None)
        return rule


@dataclass(frozen=True)
class MetadataPolicy:
    """A table of rules: the rule of a value is that of its exact path, else its type, else the fallback.

    Values that are the same stay as they are and None gives way to a value, unless the path
    has a rule of its own. A rule by type is used where both values have that type.

    Args:
        rules: Dotted path to rule (`{"score": "max", "a.b": "last"}`). A rule is "first",
            "last", "max", "min", "sum", "mean", "weighted" (Σ wᵢ·valueᵢ, w = the weight of
            the copy's leg), "union" (items of lists, in order), "collect" (all distinct
            values as a list), "deep" (dicts key by key), or a function of two values.
            "sum" and "weighted" add equal values too, so they count a copy folded twice twice.
        types: Type to rule.
        fallback: Rule for everything else.

    Raises:
        PolicyError: A rule is neither one of these names nor callable.

    Example:
        >>> policy = MetadataPolicy(rules={"score": "max", "page": "collect"})
        >>> policy.merge({"score": 0.2, "page": 3, "tags": ["a"]}, {"score": 0.9, "page": 4, "tags": ["b"]})
        {'score': 0.9, 'page': [3, 4], 'tags': ['a', 'b']}
    """

    rules: Mapping[str, Rule] = field(default_factory=dict)
    types: Mapping[type, Rule] = field(
        default_factory=lambda: {dict: "deep", list: "union", tuple: "union", set: "union", frozenset: "union"}
    )
    fallback: Rule = "first"

    def __post_init__(self) -> None:
        """Check every rule's name."""
        for place, rule in [*self.rules.items(), *self.types.items(), ("fallback", self.fallback)]:
            if not callable(rule) and rule != "deep" and rule not in RULES:
                msg = (
                    f"the rule for {place!r} is {rule!r}; expected one of "
                    f"{', '.join([*RULES, 'deep'])}, or a function of two values"
                )
                raise PolicyError(msg)

    def merge(self, a: Metadata, b: Metadata) -> Metadata:
        """Return the metadata that two copies become.

        Args:
            a: The first copy's metadata.
            b: The second copy's metadata.

        Returns:
            A new dict; `a` and `b` are left as they are.
        """
        return {
            key: self.resolve(key, *having(key, (a, b), (1.0, 1.0))) for key in {**a, **b}
        }

    def merge_value(self, a: Any, b: Any) -> Any:
        """Return what two values become by type, as if at a path without a rule of its own.

        Args:
            a: The first value.
            b: The second value.

        Returns:
            The combined value.
        """
        return self._combine(a, b, 0, {})

    def resolve(self, path: Any, values: Sequence[Any], weights: Sequence[float]) -> Any:
        """Return what the values of one path become.

        Args:
            path: Dotted path, or a top-level key of any type.
            values: The values of the copies that have it, in legs' order; at least one.
            weights: The weight of each such copy's leg.

        Returns:
            The combined value.
        """
        if path in self.rules:
            rule = self.rules[path]
            if rule != "deep":
                return apply_rule(rule, values, weights)
        elif path in self._above_rules and all(map(is_dict, values)):
            return {
                key: self.resolve(f"{path}.{key}", *having(key, values, weights))
                for key in dict.fromkeys(key for value in values for key in value)
            }
        combined = values[0]
        for value in values[1:]:
            combined = self._combine(combined, value, 0, {})
        return combined

    def _combine(self, a: Any, b: Any, depth: int, seen: _Seen) -> Any:
        """Combine two values of a path that has no rule of its own."""
        if a is None or b is None:
            return b if a is None else a
        rule = self._by_type[type(a)]
        if rule is None or rule != self._by_type[type(b)]:
            rule = self.fallback
        if rule == "deep" and is_dict(a) and is_dict(b):
            pair = (id(a), id(b))
            if depth < _MAX_DEPTH and pair not in seen:
                return self._combine_dicts(a, b, depth + 1, seen)
        elif rule == "union" and family(a) == family(b) is not None:
            return union(a, b)
        if same(a, b):
            return a
        return apply_rule("first" if rule == "deep" else rule, (a, b), (1.0, 1.0))

    def _combine_dicts(self, a: Metadata, b: Metadata, depth: int, seen: _Seen) -> Metadata:
        merged = dict(a)
        for key, value in b.items():
            if key not in merged:
                merged[key] = value
            elif (known := merged[key]) is not value:
                merged[key] = self._combine(known, value, depth, seen)
        return merged

    @cached_property
    def _by_type(self) -> _RulesByType:
        return _RulesByType(self.types)

    @cached_property
    def always(self) -> frozenset[str]:
        """The top-level keys to be asked about even where all copies agree."""
        adding = (path for path, rule in self.rules.items() if callable(rule) or rule in ("sum", "weighted"))
        return frozenset(key for path in adding for key in (path, path.partition(".")[0]))

    @cached_property
    def _above_rules(self) -> frozenset[str]:
        """The paths above those that have a rule."""
        parts = [path.split(".") for path in self.rules]
        return frozenset(".".join(keys[:n]) for keys in parts for n in range(1, len(keys)))


def having(
    key: Any, copies: Sequence[Metadata], weights: Sequence[float]
) -> tuple[list[Any], Sequence[float]]:
    """Return the values that copies have under a key, and the weights of their legs.

    Args:
        key: A metadata key.
        copies: The copies' metadata.
        weights: The weight of each copy's leg.

    Returns:
        The values of the copies that have the key, and as many weights.

    Example:
        >>> having("n", [{"n": 1}, {}, {"n": 3}], [0.5, 0.3, 0.2])
        ([1, 3], [0.5, 0.2])
    """
    values = [copy[key] for copy in copies if key in copy]
    if len(values) == len(copies):
        return values, weights
    return values, [weight for copy, weight in zip(copies, weights, strict=True) if key in copy]
