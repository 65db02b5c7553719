"""Where each value of a folded document came from."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

from langchain_core.documents import Document

from langchain_safe_retrievers.explaining.native import fields_dict
from langchain_safe_retrievers.merging.conflicts import Conflicts, find_conflicts, name_of
from langchain_safe_retrievers.merging.values import Interner, family, is_dict, same, surely_same

_MISSING = object()
_LISTS = ("list", "tuple", "set")
Holders = list[tuple[int, Any]]
"""The number of a copy, and the value that it has at a path."""


@dataclass(frozen=True)
class DisplacedValue:
    """A value that a copy had and that the folded document does not show at its place.

    Args:
        value: The value.
        copies: Indices into the document's copies: those that had it.
    """

    value: Any
    copies: tuple[int, ...] = ()


@dataclass(frozen=True)
class ExplainedValue:
    """Where one value of a folded document came from.

    Args:
        path: Dotted path of metadata keys, `[n]` for an element of a list that was joined;
            or "Document.id", "Document.page_content" where copies differ in those.
        value: The value there; None if there is none.
        copies: Indices into the document's copies: those that had it, or any part of a list that
            was joined. Empty if the merge policy made it.
        displaced: The values that lost against it.
        is_shown: Whether the document has a value there.
        is_joined: Whether it is a list with elements of several copies; they follow one by one.
    """

    path: str
    value: Any
    copies: tuple[int, ...] = ()
    displaced: tuple[DisplacedValue, ...] = ()
    is_shown: bool = True
    is_joined: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the value and its origin as JSON-native values."""
        displaced = [fields_dict(each, "value", "copies") for each in self.displaced]
        names = ("path", "value", "copies", "is_shown", "is_joined")
        return fields_dict(self, *names) | {"displaced": displaced}


class Spot(NamedTuple):
    """A path, what the folded document shows there, and which copies have a value there."""

    path: str
    shown: Any
    holders: Holders


def origins_of(
    folded: Document,
    copies: Sequence[Document],
    conflicts: Conflicts,
    reserved: Collection[str] = (),
) -> tuple[ExplainedValue, ...]:
    """Return which copies had each value of a folded document, and what each value displaced.

    Args:
        folded: What the copies became.
        copies: The copies, in legs' order.
        conflicts: What the engine recorded.
        reserved: Metadata keys that the engine writes itself; left out.

    Returns:
        A value for each path.

    Example:
        >>> one = Document(page_content="a", metadata={"lang": "en"})
        >>> two = Document(page_content="a", metadata={"lang": "de", "page": 3})
        >>> folded = Document(page_content="a", metadata={"lang": "en", "page": 3})
        >>> for value in origins_of(folded, [one, two], {"lang": ["en", "de"]}):
        ...     print(value.path, value.copies, [lost.value for lost in value.displaced])
        lang (0,) ['de']
        page (1,) []
    """
    shown = _without(folded.metadata, reserved)
    if not conflicts and all(_agrees(copy.metadata, folded.metadata, shown) for copy in copies):
        everyone = tuple(range(len(copies)))
        return tuple(ExplainedValue(name_of(key), shown[key], everyone) for key in shown)
    bare = [_without(copy.metadata, reserved) for copy in copies]
    spots = [*_spots(shown, bare, conflicts), *_outside_metadata(folded, copies)]
    explained = [value for spot in spots for value in _explained(spot, conflicts, copies)]
    known = {value.path for value in explained}
    forgotten = [Spot(path, _MISSING, []) for path in conflicts if path not in known]
    return (*explained, *(v for spot in forgotten for v in _explained(spot, conflicts, copies)))


def _without(metadata: Mapping[Any, Any], reserved: Collection[str]) -> Mapping[Any, Any]:
    if metadata.keys().isdisjoint(reserved):
        return metadata
    return {key: value for key, value in metadata.items() if key not in reserved}


def _agrees(metadata: object, folded: object, shown: object) -> bool:
    return metadata is folded or surely_same(metadata, shown)


def _spots(
    shown: Mapping[Any, Any], copies: Sequence[Mapping[Any, Any]], conflicts: Conflicts
) -> Iterator[Spot]:
    """Walk through the folded metadata and all copies at once, without recursion: any depth."""
    todo: list[tuple[str, Mapping[Any, Any], Holders]] = [("", shown, list(enumerate(copies)))]
    seen = set()
    for prefix, whole, parts in todo:  # grows as it goes
        for key in dict.fromkeys(chain(whole, *(part for _, part in parts))):
            path, there = prefix + name_of(key), whole.get(key, _MISSING)
            holders = [(number, part[key]) for number, part in parts if key in part]
            inner = [holder for holder in holders if is_dict(holder[1])] if is_dict(there) else []
            ids = (id(there), *(id(value) for _, value in inner))
            if not inner or ids in seen:  # no dicts, or met already: a cycle, or shared
                yield Spot(path, there, holders)
                continue
            seen.add(ids)
            todo.append((f"{path}.", there, inner))
            if path in conflicts:
                yield Spot(path, there, holders)


def _outside_metadata(folded: Document, copies: Sequence[Document]) -> Iterator[Spot]:
    """Yield id and text if the copies differ in them."""
    ids = [(i, copy.id) for i, copy in enumerate(copies) if copy.id is not None]
    texts = [(i, copy.page_content) for i, copy in enumerate(copies)]
    if any(known != ids[0][1] for _, known in ids):
        yield Spot("Document.id", folded.id, list(ids))
    if any(text != texts[0][1] for _, text in texts):
        yield Spot("Document.page_content", folded.page_content, list(texts))


def _explained(
    spot: Spot, conflicts: Conflicts, copies: Sequence[Document]
) -> Iterator[ExplainedValue]:
    path, shown, holders = spot
    lost = tuple(
        DisplacedValue(value, _who(value, holders) or _who_brought(path, value, copies))
        for value in conflicts.get(path, ())
        if not _is_shown(value, shown)
    )
    if shown is _MISSING:
        if lost:
            yield ExplainedValue(path, None, (), lost, is_shown=False)
        return
    if family(shown) in _LISTS and not all(same(value, shown) for _, value in holders):
        elements = list(_elements(path, shown, holders))
        who = {number for element in elements for number in element.copies}
        yield ExplainedValue(path, shown, tuple(sorted(who)), lost, is_joined=True)
        yield from elements
    else:
        yield ExplainedValue(path, shown, _who(shown, holders), lost)


def _who(value: Any, holders: Holders) -> tuple[int, ...]:
    return tuple(number for number, held in holders if same(held, value))


def _who_brought(path: str, value: Any, copies: Sequence[Document]) -> tuple[int, ...]:
    """Return the copies in which the value had been displaced before they came here."""
    found = []
    for number, copy in enumerate(copies):
        records = [each for each in copy.metadata.values() if is_dict(each) and path in each]
        values = [record[path] for record in records if family(record[path]) == "list"]
        if any(same(each, value) for known in values for each in known):
            found.append(number)
    return tuple(found)


def _is_shown(value: Any, shown: Any) -> bool:
    return shown is not _MISSING and not find_conflicts({"": shown}, [{"": value}])


def _elements(path: str, shown: Any, holders: Holders) -> Iterator[ExplainedValue]:
    """Yield which copies had each element of a list that was joined."""
    seen = Interner()
    held = [
        (number, set(seen.keys(value)) if family(value) in _LISTS else {seen.key(value)})
        for number, value in holders
    ]
    for place, element in enumerate(shown):
        key = seen.key(element)
        who = tuple(number for number, keys in held if key in keys)
        yield ExplainedValue(f"{path}[{place}]", element, who)
