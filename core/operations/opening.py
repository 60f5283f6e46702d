"""How an operation opens its project: the file of the shell, or the project that the server has
open.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from .. import __version__
from ..errors import InputError, ProjectError
from ..store import ActName, Door, Project, find_door, open_project
from .console import current_request, print_message, refuse_in_server

HEALTH_SECONDS = 20.0
"""Seconds that a server may take to answer."""


class OpenElsewhere(BaseException):
    """A server has the project open and can run the operation. It is not an Exception, so
    operations do not catch it."""

    def __init__(self, door: Door, project: str) -> None:
        super().__init__()
        self.door, self.project = door, project


@dataclass(eq=False)
class Opening:
    """Opens the project of a request.

    Args:
        file: of the project; None if none was named.

    Attributes:
        act, only_reads: the act and access of the operation that opens the project.
    """

    file: Path | None = None
    act: ActName = field(default="organize", init=False)
    only_reads: bool = field(default=False, init=False)

    @property
    def path(self) -> Path:
        """The file of the project, for an operation that makes it or opens it itself.

        Raises:
            InputError: no project was named, or a server runs the operation.
        """
        refuse_in_server()
        if self.file is None:
            raise InputError(
                "no-project-named",
                "No project was named.",
                "Use --project FILE.duckdb, or set EXAM_PROJECT.",
            )
        return self.file

    @contextmanager
    def __call__(self) -> Iterator[Project]:
        """Yield the project, open until the block ends; if the operation reads, other processes can
        read at the same time. Else jobs whose process died are marked as interrupted.

        Raises:
            OpenElsewhere: a server has it open.
        """
        if (host := current_request()) is not None:
            # This checks the role of a request with a token. The owner may do everything.
            with host.project.permit(self.act):
                yield from _report_reopening(host.project)
            return
        if (door := find_answering_door(self.path)) is not None:
            raise OpenElsewhere(door, str(self.path))
        with closing(open_project(self.path, self.only_reads)) as project:
            if not self.only_reads:
                # Imported here, because operations that only read do not need it.
                from ..records import close_interrupted

                # Their process died, because no other process has the file open.
                close_interrupted(project)
            yield from _report_reopening(project)


def _report_reopening(project: Project) -> Iterator[Project]:
    before = len(project.reopenings)
    yield project
    if len(project.reopenings) > before:
        print_message("The database failed and was reopened. All saved data is intact.")


def find_answering_door(path: Path) -> Door | None:
    """Return the door of a project whose server answers; None if the project is to be opened here.

    Raises:
        ProjectError: the server has another version of the program.
    """
    door = find_door(path)
    if door is None or door.process == os.getpid():
        return None
    # Imported here, because it loads email and TLS, and most commands find no door.
    import http.client

    place = urlsplit(door.address)
    server = http.client.HTTPConnection(
        place.hostname or "127.0.0.1", place.port, timeout=HEALTH_SECONDS
    )
    try:
        with closing(server):
            server.request("GET", f"{place.path}/api/v1/door", headers=authorization_header(door))
            answer = server.getresponse()
            if answer.status != 200:
                return None
            version = json.loads(answer.read()).get("version")
    except (OSError, http.client.HTTPException, ValueError):
        return None
    if version != __version__:
        raise ProjectError(
            "version-mismatch",
            f"The app that has the project open is version {version}, and this command is"
            f" version {__version__}.",
            "Restart the app with this version.",
        )
    return door


def authorization_header(door: Door) -> dict[str, str]:
    """Return the header with a door's token."""
    return {"Authorization": f"Bearer {door.token}"}
