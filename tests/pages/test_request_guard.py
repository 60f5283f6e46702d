"""The server of the screens: uploads, downloads, secrets, and requests from other sites."""

import asyncio
import http.client
import socket
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest
from streamlit import config, runtime
from streamlit.runtime.media_file_manager import MediaFileManager
from streamlit.runtime.media_file_storage import MediaFileStorageError
from streamlit.runtime.memory_session_storage import MemorySessionStorage
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.secrets import Secrets
from streamlit.runtime.session_manager import SessionInfo
from streamlit.runtime.uploaded_file_manager import UploadedFileRec
from streamlit.runtime.websocket_session_manager import WebsocketSessionManager

from pages.parts.shared import login, streamlit_bridge, visitor
from pages.parts.shared.lasting_files import MOST, SECONDS, LastingFiles
from pages.parts.shared.request_guard import RequestGuard
from pages.parts.shared.streamlit_bridge import release_sessions
from tests.made.browser import Server
from tests.made.projects import file_of
from tests.made.refusals import refusal
from tests.made.screens import put_small
from tests.made.visitor import Visitor

HOUR = 3600


class Tab(SimpleNamespace):
    """A disconnected session, which may reconnect."""

    def __init__(self, name: str) -> None:
        super().__init__(id=name, session_state={"file": "content"}, ended=False)

    def shutdown(self) -> None:
        self.ended = True


@pytest.fixture
def uploads(monkeypatch: pytest.MonkeyPatch) -> MemoryUploadedFileManager:
    return MemoryUploadedFileManager("/_stcore/upload_file")


def serve(monkeypatch: pytest.MonkeyPatch, uploads: MemoryUploadedFileManager, seconds: float, *tabs: Tab) -> None:
    """Install a server whose closed tabs may reconnect within `seconds`."""
    storage = MemorySessionStorage(ttl_seconds=seconds)  # type: ignore[arg-type]
    sessions = WebsocketSessionManager(storage, uploads, SimpleNamespace(), None)  # type: ignore[arg-type]
    for tab in tabs:
        storage.save(SessionInfo(None, tab, 1))  # type: ignore[arg-type]
    found = SimpleNamespace(_session_mgr=sessions, uploaded_file_mgr=uploads)
    monkeypatch.setattr(runtime, "get_instance", lambda: found)


def add(uploads: MemoryUploadedFileManager, session: str, size: int = 10) -> None:
    uploads.add_file(session, UploadedFileRec(f"of {size}", "a.run", "text/plain", b"x" * size))


def test_uploads_are_kept_until_the_tab_expires(
    monkeypatch: pytest.MonkeyPatch, uploads: MemoryUploadedFileManager
) -> None:
    tab = Tab("closed")
    for name in "closed", "never there":
        add(uploads, name)
    serve(monkeypatch, uploads, HOUR, tab)
    release_sessions()
    assert set(uploads.file_storage) == {"closed"} and not tab.ended
    serve(monkeypatch, uploads, -1, tab)
    release_sessions()
    # Session data made from the files is released, too.
    assert not uploads.file_storage and tab.ended and not tab.session_state


def test_imported_upload_is_released(monkeypatch: pytest.MonkeyPatch, uploads: MemoryUploadedFileManager) -> None:
    monkeypatch.setattr(
        streamlit_bridge, "get_script_run_ctx", lambda: SimpleNamespace(session_id="mine", uploaded_file_mgr=uploads)
    )
    for session, size in ("mine", 10), ("mine", 20), ("other", 10):
        add(uploads, session, size)
    streamlit_bridge.forget_upload("of 10")
    assert list(uploads.file_storage["mine"]) == ["of 20"] and list(uploads.file_storage["other"]) == ["of 10"]


