"""Storage places of keys for model endpoints. See `redaction.py` of endpoints for how texts are kept free of keys."""

from __future__ import annotations

import os
import re
from collections.abc import Callable

Provider = Callable[[str], str | None]
"""Returns the value of a named secret; None if unknown."""

VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
"""Pattern of variable names. A key entered by mistake mostly has other characters and does not match."""


_provider: Provider = dict[str, str]().get


def provide_keys(provider: Provider) -> None:
    """Register a second place for keys, such as the app's secrets; it replaces an earlier one."""
    global _provider
    _provider = provider


def find_key(variable: str) -> str | None:
    """Return the key under a name. Only `access.key_for` may call this, because it knows who may get the key.

    Args:
        variable: name of an environment variable, or of a secret in the registered place.

    Returns:
        The key without surrounding white space; None if it is missing or empty.
    """
    return (os.environ.get(variable) or "").strip() or (_provider(variable) or "").strip() or None
