"""Commands about the people of a project: their roles, tokens for scripts, and their actions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Annotated

from ..errors import InputError
from ..records import (
    Sought,
    activity as activity_of,
    activity_csv,
    bring_back as put_back,
    change_member,
    make_token,
    remove_member,
    set_member,
    tokens,
    undo_member,
    withdraw_token,
)
from ..store import ABOUT_ROLES, ROLES, Member, Project, Role, current_author
from ..text import how_many
from .registry import Argument, Author, Option, Output, TextOutput, operation

ROLE_HELP = "; ".join(f"{role}: {about}" for role, about in ABOUT_ROLES.items()) + "."


@operation("people add", act="manage people")
def add(
    project: Project,
    *,
    identity: Annotated[str, Argument()],
    role: Annotated[Role, Option(help=ROLE_HELP, choices=ROLES)],
    name: Annotated[str | None, Option(help="Name for recorded actions. Default: IDENTITY up to the @.")] = None,
    queries: Annotated[Sequence[str], Option("--query", help="Limit an assessor to this query; may be repeated.")] = (),
    author: Author,
) -> str:
    """Add a person with a role.

    IDENTITY is the e-mail address of the login, or the subject from the login provider.
    """
    return _said(set_member(project, identity, role, author, name, queries or None))


@operation("people set", act="manage people")
def change(
    project: Project,
    *,
    identity: Annotated[str, Argument()],
    role: Annotated[Role | None, Option(help="New role. Default: unchanged.", choices=ROLES)] = None,
    name: Annotated[str | None, Option(help="New name. Default: unchanged.")] = None,
    queries: Annotated[Sequence[str], Option("--query", help="Limit an assessor to this query; may be repeated.")] = (),
    all_queries: Annotated[bool, Option(help="Remove the limit to queries.")] = False,
    author: Author,
) -> str:
    """Change the role, name or queries of IDENTITY."""
    return _said(change_member(project, identity, author, role, name, queries or None, all_queries))


@operation("people remove", act="manage people")
def remove(
    project: Project,
    *,
    identity: Annotated[str, Argument()],
    author: Author,
) -> str:
    """Remove the role of IDENTITY. Recorded actions stay."""
    remove_member(project, identity, author)
    return f"Removed the role of {identity}. To undo: exam people undo {identity}"


@operation("people undo", act="manage people")
def undo(
    project: Project,
    *,
    identity: Annotated[str, Argument()],
    author: Author,
) -> str:
    """Undo the last change to the role of IDENTITY."""
    now = undo_member(project, identity, author)
    return _said(now) if now else f"{identity} has no role."


@operation("people list", act="manage people", reads=True)
def list_people(
    project: Project,
) -> Output:
    """List people, their roles and the queries of assessors."""
    found = project.members().values()
    return Output({"people": [vars(one) for one in found]}).table(
        ("identity", "name", "role", "queries"),
        [
            (one.identity, one.name, one.role, " ".join(one.queries) if one.queries is not None else "all")
            for one in found
        ],
    )


def _said(member: Member) -> str:
    limit = "" if member.queries is None else f" for {how_many(len(member.queries), 'queries')}"
    return f"Role of {member.identity}: {member.role}{limit}. Name for recorded actions: {member.name}."


@operation("tokens add", act="manage people")
def make(
    project: Project,
    *,
    name: Annotated[str, Argument()],
    role: Annotated[Role, Option(help=ROLE_HELP, choices=ROLES)],
    author: Author,
) -> TextOutput:
    """Create token NAME and print it. Actions with this token are recorded under `token NAME`."""
    made = make_token(project, name, role, author)
    return TextOutput().line(made).note(f"Token '{name}' ({role}) is shown only now. Store it like a password.")


@operation("tokens list", act="manage people", reads=True)
def list_tokens(
    project: Project,
) -> Output:
    """List the names, roles and use of tokens. The tokens themselves are not stored."""
    with project.doing("manage people"):
        found = tokens(project)
    return Output({"tokens": [asdict(one) for one in found]}).table(
        ("name", "role", "created", "by", "last used", "revoked"),
        [
            (one.name, one.role, _day(one.made_at), one.author, _day(one.used_at), _day(one.withdrawn_at))
            for one in found
        ],
    )


@operation("tokens revoke", act="manage people")
def withdraw(
    project: Project,
    *,
    name: Annotated[str, Argument()],
    author: Author,
) -> str:
    """Revoke token NAME."""
    withdraw_token(project, name, author)
    return f"Token '{name}' is revoked."


def _day(at: object) -> str | None:
    return None if at is None else f"{at:%Y-%m-%d %H:%M}"


@operation("activity", act="read the bank", reads=True, not_json=("as_csv",))
def activity(
    project: Project,
    *,
    who: Annotated[str | None, Option(help="Only actions of this person.", metavar="NAME")] = None,
    act: Annotated[str | None, Option(help="Only actions of this kind, for example 'save bank' or override.")] = None,
    since: Annotated[datetime | None, Option(help="Only from this day.", metavar="YYYY-MM-DD")] = None,
    until: Annotated[datetime | None, Option(help="Only up to and including this day.", metavar="YYYY-MM-DD")] = None,
    words: Annotated[
        str, Option("--find", help="Only actions with this text in a name, note, reason, question or query.")
    ] = "",
    limit: Annotated[int | None, Option(help="Show only the newest N actions.", least=1, metavar="N")] = None,
    as_csv: Annotated[bool, Option("--csv", help="Print CSV.")] = False,
) -> Output:
    """List the actions of all people, newest first."""
    if as_csv and limit:
        raise InputError(
            "options-exclude-each-other",
            "--csv and --limit cannot be combined.",
            "Remove --limit, or select actions with --since.",
        )
    sought = Sought(who, act, since.date() if since else None, until.date() if until else None, words)
    if as_csv:
        return Output().text(activity_csv(project, sought))
    found = activity_of(project, sought, limit or 0)
    return Output(
        {
            "total": found.total,
            "acts": [
                {
                    "number": one.key,
                    "happened_at": one.happened_at.isoformat(timespec="seconds"),
                    "who": one.author,
                    "act": one.act,
                    "what": one.said,
                    "detail": one.detail,
                }
                for one in found.acts
            ],
        }
    ).table(
        ("number", "when", "who", "action"),
        [(one.key, one.happened_at.isoformat(" ", timespec="minutes"), one.author, one.said) for one in found.acts],
    )


@operation("activity restore", act="bring back")
def bring_back(
    project: Project,
    *,
    act: Annotated[int, Argument(least=1, metavar="NUMBER")],
) -> Output:
    """Restore the data that an action replaced. NUMBER is its number in exam activity.

    The present data is kept. You can restore it with the number of this new action.
    """
    restored = [one.whole for one in put_back(project, act, current_author())]
    return Output({"act": act, "restored": restored}).note(*(f"Restored {whole}." for whole in restored))
