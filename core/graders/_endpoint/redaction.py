"""Removal of keys from external texts: whole, in pieces, encoded, reversed, or split over lines."""

from __future__ import annotations

import base64
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

REDACTED = "[key]"
SECRET_LENGTH = 12
"""Length from which a key is searched in every form; of a shorter one, such as "ollama", only the
key itself.
"""
PIECE = 8
"""Number of a key's characters, with punctuation, that reveal too much of it."""
BARE_PIECE = 12
"""The same for letters and digits alone: a key made of words matches plain English more easily."""
ENCODED_PIECE = 12
"""Characters of base64: 9 of the key."""
HEX_PIECE = 16
"""Digits of hexadecimal: 8 characters of the key."""

_TRACES = (
    re.compile(
        r"(?i)(\b(?:authorization|api-key|x-api-key)\b['\"]?\s*[:=]\s*(?:b?['\"])?(?:bearer\s+"
        r"|basic\s+)?)[^\s'\",}]+"
    ),
    re.compile(r"(?i)(\bbearer\s+)[\w.~+/=*-]{8,}"),
    # OpenAI's message about a wrong key shows its first and last characters.
    re.compile(r"()\bsk-[\w*-]{6,}"),
)

_CHARACTERS_OF_KEY = 8
"""Number of a key's characters whose encoding reveals too much of it."""

# A character as escaped in URLs, quoted-printable, JSON, Python or HTML, also doubly escaped; or an
# escaped line break. In lower case.
_ESCAPE = re.compile(
    r"%(?:25){0,4}([0-9a-f]{2})|=([0-9a-f]{2})"
    r"|\\{1,8}+(?:u([0-9a-f]{4})|u\{([0-9a-f]{1,5})\}|x\{?([0-9a-f]{2})|([nrt]))"
    r"|&(?:amp;){0,4}+#x0{0,4}([0-9a-f]{2,4});?|&(?:amp;){0,4}+#0{0,4}(1[0-2][0-9]|[3-9][0-9]);?"
    r"|u\+([0-9a-f]{4})|\b0x([0-9a-f]{2})"
)
_DECIMAL = 8  # the group with decimal digits
_LINE_BREAK = 6
# Compared parts of a text: visible characters; letters and digits; digits.
_SEEN = re.compile(r"[^\s\x00-\x1f\x7f\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]+")
_BARE = re.compile(r"[a-z0-9]+")
_DIGITS = re.compile(r"[0-9]+")


@dataclass(frozen=True)
class _Pieces:
    """All pieces of one length that identify a key in the `kept` parts of a text, and all their
    halves.
    """

    kept: re.Pattern[str]
    length: int
    pieces: frozenset[str]
    halves: frozenset[str]


@dataclass(frozen=True)
class _View:
    """A text for comparison, with the begin and end of each character in the original text."""

    text: str
    begins: Sequence[int]
    ends: Sequence[int]


def redact_keys(text: str, keys: Iterable[str]) -> str:
    """Return a message without keys.

    Args:
        text: the text to show, such as the message of an error. Shorten it only afterwards, because
            the beginning of a key is not recognized.
        keys: values that must not be shown; texts that look like an authorization header are
            removed as well.
    """
    text = without_keys(text, keys)
    for trace in _TRACES:
        text = trace.sub(rf"\g<1>{REDACTED}", text)
    return text


def without_keys(text: str, keys: Iterable[str]) -> str:
    """Return a text without keys, otherwise unchanged.

    A key of 12 characters or more is found whole and in pieces, in any case, and in wide or ornate
    letters. It is found in base64 (also doubly encoded, or of UTF-16), base32 and hexadecimal. It
    is found as decimal, octal or binary codes. It is found with characters escaped as in URLs,
    mail, JSON or HTML. All of these are also found reversed, or split by white space, line breaks
    or punctuation. The time grows with the length of the text only.

    Args:
        text: a text from outside.
        keys: values to remove; empty ones are ignored.
    """
    for key in sorted(filter(None, keys), key=len, reverse=True):
        text = text.replace(key, REDACTED)
        if len(key) >= SECRET_LENGTH:
            text = _without_forms(text, _pieces_of(key))
    return text


