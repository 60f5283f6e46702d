"""Commands for the people of a project: who has which role, and in which queries."""

from __future__ import annotations

from collections.abc import Sequence

import click

from ..project import ABOUT_ROLES, ROLES, Member, Project, Role, change_member, remove_member, set_member, undo_member
from ..text import how_many
from .options import (
    author_option,
    json_option,
    project_option,
)
from .printing import Output, on_project

ROLE = click.Choice(ROLES)
ROLE_HELP = "; ".join(f"{role}: {about}" for role, about in ABOUT_ROLES.items()) + "."


@click.group()
def people() -> None:
    """Manage the roles of people on a shared server: viewer, assessor, organizer."""


@people.command()
@click.argument("identity")
@project_option
@click.option("--role", type=ROLE, required=True, help=ROLE_HELP)
@click.option("--name", help="Name for recorded actions. Default: IDENTITY up to the @.")
@click.option("--query", "queries", multiple=True, help="Limit an assessor to this query; may be repeated.")
@author_option
@on_project
def add(identity: str, project: Project, role: Role, name: str | None, queries: Sequence[str], author: str) -> str:
    """Add a person with a role.

    IDENTITY is the e-mail address of the login, or the subject from the login provider.
    """
    return _said(set_member(project, identity, role, author, name, queries or None))


@people.command()
@click.argument("identity")
@project_option
@click.option("--role", type=ROLE, help="New role. Default: unchanged.")
@click.option("--name", help="New name. Default: unchanged.")
@click.option("--query", "queries", multiple=True, help="Limit an assessor to this query; may be repeated.")
@click.option("--all-queries", is_flag=True, help="Remove the limit to queries.")
@author_option
@on_project
def change(
    identity: str,
    project: Project,
    role: Role | None,
    name: str | None,
    queries: Sequence[str],
    all_queries: bool,
    author: str,
) -> str:
    """Change the role, name or queries of IDENTITY."""
    return _said(change_member(project, identity, author, role, name, queries or None, all_queries))


@people.command()
@click.argument("identity")
@project_option
@author_option
@on_project
def remove(identity: str, project: Project, author: str) -> str:
    """Remove the role of IDENTITY. Recorded actions stay."""
    remove_member(project, identity, author)
    return f"Removed the role of {identity}. To undo: exam people undo {identity}"


@people.command()
@click.argument("identity")
@project_option
@author_option
@on_project
def undo(identity: str, project: Project, author: str) -> str:
    """Undo the last change to the role of IDENTITY."""
    now = undo_member(project, identity, author)
    return _said(now) if now else f"{identity} has no role."


@people.command(name="list")
@project_option
@json_option
@on_project
def list_people(project: Project) -> Output:
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
