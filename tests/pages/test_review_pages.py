"""The review screens: changes between states, target freezes, export, and activity."""

import re
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas

from exam_workbench import bank, labels
from exam_workbench.exchange import list_publications
from exam_workbench.records import add_passages, add_queries, begin_freeze, end_freeze, list_actions
from exam_workbench.store import Project, open_project
from exam_workbench.types import Passage, Query, Question
from tests.answers.made import put_run
from tests.made.projects import SPEC, commit, fill, filled_project, grade, judge, new_project
from tests.made.screens import Screen, named, numbers, shown_project, visit

MARKUP = "<b>x</b> **y** :red[q] `c` $z$"

BANK = [
    Question("q1/a", "q1", "What is A?"),
    Question("q1/b", "q1", "What is B?"),
    Question("q2/c", "q2", "What is C?"),
]
GRADES = {
    ("What is A?", "p1"): 5,
    ("What is A?", "p2"): 1,
    ("What is B?", "p1"): 2,
    ("What is B?", "p2"): 4,
    ("What is C?", "p3"): 3,
}
RUNS = {"x": {"q1": ["p1", "p2"], "q2": ["p3"]}, "y": {"q1": ["p2", "p1"]}, "z": {"q2": ["p3"]}}


def put_one_version(project: Project) -> None:
    fill(project, BANK, GRADES, RUNS)
    judge(project, {("q1", "p1"): 1, ("q1", "p2"): 0, ("q2", "p3"): 1})


def put_two_versions(project: Project) -> None:
    """Add a second bank version: one question reworded, one retired."""
    put_one_version(project)
    bank.save_version(
        project, [replace(BANK[0], text=MARKUP), replace(BANK[2], active=False)], "after the meeting", "bob"
    )


small = filled_project(put_one_version)
edited = filled_project(put_two_versions)


looked_at = shown_project(put_two_versions)


def linked(app: Screen) -> list[tuple[str, str]]:
    return [(link.page, link.query_string) for link in app.page_links()]


def flips(app: Screen) -> Any:
    """Return the table of differing labels."""
    return app.dataframe[0].value


def sides(app: Screen) -> list[tuple[str, str]]:
    """Return each differing label before and after."""
    return list(zip(flips(app)["Before"], flips(app)["After"], strict=True))


def offered(app: Screen, key: str) -> list[str]:
    """Return the options of a filter, without the number of labels."""
    return [option.rpartition(" ")[0] for option in app.selectbox(key).options if option != "All"]


def listed(app: Screen) -> str:
    """Return the text about the latest publication."""
    return app.note(next(key for key in app.boxes() if key.startswith("publication ")))


