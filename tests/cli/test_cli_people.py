"""What people do on screens, from the shell: overrides, judgments, disagreements, the pool, and what is on record."""

from __future__ import annotations

from pathlib import Path

import pytest

from exam_workbench.errors import InputError, WorkbenchError
from exam_workbench.operations.console import ProgressLines
from exam_workbench.store import Project
from exam_workbench.types import Question
from tests.cli.test_cli import Exam, exam, refused  # noqa: F401
from tests.made.projects import file_of, fill, judge
from tests.made.refusals import mentions

A, B = Question("q1/a", "q1", "What is A?"), Question("q1/b", "q1", "What is B?")
GRADES = {("What is A?", "p1"): 5, ("What is A?", "p2"): 0, ("What is B?", "p1"): 1, ("What is B?", "p2"): None}


def grade_and_judge(project: Project) -> None:
    fill(project, [A, B], GRADES, {"sys": {"q1": ["p1", "p2"]}, "other": {"q1": ["p2", "p1"]}})
    judge(project, {("q1", "p1"): 0, ("q1", "p2"): 1}, "nist")


@pytest.fixture
def shell(exam: Exam, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Exam:  # noqa: F811
    """`exam` on a project that is graded and judged."""
    file_of(grade_and_judge).write(tmp_path / "p.duckdb")
    monkeypatch.setenv("EXAM_PROJECT", "p.duckdb")
    return exam


def test_an_override_is_given_listed_confirmed_and_withdrawn(shell: Exam) -> None:
    key = str(
        shell("overrides", "set", "q1/a", "p1", "2", "--reason", "vague", "--author", "ann", "--json").json["override"]
    )
    (one,) = shell("overrides", "list", "--json").json["overrides"]
    assert (str(one["key"]), one["rating"], one["author"], one["stale"]) == (key, 2, "ann", False)
    assert shell("bank", "edit", "q1/a", "--text", "What is A really?", "--note", "clearer").code == 0
    (one,) = shell("overrides", "list", "--stale", "--json").json["overrides"]
    assert f"exam overrides confirm {key}" in shell("overrides", "list").err
    assert shell("overrides", "confirm", key, "--author", "bob").code == 0
    (new,) = shell("overrides", "list", "--json").json["overrides"]
    assert (new["stale"], new["author"], new["rating"]) == (False, "bob", 2)
    assert mentions(shell("overrides", "withdraw", str(new["key"])).err, "1")
    assert shell("overrides", "list", "--json").json == {"overrides": []}
    refused(shell("overrides", "withdraw", key), 2, "exam overrides list", error="unknown-override")
    refused(shell("overrides", "set", "q1/a", "p1", "9", "--reason", "x"), 2, "9", error="rating-out-of-range")


def test_several_overrides_are_withdrawn_together_or_not_at_all(shell: Exam) -> None:
    key = shell("overrides", "set", "q1/a", "p1", "2", "--reason", "vague", "--json").json["override"]
    refused(shell("overrides", "withdraw", str(key), "999999"), 2, "exam overrides list", error="unknown-override")
    assert [one["key"] for one in shell("overrides", "list", "--json").json["overrides"]] == [key]


def test_judgments_are_given_listed_and_withdrawn(shell: Exam) -> None:
    for value in ("1", "3"):
        assert shell("judgments", "set", "q1", "p1", value, "--author", "ann", "--note", "n").code == 0
    assert shell("judgments", "list", "--json").json == {
        "judgments": [{"author": "ann", "query_id": "q1", "passage_id": "p1", "value": 3, "first_blind": None}]
    }
    assert shell("judgments", "list", "--who", "bob", "--json").json == {"judgments": []}
    assert shell("judgments", "withdraw", "q1", "p1", "--author", "ann").code == 0
    assert shell("judgments", "list", "--json").json == {"judgments": []}
    refused(shell("judgments", "set", "q1", "p1", "4"), 2, "4", error="judgment-out-of-range")


def test_a_disagreement_is_settled_and_opened_again(shell: Exam) -> None:
    found = shell("disagreements", "list", "--source", "nist", "--json").json
    assert (found["total"], [row["pair"]["passage_id"] for row in found["rows"]]) == (2, ["p1", "p2"])
    settle = ("disagreements", "resolve", "q1", "p1", "--source", "nist")
    refused(shell(*settle, "--by", "override", "--reason", "no"), 2, "--question", "--rating", error="option-missing")
    assert shell(*settle, "--by", "dispute", "--reason", "it does answer", "--author", "ann").code == 0
    assert shell("disagreements", "list", "--source", "nist", "--json").json["hidden"] == 1
    (act,) = shell("disagreements", "history", "--json").json["acts"]
    assert (act["act"], act["source"], act["author"], act["settled"]) == ("dispute", "nist", "ann", True)
    refused(
        shell(*settle, "--by", "comment", "--reason", "again"),
        2,
        "p1",
        "exam disagreements list",
        error="no-open-disagreement",
    )
    reopen = ("disagreements", "reopen", "q1", "p1", "--source", "nist")
    assert shell(*reopen).code == 0
    refused(shell(*reopen), 2, "p1", "exam disagreements history", error="not-settled")
    assert shell(*settle, "--by", "override", "--question", "q1/a", "--rating", "0", "--reason", "no").code == 0
    assert shell(*reopen, "--withdraw-override").code == 0
    assert "dispute" in shell("disagreements", "history", "--csv").out


def test_the_pool_jobs_failures_and_publications_can_be_read(shell: Exam) -> None:
    assert shell("pool", "--json").json == {"depth": 20, "passages": 2}
    assert shell("pool", "--depth", "1", "--json").json["depth"] == 1
    found = shell("failures", "--json").json
    assert [(one["passage_id"], one["asked"]["text"]) for one in found["pairs"]] == [("p2", "What is B?")]
    assert shell("failures").code == 0
    assert shell("jobs", "--json").json == {"jobs": []}
    assert shell("export", "bundle", "-o", "b.zip", "--note", "first").code == 0
    (manifest,) = shell("publications", "--json").json["publications"]
    assert manifest["note"] == "first"
    assert "first" in shell("publications").out


def test_progress_is_told_in_few_lines_where_nobody_watches(capsys: pytest.CaptureFixture[str]) -> None:
    now = [0.0]
    lines = ProgressLines("pairs", terminal=False, clock=lambda: now[0])
    day = 86_400
    for second in range(0, day, 5):
        now[0] = float(second)
        lines.say(second, day)
    lines.say(day, day, over=True)
    told = capsys.readouterr().err.splitlines()
    assert 10 < len(told) < 40
    assert all(number in told[0] for number in ("10 of 86,400 pairs", " 1 per ", "23 h 59 min"))


def test_progress_changes_one_line_where_a_person_watches(capsys: pytest.CaptureFixture[str]) -> None:
    lines = ProgressLines("pairs", terminal=True, clock=lambda: 0.0)
    lines.say(1, 4, rate=0.5)
    lines.say(4, 4, rate=0.5, over=True)
    told = capsys.readouterr().err
    assert told.count("\n") == 1 and told.count("\r") == 2
    assert all(number in told for number in ("1 of 4 pairs", " 30.0 per ", "6 s"))


@pytest.mark.parametrize("message", ["No full stop", "A full stop.", "What?", "Trailing white space  "])
def test_a_message_and_its_hint_are_two_sentences(message: str) -> None:
    for kind in (WorkbenchError, InputError):
        said = str(kind(message, "Do this."))
        assert said.removesuffix(" Do this.").endswith((".", "?"))
        assert "  " not in said and ".." not in said
