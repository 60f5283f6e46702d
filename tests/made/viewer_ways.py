"""Attempts of a viewer to get the text of a question: each returns all data that arrived at the browser."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import quote

from streamlit.components.v2.bidi_component import main
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.exceptions import InvalidStatus

from pages.parts.shared.person import COOKIE as NAME
from pages.parts.shared.screens import SCREENS
from tests.made.visitor import Visitor, Window

FOR_VIEWERS = ("home", "leaderboard", "measures")
DEEP = "project=test&query=q1&question=q1%2Fa&passage=p1&system=fine&compared=q1&search=Zan&author=olga&role=organizer"
VIEWS = ("Leaderboard", "All boards", "Two boards", "Two systems", "By budget", "Significance")


@dataclass
class Scene:
    """The viewer and the data that they have obtained.

    Args:
        viewer: the person who tries.
        hidden: open screens of an organizer, by name.
    """

    viewer: Visitor
    hidden: Mapping[str, Window]

    def look(self, path: str, query: str = "", **options: str | None) -> bytes:
        with self.viewer.open(path, query, **options) as tab:  # type: ignore[arg-type]
            return b"".join(tab.arrived)

    def ask(self, *targets: str, method: str = "GET", body: bytes | None = None, **headers: str) -> bytes:
        answers = [self.viewer.ask(target, method, body, **headers) for target in targets]
        return b"".join(answer.body + repr(answer.headers).encode() for answer in answers)


Way = Callable[[Scene], bytes]


def _screen(name: str) -> Way:
    return lambda scene: scene.look("" if name == "home" else name, DEEP)


def _view(name: str) -> Way:
    return lambda scene: scene.look("leaderboard", f"{DEEP}&view={quote(name)}")


def _within(scene: Scene, do: Callable[[Window, Window], None]) -> bytes:
    """Act in a viewer's tab with the elements of each screen of an organizer."""
    arrived = b""
    for name, hidden in scene.hidden.items():
        with scene.viewer.open("leaderboard", DEEP) as tab:
            do(tab, hidden)
            arrived += b"".join(tab.arrived)
        with scene.viewer.open(name, DEEP) as tab:
            do(tab, hidden)
            arrived += b"".join(tab.arrived)
    return arrived


def _go_within(tab: Window, hidden: Window) -> None:
    """Send the menu's own message, without changing the address."""
    tab.page = hidden.page
    tab.run()


def _parts(tab: Window, hidden: Window) -> None:
    for part in sorted(hidden.parts):
        tab.send(fragment=part)
    tab.run()


def _press_all(tab: Window, hidden: Window) -> None:
    """Press every button of the organizer's screen at once, then fill in its text boxes."""
    known = [one.id for one in hidden.elements() if getattr(one, "id", "")]
    tab.run(*(WidgetState(id=one, trigger_value=True) for one in known))
    tab.run(*(WidgetState(id=one, string_value="q1") for one in known))


def _components(tab: Window, hidden: Window) -> None:
    """Report clicks in components, on leaderboards that a viewer sees and with ids of hidden ones."""
    told = {"open": "fine", "ask": "q1", "detail": "q1", "passage": "p1", "question": "q1/a"}
    events = json.dumps([{"event": event, "value": value} for event, value in told.items()])
    for shown in tab, hidden:
        known = [one.id for one in shown.elements() if getattr(one, "component_name", "")]
        tab.run(*(WidgetState(id=main._make_trigger_id(one, "events"), json_trigger_value=events) for one in known))


def _files(scene: Scene) -> bytes:
    """Fetch the files that the viewer's own screens offer."""
    arrived = b""
    for name in FOR_VIEWERS:
        with scene.viewer.open("" if name == "home" else name, DEEP) as tab:
            for one in tab.elements():
                url = getattr(one, "url", "")
                if file := getattr(one, "deferred_file_id", ""):
                    url = tab.fetch(file)
                if url.startswith("/"):
                    arrived += scene.ask(url)
            arrived += b"".join(tab.arrived)
    return arrived


