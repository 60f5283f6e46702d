"""Who may use which keys, endpoints and models: keys belong to hosts, and what nobody has allowed is refused."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from ...errors import GradingError, InputError
from .addresses import checked_host, is_loopback, origin, same_address
from .endpoints import FILE_VARIABLE, WELL_KNOWN, OfferedEndpoint, offered_endpoints
from .keys import find_key

OPENAI = "https://api.openai.com/v1"
OPENAI_VARIABLE = "OPENAI_API_KEY"
ADDRESS_VARIABLE = "OPENAI_BASE_URL"
"""Names another address in the place of OpenAI's; whoever set it meant OPENAI_API_KEY for it."""
SHARED_VARIABLE = "EXAM_SHARED"
"""`1`: other people use this server too, as through a proxy. `0`: one person uses it, as in their own container."""

TYPED = "the field for the key"
"""Where a typed key is, for messages that say of other keys in which variable they are."""

FORWARDED = ("Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-Ip", "Via")
"""Headers that a proxy adds to what it passes on."""


@dataclass(frozen=True)
class Access:
    """What somebody who lets models answer may use, beside what the owner of the server has set up.

    Args:
        any_address: whether they may ask any address, and the well-known services with the keys that are for them.
        any_model: whether they may use any folder of this computer and any name on the model hub.
        typed: keys that they typed, by the origin that each is for; never stored and never shown.
        named: origins with the variables whose keys they said are for them, both in one command.
    """

    any_address: bool = False
    any_model: bool = False
    typed: Mapping[str, str] = field(default_factory=dict, repr=False)
    named: frozenset[tuple[str, str]] = frozenset()


VISITOR = Access()
"""Somebody on the screen of a server: what its owner has set up, and nothing else."""
OWNER = Access(any_address=True, any_model=True)
"""Somebody at a shell, or on an unshared localhost. Even so a key only goes to the host that it belongs to."""


def _at_a_shell() -> Access:
    return OWNER


_provider: Callable[[], Access] = _at_a_shell
_acting: ContextVar[Access | None] = ContextVar("acting", default=None)


def provide_access(provider: Callable[[], Access]) -> None:
    """Say how to find out who acts, as the app has to, which several people use at once."""
    global _provider
    _provider = provider


def current() -> Access:
    """What whoever acts in this thread may use."""
    return _acting.get() or _provider()


@contextmanager
def acting(access: Access) -> Iterator[None]:
    """Let this thread act with an access until the block ends, as where work goes on in another thread."""
    token = _acting.set(access)
    try:
        yield
    finally:
        _acting.reset(token)


def naming(address: str | None, variable: str | None) -> Access:
    """The current access of a person who names an address and the variable with its key, both themselves.

    Args:
        address: for None the address where nobody names one.
        variable: for None nothing is named.

    Raises:
        InputError: the address is none.
    """
    access = current()
    # Somebody else's words never lead a key of the server's to an address of their choice.
    if not variable or not access.any_address:
        return access
    return replace(access, named=access.named | {(origin(address or usual_address()), variable)})


def usual_address() -> str:
    """The address where nobody names one: that in OPENAI_BASE_URL, or OpenAI's own."""
    return (os.environ.get(ADDRESS_VARIABLE) or OPENAI).strip()


@dataclass(frozen=True)
class HostKey:
    """That an address may be asked, and with what.

    Args:
        key: None where there is none, or none is needed.
        name: what the key is known by; empty where no key belongs to the address.
        offered: the endpoint of the owner's that it is, with its limits; None where it is none.
        is_openai: whether OpenAI's own variables of the environment are for it.
    """

    key: str | None = field(repr=False)
    name: str
    offered: OfferedEndpoint | None = None
    is_openai: bool = False