class TestChanges:
    def test_newest_versions_are_compared_and_labels_are_explained(self, shared: Project) -> None:
        app = visit("changes")
        assert app.metric_of("metric differing") == "2"
        assert offered(app, "cause") == ["Question reworded", "Question retired"]
        assert sides(app) == [("5", "≥2"), ("3", "–")]
        named = app.holds("place")["values"]
        assert (named["from-version"], named["to-version"]) == ("1", "2")
        app = app.select("flips", rows=[0])
        why = app.dataframe[1].value
        assert why["Cause"][0] and why["Before"][0] == 5 and pandas.isna(why["After"][0])
        assert app.query_params["why"] in ("q1 p1", ["q1 p1"])
        (place,) = [query for page, query in linked(app) if page == "passages"]
        assert "query=q1&passage=p1" in place
        assert len(app.select("flips").dataframe) == 1
        assert len(visit("changes", why="q1 p1").dataframe) == 2

    def test_partial_labels_are_counted_and_marked(self, shared: Project) -> None:
        app = visit("changes")
        assert numbers(app.note("partial-labels")) == [2]
        assert "grading" in [page for page, _ in linked(app)]
        assert sides(app) == [("5", "≥2"), ("3", "–")]
        app = visit("changes", from_version="1", to_version="1", to_tau="3")
        assert not app.shows("partial-labels")
        assert "no-flips" in app.boxes()
        assert [numbers(app.note(f"state {side}"))[-1] for side in ("from", "to")] == [4, 3], "the min ratings"
        app = visit("changes", from_version="77", from_grader="nobody", to_tau="9", cause="Magic")
        assert app.metric_of("metric differing") == "2", "unknown values in the URL fall back to the defaults"

    def test_gaps_of_an_older_version_do_not_link_to_grading(self, small: Project) -> None:
        first = bank.list_questions(small)[0]
        bank.save_version(small, [replace(first, text="What is new of A?")], "reworded", "ann")
        bank.save_version(small, [first], "as it was", "ann")
        app = visit("changes", from_version="2", to_version="3")
        assert numbers(app.note("partial-labels")) == [2]
        assert numbers(app.note("grade-older-version")) == [2] and "grading" not in [page for page, _ in linked(app)]

    def test_url_names_both_states(self, edited: Project) -> None:
        labels.add_override(edited, "q1/b", "p2", 0, "says nothing", "ann")
        app = visit("changes", from_version="2", to_version="2", from_overrides="no")
        assert app.metric_of("metric differing") == "1"
        assert list(flips(app)["Questions"]) == ["What is B?"]
        assert offered(app, "cause") == ["Override"]
        assert app.query_params["from-overrides"] == "no"
        assert app.holds("place")["values"]["to-overrides"] == "yes"
        app.query_params["from-overrides"] = "yes"
        assert app.run().shows("same-states")

    def test_states_are_changed_in_place(self, shared: Project) -> None:
        app = visit("changes")
        app.selectbox("from-version").set_value(2)
        app = app.choose("from-tau", 2)
        assert app.query_params["from-version"] == "2"
        assert app.query_params["from-tau"] == "2"
        assert app.metric_of("metric differing") == "0"
        assert numbers(app.note("state from"))[-1] == 2
        # A narrow window hides the choices until they are opened. They keep their values.
        for opened in (True, False):
            app.session_state["from-state"] = opened
            app = app.run()
            assert app.selectbox("from-tau").value == 2

    def test_comparison_is_kept_when_returning_from_a_passage(self, shared: Project) -> None:
        app = visit("changes")
        app.selectbox("from-version").set_value(2)
        app.selectbox("to-tau").set_value(2)
        before = app.choose("differs", "Leaderboard").query_params.copy()
        app.switch_page("pages/passages.py").run()
        app.query_params.clear()
        # The browser records the screen with these parameters when a link leads away from it.
        app.query_params.update(query="q1", passage="p1")
        app.switch_page("pages/changes.py").run()
        assert (app.selectbox("from-version").value, app.selectbox("to-tau").value) == (2, 2)
        assert app.segmented_control("differs").value == "Leaderboard"
        written = app.holds("place")["values"]
        assert {name: written[name] for name in ("from-version", "to-tau", "differs")} == {
            "from-version": "2", "to-tau": "2", "differs": "Leaderboard",
        }  # fmt: skip
        assert (written["query"], written["passage"]) == ("", "") and before["differs"] in (
            "Leaderboard",
            ["Leaderboard"],
        )
        # Opening the screen by a link or the menu compares the newest versions.
        app.switch_page("pages/passages.py").run()
        app.query_params.clear()
        assert app.switch_page("pages/changes.py").run().selectbox("from-version").value == 1

    def test_labels_are_filtered_by_cause_and_query(self, shared: Project) -> None:
        app = visit("changes").choose("cause", "retired")
        assert app.shows("flips-count", 1) and sides(app) == [("3", "–")]
        app = visit("changes", cause="retired")
        assert app.shows("flips-count", 1)
        # The URL still names the compared states when it gets the row.
        app = app.select("flips", rows=[0])
        assert [app.query_params[f"{side}-version"] for side in ("from", "to")] == ["1", "2"]
        assert app.choose("flips_of", "q1").shows("flips-count", 0)
        assert app.choose("cause", "").shows("flips-count", 1)

    def test_labels_are_paged(self, project: Project) -> None:
        found = {f"q{at}": [f"q{at}p{i}" for i in range(20)] for at in range(3)}
        asked = [Question(f"{query}/a", query, f"{query}?") for query in found]
        fill(project, asked, {(f"{query}?", p): 5 for query in found for p in found[query]}, {"r": found})
        app = visit("changes", from_version="0", to_version="1")
        assert len(flips(app)) == 50
        app.session_state["flips page  "] = 2
        assert len(flips(app.run())) == 10
        filtered = flips(app.choose("cause", "added"))
        assert len(filtered) == 50, "a filter leads to the first page"

    def test_changes_of_questions_are_escaped_and_every_run_is_listed(self, shared: Project) -> None:
        app = visit("changes", differs="Questions")
        assert "<del>What is A?</del>" in app.markup()
        assert "&lt;" in app.markup()
        assert "<b>x</b>" not in app.markup()
        assert 1 in numbers(app.note("moves"))
        table = visit("changes", differs="Leaderboard").dataframe[0].value.set_index("Run")
        assert set(table.index) == set(RUNS)
        assert table.loc["z", "Rank change"] in ("", "▲ 1", "▼ 1", "▲ 2", "▼ 2")

    def test_states_without_differences_are_reported(self, small: Project) -> None:
        app = visit("changes")
        assert app.shows("same-states")
        assert not app.error
        app = visit("changes", from_version="0", to_version="1")
        assert app.metric_of("metric differing") == "3"
        assert app.shows("about-change")
        bank.save_version(small, [Question("q1/new", "q1", "What is new?")], "one more", "ann")
        app = visit("changes")
        assert "no-flips-so-far" in app.boxes()


