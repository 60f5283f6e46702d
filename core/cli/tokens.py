"""Commands for tokens: what scripts and other computers show to a server that has the project open."""

from __future__ import annotations

from dataclasses import asdict

import click

from .. import project as room
from ..project import Project, Role
from .members import ROLE, ROLE_HELP
from .options import (
    author_option,
    json_option,
    project_option,
)
from .printing import Output, on_project


@click.group()
def token() -> None:
    """Create, list and revoke tokens for the API of the server."""


@token.command()
@click.argument("name")
@project_option
@click.option("--role", type=ROLE, required=True, help=ROLE_HELP)
@author_option
@on_project
def make(name: str, project: Project, role: Role, author: str) -> Output:
    """Create token NAME and print it. Actions with this token are recorded under `token NAME`."""
    made = room.make_token(project, name, role, author)
    return Output().line(made).note(f"Token '{name}' ({role}) is shown only now. Store it like a password.")


@token.command(name="list")
@project_option
@json_option
@on_project
def list_tokens(project: Project) -> Output:
    """List the names, roles and use of tokens. The tokens themselves are not stored."""
    with project.doing("manage people"):
        found = room.tokens(project)
    return Output({"tokens": [asdict(one) for one in found]}).table(
        ("name", "role", "created", "by", "last used", "revoked"),
        [
            (one.name, one.role, _day(one.made_at), one.author, _day(one.used_at), _day(one.withdrawn_at))
            for one in found
        ],
    )


@token.command()
@click.argument("name")
@project_option
@author_option
@on_project
def withdraw(name: str, project: Project, author: str) -> str:
    """Revoke token NAME."""
    room.withdraw_token(project, name, author)
    return f"Token '{name}' is revoked."


def _day(at: object) -> str | None:
    return None if at is None else f"{at:%Y-%m-%d %H:%M}"