def _rpc(method: str, **given: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": given}).encode()


def _refused(scene: Scene, **headers: str | None) -> bytes:
    """Open a tab that should be refused or belong to no person."""
    try:
        return scene.look("question_bank", DEEP, **headers)
    except InvalidStatus as error:
        return error.response.body or b""


def _as(scene: Scene, **cookies: str) -> bytes:
    return Scene(Visitor(scene.viewer.address, {**scene.viewer.cookies, **cookies}), {}).look("question_bank", DEEP)


JSON = {"Content_Type": "application/json"}
UP = "..%2f..%2f..%2f"
FILES = ("test.duckdb", "projects/test.duckdb", "data/projects/test.duckdb", "app.py", ".streamlit/secrets.toml")
STORED = ("media", "app/static", "component", "_stcore/bidi-components", "_stcore/upload_file", "static")

WAYS: Mapping[str, Way] = {
    **{f"a link to {name}": _screen(name) for name in SCREENS},
    **{f"the board's view {name}": _view(name) for name in VIEWS},
    "a screen by the number that the menu sends": lambda scene: _within(scene, _go_within),
    "a part of a screen alone": lambda scene: _within(scene, _parts),
    "the buttons and boxes of an organizer's screen": lambda scene: _within(scene, _press_all),
    "what components report": lambda scene: _within(scene, _components),
    "the files that boards offer": _files,
    "an organizer's open tab": lambda scene: b"".join(
        scene.look(name, DEEP, session=tab.session) for name, tab in scene.hidden.items()
    ),
    "the name of an organizer": lambda scene: _as(scene, **{NAME: "olga"}),
    "a cookie that says more": lambda scene: _as(scene, _streamlit_user=scene.viewer.cookies["_streamlit_user"] + "x"),
    "the cookie of the tokens": lambda scene: _as(
        scene, _streamlit_user=scene.viewer.cookies["_streamlit_user_tokens"]
    ),
    "a cookie in pieces": lambda scene: _as(scene, _streamlit_user="chunks-2", _streamlit_user_1="{}"),
    "headers that proxies set": lambda scene: scene.look(
        "question_bank", DEEP, X_Forwarded_User="olga", X_Forwarded_Email="olga@x.org", Remote_User="olga@x.org",
        X_Auth_Request_Email="olga@x.org", Authorization="Bearer olga@x.org", X_Forwarded_For="127.0.0.1",
    ),
    "no origin": lambda scene: _refused(scene, Origin=None),
    "another origin": lambda scene: _refused(scene, Origin="http://evil.example"),
    "another host": lambda scene: _refused(scene, Host="evil.example"),
    "an embedded screen": lambda scene: scene.look("question_bank", f"{DEEP}&embed=true&embed_options=show_toolbar"),
    "the agents' route": lambda scene: scene.ask(
        "/_stcore/agent/interact", "/_stcore/agent/openapi.json", method="POST", body=b'{"page": "question_bank"}',
        **JSON,
    ),
    "the agents' protocol": lambda scene: scene.ask(
        "/_stcore/agent/mcp", method="POST", **JSON,
        body=_rpc("tools/call", name="interact", arguments={"page": "question_bank"}),
    ),
    "what the server says of itself": lambda scene: scene.ask(
        "/_stcore/metrics", "/_stcore/host-config", "/_stcore/health", "/_stcore/script-health-check",
        "/_stcore/message?hash=1", "/_stcore/allowed-message-origins",
    ),
    "the project's file": lambda scene: scene.ask(*(f"/{file}" for file in FILES)),
    "the project's file from where files are kept": lambda scene: scene.ask(
        *(f"/{place}/{file}" for place in STORED for file in FILES)
    ),
    "the project's file by steps upwards": lambda scene: scene.ask(
        *(f"/{place}/{UP}{file}" for place in STORED for file in FILES)
    ),
    "the screen's address without the app": lambda scene: scene.ask(*(f"/{name}?{DEEP}" for name in SCREENS)),
    "routes of an API": lambda scene: scene.ask(*(f"/api/v1/{name}?project=test" for name in ("bank", "plan"))),
}  # fmt: skip
