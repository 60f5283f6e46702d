"""Commands whose project a server has open go through it, and do and print what they would without it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from core import cli
from core.cli.reading import READING
from core.project import door_file, find_door, open_project
from tests.cli.test_reading_together import ARGUMENTS
from tests.server.conftest import serve

Said = tuple[int, bytes, bytes]


def said(path: Path, words: Sequence[str], capture: pytest.CaptureFixture[bytes]) -> Said:
    capture.readouterr()
    code = cli.run([*words, "--project", str(path)])
    told = capture.readouterr()
    return code, told.out, told.err


@pytest.mark.parametrize("command", READING)
@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_reading_command_prints_the_same_bytes_through_the_server(
    apart: Path, served: Path, capsysbinary: pytest.CaptureFixture[bytes], command: str, form: tuple[str, ...]
) -> None:
    given = ARGUMENTS.get(command, ())
    if command == "prompts show":
        given = ("self-rating-0-5",)
    words = [*command.split(), *given, *form]
    here = said(apart, words, capsysbinary)
    assert said(served, words, capsysbinary) == here