def key_for(address: str, model: str | None, variable: str | None, access: Access) -> HostKey:
    """The key that goes to an address. This is the one place where a key is read.

    A key goes to the host that it belongs to: by the owner's setting, by the list of well-known services, because a
    person typed it for that address, or because one named address and variable together at a shell. What a project
    says of it, which may have been written by anybody, binds nothing.

    Args:
        address: of the API.
        model: that is to be asked; None where that is open.
        variable: where the key is said to be; None for the one that belongs to the address.
        access: of the person who asks.

    Raises:
        InputError: the address is none, or the owner's settings make no sense.
        GradingError: the address or the model is not offered to this person, or no key belongs to the address.
    """
    host, place = checked_host(address), origin(address)
    usual = bool(os.environ.get(ADDRESS_VARIABLE)) and same_address(address, usual_address())
    service = well_known_variable(address)
    is_openai = usual or service == OPENAI_VARIABLE
    if (offered := offered_at(address, model, variable)) is not None:
        key = find_key(offered.key_variable) if offered.key_variable else None
        return HostKey(key, offered.key_variable or "", offered, is_openai)
    if variable is not None and (place, variable) in access.named:
        return HostKey(find_key(variable), variable, is_openai=is_openai)
    if not access.any_address:
        raise GradingError(
            "address-not-offered",
            "This server does not offer an endpoint at this address.",
            f"{_offers()} The server's operator can add endpoints.",
        )
    if (typed := access.typed.get(place)) is not None:
        return HostKey(typed, TYPED, is_openai=is_openai)
    if usual and variable in (None, OPENAI_VARIABLE):
        return HostKey(find_key(OPENAI_VARIABLE), OPENAI_VARIABLE, is_openai=True)
    if service is not None and variable in (None, service):
        return HostKey(find_key(service), service, is_openai=is_openai)
    if is_loopback(host):
        return HostKey(None, "")
    what = "No key is" if variable is None else f"The key in {variable} is not"
    raise GradingError(
        "no-key-for-address",
        f"{what} assigned to {host}.",
        "A key is only sent to its own address. Enter it on the screen, use --base-url URL --set key_variable=NAME in "
        f"the shell, or add the endpoint to the file named in {FILE_VARIABLE}.",
    )


def offered_at(address: str, model: str | None = None, variable: str | None = None) -> OfferedEndpoint | None:
    """The endpoint of the owner's at an address, with the key of a variable where one is given; None for none.

    Raises:
        InputError: the address is none, or the owner's settings make no sense.
        GradingError: it is there, but not for this model.
    """
    here = [
        one
        for one in offered_endpoints()
        if same_address(one.base_url, address) and (variable is None or variable == one.key_variable)
    ]
    fitting = [one for one in here if model is None or not one.models or model in one.models]
    if here and not fitting:
        models = ", ".join(dict.fromkeys(name for one in here for name in one.models))
        raise GradingError(
            "model-not-offered",
            f"The endpoint {here[0].name} does not offer the model '{model}'.",
            f"Available: {models}.",
        )
    return fitting[0] if fitting else None


def check_further_fields(extra: Mapping[str, object] | None, access: Access) -> None:
    """Refuse further fields of a request to somebody who may ask no endpoint but those of the owner's.

    Nobody knows every field by which an endpoint can be made to do more than its owner means to pay for.

    Raises:
        InputError: there are such fields, and they are not for this person.
    """
    if extra and not access.any_address:
        raise InputError(
            "invalid-further-fields",
            "This grader has additional request fields, and this server does not allow them.",
            "Use a grader without them.",
        )


def well_known_variable(address: str) -> str | None:
    """The variable whose key is for the well-known service at an address; None where it is no such service."""
    place = origin(address)
    return next((variable for variable, (_, url) in WELL_KNOWN.items() if origin(url) == place), None)


def _offers() -> str:
    names = [one.name for one in offered_endpoints()]
    return f"Available: {', '.join(names)}." if names else "No endpoints are available."


def unshared_localhost(
    address: str | None, hosts: Sequence[str], signs_in: bool, headers: Mapping[str, str], peer: str | None
) -> bool:
    """Return whether a visitor of the app is the one person who uses it.

    All signs must agree: the server listens on this computer only and has no other name, sign-in is off, and the
    request came from this computer without a proxy. `EXAM_SHARED=1` says that other people use the server too.

    `EXAM_SHARED=0` says that only one person can reach the server, although it listens at every address: in a
    container, requests arrive from the network of the container. All other signs are still required.

    Args:
        address: at which the server listens; None for all.
        hosts: names that a request may use for the server; empty for any.
        signs_in: whether people have to sign in.
        headers: of the visitor's connection.
        peer: address of the visitor; None for this computer or if unknown.
    """
    stated = os.environ.get(SHARED_VARIABLE, "").strip().lower()
    if stated not in ("", "0", "no", "false"):
        return False
    names = [*hosts, _host(headers.get("Host")), _host(headers.get("Origin"))]
    if not stated:
        names += [address or "", peer or "localhost"]
    return (
        bool(hosts) and all(map(is_loopback, names)) and not signs_in and not any(name in headers for name in FORWARDED)
    )


def _host(header: str | None) -> str:
    """The host that a header names, without scheme and port; empty where it names none."""
    given = header or ""
    try:
        return urlsplit(given if "//" in given else f"//{given}").hostname or ""
    except ValueError:
        return ""
