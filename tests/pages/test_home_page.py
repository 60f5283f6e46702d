"""The Home screen: projects, import previews, next steps, the tour and backups."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import streamlit as st
from click.testing import CliRunner

from exam_workbench import bank
from exam_workbench.bank import project_counts
from exam_workbench.cli import cli
from exam_workbench.exchange import import_files
from exam_workbench.exchange._collections import FILES
from exam_workbench.formats import Source
from exam_workbench.labels import add_override
from exam_workbench.records import add_queries, imported_leaderboards, official_sources
from exam_workbench.store import Project, Schedule, find_backups, find_schedule, open_project
from exam_workbench.types import Query, Question
from pages.parts.home import panels, tour
from pages.parts.shared.screens import SCREENS
from tests.made.exams import put_exam
from tests.made.projects import commit, fill, judge, new_project
from tests.made.screens import QUESTIONS, RUNS, Screen, keyed, named, numbers, visit


def panel(app: Screen, screen: str) -> dict[str, Any]:
    """Return the panel of the project's state that links to a screen."""
    return next(one for one in app.holds("state")["panels"] if (one["to"] or "").startswith(f"{screen}?"))


def counted(app: Screen) -> dict[str, str]:
    """Return the counts of the project's data as Home shows them."""
    (blocks,) = (one["blocks"] for one in app.holds("state")["panels"] if one["to"] is None)
    # A project without an exam has no counts of items and examinees.
    return {name: one["count"] for name, one in zip(panels.COUNTED, blocks[0]["lines"], strict=False)}


def lines(app: Screen, door: str) -> dict[str, dict[str, Any]]:
    """Return the lines of a task panel by key."""
    (shown,) = app.holds(f"door {door}")["panels"]
    return {one["key"]: one for block in shown["blocks"] if block["kind"] == "lines" for one in block["lines"]}


def words(app: Screen, door: str) -> dict[str, str]:
    """Return the sentences of a task panel by key."""
    (shown,) = app.holds(f"door {door}")["panels"]
    return {one["key"]: one["text"] for one in shown["blocks"] if one["kind"] == "text"}


def marks(app: Screen) -> list[str]:
    """Return the errors in the rows of uploaded files."""
    found = (re.search(r'role="alert"><span[^>]*>(.*)</span>', one.proto.body) for one in app.get("html"))
    return [match[1] for match in found if match]


def previews(app: Screen) -> dict[str, list[float]]:
    """Return, by kind of file, the numbers in its heading: files and the data that they would add."""
    found = {key.removeprefix("preview "): box for key, box in app.boxes().items() if key.startswith("preview ")}
    return {kind: numbers(box.expander[0].label) for kind, box in found.items()}


def needed(app: Screen) -> dict[str, list[float]]:
    """Return the kinds of data that a new project needs, with the number present."""
    found = {key.removeprefix("kind "): app.note(key) for key in app.boxes() if re.match(r"kind \w+ \w+$", key)}
    return {kind: numbers(said) for kind, said in found.items()}


class TestImportFirst:
    def test_empty_project_shows_only_needed_imports(self, project: Project) -> None:
        app = visit("home")
        assert list(needed(app)) == [
            "queries missing", "passages missing", "bank missing", "runs missing", "qrels missing",
        ]  # fmt: skip
        assert app.shows("next home")
        assert not [part for part in app.get("bidi_component") if part.proto.id.endswith(("-state", "-door curate"))]

    def test_list_follows_imports_until_passages_can_be_graded(self, project: Project) -> None:
        app = visit("home")
        app.file_uploader[0].upload("queries.jsonl", (FILES / "queries.jsonl").read_bytes())
        app.run()
        assert previews(app) == {"queries": [1, 9, 9]} and project_counts(project)["queries"] == 0
        app.press("import")
        app = visit("home")
        assert needed(app) == {
            "queries there": [9], "passages missing": [], "bank missing": [], "runs missing": [], "qrels missing": [],
        }  # fmt: skip
        assert counted(app)["queries"] == "9"
        app.file_uploader[0].upload("a.run", b"fish-mercury Q0 p1 1 2.0 a\n")
        app = app.run()
        assert previews(app) == {"runs": [1, 1, 1]} and "runs missing" not in needed(app)
        import_files(project, "runs", [Source(name="a.run", data=b"fish-mercury Q0 p1 1 2.0 a\n")], "ann")
        assert needed(visit("home")) == {}

    def test_files_of_one_kind_share_row_with_folded_notes(self, small: Project) -> None:
        app = visit("home")
        for name in "abc":
            lines = f"q1 Q0 p1 1 2.0 {name}\nq1 Q0 p2 2 {'1.0' if name == 'c' else '2.0'} {name}\n"
            app.file_uploader[0].upload(f"{name}.run", lines.encode())
        app = app.run()
        # Three files with three runs and six passages; two of them have ties.
        assert previews(app) == {"runs": [3, 3, 6, 2]}
        (folded,) = app.boxes()["preview runs"].expander
        assert not folded.proto.expanded
        assert len(folded.caption) == 2 and len(folded.selectbox) == 3


