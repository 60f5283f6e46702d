"""Removal of a model's reasoning before an answer, and of chat marks around it."""

from __future__ import annotations

import re

_KIND = (
    r"[\w:. -]{0,24}?(?:think|thought|reason|rational|planning|internal|analys[ei]s|reflection|scratch|deliberat"
    r"|monologue|(?<![a-z])cot(?![a-z]))"
    r"[\w:. -]{0,24}"
)
_CLOSES = re.compile(
    rf"(?:<\|?\s?/\|?|\[/|◁/){_KIND}\|?[>\]▷]"
    r"|<\|end[_ ]?(?:of[_ ])?(?:think|thought|reason)\w{0,8}\|>|<\|(?:think|thought|reason)\w{0,8}_end\|>"
    # gpt-oss, with and without its special tokens; Gemma; models that announce their answer in plain words
    r"|<\|channel\|>\s?final\b[^<]{0,80}<\|message\|>|assistantfinal|<channel\|>|<unused95>"
    r"|\.\.\.done thinking\.|\bhere is my response:",
    re.IGNORECASE,
)
_OPENING = (
    rf"(?:<\|?|\[|◁){_KIND}\|?[>\]▷]|<\|(?:begin|start)[_ ]?(?:of[_ ])?(?:think|thought|reason)\w{{0,8}}\|>"
    r"|<\|channel\|>\s?(?:analysis|commentary)\b|<\|channel>\s?thought\b|<unused94>|thinking\.\.\.[ ]?\n"
)
_OPENS = re.compile(rf"\s*(?:{_OPENING})", re.IGNORECASE)
_LEFT_OPEN = re.compile(rf"(?:{_OPENING})\s*\Z", re.IGNORECASE)
_LONGEST_MARK = 120
# Special tokens of the turn precede an answer. After the answer, a model may continue with another turn.
_MARK = r"<[|｜](?![|｜])[^<>|｜\s]{1,40}[|｜]>"
_TURN = re.compile(rf"\A(?:\s*(?:{_MARK}|<s>|<bos>|<start_of_turn>)(?:\s?(?:assistant|model)\b(?=\s*(?:\n|<)))?)++")
_TURN_ENDS = re.compile(rf"{_MARK}|<end_of_turn>|<eos>|<pad>|<turn\|>|</s>\s*\Z|\[/?INST\]")
_WHOLE = re.compile(r"\A\s*<(answer|response|output|final_answer|solution)>(.*)</\1>\s*\Z", re.DOTALL | re.IGNORECASE)


def without_thoughts(text: str) -> str:
    """Return the answer alone; empty if the model only reasoned.

    The text up to the last closing mark of reasoning is reasoning, even without an opening mark: chat templates often
    write that into the prompt. Marks of chat turns, and an `<answer>` element around the whole answer, are removed.
    """
    answer = _TURN.sub("", text[reasoning_length(text) :], count=1)
    answer = _TURN_ENDS.split(answer, maxsplit=1)[0]
    return _WHOLE.sub(r"\2", answer)


def reasoning_length(text: str) -> int:
    """Return the number of leading characters that are reasoning: all of them if the reasoning is not closed."""
    length = max((mark.end() for mark in _CLOSES.finditer(text)), default=0)
    return len(text) if _OPENS.match(text, length) else length


def opened_reasoning(prompt: str) -> str:
    """Return the opening mark of reasoning at the end of a prompt; empty without one."""
    mark = _LEFT_OPEN.search(prompt, max(len(prompt) - _LONGEST_MARK, 0))
    return mark[0] if mark else ""
