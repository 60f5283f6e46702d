"""Who takes part in a team: seats with queries; with logins a provider beside the server, roles, doubled queries."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from core.project import Role, assign_double, open_project, set_member
from pages.parts.shared.person import COOKIE
from tests.made.openid_provider import CLIENT, SECRET, OpenIdProvider
from tests.made.visitor import Visitor

SECRETS = "STREAMLIT_SECRETS_FILES"
"""Variable of the environment that names the file of a server's secrets."""


@dataclass(frozen=True)
class Seat:
    """Somebody of the team.

    Args:
        name: under which they work.
        queries: their own ones; nobody else changes the questions that are there.
        shared: a query to which all add questions.
        foreign: one in which they may do nothing; empty for none.
        role: of their login; None where nobody logs in.
        doubled: a query that they judge blindly beside somebody else; empty for none.
        partner: who that is.
    """

    name: str
    queries: tuple[str, ...]
    shared: str
    foreign: str
    role: Role | None = None
    doubled: str = ""
    partner: str = ""

    @property
    def identity(self) -> str:
        """What the provider knows them by."""
        return f"{self.name.replace(' ', '-')}@example.org"

    @property
    def assigned(self) -> tuple[str, ...]:
        """The queries that are assigned to them."""
        return (*self.queries, self.shared)


def seats_of(sessions: int, queries: Sequence[str], logins: bool) -> list[Seat]:
    """Seats for so many: everybody has queries of their own, and the first query is everybody's.

    Args:
        queries: ids, more than there are seats.
        logins: whether they log in: the first one is an organizer, and two and two of the others judge the first query
            of one of them doubly.
    """
    own = [tuple(queries[1 + at % (len(queries) - 1) :: sessions]) or (queries[-1],) for at in range(sessions)]
    found = []
    for at in range(sessions):
        role: Role | None = ("assessor" if at else "organizer") if logins else None
        partner = at + 1 if at % 2 else at - 1
        paired = role == "assessor" and 0 < partner < sessions
        doubled = own[min(at, partner)][0] if paired else ""
        theirs = {*own[at], queries[0], doubled}
        foreign = next((query for query in reversed(queries) if query not in theirs), "")
        found.append(Seat(f"ann {at}", own[at], queries[0], foreign, role, doubled, f"ann {partner}" if paired else ""))
    return found


@contextmanager
def shared_server(folder: Path) -> Iterator[OpenIdProvider]:
    """A provider of logins; a server that is started in the block takes them from it."""
    with OpenIdProvider() as provider:
        file = folder / "secrets.toml"
        file.write_text(
            "[auth]\n"
            'redirect_uri = "http://localhost:{port}/oauth2callback"\n'
            f'cookie_secret = "signs-the-cookies-of-this-drill"\nclient_id = "{CLIENT}"\nclient_secret = "{SECRET}"\n'
            f'server_metadata_url = "{provider.url}/.well-known/openid-configuration"\n'
        )
        os.environ[SECRETS] = str(file)
        try:
            yield provider
        finally:
            del os.environ[SECRETS]


def give_roles(path: Path, seats: Sequence[Seat]) -> None:
    """Write down who may do what in a project, and who judges what doubly; `shell` says so."""
    project = open_project(path)
    for seat in seats:
        assert seat.role is not None
        queries = None if seat.role == "organizer" else seat.assigned
        set_member(project, seat.identity, seat.role, "shell", seat.name, queries)
    for seat in seats:
        if seat.doubled in seat.queries:
            assign_double(project, seat.doubled, "shell", [seat.name, seat.partner])
    project.close()


def come_in(address: str, seat: Seat, provider: OpenIdProvider | None) -> Visitor:
    """Their browser: with a login where there is a provider, else with the name that it was given before.

    One after the other: the provider logs in whom it is told, and no two at a time.
    """
    if provider is None:
        return Visitor(address, {COOKIE: seat.name})
    visitor = Visitor(address)
    provider.behave(email=seat.identity, sub=f"subject of {seat.name}")
    visitor.log_in().close()
    return visitor
