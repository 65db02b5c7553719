"""Queries that a model wrote as JSON, or as nearly JSON, within its text."""

from __future__ import annotations

import json
import re

_START = re.compile(r"^(?=[\[{])", re.MULTILINE)
_END = re.compile(r"[ \t]*(?:,?\s*\n|\Z)")
_ITEM = re.compile(
    r"""\s*(?:"([^"\\\n]*(?:\\.[^"\\\n]*)*)"|'([^'\\\n]*(?:\\.[^'\\\n]*)*)')\s*(?:,|(\])|\Z)"""
)
_CUT_OFF = re.compile(r"""\s*(?:["'][^\n]*|\]?\s*)""")
_LISTS = ("queries", "questions", "lines", "versions", "alternatives", "variations")
_TEXTS = ("query", "question", "text", "content")
_TALK = ("reasoning", "thinking", "thought", "thoughts", "explanation", "rationale")
_decoder = json.JSONDecoder(strict=False)


def embedded_queries(text: str) -> list[str] | None:
    """Return the strings of the JSON that opens the first line to start with a bracket.

    Lists, objects with a key like `queries`, objects that hold one query each, and
    JSON Lines are read; so are lists in single quotes or cut off at the end.

    Args:
        text: What the model wrote, each line without white space around it.

    Returns:
        The strings in their order, or None if there is no JSON that holds any.

    Example:
        >>> embedded_queries('["what is RAG", "RAG explained"]')
        ['what is RAG', 'RAG explained']
        >>> embedded_queries('{"reasoning": "vary", "queries": ["what is RAG"]}')
        ['what is RAG']
        >>> embedded_queries("[1] what is RAG") is None
        True
    """
    start = _START.search(text)
    if start is None:
        return None
    return _decoded(text, start.end()) or _quoted_items(text, start.end()) or None


def _decoded(text: str, start: int) -> list[str]:
    queries: list[str] = []
    while text.startswith(("[", "{"), start):
        try:
            value, end = _decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            break
        after = _END.match(text, end)
        if after is None:
            break
        queries += _strings(value)
        start = after.end()
    return queries


def _strings(value: object) -> list[str]:
    """Return the query strings of a decoded list, or of an object that holds one."""
    if isinstance(value, dict):
        value = next((value[key] for key in _LISTS if value.get(key)), value)
    items = value if isinstance(value, list) else [value]
    return [text for item in items for text in _strings_of_item(item)]


def _strings_of_item(item: object) -> list[str]:
    if isinstance(item, str):
        return item.splitlines()
    if not isinstance(item, dict):
        return []
    found = next((item[key] for key in _TEXTS if isinstance(item.get(key), str)), None)
    values = [found] if found else [item[key] for key in item if key not in _TALK]
    return [line for text in values if isinstance(text, str) for line in text.splitlines()]


def _quoted_items(text: str, start: int) -> list[str]:
    """Return the items of a list that is not quite JSON; a last one cut off is left out."""
    if not text.startswith("[", start):
        return []
    items: list[str] = []
    place = start + 1
    while item := _ITEM.match(text, place):
        items.append((item[1] or item[2] or "").replace("\\'", "'").replace('\\"', '"'))
        place = item.end()
        if item[3]:
            return items if _END.match(text, place) else []
    return items if _CUT_OFF.fullmatch(text, place) else []
