"""Every screen in Streamlit's own test harness: what it shows, what it stores, what it says where it cannot."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest
import streamlit as st
from click.testing import CliRunner
from streamlit.testing.v1 import AppTest

from core import bank
from core.bank import counts, drafted_bank, drafts
from core.bank import saving as bank_saving
from core.cli import cli
from core.exchange import exporting
from core.graders import make_grader
from core.grading import Scope, current_job, jobs, make_plan
from core.labels import Policy, basis, labels
from core.leaderboard import compare, leaderboard, per_query_scores
from core.project import Project, gold_name, official_sources, open_project
from core.types import Question
from pages.parts.boards.system import table_key
from pages.parts.shared import presses, ui
from pages.parts.shared.charts import short_names
from tests.screens import DEADLINE, served, sound, visit
from tests.small import SPEC, fill, grade, judge, new_project

__all__ = ["served"]

SCREENS = ("home", "question_bank", "grading", "leaderboard", "export")

QUESTIONS = [
    Question("q1/a", "q1", "What is A?", weight=3.0, subtopic_id="s1"),
    Question("q1/b", "q1", "What is B?"),
    Question("q1/c", "q1", "What is C?"),
    Question("q2/d", "q2", "What is D?"),
    Question("q2/e", "q2", "What is E?"),
]
GRID = {
    "ABC": {"p1": (5, 1, 0), "p2": (2, 2, 3), "p3": (0, 4, 4), "p4": (1, 0, None)},
    "DE": {"p5": (4, 0), "p6": (3, 3), "p7": (0, 1)},
}
RATINGS = {
    (f"What is {letter}?", passage): rating
    for letters, rows in GRID.items()
    for passage, ratings in rows.items()
    for letter, rating in zip(letters, ratings, strict=True)
}
RUNS = {
    "good": {"q1": ["p1", "p3", "p2", "p4"], "q2": ["p5", "p6", "p7"]},
    "fair": {"q1": ["p3", "p2", "p4"], "q2": ["p6", "p7", "p5"]},
    "poor": {"q1": ["p4", "p2", "p3", "p1"], "q2": ["p7", "p6"]},
    "bad": {"q1": ["p4", "p2"]},
}
JUDGED = {("q1", "p1"): 2, ("q1", "p2"): 1, ("q1", "p3"): 0, ("q1", "p4"): 0, ("q2", "p5"): 1, ("q2", "p7"): 2}

MARKUP = "<b>x</b> **y** $z$ :red[q] `c` [l](http://x) # h"
MARKED = MARKUP.replace(" ", "")
"""The same as an id, which has no blanks."""


@pytest.fixture
def small(project: Project) -> Project:
    """A project with two queries, five questions, seven passages, four runs, grades and judgments."""
    fill(project, QUESTIONS, RATINGS, RUNS)
    judge(project, JUDGED)
    return project


def said(app: AppTest) -> str:
    """All sentences of a screen."""
    kinds = ("title", "subheader", "markdown", "text", "caption", "info", "success", "warning", "error", "toast")
    return "\n".join(str(element.value) for kind in kinds for element in getattr(app, kind))


def links(app: AppTest) -> list[str]:
    """Where the links of a screen lead."""
    return [element.proto.page for element in app.get("page_link")]


def named(elements: Any, label: str) -> Any:
    """The one element with a label."""
    found = [element for element in elements if element.label.startswith(label)]
    assert len(found) == 1, (label, [element.label for element in elements])
    return found[0]


def press(app: AppTest, label: str) -> AppTest:
    named(app.button, label).click()
    return sound(app.run())


def holding(elements: Any, value: object) -> Any:
    """The first element that holds a value."""
    return next(element for element in elements if element.value == value)


def metric(app: AppTest, label: str) -> str:
    return str(named(app.metric, label).value)


def choose(app: AppTest, label: str, value: object) -> AppTest:
    """Set a widget as a person does; an option is chosen by what it is called on the screen."""
    for box in app.selectbox:
        if box.label == label and str(value) in box.options:
            box.select_index(box.options.index(str(value)))
            return sound(app.run())
    named([*app.number_input, *app.checkbox, *app.text_input], label).set_value(value)
    return sound(app.run())


def board(app: AppTest) -> Any:
    """The table of systems, by run."""
    return next(table.value for table in app.dataframe if "Run" in table.value).set_index("Run")


def as_text(markdown: str) -> str:
    """What a reader of escaped Markdown sees; fails where anything in it would be rendered."""
    assert not re.search(r"(?<!\\)(?:\\\\)*[<>*$:`\[\]#_]", markdown), markdown
    return re.sub(r"\\(.)", r"\1", markdown)


def nothing_to_undo(project: Project) -> bool:
    return not project.value("SELECT count(*) FROM drafts")


@pytest.mark.parametrize("screen", SCREENS[1:])
def test_without_a_project_a_screen_says_what_to_do(screen: str) -> None:
    app = visit(screen)
    assert "There is no project yet." in said(app)
    assert "Create one" in said(app)
    assert links(app) == [""]


@pytest.mark.parametrize(
    ("screen", "what", "leads_to"),
    [
        ("home", "Import queries to begin", []),
        ("question_bank", "The project has no queries.", [""]),
        ("grading", "There is nothing to grade.", [""]),
        ("leaderboard", "Nothing has been graded yet.", ["grading"]),
        ("export", "Nothing has been graded yet.", ["grading"]),
    ],
)
def test_in_an_empty_project_a_screen_says_what_to_do(
    project: Project, screen: str, what: str, leads_to: list[str]
) -> None:
    app = visit(screen)
    assert what in said(app)
    assert links(app) == leads_to
    assert not app.error


class TestHome:
    def test_a_new_user_creates_a_project(self, tmp_path: Path) -> None:
        app = visit("home")
        named(app.text_input, "Name").set_value("our task 2026")
        press(app, "Create")
        assert app.selectbox("project").value == "our-task-2026"
        assert "Import queries to begin" in said(app)
        st.cache_resource.clear()
        with_name = open_project(tmp_path / "our-task-2026.duckdb")
        assert counts(with_name)["queries"] == 0
        with_name.close()

    def test_a_link_to_a_project_that_is_not_here_says_which_one_opened(self, small: Project, tmp_path: Path) -> None:
        new_project(tmp_path / "other.duckdb").close()
        app = visit("question_bank", project="gone")
        assert "There is no project gone here. This is other" in said(app).replace("\\", "")
        app.selectbox("project").set_value("test")
        assert "There is no project" not in said(sound(app.run()))
        assert "There is no project" not in said(visit("question_bank", project="test"))

    @pytest.mark.parametrize("name", ["", "../elsewhere", ".hidden"])
    def test_a_name_that_is_no_file_name_is_refused(self, tmp_path: Path, name: str) -> None:
        app = visit("home")
        named(app.text_input, "Name").set_value(name)
        press(app, "Create")
        assert "Give the project a name" in app.error[0].value
        assert not list(tmp_path.rglob("*.duckdb"))

    def test_a_name_that_is_taken_is_refused_and_the_project_stays(self, small: Project) -> None:
        app = visit("home")
        named(app.text_input, "Name").set_value(small.name)
        press(app, "Create")
        assert "there is a file of this name already" in said(app)
        assert counts(small)["queries"] == 2

    def test_it_counts_what_the_project_holds_and_names_the_next_step(self, small: Project) -> None:
        app = visit("home")
        found = counts(small)
        for name in ("queries", "passages", "runs", "judgments", "questions", "grades"):
            assert metric(app, name.capitalize()) == f"{found[name]:,}"
        assert "1 pairs were asked and gave no usable rating" in said(app)
        assert links(app) == ["leaderboard"]

    def test_files_are_previewed_and_imported_only_when_told(self, project: Project) -> None:
        app = visit("home")
        app.file_uploader[0].upload("queries.tsv", b"q1\tfirst query\nq2\tsecond query\n")
        sound(app.run())
        assert "2 queries" in said(app)
        assert counts(project)["queries"] == 0
        press(app, "Import")
        assert counts(project)["queries"] == 2
        assert metric(app, "Queries") == "2"

    @pytest.mark.parametrize(
        ("kind", "file", "content"),
        [
            ("qrels", "dl.2020.nist.qrels", "q1 0 p1 1\n"),
            ("qrels", "judged.by.txt", "q1 0 p1 1\n"),
            (
                "graded",
                "all.our.grades.jsonl",
                '["q1", [{"paragraph_id": "p1", "text": "x", "paragraph_data":'
                ' {"judgments": [{"paragraphId": "p1", "query": "q1", "relevance": 1}]}}]]\n',
            ),
        ],
    )
    def test_the_shell_and_the_browser_propose_the_same_names(
        self, project: Project, tmp_path: Path, kind: str, file: str, content: str
    ) -> None:
        board = ("a.b.tsv", "run\tap\nx\t1\n")
        files = {"queries": ("q.tsv", "q1\tone\n"), kind: (file, content), "leaderboard": board}
        folder = tmp_path / "shell"
        new_project(path := folder / "p.duckdb").close()
        app = visit("home")
        for what, (name, text) in files.items():
            (folder / name).write_text(text)
            done = CliRunner().invoke(cli, ["import", what, str(folder / name), "--project", str(path)])
            assert done.exit_code == 0, done.output
            app.file_uploader[0].upload(name, text.encode())
        proposed = named(sound(app.run()).text_input, "Name of the source of judgments").value
        press(app, "Import")
        by_shell = open_project(path)
        assert official_sources(by_shell) == official_sources(project) == [proposed, "a.b"]
        by_shell.close()

    def test_a_refused_file_is_named_with_its_line_and_cannot_be_imported(self, small: Project) -> None:
        app = visit("home")
        app.file_uploader[0].upload("more.run", b"q1 Q0 p1 1 2.0 x\nq1 Q0 p2 2 much x\n")
        sound(app.run())
        assert "more.run:2" in as_text(app.error[0].value)
        assert "Nothing has been imported." in said(app)
        assert "Import" not in [button.label for button in app.button]
        assert counts(small)["runs"] == len(RUNS)


class TestQuestionBank:
    def test_an_edit_is_a_draft_in_the_project_at_once(self, small: Project) -> None:
        app = visit("question_bank")
        assert "No unsaved changes." in said(app)
        holding(app.text_area, "What is A?").set_value("Who is A?")
        sound(app.run())
        assert drafts(small, "ann")["q1/a"].question.text == "Who is A?"
        holding(app.number_input, 3.0).set_value(0.5)
        sound(app.run())
        next(box for box in app.checkbox if box.label == "Active").uncheck()
        sound(app.run())
        changed = drafts(small, "ann")["q1/a"].question
        assert (changed.text, changed.weight, changed.active) == ("Who is A?", 0.5, False)
        assert "1 unsaved change" in said(app)
        assert "reworded, weight changed, retired, not saved" in said(app)
        assert bank.questions(small, query_id="q1")[0] == QUESTIONS[0]

    def test_two_edits_that_arrive_together_are_both_kept(self, small: Project) -> None:
        app = visit("question_bank")
        holding(app.text_area, "What is A?").set_value("Who is A?")
        holding(app.number_input, 3.0).set_value(0.5)
        sound(app.run())
        changed = drafts(small, "ann")["q1/a"].question
        assert (changed.text, changed.weight) == ("Who is A?", 0.5)

    def test_a_draft_is_there_for_whoever_comes_back(self, small: Project) -> None:
        app = visit("question_bank")
        holding(app.text_area, "What is A?").set_value("Who is A?")
        sound(app.run())
        again = visit("question_bank")
        assert holding(again.text_area, "Who is A?")
        assert "1 unsaved change" in said(again)

    @pytest.mark.parametrize("pressed", ["Save version", "Discard all"])
    def test_what_was_pressed_before_a_conflict_was_seen_is_not_done_after_it_is_settled(
        self, small: Project, pressed: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(presses, "_place", lambda: None)
        app = visit("question_bank")
        holding(app.text_area, "What is A?").set_value("Who is A?")
        sound(app.run())
        bank_saving.save(small, [replace(QUESTIONS[0], text="Which is A?")], "theirs", "bob")
        sound(app.run())
        # A run that was ended before it drew the button left this to the next.
        app.session_state["presses"].press(pressed)
        press(app, "Keep mine")
        assert drafts(small, "ann")["q1/a"].question.text == "Who is A?"
        assert bank.latest_version(small) == 2

    @pytest.mark.parametrize("button", ["Take back", "Discard all"])
    def test_taking_back_shows_and_has_the_saved_question(self, small: Project, button: str) -> None:
        app = visit("question_bank")
        holding(app.text_area, "What is A?").set_value("Who is A?")
        holding(app.number_input, 3.0).set_value(0.5)
        sound(app.run())
        press(app, button)
        assert nothing_to_undo(small)
        assert holding(app.text_area, "What is A?")
        assert holding(app.number_input, 3.0)
        assert "No unsaved changes." in said(app)

    def test_typing_the_old_words_again_ends_the_draft(self, small: Project) -> None:
        app = visit("question_bank")
        holding(app.text_area, "What is A?").set_value("Who is A?")
        sound(app.run())
        holding(app.text_area, "Who is A?").set_value("What is A?")
        sound(app.run())
        assert nothing_to_undo(small)
        assert "No unsaved changes." in said(app)

    def test_a_question_is_added_and_saved_as_a_version_with_its_note(self, small: Project) -> None:
        app = press(visit("question_bank"), "Add a question")
        named([t for t in app.text_area if not t.value], "Question").set_value("What is new?")
        sound(app.run())
        app.text_input("save note").set_value("one more")
        press(app, "Save version")
        newest = bank.versions(small)[0]
        assert (newest.version, newest.note, newest.author, newest.changed) == (2, "one more", "ann", 1)
        assert [q.text for q in bank.questions(small, query_id="q1")][-1] == "What is new?"
        assert "Bank version 2. No unsaved changes." in said(app)
        versions = next(table.value for table in app.dataframe if "Note" in table.value)
        assert versions["Note"].tolist() == ["one more", "made for a test"]

    def test_new_questions_keep_their_places_while_they_are_written(self, small: Project) -> None:
        app = press(press(visit("question_bank"), "Add a question"), "Add a question")
        first, second = [t for t in app.text_area if t.label == "Question" and not t.value]
        first.set_value("The first?")
        sound(app.run())
        second = next(t for t in app.text_area if t.label == "Question" and not t.value)
        second.set_value("The second?")
        sound(app.run())
        assert [q.text for q in drafted_bank(small, "ann", "q1")][-2:] == ["The first?", "The second?"]

    def test_a_note_may_be_left_empty_and_is_then_written_from_what_changed(self, small: Project) -> None:
        app = visit("question_bank")
        holding(app.text_area, "What is A?").set_value("Who is A?")
        sound(app.run())
        assert app.text_input("save note").placeholder == "1 reworded in query q1"
        press(app, "Save version")
        assert not app.error
        assert bank.versions(small)[0].note == "1 reworded in query q1"

    def test_saving_a_question_without_words_says_so_and_keeps_the_changes(self, small: Project) -> None:
        app = visit("question_bank")
        holding(app.text_area, "What is A?").set_value(" ")
        sound(app.run())
        app.text_input("save note").set_value("emptied")
        press(app, "Save version")
        assert "has no text" in as_text(app.error[0].value)
        assert bank.latest_version(small) == 1
        assert "q1/a" in drafts(small, "ann")

    def test_another_person_sees_none_of_my_drafts(self, small: Project) -> None:
        app = visit("question_bank")
        holding(app.text_area, "What is A?").set_value("Who is A?")
        sound(app.run())
        app.text_input("author").set_value("bob")
        sound(app.run())
        assert "No unsaved changes." in said(app)
        assert holding(app.text_area, "What is A?")
        holding(app.text_area, "What is A?").set_value("Where is A?")
        sound(app.run())
        app.text_input("author").set_value("ann")
        sound(app.run())
        assert holding(app.text_area, "Who is A?")
        assert drafts(small, "bob")["q1/a"].question.text == "Where is A?"

    def test_what_somebody_else_saves_shows(self, small: Project) -> None:
        app = visit("question_bank")
        bank_saving.save(small, [Question("q1/a", "q1", "Saved elsewhere?")], "from afar", "bob")
        sound(app.run())
        assert holding(app.text_area, "Saved elsewhere?")

    def test_a_query_is_found_by_its_words_and_opened(self, small: Project) -> None:
        app = visit("question_bank")
        app.text_input("find").set_value("QUERY Q2")
        sound(app.run())
        assert [b.label for b in app.button if "passages" in b.label] == [
            named(app.button, "query q2").label,
        ]
        press(app, "query q2")
        assert app.subheader[0].value == "query q2"
        assert [t.value for t in app.text_area if t.label == "Question"] == ["What is D?", "What is E?"]
        app.text_input("find").set_value("nothing like it")
        sound(app.run())
        assert "No query has these words." in said(app)

    def test_the_history_of_a_question_has_every_wording(self, small: Project) -> None:
        bank_saving.save(small, [Question("q1/a", "q1", "Who is A?", weight=2.0)], "it is a person", "bob")
        app = visit("question_bank")
        opened(app, "q1/a")
        sound(app.button("history q1/a").click().run())
        told = said(app)
        assert "What is A?" in told
        assert "Who is A?" in told
        assert any(":red[~~What~~] :green[**Who**] is A" in m.value for m in app.markdown)
        assert re.search(r"Version 2 by bob.*it is a person.*weight 2 ", told)
        assert re.search(r"Version 1 by tester.*made for a test.*weight 3 ", told)


def test_after_a_save_exactly_what_the_project_s_own_grader_lacks_is_offered(small: Project) -> None:
    before = make_plan(small, SPEC, 1).to_grade
    app = visit("question_bank")
    holding(app.text_area, "What is A?").set_value("Who is A?")
    sound(app.run())
    app.text_input("save note").set_value("a person")
    press(app, "Save version")
    # Four pooled passages; the other questions keep their grades.
    assert make_plan(small, SPEC, 2).to_grade == before + 4
    assert f"{before + 4} pairs are new and not graded" in said(app)
    assert "came from a file" in said(app)


def test_questions_are_filtered_by_subtopic(small: Project) -> None:
    app = visit("question_bank")
    named(app.selectbox, "Subtopic").set_value("s1")
    sound(app.run())
    assert [box.value for box in app.text_area if box.label == "Question"] == ["What is A?"]


def opened(app: AppTest, question_id: str) -> AppTest:
    """The app with the details of a question open."""
    app.session_state[f"details {question_id}"] = True
    return sound(app.run())


class TestGrading:
    def test_the_plan_counts_pairs_and_follows_the_queries(self, small: Project) -> None:
        grader = make_grader("embedding", {})
        grade(small, {("What is A?", "p1"): 4, ("What is A?", "p2"): None}, grader.spec)
        app = visit("grading")

        def shown() -> tuple[str, ...]:
            return tuple(metric(app, name) for name in ("Pairs needed", "Known already", "Failed", "To grade"))

        assert shown() == ("18", "1", "1", "16")
        named(app.checkbox, "Ask the 1 failed pairs again").check()
        sound(app.run())
        assert metric(app, "To grade") == "17"
        named(app.multiselect, "Queries").set_value(["q2"])
        sound(app.run())
        assert shown() == ("6", "0", "0", "6")
        assert make_plan(small, grader.spec, 1, Scope(("q2",))).to_grade == 6

    def test_it_grades_in_the_background_to_the_end(self, project: Project) -> None:
        fill(project, QUESTIONS, {}, RUNS)
        app = press(visit("grading"), "Grade")
        job = current_job(project)
        assert job is not None
        assert job.wait(DEADLINE)
        sound(app.run())
        assert "Last job done: 18 pairs graded, 0 failed" in said(app)
        assert "Every pair that the bank needs is graded." in said(app)
        assert metric(app, "Known already") == "18"
        table = next(table.value for table in app.dataframe if "State" in table.value)
        assert table[["State", "Graded", "Failed", "By"]].values.tolist() == [["done", 18, 0, "ann"]]
        assert [(j.state, j.graded) for j in jobs(project)] == [("done", 18)]
        assert "leaderboard" in links(app)
        assert board(visit("leaderboard"))["nDCG@10"].notna().all()


CHOICES = [
    ({"Measure": "AP"}, "AP", Policy()),
    ({"Measure": "AP", "Min rating": 3}, "AP", Policy(min_rating=3)),
    ({"Label": "Supported by 2 questions"}, "nDCG@10", Policy(label="support:2")),
    ({"Label": "Weighted mean"}, "nDCG@10", Policy(label="mean")),
    ({"Label": "Weighted mean", "Weights": False}, "nDCG@10", Policy(label="mean", weighted=False)),
    ({"Measure": "EXAM-Cover"}, "EXAM-Cover", Policy()),
    ({"Measure": "EXAM-Cover", "Weights": False}, "EXAM-Cover", Policy(weighted=False)),
    ({"Measure": "EXAM-Cover", "Cutoff": 1}, "EXAM-Cover", Policy(cutoff=1)),
]


class TestLeaderboard:
    def test_the_choices_matter(self, small: Project) -> None:
        boards = {str(leaderboard(small, measure, "exam", policy).scores) for _, measure, policy in CHOICES}
        assert len(boards) == len(CHOICES)

    @pytest.mark.parametrize(("choices", "measure", "policy"), CHOICES)
    def test_it_shows_the_scores_of_what_was_chosen(
        self, small: Project, choices: dict[str, object], measure: str, policy: Policy
    ) -> None:
        app = visit("leaderboard")
        for label, value in choices.items():
            choose(app, label, value)
        expected = leaderboard(small, measure, "exam", policy)
        shown = board(app)
        assert shown[expected.measure].to_dict() == pytest.approx(expected.scores)
        assert shown["± error"].to_dict() == pytest.approx(expected.std_errors)
        assert shown.index.tolist() == [system.run for system in expected.systems]

    def test_the_official_board_and_the_correlation_stand_beside_it(self, small: Project) -> None:
        app = visit("leaderboard")
        choose(app, "Measure", "AP")
        choose(app, "Judged ≥", 2)
        expected = compare(small, "AP", "assessors", policy=Policy(min_judgment=2))
        assert expected.official.scores != compare(small, "AP", "assessors").official.scores
        assert board(app)["Official AP"].to_dict() == pytest.approx(expected.official.scores)
        assert metric(app, "Spearman") == f"{expected.correlation.spearman:.3f}"
        assert metric(app, "Kendall") == f"{expected.correlation.kendall:.3f}"
        assert metric(app, "tau_AP") == f"{expected.correlation.tau_ap:.3f}"
        assert metric(app, "Pearson") == f"{expected.correlation.pearson:.3f}"
        assert metric(app, "Systems") == "4"

    def test_a_correlation_of_two_systems_is_undefined_and_says_why(self, project: Project) -> None:
        fill(project, QUESTIONS, RATINGS, {run: RUNS[run] for run in ("good", "poor")})
        judge(project, JUDGED)
        app = visit("leaderboard")
        assert "undefined" in app.info[0].value
        assert "at least 3" in app.info[0].value
        assert not app.metric
        assert len(board(app)) == 2

    def test_without_an_official_board_it_stands_alone(self, project: Project) -> None:
        fill(project, QUESTIONS, RATINGS, RUNS)
        app = visit("leaderboard")
        assert not app.metric
        assert board(app)["nDCG@10"].to_dict() == pytest.approx(leaderboard(project, "nDCG@10").scores)
        assert not [name for name in board(app) if "fficial" in name]

    def test_the_official_board_can_be_put_away(self, small: Project) -> None:
        app = choose(visit("leaderboard"), "Official board", "No official board")
        assert not app.metric
        assert not [name for name in board(app) if "fficial" in name]

    def test_it_says_how_many_pairs_the_labels_rest_on(self, small: Project) -> None:
        assert "17 of 18 needed pairs (94.4%); missing: 1 failed." in said(visit("leaderboard"))

    def test_a_system_shows_that_nobody_has_labelled_all_of_its_top(self, project: Project) -> None:
        fill(project, QUESTIONS, RATINGS, RUNS | {"new": {"q1": ["p1", "p9"]}})
        app = visit("leaderboard")
        assert board(app)["Labelled"].to_dict() == dict.fromkeys(RUNS, 1.0) | {"new": 0.5}
        assert "3 ungraded, 1 failed. What to grade next stands under" in said(app)

    def test_a_run_is_chosen_to_stand_for_the_gold_texts_and_measures_by_them_are_offered(self, small: Project) -> None:
        app = visit("leaderboard")
        assert "n-EXAM" not in named(app.selectbox, "Measure").options
        run = leaderboard(small, "nDCG@10").systems[0].run
        app.selectbox("gold run").set_value(run)
        app = press(sound(app.run()), "Let it stand for the gold texts")
        assert gold_name(small) == run
        app = choose(app, "Measure", "n-EXAM")
        assert f"within the standard error of {run}" in said(app)
        app.selectbox("gold run").set_value("None")
        press(sound(app.run()), "Nothing is gold")
        assert gold_name(small) is None

    def test_another_measure_can_be_typed(self, small: Project) -> None:
        app = visit("leaderboard", measure="P@2")
        assert board(app)["P@2"].to_dict() == pytest.approx(leaderboard(small, "P@2").scores)

    def test_an_unknown_measure_gives_a_sentence(self, small: Project) -> None:
        app = visit("leaderboard", measure="goodness")
        assert "goodness" in as_text(app.error[0].value)
        assert len(board(app)) == len(RUNS)

    def test_a_link_carries_the_choices(self, small: Project) -> None:
        app = visit("leaderboard", project=small.name, measure="AP", tau="3", label="Supported by 2 questions")
        expected = leaderboard(small, "AP", "exam", Policy(min_rating=3, label="support:2"))
        assert board(app)["AP"].to_dict() == pytest.approx(expected.scores)

    def test_a_score_can_be_followed_down_to_the_passages(self, small: Project) -> None:
        app = visit("leaderboard")
        app.session_state["systems"] = {"selection": {"rows": [0], "columns": [], "cells": []}}
        sound(app.run())
        best = leaderboard(small, "nDCG@10").systems[0].run
        assert f"{best}, query by query" in said(app)
        found, official = (leaderboard(small, "nDCG@10", source) for source in ("exam", "assessors"))
        scores = per_query_scores(small, found, official, best)
        app.session_state[table_key(best, scores)] = {"selection": {"rows": [0], "columns": [], "cells": []}}
        sound(app.run())
        assert "text of p1" in said(app)
        assert "label 5 · judged 2 · What is A?" in as_text(
            next(c.value for c in app.caption if c.value.startswith("label 5"))
        )
        places = [(link.proto.page, link.proto.query_string) for link in app.get("page_link")]
        asked = scores[0].query_id
        for screen in ("question_bank", "disagreements"):
            assert any(page == screen and f"query={asked}" in query for page, query in places)
        read = [query for page, query in places if page == "passages"]
        assert read
        assert all(f"query={asked}" in query and "passage=p" in query for query in read)

    def test_queries_stand_with_the_greatest_loss_against_the_official_board_first(self, small: Project) -> None:
        app = visit("leaderboard")
        app.session_state["systems"] = {"selection": {"rows": [1], "columns": [], "cells": []}}
        sound(app.run())
        found, official = (leaderboard(small, "nDCG@10", source) for source in ("exam", "assessors"))
        run = found.systems[1].run
        table = next(table.value for table in app.dataframe if "Difference" in table.value)
        losses = table["nDCG@10"] - table["Official nDCG@10"]
        assert table["Difference"].tolist() == pytest.approx(losses.tolist())
        assert table["Difference"].is_monotonic_increasing
        mine, theirs = found.per_query[run], official.per_query[run]
        assert table["Difference"].iloc[0] == pytest.approx(min(mine[query] - theirs[query] for query in mine))

    def test_coverage_as_a_share_of_the_pool_can_be_typed_and_shows_lengths(self, small: Project) -> None:
        app = visit("leaderboard", measure="EXAM-Cover@2/pool")
        expected = leaderboard(small, "EXAM-Cover@2/pool")
        shown = board(app)
        assert shown["EXAM-Cover@2/pool"].to_dict() == pytest.approx(expected.scores)
        assert shown["Passages"].to_dict() == {run: length.passages for run, length in expected.lengths.items()}
        assert {run for run, star in shown["\N{BLACK STAR}"].items() if star} == expected.starred
        assert "Official nDCG@10" in shown
        for view in ("All boards", "Two boards", "Two systems", "Significance"):
            assert not visit("leaderboard", measure="EXAM-Cover@2/pool", view=view).error

    def test_measures_of_gold_texts_say_that_there_are_none(self, small: Project) -> None:
        for measure in ("n-EXAM@20", "ROUGE-1@20"):
            assert "There are no gold texts" in as_text(visit("leaderboard", measure=measure).error[0].value)


class TestExport:
    def test_it_counts_what_the_qrels_rest_on(self, small: Project) -> None:
        app = visit("export")
        table = labels(small, basis(small, Policy()))
        assert metric(app, "Labels") == str(table["label"].notna().sum()) == "7"
        assert metric(app, "Passages without a label") == "0"
        assert metric(app, "Partial labels") == "1"
        assert metric(app, "Pairs graded") == "94.4%"

    def test_the_preview_is_the_qrels_of_the_policy(self, small: Project) -> None:
        app = choose(visit("export"), "Label", "Weighted mean")
        expected = exporting.qrels(small, Policy(label="mean"))
        assert app.code[0].value == expected.rstrip("\n")
        app = choose(choose(app, "Min rating", 3), "Binary", True)
        expected = exporting.qrels(small, Policy(label="mean", min_rating=3), binary=True)
        assert app.code[0].value == expected.rstrip("\n")
        assert {line.split()[-1] for line in expected.splitlines()} == {"0", "1"}

    def test_without_labels_there_is_nothing_to_download(self, small: Project) -> None:
        reworded = [Question(q.question_id, q.query_id, f"{q.text} Really?") for q in QUESTIONS]
        bank_saving.save(small, reworded, "all reworded", "tester")
        app = visit("export")
        assert "There are no labels yet." in said(app)
        assert links(app) == ["grading"]
        assert not app.get("download_button")


def broken(path: Path) -> None:
    path.write_bytes(b"this is no database" * 1000)


def newer(path: Path) -> None:
    new_project(path).close()
    with duckdb.connect(str(path)) as connection:
        connection.execute("INSERT INTO migrations VALUES (99, '0099_of_the_future', now()::TIMESTAMP)")


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize(
    ("spoil", "reason"),
    [(broken, "is not a project, or its beginning is damaged"), (newer, "written by a newer version")],
)
def test_a_project_that_cannot_be_opened_gives_a_sentence(
    tmp_path: Path, screen: str, spoil: Callable[[Path], None], reason: str
) -> None:
    spoil(tmp_path / "spoiled.duckdb")
    app = visit(screen)
    assert len(app.error) == 1
    assert reason in as_text(app.error[0].value)
    assert "Traceback" not in said(app)


def test_a_project_that_cannot_be_opened_is_no_dead_end(tmp_path: Path) -> None:
    broken(tmp_path / "spoiled.duckdb")
    app = visit("home")
    named(app.text_input, "Name").set_value("fresh")
    press(app, "Create")
    assert app.selectbox("project").value == "fresh"
    assert not app.error


def test_a_project_that_another_process_holds_says_so_until_it_is_free(small: Project) -> None:
    path = small.path
    small.close()
    hold = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('held', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", hold, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline()
        app = visit("leaderboard")
        assert f"is open in process {holder.pid}" in as_text(app.error[0].value)
        assert "Close what uses it, then try again." in said(app)
    sound(app.run())
    assert not app.error
    assert len(board(app)) == len(RUNS)


def test_text_from_outside_is_shown_as_text(project: Project) -> None:
    question = Question("q/1", MARKED, f"Is it {MARKUP}?", subtopic_id=MARKUP)
    fill(project, [question], {(question.text or "", MARKED): 5}, {MARKUP: {MARKED: [MARKED]}})
    judge(project, {(MARKED, MARKED): 1})

    app = visit("question_bank")
    assert as_text(app.subheader[0].value) == f"query {MARKED}"
    button = next(b.label for b in app.button if b.key == f"query button {MARKED}")
    assert as_text(button.split("  \n")[0]) == f"query {MARKED}"
    assert holding(app.text_area, question.text)
    assert any(ui.plain(f"subtopic {MARKUP}") in m.value for m in app.markdown)
    opened(app, "q/1")
    sound(app.button("history q/1").click().run())
    assert question.text in [text.value for text in app.text]

    app = visit("leaderboard")
    app.session_state["systems"] = {"selection": {"rows": [0], "columns": [], "cells": []}}
    app.session_state[f"queries of {MARKUP} {hash((MARKED,))}"] = {
        "selection": {"rows": [0], "columns": [], "cells": []}
    }
    sound(app.run())
    assert as_text(app.subheader[0].value) == f"{MARKUP}, query by query"
    assert f"text of {MARKED}" in [text.value for text in app.text]
    label = next(c.value for c in app.caption if c.value.startswith("label"))
    assert as_text(label) == f"label 5 · judged 1 · {question.text}"


def test_the_pool_can_be_made_deeper(project: Project) -> None:
    passages = [f"p{i}" for i in range(30)]
    fill(project, [Question("q1/a", "q1", "A?")], {("A?", "p0"): 5}, {"long": {"q1": passages}})
    app = visit("grading")
    assert metric(app, "Pairs needed") == "20"
    named(app.number_input, "Passages of each run that are pooled per query").set_value(30)
    sound(app.run())
    press(app, "Pool again")
    assert metric(app, "Pairs needed") == "30"


def test_charts_cut_long_names_of_runs_and_still_tell_them_apart() -> None:
    names = ["team_gpt4o_fusion_rerank", "team_gpt4o_nonp_fusion_rerank", "bm25", "x" * 40 + "a" + "x" * 20, "x" * 61]
    shown = short_names(names)
    assert len(set(shown.values())) == len(names)
    assert shown["bm25"] == "bm25"
    assert max(map(len, shown.values())) <= 22
