"""On the screens: what an import replaces is shown and ticked, and Activity brings it back."""

from __future__ import annotations

from pathlib import Path

from exam_workbench.records import list_actions
from exam_workbench.store import open_project
from tests.made.projects import fill, judge, new_project
from tests.made.screens import named, note, numbers, press, served, shows, sound, visit

__all__ = ["served"]


def judgments(path: Path) -> list[tuple[str, int]]:
    project = open_project(path)
    try:
        return project.rows(
            "SELECT passage_id, value FROM judgments JOIN passages USING (passage_key) ORDER BY passage_id"
        )
    finally:
        project.close()


def test_what_an_import_replaces_needs_a_tick_and_activity_brings_it_back(tmp_path: Path) -> None:
    path = tmp_path / "p.duckdb"
    project = new_project(path)
    fill(project, [], {}, {"sys": {"q1": ["p1", "p2"]}})
    judge(project, {("q1", "p1"): 2, ("q1", "p2"): 1}, "nist")
    project.close()

    app = visit("home")
    app.file_uploader[0].upload("nist.qrels", b"q1 0 p1 0\n")
    app = sound(app.run())
    assert numbers(note(app, "replaced")) == [2, 1] and shows(app, "replaced", "nist")
    assert named(app.button, "import").disabled
    app = sound(named(app.checkbox, "replace").check().run())
    press(app, "import")
    assert judgments(path) == [("p1", 0)]

    app = visit("activity")
    press(app, "bring back")
    assert judgments(path) == [("p1", 2), ("p2", 1)]
    project = open_project(path)
    newest, replacing = list_actions(project).acts[:2]
    assert newest.act == "bring back" and numbers(newest.said)[0] == 2 and "nist" in newest.said
    assert replacing.brought_back and not newest.brought_back
    project.close()
    # What was brought back has no button any more; that act itself can be taken back.
    assert [button.key for button in app.button if button.key and button.key.startswith("bring back")] == [
        f"bring back {newest.key}"
    ]
    assert numbers(note(app, f"said act {replacing.key}"))[-1] == replacing.key
    sound(app.button(f"bring back {newest.key}").click().run())
    assert judgments(path) == [("p1", 0)]
    assert f"bring back {replacing.key}" in [button.key for button in app.button]