class TestHome:
    def test_new_user_creates_project(self, tmp_path: Path) -> None:
        app = visit("home")
        named(app.text_input, "name of the new project").set_value("our task 2026")
        app.press("create project")
        assert app.selectbox("project").value == "our-task-2026"
        assert app.shows("next home")
        assert named(app.text_input, "name of the new project").value == ""
        st.cache_resource.clear()
        with_name = open_project(tmp_path / "our-task-2026.duckdb")
        assert project_counts(with_name)["queries"] == 0

    def test_link_to_missing_project_names_opened_project(self, small: Project, tmp_path: Path) -> None:
        new_project(tmp_path / "other.duckdb").close()
        app = visit("question_bank", project="gone")
        assert app.shows("another-project", "gone", "other")
        assert not app.choose("project", "test").shows("another-project")
        assert not visit("question_bank", project="test").shows("another-project")

    def test_invalid_or_taken_project_name_is_refused(self, small: Project, tmp_path: Path) -> None:
        invalid = {"../elsewhere": "invalid-name", ".hidden": "invalid-name", "a:b": "invalid-name"}
        codes = {"": "empty-name", " ": "empty-name", **invalid, "what?": "invalid-name", "Aux": "reserved-name"}
        app = visit("home")
        for name, code in codes.items():
            named(app.text_input, "name of the new project").set_value(name)
            app.press("create project")
            assert app.errors() == [code], name
        # On a case-insensitive file system, both names are the same file.
        for name in (small.name, small.name.upper()):
            named(app.text_input, "name of the new project").set_value(name)
            app.press("create project")
            app.check_refused("project-exists", small.name)
            assert named(app.text_input, "name of the new project").value == name
        assert list(tmp_path.rglob("*.duckdb")) == [small.path] and project_counts(small)["queries"] == 2

    def test_project_data_is_counted_and_drawn_with_links_to_details(self, shared: Project) -> None:
        app = visit("home")
        found = project_counts(shared)
        for name in ("queries", "passages", "runs", "judgments", "questions", "grades"):
            assert counted(app)[name] == f"{found[name]:,}"
        assert app.links() == ["leaderboard"]
        # Only the demo starts with a tour.
        assert not app.shows("greeting")
        pairs, labels = (block for block in panel(app, "grading")["blocks"] if block["kind"] == "bar")
        assert [(part["tone"], part["count"]) for part in pairs["parts"]] == [("rated", 17), ("failed", 1)]
        assert sum(part["count"] for part in labels["parts"]) == 7
        (systems,) = (b for b in panel(app, "leaderboard")["blocks"] if b["kind"] == "systems")
        assert systems["rows"][0]["name"] == "good"
        (agreement,) = (b for b in panel(app, "disagreements")["blocks"] if b["kind"] == "bar")
        assert sum(part["count"] for part in agreement["parts"]) == 6
        one = next(part for part in agreement["parts"] if part["tone"] == "one")
        address = parse_qs(urlsplit(one["to"]).query)
        queue = visit("disagreements", cell=address["cell"][0]).holds("cases")
        assert queue["total"] == one["count"]
        failed = next(part for part in pairs["parts"] if part["tone"] == "failed")
        assert failed["to"] == "grading?project=test"
        to = urlsplit(systems["rows"][0]["to"])
        assert (to.path, parse_qs(to.query)["followed"]) == ("leaderboard", ["good"])

    def test_panels_count_queries_without_questions_before_grading(self, project: Project) -> None:
        fill(project, [Question("q1/a", "q1", "What is A?")], {}, {"good": {"q1": ["p1"]}})
        judge(project, {("q1", "p1"): 1})
        app = visit("home")
        assert not lines(app, "curate") and numbers(words(app, "curate")[""]) == []
        assert list(words(app, "review")) == ["no-labels"]
        commit(project, add_queries, [Query("q8", "more"), Query("q9", "and more")], replace=False)
        assert numbers(words(visit("home"), "curate")[""]) == [2]

    def test_pending_tasks_are_listed_in_their_panels(self, small: Project) -> None:
        bank.put_draft(small, "ann", replace(QUESTIONS[3], weight=2.0))
        bank.put_draft(small, "bob", replace(QUESTIONS[4], weight=2.0))
        bank.save_version(small, [replace(QUESTIONS[1], active=False), replace(QUESTIONS[0], active=False)], "", "bob")
        bank.save_version(small, [replace(QUESTIONS[2], active=False)], "", "bob")
        app = visit("home")
        curate = lines(app, "curate")
        assert curate["without-questions"]["more"][0]["text"] == "query q1"
        assert curate["unsaved"]["more"][0]["text"] == "query q2"
        assert lines(app, "review")["open"]["count"] == "2"
        assert lines(app, "publish")["labels"]["count"] == "3"
        # Retired questions are not counted.
        assert counted(app)["questions"] == str(len(QUESTIONS) - 3)
        assert numbers(app.note("next question_bank")) == [1]

    def test_grading_is_next_step_and_stale_override_links_to_passage(self, small: Project) -> None:
        add_override(small, "q1/a", "p2", 4, "it names A", "ann")
        bank.save_version(small, [replace(QUESTIONS[0], text="Who is A?")], "reworded", "bob")
        app = visit("home")
        stale = lines(app, "review")["stale"]
        assert stale["more"][0]["text"] == "Who is A?"
        assert "passage=p2" in stale["more"][0]["to"]
        assert numbers(app.note("next grading")) == [4]
        assert app.links() == ["grading"]
        waiting = lines(app, "curate")["ungraded"]
        assert waiting["count"] == "1"
        assert [(one["count"], "query=q1" in one["to"]) for one in waiting["more"]] == [("4", True)]

    def test_shell_and_browser_propose_same_source_names(self, project: Project, tmp_path: Path) -> None:
        board = ("a.b.tsv", "run\tap\nx\t1\n")
        qrels = ("dl.2020.nist.qrels", "q1 0 p1 1\n")
        files = {"queries": ("q.tsv", "q1\tone\n"), "qrels": qrels, "leaderboard": board}
        folder = tmp_path / "shell"
        new_project(path := folder / "p.duckdb").close()
        app = visit("home")
        for what, (name, text) in files.items():
            (folder / name).write_text(text)
            done = CliRunner().invoke(cli, ["import", what, str(folder / name), "--project", str(path)])
            assert done.exit_code == 0, done.output
            app.file_uploader[0].upload(name, text.encode())
        proposed = app.run().boxes()["source name"].text_input[0].value
        app.press("import")
        by_shell = open_project(path)
        assert official_sources(by_shell) == official_sources(project) == [proposed, "a.b"]

    def test_format_of_leaderboard_file_can_be_chosen(self, small: Project) -> None:
        app = visit("home")
        app.file_uploader[0].upload("b.txt", b"one\tAVG\tn1\t.5\none\tAVG\tn2\t.7\n")
        app.run()
        keyed(app.selectbox, "kind")[0].select("leaderboard").run()
        app.check_refused("header-missing", "b.txt")
        keyed(app.selectbox, "board form")[0].select("tot").run()
        app.press("import")
        assert dict(imported_leaderboards(small)) == {"b": "AVG"}

    def test_malformed_file_is_named_with_line_and_can_be_omitted(self, small: Project) -> None:
        app = visit("home")
        app.file_uploader[0].upload("more.run", b"q1 Q0 p1 1 2.0 x\nq1 Q0 p2 2 much x\n")
        app.run()
        app.check_refused("not-a-number", "more.run:2", "much")
        assert not keyed(app.button, "import")
        # The test harness forgets earlier uploads at each run.
        app.file_uploader[0].upload("fine.run", b"q1 Q0 p1 1 2.0 fine\n")
        app.file_uploader[0].upload("more.run", b"q1 Q0 p1 1 2.0 x\nq1 Q0 p2 2 much x\n")
        app.run()
        (marked,) = marks(app)
        assert numbers(marked)[0] == 2
        rows = keyed(app.button, "leave out")
        rows[1].click().run()
        assert any(key.endswith(" left out") and "35" in app.note(key) for key in app.boxes())
        assert not app.error
        app.press("import")
        assert project_counts(small)["runs"] == len(RUNS) + 1
        assert numbers(app.note("imported")) == [1, 1]

    def test_unrecognized_file_shows_content_and_recognized_formats(self, project: Project) -> None:
        app = visit("home")
        app.file_uploader[0].upload("notes.txt", b"These are notes of a meeting\n")
        app.run()
        (marked,) = marks(app)
        assert "These are notes of a meeting" in marked
        assert app.shows("recognised")
        assert not keyed(app.button, "import")


