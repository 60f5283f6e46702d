"""No key leaves a text in any form in which an endpoint may send it back."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Callable
from urllib.parse import quote

import pytest
from hypothesis import given, strategies as st

from exam_workbench.graders._endpoint.redaction import REDACTED, redact_keys, without_keys

KEY = "sk-test-0123456789abcdef0123456789ABCDEF"
RANDOM = "Zq8vK2mXw7RtYb4NcP1sLd9HfJ6gTe3A"


def encoded(key: str) -> str:
    return base64.b64encode(key.encode()).decode()


def percent(key: str) -> str:
    return "".join(f"%{ord(one):02x}" for one in key)


FORMS: dict[str, Callable[[str], str]] = {
    "whole": str,
    "upper case": str.upper,
    "in a sentence": lambda key: f"Incorrect API key provided: {key}. You can find yours online.",
    "without its first and last characters": lambda key: key[3:-3],
    "a piece of 12": lambda key: key[10:22],
    "a piece of 8": lambda key: key[10:18],
    "reversed": lambda key: key[::-1],
    "a piece reversed": lambda key: key[5:19][::-1],
    "base64": lambda key: base64.b64encode(key.encode()).decode(),
    "base64 of a header": lambda key: base64.b64encode(f"Bearer {key} !".encode()).decode(),
    "base64 of a piece": lambda key: base64.b64encode(key[7:25].encode()).decode(),
    "base64 in lines": lambda key: "\n".join(
        base64.b64encode(key.encode()).decode()[i : i + 9] for i in range(0, 60, 9)
    ),
    "base64 for URLs": lambda key: base64.urlsafe_b64encode(f"?>?{key}".encode()).decode(),
    "base64 reversed": lambda key: base64.b64encode(key[::-1].encode()).decode(),
    "base64 escaped": lambda key: quote(base64.b64encode(key.encode()).decode()),
    "hexadecimal": lambda key: key.encode().hex(),
    "hexadecimal, capitals": lambda key: key.encode().hex().upper(),
    "URL": lambda key: quote(key, safe=""),
    "every character for a URL": percent,
    "twice for a URL": lambda key: quote(percent(key)),
    "JSON escapes": lambda key: "".join(f"\\u{ord(one):04x}" for one in key),
    "JSON in JSON": lambda key: json.dumps("".join(f"\\u{ord(one):04x}" for one in key)),
    "HTML": lambda key: "".join(f"&#{ord(one)};" for one in key),
    "HTML twice": lambda key: html.escape("".join(f"&#x{ord(one):x};" for one in key)),
    "over lines": lambda key: "\n".join(key[i : i + 5] for i in range(0, len(key), 5)),
    "over lines that are written out": lambda key: "\\n".join(key[i : i + 5] for i in range(0, len(key), 5)),
    "letter by letter": " ".join,
    "with blanks that are not seen": "\u200b".join,
    "with dashes": "-".join,
    "hexadecimal with colons": lambda key: ":".join(f"{ord(one):02x}" for one in key),
    "hexadecimal with dashes": lambda key: "-".join(key.encode().hex()[i : i + 4] for i in range(0, len(key) * 2, 4)),
    "hexadecimal as numbers": lambda key: ", ".join(f"0x{ord(one):02x}" for one in key),
    "hexadecimal reversed": lambda key: key.encode().hex()[::-1],
    "base64 with dashes": lambda key: "-".join(encoded(key)[i : i + 4] for i in range(0, len(encoded(key)), 4)),
    "base64 in quotes": lambda key: '" "'.join(encoded(key)[i : i + 8] for i in range(0, len(encoded(key)), 8)),
    "base64 written backwards": lambda key: encoded(key)[::-1],
    "base64 twice": lambda key: base64.b64encode(encoded(key).encode()).decode(),
    "base64 of UTF-16": lambda key: base64.b64encode(key.encode("utf-16le")).decode(),
    "base32": lambda key: base64.b32encode(key.encode()).decode(),
    "octal": lambda key: "".join(f"\\{ord(one):03o}" for one in key),
    "decimal codes": lambda key: ", ".join(str(ord(one)) for one in key),
    "JavaScript": lambda key: "".join(f"\\u{{{ord(one):x}}}" for one in key),
    "quoted-printable": lambda key: "".join(f"={ord(one):02X}" for one in key),
    "HTML without semicolons": lambda key: "".join(f"&#{ord(one)}" for one in key),
    "full-width": lambda key: "".join(chr(ord(one) + 0xFEE0) for one in key),
    "in quotes": lambda key: "' + '".join(key[i : i + 4] for i in range(0, len(key), 4)),
}


def pieces(key: str, n: int = 8) -> set[str]:
    return {key[i : i + n] for i in range(len(key) - n + 1)}


@pytest.mark.parametrize("key", [KEY, RANDOM])
@pytest.mark.parametrize("form", FORMS)
def test_a_key_is_taken_out_in_every_form(form: str, key: str) -> None:
    sent = FORMS[form](key)
    shown = without_keys(f"The grade is 3. {sent} It says so.", [key])
    assert shown.startswith("The grade is 3. ") and shown.endswith(" It says so.") and REDACTED in shown
    # What is left between the words gives nothing away: no run of characters of what was sent.
    left = shown.removeprefix("The grade is 3. ").removesuffix(" It says so.")
    for said in ("Incorrect API key provided: ", ". You can find yours online.", "QmVhcmVyI"):
        left = left.replace(said, "")
    for one in left.split(REDACTED):
        assert len("".join(one.split())) <= 8, left


@given(st.text(max_size=300))
def test_a_text_without_the_key_stays_as_it_is(text: str) -> None:
    assert without_keys(text, [RANDOM]) == text


@given(st.text(max_size=50), st.integers(0, 24), st.integers(8, 32), st.text(max_size=50))
def test_no_piece_of_a_key_is_left_wherever_it_stands(before: str, begin: int, length: int, after: str) -> None:
    shown = without_keys(before + RANDOM[begin : begin + length] + after, [RANDOM])
    assert not any(piece in shown.lower() for piece in pieces(RANDOM.lower()))


def test_a_short_key_is_taken_out_as_it_is_and_words_of_it_are_left() -> None:
    assert redact_keys("the key is ollama", ["ollama"]) == "the key is [key]"
    assert without_keys("o l l a m a, amallo", ["ollama"]) == "o l l a m a, amallo"


def test_words_that_a_key_shares_with_a_sentence_are_left() -> None:
    key = "my-local-server-key-2024"
    assert without_keys("The local server is in 2024 rooms.", [key]) == "The local server is in 2024 rooms."


@pytest.mark.parametrize("text", ["a" * 200_000, "%61" * 60_000, KEY[:7] * 30_000, "\\" * 200_000])
def test_a_long_text_without_the_key_is_looked_through(text: str) -> None:
    assert without_keys(text, [RANDOM]) == text
    assert without_keys(text + RANDOM, [RANDOM]) == text + REDACTED
