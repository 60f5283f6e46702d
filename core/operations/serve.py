"""Commands that load quickly: create an empty project, and start the app."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import Annotated

from ..errors import InputError
from ..locations import APP_FOLDER, IS_CLONE, secrets_files
from ..store import create_project
from .registry import Opening, Option, operation


@operation("serve", act="organize", at_shell=True)
def serve(
    opening: Opening,
    *,
    port: Annotated[int, Option(help="Port on localhost.")] = 8501,
) -> None:
    """Start the app in the browser. With --project, that project is opened."""
    environment = dict(os.environ)
    if opening.file is not None:
        if not opening.file.exists():
            raise InputError(
                "no-such-project",
                f"No project at '{opening.file}'.",
                "Create it with exam init or exam demo.",
            )
        environment["EXAM_PROJECT"] = str(opening.file.resolve())
    # -P: imports ignore the working folder, which may have a `pages` folder of its own.
    command = [
        sys.executable,
        "-P",
        "-m",
        "streamlit",
        "run",
        str(APP_FOLDER / "app.py"),
        "--server.port",
        str(port),
    ]
    if IS_CLONE:
        # Streamlit reads .streamlit/secrets.toml from the working folder.
        os.chdir(APP_FOLDER)
    elif "STREAMLIT_SECRETS_FILES" not in environment:
        command += [word for file in secrets_files() for word in ("--secrets.files", str(file))]
    if os.name == "nt":
        # Ctrl+C reaches the app too. This process waits until the app has closed its projects.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        sys.exit(subprocess.run(command, env=environment, check=False).returncode)
    # The app replaces this process, so that a signal to the command stops the app and frees the
    # project.
    os.execve(sys.executable, command, environment)


@operation("init", act="organize", at_shell=True)
def init(
    opening: Opening,
) -> str:
    """Create a new, empty project."""
    create_project(opening.path).close()
    return f"Created {opening.path}."
