"""Tokens: what a script or another computer shows to be let in, with a role; only a hash of each is kept."""

from __future__ import annotations

import hashlib
import hmac
import logging
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import get_args

import duckdb

from ..errors import InputError, ProjectError, unknown_name
from .project import Project, as_name, log
from .roles import Member, Role

BYTES = 32
"""Of chance in a token: 256 bits cannot be guessed, so a plain hash keeps it as safe as a slow one would."""
BEGINS = "exam_"
"""How every token begins, so that one which leaks can be found by whoever looks for secrets."""
LONGEST = 80
"""Characters of a token's name."""
USED = timedelta(minutes=10)
"""How exactly it is kept when a token was used last: a write at every use would cost more than it tells."""
MAKE_TOKEN, WITHDRAW_TOKEN = "make token", "withdraw token"

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Token:
    """What is known of a token; not the token.

    Args:
        used_at: when it was used last, to about ten minutes; None where it never was.
        withdrawn_at: None as long as it lets somebody in.
    """

    key: int
    name: str
    role: Role
    author: str
    made_at: datetime
    used_at: datetime | None
    withdrawn_at: datetime | None

    def member(self) -> Member:
        """Who acts with it, for the checks of roles and the log."""
        return Member(f"token {self.name}", f"token {self.name}", self.role)


def tokens(project: Project) -> list[Token]:
    """Every token of a project, newest first, the withdrawn ones too."""
    return [
        Token(*row)
        for row in project.rows(
            "SELECT token_key, name, role, author, made_at, used_at, withdrawn_at FROM tokens ORDER BY token_key DESC"
        )
    ]


def make_token(project: Project, name: str, role: Role, author: str) -> str:
    """Make a token.

    Args:
        name: what it is for; its acts are recorded under `token NAME`.

    Returns:
        The token. It is told this once and kept nowhere.

    Raises:
        InputError: an empty, long or taken name, or no role.
        NotAllowed: only an organizer may.
    """
    name = as_name(name)
    if not name or len(name) > LONGEST:
        raise InputError(
            "invalid-name", "The name of the token is empty or too long.", f"Use 1 to {LONGEST} characters."
        )
    if role not in get_args(Role):
        raise unknown_name("unknown-role", "role", role, get_args(Role))
    text = BEGINS + secrets.token_urlsafe(BYTES)
    with project.transaction(act="manage people", author=author) as cursor:
        # A name that was withdrawn stays taken, so that what the log says of it stays unequivocal.
        if cursor.execute("SELECT 1 FROM tokens WHERE name = ?", [name]).fetchall():
            raise InputError("name-taken", f"A token named '{name}' exists or was revoked.", "Use another name.")
        cursor.execute(
            "INSERT INTO tokens VALUES (nextval('keys'), ?, ?, ?, ?, now()::TIMESTAMP, NULL, NULL)",
            [name, role, _hash(text), as_name(author)],
        )
        log(cursor, author, MAKE_TOKEN, name=name, role=role)
    return text


def withdraw_token(project: Project, name: str, author: str) -> None:
    """Let a token open nothing any more, from the next request on.

    Raises:
        InputError: there is none of this name that lets anybody in.
        NotAllowed: only an organizer may.
    """
    with project.transaction(act="manage people", author=author) as cursor:
        changed = cursor.execute(
            "UPDATE tokens SET withdrawn_at = now()::TIMESTAMP WHERE name = ? AND withdrawn_at IS NULL RETURNING name",
            [name],
        ).fetchall()
        if not changed:
            raise InputError("unknown-token", f"No active token is named '{name}'.", "See exam tokens list.")
        log(cursor, author, WITHDRAW_TOKEN, name=name)


def find_token(project: Project, text: str) -> Token | None:
    """The token that somebody shows; None where it is none, or is withdrawn.

    Its hash is held against every one that is kept, each in a time that tells nothing of how much is equal.
    """
    shown, found = _hash(text), None
    for key, kept in project.rows("SELECT token_key, hash FROM tokens WHERE withdrawn_at IS NULL"):
        if hmac.compare_digest(shown, kept):
            found = key
    token = next((one for one in tokens(project) if one.key == found), None)
    if token is not None and not project.read_only and (
        token.used_at is None or abs(datetime.now() - token.used_at) > USED
    ):  # fmt: skip
        try:
            with project.transaction("tokens") as cursor:
                cursor.execute("UPDATE tokens SET used_at = now()::TIMESTAMP WHERE token_key = ?", [token.key])
        except (duckdb.Error, ProjectError) as error:
            # On a full disk, tokens still read. The next use is noted once there is room.
            _log.warning("cannot record the use of token %s: %s", token.name, error)
    return token


def acting_with(project: Project, token: Token) -> Project:
    """The same open project as somebody has it who shows a token; its role is looked up anew at every act."""

    def member() -> Member | None:
        now = next((one for one in tokens(project) if one.key == token.key), None)
        return None if now is None or now.withdrawn_at is not None else now.member()

    return project.acting_as(token.member().identity, member)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
