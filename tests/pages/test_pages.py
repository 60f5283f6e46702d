"""Screens in Streamlit's test harness: empty states, grading, export, broken projects and hostile text."""

import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from exam_workbench import bank
from exam_workbench.exchange import exporting
from exam_workbench.graders import make_grader
from exam_workbench.grading import Scope, make_plan
from exam_workbench.labels import Policy, basis, list_labels
from exam_workbench.records import set_pool_depth
from exam_workbench.store import Project
from exam_workbench.types import Question
from tests.made.projects import commit, fill, grade, judge, new_project, set_patience
from tests.made.screens import MARKED, MARKUP, QUESTIONS, RUNS, named, visit

SCREENS = ("home", "question_bank", "grading", "leaderboard", "export")


def test_screens_without_a_project_show_next_step() -> None:
    for screen in *SCREENS[1:], "disagreements", "prompts":
        app = visit(screen)
        assert app.shows("no-project"), screen
        assert app.links() == [""], screen


def test_screens_of_an_empty_project_show_next_step(project: Project) -> None:
    expected: dict[str, tuple[str, list[str]]] = {
        "home": ("next home", []),
        "question_bank": ("no-queries", [""]),
        "grading": ("nothing-to-grade", [""]),
        "leaderboard": ("nothing-graded", ["grading"]),
        "export": ("nothing-graded", ["grading"]),
        "changes": ("nothing-graded", ["grading"]),
        "activity": ("no-acts", [""]),
        "disagreements": ("no-two-sides", [""]),
        "passages": ("no-passages", [""]),
        "measures": ("no-boards", [""]),
    }
    for screen, (key, leads_to) in expected.items():
        app = visit(screen)
        assert app.shows(key), screen
        assert app.links() == leads_to, screen
        assert not app.error and "readiness" not in app.boxes(), screen


class TestGrading:
    def test_plan_counts_pairs_of_the_chosen_scope(self, small: Project) -> None:
        grader = make_grader("embedding", {})
        grade(small, {("What is A?", "p1"): 4, ("What is A?", "p2"): None}, grader.spec)
        app = visit("grading")

        def shown() -> tuple[str, ...]:
            return tuple(app.metric_of(f"metric {name}") for name in ("needed", "known", "failed", "to grade"))

        assert shown() == ("18", "1", "1", "16")
        app.boxes()["plan again"].checkbox[0].check()
        app.run()
        assert app.metric_of("metric to grade") == "17"
        app.choose("queries", ["q2"])
        assert shown() == ("6", "0", "0", "6")
        assert make_plan(small, grader.spec, 1, Scope(("q2",))).to_grade == 6
        named(app.multiselect, "queries").set_value([])
        app.choose("top", 1)
        assert shown() == ("15", "1", "0", "14")
        assert make_plan(small, grader.spec, 1, Scope(top=1)).to_grade == 14
        # A shallower pool no longer allows this choice.
        commit(small, set_pool_depth, 2, "ann")
        app.choose("top", 2)
        commit(small, set_pool_depth, 1, "ann")
        app.run()


class TestExport:
    def test_export_counts_labels_and_previews_qrels(self, shared: Project) -> None:
        app = visit("export")
        table = list_labels(shared, basis(shared, Policy()))
        assert app.metric_of("metric labels") == str(table["label"].notna().sum()) == "7"
        assert app.metric_of("metric unlabelled") == "0"
        assert app.metric_of("metric partial") == "1"
        assert app.metric_of("metric graded") == "94%"
        app = app.choose("label", "Weighted mean")
        expected = exporting.qrels_text(shared, Policy(label="mean"))
        assert app.code[0].value == expected.rstrip("\n")
        app = app.choose("tau", 3).choose("binary", True)
        expected = exporting.qrels_text(shared, Policy(label="mean", min_rating=3), binary=True)
        assert app.code[0].value == expected.rstrip("\n")
        assert {line.split()[-1] for line in expected.splitlines()} == {"0", "1"}

    def test_export_without_labels_offers_no_download(self, small: Project) -> None:
        reworded = [Question(q.question_id, q.query_id, f"{q.text} Really?") for q in QUESTIONS]
        bank.save_version(small, reworded, "all reworded", "tester")
        app = visit("export")
        assert app.shows("no-labels")
        assert app.links() == ["grading"]
        assert not app.get("download_button")


def test_project_of_newer_version_is_reported_and_another_created(tmp_path: Path) -> None:
    path = tmp_path / "spoiled.duckdb"
    new_project(path).close()
    with duckdb.connect(str(path)) as connection:
        connection.execute("INSERT INTO migrations VALUES (99, '0099_of_the_future', now()::TIMESTAMP)")
    app = visit("home")
    app.check_refused("newer-version", "spoiled")
    named(app.text_input, "name of the new project").set_value("fresh")
    app.press("create project")
    assert app.selectbox("project").value == "fresh"
    assert not app.error


@pytest.mark.long
def test_project_locked_by_another_process_is_reported(small: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    # The lock is held throughout the visit, so waiting for it would not help.
    set_patience(monkeypatch, 0.0)
    path = small.path
    small.close()
    hold = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('held', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", hold, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline()
        app = visit("leaderboard")
        app.check_refused("project-in-use", holder.pid)
    app.run()
    assert not app.error
    assert len(app.board()) == len(RUNS)


def test_external_text_is_shown_literally(project: Project) -> None:
    question = Question("q/1", MARKED, f"Is it {MARKUP}?", subtopic_id=MARKUP)
    fill(project, [question], {(question.text or "", MARKED): 5}, {MARKUP: {MARKED: [MARKED]}})
    judge(project, {(MARKED, MARKED): 1})

    app = visit("question_bank")
    # The components render their data as plain text only.
    assert app.holds("questions")["query"]["text"] == f"query {MARKED}"
    assert [row["text"] for row in app.holds("queries")["rows"]] == [f"query {MARKED}"]
    assert app.texts() == [question.text]
    app.in_bank({"act": "dialog", "name": "history", "id": "q/1"})
    assert question.text in [text.value for text in app.text]

    app = visit("leaderboard").tell("systems", "open", MARKUP).tell("systems", "ask", MARKED)
    detail = app.holds("systems")["detail"]
    assert detail["run"] == MARKUP
    (passage,) = detail["passages"]
    assert (passage["text"], passage["label"], passage["judgment"]) == (f"text of {MARKED}", 5, 1)
    assert passage["question"] == question.text
