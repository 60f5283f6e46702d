"""The command that starts the app."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click

from core.cli.options import Whole, at_a_shell, project_option
from core.errors import InputError

APP = Path(__file__).resolve().parents[2] / "app.py"


@click.command()
@project_option
@click.option("--port", type=Whole(), default=8501, show_default=True, help="Port on localhost.")
def serve(project_path: Path | None, port: int) -> None:
    """Start the app in the browser. With --project, that project is opened."""
    at_a_shell()
    environment = dict(os.environ)
    if project_path is not None:
        if not project_path.exists():
            raise InputError(
                "no-such-project", f"No project at '{project_path}'.", "Create it with exam init or exam demo."
            )
        environment["EXAM_PROJECT"] = str(project_path.resolve())
    command = [sys.executable, "-m", "streamlit", "run", str(APP), "--server.port", str(port)]
    if os.name == "nt":
        sys.exit(subprocess.run(command, cwd=APP.parent, env=environment, check=False).returncode)
    # In the place of this process, so that whoever stops the command stops the app and frees the project.
    os.chdir(APP.parent)
    os.execve(sys.executable, command, environment)