@lru_cache(maxsize=16)
def _pieces_of(key: str) -> tuple[_Pieces, ...]:
    by_length: dict[tuple[re.Pattern[str], int], set[str]] = {}
    for pattern, length, form in _key_forms(key):
        written = "".join(pattern.findall(form.lower()))
        for spelling in (written, written[::-1]):
            by_length.setdefault((pattern, length), set()).update(
                spelling[at : at + length] for at in range(len(spelling) - length + 1)
            )
    return tuple(
        _Pieces(
            pattern,
            length,
            frozenset(pieces),
            frozenset(
                piece[at : at + length // 2]
                for piece in pieces
                for at in range(length - length // 2 + 1)
            ),
        )
        for (pattern, length), pieces in by_length.items()
        if pieces
    )


def _key_forms(key: str) -> Iterator[tuple[re.Pattern[str], int, str]]:
    """Yield the ways to write a key: the compared parts of a text, the number of revealing
    characters, and the form.
    """
    yield _SEEN, PIECE, key
    yield _BARE, BARE_PIECE, key
    for octets in (key.encode(), key.encode()[::-1]):
        wide = octets.decode("utf-8", "replace").encode("utf-16-le")
        yield _BARE, HEX_PIECE, octets.hex()
        yield _BARE, 2 * HEX_PIECE, wide.hex()
        for base, width in (("d", 1), ("03d", 3), ("03o", 3), ("08b", 8)):
            yield (
                _DIGITS,
                _CHARACTERS_OF_KEY * max(width, 2),
                "".join(format(octet, base) for octet in octets),
            )
        for once in _at_every_place(octets, base64.b64encode, 3, 4):
            yield _BARE, ENCODED_PIECE, once
            for twice in _at_every_place(once.encode(), base64.b64encode, 3, 4):
                yield _BARE, ENCODED_PIECE, twice
        for encoded in _at_every_place(wide, base64.b64encode, 3, 4):
            yield _BARE, 2 * ENCODED_PIECE, encoded
        for encoded in _at_every_place(octets, base64.b32encode, 5, 8):
            yield _BARE, ENCODED_PIECE, encoded


def _at_every_place(
    octets: bytes, encode: Callable[[bytes], bytes], unit: int, digits: int
) -> Iterator[str]:
    """Yield all encodings of bytes at any position within other bytes.

    The bytes before a key decide where in an encoding unit it begins. Its first and last digits
    depend on the bytes around it.
    """
    for shift in range(unit):
        yield encode(b"\0" * shift + octets).decode().rstrip("=")[-(-shift * digits // unit) :]


def _without_forms(text: str, every: Sequence[_Pieces]) -> str:
    folded = text.lower() if text.isascii() else "".join(map(_fold_character, text))
    marked = _find_pieces(_View(folded, range(len(text)), range(1, len(text) + 1)), every)
    if _ESCAPE.search(folded):
        marked += _find_pieces(_decode_escapes(folded), every)
    return _cut_out(text, marked) if marked else text


@lru_cache(maxsize=4096)
def _fold_character(character: str) -> str:
    """Return a character in lower case, and a wide or ornate form as a plain one. The result is
    always one character."""
    for folded in (unicodedata.normalize("NFKC", character).lower(), character.lower()):
        if len(folded) == 1:
            return folded
    return character


def _decode_escapes(folded: str) -> _View:
    parts: list[str] = []
    begins: list[int] = []
    ends: list[int] = []
    at = 0
    for escape in _ESCAPE.finditer(folded):
        start, end = escape.span()
        if start > at:
            parts.append(folded[at:start])
            begins.extend(range(at, start))
            ends.extend(range(at + 1, start + 1))
        # An escaped line break does not count as a character.
        if (kind := escape.lastindex or 0) != _LINE_BREAK:
            code = int(escape[kind], 10 if kind == _DECIMAL else 16)
            parts.append(_fold_character(chr(code)))
            begins.append(start)
            ends.append(end)
        at = end
    begins.extend(range(at, len(folded)))
    ends.extend(range(at + 1, len(folded) + 1))
    return _View("".join([*parts, folded[at:]]), begins, ends)


def _find_pieces(view: _View, every: Sequence[_Pieces]) -> list[tuple[int, int]]:
    """Return the positions of a key's pieces in the original text."""
    written = {pieces.kept: "".join(pieces.kept.findall(view.text)) for pieces in every}
    marked: list[tuple[int, int]] = []
    for pieces in every:
        if runs := _find_runs(written[pieces.kept], pieces):
            places = [at for run in pieces.kept.finditer(view.text) for at in range(*run.span())]
            marked += [
                (view.begins[places[begin]], view.ends[places[end - 1]]) for begin, end in runs
            ]
    return marked


def _find_runs(text: str, looked_for: _Pieces) -> list[tuple[int, int]]:
    """Return the positions of pieces, with overlapping ones merged.

    Every piece has a whole half at a multiple of the half's length, so only such positions need a
    full comparison.
    """
    length, half = looked_for.length, looked_for.length // 2
    runs: list[tuple[int, int]] = []
    for block in range(0, len(text) - half + 1, half):
        if text[block : block + half] not in looked_for.halves:
            continue
        for begin in range(max(block - half + 1, 0), block + 1):
            if text[begin : begin + length] in looked_for.pieces:
                if runs and begin <= runs[-1][1]:
                    runs[-1] = (runs[-1][0], begin + length)
                else:
                    runs.append((begin, begin + length))
    return runs


def _cut_out(text: str, marked: list[tuple[int, int]]) -> str:
    parts_kept: list[str] = []
    end = 0
    for begin, until in sorted(marked):
        if begin > end or not parts_kept:
            parts_kept += [text[end:begin], REDACTED]
        end = max(end, until)
    return "".join([*parts_kept, text[end:]])
