"""The Home screen: making and choosing projects, importing with a preview, what to do next."""

from __future__ import annotations

from pathlib import Path

import pytest
import streamlit as st
from click.testing import CliRunner

from core.bank import counts
from core.cli import cli
from core.project import Project, official_sources, open_project
from core.types import Question
from tests.made.projects import fill, new_project
from tests.made.screens import (
    RUNS,
    as_text,
    links,
    metric,
    named,
    press,
    said,
    served,
    small,
    sound,
    visit,
)

__all__ = ["served", "small"]


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


def test_the_pool_can_be_made_deeper(project: Project) -> None:
    passages = [f"p{i}" for i in range(30)]
    fill(project, [Question("q1/a", "q1", "A?")], {("A?", "p0"): 5}, {"long": {"q1": passages}})
    app = visit("grading")
    assert metric(app, "Pairs needed") == "20"
    named(app.number_input, "Passages of each run that are pooled per query").set_value(30)
    sound(app.run())
    press(app, "Pool again")
    assert metric(app, "Pairs needed") == "30"
