"""Access tokens for scripts and other computers, each with a role; only their hashes are stored."""

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
from ..store import Member, Project, Role, as_name, log

BYTES = 32
"""Random bytes of a token: 256 bits cannot be guessed, so a plain hash is as safe as a slow one."""
BEGINS = "exam_"
"""Prefix of every token, so that secret scanners can find leaked ones."""
LONGEST = 80
"""Maximum length of a token's name, in characters."""
USED = timedelta(minutes=10)
"""Precision of the last use of a token; a write at every use would cost too much."""
MAKE_TOKEN, WITHDRAW_TOKEN = "make token", "withdraw token"

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Token:
    """The record of a token, without its secret.

    Args:
        used_at: last use, to about ten minutes; None if never used.
        withdrawn_at: None while the token is valid.
    """

    key: int
    name: str
    role: Role
    author: str
    made_at: datetime
    used_at: datetime | None
    withdrawn_at: datetime | None

    def member(self) -> Member:
        """Return the member for the checks of roles and the log."""
        return Member(f"token {self.name}", f"token {self.name}", self.role)


def tokens(project: Project) -> list[Token]:
    """Return every token of a project, newest first, including revoked ones."""
    return [
        Token(*row)
        for row in project.rows(
            "SELECT token_key, name, role, author, made_at, used_at, withdrawn_at FROM tokens ORDER BY token_key DESC"
        )
    ]


def make_token(project: Project, name: str, role: Role, author: str) -> str:
    """Create a token.

    Args:
        name: its purpose; its actions are recorded under `token NAME`.

    Returns:
        The token. It is shown only this once and not stored.

    Raises:
        InputError: empty, long or taken name, or unknown role.
        NotAllowed: only an organizer may create tokens.
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
        # Names of revoked tokens stay taken, so that the log is unambiguous.
        if cursor.execute("SELECT 1 FROM tokens WHERE name = ?", [name]).fetchall():
            raise InputError(
                "name-taken", f"A token named '{name}' already exists, or was revoked.", "Use another name."
            )
        cursor.execute(
            "INSERT INTO tokens VALUES (nextval('keys'), ?, ?, ?, ?, now()::TIMESTAMP, NULL, NULL)",
            [name, role, _hash(text), as_name(author)],
        )
        log(cursor, author, MAKE_TOKEN, name=name, role=role)
    return text


def withdraw_token(project: Project, name: str, author: str) -> None:
    """Revoke a token from the next request on.

    Raises:
        InputError: no active token has this name.
        NotAllowed: only an organizer may revoke tokens.
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
    """Return the valid token for a secret; None if it is unknown or revoked.

    Its hash is compared with every stored hash in constant time, so that the response time reveals
    nothing about partial matches.
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
            with project.transaction() as cursor:
                cursor.execute("UPDATE tokens SET used_at = now()::TIMESTAMP WHERE token_key = ?", [token.key])
        except (duckdb.Error, ProjectError) as error:
            # On a full disk tokens still work. The next use is recorded once there is space.
            _log.warning("cannot record the use of token %s: %s", token.name, error)
    return token


def acting_with(project: Project, token: Token) -> Project:
    """Return a handle of the same open project for a token. Every act checks the current role of the token."""

    def member() -> Member | None:
        now = next((one for one in tokens(project) if one.key == token.key), None)
        return None if now is None or now.withdrawn_at is not None else now.member()

    return project.acting_as(token.member().identity, member)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
