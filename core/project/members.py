"""The people of a project: who has which role, and in which queries."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..errors import InputError, unknown_name
from ..text import first_few, how_many
from .project import Cursor, Project, as_name, log
from .queries import unknown_queries
from .roles import ROLES, Member, Role

STATE_MEMBER = "set role"
REMOVE_MEMBER = "remove person"
LONGEST = 200
"""Characters of an identity, and of a name."""


SUBJECT = "subject:"
"""Prefix of the identity of a subject that could be taken for an address, or for an identity with this prefix."""


def identity_of(claims: Mapping[str, Any]) -> str:
    """The identity of a login: its e-mail address in lower case, or its subject if it has no verified address.

    The provider assigns a subject to one account (OpenID Connect Core 1.0, sections 2 and 5.1). It may let that account
    choose the subject, so no subject equals the identity of an address: `SUBJECT` precedes a subject with an @.

    Args:
        claims: of the identity token.

    Raises:
        InputError: there is neither.
    """
    stated = str(claims.get("email") or "").strip()
    address = stated.lower()
    # The lower case of the Kelvin sign is the letter k: an address must not become another one of ASCII letters.
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
    """Give somebody a role, or another one; what was stated before stays on record.

    Args:
        identity: their e-mail address, or the subject of their login as `identity_of` returns it.
        name: under which their acts are recorded; for None the one they have, else what is before the @.
        queries: ids of the queries that an assessor is limited to; None for all.

    Raises:
        InputError: an empty or taken name, an unknown role or query, queries for somebody who is no assessor, or the
            last organizer would be gone.
        NotAllowed: only an organizer may.
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
    """Change something about somebody who has a role; what is None stays as it is.

    Args:
        queries: ids of those that an assessor is limited to from now on.
        all_queries: whether an assessor is limited no longer.

    Raises:
        InputError: they have no role, or as `set_member` says.
        NotAllowed: only an organizer may.
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
    """Take somebody's role away. What they did stays, under their name.

    Raises:
        InputError: they have none, or are the last organizer.
        NotAllowed: only an organizer may.
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
    """Let somebody have the role again that they had before it was changed last, or none where they had none.

    Returns:
        What they are now; None where they have no role.

    Raises:
        InputError: nothing was changed, their name or queries are not free any more, or the last organizer would go.
        NotAllowed: only an organizer may.
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
    # Those who were removed keep theirs: their acts are under it.
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