def test_home_and_grading_do_not_offer_to_grade_exam_items(project: Project) -> None:
    put_exam(project)
    app = visit("home")
    assert app.shows("next students") and app.links() == ["students"]
    assert counted(app) == {"queries": "0", "passages": "6", "runs": "0", "judgments": "0", "questions": "0",
                            "grades": "0", "items": "6", "students": "0"}  # fmt: skip
    (curate,) = app.holds("door curate")["panels"]
    assert numbers(curate["blocks"][0]["text"]) == [6]
    assert visit("grading").shows("items-not-graded")


@pytest.fixture
def demo(project: Project) -> Project:
    """A project with only the demo's queries."""
    import_files(project, "queries", [Source.from_path(FILES / "queries.jsonl")], "ann")
    return project


class TestTour:
    def test_demo_shows_greeting_until_tour_is_skipped(self, demo: Project, monkeypatch: pytest.MonkeyPatch) -> None:
        app = visit("home")
        assert all(named(app.button, f"tour step {at}") for at in range(len(tour.STOPS)))
        app.press("skip tour")
        assert named(app.button, "tour again") and not app.shows("greeting")
        monkeypatch.setattr(tour, "_has_cookie", lambda: True)
        assert named(visit("home").button, "tour again"), "a browser that had the tour is only offered to repeat it"

    def test_tour_stops_open_on_their_screens_until_end(self, demo: Project) -> None:
        app = visit("home")
        app.press("tour step 0")
        assert app.session_state["screen"] == SCREENS["question_bank"][0]
        assert app.query_params["query"] == "tacoma-bridge"
        assert app.shows("tour-step", tour.STOPS[0].title)
        # The test harness does not follow the app to another screen.
        app.switch_page("pages/passages.py").run().press("next step")
        app.switch_page("pages/passages.py").run().press("next step")
        assert app.session_state["screen"] == SCREENS["export"][0]
        app.switch_page("pages/export.py").run()
        app.press("end tour")
        assert not app.shows("tour-step")

    def test_reloaded_page_continues_tour(self, demo: Project, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(tour, "_left_at", lambda: 1)
        assert visit("passages").shows("tour-step", tour.STOPS[1].title)
        # Another screen, such as in a second tab, does not show the tour.
        assert not visit("grading").shows("tour-step")

    def test_leaderboard_warns_that_demo_collection_is_made_up(self, demo: Project) -> None:
        fill(demo, [Question("sea-salt/x", "sea-salt", "Why?")], {("Why?", "p1"): 5}, {"a": {"sea-salt": ["p1"]}})
        judge(demo, {("sea-salt", "p1"): 1})
        assert visit("leaderboard").shows("made-collection")

    def test_tour_stops_exist_in_demo(self) -> None:
        bank_file, passages = ((FILES / name).read_text() for name in ("bank.jsonl", "passages.jsonl"))
        for stop in tour.STOPS:
            for name, text in (("query", bank_file), ("question", bank_file), ("passage", passages)):
                assert stop.query.get(name, "") in text
        assert tour.STOPS[0].points_at[1] in bank_file


def test_pool_depth_can_be_increased(project: Project) -> None:
    passages = [f"p{i}" for i in range(30)]
    fill(project, [Question("q1/a", "q1", "A?")], {("A?", "p0"): 5}, {"long": {"q1": passages}})
    app = visit("grading")
    assert app.metric_of("metric needed") == "20"
    app.boxes()["pool depth"].number_input[0].set_value(30)
    app.run()
    app.press("pool again")
    assert app.metric_of("metric needed") == "30"


def test_backups_are_made_and_scheduled_on_home(small: Project) -> None:
    app = visit("home")
    app.session_state["backups"] = True
    app.run()
    assert app.shows("no-backup")
    app.press("make a backup")
    (made,) = find_backups(small.path)
    assert app.shows("backup-made", made.path.name)
    named(app.number_input, "backup hours").set_value(6)
    app.press("set backups")
    assert find_schedule(small) == Schedule(6, 7)


class TestMoving:
    def opened(self, project: Project) -> Screen:
        # Only the app may have the project open.
        project.close()
        app = visit("home")
        app.session_state["rename or remove"] = True
        return app.run()

    def test_project_is_renamed_unless_new_name_is_invalid(self, small: Project, tmp_path: Path) -> None:
        found, app = project_counts(small), self.opened(small)
        named(app.text_input, "new name of the project").set_value("../x")
        app.press("rename project")
        assert app.errors() == ["invalid-name"]
        assert app.run().selectbox("project").value == "test"
        named(app.text_input, "new name of the project").set_value("our track")
        app.press("rename project")
        assert app.selectbox("project").value == "our-track" and not app.shows("another-project")
        assert counted(app)["grades"] == f"{found['grades']:,}"
        assert not (tmp_path / "test.duckdb").exists()

    def test_removed_project_is_restored_by_undo_and_from_list(self, small: Project, tmp_path: Path) -> None:
        found = project_counts(small)
        for restoring in ("undo removal", "restore project"):
            app = self.opened(small)
            app.press("remove project")
            assert not (tmp_path / "test.duckdb").exists() and app.shows("removed", "test")
            app.press(restoring)
            assert app.selectbox("project").value == "test" and not app.shows("removed")
            assert counted(app)["grades"] == f"{found['grades']:,}"
