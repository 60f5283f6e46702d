"""Recordings of reading commands: complete, reproducible and comparable."""

import json
import os
import subprocess
import sys
from pathlib import Path

from exam_workbench.cli import run_command
from tests.made.browser import ROOT
from tests.recording import product
from tests.recording.__main__ import compare
from tests.recording.table import table

RECORDED = ("status", "tokens list", "export bank")


def test_every_reading_command_is_in_the_table() -> None:
    assert product.reading() - set(table()["reading"]) == set()
    assert product.reading() <= set(product.commands())


def test_recordings_are_equal_and_changes_are_counted(tmp_path: Path) -> None:
    projects, outs = tmp_path / "projects", [tmp_path / "first", tmp_path / "second"]
    assert run_command(["demo", "--no-grade", "--project", str(projects / "demo.duckdb")]) == 0
    only = [word for command in RECORDED for word in ("--only", command)]
    recordings = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.recording", "record", str(projects), str(out), *only],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": str(seed), "TMPDIR": str(tmp_path)},
        )
        for seed, out in enumerate(outs, 1)
    ]
    assert [recording.wait() for recording in recordings] == [0, 0]
    first, second = ((out / "demo.tsv").read_text() for out in outs)
    assert first == second
    codes = [line.split("\t")[1] for line in first.splitlines()]
    assert len(codes) == 9 and set(codes) == {"0"}
    assert compare(*outs) == 0
    with (outs[1] / "demo.jsonl").open("a") as file:
        file.write(json.dumps({"key": "demo: exam new", "code": 0, "text": ""}) + "\n")
        file.write(json.dumps({"key": "demo: exam status", "code": 1, "text": ""}) + "\n")
    assert compare(*outs) == 2
