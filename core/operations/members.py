"""Commands for the people of a project: their roles, and the queries of assessors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from ..records import change_member, remove_member, set_member, undo_member
from ..store import ABOUT_ROLES, ROLES, Member, Project, Role
from ..text import how_many
from .describing import Argument, Option
from .options import Author
from .output import Output
from .registry import operation

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
