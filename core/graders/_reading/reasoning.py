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
# A tag of any other name marks reasoning too, unless the name says that it holds the answer, a text from the prompt, or
# a form of text.
_NAME = (
    r"(?![\w:.-]{0,30}?(?:answ|respon|output|result|solution|final|conclu|decision|verdict|judg|rating|rate|scor|grad"
    r"|label|relevan|choice|option|letter|yes|no[>\]]|value|number|level|json|quer|question|passage|document|context"
    r"|text|title|cit|source|ref))"
    r"(?!(?:a|b|i|p|q|s|u|br|dd|dl|dt|em|h\d|hr|li|ol|td|th|tr|tt|ul|code|div|html|body|mark|pre|small|span|strong"
    r"|su[bp]|table|tbody|thead|article|section|blockquote|inst|eos|bos|pad)[\s>\]])"
    r"[a-z][\w:.-]{1,30}"
)
_OTHER_OPENS = re.compile(rf"\s*[<\[]({_NAME})(?:\s[^<>]{{0,60}})?[>\]]", re.IGNORECASE)
_LEFT_OPEN = re.compile(rf"(?:{_OPENING}|<{_NAME}>)\s*\Z", re.IGNORECASE)
_LONGEST_MARK = 120
_OTHER_CLOSES = re.compile(rf"(?:</|\[/)({_NAME})\s?[>\]](?=\s*\S)", re.IGNORECASE)
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
    for mark in _OTHER_CLOSES.finditer(text, length):
        opens = _OTHER_OPENS.match(text, length)
        is_opened = re.search(rf"[<\[]{re.escape(mark[1])}\b", text[length : mark.start()], re.IGNORECASE)
        if opens or not is_opened:
            length = mark.end()
    is_open = _OPENS.match(text, length) is not None
    if not is_open and (opens := _OTHER_OPENS.match(text, length)):
        is_open = opens[0].endswith(">") and f"</{opens[1]}" not in text[length:]
    return len(text) if is_open else length


def opened_reasoning(prompt: str) -> str:
    """Return the opening mark of reasoning at the end of a prompt; empty without one."""
    mark = _LEFT_OPEN.search(prompt, max(len(prompt) - _LONGEST_MARK, 0))
    return mark[0] if mark else ""
