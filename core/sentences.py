"""The split of a passage into sentences, by a few rules and without a model."""

from __future__ import annotations

import re

SPLITTER = "rules-1"
"""Version of the rules. It changes with every change of the rules that can move a span."""

MAX_SENTENCE = 400
"""Characters beyond which a sentence is cut at a space."""

Span = tuple[int, int]

# Possessive quantifiers and the look-behind keep the scan linear on dot leaders and white space.
_CANDIDATE = re.compile(
    r"""(?<![.!?…])(?P<mark>[.!?…]++)["'”’»)\]]*+(?:\[\d{1,3}\])*+(?P<gap>\s++)"""
    r"""|(?P<full>[。！？]++["'”’」』）]*+)"""
    r"""|(?P<line>\n\s*+)"""
    r"""|(?<!\S)(?P<bullet>[•▪●◦‣](?=\s))"""
)
_LAST_WORD = re.compile(r"""[^\s("'“‘\[]*\Z""")
_NEXT_WORD = re.compile(r"""["'“‘«(\[]*([^\W\d_]*)""")
_INITIALS = re.compile(r"[A-Z]|(?:[a-zA-Z]\.)+[a-zA-Z]|[Pp]h\.[Dd]")
_SPACE = re.compile(r"\s")
_LIST_ITEM = re.compile(r"(?:[-*–—+•▪●◦‣]|\(?(?:\d{1,3}|[a-zA-Z])[.)])\s")


def _word_set(*lines: str) -> frozenset[str]:
    return frozenset(word for line in lines for word in line.split())


# Abbreviations before a name or an explanation: they do not end a sentence.
_INSIDE = _word_set(
    "mr mrs ms dr prof st gen col sgt lt capt cmdr adm rev hon pres gov sen rep mt",
    "vs e.g i.e eg ie cf viz approx ca",
)
# Abbreviations that do not end a sentence if a number follows.
_NUMBERED = _word_set("no nos fig figs eq eqs sec ch vol vols p pp art ed")
# Abbreviations that end a sentence only if the next word usually opens one.
_EITHER = _word_set(
    "etc al inc ltd co corp jr sr dept univ assn bros ave blvd",
    "jan feb apr jun jul aug sep sept oct nov dec mon tue wed thu fri",
    "hr hrs kg km cm mm oz lb lbs ft",
)
_OPENERS = _word_set(
    "the a an this that these those it its he she we they you i there here in on"
    " at by for from with",
    "as if when while where after before since although though because but and or so yet however",
    "moreover also then thus therefore some many most other his her their our my"
    " your one what who how",
    "why which to",
)
# A shorter line without a final punctuation mark is a heading or an item, not wrapped text.
_WRAPPED = 45


def split_sentences(text: str) -> list[Span]:
    """Split a text into sentences.

    A sentence ends at:
    - a full stop, question mark, exclamation mark or ellipsis, with the quotes and brackets that
      close after it;
    - an empty line;
    - a line end that does not look like wrapped text;
    - the beginning of a list item.

    A mark does not end it if the next word begins in lower case. Nor does a full stop of an
    abbreviation, an initial, a number or a list number. A sentence over 400 characters is cut at a
    space.

    Returns:
        Character spans (begin, end) in order, disjoint and not empty. Together they cover every
        character that is not white space. No span begins or ends with white space.
    """
    spans: list[Span] = []
    begin = 0
    for match in _CANDIDATE.finditer(text):
        if match["bullet"]:
            end = match.start()
        elif match["full"] or (
            _line_ends(text, match) if match["line"] else _mark_ends(text, begin, match)
        ):
            end = match.end()
        else:
            continue
        _append_span(spans, text, begin, end)
        begin = end
    _append_span(spans, text, begin, len(text))
    return spans


def _mark_ends(text: str, begin: int, match: re.Match[str]) -> bool:
    """Return whether a punctuation mark before white space ends the sentence that started at
    `begin`.
    """
    if match["gap"].count("\n") > 1:
        return True
    after = match.end()
    if _LIST_ITEM.match(text, after) and "\n" in match["gap"]:
        return True
    next_word = _NEXT_WORD.match(text, after)
    opener = next_word[1] if next_word else ""
    if opener[:1].islower():
        return False
    if match["mark"] != ".":
        return True
    at = match.start()
    found = _LAST_WORD.search(text, max(begin, at - 24), at)
    word = found[0] if found else ""
    if word.isdigit() and len(word) <= 3 and not text[begin : at - len(word)].strip():
        return False
    lower = word.lower()
    if lower in _INSIDE or (lower in _NUMBERED and text[after : after + 1].isdigit()):
        return False
    if lower in _EITHER or _INITIALS.fullmatch(word):
        return opener.lower() in _OPENERS
    return True


def _line_ends(text: str, match: re.Match[str]) -> bool:
    """Return whether a line end without a punctuation mark ends a sentence."""
    at, after = match.span()
    if match["line"].count("\n") > 1 or _LIST_ITEM.match(text, after):
        return True
    if text[after : after + 1].islower():
        return False
    line = text[text.rfind("\n", 0, at) + 1 : at].rstrip()
    return len(line) < _WRAPPED or line.endswith((":", ";"))


def _append_span(spans: list[Span], text: str, begin: int, end: int) -> None:
    """Append the span without the white space around it, cut if it is too long."""
    begin, end = _strip_span(text, begin, end)
    while end - begin > MAX_SENTENCE:
        limit = begin + MAX_SENTENCE
        later = _SPACE.search(text, limit, end)
        # The last space up to the limit, else the first one after it.
        cut = next(
            (at for at in range(limit, begin, -1) if text[at].isspace()), later and later.start()
        )
        if cut is None:
            break
        spans.append(_strip_span(text, begin, cut))
        begin = cut
        while text[begin].isspace():
            begin += 1
    if begin < end:
        spans.append((begin, end))


def _strip_span(text: str, begin: int, end: int) -> Span:
    """Return a span without the white space around it; a blank one ends before its beginning."""
    part = text[begin:end]
    return end - len(part.lstrip()), begin + len(part.rstrip())
