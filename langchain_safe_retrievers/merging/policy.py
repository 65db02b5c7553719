"""Merge policies: the rule that says what a metadata key becomes when copies disagree."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from typing import Any, Protocol, runtime_checkable

from langchain_safe_retrievers.errors import PolicyError
from langchain_safe_retrievers.merging.copying import copy_containers
from langchain_safe_retrievers.merging.rules import RULES, Rule, apply_rule, union, without_none
from langchain_safe_retrievers.merging.values import SCALARS, family, is_dict, same
from langchain_safe_retrievers.merging.walk import merge_dicts

Metadata = dict[Any, Any]


@runtime_checkable
class MergePolicy(Protocol):
    """What a merge policy does; a plain function of two dicts is one as well."""

    def merge(self, a: Metadata, b: Metadata) -> Metadata:
        """Return the metadata that two copies become, leaving both as they are."""


def as_resolver(policy: object) -> MetadataPolicy | None:
    """Return what decides path by path in a policy, or None if it takes whole dicts.

    Args:
        policy: A merge policy.

    Returns:
        The rule table that the policy is or is a preset of, or None. A subclass that
        overrides `merge` or `merge_value` means that one.

    Example:
        >>> as_resolver(MetadataPolicy()) is None, as_resolver(lambda a, b: b) is None
        (False, True)
    """
    mro, methods = type(policy).__mro__, ("merge", "merge_value", "resolve")
    definers = {next((base for base in mro if name in vars(base)), None) for name in methods}
    table = getattr(policy, "table", policy)
    one_kind = len(definers - {None}) == 1
    return table if one_kind and isinstance(table, MetadataPolicy) else None


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
    merge: Callable[[Metadata, Metadata], Metadata] = getattr(policy, "merge", policy)  # type: ignore[arg-type]
    merged = reduce(merge, map(copy_containers, copies))
    if not is_dict(merged):
        msg = (
            f"the merge policy {policy!r} returned {type(merged).__name__}; it takes two "
            "metadata dicts and returns the dict that they become"
        )
        raise PolicyError(msg)
    return merged


_PLAIN = SCALARS - {type(None)}


class _RulesByType(dict[type, Rule | None]):
    """A rule for every type: its own, else that of its nearest base (a bool is no int here)."""

    def __missing__(self, kind: type) -> Rule | None:
        bases = () if kind is bool else kind.__mro__
        self[kind] = rule = next((self[base] for base in bases if base in self), None)
        return rule


@dataclass(frozen=True)
class MetadataPolicy:
    """A table of rules, looked up by exact path, else by type, else the fallback.

    Values that are the same stay as they are and None gives way to a value, unless the path
    has a rule of its own. A rule by type is used where all values have that type.

    Args:
        rules: Dotted path to rule (`{"score": "max", "a.b": "last"}`). A rule is "first",
            "last", "max", "min", "sum", "mean", "weighted" (Σ wᵢ·valueᵢ, w = the weight of
            the copy's leg), "union" (items of lists, in order), "collect" (all distinct
            values as a list), "deep" (dicts key by key), or a function of two values.
            "sum" and "weighted" add equal values too, so they count a copy folded twice twice;
            a document that one leg repeats counts once in them and in "mean".
        types: Type to rule.
        fallback: Rule for everything else.

    Raises:
        PolicyError: A rule is neither one of these names nor callable.

    Example:
        >>> policy = MetadataPolicy(rules={"score": "max", "page": "collect"})
        >>> policy.merge({"score": 0.2, "page": 3}, {"score": 0.9, "page": 4, "tags": ["a"]})
        {'score': 0.9, 'page': [3, 4], 'tags': ['a']}
    """

    rules: Mapping[str, Rule] = field(default_factory=dict, hash=False)
    types: Mapping[type, Rule] = field(
        hash=False,
        default_factory=lambda: {
            dict: "deep",
            list: "union",
            tuple: "union",
            set: "union",
            frozenset: "union",
        },
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
        return merge_dicts(self, (a, b), (1.0, 1.0), {})

    def merge_value(self, a: Any, b: Any) -> Any:
        """Return what two values become by type, as if at a path without a rule of its own.

        Args:
            a: The first value.
            b: The second value.

        Returns:
            The combined value.
        """
        return replace(self, rules={}).resolve("", (a, b), (1.0, 1.0))

    def resolve(self, path: str, values: Sequence[Any], weights: Sequence[float]) -> Any:
        """Return what the values of one path become.

        Args:
            path: Dotted path.
            values: The values of the copies that have it, in legs' order; at least one.
            weights: The weight of each such copy's leg.

        Returns:
            The combined value.
        """
        rule = self.rules.get(path)
        if rule is not None and rule != "deep":
            return apply_rule(rule, values, weights)
        if self._plain is not None and len(values) == 2:  # noqa: PLR2004 - the usual dispute
            first, last = values
            if type(first) in _PLAIN and type(last) in _PLAIN:
                return first if self._plain == "first" or same(first, last) else last
        values, weights = without_none(values, weights)
        if not values:
            return None
        first = values[0]
        if type(first) not in SCALARS and all(map(is_dict, values)) and self.is_deep(path, values):
            return merge_dicts(self, values, weights, {}, f"{path}.")
        return _combine(self._type_rule(values), values, weights)

    def is_deep(self, path: str, dicts: Sequence[Metadata]) -> bool:
        """Tell whether dicts are combined key by key.

        Args:
            path: Their dotted path.
            dicts: The dicts.

        Returns:
            Whether the rule for them is "deep".
        """
        return (self.rules.get(path) or self._type_rule(dicts)) == "deep"

    def _type_rule(self, values: Sequence[Any]) -> Rule:
        """Return the rule by type that all values share, or else the fallback."""
        rule = self._rule_of[type(values[0])]
        if rule is None:
            return self.fallback
        for value in values:
            if value is not None and self._rule_of[type(value)] != rule:
                return self.fallback
        return rule

    @cached_property
    def _rule_of(self) -> _RulesByType:
        return _RulesByType(self.types)

    @cached_property
    def _plain(self) -> Rule | None:
        """The rule for plain values, if it only chooses one and no type of theirs has its own."""
        chooses = self.fallback in ("first", "last") and self.types.keys().isdisjoint(_PLAIN)
        return self.fallback if chooses else None

    @cached_property
    def always(self) -> frozenset[str]:
        """The paths to be asked about even where all copies agree, and the paths above them."""
        adding = (
            path
            for path, rule in self.rules.items()
            if callable(rule) or rule in ("sum", "weighted")
        )
        parts = [path.split(".") for path in adding]
        return frozenset(".".join(keys[:n]) for keys in parts for n in range(1, len(keys) + 1))


def _combine(rule: Rule, values: Sequence[Any], weights: Sequence[float]) -> Any:
    """Combine values by a rule of their type: those that are the same stay as they are."""
    first = values[0]
    if rule in _KEEPS_FIRST or _all_same(values):
        return first
    if rule == "union" and family(first) and len(set(map(family, values))) == 1:
        return reduce(union, values)
    return apply_rule(rule, values, weights)


_KEEPS_FIRST = ("first", "deep")  # deep: here the values are no dicts


def _all_same(values: Sequence[Any]) -> bool:
    first = values[0]
    for value in values[1:]:  # noqa: SIM110 - a generator costs more than the comparison
        if not same(first, value):
            return False
    return True
