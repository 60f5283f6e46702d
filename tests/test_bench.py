"""The project that speed is measured on is one that the workbench can open and score."""

from __future__ import annotations

from pathlib import Path

from bench.large import QUESTIONS_A_QUERY, make_large
from core.labels import Policy, basis, readiness
from core.leaderboard import leaderboard


def test_the_generated_project_is_graded_whole_and_has_a_leaderboard(tmp_path: Path) -> None:
    project = make_large(tmp_path / "large.duckdb", queries=2)
    state = readiness(project, basis(project, Policy()))
    assert state.complete
    assert state.needed == QUESTIONS_A_QUERY * project.value("SELECT count(*) FROM pool")
    assert len({system.score for system in leaderboard(project, "nDCG@10").systems}) > 1
    project.close()
