"""Keys of model endpoints: where they are found. How they are kept out of texts is in `redaction.py` of endpoints."""

from __future__ import annotations

import os
import re
from collections.abc import Callable

Provider = Callable[[str], str | None]
"""Gives the value of a named secret, or None where it has none."""

VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
"""Names of variables. What is put in their place by mistake is a key, which mostly has other signs in it."""


_provider: Provider = dict[str, str]().get


def provide_keys(provider: Provider) -> None:
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
