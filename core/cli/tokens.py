"""Commands for tokens: what scripts and other computers show to a server that has the project open."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from .. import project as room
from ..project import Role
from .members import ROLE, ROLE_HELP
from .options import (
    author_option,
    json_option,
    opened,
    print_rows,
    project_option,
    tell,
)


@click.group()
def token() -> None:
    """Create, list and revoke tokens for the API of the server."""


@token.command()
@click.argument("name")
@project_option
@click.option("--role", type=ROLE, required=True, help=ROLE_HELP)
@author_option
def make(name: str, project_path: Path | None, role: Role, author: str) -> None:
    """Create token NAME and print it. Actions with this token are recorded under `token NAME`."""
    with opened(project_path) as project:
        made = room.make_token(project, name, role, author)
    click.echo(made)
    tell(f"Token '{name}' ({role}) is shown only now. Store it like a password.")


@token.command(name="list")
@project_option
@json_option
def list_tokens(project_path: Path | None, as_json: bool) -> None:
    """List the names, roles and use of tokens. The tokens themselves are not stored."""
    with opened(project_path) as project, project.doing("manage people"):
        found = room.tokens(project)
    print_rows(
        as_json,
        {"tokens": [asdict(one) for one in found]},
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
def withdraw(name: str, project_path: Path | None, author: str) -> None:
    """Revoke token NAME."""
    with opened(project_path) as project:
        room.withdraw_token(project, name, author)
    tell(f"Token '{name}' is revoked.")


def _day(at: object) -> str | None:
    return None if at is None else f"{at:%Y-%m-%d %H:%M}"
