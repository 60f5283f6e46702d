"""Reasoning that models write before an answer, and the marks of a chat around an answer."""

from __future__ import annotations

import re

_KIND = (
    r"[\w:. -]{0,24}?(?:think|thought|reason|analys[ei]s|reflection|scratch|deliberat|monologue|(?<![a-z])cot(?![a-z]))"
    r"[\w:. -]{0,24}"
)
_CLOSES = re.compile(
    rf"(?:<\|?\s?/\|?|\[/|◁/){_KIND}\|?[>\]▷]"
    r"|<\|end[_ ]?(?:of[_ ])?(?:think|thought|reason)\w{0,8}\|>|<\|(?:think|thought|reason)\w{0,8}_end\|>"
    # gpt-oss, with its marks and without them; Gemma; models that write their reasoning in plain words
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
# Before an answer stand the marks of its turn; after it a model may go on with another turn.
_MARK = r"<[|｜](?![|｜])[^<>|｜\s]{1,40}[|｜]>"
_TURN = re.compile(rf"\A(?:\s*(?:{_MARK}|<s>|<bos>|<start_of_turn>)(?:\s?(?:assistant|model)\b(?=\s*(?:\n|<)))?)++")
_TURN_ENDS = re.compile(rf"{_MARK}|<end_of_turn>|<eos>|<pad>|<turn\|>|</s>\s*\Z|\[/?INST\]")
_WHOLE = re.compile(r"\A\s*<(answer|response|output|final_answer|solution)>(.*)</\1>\s*\Z", re.DOTALL | re.IGNORECASE)


def without_thoughts(text: str) -> str:
    """The answer alone: empty if the model only reasoned.

    The text up to the last closing mark of reasoning is reasoning, whatever the mark and also if none opened it: chat
    templates often write the opening mark into the prompt. Marks of the chat's turns are no part of an answer, nor is
    an `<answer>` element around all of it.
    """
    answer = _TURN.sub("", text[reasoning_length(text) :], count=1)
    answer = _TURN_ENDS.split(answer, maxsplit=1)[0]
    return _WHOLE.sub(r"\2", answer)


def reasoning_length(text: str) -> int:
    """Characters at the beginning of a text that are reasoning: all of them if it is open at the end."""
    length = max((mark.end() for mark in _CLOSES.finditer(text)), default=0)
    return len(text) if _OPENS.match(text, length) else length


def opened_reasoning(prompt: str) -> str:
    """The opening mark of reasoning in which a prompt ends; empty if it ends in none."""
    mark = _LEFT_OPEN.search(prompt, max(len(prompt) - _LONGEST_MARK, 0))
    return mark[0] if mark else ""
