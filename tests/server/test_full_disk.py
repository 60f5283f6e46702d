"""Full disks of the server: writing requests are refused and change nothing; reading continues."""

import json
import os
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.server.api import Api

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Only Linux limits the files of another process.")

FORM = {"Content-Type": "multipart/form-data; boundary=b"}


@contextmanager
def full_disk(process: int) -> Iterator[None]:
    """Limit file sizes of a process to a few bytes, which the system refuses like a full disk."""
    before = resource.prlimit(process, resource.RLIMIT_FSIZE)
    resource.prlimit(process, resource.RLIMIT_FSIZE, (50, before[1]))
    try:
        yield
    finally:
        resource.prlimit(process, resource.RLIMIT_FSIZE, before)


def form(lines: int) -> bytes:
    """Return a form that imports a run."""
    run = "".join(f"q1 Q0 q1p{rank} {rank} {lines - rank} new\n" for rank in range(1, lines + 1))
    return (
        f'--b\r\nContent-Disposition: form-data; name="kind"\r\n\r\nruns\r\n'
        f'--b\r\nContent-Disposition: form-data; name="files"; filename="new.run"\r\n\r\n{run}\r\n--b--\r\n'
    ).encode()


def test_request_on_full_disk_is_refused_and_changes_nothing(held: dict[str, Path]) -> None:
    """Try changes, small and large uploads, exports, a backup, and commands of the command line."""
    api = Api(held["placed"])
    made = api.ask("POST", "/api/v1/tokens/add", api.door.token, {"name": "unused", "role": "organizer"})[1]
    token = made.decode().strip()
    folder = set(os.listdir(api.path.parent))

    def newest() -> object:
        return api.get("activity?limit=1", api.door.token)["acts"]

    asked: list[tuple[str, object, dict[str, str]]] = [
        ("judgments/set", {"query_id": "q1", "passage_id": "q1p1", "value": 2}, {}),
        ("bank/edit", {"question_id": "q1/a", "text": "Changed?", "note": "n"}, {}),
        ("import", form(3), FORM),
        ("import", form(100_000), FORM),
        ("export", {"what": "qrels"}, {}), ("export", {"what": "bundle"}, {}), ("export", {"what": "project"}, {}),
        ("audit/export", {}, {}), ("backup", {}, {}),
    ]  # fmt: skip
    before = newest()
    with full_disk(api.door.process):
        for path, body, headers in asked:
            status, content = api.ask("POST", f"/api/v1/{path}", api.door.token, body, headers)
            told = json.loads(content)
            assert (status, bool(told["message"]), bool(told["hint"])) == (409, True, True), (path, told)
            assert "disk" in told["message"] and "Error" not in str(told), (path, told)
        for name, given in (
            ("judgments set", {"query_id": "q1", "passage_id": "q1p1", "value": 2}),
            ("export", {"what": "qrels", "output": "q.qrels", "save_manifest": "m.json"}),
        ):
            code, content = api.send(name, given, api.door.token)
            assert code == 1 and content.count(b"exam:") == 1 and b"disk" in content, content
        # Reading works even for a token whose use cannot be recorded.
        for shown in api.door.token, token:
            assert api.ask("GET", "/api/v1/leaderboard?measure=AP", shown)[0] == 200
        assert api.ask("GET", "/healthz")[0] == 200
        assert newest() == before
    assert newest() == before and set(os.listdir(api.path.parent)) <= folder | {"backups"}
    status, content = api.ask("POST", "/api/v1/judgments/set", token, asked[0][1])
    assert status == 200 and newest() != before, content
