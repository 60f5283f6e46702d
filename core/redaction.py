"""Taking keys out of texts from outside: whole, in pieces, encoded, reversed, or split over lines."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

REDACTED = "[key]"
SECRET_LENGTH = 12
"""Characters from which a key is looked for in every form; of a shorter one, as "ollama", only the key itself."""
PIECE = 8
"""Characters of a key, with its punctuation, that give away too much of it."""
BARE_PIECE = 12
"""The same where only letters and digits are compared, which a key made of words shares with plain English sooner."""
ENCODED_PIECE = 12
"""Characters of base64: 9 of the key."""
HEX_PIECE = 16
"""Digits of hexadecimal: 8 characters of the key."""

_TRACES = (
    re.compile(
        r"(?i)(\b(?:authorization|api-key|x-api-key)\b['\"]?\s*[:=]\s*(?:b?['\"])?(?:bearer\s+|basic\s+)?)[^\s'\",}]+"
    ),
    re.compile(r"(?i)(\bbearer\s+)[\w.~+/=*-]{8,}"),
    # What OpenAI writes of a wrong key has its first and last characters.
    re.compile(r"()\bsk-[\w*-]{6,}"),
)

# A character written as URLs, JSON, Python and HTML write it, also twice over; or a line break that is written out.
_WRITTEN_OUT = (
    r"%(?:25){0,4}([0-9a-f]{2})|\\{1,8}+(?:u([0-9a-f]{4})|x([0-9a-f]{2})|([nrt]))"
    r"|&(?:amp;){0,4}+#(?:x0{0,4}([0-9a-f]{2,4})|0{0,4}([0-9]{2,4}));"
)
_ESCAPE = re.compile(_WRITTEN_OUT, re.IGNORECASE)
_UNIT = re.compile(rf"{_WRITTEN_OUT}|.", re.IGNORECASE | re.DOTALL)
_ESCAPES = frozenset("%\\&")
# White space and what is not seen.
_GAPS = re.compile(r"[\s\x00-\x1f\x7f\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]+")
_BARE = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True)
class _Form:
    """A way to write a key, in lower case, and how much of it gives it away; `bare` is without punctuation."""

    text: str
    piece: int
    bare: bool


def redact(text: str, keys: Iterable[str]) -> str:
    """A message without keys.

    Args:
        text: what is to be shown, as the message of an error; to be shortened afterwards, never before, since the
            beginning of a key is not known for one.
        keys: values that must not be shown; whatever looks like an authorization header goes as well.
    """
    text = without_keys(text, keys)
    for trace in _TRACES:
        text = trace.sub(rf"\g<1>{REDACTED}", text)
    return text


def without_keys(text: str, keys: Iterable[str]) -> str:
    """A text without keys, and otherwise as it is.

    A key of 12 characters or more is found whole and in pieces, in any case, reversed, in base64, in hexadecimal, with
    characters escaped as URLs, JSON or HTML do, and split by white space, line breaks or punctuation.

    Args:
        text: what came from outside.
        keys: values that must not be kept. Empty ones are passed over.
    """
    for key in sorted(filter(None, keys), key=len, reverse=True):
        text = text.replace(key, REDACTED)
        if len(key) >= SECRET_LENGTH:
            text = _without_forms(text, _forms(key))
    return text


@lru_cache(maxsize=64)
def _forms(key: str) -> tuple[_Form, ...]:
    forms: list[_Form] = []
    for one in (key.lower(), key.lower()[::-1]):
        forms += [_Form(one, PIECE, False), _Form(_BARE.sub("", one), BARE_PIECE, True)]
    for octets in (key.encode(), key.encode()[::-1]):
        forms.append(_Form(octets.hex(), HEX_PIECE, False))
        for shift in range(3):
            # What stands before a key decides at which of three places its bytes begin; the first and last characters
            # hang on the bytes around it.
            encoded = base64.b64encode(b"\0" * shift + octets).decode().rstrip("=")[-(-shift * 4 // 3) :].lower()
            urlsafe = encoded.replace("+", "-").replace("/", "_")
            forms += [_Form(each, ENCODED_PIECE, False) for each in dict.fromkeys((encoded, urlsafe))]
    return tuple(form for form in forms if len(form.text) >= form.piece)


def _without_forms(text: str, forms: Sequence[_Form]) -> str:
    plain = text
    if not _ESCAPES.isdisjoint(text):
        plain = _ESCAPE.sub(_character, text)
    seen = _GAPS.sub("", plain).lower()
    bare = _BARE.sub("", seen)
    if not any(_may_hold(bare if form.bare else seen, form) for form in forms):
        return text
    # Only now the places of the characters are worth their while.
    units = [(unit, _character(unit).lower()) for unit in _UNIT.finditer(text)]
    seen_units = [(unit, one) for unit, one in units if one and not _GAPS.match(one)]
    bare_units = [(unit, one) for unit, one in seen_units if not _BARE.match(one)]
    marked: list[tuple[int, int]] = []
    for form in forms:
        within = bare_units if form.bare else seen_units
        marked += _places("".join(one[0] for _, one in within), [unit.span() for unit, _ in within], form)
    return _cut_out(text, marked)


def _character(unit: re.Match[str]) -> str:
    """What a unit of a text stands for; nothing for a line break that is written out."""
    for base, digits in ((16, unit[1] or unit[2] or unit[3] or unit[5]), (10, unit[6])):
        if digits:
            return chr(int(digits, base))
    return "" if unit[4] else unit[0]


def _may_hold(text: str, form: _Form) -> bool:
    """Whether a text has any piece of a form: every piece has a whole half of itself at a multiple of that length."""
    half = form.piece // 2
    halves = {form.text[at : at + half] for at in range(len(form.text) - half + 1)}
    return any(text[at : at + half] in halves for at in range(0, len(text) - half + 1, half))


def _places(text: str, spans: Sequence[tuple[int, int]], form: _Form) -> list[tuple[int, int]]:
    """Where pieces of a form stand, by the spans of the characters in the text as it came."""
    pieces = {form.text[at : at + form.piece] for at in range(len(form.text) - form.piece + 1)}
    return [
        (spans[at][0], spans[at + form.piece - 1][1])
        for at in range(len(text) - form.piece + 1)
        if text[at : at + form.piece] in pieces
    ]


def _cut_out(text: str, marked: list[tuple[int, int]]) -> str:
    kept: list[str] = []
    end = 0
    for begin, until in sorted(marked):
        if begin > end or not kept:
            kept += [text[end:begin], REDACTED]
        end = max(end, until)
    return "".join([*kept, text[end:]])