class TestExport:
    def test_incomplete_export_reports_gaps_and_links_to_grading(self, shared: Project) -> None:
        app = visit("export")
        assert (app.metric_of("metric graded"), app.metric_of("metric partial")) == ("50%", "2")
        assert not app.note("complete")
        assert "grading" in [page for page, _ in linked(app)]
        assert "download test.qrels" in app.downloads()

    def test_complete_export_offers_all_files_and_formats(self, small: Project) -> None:
        app = visit("export")
        assert numbers(app.note("complete"))[0] == 5
        assert not app.warning
        assert visit("home").downloads() == ["download qrels"]
        for key, form in (("bank form", "v3"), ("leaderboard form", "tot")):
            named(app.selectbox, key).select(form).run()
        assert {"download test-bank-v3.jsonl", "download test-leaderboard-tot.txt"} <= set(app.downloads())
        labels.add_override(small, "q1/b", "p2", 0, "says nothing", "ann")
        offered = visit("export").downloads()
        endings = [key.rsplit(".", 1)[-1] for key in offered]
        assert endings.count("zip") == 1
        assert {"jsonl", "csv", "gz", "tsv", "tex", "html"} <= set(endings)

    def test_failed_pairs_and_stale_overrides_are_linked(self, small: Project) -> None:
        labels.add_override(small, "q1/a", "p2", 4, "it names A", "ann")
        bank.save_version(small, [replace(BANK[0], text="Who is A?")], "a person", "bob")
        grade(small, {("Who is A?", "p1"): None, ("Who is A?", "p2"): 1}, SPEC)
        app = visit("export")
        assert any("overridden=true" in query for _, query in linked(app)) and "grading" in dict(linked(app))

    def test_publications_record_author_and_note_and_list_files(self, small: Project) -> None:
        app = visit("export")
        named(app.text_input, "publication note").set_value(f"first {MARKUP}")
        app.press("publish")
        ((manifest),) = list_publications(small)
        assert (manifest["published_by"], manifest["note"]) == ("ann", f"first {MARKUP}")
        assert numbers(listed(app))[:2] == [3, 1]
        assert "**y**" not in app.said()
        assert {f"{what} of {manifest['publication']}" for what in ("qrels", "manifest")} <= set(app.downloads())
        assert named(app.text_input, "publication note").value == ""
        named(app.text_input, "publication note").input("for participants")
        app.press("publish bundle")
        manifest = next(one for one in list_publications(small) if one["note"] == "for participants")
        assert f"bundle of {manifest['publication']}" in app.downloads()
        shown = app.plain_texts()
        assert re.search(r"Bundle: README.txt \([\d.]+ K?B\), .*test\.qrels \(\d+ B\)", shown)


class TestActivity:
    def test_actions_are_escaped_newest_first_and_linked(self, edited: Project) -> None:
        labels.add_override(edited, "q1/b", "p2", 0, MARKUP, "cora")
        app = visit("activity")
        shown = app.markup()
        assert shown.index("cora") < shown.index("bob")
        assert "&lt;b&gt;x&lt;/b&gt;" in shown
        assert re.search(r"\b2\b\D*\bafter the meeting\b", shown)
        found = linked(app)
        assert found[0][0] == "passages"
        assert "query=q1" in found[0][1]
        assert found[1][0] == "changes"
        assert "from-version=1&to-version=2" in found[1][1]

    def test_actions_are_filtered_and_filters_cleared(self, shared: Project) -> None:
        app = visit("activity", who="bob")
        assert numbers(app.note("acts-found")) == [1]
        app.press("clear filters")
        assert numbers(app.note("acts-found")) == [2]
        app.choose("find", "nothing like this")
        assert app.shows("no-act-fits")


OLD_NAME = "Two freezes of a target"
"""Former name of this view in URLs."""


