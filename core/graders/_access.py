"""Access to endpoints, keys and models: everything is refused unless allowed."""

from __future__ import annotations

import ipaddress
import json
import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from ..errors import GradingError, InputError, check_rules

PORTS = {"http": 80, "https": 443}


def checked_host(address: str) -> str:
    """Return the host of an address, after a check that the address is valid and free of secrets.

    Raises:
        InputError: the address is invalid, or has parts that may be secret. The message does not
            repeat them.
    """
    hint = "Use an address such as https://api.example.org/v1, and enter the key separately."
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise InputError("invalid-address", "The endpoint's address is not a URL.", hint) from None
    check_rules(
        (
            parts.username is not None or parts.password is not None or "@" in parts.netloc,
            InputError(
                "secret-in-address",
                "The endpoint's address contains a user name or a password.",
                hint,
            ),
        ),
        (
            bool(parts.query or parts.fragment or "?" in address or "#" in address),
            InputError(
                "secret-in-address",
                "The endpoint's address contains a query or a fragment, which may hold a key.",
                hint,
            ),
        ),
        (
            parts.scheme not in PORTS or not host,
            InputError(
                "invalid-address",
                "The endpoint's address does not begin with http:// or https:// and a host.",
                hint,
            ),
        ),
        # Programs split such an address in different ways, so a check might see another host than
        # the request.
        (
            "\\" in address or not address.isprintable() or any(map(str.isspace, address)),
            InputError(
                "invalid-address",
                "The endpoint's address contains spaces, backslashes or invisible characters.",
                hint,
            ),
        ),
    )
    return host


def address_origin(address: str) -> str:
    """Return scheme, host and port of an address. Keys belong to origins.

    Raises:
        InputError: see `checked_host`.
    """
    host = checked_host(address).rstrip(".")
    parts = urlsplit(address)
    name = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{name}:{parts.port or PORTS[parts.scheme]}"


def same_address(first: str, other: str) -> bool:
    """Return whether two addresses are equal: same origin and same path, ignoring slashes at the
    end.

    Raises:
        InputError: see `checked_host`.
    """
    paths = [urlsplit(address).path.rstrip("/") for address in (first, other)]
    return address_origin(first) == address_origin(other) and paths[0] == paths[1]


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
        "GEMINI_API_KEY": (
            "Google Gemini",
            "https://generativelanguage.googleapis.com/v1beta/openai",
        ),
        "GROQ_API_KEY": ("Groq", "https://api.groq.com/openai/v1"),
        "HF_TOKEN": ("Hugging Face", "https://router.huggingface.co/v1"),
        "MISTRAL_API_KEY": ("Mistral", "https://api.mistral.ai/v1"),
        "OPENROUTER_API_KEY": ("OpenRouter", "https://openrouter.ai/api/v1"),
        "TOGETHER_API_KEY": ("Together", "https://api.together.xyz/v1"),
    }
)
"""Well-known key variables: title and address of the only service that gets the key."""


VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
"""Pattern of variable names. A key entered by mistake mostly has other characters and does not
match.
"""

AtLeastOne = Annotated[int, Meta(ge=1)]