def test_uploads_in_progress_reserve_space(monkeypatch: pytest.MonkeyPatch, uploads: MemoryUploadedFileManager) -> None:
    monkeypatch.setenv("EXAM_LIMIT_UPLOAD", "600")
    monkeypatch.setenv("EXAM_LIMIT_UPLOADS", "1000")
    serve(monkeypatch, uploads, HOUR, Tab("one"), Tab("other"))
    waiting: list[asyncio.Event] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        waiting.append(asyncio.Event())
        await waiting[-1].wait()
        await send({"type": "http.response.start", "status": 204, "headers": []})

    guard = RequestGuard(app)

    async def put(session: str, **headers: str) -> int:
        told: list[Any] = []

        async def send(message: Any) -> None:
            told.append(message)

        given = {"host": "localhost", **{name.replace("_", "-"): value for name, value in headers.items()}}
        scope = {
            "type": "http", "method": "PUT", "path": f"/_stcore/upload_file/{session}/1",
            "headers": [(name.encode(), value.encode()) for name, value in given.items()],
        }  # fmt: skip
        await guard(scope, send, send)
        return int(told[0]["status"])

    async def tried() -> None:
        first = asyncio.create_task(put("one", content_length="600"))
        # An upload of undeclared length reserves the limit of a file.
        second = asyncio.create_task(put("other", transfer_encoding="chunked"))
        while len(waiting) < 2:
            await asyncio.sleep(0)
        assert await put("one", content_length="401") == 413
        assert await put("one", transfer_encoding="chunked") == 413
        assert await put("other", content_length="401") == 413
        for event in waiting:
            event.set()
        assert [await first, await second] == [204, 204]
        # A completed upload counts with its stored size.
        add(uploads, "one", 500)
        assert await put("one", content_length="501") == 413
        waiting.clear()
        last = asyncio.create_task(put("one", content_length="500"))
        while not waiting:
            await asyncio.sleep(0)
        waiting[0].set()
        assert await last == 204
        assert not guard._arriving

    asyncio.run(tried())


AUTH = '[auth]\nclient_id = "workbench"\n'
Write = Callable[[str | None], None]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Return a function that writes the server's secrets file, or removes it for None."""
    path = tmp_path / "secrets.toml"
    asked = config.get_option
    monkeypatch.setattr(config, "get_option", lambda name: [str(path)] if name == "secrets.files" else asked(name))
    monkeypatch.setattr(visitor.st, "get_option", config.get_option)
    monkeypatch.delenv(login.DEMAND_VARIABLE, raising=False)

    def write(content: str | None) -> None:
        monkeypatch.setattr(visitor.st, "secrets", Secrets())
        if content is None:
            path.unlink(missing_ok=True)
        else:
            path.write_text(content)

    return write


def test_unreadable_secrets_are_refused(write: Write, tmp_path: Path) -> None:
    """Otherwise a typo in the secrets would give everyone full access."""
    write(None)
    assert not login.is_required() and dict(visitor.server_secrets()) == {}
    write(AUTH)
    assert login.is_required()
    write("[auth]\nclient_id = workbench\n")
    asks: list[Callable[[], object]] = [login.is_required, login.current_identity, login.can_log_in, visitor.is_alone]
    for ask in asks:
        with refusal("secrets-unreadable", "secrets.toml"):
            ask()
    # An older compose file created a folder if the file was missing.
    write(None)
    (tmp_path / "secrets.toml").mkdir()
    with refusal("secrets-unreadable", "secrets.toml"):
        login.is_required()


def test_demanded_login_needs_auth_settings(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    write(None)
    login.can_log_in()
    monkeypatch.setenv(login.DEMAND_VARIABLE, "1")
    for content in None, "[endpoints.Lab]\nmodels = []\n":
        write(content)
        assert login.is_required()
        with refusal("no-login", "secrets.toml", "[auth]"):
            login.can_log_in()
    write(AUTH)
    login.can_log_in()
    monkeypatch.setenv(login.DEMAND_VARIABLE, "0")
    write(None)
    assert not login.is_required()


UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}


def status(server: Server, path: str, **headers: str) -> int:
    """Return the status of a request on the loopback interface."""
    port = urlsplit(server.address).port
    connection = http.client.HTTPConnection("localhost", port, timeout=60)
    try:
        connection.request("GET", path, headers={"Host": f"localhost:{port}", **headers})
        return connection.getresponse().status
    finally:
        connection.close()


