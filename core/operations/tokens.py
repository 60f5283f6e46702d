"""Commands for tokens, with which scripts and other computers access a server that has the project open."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from ..records import make_token, tokens, withdraw_token
from ..store import ROLES, Project, Role
from .describing import Argument, Option
from .members import ROLE_HELP
from .options import Author
from .output import Output, TextOutput
from .registry import operation


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