class OfferedEndpoint(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An endpoint that the owner has set up for all people on the server.

    Args:
        base_url: its address.
        name: its name for people.
        key_variable: environment variable, or entry of the secrets, with its key; None if it needs
            no key.
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


def offered_endpoints() -> list[OfferedEndpoint]:
    """Return the endpoints of the file in EXAM_ENDPOINTS, and those of `providers`. The file has
    precedence.

    Raises:
        InputError: the file cannot be read or is invalid. The message contains no value of it.
    """
    return list(
        {
            name: _read_endpoint(name, table, place)
            for place, tables in (
                ("the app's secrets", providers.endpoints()),
                _read_endpoint_file(),
            )
            for name, table in tables.items()
        }.values()
    )


def _read_endpoint_file() -> tuple[str, Tables]:
    named = os.environ.get(FILE_VARIABLE)
    if not named:
        return "", {}
    path = Path(named).expanduser()
    try:
        text = path.read_text(encoding="utf-8")
        content = json.loads(text) if path.suffix.lower() == ".json" else tomllib.loads(text)
    except (OSError, ValueError) as error:
        # Repeat neither the path nor a line: visitors see the message, and the file may hold
        # secrets.
        raise InputError(
            "cannot-read-endpoints",
            f"The endpoint file named in {FILE_VARIABLE} cannot be read ({type(error).__name__}).",
            "Ask the server's operator to correct it;"
            " docs/how-to/use-an-endpoint.md has an example.",
        ) from None
    tables = content.get("endpoints") if isinstance(content, dict) else None
    if not isinstance(tables, dict):
        raise _endpoint_error(
            "there is no table [endpoints.NAME]", f"the file named in {FILE_VARIABLE}"
        )
    return f"the file named in {FILE_VARIABLE}", tables


def _read_endpoint(name: str, table: Any, place: str) -> OfferedEndpoint:
    try:
        offered = msgspec.convert(table, OfferedEndpoint)
        checked_host(offered.base_url)
    except msgspec.ValidationError as error:
        # Such an error names the field and the valid values, and never the value, which may be
        # secret.
        raise _endpoint_error(f"the endpoint '{name}' is invalid: {error}", place) from None
    except InputError as error:
        raise _endpoint_error(f"the endpoint '{name}': {error.message}", place) from None
    return msgspec.structs.replace(offered, name=name)


def _endpoint_error(what: str, place: str) -> InputError:
    return InputError(
        "invalid-endpoint",
        f"In {place}, {what}.",
        "Ask the server's operator to correct it; docs/how-to/use-an-endpoint.md has an example.",
    )


OPENAI = "https://api.openai.com/v1"
OPENAI_VARIABLE = "OPENAI_API_KEY"
ADDRESS_VARIABLE = "OPENAI_BASE_URL"
"""Variable with an address that replaces OpenAI's; OPENAI_API_KEY then belongs to that address."""
SHARED_VARIABLE = "EXAM_SHARED"
"""`1`: other people use this server too, for example through a proxy.

`0`: one person uses it, for example in a container.
"""

TYPED = "the field for the key"
"""Name of the place of a typed key in messages, which for other keys name a variable."""

FORWARDED = (
    "Forwarded",
    "X-Forwarded-For",
    "X-Forwarded-Host",
    "X-Forwarded-Proto",
    "X-Real-Ip",
    "Via",
)
"""Headers that a proxy adds to requests."""


@dataclass(frozen=True)
class Access:
    """Permissions of a person who calls models, in addition to the owner's endpoints and models.

    Args:
        any_address: whether they may use any address, and well-known services with the keys that
            belong to these.
        any_model: whether they may use any folder of this computer and any name on the model hub.
        typed: keys that they typed, by origin; never stored and never shown.
        named: pairs of an origin and the variable with its key, which they named together in one
            command.
    """

    any_address: bool = False
    any_model: bool = False
    typed: Mapping[str, str] = field(default_factory=dict, repr=False)
    named: frozenset[tuple[str, str]] = frozenset()


VISITOR = Access()
"""Access of a visitor on the screens of a server: only the owner's endpoints and models."""
OWNER = Access(any_address=True, any_model=True)
"""Access at a shell or on an unshared localhost. Even then, a key is only sent to its own host."""


@dataclass
class Providers:
    """Sources of access besides the environment. The app replaces them, because it has secrets and
    several people use it.

    Args:
        key: returns a key by its name; None if it is unknown.
        endpoints: returns further endpoints.
        access: returns the access of the present person.
    """

    key: Callable[[str], str | None] = dict[str, str]().get
    endpoints: Callable[[], Tables] = dict
    access: Callable[[], Access] = lambda: OWNER


providers = Providers()


def find_key(variable: str) -> str | None:
    """Return the key under a name. Only `key_for` may call this, because it knows who may get the
    key.

    Args:
        variable: name of an environment variable, or of a key of `providers`.

    Returns:
        The key without surrounding white space; None if it is missing or empty.
    """
    return (
        (os.environ.get(variable) or "").strip() or (providers.key(variable) or "").strip() or None
    )


_acting: ContextVar[Access | None] = ContextVar("acting", default=None)


def current_access() -> Access:
    """Return the access of the person who acts in this thread."""
    return _acting.get() or providers.access()


@contextmanager
def use_access(access: Access) -> Iterator[None]:
    """Give this thread an access until the block ends, for example for work in another thread."""
    token = _acting.set(access)
    try:
        yield
    finally:
        _acting.reset(token)


def extend_access(address: str | None, variable: str | None) -> Access:
    """Return the current access, extended by an address and its key variable that a person named
    together.

    Args:
        address: address of the API; None for the default address.
        variable: key variable; None to extend nothing.

    Raises:
        InputError: the address is invalid.
    """
    access = current_access()
    # A visitor must not be able to send a key of the server to an address of their choice.
    if not variable or not access.any_address:
        return access
    return replace(
        access, named=access.named | {(address_origin(address or usual_address()), variable)}
    )


def usual_address() -> str:
    """Return the default address: that in OPENAI_BASE_URL, or OpenAI's own."""
    return (os.environ.get(ADDRESS_VARIABLE) or OPENAI).strip()


@dataclass(frozen=True)
class HostKey:
    """Permission to use an address, with its key.

    Args:
        key: None if the key is missing or not needed.
        name: name of the key's variable or place; empty if no key belongs to the address.
        offered: the owner's endpoint at this address, with its limits; None for other endpoints.
        is_openai: whether OpenAI's own environment variables apply to it.
    """

    key: str | None = field(repr=False)
    name: str
    offered: OfferedEndpoint | None = None
    is_openai: bool = False


def key_for(address: str, model: str | None, variable: str | None, access: Access) -> HostKey:
    """Return the key for an address. All keys are read here.

    A key belongs to a host by the owner's setting or the list of well-known services. It also does
    if a person typed it there, or named address and variable together at a shell. A project's
    statement assigns no key, because any person may have written it.

    Args:
        address: address of the API.
        model: the model to be asked; None if not yet known.
        variable: variable that should hold the key; None for the one that belongs to the address.
        access: access of the person who asks.

    Raises:
        InputError: the address is invalid, or the owner's settings are.
        GradingError: the address or model is not offered to this person, or no key belongs to the
            address.
    """
    host, place = checked_host(address), address_origin(address)
    usual = bool(os.environ.get(ADDRESS_VARIABLE)) and same_address(address, usual_address())
    service = next(
        (name for name, (_, url) in WELL_KNOWN.items() if address_origin(url) == place), None
    )
    is_openai = usual or service == OPENAI_VARIABLE
    if (offered := offered_at(address, model, variable)) is not None:
        name = offered.key_variable or ""
        return HostKey(find_key(name) if name else None, name, offered, is_openai)
    if variable is not None and (place, variable) in access.named:
        return HostKey(find_key(variable), variable, is_openai=is_openai)
    if not access.any_address:
        names = ", ".join(endpoint.name for endpoint in offered_endpoints())
        offers = f"Available: {names}." if names else "No endpoints are available."
        raise GradingError(
            "address-not-offered",
            "This server does not offer an endpoint at this address.",
            f"{offers} The server's operator can add endpoints.",
        )
    if (typed := access.typed.get(place)) is not None:
        return HostKey(typed, TYPED, is_openai=is_openai)
    for owner in filter(None, (OPENAI_VARIABLE if usual else None, service)):
        if variable in (None, owner):
            return HostKey(find_key(owner), owner, is_openai=is_openai)
    if is_loopback(host):
        return HostKey(None, "")
    what = "No key is" if variable is None else f"The key in {variable} is not"
    raise GradingError(
        "no-key-for-address",
        f"{what} assigned to {host}.",
        "A key is only sent to its own address. Enter it on the screen, use --base-url"
        " URL --set key_variable=NAME in the shell, or add the endpoint to the file named"
        f" in {FILE_VARIABLE}.",
    )


def offered_at(
    address: str, model: str | None = None, variable: str | None = None
) -> OfferedEndpoint | None:
    """Return the owner's endpoint at an address, with the key of a variable if one is given; None
    without one.

    Raises:
        InputError: the address is invalid, or the owner's settings are.
        GradingError: the endpoint exists, but does not offer this model.
    """
    at_address = [
        endpoint
        for endpoint in offered_endpoints()
        if same_address(endpoint.base_url, address)
        and (variable is None or variable == endpoint.key_variable)
    ]
    fitting = [
        endpoint
        for endpoint in at_address
        if model is None or not endpoint.models or model in endpoint.models
    ]
    if at_address and not fitting:
        models = ", ".join(
            dict.fromkeys(name for endpoint in at_address for name in endpoint.models)
        )
        raise GradingError(
            "model-not-offered",
            f"The endpoint {at_address[0].name} does not offer the model '{model}'.",
            f"Available: {models}.",
        )
    return fitting[0] if fitting else None


def check_further_fields(extra: Mapping[str, object] | None, access: Access) -> None:
    """Refuse further request fields from a person who may use only the owner's endpoints.

    Many fields make an endpoint do more than its owner wants to pay for. No list of them would be
    complete.

    Raises:
        InputError: there are further fields, and this person may not use them.
    """
    if extra and not access.any_address:
        raise InputError(
            "invalid-further-fields",
            "This grader has additional request fields, and this server does not allow them.",
            "Use a grader without them.",
        )


def unshared_localhost(
    address: str | None,
    hosts: Sequence[str],
    signs_in: bool,
    headers: Mapping[str, str],
    peer: str | None,
) -> bool:
    """Return whether a visitor of the app is its only user.

    All signs must agree: the server listens on this computer only and has no other name, sign-in is
    off, and the request comes from this computer directly. `EXAM_SHARED=1` says that other people
    use the server too.

    `EXAM_SHARED=0` says that only one person can reach the server, although it listens at every
    address. In a container, for example, requests arrive from the container's network. All other
    signs are still required.

    Args:
        address: address at which the server listens; None for all.
        hosts: names that a request may use for the server; empty for any.
        signs_in: whether people have to sign in.
        headers: headers of the visitor's connection.
        peer: address of the visitor; None for this computer or if unknown.
    """
    stated = os.environ.get(SHARED_VARIABLE, "").strip().lower()
    if stated not in ("", "0", "no", "false"):
        return False
    names = [*hosts, _header_host(headers.get("Host")), _header_host(headers.get("Origin"))]
    if not stated:
        names += [address or "", peer or "localhost"]
    return (
        bool(hosts)
        and all(map(is_loopback, names))
        and not signs_in
        and not any(name in headers for name in FORWARDED)
    )


def _header_host(header: str | None) -> str:
    """Return the host in a header, without scheme and port; empty if it names no host."""
    given = header or ""
    try:
        return urlsplit(given if "//" in given else f"//{given}").hostname or ""
    except ValueError:
        return ""


FOLDERS_VARIABLE = "EXAM_MODEL_FOLDERS"
"""Variable with the model folders that all people on the screens may use, with their subfolders;
separated as in PATH."""
HUB_VARIABLE = "EXAM_HUB_MODELS"
"""Variable with the names on the model hub that all people on the screens may use, separated by
commas or blanks.
"""
DEPTH = 2
"""Depth of the search for models to offer below an allowed folder; deeper ones can still be named.
"""
MOST_OFFERED = 2000
"""Maximum number of models of one depth that are offered."""

REVISION = re.compile(r"(?!.*\.\.)[A-Za-z0-9][\w./-]{0,199}")


def place_of(name_or_folder: str, access: Access) -> Path | None:
    """Return the folder that a model's name means; None for a name on the hub.

    The existence of the folder is neither checked nor revealed: the message of a refusal is the
    same either way.

    Raises:
        InputError: this person may not use the model.
    """
    if access.any_model:
        looks_like_one = name_or_folder.startswith((".", "/", "~")) or name_or_folder.count("/") > 1
        try:
            folder = Path(name_or_folder).expanduser()
            return folder if looks_like_one or "\\" in name_or_folder or folder.is_dir() else None
        except (OSError, RuntimeError) as error:
            raise InputError(
                "invalid-model-name",
                "This is neither a model folder nor a name on the model hub.",
                "Use a name such as google/flan-t5-large, or the full path of a folder.",
            ) from error
    if name_or_folder in hub_models():
        return None
    if (allowed := _allowed_path(name_or_folder)) is not None:
        return allowed
    raise InputError(
        "model-not-offered",
        "This server does not offer this model.",
        "Choose an available model, or ask the server's operator to allow this one"
        " (docs/how-to/use-an-endpoint.md).",
    )


def check_revision(revision: str | None) -> None:
    """Refuse an invalid revision on the hub, because it becomes part of a local path.

    Raises:
        InputError: the revision is invalid.
    """
    if revision and not REVISION.fullmatch(revision):
        raise InputError(
            "invalid-revision",
            "Invalid revision: not a branch, tag or commit.",
            "Use a branch, a tag or a commit hash, such as main or v1.0.",
        )


def hub_models() -> list[str]:
    """Return the names on the hub that the owner allows."""
    return os.environ.get(HUB_VARIABLE, "").replace(",", " ").split()


def model_folders() -> list[Path]:
    """Return the folders that the owner allows."""
    named = [part.strip() for part in os.environ.get(FOLDERS_VARIABLE, "").split(os.pathsep)]
    return [
        resolved for part in named if part and (resolved := _resolve_path(Path(part))) is not None
    ]


def offered_models() -> list[str]:
    """Return the models that a person can choose: the allowed names on the hub, and the models in
    the allowed folders."""
    return hub_models() + [
        str(folder) for root in model_folders() for folder in _models_below(root)
    ]


def _allowed_path(name: str) -> Path | None:
    """Return the resolved path if it is absolute and inside an allowed folder, also after following
    links; else None."""
    # Check the text of the path first, so that no other path is even accessed.
    plain = Path(os.path.normpath(name))
    if not plain.is_absolute() or "\0" in name:
        return None
    for root in model_folders():
        if (
            plain.is_relative_to(root)
            and (resolved := _resolve_path(plain)) is not None
            and resolved.is_relative_to(root)
        ):
            return resolved
    return None


def _resolve_path(path: Path) -> Path | None:
    """Return the resolved path; None if it has circular links, is too long, or names an unknown
    user's home.
    """
    try:
        resolved = path.expanduser().resolve()
        # The system reports a name that is too long only on access.
        resolved.exists()
        return resolved
    except (OSError, RuntimeError):
        return None


def holds_model(folder: Path) -> bool:
    """Return whether a folder has a model's configuration; False if it is unreadable or cannot
    exist.
    """
    try:
        return (folder / "config.json").is_file()
    except OSError:
        return False


def _models_below(root: Path) -> list[Path]:
    """Return the folders of models in and below a folder, without links and without folders inside
    another model.
    """
    models: list[Path] = []
    for depth in range(DEPTH + 1):
        folders = islice(root.glob("*/" * depth + "config.json"), MOST_OFFERED)
        for folder in sorted(config.parent for config in folders):
            if folder == folder.resolve() and not any(
                folder.is_relative_to(model) for model in models
            ):
                models.append(folder)
    return models
