"""Two processes that open an old project at the same time: one upgrades it, and its copy of the old state stays."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from core.project import create, migrations, open_project
from core.project import opening as projects

OPEN = """
import sys
from pathlib import Path
from core.project import open_project
open_project(Path(sys.argv[1])).close()
"""


def test_the_second_of_two_upgrades_leaves_the_copy_of_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "old.duckdb"
    with monkeypatch.context() as old_program:
        old_program.setattr(migrations, "MIGRATIONS", migrations.MIGRATIONS[:-1])
        create(path).close()
    step = migrations.MIGRATIONS[-1][0]
    connect, opened = projects.connect, []

    def late(file: Path, read_only: bool = False) -> duckdb.DuckDBPyConnection:
        opened.append(file)
        if len(opened) == 2:
            subprocess.run([sys.executable, "-c", OPEN, str(path)], check=True, timeout=60)
        return connect(file, read_only)

    monkeypatch.setattr(projects, "connect", late)
    open_project(path).close()
    backup = path.with_name(f"{path.name}.before-{step}")
    assert sorted(tmp_path.iterdir()) == [path, backup]
    with duckdb.connect(backup, read_only=True) as copy:
        assert step not in migrations.applied(copy)
