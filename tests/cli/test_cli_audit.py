"""The audit from a shell: plan, draw, send out, take in, look at the board, and what it says."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from exam_workbench.store import open_project
from tests.audit.test_elsewhere import filled
from tests.made.audits import QUERIES, fill_audited, truth
from tests.made.refusals import check_error, mentions
from tests.made.shell import Run, printed, shell_on


@pytest.fixture
def exam(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command on a project with four systems."""
    return shell_on(fill_audited, tmp_path, monkeypatch, capsys)


def test_an_audit_goes_from_plan_to_board_and_into_the_bundle(exam: Run, tmp_path: Path) -> None:
    code, _, err = exam("leaderboard", "--measure", "P@5")
    assert code == 0 and "exam audit leaderboard" not in err
    made = printed(exam("audit", "design", "first", "--measure", "P@3", "--seed", "4", "--batch-size", "20", "--json"))
    assert made["audit"]["measure"] == "P@3" and made["without_text"] == 0
    assert mentions(exam("audit", "curve")[2], "20")
    batch = printed(exam("audit", "draw", "--json"))["batch"]
    assert exam("audit", "export", "-o", "out.tsv")[0] == 0
    Path("back.tsv").write_text(filled(Path("out.tsv").read_text(), "tsv"))
    assert exam("audit", "import", "back.tsv")[0] == 0
    status = printed(exam("audit", "status", "--json"))
    assert status["batches"][0]["judged"] == batch["drawn"] - 1
    assert [one["name"] for one in status["assessors"]] == ["ann"]
    board = printed(exam("audit", "leaderboard", "--json"))
    assert {row["run"] for row in board["systems"]} == {"good", "fair", "poor", "pleasing"}
    code, out, err = exam("audit", "leaderboard")
    assert code == 0 and "bias" in out and "precision" in err
    assert exam("audit", "calibrate")[0] == 0
    assert len(printed(exam("audit", "graders", "--json"))["graders"]) == 1
    Path("theirs.qrels").write_text(
        "".join(f"{q} 0 {q}p{i} {truth(q, f'{q}p{i}')}\n" for q in QUERIES for i in range(1, 10))
    )
    assert exam("import", "labels", "theirs.qrels", "--name", "theirs")[0] == 0
    chosen = printed(exam("audit", "graders", "--json"))
    assert chosen["chosen"] == "theirs" and len(chosen["graders"]) == 2
    assert "Poisson" in exam("audit", "methods")[1]
    assert "exam audit leaderboard --audit first" in exam("leaderboard", "--measure", "P@5")[2]
    assert exam("export", "bundle", "-o", "b.zip")[0] == 0
    with zipfile.ZipFile("b.zip") as packed:
        packed.extract("audit-1.json", tmp_path)
    assert printed(exam("audit", "leaderboard", "--from", "audit-1.json", "--json")) == board
    assert exam("audit", "end")[0] == 0
    exam.fails("audit-ended", "audit", "draw")


def test_a_wrong_value_is_refused_with_its_line_and_exit_code_2(exam: Run) -> None:
    assert exam("audit", "design", "first", "--measure", "P@3", "--seed", "4")[0] == 0
    assert exam("audit", "draw")[0] == 0
    exam("audit", "export", "-o", "out.tsv")
    line = Path("out.tsv").read_text().splitlines()[1].split("\t")
    Path("bad.qrels").write_text(f"{line[0]} 0 {line[3]} 9\n")
    assert exam("audit", "import", "bad.qrels")[:2] == (2, "")
    check_error(exam.failures[-1], "not-placed", "bad.qrels:1", "9", "0", "3")


def test_families_of_models_are_stated_and_two_roles_are_warned_of(exam: Run, tmp_path: Path) -> None:
    assert exam("runs", "families", "good", "poor", "--family", "GPT")[0] == 0
    code, _, err = exam("runs", "families", "--questions", "--grader", "test grader", "--family", "gpt")
    assert code == 0 and "gpt" in err
    rows = {row["run"]: row["families"] for row in printed(exam("runs", "list", "--json"))["runs"]}
    assert rows == {"good": ["gpt"], "poor": ["gpt"], "fair": None, "pleasing": None}
    roles = printed(exam("audit", "roles", "--json"))
    assert roles["kin"] == ["good", "poor"] and len(roles["warnings"]) == 3
    assert exam("runs", "families", "good")[0] == 2
    assert any(mentions(line, "good") and mentions(line, "gpt") for line in exam("activity")[1].splitlines())


@pytest.mark.parametrize("words", [("board",), ("status",), ("draw",)])
def test_without_an_audit_it_is_said_how_to_plan_one(exam: Run, words: tuple[str, ...]) -> None:
    assert "exam audit design" in exam.fails("no-audit", "audit", *words)


def test_give_back_and_end_batch_from_a_shell(exam: Run, tmp_path: Path) -> None:
    exam("audit", "design", "first", "--measure", "P@3", "--seed", "4")
    exam("audit", "draw")
    assert exam("audit", "export", "-o", "mine.jsonl", "--form", "jsonl", "--assessor", "cara", "--most", "1")[0] == 0
    assert mentions(exam("audit", "release", "--author", "cara")[2], "1 query")
    assert exam("audit", "end-batch")[0] == 2
    project = open_project(tmp_path / "some.duckdb")
    assert project.value("SELECT count(*) FROM audit_claims WHERE ended_at IS NULL") == 0
    project.close()