def test_other_origins_cannot_open_a_session(server: Server) -> None:
    assert status(server, "/_stcore/stream", Origin=server.address, **UPGRADE) == 101
    assert status(server, "/_stcore/stream", Origin="http://evil.example", **UPGRADE) == 403
    # All ports of a host share cookies, and other programs on this computer may serve pages.
    port = urlsplit(server.address).port
    for origin in f"http://localhost:{port + 1}", "http://localhost", f"http://127.0.0.1:{port}", "null", "http://[":
        assert status(server, "/_stcore/stream", Origin=origin, **UPGRADE) == 403, origin
        assert status(server, "/_stcore/metrics", Origin=origin) == 403, origin


def test_requests_under_foreign_host_names_are_refused(server: Server) -> None:
    port = urlsplit(server.address).port
    there = f"evil.example:{port}"
    for origin in server.address, f"http://{there}":
        assert status(server, "/_stcore/stream", Origin=origin, Host=there, **UPGRADE) == 403
    paths = "/", "/question_bank", "/static/none.js", "/media/0", "/healthz", "/_stcore/metrics", "/_stcore/health"
    for path in *paths, "/api/v1/status":
        assert status(server, path, Host=there) == 403, path
        assert status(server, path, Host=f"localhost.evil.example:{port}") == 403, path
        assert status(server, path, Host=f"127.0.0.1:{port}") in (200, 401, 404), path


def test_only_direct_local_visitor_may_type_a_model(projects: Path, server: Server) -> None:
    file_of(put_small).write(projects / "typed-model.duckdb")
    forwarded = {"X_Forwarded_For": "192.0.2.1"}
    for headers, alone in ({}, True), (forwarded, False):
        with Visitor(server.address).open("grading", "project=typed-model&setup=Self-rating", **headers) as tab:
            assert tab.box("error no-model-offered") != alone
            assert any("transformers model" in getattr(one, "id", "") for one in tab.elements()) == alone


def test_server_listens_only_on_loopback(server: Server) -> None:
    with socket.socket() as probe:
        # A server that listens on all addresses of this computer would answer here, too.
        assert probe.connect_ex(("127.0.0.2", urlsplit(server.address).port)) != 0


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def made(manager: MediaFileManager, data: bytes, name: str = "a.qrels") -> str:
    """Generate a download, end other runs of the app, and return the file's storage name."""
    url = manager.execute_deferred(manager.add_deferred(lambda: data, "text/plain", "1.1", name))
    for _ in range(3):
        manager.remove_orphaned_files()
    return url.rsplit("/", 1)[1]


def test_download_survives_other_runs_until_it_expires() -> None:
    clock = Clock()
    storage = LastingFiles("/media", clock)
    manager = MediaFileManager(storage)
    first = made(manager, b"q1 0 p1 3\n")
    assert storage.get_file(first).content == b"q1 0 p1 3\n"
    clock.now = SECONDS + 1
    second = made(manager, b"q1 0 p1 2\n")
    assert storage.get_file(second).content == b"q1 0 p1 2\n"
    with pytest.raises(MediaFileStorageError):
        storage.get_file(first)


def test_large_files_with_small_differences_stay_separate() -> None:
    storage = LastingFiles("/media", Clock())
    manager = MediaFileManager(storage)
    before = b"q1 0 p1 3\n" * 200_000
    after = before[:500_000] + before[500_000:].replace(b"3", b"2", 1)
    assert storage.get_file(made(manager, before)).content == before
    assert storage.get_file(made(manager, after)).content == after


def test_oldest_unfetched_files_are_dropped() -> None:
    storage = LastingFiles("/media", Clock())
    manager = MediaFileManager(storage)
    names = [made(manager, bytes([number]) * (MOST // 2)) for number in range(4)]
    there = [name for name in names if name.split(".")[0] in storage._files_by_id]
    assert there == names[-2:]
