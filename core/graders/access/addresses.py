"""Addresses of endpoints: checks, comparison, and recognition of this computer."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

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
