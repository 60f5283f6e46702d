"""A client for the server of a project."""

import base64
import http.client
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from exam_workbench.store import find_door


class Api:
    """Send requests to the server of a project, with or without a token."""

    def __init__(self, path: Path) -> None:
        door = find_door(path)
        assert door is not None
        self.path, self.place, self.door = path, urlsplit(door.address), door
        self._kept: http.client.HTTPConnection | None = None

    def ask(
        self, method: str, path: str, token: str = "", body: object = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, bytes]:
        if self._kept is None:
            self._kept = http.client.HTTPConnection(str(self.place.hostname), self.place.port, timeout=60)
        connection = self._kept
        sent = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        given = {"Authorization": f"Bearer {token}"} if token else {}
        connection.request(method, path, sent, {**given, **(headers or {})})
        answer = connection.getresponse()
        content = answer.read()
        assert "access-control-allow-origin" not in {name.lower() for name, _ in answer.getheaders()}
        assert b"Traceback" not in content
        if answer.will_close or answer.status == 413:
            connection.close()
        return answer.status, content

    def send(
        self, name: str, given: Mapping[str, object], token: str, shell: Mapping[str, object] | None = None
    ) -> tuple[int, bytes]:
        """Send an operation as the command line does and return its exit code and output."""
        said = {"X-Exam-Shell": json.dumps(shell or {})}
        status, content = self.ask("POST", f"/api/v1/{name.replace(' ', '/')}", token, given, said)
        if status != 200:
            return status, content
        lines = [json.loads(line) for line in content.splitlines()]
        told = [base64.b64decode(line[name]) for line in lines for name in ("output", "error", "data") if name in line]
        return int(lines[-1]["exit"]), b"".join(told)

    def get(self, path: str, token: str, **further: Any) -> Any:
        status, content = self.ask("GET", f"/api/v1/{path}", token, **further)
        assert status == 200, content
        return json.loads(content)
