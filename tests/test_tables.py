"""Escapes in cells of CSV files, tables and terminals: text keeps its order and is restored exactly."""

import io
import json
import sys
from pathlib import Path

import pytest
from hypothesis import example, given, strategies as st

from exam_workbench.cli import main
from exam_workbench.tables import csv_text, disarm_cell, rearm_cell
from exam_workbench.text import TURNING
from exam_workbench.types import Question
from tests.made.projects import fill, made_project

TURNED = "abc \u202e321\u202c \u2066x\u2069"


@given(st.text(alphabet=st.sampled_from(["\\", "u", "2", "0", "6", "a", "'", "=", *TURNING]), max_size=12) | st.text())
@example("\\\u202e")
@example("\\u202e")
@example("\\\\\u202e\\\\u2066")
@example("'=\u202e")
@example("\\" * 300_000)
def test_cell_escapes_direction_marks_and_restores_text(text: str) -> None:
    cell = disarm_cell(text)
    assert not set(cell) & set(TURNING)
    assert rearm_cell(cell) == text


def test_csv_escapes_direction_marks() -> None:
    assert csv_text(["a"], [[TURNED]]) == "a\r\nabc \\u202e321\\u202c \\u2066x\\u2069\r\n"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def project(tmp_path: Path) -> str:
    def asked(project: object) -> None:
        fill(project, [Question("q1/a", "q1", TURNED)], {}, {"one": {"q1": ["p1"]}})  # type: ignore[arg-type]

    made_project(tmp_path / "some.duckdb", asked).close()
    return str(tmp_path / "some.duckdb")


def test_terminal_shows_escapes_and_json_keeps_values(project: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = {}
    for stream in (Terminal(), io.StringIO()):
        for words in (["bank", "list"], ["bank", "list", "--json"]):
            monkeypatch.setattr(sys, "argv", ["exam", *words, "--project", project])
            monkeypatch.setattr(sys, "stdout", stream)
            stream.seek(0)
            stream.truncate()
            main()
            shown[stream.isatty(), len(words)] = stream.getvalue()
    assert not set(shown[True, 2]) & set(TURNING) and "\\u202e" in shown[True, 2]
    assert not set(shown[False, 2]) & set(TURNING)
    assert not set(shown[True, 3]) & set(TURNING)
    assert json.loads(shown[True, 3]) == json.loads(shown[False, 3])
    assert TURNED in [question["text"] for question in json.loads(shown[True, 3])["questions"]]
