"""The people of a project, with their roles and queries."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..errors import InputError, unknown_name
from ..store import ROLES, Cursor, Member, Project, Role, as_name, log
from ..text import first_few, how_many
from ._queries import unknown_queries

STATE_MEMBER = "set role"
REMOVE_MEMBER = "remove person"
LONGEST = 200
"""Maximum number of characters of an identity or a name."""


SUBJECT = "subject:"
"""Prefix for a subject that contains an @ or starts with this prefix, so that it never equals an e-mail address."""


def identity_of(claims: Mapping[str, Any]) -> str:
    """Return the identity of a login: its e-mail address in lower case, or its subject if it has no verified address.

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
    # Lower case turns the Kelvin sign into the letter k, so a non-ASCII address could become another, ASCII one.
    sound = "@" in address and not address.startswith(SUBJECT) and address.isascii() == stated.isascii()
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
        name: recorded with their actions. None keeps the present name; a new person gets the part before the @.
        queries: ids of the queries that an assessor is limited to; None for all.

    Raises:
        InputError: empty or taken name; unknown role or query; queries for a person who is not an assessor; the
            last organizer would lose the role.
        NotAllowed: only an organizer may set roles.
    """
    identity = _identity(identity)
    with project.transaction(act="manage people", author=author) as cursor:
        known = project.members()
        before = known.get(identity)
        usual = before.name if before else identity.removeprefix(SUBJECT).split("@")[0]
        name = as_name(usual if name is None else name)
        new = Member(identity, name, role, None if queries is None else tuple(dict.fromkeys(queries)))
        _check(cursor, new)
        if before is None or new != replace(before, further=()):
            _keep_one(known, identity, role)
            _state(cursor, identity, name, role, new.queries, author)
            told = {} if new.queries is None else {"queries": len(new.queries)}
            log(cursor, author, STATE_MEMBER, person=name, role=role, **told)
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
    if (known := project.members().get(_identity(identity))) is None:
        raise InputError(
            "unknown-member", f"{identity} has no role in this project.", "Add a role with exam people add."
        )
    role = role or known.role
    stays = known.queries if role == known.role and not all_queries else None
    return set_member(project, identity, role, author, name, stays if queries is None else queries)


def remove_member(project: Project, identity: str, author: str) -> None:
    """Remove the role of a person. Their work stays under their name.

    Raises:
        InputError: the person has no role, or is the last organizer.
        NotAllowed: only an organizer may remove people.
    """
    identity = _identity(identity)
    with project.transaction(act="manage people", author=author) as cursor:
        known = project.members()
        if identity not in known:
            raise InputError("unknown-member", f"{identity} has no role in this project.", "See exam people list.")
        _keep_one(known, identity, None)
        _state(cursor, identity, known[identity].name, None, None, author)
        log(cursor, author, REMOVE_MEMBER, person=known[identity].name)


def undo_member(project: Project, identity: str, author: str) -> Member | None:
    """Undo the latest change of a person's role; a first role is removed.

    Returns:
        Their role now; None without a role.

    Raises:
        InputError: no change to undo, their earlier name or queries are no longer available, or the last organizer
            would lose the role.
        NotAllowed: only an organizer may undo it.
    """
    identity = _identity(identity)
    project.require("manage people")
    stated = project.rows(
        "SELECT name, role, to_json(queries)::VARCHAR FROM members WHERE identity = ? ORDER BY member_key DESC LIMIT 2",
        [identity],
    )
    if not stated:
        raise InputError(
            "nothing-to-undo", f"{identity} has never had a role in this project.", "See exam people list."
        )
    if len(stated) == 1 or stated[1][1] is None:
        remove_member(project, identity, author)
        return None
    name, role, queries = stated[1]
    return set_member(project, identity, role, author, name, None if queries is None else json.loads(queries))


def _identity(text: str) -> str:
    identity = as_name(text)
    if not identity or len(identity) > LONGEST:
        raise InputError(
            "invalid-identity",
            "The identity is empty or too long.",
            "Use an e-mail address or the subject of a login.",
        )
    return identity.lower() if "@" in identity and not identity.startswith(SUBJECT) else identity


def _check(cursor: Cursor, new: Member) -> None:
    if new.role not in ROLES:
        raise unknown_name("unknown-role", "role", new.role, ROLES)
    if not new.name or len(new.name) > LONGEST:
        raise InputError(
            "invalid-name", "The name is empty or too long.", "Give the name to record with this person's actions."
        )
    # Removed people keep their names, because their actions are recorded under them.
    others = cursor.execute(
        "SELECT identity FROM members WHERE name = ? AND identity <> ? ORDER BY member_key DESC",
        [new.name, new.identity],
    ).fetchall()
    if others:
        raise InputError("name-taken", f"The name {new.name} belongs to {others[0][0]}.", "Use another name.")
    if new.queries is None:
        return
    if new.role != "assessor":
        raise InputError(
            "queries-for-no-assessor",
            f"Only assessors have assigned queries, but {new.name} is {new.role}.",
            "Leave out the queries.",
        )
    if unknown := unknown_queries(cursor, new.queries):
        raise InputError(
            "unknown-query",
            f"{how_many(len(unknown), 'unknown query ids')}: {first_few(unknown)}.",
            "Import these queries first, or leave them out.",
        )


def _keep_one(known: Mapping[str, Member], identity: str, role: Role | None) -> None:
    organizers = [one for one in known.values() if one.role == "organizer"]
    if role != "organizer" and [one.identity for one in organizers] == [identity]:
        raise InputError(
            "last-organizer",
            f"{organizers[0].name} is the last organizer of the project.",
            "Make another person organizer first.",
        )


def _state(
    cursor: Cursor, identity: str, name: str, role: Role | None, queries: Sequence[str] | None, author: str
) -> None:
    cursor.execute(
        "INSERT INTO members VALUES (nextval('keys'), ?, ?, ?, ?::VARCHAR[], ?, now()::TIMESTAMP)",
        [identity, name, role, None if queries is None else list(queries), as_name(author)],
    )
