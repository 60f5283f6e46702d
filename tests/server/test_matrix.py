"""Permissions of roles on every screen, command and route, and attempts of a viewer through the API."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from exam_workbench.operations import every_operation, find_operation
from exam_workbench.records import set_member
from exam_workbench.server._api import PREFIX, make_api
from exam_workbench.store import ACTS, ROLES, ActName, Project, Role, open_project
from pages.parts.shared import login
from pages.parts.shared.screens import SCREENS
from tests.server import hostile
from tests.server.api import Api
from tests.server.conftest import made_tokens

FOR_EVERY_TOKEN = ("GET openapi.json", "GET door", "POST run/{number}", "DELETE run/{number}")
"""Routes that reveal only the project's name or concern only the token's own requests."""


@dataclass(frozen=True)
class Way:
    """A route of the API.

    Args:
        path: the path after /api/v1/.
        act: the action that the route performs; None if every token may use it.
        command: the words of its command after `exam`; empty if it runs no command.
    """

    method: str
    path: str
    act: ActName | None
    command: str = ""


def ways() -> list[Way]:
    """Return every route of the API."""
    stated: list[tuple[str, ActName | None]] = [(route, None) for route in FOR_EVERY_TOKEN]
    stated += [(route, act) for act, rule in ACTS.items() for route in rule.routes]
    found: list[Way] = []
    for route, act in stated:
        method, _, path = route.partition(" ")
        found.append(Way(method, path, act))
    for one in every_operation():
        if one.at_shell:
            continue
        path = one.name.replace(" ", "/")
        methods = ("GET", "POST") if one.may_read else ("POST",)
        # GET lists the jobs, but POST starts a job.
        taken = {(way.method, way.path) for way in found}
        found += [Way(method, path, one.act, one.name) for method in methods if (method, path) not in taken]
    return found


SECRETS = (b"A?", b"B?")
"""The texts of the questions."""


@pytest.fixture(scope="module")
def peopled(apart: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """A project with one member per role, named after the role."""
    project = open_project(shutil.copy(apart, tmp_path_factory.mktemp("peopled") / "some.duckdb"))
    for role in reversed(ROLES):
        set_member(project, f"{role}@x.org", role, "shell")
    yield project
    project.close()


def includes(role: Role, act: str) -> bool:
    return ROLES.index(role) >= ROLES.index(ACTS[act].role)  # type: ignore[index]


def test_screens_commands_and_routes_follow_role_table(api: Api, tokens: dict[str, str], peopled: Project) -> None:
    wrong = []
    for role in ROLES:
        token, person, included = tokens[role], peopled.acting_as(f"{role}@x.org"), set[str]()
        for screen in SCREENS:
            acts = [act for act, rule in ACTS.items() if screen in rule.screens]
            to_see = [act for act in acts if not ACTS[act].writes] or acts
            if login.may_see(person, screen) is not any(includes(role, act) for act in to_see):
                wrong.append((role, "screen", screen))
        for way in ways():
            if way.act is None or way.act in included:
                continue
            if includes(role, way.act) and way.command and way.method == "POST":
                # For permitted actions, one route and its command per action are enough.
                included.add(way.act)
            # Permitted requests fail because of the unknown parameter, so nothing is changed.
            path = f"/api/v1/{way.path}" + ("?nonsense=1" if way.method == "GET" else "")
            said = [api.ask(way.method, path, token, {"nonsense": 1} if way.method == "POST" else None)]
            if way.command and way.method == "POST":
                said.append(api.send(way.command, {"nonsense": 1}, token))
            for status, content in said:
                if (status == 403) is includes(role, way.act) or any(secret in content for secret in SECRETS):
                    wrong.append((role, way.method, way.path, status))
    assert wrong == []


def test_hostile_values_reach_no_path_and_break_no_command(held: dict[str, Path], canary: Path) -> None:
    """Send every attack as an organizer, and every fifth attack as the other roles too."""
    api = Api(held["attacked"])
    tokens, wrong = made_tokens(api), []
    paths = [str(canary / "secret.txt"), f"{'../' * 15}{str(canary / 'secret.run')[1:]}"]
    before = {path: path.stat() for path in (canary, *canary.iterdir())}
    for number, attack in enumerate(hostile.attacks(paths, str(canary / "new"))):
        act = find_operation(attack.command.replace("/", " ")).act  # type: ignore[union-attr]
        for role in ROLES if number % 5 == 0 else ROLES[-1:]:
            status, content = api.ask(attack.method, attack.path, tokens[role], attack.body, attack.headers)
            refused = status == 403 and not includes(role, act)
            if status >= 490 or hostile.SECRET.encode() in content or not (refused or includes(role, act)):
                wrong.append((role, attack.about, status, content[:300]))
    for name, given in hostile.sent_by_a_shell(paths):
        code, content = api.send(name, given, tokens["organizer"])
        if code >= 490 or hostile.SECRET.encode() in content or b"Traceback" in content:
            wrong.append(("shell", name, code, content[:300]))
    for way in ways():
        if way.method == "GET":
            _, content = api.ask("GET", f"/api/v1/{way.path}", tokens["organizer"])
            wrong += [(way.path, content)] if hostile.SECRET.encode() in content else []
    assert wrong == []
    assert canary.with_name("canary.touched").read_text() == ""
    # Code that opens files without Python, such as the database, must not access the folder either.
    after = {path: path.stat() for path in (canary, *canary.iterdir())}
    assert [(path, at.st_atime_ns, at.st_mtime_ns) for path, at in after.items()] == [
        (path, at.st_atime_ns, at.st_mtime_ns) for path, at in before.items()
    ]


def test_every_route_is_in_permission_table() -> None:
    """Every route belongs to an entry of `ACTS`, to every token, or to an operation."""
    served = {
        f"{method} {path.removeprefix(PREFIX + '/')}"
        for route in make_api().routes
        if (path := getattr(route, "path", "")).startswith(PREFIX)
        for method in getattr(route, "methods", ())
    }
    rows = {f"{way.method} {way.path}" for way in ways()}
    assert served == rows | {"GET {path:path}", "POST {path:path}"}
    assert set(FOR_EVERY_TOKEN) <= rows
    assert {way.command for way in ways()} - {""} == {one.name for one in every_operation() if not one.at_shell}


Try = tuple[str, str, object, dict[str, str]]
BANK = "/api/v1/bank/list"
BOARD = "/api/v1/leaderboard?measure=AP"
OPEN = [way.path for way in ways() if way.act == "see boards" and way.method == "GET"]
ASKED: dict[str, Try] = {
    "the bank": ("GET", BANK, None, {}),
    "the bank by POST": ("POST", BANK, {}, {}),
    "a slash that is written out": ("GET", "/api/v1/bank%2flist", None, {}),
    "two slashes": ("GET", "/api/v1//bank//list", None, {}),
    "a step upwards": ("GET", "/api/v1/leaderboard/../bank/list", None, {}),
    "a step upwards that is written out": ("GET", "/api/v1/leaderboard/%2e%2e/bank/list", None, {}),
    "a slash at the end": ("GET", BANK + "/", None, {}),
    "capitals": ("GET", "/API/v1/Bank/List", None, {}),
    "a space": ("GET", "/api/v1/bank%20list", None, {}),
    "the head alone": ("HEAD", BANK, None, {}),
    "another method": ("PUT", BANK, None, {}),
    "a method in a header": ("POST", BOARD, {}, {"X-HTTP-Method-Override": "GET", "X-Original-URL": BANK}),
    "a role in the address": ("GET", BANK + "?role=organizer&author=olga", None, {}),
    "a role in the body": ("POST", BANK, {"role": "organizer", "author": "olga"}, {}),
    "headers that proxies set": ("GET", BANK, None, {"X-Forwarded-User": "olga", "X-Forwarded-For": "127.0.0.1"}),
    "the cookie of a login": ("GET", BANK, None, {"Cookie": "_streamlit_user=olga"}),
    "the project of the owner": ("GET", BOARD + "&project_path=/", None, {}),
    "an option in a value": ("GET", "/api/v1/leaderboard?measure=AP%20--project%3D/", None, {}),
    "the help": ("GET", "/api/v1/leaderboard?measure=--help", None, {}),
    "the project's file": ("GET", "/some.duckdb", None, {}),
    "the project's file by a parameter": ("GET", "/api/v1/reteval/agreement?human=some.duckdb", None, {}),
    "the door": ("GET", "/api/v1/door", None, {}),
    "what can be asked": ("GET", "/api/v1/openapi.json", None, {}),
    "the health": ("GET", "/healthz", None, {}),
    "the end of another's command": ("DELETE", "/api/v1/run/1", None, {}),
    **{f"what is open: {path}": ("GET", f"/api/v1/{path}", None, {}) for path in OPEN},
}
SENT: dict[str, tuple[str, dict[str, object], dict[str, object]]] = {
    "an operation": ("bank list", {}, {}),
    "an operation for another": ("bank list", {}, {"author": "olga", "terminal": True}),
    "an operation on a file": ("bank list", {}, {"project": "some.duckdb"}),
    "as JSON": ("bank list", {}, {"json": True, "number": "1"}),
    "a board on a file": ("leaderboard", {"project": "/dev/null"}, {}),
    "a download that is printed": ("export", {"what": "bank", "output": "-"}, {}),
    "a file that was not sent": ("import", {"kind": "bank", "files": ["some.duckdb"]}, {}),
}


def test_viewer_cannot_get_questions_through_api(api: Api, tokens: dict[str, str]) -> None:
    found = []
    assert len(ASKED) + len(SENT) >= 36
    for name, (method, path, body, headers) in ASKED.items():
        _, content = api.ask(method, path, tokens["viewer"], body, headers)
        found += [name for secret in SECRETS if secret in content]
    for name, (operation, given, shell) in SENT.items():
        _, content = api.send(operation, given, tokens["viewer"], shell)
        found += [name for secret in SECRETS if secret in content]
    assert found == []
    # An organizer gets the questions, so they could have leaked.
    assert SECRETS[0] in api.ask("GET", BANK, tokens["organizer"])[1]
    assert SECRETS[0] in api.send("bank list", {}, tokens["organizer"])[1]
