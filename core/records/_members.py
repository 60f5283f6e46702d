"""The people of a project with their roles and queries, and access tokens for scripts and other
computers.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, get_args

import duckdb

from ..errors import InputError, ProjectError, WorkbenchError, check_known
from ..store import (
    MEMBERS,
    ROLES,
    Cursor,
    Member,
    Project,
    Role,
    as_name,
    database_connection,
    is_open,
    log_action,
    log_of,
)
from ._collection import check_queries

STATE_MEMBER = "set role"
REMOVE_MEMBER = "remove person"
LONGEST = 200
"""Maximum number of characters of an identity or a name."""


SUBJECT = "subject:"
"""Prefix for a subject that contains an @ or starts with this prefix, so that it never equals an
e-mail address.
"""


def identity_of(claims: Mapping[str, Any]) -> str:
    """Return the identity of a login: its e-mail address in lower case, or its subject if it has no
    verified address.

    The provider assigns a subject to one account (OpenID Connect Core 1.0, sections 2 and 5.1). The
    owner of an account may be able to choose its subject. So a subject with an @ gets the prefix
    `SUBJECT`, which distinguishes it from any address.

    Args:
        claims: the claims of the identity token.

    Raises:
        InputError: the login has neither an address nor a subject.
    """
    stated = str(claims.get("email") or "").strip()
    address = stated.lower()
    # Lower case turns the Kelvin sign into the letter k, so a non-ASCII address could become
    # another, ASCII one.
    sound = (
        "@" in address and not address.startswith(SUBJECT) and address.isascii() == stated.isascii()
    )
    if sound and claims.get("email_verified", True) in (True, "true"):
        return address
    if subject := str(claims.get("sub") or "").strip():
        return SUBJECT + subject if "@" in subject or subject.startswith(SUBJECT) else subject
    raise InputError(
        "login-without-identity",
        "The login provides neither an e-mail address nor a subject.",
        "Configure the provider to grant the scopes openid and email.",
    )


def set_member(
    project: Project,
    identity: str,
    role: Role,
    author: str,
    name: str | None = None,
    queries: Sequence[str] | None = None,
) -> Member:
    """Set the role of a person; earlier roles stay on record.

    Args:
        identity: their e-mail address, or the subject of their login as `identity_of` returns it.
        name: recorded with their actions. None keeps the present name; a new person gets the part
            before the @.
        queries: ids of the queries that an assessor is limited to; None for all.

    Raises:
        InputError: empty or taken name; unknown role or query; queries for a person who is not an
            assessor; the last organizer would lose the role.
        NotAllowed: only an organizer may set roles.
    """
    identity = _clean_identity(identity)
    with project.transaction(act="manage people", author=author) as cursor:
        members = project.members()
        before = members.get(identity)
        usual = before.name if before else identity.removeprefix(SUBJECT).split("@")[0]
        name = as_name(usual if name is None else name)
        new = Member(
            identity, name, role, None if queries is None else tuple(dict.fromkeys(queries))
        )
        _check_member(project, cursor, new)
        if before is None or new != replace(before, further=()):
            _keep_one(members, identity, role)
            _insert_member(cursor, identity, name, role, new.queries, author)
            told = {} if new.queries is None else {"queries": len(new.queries)}
            log_action(cursor, author, STATE_MEMBER, person=name, role=role, **told)
    return new


def change_member(
    project: Project,
    identity: str,
    author: str,
    role: Role | None = None,
    name: str | None = None,
    queries: Sequence[str] | None = None,
    all_queries: bool = False,
) -> Member:
    """Change the role, name or queries of a person; None leaves a value unchanged.

    Args:
        queries: ids of the queries that an assessor is limited to from now on.
        all_queries: removes the limit to queries.

    Raises:
        InputError: the person has no role, or as in `set_member`.
        NotAllowed: only an organizer may change people.
    """
    project.require("manage people")
    if (member := project.members().get(_clean_identity(identity))) is None:
        raise InputError(
            "unknown-member",
            f"{identity} has no role in this project.",
            "Add a role with exam people add.",
        )
    role = role or member.role
    stays = member.queries if role == member.role and not all_queries else None
    return set_member(project, identity, role, author, name, stays if queries is None else queries)


def remove_member(project: Project, identity: str, author: str) -> None:
    """Remove the role of a person. Their work stays under their name.

    Raises:
        InputError: the person has no role, or is the last organizer.
        NotAllowed: only an organizer may remove people.
    """
    identity = _clean_identity(identity)
    with project.transaction(act="manage people", author=author) as cursor:
        members = project.members()
        if identity not in members:
            raise InputError(
                "unknown-member",
                f"{identity} has no role in this project.",
                "See exam people list.",
            )
        _keep_one(members, identity, None)
        _insert_member(cursor, identity, members[identity].name, None, None, author)
        log_action(cursor, author, REMOVE_MEMBER, person=members[identity].name)


def undo_member(project: Project, identity: str, author: str) -> Member | None:
    """Undo the latest change of a person's role; a first role is removed.

    Returns:
        Their role now; None without a role.

    Raises:
        InputError: no change to undo, their earlier name or queries are no longer available, or the
            last organizer would lose the role.
        NotAllowed: only an organizer may undo it.
    """
    identity = _clean_identity(identity)
    project.require("manage people")
    stated = project.rows(
        "SELECT name, role, to_json(queries)::VARCHAR FROM members WHERE identity = ?"
        " ORDER BY member_key DESC LIMIT 2",
        [identity],
    )
    if not stated:
        raise InputError(
            "nothing-to-undo",
            f"{identity} has never had a role in this project.",
            "See exam people list.",
        )
    if len(stated) == 1 or stated[1][1] is None:
        remove_member(project, identity, author)
        return None
    name, role, queries = stated[1]
    return set_member(
        project, identity, role, author, name, None if queries is None else json.loads(queries)
    )


def _clean_identity(text: str) -> str:
    identity = as_name(text)
    if not identity or len(identity) > LONGEST:
        raise InputError(
            "invalid-identity",
            "The identity is empty or too long.",
            "Use an e-mail address or the subject of a login.",
        )
    return identity.lower() if "@" in identity and not identity.startswith(SUBJECT) else identity


def _check_member(project: Project, cursor: Cursor, new: Member) -> None:
    check_known("unknown-role", "role", ROLES, new.role)
    if not new.name or len(new.name) > LONGEST:
        raise InputError(
            "invalid-name",
            "The name is empty or too long.",
            "Give the name to record with this person's actions.",
        )
    # Removed people keep their names, because their actions are recorded under them.
    others = cursor.execute(
        "SELECT identity FROM members WHERE name = ? AND identity <> ? ORDER BY member_key DESC",
        [new.name, new.identity],
    ).fetchall()
    if others:
        raise InputError(
            "name-taken", f"The name {new.name} belongs to {others[0][0]}.", "Use another name."
        )
    if new.queries is None:
        return
    if new.role != "assessor":
        raise InputError(
            "queries-for-no-assessor",
            f"Only assessors have assigned queries, but {new.name} is {new.role}.",
            "Leave out the queries.",
        )
    check_queries(project, new.queries)


def _keep_one(members: Mapping[str, Member], identity: str, role: Role | None) -> None:
    organizers = [one for one in members.values() if one.role == "organizer"]
    if role != "organizer" and [one.identity for one in organizers] == [identity]:
        raise InputError(
            "last-organizer",
            f"{organizers[0].name} is the last organizer of the project.",
            "Make another person organizer first.",
        )


def _insert_member(
    cursor: Cursor,
    identity: str,
    name: str,
    role: Role | None,
    queries: Sequence[str] | None,
    author: str,
) -> None:
    cursor.execute(
        "INSERT INTO members VALUES (nextval('keys'), ?, ?, ?, ?::VARCHAR[], ?, now()::TIMESTAMP)",
        [identity, name, role, None if queries is None else list(queries), as_name(author)],
    )


BYTES = 32
"""Random bytes of a token: 256 bits cannot be guessed, so a plain hash is as safe as a slow one."""
BEGINS = "exam_"
"""Prefix of every token, so that secret scanners can find leaked ones."""
LONGEST_TOKEN_NAME = 80
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


def find_tokens(project: Project) -> list[Token]:
    """Return every token of a project, newest first, including revoked ones."""
    return [
        Token(*row)
        for row in project.rows(
            "SELECT token_key, name, role, author, made_at, used_at, withdrawn_at FROM tokens"
            " ORDER BY token_key DESC"
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
    if not name or len(name) > LONGEST_TOKEN_NAME:
        raise InputError(
            "invalid-name",
            "The name of the token is empty or too long.",
            f"Use 1 to {LONGEST_TOKEN_NAME} characters.",
        )
    check_known("unknown-role", "role", get_args(Role), role)
    text = BEGINS + secrets.token_urlsafe(BYTES)
    with project.transaction(act="manage people", author=author) as cursor:
        # Names of revoked tokens stay taken, so that the log is unambiguous.
        if cursor.execute("SELECT 1 FROM tokens WHERE name = ?", [name]).fetchall():
            raise InputError(
                "name-taken",
                f"A token named '{name}' already exists, or was revoked.",
                "Use another name.",
            )
        cursor.execute(
            "INSERT INTO tokens VALUES (nextval('keys'), ?, ?, ?, ?, now()::TIMESTAMP, NULL, NULL)",
            [name, role, _hash_token(text), as_name(author)],
        )
        log_action(cursor, author, MAKE_TOKEN, name=name, role=role)
    return text


def withdraw_token(project: Project, name: str, author: str) -> None:
    """Revoke a token from the next request on.

    Raises:
        InputError: no active token has this name.
        NotAllowed: only an organizer may revoke tokens.
    """
    with project.transaction(act="manage people", author=author) as cursor:
        changed = cursor.execute(
            "UPDATE tokens SET withdrawn_at = now()::TIMESTAMP WHERE name = ?"
            " AND withdrawn_at IS NULL RETURNING name",
            [name],
        ).fetchall()
        if not changed:
            raise InputError(
                "unknown-token", f"No active token is named '{name}'.", "See exam tokens list."
            )
        log_action(cursor, author, WITHDRAW_TOKEN, name=name)


def find_token(project: Project, text: str) -> Token | None:
    """Return the valid token for a secret; None if it is unknown or revoked.

    Its hash is compared with every stored hash in constant time, so that the response time reveals
    nothing about partial matches.
    """
    shown = _hash_token(text)
    rows = project.rows("SELECT token_key, hash FROM tokens WHERE withdrawn_at IS NULL")
    keys = [key for key, kept in rows if hmac.compare_digest(shown, kept)]
    token = next((known for known in find_tokens(project) if known.key in keys), None)
    if (
        token is not None
        and not project.read_only
        and (token.used_at is None or abs(datetime.now() - token.used_at) > USED)
    ):
        try:
            with project.transaction() as cursor:
                cursor.execute(
                    "UPDATE tokens SET used_at = now()::TIMESTAMP WHERE token_key = ?", [token.key]
                )
        except (duckdb.Error, ProjectError) as error:
            # On a full disk tokens still work. The next use is recorded once there is space.
            _log.warning("cannot record the use of token %s: %s", token.name, error)
    return token


def acting_with(project: Project, token: Token) -> Project:
    """Return a handle of the same open project for a token. Every act checks the current role of
    the token.
    """

    def current_member() -> Member | None:
        now = next((one for one in find_tokens(project) if one.key == token.key), None)
        return None if now is None or now.withdrawn_at is not None else now.member()

    return project.acting_as(token.member().identity, current_member)


def _hash_token(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


_seen: dict[Path, tuple[tuple[tuple[int, int], ...], frozenset[str]]] = {}
"""By file, its state when it was read, and the identities in it."""


def peek_members(path: Path) -> frozenset[str] | None:
    """Return the identities with a role in a project that this process does not have open.

    The file is read again only if it changed. If another process holds it now, the result is that
    of the last read. This process must not open the file meanwhile, because closing it here would
    drop the lock on it.

    Returns:
        An empty set for a file that is not a project, has a version without roles, or was never
        readable. None if this process has the project open; ask the project itself then.
    """
    if is_open(path):
        return None
    before = _seen.get(path)
    try:
        looks = _file_states(path)
        if before is not None and before[0] == looks:
            return before[1]
        with database_connection(path, read_only=True, patience=0) as connection:
            rows = connection.execute(MEMBERS).fetchall()
    except (WorkbenchError, duckdb.Error, OSError):
        return before[1] if before is not None else frozenset()
    found = frozenset(str(identity) for identity, _, role, _ in rows if role is not None)
    _seen[path] = looks, found
    return found


def _file_states(path: Path) -> tuple[tuple[int, int], ...]:
    """Return the modification times and sizes of the file and its log."""
    about = [file.stat() for file in (path, log_of(path)) if file.exists()]
    return tuple((state.st_mtime_ns, state.st_size) for state in about)
