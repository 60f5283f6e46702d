"""Benches at their smallest size, and the generated project that they measure."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bench import grading
from bench.audited import dl20, dl23
from bench.large import QUESTIONS_A_QUERY, make_large
from bench.run import BUDGETS, STUDIES
from exam_workbench.labels import Policy, basis, label_readiness, leaderboard
from tests.made.tiny_models import build_tiny_t5, shared_model

ROOT = Path(__file__).resolve().parents[1]


def _run(*names: str) -> list[str]:
    """Run benches at their smallest size; return the lines of their output."""
    command = [sys.executable, "bench/run.py", "--tiny", *names]
    # stderr is not captured here, so that the test report shows the cause of a failure.
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()


def _assert_figures(lines: list[str], least: int) -> None:
    rows = lines[2:]
    assert len(rows) >= least
    for row in rows:
        what, measured, alternative, ratio, budget, kept = (cell.strip() for cell in row.strip("|").split("|"))
        assert what and measured and alternative and budget
        assert float(ratio) > 0
        assert kept in ("yes", "NO")


@pytest.mark.long
def test_benches_without_browser_print_results() -> None:
    """The results come first, then the studies."""
    names = [name for name in BUDGETS if name not in ("screens", "local")]
    lines = _run(*names, *STUDIES)
    replay = next(at for at, line in enumerate(lines) if not line.startswith("|"))
    _assert_figures(lines[:replay], len(names))
    assert len(lines) - replay > 1


def test_local_model_bench_compares_equal_ratings(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained = shared_model(tmp_path_factory, build_tiny_t5)

    def copy(folder: Path) -> Path:
        return Path(shutil.copytree(trained, folder))

    monkeypatch.setattr(grading, "MODELS", (("t5", copy, "self-rating"),))
    (figure,) = grading.local(tiny=True)
    assert figure.ratio > 0


@pytest.mark.browser
@pytest.mark.usefixtures("chromium")
def test_screen_bench_prints_results() -> None:
    _assert_figures(_run("screens"), 5)


def test_audit_replay_collections_are_read(shared_data: Path) -> None:
    found = {name: read(shared_data, "DCG@10") for name, read in (("dl20", dl20), ("dl23", dl23))}
    assert {name: (len(one.weights.w), one.weights.queries) for name, one in found.items()} == {
        "dl20": (24, 54),
        "dl23": (16, 25),
    }


def test_generated_project_is_fully_graded_and_ranks_systems(tmp_path: Path) -> None:
    project = make_large(tmp_path / "large.duckdb", queries=2)
    state = label_readiness(project, basis(project, Policy()))
    assert state.complete
    assert state.needed == QUESTIONS_A_QUERY * project.value("SELECT count(*) FROM pool")
    assert len({system.score for system in leaderboard(project, "nDCG@10").systems}) > 1
