"""Keys of model endpoints: where they are found, and how they are kept out of all that is shown or stored."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable

Provider = Callable[[str], str | None]
"""Gives the value of a named secret, or None where it has none."""

REDACTED = "[key]"

VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
"""Names of variables. What is put in their place by mistake is a key, which mostly has other signs in it."""

_TRACES = (
    re.compile(
        r"(?i)(\b(?:authorization|api-key|x-api-key)\b['\"]?\s*[:=]\s*(?:b?['\"])?(?:bearer\s+|basic\s+)?)[^\s'\",}]+"
    ),
    re.compile(r"(?i)(\bbearer\s+)[\w.~+/=*-]{8,}"),
    # What OpenAI writes of a wrong key has its first and last characters.
    re.compile(r"()\bsk-[\w*-]{6,}"),
)


def _nowhere(variable: str) -> str | None:
    return None


_provider: Provider = _nowhere


def register(provider: Provider) -> None:
    """Name a second place to look for keys, as the app's secrets; it takes the place of the one before."""
    global _provider
    _provider = provider


def find_key(variable: str) -> str | None:
    """The key under a name, whoever it is for: `access.key_for` alone asks for it, and knows to whom it may go.

    Args:
        variable: name of an environment variable, or of a secret in the registered place.

    Returns:
        The key without surrounding white space; None where there is none or it is empty.
    """
    return (os.environ.get(variable) or "").strip() or (_provider(variable) or "").strip() or None


def redact(text: str, keys: Iterable[str]) -> str:
    """A text without keys, for messages and logs.

    Args:
        text: what is to be shown, as the message of an error.
        keys: values that must not be shown; whatever looks like an authorization header goes as well.
    """
    for key in sorted(filter(None, keys), key=len, reverse=True):
        text = text.replace(key, REDACTED)
    for trace in _TRACES:
        text = trace.sub(rf"\g<1>{REDACTED}", text)
    return text
