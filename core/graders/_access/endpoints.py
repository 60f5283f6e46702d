"""Addresses of endpoints, and the endpoints of the server's owner and of well-known services."""

from __future__ import annotations

import ipaddress
import json
import os
import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from ...errors import InputError

PORTS = {"http": 80, "https": 443}


def checked_host(address: str) -> str:
    """Return the host of an address, after a check that the address is valid and free of secrets.

    Raises:
        InputError: the address is invalid, or has parts that may be secret. The message does not repeat them.
    """
    hint = "Use an address such as https://api.example.org/v1, and enter the key separately."
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise InputError("invalid-address", "The endpoint's address is not a URL.", hint) from None
    if parts.username is not None or parts.password is not None or "@" in parts.netloc:
        raise InputError("secret-in-address", "The endpoint's address contains a user name or a password.", hint)
    if parts.query or parts.fragment or "?" in address or "#" in address:
        raise InputError(
            "secret-in-address", "The endpoint's address contains a query or a fragment, which may hold a key.", hint
        )
    if parts.scheme not in PORTS or not host:
        raise InputError(
            "invalid-address", "The endpoint's address does not begin with http:// or https:// and a host.", hint
        )
    if "\\" in address or not address.isprintable() or any(sign.isspace() for sign in address):
        # Programs split such an address in different ways, so a check might see another host than the request.
        raise InputError(
            "invalid-address", "The endpoint's address contains spaces, backslashes or invisible characters.", hint
        )
    return host


def origin(address: str) -> str:
    """Return scheme, host and port of an address. Keys belong to origins.

    Raises:
        InputError: see `checked_host`.
    """
    host = checked_host(address).rstrip(".")
    parts = urlsplit(address)
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}:{parts.port or PORTS[parts.scheme]}"


def same_address(one: str, other: str) -> bool:
    """Return whether two addresses are equal: same origin and same path, ignoring slashes at the end.

    Raises:
        InputError: see `checked_host`.
    """
    paths = [urlsplit(address).path.rstrip("/") for address in (one, other)]
    return origin(one) == origin(other) and paths[0] == paths[1]


def is_loopback(host: str) -> bool:
    """Return whether a host name or IP address is this computer."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


FILE_VARIABLE = "EXAM_ENDPOINTS"
"""Variable with the path of the file with endpoints: TOML, or JSON if its name ends in .json."""

WELL_KNOWN: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "OPENAI_API_KEY": ("OpenAI", "https://api.openai.com/v1"),
        "ANTHROPIC_API_KEY": ("Anthropic", "https://api.anthropic.com/v1"),
        "DEEPSEEK_API_KEY": ("DeepSeek", "https://api.deepseek.com/v1"),
        "FIREWORKS_API_KEY": ("Fireworks", "https://api.fireworks.ai/inference/v1"),
        "GEMINI_API_KEY": ("Google Gemini", "https://generativelanguage.googleapis.com/v1beta/openai"),
        "GROQ_API_KEY": ("Groq", "https://api.groq.com/openai/v1"),
        "HF_TOKEN": ("Hugging Face", "https://router.huggingface.co/v1"),
        "MISTRAL_API_KEY": ("Mistral", "https://api.mistral.ai/v1"),
        "OPENROUTER_API_KEY": ("OpenRouter", "https://openrouter.ai/api/v1"),
        "TOGETHER_API_KEY": ("Together", "https://api.together.xyz/v1"),
    }
)
"""Well-known key variables: title and address of the only service that gets the key."""


VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
"""Pattern of variable names. A key entered by mistake mostly has other characters and does not match."""

AtLeastOne = Annotated[int, Meta(ge=1)]


class OfferedEndpoint(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An endpoint that the owner has set up for all people on the server.

    Args:
        base_url: its address.
        name: its name for people.
        key_variable: environment variable, or entry of the secrets, with its key; None if it needs no key.
        models: allowed models; empty for any.
        in_flight: maximum number of calls in flight in one job; None for no limit.
        max_calls: maximum number of calls of one job, retries included; None for no limit.
        max_cost: maximum cost of one job, in the currency of the price table; None for no limit.
    """

    base_url: str
    name: str = ""
    key_variable: Annotated[str, Meta(pattern=rf"^{VARIABLE.pattern}\Z")] | None = None
    models: tuple[Annotated[str, Meta(pattern=r"\S")], ...] = ()
    in_flight: AtLeastOne | None = None
    max_calls: AtLeastOne | None = None
    max_cost: Annotated[float, Meta(ge=0, le=1e12)] | None = None


Tables = Mapping[str, Any]
"""Settings of endpoints by name, as in a file."""


_secrets: Callable[[], Tables] = dict


def provide_endpoints(tables: Callable[[], Tables]) -> None:
    """Register a second source of endpoints, such as the app's secrets; it replaces an earlier one."""
    global _secrets
    _secrets = tables


def offered_endpoints() -> list[OfferedEndpoint]:
    """Return the endpoints of the file in EXAM_ENDPOINTS, and those of the registered source. The file has precedence.

    Raises:
        InputError: the file cannot be read or is invalid. The message contains no value of it.
    """
    return list(
        {
            name: _endpoint(name, table, place)
            for place, tables in (("the app's secrets", _secrets()), _of_file())
            for name, table in tables.items()
        }.values()
    )


def _of_file() -> tuple[str, Tables]:
    named = os.environ.get(FILE_VARIABLE)
    if not named:
        return "", {}
    path = Path(named).expanduser()
    try:
        text = path.read_text(encoding="utf-8")
        content = json.loads(text) if path.suffix.lower() == ".json" else tomllib.loads(text)
    except (OSError, ValueError) as error:
        # Repeat neither the path nor a line: visitors see the message, and the file may hold secrets.
        raise InputError(
            "cannot-read-endpoints",
            f"The endpoint file named in {FILE_VARIABLE} cannot be read ({type(error).__name__}).",
            "Ask the server's operator to correct it; docs/how-to/use-an-endpoint.md has an example.",
        ) from None
    tables = content.get("endpoints") if isinstance(content, dict) else None
    if not isinstance(tables, dict):
        raise _wrong("there is no table [endpoints.NAME]", f"the file named in {FILE_VARIABLE}")
    return f"the file named in {FILE_VARIABLE}", tables


def _endpoint(name: str, table: Any, place: str) -> OfferedEndpoint:
    try:
        offered = msgspec.convert(table, OfferedEndpoint)
        checked_host(offered.base_url)
    except msgspec.ValidationError as error:
        # Such an error names the field and the valid values, and never the value, which may be secret.
        raise _wrong(f"the endpoint '{name}' is invalid: {error}", place) from None
    except InputError as error:
        raise _wrong(f"the endpoint '{name}': {error.message}", place) from None
    return msgspec.structs.replace(offered, name=name)


def _wrong(what: str, place: str) -> InputError:
    return InputError(
        "invalid-endpoint",
        f"In {place}, {what}.",
        "Ask the server's operator to correct it; docs/how-to/use-an-endpoint.md has an example.",
    )