def put_freezes(project: Project) -> None:
    with project.transaction() as cursor:
        add_queries(cursor, [Query(name, f"words of {name}") for name in ("q1", "q2", "q3")], replace=False)
        texts = {
            "p1": "An old text of one.",
            "p1~0123456789ab": "A new text of one.",
            "p2": "Two <b>here</b>.",
            "p3": "3",
        }
        add_passages(cursor, [Passage(name, text) for name, text in texts.items()])
    judge(project, {("q1", "p1"): 1, ("q2", "p2"): 1, ("q3", "p2"): 1}, "NIST")
    put_run(project, "monday", {"q1": ["p1", "p2"], "q2": ["p2"], "q3": ["p3", "p2"]})
    put_run(project, "tuesday", {"q1": ["p2", "p1~0123456789ab"], "q2": ["p2"], "q3": ["p2", "p3"]})
    for name, failed in (("monday", 0), ("tuesday", 1)):
        key = begin_freeze(project, name, "http://search/", "the same", "ann")
        commit(project, end_freeze, key, None, 3, failed)


def test_freezes_are_compared_down_to_passages(project: Project) -> None:
    put_freezes(project)
    app = visit("changes", compared=OLD_NAME)
    chosen = [named(app.selectbox, key).value for key in ("freeze-from", "freeze-to", "freeze-by")]
    assert chosen == ["monday", "tuesday", "NIST: nDCG@10"]
    numbers = {metric.label: metric.value for metric in app.metric}
    assert app.metric_of("metric differing") == "2 of 3" and app.metric_of("metric gone-new") == "1 / 1"
    assert numbers["nDCG@10"] == "0.877 → 0.667"
    assert app.shows("about-freezes stays")
    assert app.shows("about-freezes", "tuesday", 1)
    (table,) = app.dataframe
    # The query with the loss comes first and is open.
    assert table.value["Query"].tolist() == ["words of q1", "words of q3"]
    assert named(app.selectbox, "freeze-query").value == "q1"
    shown = app.markup()
    assert shown.count('class="differs"') == 4 and "<del>" in shown and "&lt;b&gt;here" in shown
    other = visit("changes", freeze_to="tuesday", freeze_query="q3").markup()
    assert re.findall(r'class="differs">\D+(\d)\D*</span>', other) == ["2", "1", "2", "1"]
    same = visit("changes", freeze_from="tuesday", freeze_to="tuesday")
    assert same.shows("same-freezes")
    commit(project, "DELETE FROM freezes WHERE name = 'monday'")
    assert visit("changes", freeze_to="tuesday").shows("nothing-graded"), "a single freeze is not compared"


def judgments(path: Path) -> list[tuple[str, int]]:
    with closing(open_project(path)) as project:
        return project.rows(
            "SELECT passage_id, value FROM judgments JOIN passages USING (passage_key) ORDER BY passage_id"
        )


def test_replacing_import_needs_confirmation_and_can_be_undone(tmp_path: Path) -> None:
    path = tmp_path / "p.duckdb"
    project = new_project(path)
    fill(project, [], {}, {"sys": {"q1": ["p1", "p2"]}})
    judge(project, {("q1", "p1"): 2, ("q1", "p2"): 1}, "nist")
    project.close()

    app = visit("home")
    app.file_uploader[0].upload("nist.qrels", b"q1 0 p1 0\n")
    app = app.run()
    assert numbers(app.note("replaced")) == [2, 1] and app.shows("replaced", "nist")
    assert named(app.button, "import").disabled
    app = named(app.checkbox, "replace").check().run()
    app.press("import")
    assert judgments(path) == [("p1", 0)]

    app = visit("activity")
    app.press("bring back")
    assert judgments(path) == [("p1", 2), ("p2", 1)]
    project = open_project(path)
    newest, replacing = list_actions(project).acts[:2]
    assert newest.act == "bring back" and numbers(newest.said)[0] == 2 and "nist" in newest.said
    assert replacing.brought_back and not newest.brought_back
    project.close()
    # An undone action has no button. The undo itself can be undone.
    assert [button.key for button in app.button if button.key and button.key.startswith("bring back")] == [
        f"bring back {newest.key}"
    ]
    assert numbers(app.note(f"said act {replacing.key}"))[-1] == replacing.key
    app.button(f"bring back {newest.key}").click().run()
    assert judgments(path) == [("p1", 0)]
    assert f"bring back {replacing.key}" in [button.key for button in app.button]
