"""The search for the server that has a project open."""

from __future__ import annotations

import http.client
import json
import os
from pathlib import Path
from urllib.parse import urlsplit

from .. import __version__
from ..errors import ProjectError
from ..store import Door, find_door

HEALTH_SECONDS = 20.0
"""Seconds that a server may take to answer."""


def answering(path: Path) -> Door | None:
    """Return the door of a project whose server answers; None if the project is to be opened here.

    Raises:
        ProjectError: the server has another version of the program.
    """
    door = find_door(path)
    if door is None or door.process == os.getpid():
        return None
    place = urlsplit(door.address)
    connection = http.client.HTTPConnection(place.hostname or "127.0.0.1", place.port, timeout=HEALTH_SECONDS)
    try:
        connection.request("GET", f"{place.path}/api/v1/door", headers=authorization(door))
        answer = connection.getresponse()
        if answer.status != 200:
            return None
        version = json.loads(answer.read()).get("version")
    except (OSError, http.client.HTTPException, ValueError):
        return None
    finally:
        connection.close()
    if version != __version__:
        raise ProjectError(
            "version-mismatch",
            f"The app that has the project open is version {version}, and this command is version {__version__}.",
            "Restart the app with this version.",
        )
    return door


def authorization(door: Door) -> dict[str, str]:
    """Return the header with a door's token."""
    return {"Authorization": f"Bearer {door.token}"}
