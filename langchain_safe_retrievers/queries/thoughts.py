"""Telling what a reasoning model thought from what it answered."""

from __future__ import annotations

import re

_NAME = r"(?i:think(?:ing)?|thoughts?|reasoning|scratchpad)"
_TAG = re.compile(
    rf"(?P<open>(?:^|(?<=>)[ \t]*)(?:[<◁]{_NAME}[>▷]|\[THINK\]))|[<◁]/{_NAME}[>▷]|\[/THINK\]",
    re.MULTILINE,
)
_AROUND_A_MENTION = frozenset(" \t`'\"")
_NUMBERED = re.compile(r"\d{1,2}[.)、]\s*\S")


def split_thoughts(text: str) -> tuple[str, str]:
    """Split a model's text into its answer and a thought whose other tag is missing.

    A thought between two tags is dropped. Text before a closing tag that nothing
    opened is thought, and so is text after an opening tag that nothing closes.
    An opening tag counts at the start of a line, and a closing tag without an
    opening one does not count between spaces or quotes, where it is only mentioned.

    Args:
        text: What the model wrote, each line without white space around it.

    Returns:
        The answer, and the last half-open thought (`""` when every tag has its partner).

    Example:
        >>> split_thoughts("<think>easy</think>What is RAG?")
        ('What is RAG?', '')
        >>> split_thoughts("easy</think>What is RAG?")
        ('What is RAG?', 'easy')
    """
    answer: list[str] = []
    stray, start, thinking = "", 0, False
    for tag in _TAG.finditer(text):
        if tag["open"] and not thinking:
            answer.append(text[start : tag.start()])
        elif not tag["open"] and not thinking:
            if _is_mention(text, tag):
                continue
            stray = "".join([*answer, text[start : tag.start()]])
            answer.clear()
        elif tag["open"]:
            continue
        start, thinking = tag.end(), bool(tag["open"])
    if thinking:
        return "\n".join(answer).strip(), text[start:]
    return "\n".join([*answer, text[start:]]).strip(), stray


def closing_list(thought: str) -> str:
    r"""Return the last paragraph of a thought if it is plainly a list of queries, else `""`.

    That is: two or more lines that are all numbered, the first with 1, or all questions.

    Example:
        >>> closing_list("Let me vary the words.\n\n1. what is RAG\n2. RAG explained")
        '1. what is RAG\n2. RAG explained'
        >>> closing_list("Let me vary the words.\nThe user wants two.")
        ''
    """
    paragraph = thought.strip().rpartition("\n\n")[2]
    lines = paragraph.split("\n")
    numbered = lines[0].startswith("1") and all(map(_NUMBERED.match, lines))
    questions = all(line.endswith(("?", "？")) for line in lines)
    return paragraph if len(lines) > 1 and (numbered or questions) else ""


def _is_mention(text: str, tag: re.Match[str]) -> bool:
    around = (text[tag.start() - 1 : tag.start()], text[tag.end() : tag.end() + 1])
    return all(char in _AROUND_A_MENTION for char in around)
