"""Two freezes of a live target on the Changes screen: what came and went, the measure, and a query's passages."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from streamlit.testing.v1 import AppTest

from exam_workbench.records import add_passages, add_queries, begin_freeze, end_freeze
from exam_workbench.store import Project
from exam_workbench.types import Passage, Query
from tests.answers.made import put_run
from tests.made.projects import judge
from tests.made.screens import looking_at, metric, named, served, shared, shows, visit

OLD_NAME = "Two freezes of a target"
"""What the address called this view once."""

__all__ = ["served", "shared"]


def put(project: Project) -> None:
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
        with project.transaction() as cursor:
            end_freeze(cursor, key, None, 3, failed)


def html(app: AppTest) -> str:
    return "".join(str(element.proto.body) for element in app.get("html"))


@pytest.fixture(scope="module")
def looked_at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    with looking_at(tmp_path_factory.mktemp("frozen"), put) as project:
        yield project


def test_two_freezes_are_chosen_and_lead_down_to_passages(shared: Project) -> None:
    app = visit("changes", compared=OLD_NAME)
    chosen = [named(app.selectbox, key).value for key in ("freeze-from", "freeze-to", "freeze-by")]
    assert chosen == ["monday", "tuesday", "NIST: nDCG@10"]
    numbers = {metric.label: metric.value for metric in app.metric}
    assert metric(app, "metric differing") == "2 of 3" and metric(app, "metric gone-new") == "1 / 1"
    assert numbers["nDCG@10"] == "0.877 → 0.667"
    assert shows(app, "about-freezes stays")
    assert shows(app, "about-freezes", "tuesday", 1)
    (table,) = app.dataframe
    # The query that lost comes first and is open.
    assert table.value["Query"].tolist() == ["words of q1", "words of q3"]
    assert named(app.selectbox, "freeze-query").value == "q1"
    shown = html(app)
    assert shown.count('class="differs"') == 4 and "<del>" in shown and "&lt;b&gt;here" in shown
    other = html(visit("changes", freeze_to="tuesday", freeze_query="q3"))
    assert re.findall(r'class="differs">\D+(\d)\D*</span>', other) == ["2", "1", "2", "1"]
    same = visit("changes", freeze_from="tuesday", freeze_to="tuesday")
    assert shows(same, "same-freezes")


def test_without_freezes_nothing_is_said_of_them(project: Project) -> None:
    put(project)
    with project.transaction() as cursor:
        cursor.execute("DELETE FROM freezes WHERE name = 'monday'")
    assert shows(visit("changes", freeze_to="tuesday"), "nothing-graded")
