"""Locations of the app's files and a user's projects: in the clone or the installed package."""

from __future__ import annotations

import os
import re
from pathlib import Path

from platformdirs import user_config_path, user_data_path

_PACKAGE = Path(__file__).resolve().parent
IS_CLONE = _PACKAGE.name == "core"
"""Whether the program runs from a clone, in which the package `exam_workbench` is the folder
`core`.
"""
APP_FOLDER = _PACKAGE.parent if IS_CLONE else _PACKAGE / "app"
"""The folder of app.py, pages/, .streamlit/ and data/demo/."""

_RESERVED = re.compile(r"(?:con|prn|aux|nul|com[1-9¹²³]|lpt[1-9¹²³])\s*(?:\..*)?", re.IGNORECASE)


def is_reserved(name: str) -> bool:
    """Return whether Windows reserves a file name for a device, with any extension, such as CON or
    aux.txt.
    """
    return _RESERVED.fullmatch(name) is not None


def projects_folder() -> Path:
    """Return the folder of projects: EXAM_PROJECTS_DIR, data/projects of the clone, or the user's
    data folder.
    """
    if chosen := os.environ.get("EXAM_PROJECTS_DIR"):
        return Path(chosen)
    if IS_CLONE:
        return APP_FOLDER / "data" / "projects"
    return user_data_path("exam-workbench", appauthor=False) / "projects"


def secrets_files() -> list[Path]:
    """Return the secrets files of an installed app: those of the user, then that of the working
    folder.

    Values of a later file win. The folder of the package is left out.
    """
    return [
        Path.home() / ".streamlit" / "secrets.toml",
        user_config_path("exam-workbench", appauthor=False) / "secrets.toml",
        Path.cwd() / ".streamlit" / "secrets.toml",
    ]
