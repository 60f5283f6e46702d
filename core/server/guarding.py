"""Who is let in: under which name the server is asked, which token is shown, how much and how often one asks."""

from __future__ import annotations

import hmac
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from ..cli.guests import act_of
from ..errors import InputError, NotAllowed, WorkbenchError
from ..limits import exceeded, limit, within
from ..project import Project, acting_with, find_token
from .holding import held

MINUTE = 60.0
LOOPBACK = ("localhost", "127.0.0.1", "::1")


class Unknown(WorkbenchError):
    """Somebody shows no token, or one that opens nothing here."""


class TooMuch(WorkbenchError):
    """A request that is larger than allowed."""


class TooOften(WorkbenchError):
    """More requests than are allowed in a minute."""


@dataclass(frozen=True)
class Visitor:
    """Somebody who was let in.

    Args:
        project: as they have it.
        name: under whom they are recorded; None for the owner, whose commands say it.
        key: what their requests are counted by.
    """

    project: Project
    name: str | None
    key: str

    @property
    def owner(self) -> bool:
        """Whether they read the door's file: whoever the project belongs to, at a shell of this computer."""
        return self.name is None

    def require(self, command: str) -> None:
        """Refuse a command that their role does not include.

        Args:
            command: its words after `exam`.

        Raises:
            NotAllowed: it is refused; it says which role is needed and whom to ask.
        """
        self.project.require(act_of(command))


def check_host(header: str, allowed: Sequence[str]) -> None:
    """Refuse a request under a name that is not this server's: a web page may point a name of its own here.

    Args:
        header: the request's `Host`.
        allowed: names and numbers of this server, or patterns such as *.example.org; those of this computer are
            allowed without being named.

    Raises:
        NotAllowed: it is another name.
    """
    host = re.sub(r":\d*$", "", header).strip("[]").lower()
    if allowed and not any(fnmatchcase(host, name.lower()) for name in (*LOOPBACK, *allowed)):
        raise NotAllowed(
            "host-not-allowed", "The host name of the request is not allowed.", "Use a name from server.allowedHosts."
        )


def check_origin(origin: str | None, host: str, allowed: Sequence[str]) -> None:
    """Refuse a request by a page of another origin; another port of the same host is another origin.

    Args:
        origin: the request's `Origin`; None if it has none, because no page sends it.
        host: the request's `Host`.
        allowed: further origins whose pages may send it.

    Raises:
        NotAllowed: it is another origin.
    """
    if origin is not None and origin.lower() not in (f"http://{host}".lower(), f"https://{host}".lower(), *allowed):
        raise NotAllowed(
            "foreign-origin", "The request came from a page of another origin.", "Use the pages of this server."
        )


def let_in(headers: Mapping[str, str]) -> Visitor:
    """Whoever shows a token that belongs to a project which is open here.

    Args:
        headers: of the request, their names in lower case.

    Raises:
        Unknown: there is no token, or it opens nothing.
    """
    kind, _, shown = headers.get("authorization", "").partition(" ")
    shown = shown.strip()
    if kind.lower() != "bearer" or not shown or len(shown) > 200 or not shown.isascii():
        raise Unknown(
            "no-token",
            "No token in the request.",
            "Send Authorization: Bearer TOKEN. Make a token with exam token make.",
        )
    for one in held():
        if one.door is not None and hmac.compare_digest(one.door.token, shown):
            return Visitor(one.project, None, "")
    for one in held():
        if (token := find_token(one.project, shown)) is not None:
            name = token.member().name
            return Visitor(acting_with(one.project, token), name, f"{one.project.path} {token.key}")
    raise Unknown(
        "invalid-token",
        "This token is not valid on this server.",
        "Use another token, or open the project of this token on the server.",
    )


def check_rate(visitor: Visitor, now: float | None = None) -> None:
    """Count a request, and refuse it where there were too many in this minute.

    Args:
        now: seconds that only grow; the clock's for None.

    Raises:
        TooOften: there were.
    """
    if not visitor.owner and not within("REQUESTS", visitor.key, MINUTE, now):
        said = exceeded("Within a minute there were more than", "REQUESTS", limit("REQUESTS"))
        raise TooOften("too-many-requests", said, "Try again in a minute.")


def check_size(headers: Mapping[str, str]) -> None:
    """Refuse a request that does not say how large it is, or is too large.

    Raises:
        TooMuch: it is.
        InputError: it does not say.
    """
    stated, most = headers.get("content-length", "0"), limit("REQUEST")
    if headers.get("transfer-encoding") or not stated.isascii() or not stated.isdecimal():
        raise InputError("no-content-length", "The request does not state its size.", "Send a Content-Length header.")
    if len(stated) > 18 or int(stated) > most:
        raise TooMuch("request-too-large", exceeded("the request is larger than", "REQUEST", most))
