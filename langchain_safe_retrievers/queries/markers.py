"""Numbers, bullets, labels and quotes around a query, and how to take them off.

Some markers can also be the beginning of a query: "1. FC Köln results". Whether
they are numbering is a property of the whole answer, so `strip_markers` looks at
all lines together.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_HAN = "一二三四五六七八九十"
_CIRCLED = "\u2460-\u249b\u2776-\u2793"
_UPPER = r"""(?=[^\W\d_a-z]|["'“‘«„「『《*`])"""  # what may follow "1." without a space

_BULLET = re.compile(
    r"[*-](?:\s+\[[ xX]\])?(?:\s+|$)|[–—](?:\s+|$)|[•‣⁃◦∙・●○▪▫■□►▶◆◇★☆✓✔✅🔹🔸👉]\ufe0f?\s*"
    r"|#{2,6}\s+|#\s+(?!of\b)"
)
_RARE_BULLET = re.compile(r"(?:[+>→·]|->|=>)\s+")  # also operators: only if lines share them

_CERTAIN = re.compile(
    rf"(?:[(（]\s*\d{{1,2}}\s*[)）]|\d{{1,3}}[.．]?[)）]|\d{{1,3}}、|\d\ufe0f?\u20e3"
    rf"|[{_CIRCLED}]|[{_HAN}]{{1,3}}、|[(（][{_HAN}]{{1,3}}[)）])[.:：]?\s*"
)
_DIGITS = re.compile(
    rf"(\d{{1,3}})(?:[.。](?:\s+|$|{_UPPER})|\s?:(?:\s+|$)|．|：(?!\d)|\s+[-–—]\s+)\s*"
    r"|[Qq#](\d{1,3})\s*[.:：)）、]\s*|[【\[](\d{1,3})[】\]][.:：]?\s*"
)
_LETTERS = re.compile(
    r"([A-Za-z]|[ivxIVX]{1,4})[.)）:：](?:\s+|$)"
    r"|[(（]([A-Za-z]|[ivxIVX]{1,4})[)）]\s*"
)
_ALONE = re.compile(r"[Qq#]?1\s?[.．:：]|[aA]\)|\([aA]\)")
_ROMAN = {"i": 1, "ii": 2, "iii": 3, "iv": 4, "v": 5, "vi": 6, "vii": 7, "viii": 8}

_ADJECTIVE = (
    r"(?:alternat(?:iv)?e|rephrased|reworded|rewritten|reformulated|paraphrased|generated"
    r"|related|search|similar|original|new|sub|different)"
)
_NOUN = (
    r"(?:question|quer(?:y|ie)|version|alternative|variation|variant|paraphrase|rephrasing"
    r"|reformulation)"
)
_NUMERAL = rf"(?:#|no\.?\s*)?(?:\d{{1,2}}|[a-e]|one|two|three|four|five|[{_HAN}])"
_FOREIGN = (
    r"(?:(?:替代|备选|改写|相关|搜索|检索)?(?:问题|問題|查询|查詢|版本|检索词|问句|变体|改写)|質問|クエリ|질문|쿼리"
    r"|Frage|Suchanfrage|Pregunta|Consulta|Requête|Вопрос|Запрос)"
)
_LABEL = re.compile(
    # First a cheap look whether a delimiter comes at all: most lines have no label.
    r"(?=[^\W\d][^:：.)、–—-]{0,120}[:：.)、–—-])(?:"
    rf"(?:{_ADJECTIVE}[\s-]+){{0,2}}(?:{_NOUN}|perspective|option|rewrite)\s*{_NUMERAL}"
    r"(?:\s*\([^()\n]{1,60}\))?\s*(?:[:：、]|[.)](?=\s|$)|[-–—](?=\s|$))\s*"
    rf"|(?:{_ADJECTIVE}[\s-]+){{0,2}}{_NOUN}s?\s*[:：]\s*|Q\s*[:：]\s*"
    rf"|(?:第\s*(?:\d{{1,2}}|[{_HAN}])\s*[个個种種条條]?\s*)?{_FOREIGN}\s*(?:\d{{1,2}}|[{_HAN}])?\s*[:：]\s*"
    rf"|{_FOREIGN}\s*(?:\d{{1,2}}|[{_HAN}])\s*[、.．\-–—]\s*)",
    re.IGNORECASE,
)
_ITEM = re.compile(
    "|".join(kind.pattern for kind in (_BULLET, _CERTAIN, _DIGITS, _LETTERS))
    + f"|(?i:{_LABEL.pattern})"
)
_PAIRS = {
    "__": "__", '"': '"', "'": "'", "`": "`", "*": "*", "_": "_",
    "“": "”", "‘": "’", "„": "“", "«": "»", "»": "«", "‹": "›",
    "「": "」", "『": "』", "《": "》", "〈": "〉", "＂": "＂",
}  # fmt: skip
_NEXT_INLINE = re.compile(
    r"(?<=[?？!;；。])\s*(?=(?:[(（]?\d{1,2}[)）]|\d{1,2}、|\d{1,2}\.\s)\s*\S)"
)
_FIRST_INLINE = re.compile(r"(?:[(（]?1[)）]|1、|1\.\s)")
_APOSTROPHE = re.compile(r"(?<=\w)['’](?=\w)")
_WORD = re.compile(r"[^\W_]")


def has_words(line: str) -> bool:
    """Return whether a line holds any letter or digit."""
    return _WORD.search(line) is not None


def is_item(line: str) -> bool:
    """Return whether a line begins as an item of a list does, or with a label."""
    return _ITEM.match(line) is not None


def split_inline(line: str) -> list[str]:
    """Split a list that stands on one line: "1. what is RAG? 2. how does RAG work?".

    It is split only between sentences, and only if its numbers are 1, 2, 3, ….
    """
    parts = _NEXT_INLINE.split(line)
    numbers = [part.lstrip("(（")[: len(str(n))] for n, part in enumerate(parts, start=1)]
    counts_up = numbers == [str(n) for n in range(1, len(parts) + 1)]
    return parts if counts_up and _FIRST_INLINE.match(line) else [line]


def strip_markers(lines: Sequence[str]) -> list[str]:
    """Take bullets, then numbering, off lines that form one answer.

    A bullet goes if white space follows it, as does a number whose delimiter only
    numbering has (`1)`, `(1)`, `1、`, `①`). A number or letter whose delimiter could
    be a query's own (`1.`, `1:`, `1 -`, `[1]`, `a)`) goes where two or more lines
    count up, or where the only line is the first.

    Args:
        lines: The lines, without white space around them.

    Returns:
        As many lines, some of them shorter, perhaps empty.

    Example:
        >>> strip_markers(["1. 2024 tax rules", "2. 3 body problem"])
        ['2024 tax rules', '3 body problem']
        >>> strip_markers(["1. FC Köln results", "Bundesliga results"])
        ['1. FC Köln results', 'Bundesliga results']
    """
    lines = [_without(_BULLET, line) for line in lines]
    if sum(_RARE_BULLET.match(line) is not None for line in lines) > 1:
        lines = [_without(_RARE_BULLET, line) for line in lines]
    for kind in (_DIGITS, _LETTERS):
        counted = set(_counted(lines, kind))
        if len(counted) > 1 or (counted and len(lines) == 1 and _ALONE.match(lines[0])):
            kinds = (kind if place in counted else _CERTAIN for place in range(len(lines)))
            return list(map(_without, kinds, lines))
    return [_without(_CERTAIN, line) for line in lines]


def strip_label(line: str) -> str:
    """Take labels, and quotes or markup around the whole, off one line.

    Example:
        >>> strip_label('Alternative question 2: "what is RAG?"')
        'what is RAG?'
        >>> strip_label('"cats" or "dogs"')
        '"cats" or "dogs"'
    """
    for _ in range(3):
        shorter = unquote(_without(_LABEL, line))
        if shorter == line:
            break
        line = shorter
    return line


def unquote(line: str) -> str:
    """Take one pair of quotes, backticks, asterisks or underscores off a whole line."""
    if line[:1] not in _PAIRS:
        return line
    opening = "__" if line.startswith("__") else line[0]
    closing, body = _PAIRS[opening], line.rstrip(",;，；")
    inner = body[len(opening) : -len(closing)].strip()
    rest = _APOSTROPHE.sub("", inner)
    if not body.endswith(closing) or opening in rest or closing in rest or not has_words(inner):
        return line
    return line if "_" in opening and " " not in inner else inner


def _without(marker: re.Pattern[str], line: str) -> str:
    found = marker.match(line)
    return line[found.end() :].strip() if found else line


def _counted(lines: Sequence[str], kind: re.Pattern[str]) -> Iterator[int]:
    """Yield the places of the lines whose numbers count up, from 1 or from their place."""
    last = None
    for place, line in enumerate(lines):
        found = kind.match(line)
        for number in _numbers(found[found.lastindex or 0]) if found else ():
            if number in (0, 1, place + 1) or (last is not None and number > last):
                last = number
                yield place
                break


def _numbers(token: str) -> list[int]:
    if token.isdecimal():
        return [int(token)]
    letter = unicodedata.normalize("NFKC", token).lower()
    values = [ord(letter) - 96] if len(letter) == 1 and letter.isascii() else []
    return [*values, _ROMAN[letter]] if letter in _ROMAN else values
