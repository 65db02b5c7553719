"""What a model says to the user around its queries: "Sure! Here are three versions:"."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from langchain_safe_retrievers.queries.markers import is_item

if TYPE_CHECKING:
    from collections.abc import Sequence

_LONGEST = 400  # characters; longer lines are never chatter
_SUBJECT = re.compile(
    r"question|quer(?:y|ies)|version|alternativ|variation|variant|rephras|reword|reformulat"
    r"|paraphras|perspective|问题|問題|查询|查詢|版本|改写|提问|表述|问法",
    re.IGNORECASE,
)
_POLITE = (
    r"(?:sure(?: thing)?|certainly|of course|absolutely|okay|ok|great|alright|yes|got it"
    r"|understood|no problem|happy to help|好的|当然(?:可以)?|没问题)"
)
_POLITE_ONLY = re.compile(rf"{_POLITE}[\s,.!:。！，：]*", re.IGNORECASE)
_HERE = (
    rf"(?:{_POLITE}[\s,.!。！，—-]+)?"
    r"(?:here(?:[’']s|\s+is|\s+are)|below\s+(?:is|are)|以下|下面|这里|這裡)"
)
_PRESENTS = re.compile(_HERE, re.IGNORECASE)
_PRESENTS_INLINE = re.compile(rf"(?P<intro>{_HERE}[^:：\n]{{0,200}}[:：])\s*(?=\S)", re.IGNORECASE)
_ANNOUNCES = re.compile(
    rf"(?:{_POLITE}\b|i(?:[’'](?:ve|ll|d)|\s+(?:have|will|can|would))\b|let(?:[’']s|\s+me)\b"
    r"|the following\b|these are\b|根据|我(?:将|会|来|可以))",
    re.IGNORECASE,
)
_CLOSES = re.compile(
    r"(?:i\s+)?hope\s+(?:this|these|that|those|it|they)\b|(?:please\s+)?let me know\b"
    r"|(?:please\s+)?feel free\b"
    r"|if you\b.*\b(?:let me know|feel free|just ask|i can|tell me)\b|\(?note(?::| that)"
    r"|these (?:\w+ )?(?:questions|queries|versions|variations|alternatives|rephrasings"
    r"|reformulations)\b"
    r"|each (?:of these|version|question|query|variation)\b"
    r"|希望(?:这|以上|能|对|它|上述)|如果?.*(?:请|告诉|随时)|请告诉我|请随时|(?:这些|以上)(?:问题|查询|版本|是)"
    r"|ich hoffe\b|j[’']espère\b|espero que\b",
    re.IGNORECASE,
)
_OFFERS = re.compile(
    r"would you like (?:me|any|more)\b|do you want me\b|shall i\b|is there anything else\b|需要我",
    re.IGNORECASE,
)
_CLOSES_BARE = re.compile(
    r"(?:i )?hope (?:this|these|that|it) helps?(?: you)?|希望(?:这|以上|对|能).*帮助", re.IGNORECASE
)
_STATEMENT = re.compile(r"[.!。！…~][)）\"”*]?[^\w?？]*$")
_STATEMENT_ENDS = (".", "!", ":", "。", "！", "：")


def without_introduction(text: str) -> str:
    """Take "Here are three versions of the question:" off the front of a text.

    Example:
        >>> without_introduction("Sure! Here is the rephrased question: what is RAG?")
        'what is RAG?'
        >>> without_introduction("Here is the news: who reads it?")
        'Here is the news: who reads it?'
    """
    found = _PRESENTS_INLINE.match(text)
    return text[found.end() :] if found and _SUBJECT.search(found["intro"]) else text


def without_chatter(lines: Sequence[str]) -> list[str]:
    """Drop the lines that introduce the queries, comment on them or sign off.

    The first line goes if it ends with a colon or is plainly talk; the last one if
    it is plainly a sign-off. Where most lines are items of a list, a statement
    that is none goes too. Items stay, and so does the last line that is left.

    Args:
        lines: The lines of one answer, without white space around them.

    Returns:
        The lines that are left, in their order.

    Example:
        >>> without_chatter(["Sure!", "Three versions:", "what is RAG", "I hope this helps!"])
        ['what is RAG']
        >>> without_chatter(["I hope this helps meaning"])
        ['I hope this helps meaning']
    """
    items = [is_item(line) for line in lines]
    start, end = 0, len(lines)
    while end - start > 1 and not items[start] and _introduces(lines[start]):
        start += 1
    while end - start > 1 and not items[end - 1] and _signs_off(lines[end - 1]):
        end -= 1
    listed = sum(items[start:end])
    is_list = listed > 1 and 2 * listed >= end - start
    return [
        lines[i]
        for i in range(start, end)
        if items[i] or not (is_list and lines[i].endswith(_STATEMENT_ENDS))
    ]


def _introduces(line: str) -> bool:
    if line.endswith((":", "：")) or _POLITE_ONLY.fullmatch(line):
        return True
    if len(line) > _LONGEST or line.endswith(("?", "？")) or not _SUBJECT.search(line):
        return False
    announces = _ANNOUNCES.match(line) and _STATEMENT.search(line)
    return bool(announces or _PRESENTS.match(line))


def _signs_off(line: str) -> bool:
    if len(line) > _LONGEST:
        return False
    closes = _CLOSES.match(line) and _STATEMENT.search(line)
    return bool(closes or _OFFERS.match(line) or _CLOSES_BARE.fullmatch(line))
