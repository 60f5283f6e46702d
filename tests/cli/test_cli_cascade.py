"""The cascade from a shell: plan, price, calibrate, board, labels."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.made.cascades import fill_both
from tests.made.shell import Run, printed, shell_on


@pytest.fixture
def exam(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command on a project with two graders."""
    return shell_on(fill_both, tmp_path, monkeypatch, capsys)


def test_a_cascade_goes_from_plan_to_labels_that_say_whose_they_are(exam: Run) -> None:
    assert "No cascade was planned" in exam("cascade", "board")[2]
    plan = ("cascade", "plan", "first", "--cheap", "cheap", "--expensive", "expensive", "--measure", "nDCG@5")
    made = printed(exam(*plan, "--sample", "60", "--alpha", "0.15", "--seed", "5", "--json"))
    assert made["cascade"]["measure"] == "DCG@5"
    assert [one["name"] for one in made["portions"]] == ["sample", "escalated", "baseline", "pool"]
    assert exam(*plan)[0] == 2
    code, out, _ = exam("cascade", "run", "--dry-run")
    assert code == 0 and "baseline: the union" in out
    assert "Nothing is missing" in exam("cascade", "run")[2]
    told = printed(exam("cascade", "calibrate", "first", "--json"))
    assert 0 < told["sample"] < told["escalated"] < told["union"] and told["bound"] <= 0.15
    code, out, err = exam("cascade", "calibrate")
    assert code == 0 and "holds" in out and f"{told['escalated']:,} of {told['union']:,} passages" in err
    board = printed(exam("cascade", "board", "--json"))
    assert set(board["boards"]) == {"cascade", "top 5", "cheap", "everything"}
    assert board["labels"]["from_expensive"] == told["escalated"]
    code, out, err = exam("cascade", "board", "--measure", "P@5")
    assert code == 0 and "rank: top 5" in out and "plain baseline" in err
    assert exam("cascade", "labels", "-o", "labels.tsv")[0] == 0
    lines = Path("labels.tsv").read_text().splitlines()
    assert lines[0] == "query\tpassage\tlabel\tgrader"
    assert sum(line.endswith("\texpensive") for line in lines) == told["escalated"]
    assert printed(exam("cascade", "list", "--json"))["cascades"][0]["fingerprint"] == made["cascade"]["fingerprint"]
    # It goes with the project, and comes back with the same labels.
    assert exam("export", "project", "-o", "folder")[0] == 0
    assert exam("import", "project", "folder", "--project", "back.duckdb")[0] == 0
    assert exam("cascade", "labels", "-o", "back.tsv", "--project", "back.duckdb")[0] == 0
    assert Path("back.tsv").read_text() == Path("labels.tsv").read_text()
