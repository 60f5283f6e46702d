"""Logins and permissions on a served app, with a local OpenID provider. `viewer_ways` lists the attempts of viewers."""

import http.client
import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.web.server.starlette.starlette_app_utils import create_signed_value

from exam_workbench.records import set_member
from exam_workbench.types import Question
from tests.made.browser import button, field, note, serving, visit
from tests.made.openid_provider import CLIENT, SECRET, OpenIdProvider
from tests.made.projects import fill, new_project
from tests.made.viewer_ways import FOR_VIEWERS, WAYS, Scene
from tests.made.visitor import DEADLINE, XSRF, Visitor

COOKIE, TOKENS, SESSION = "_streamlit_user", "_streamlit_user_tokens", "_streamlit_session"
SIGNS = "what-signs-the-cookies-of-this-test-and-of-no-other"
NOT_IN = "error not-logged-in"
WORD = "Zanzibar"
"""Part of every question."""
PASSAGE = "text of p1"
UPLOAD = 1 << 20
"""Limit of an uploaded file in bytes. The limit of a tab is 1.5 times as much."""


@dataclass
class Served:
    """The app on a shared server, with its login provider and log file."""

    address: str
    provider: OpenIdProvider
    log: Path

    def visitor(self) -> Visitor:
        return Visitor(self.address)

    def come(self, name: str, **says: Any) -> Visitor:
        """Return a visitor who has just logged in."""
        visitor = self.visitor()
        self.provider.behave(email=f"{name}@x.org", sub=f"subject of {name}", **says)
        visitor.log_in().close()
        return visitor


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("logins")
    project = new_project(folder / "projects" / "test.duckdb")
    questions = [Question("q1/a", "q1", f"What is {WORD}?"), Question("q2/b", "q2", f"Where is {WORD}?")]
    ratings = {(questions[0].text or "", "p1"): 4, (questions[1].text or "", "p2"): 2}
    fill(project, questions, ratings, {"fine": {"q1": ["p1", "p2"], "q2": ["p2"]}, "poor": {"q1": ["p2"]}})
    for name, role in ("vera", "viewer"), ("asta", "assessor"), ("olga", "organizer"):
        set_member(project, f"{name}@x.org", role, "shell")  # type: ignore[arg-type]
    project.close()
    secrets = folder / ".streamlit" / "secrets.toml"
    secrets.parent.mkdir()
    with OpenIdProvider() as provider, pytest.MonkeyPatch.context() as patched:
        secrets.write_text(
            "[auth]\n"
            'redirect_uri = "http://localhost:{port}/oauth2callback"\n'
            f'cookie_secret = "{SIGNS}"\nclient_id = "{CLIENT}"\nclient_secret = "{SECRET}"\n'
            f'server_metadata_url = "{provider.url}/.well-known/openid-configuration"\n'
        )
        patched.setenv("EXAM_LIMIT_UPLOAD", str(UPLOAD))
        patched.setenv("EXAM_LIMIT_UPLOADS", str(UPLOAD * 3 // 2))
        with serving(folder / "projects", folder / "server.log", secrets=secrets) as server:
            yield Served(server.address, provider, folder / "server.log")


@pytest.fixture(scope="module")
def vera(app: Served) -> Visitor:
    """A viewer."""
    return app.come("vera")


@pytest.fixture(scope="module")
def olga(app: Served) -> Visitor:
    """An organizer."""
    return app.come("olga")


def test_logout_applies_to_every_tab(app: Served) -> None:
    visitor = app.visitor()
    app.provider.behave(email="Asta@X.org")
    with visitor.log_in() as tab, visitor.open("question_bank") as other:
        assert "asta, assessor" in tab.text and other.holds(WORD)
        assert app.provider.asked[-1]["redirect_uri"] == f"{app.address}/oauth2callback"
        kept = dict(visitor.cookies)
        tab.press("log out")
        way = visitor.follow(tab.sent_on)
        assert way[0] == "/auth/logout" and way[-1] == "/"
        assert app.provider.ended[-1] == {
            "client_id": CLIENT,
            "post_logout_redirect_uri": f"{app.address}/oauth2callback",
            "id_token_hint": app.provider.made[-1],
        }
        assert not {COOKIE, TOKENS} & visitor.cookies.keys()
        other.run()
        assert other.box(NOT_IN) and WORD not in other.text
    # A copy of the cookies from before the logout gives no access either.
    for browser in visitor, Visitor(app.address, kept):
        with browser.open("question_bank") as tab:
            assert tab.box(NOT_IN) and not tab.holds(WORD)


@pytest.mark.parametrize(
    ("faults", "keeps_cookie"),
    [
        ({"aud": "another application"}, False),
        # Authlib accepts another audience if the authorized party (azp) matches.
        ({"aud": "another application", "azp": CLIENT}, True),
        ({"aud": ["another application", "third"], "azp": CLIENT}, True),
        ({"azp": "another application"}, False),
        ({"nonce": "of another login"}, False),
        ({"nonce": None}, False),
        ({"exp": 1_700_000_000, "iat": 1_699_990_000}, False),
        ({"iss": "http://evil.example"}, False),
        ({"sub": None}, False),
        ("unknown_key", False),
        ("unsigned", False),
        ("denies", False),
    ],
)
def test_invalid_login_is_refused(app: Served, faults: dict[str, Any] | str, keeps_cookie: bool) -> None:
    visitor = app.visitor()
    app.provider.behave(email="olga@x.org")
    if isinstance(faults, str):
        setattr(app.provider, faults, True)
    else:
        app.provider.faults = faults
    with visitor.log_in() as tab:
        assert tab.box(NOT_IN) and "olga" not in tab.text
        assert tab.widget("log in").id
    assert (COOKIE in visitor.cookies) == keeps_cookie
    with visitor.open("question_bank") as tab:
        assert not tab.holds(WORD)


def test_token_for_several_applications_is_accepted(app: Served) -> None:
    with app.come("asta", aud=["another application", CLIENT], azp=CLIENT).open("question_bank") as tab:
        assert tab.holds(WORD)


def test_people_without_role_or_login_see_no_content(app: Served) -> None:
    for claims, name in (
        (None, ""),
        ({"email": "stray@x.org"}, "stray@x.org"),
        ({"email": "olga@x.org", "email_verified": False, "sub": "subject of olga"}, "subject of olga"),
        ({"email": "eve@x.org", "email_verified": False, "sub": "olga@x.org"}, "subject:olga@x.org"),
        ({"email": None, "sub": "olga@x.org"}, "subject:olga@x.org"),
        ({"email": "olga", "sub": "olga@x.org"}, "subject:olga@x.org"),
    ):
        visitor = app.visitor()
        if claims is not None:
            app.provider.behave(**claims)
            visitor.log_in().close()
        for screen in "", "question_bank", "people", "leaderboard", "export":
            with visitor.open(screen) as tab:
                assert tab.box("error no-role" if claims else NOT_IN) and name in tab.text
                assert not any(tab.holds(secret) for secret in (WORD, PASSAGE, "fine"))


def test_role_change_applies_to_the_next_action(app: Served, olga: Visitor) -> None:
    asta = app.come("asta")
    with olga.open("people") as people, asta.open("question_bank") as bank, asta.open("export") as export:

        def become(role: str) -> None:
            at = next(at for at in range(9) if people.widget("role", at).default == ROLES.index(before))
            people.run(WidgetState(id=people.widget("role", at).id, string_value=role))
            assert people.widget("undo person").id

        ROLES, before = ["viewer", "assessor", "organizer"], "assessor"
        parts = bank.parts
        files = [one.deferred_file_id for one in export.elements() if getattr(one, "deferred_file_id", "")]
        assert bank.holds(WORD) and parts and files
        become("viewer")
        try:
            # Cover fragments, files that are made on a press, and whole screens.
            for part in parts:
                bank.run(fragment=part)
                assert WORD not in bank.text
            assert [export.fetch(file) for file in files] == [""] * len(files)
            for tab in bank, export:
                tab.run()
                assert tab.box("error") and WORD not in tab.text
        finally:
            before = "viewer"
            people.press("undo person")
        bank.run()
        assert WORD in bank.text


def signed(claims: dict[str, Any], secret: str = SIGNS, name: str = COOKIE) -> str:
    return create_signed_value(secret, name, json.dumps(claims)).decode()


def test_forged_or_altered_cookies_are_refused(app: Served, olga: Visitor) -> None:
    mine = {
        "origin": app.address, "is_logged_in": True, "provider": "default", "aud": CLIENT,
        "email": "olga@x.org", "sub": "x", "iat": int(time.time()),
    }  # fmt: skip
    # A cookie signed with the server's secret is accepted, so each of the others is refused for its own fault.
    with Visitor(app.address, {COOKIE: signed(mine)}).open("people") as tab:
        assert "olga, organizer" in tab.text
    value = olga.cookies[COOKIE]
    middle = len(value) // 3
    made = {
        "other secret": signed(mine, "another secret of another server"),
        "no secret": signed(mine, ""),
        "for another purpose": signed(mine, name=TOKENS),
        "cut": value[:-1],
        "one letter": value[:middle] + ("A" if value[middle] != "A" else "B") + value[middle + 1 :],
        "no signature": value.rsplit(".", 1)[0],
        "tokens": olga.cookies[TOKENS],
        "begun login": olga.cookies[SESSION],
        "plain": json.dumps(mine).replace('"', "'"),
        "another site": signed({**mine, "origin": "http://evil.example"}),
        "another audience": signed({**mine, "aud": "another application"}),
        "no time": signed({name: said for name, said in mine.items() if name != "iat"}),
    }
    for name, cookie in made.items():
        with Visitor(app.address, {COOKIE: cookie}).open("question_bank") as tab:
            assert not tab.holds(WORD) and "olga, organizer" not in tab.text, name
            assert tab.widget("log in").id, name


def test_login_redirects_only_to_provider_and_app(app: Served, olga: Visitor) -> None:
    evil = "http://evil.example/"
    asked = "&".join(f"{name}={evil}" for name in ("next", "redirect", "redirect_uri", "return_to", "url", "state"))
    visitor = app.visitor()
    with visitor.open() as tab:
        tab.press("log in")
    there = visitor.ask(f"{tab.sent_on}&{asked}").location
    assert there.startswith(f"{app.provider.url}/authorize?")
    assert parse_qs(urlsplit(there).query)["redirect_uri"] == [f"{app.address}/oauth2callback"]
    assert "evil" not in there
    back = visitor.ask(there).location
    assert visitor.ask(f"{back}&{asked}".replace(f"&state={evil}", "")).location == "/"
    assert visitor.cookies[COOKIE]
    for path in (
        f"/auth/login?{asked}", f"/auth/login?provider=x.y.z&{asked}", f"/oauth2callback?{asked}",
        f"/oauth2callback?code=1&{asked}", f"/oauth2callback?error=x&error_uri={evil}&{asked}",
    ):  # fmt: skip
        assert app.visitor().ask(path).location in ("/", "/?login=refused"), path
    assert "evil" not in Visitor(app.address, dict(olga.cookies)).ask(f"/auth/logout?{asked}").location
    for path in "//evil.example/", "//evil.example/..", "/\\evil.example/", "/%2f%2fevil.example/", "//evil.example":
        answer = app.visitor().ask(path)
        assert not answer.location or urlsplit(answer.location).netloc in ("", urlsplit(app.address).netloc), path
    # People type /home, but the address of the home screen is /.
    assert app.visitor().ask("/home").location == "./"
    assert app.visitor().ask(f"/home?project=demo&next={evil}").location == f"./?project=demo&next={evil}"


def test_other_sites_cannot_frame_the_app_or_upload_files(app: Served, olga: Visitor) -> None:
    for path in "/", "/question_bank", "/healthz", "/api/v1/status", "/auth/login", "/static/none.js":
        headers = {name.lower(): value for name, value in app.visitor().ask(path).headers.items()}
        assert headers["x-frame-options"] == "DENY" and headers["x-content-type-options"] == "nosniff", path
        assert headers["content-security-policy"] == "frame-ancestors 'none'", path
    with olga.open() as tab:
        # A form of another site sends the cookies at best. Only the app's own script can read the XSRF token in them.
        sent = olga.ask(f"/_stcore/upload_file/{tab.session}/1", "PUT", b"q1\tA?", Origin="http://evil.example")
        assert sent.status in (400, 403), sent


def upload(visitor: Visitor, session: str, size: int = 10, name: str = "1", method: str = "PUT") -> int:
    """Return the status of the server's response to a file upload."""
    head = 'Content-Disposition: form-data; name="file"; filename="a.run"'
    body = f"--edge\r\n{head}\r\n\r\n{'x' * size}\r\n--edge--\r\n".encode()
    visitor.cookies.get(XSRF) or visitor.ask("/_stcore/health")
    headers = {"X_Xsrftoken": visitor.cookies[XSRF], "Content_Type": "multipart/form-data; boundary=edge"}
    return visitor.ask(f"/_stcore/upload_file/{session}/{name}", method, body, **headers).status


def test_only_people_with_a_role_upload_files(app: Served, olga: Visitor) -> None:
    stranger, stray = app.visitor(), app.come("stray")
    with stranger.open() as unknown, stray.open() as roleless, olga.open() as own:
        for visitor, tab in (
            (stranger, unknown), (stranger, own), (stray, roleless), (stray, own),
        ):  # fmt: skip
            assert upload(visitor, tab.session, 1000) == 403
            assert upload(visitor, tab.session, method="DELETE") == 403
        assert upload(olga, own.session, 1000) == 204


def test_upload_size_is_limited_per_file_and_tab(app: Served, olga: Visitor) -> None:
    with olga.open() as tab, olga.open() as other:
        # The screen shows the limit in megabytes.
        assert [one.max_upload_size_mb for one in tab.elements() if hasattr(one, "max_upload_size_mb")] == [1]
        assert upload(olga, tab.session, UPLOAD + 1) == 413
        assert upload(olga, tab.session, UPLOAD * 2 // 3) == 204
        assert upload(olga, tab.session, UPLOAD, "2") == 413
        assert upload(olga, other.session, UPLOAD * 2 // 3) == 204
        assert upload(olga, tab.session, method="DELETE") == 204
        assert upload(olga, tab.session, UPLOAD * 2 // 3, "2") == 204
        # An endless upload of undeclared length is refused before it is complete.
        connection = http.client.HTTPConnection(urlsplit(app.address).netloc, timeout=DEADLINE)
        try:
            connection.putrequest("PUT", f"/_stcore/upload_file/{tab.session}/3")
            for name, value in {
                "Cookie": olga.cookie, "X-Xsrftoken": olga.cookies[XSRF], "Transfer-Encoding": "chunked",
                "Content-Type": "multipart/form-data; boundary=edge",
            }.items():  # fmt: skip
                connection.putheader(name, value)
            connection.endheaders()
            head = b'--edge\r\nContent-Disposition: form-data; name="file"; filename="a.run"\r\n\r\n'
            for piece in [head, *[b"x" * (UPLOAD // 16)] * 18]:
                connection.send(b"%x\r\n%b\r\n" % (len(piece), piece))
            assert connection.getresponse().status == 413
        finally:
            connection.close()


def test_download_is_limited_to_the_person_who_requested_it(app: Served, olga: Visitor, vera: Visitor) -> None:
    asta, stray = app.come("asta"), app.come("stray")
    with asta.open("export") as export, vera.open() as viewing, olga.open("export") as others:
        # Two people who download the same content get separate files.
        files = [one.deferred_file_id for one in export.elements() if getattr(one, "deferred_file_id", "")]
        url = export.fetch(files[0])
        assert asta.ask(url).status == 200 and PASSAGE not in url
        # Another person's tab that knows the id of the button only gets a file for asta.
        for visitor, address in (
            *((visitor, url) for visitor in (app.visitor(), stray, vera, olga)),
            *((visitor, tab.fetch(files[0])) for visitor, tab in ((vera, viewing), (olga, others))),
        ):
            assert visitor.ask(address).status == 403, address
        [own] = [others.fetch(one.deferred_file_id) for one in others.elements()
                 if getattr(one, "deferred_file_id", "")][:1]  # fmt: skip
        assert own != url and olga.ask(own).status == 200
        # The response does not reveal if a file exists.
        stem, _, extension = url.rpartition(".")
        for address in f"{stem[:-1]}.{extension}", f"{stem}0", "/media/0", "/media/", f"/media{url}", "/media/%2e":
            assert olga.ask(address).status == 403, address


def test_server_endpoints_need_a_role(app: Served, vera: Visitor) -> None:
    asta = app.come("asta")
    left = Visitor(app.address, dict(asta.cookies))
    assert left.ask("/_stcore/metrics").status == 200
    with asta.open() as tab:
        tab.press("log out")
    forged = Visitor(app.address, {COOKIE: signed({"is_logged_in": True, "email": "olga@x.org"}, "another secret")})
    foreign = {"origin": "http://evil.example", "is_logged_in": True, "provider": "default", "aud": CLIENT,
               "email": "olga@x.org", "iat": int(time.time())}  # fmt: skip
    elsewhere = Visitor(app.address, {COOKIE: signed(foreign)})
    refused = app.visitor(), app.come("stray"), left, forged, elsewhere
    for path in (
        "metrics", "metrics/", "script-health-check", "message?hash=1", "agent/interact", "agent/openapi.json", "none",
        "allowed-message-origins", "upload_file/_stcore/health", "upload_file/1/2",
    ):  # fmt: skip
        for visitor in refused:
            assert visitor.ask(f"/_stcore/{path}").status == 403, path
    assert vera.ask("/_stcore/metrics").status == 200
    # The screen before login uses no files from the server's media storage.
    with app.visitor().open() as tab:
        assert tab.holds("data:image/png;base64,") and not tab.holds("/media/")
    # A browser requests these before login.
    for path in "/", "/question_bank", "/_stcore/health", "/_stcore/host-config":
        assert app.visitor().ask(path).status == 200, path


def test_login_started_in_another_browser_is_refused(app: Served) -> None:
    app.provider.behave(email="olga@x.org")
    attacker, victim = app.visitor(), app.visitor()
    with attacker.open() as tab:
        tab.press("log in")
    back = attacker.ask(attacker.ask(tab.sent_on).location).location
    made = len(app.provider.made)
    assert victim.ask(back).location == "/?login=refused"
    assert victim.ask("/oauth2callback?code=1&state=2").location == "/?login=refused"
    assert COOKIE not in victim.cookies and len(app.provider.made) == made
    # The browser that started the login can complete it once.
    assert attacker.ask(back).location == "/"
    del attacker.cookies[COOKIE]
    assert attacker.ask(back).location == "/?login=refused" and COOKIE not in attacker.cookies


def test_login_replaces_cookies_and_sessions(app: Served, vera: Visitor) -> None:
    with vera.open() as planted:
        visitor = Visitor(app.address, {COOKIE: vera.cookies[COOKIE], TOKENS: vera.cookies[TOKENS]})
        app.provider.behave(email="asta@x.org")
        with app.visitor().open() as tab:
            tab.press("log in")
        begun = visitor.ask(tab.sent_on)
        before = dict(visitor.cookies)
        callback = visitor.ask(visitor.ask(begun.location).location)
        assert callback.location == "/"
        assert {name for name in (COOKIE, TOKENS, SESSION) if visitor.cookies.get(name) == before[name]} == set()
        assert "httponly" in callback.headers["set-cookie"].lower()
        # A tab cannot resume the session of another person or the session from before the login.
        for number in planted.session, tab.session:
            with visitor.open("question_bank", session=number) as own:
                assert own.session != number and "asta, assessor" in own.text
        planted.run()
        assert "vera, viewer" in planted.text


def test_log_and_screens_reveal_no_secrets(app: Served, olga: Visitor) -> None:
    app.provider.behave(email="olga@x.org")
    app.provider.faults = {"aud": "another application"}
    with app.visitor().log_in() as tab:
        said = b"".join(tab.arrived)
    log = app.log.read_text(encoding="utf-8", errors="replace")
    assert "OAuth token exchange failed" in log
    for secret in (SECRET, SIGNS, app.provider.made[-1], olga.cookies[COOKIE]):
        assert secret not in log and secret.encode() not in said


def test_viewer_cannot_read_questions_or_passages(app: Served, vera: Visitor, olga: Visitor) -> None:
    assert len(WAYS) > 30
    with ExitStack() as tabs:
        hidden = {name: tabs.enter_context(olga.open(name)) for name in ("question_bank", "passages", "export")}
        assert hidden["question_bank"].holds(WORD) and hidden["passages"].holds(PASSAGE)
        scene = Scene(vera, hidden)
        got = {way: tried(scene) for way, tried in WAYS.items()}
        # An organizer receives the passage in the same way, so the attempts work in principle.
        assert PASSAGE.encode() in WAYS["a link to passages"](Scene(olga, {}))
    assert [way for way, arrived in got.items() if WORD.encode() in arrived or PASSAGE.encode() in arrived] == []
    assert [way for way, arrived in got.items() if not arrived and way != "another origin"] == []
    for name in FOR_VIEWERS:
        assert b"vera, viewer" in got[f"a link to {name}"]
    assert b"fine" in got["a link to leaderboard"]


@pytest.mark.browser
def test_screen_shows_changes_by_others_after_typing_ends(
    app: Served, olga: Visitor, tab_of: Callable[[str], Page]
) -> None:
    page = tab_of("")
    app.provider.behave(email="asta@x.org", sub="subject of asta")
    visit(page, f"{app.address}/activity")
    button(page, "log in None").click()
    expect(note(page, "signed-in", "asta assessor")).to_be_visible()
    page.locator(".st-key-menu a[href*=activity]").click()
    find = field(page, "find")
    find.press_sequentially("half a wo")
    with olga.open("my_work") as tab:
        tab.press("done")
    # Browsers send this event when a window gets focus. Otherwise the screen polls every few seconds.
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(note(page, "news-of-others", "olga")).to_be_visible()
    expect(find).to_have_value("half a wo")
    done = page.locator("[class*=st-key-act-] b", has_text="olga")
    before = done.count()
    find.fill("")
    page.evaluate("document.activeElement.blur()")
    expect(done).to_have_count(before + 1)
    expect(note(page, "news-of-others")).to_have_count(0)
    button(page, "log out").click()
    # Two parts of the screen may show this note.
    expect(note(page, "error not-logged-in").first).to_be_visible()
