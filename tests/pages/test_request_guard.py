"""What becomes of the files of a browser tab that is gone, and of the room that uploads take."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from streamlit import runtime
from streamlit.runtime.memory_session_storage import MemorySessionStorage
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.session_manager import SessionInfo
from streamlit.runtime.uploaded_file_manager import UploadedFileRec
from streamlit.runtime.websocket_session_manager import WebsocketSessionManager

from pages.parts.shared import request_guard, streamlit_bridge
from pages.parts.shared.request_guard import RequestGuard
from pages.parts.shared.streamlit_bridge import release_sessions

HOUR = 3600


class Tab(SimpleNamespace):
    """A session that is over, or may come back."""

    def __init__(self, name: str) -> None:
        super().__init__(id=name, session_state={"file": "content"}, ended=False)

    def shutdown(self) -> None:
        self.ended = True


@pytest.fixture
def uploads(monkeypatch: pytest.MonkeyPatch) -> MemoryUploadedFileManager:
    return MemoryUploadedFileManager("/_stcore/upload_file")


def serve(monkeypatch: pytest.MonkeyPatch, uploads: MemoryUploadedFileManager, seconds: float, *tabs: Tab) -> None:
    """Have a server with tabs that were closed and may come back for so long."""
    storage = MemorySessionStorage(ttl_seconds=seconds)  # type: ignore[arg-type]
    sessions = WebsocketSessionManager(storage, uploads, SimpleNamespace(), None)  # type: ignore[arg-type]
    for tab in tabs:
        storage.save(SessionInfo(None, tab, 1))  # type: ignore[arg-type]
    found = SimpleNamespace(_session_mgr=sessions, uploaded_file_mgr=uploads)
    monkeypatch.setattr(runtime, "get_instance", lambda: found)


def add(uploads: MemoryUploadedFileManager, session: str, size: int = 10) -> None:
    uploads.add_file(session, UploadedFileRec(f"of {size}", "a.run", "text/plain", b"x" * size))


def test_files_of_a_tab_are_kept_until_it_cannot_come_back(
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
    # What a screen made of its files goes, too.
    assert not uploads.file_storage and tab.ended and not tab.session_state


def test_files_that_were_imported_make_room_for_others(
    monkeypatch: pytest.MonkeyPatch, uploads: MemoryUploadedFileManager
) -> None:
    monkeypatch.setattr(
        streamlit_bridge, "get_script_run_ctx", lambda: SimpleNamespace(session_id="mine", uploaded_file_mgr=uploads)
    )
    for session, size in ("mine", 10), ("mine", 20), ("other", 10):
        add(uploads, session, size)
    request_guard.forget_uploads([SimpleNamespace(file_id="of 10")])  # type: ignore[list-item]
    assert list(uploads.file_storage["mine"]) == ["of 20"] and list(uploads.file_storage["other"]) == ["of 10"]


def test_room_is_kept_for_uploads_that_are_on_their_way(
    monkeypatch: pytest.MonkeyPatch, uploads: MemoryUploadedFileManager
) -> None:
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
        # One that does not say how long it is takes what a file may have.
        second = asyncio.create_task(put("other", transfer_encoding="chunked"))
        while len(waiting) < 2:
            await asyncio.sleep(0)
        assert await put("one", content_length="401") == 413
        assert await put("one", transfer_encoding="chunked") == 413
        assert await put("other", content_length="401") == 413
        for event in waiting:
            event.set()
        assert [await first, await second] == [204, 204]
        # What arrived counts as it is kept.
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
