"""The My work screen: the queue of queries with links, and the audits and jobs above it."""

import os
import subprocess
import sys
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest

from exam_workbench import audit, bank
from exam_workbench.audit import Goal, audits_to_judge
from exam_workbench.grading import Request, run_job
from exam_workbench.labels import Policy
from exam_workbench.records import done_queries, judging, mark_done, set_due
from exam_workbench.review import Judgments, Labels, finished_jobs, list_disagreements
from exam_workbench.store import Project
from exam_workbench.types import Question
from tests.grading.test_grading import HashGrader
from tests.made.audits import fill_audited, judge_batch
from tests.made.screens import APP, Screen, numbers, visit

QUERIES = ["q1", "q2"]


def order(app: Screen) -> list[str]:
    """Return the queries in the order of the screen."""
    return [key.removeprefix("work-") for key in app.boxes() if key.startswith("work-")]


def row_links(app: Screen, query: str) -> list[Any]:
    """Return the links of a query: its title, then its tasks."""
    return [one.proto for one in app.boxes()[f"work-{query}"].get("page_link")]


def place(link: Any) -> dict[str, str]:
    return dict(parse_qsl(link.query_string))


def followed(link: Any, **more: str) -> Screen:
    app = Screen()
    for name, value in (place(link) | more).items():
        app.query_params[name] = value
    return app.switch_page(f"pages/{link.page}.py").run()


def done(app: Screen) -> dict[str, bool]:
    return {str(box.key).removeprefix("done "): box.value for box in app.checkbox}


def ticked(app: Screen, query: str) -> Screen:
    return app.choose(f"done {query}", not app.checkbox(f"done {query}").value)


def progress(app: Screen) -> list[float]:
    (bar,) = app.get("progress")
    return numbers(bar.proto.text)


def test_query_links_show_counts_and_open_only_that_query(shared: Project) -> None:
    app = visit("my_work")
    counts = {}
    for query in QUERIES:
        _, questions, passages, disagreements = row_links(app, query)
        assert [one.page for one in (questions, passages, disagreements)] == [
            "question_bank", "passages", "disagreements",
        ]  # fmt: skip
        assert {place(one)["query"] for one in (questions, passages, disagreements)} == {query}
        counts[query] = [numbers(one.label) for one in (questions, passages, disagreements)]
    waiting = {one: list_disagreements(shared, Labels(Policy()), Judgments(), query_id=one).total for one in QUERIES}
    assert counts == {"q1": [[3], [0, 4], [waiting["q1"]]], "q2": [[2], [0, 3], [waiting["q2"]]]}
    assert sum(waiting.values()) > 0
    _, _, passages, disagreements = row_links(app, "q2")
    listed = followed(passages, part="Ratings").holds("passage-list")
    assert [row["at"] for row in listed["rows"]] == [["q2", "p5"], ["q2", "p6"], ["q2", "p7"]]
    cases = followed(disagreements).holds("cases")
    assert cases["total"] == int(numbers(disagreements.label)[0])


def test_title_opens_the_next_task_and_judging_updates_counts(small: Project) -> None:
    def title() -> tuple[str, str]:
        link = row_links(visit("my_work"), "q2")[0]
        return link.page, place(link)["query"]

    assert title() == ("passages", "q2")
    bank.put_draft(small, "ann", Question("q2/d", "q2", "Who is D?"))
    assert title() == ("question_bank", "q2")
    judging.judge_passage(small, "q1", "p2", 1, "ann")
    assert numbers(row_links(visit("my_work"), "q1")[2].label) == [1, 4]


def test_done_query_keeps_its_place_until_the_next_visit(small: Project) -> None:
    app = visit("my_work")
    mark_done(small, "q2", True, "ann")
    assert done(app.run()) == {"q1": False, "q2": True}
    assert done(ticked(app, "q2")) == {"q1": False, "q2": False}
    assert order(app) == QUERIES and done(app) == {"q1": False, "q2": False}
    app = ticked(app, "q1")
    assert order(app) == QUERIES and progress(app) == [1, 2]
    assert list(done_queries(small)["ann"]) == ["q1"]
    # The second click of a double click affects the same query.
    app = ticked(app, "q1")
    assert order(app) == QUERIES and not done_queries(small)
    ticked(app, "q1")
    app.switch_page("pages/grading.py").run()
    assert order(app.switch_page("pages/my_work.py").run()) == ["q2", "q1"]


def test_pool_counts_and_due_dates_are_shown(small: Project) -> None:
    app = visit("my_work")
    assert numbers(app.note("pool-counted")) == [20, 4] and progress(app) == [0, 2]
    set_due(small, ["q1"], date.today() - timedelta(days=2), "olga")
    set_due(small, ["q2"], soon := date.today() + timedelta(days=2), "olga")
    app = visit("my_work")
    assert progress(app) == [0, 2, 1, soon.day, soon.year]
    assert progress(ticked(app, "q1")) == [1, 2, soon.day, soon.year]


def news(app: Screen) -> list[str]:
    """Return the URLs of the audits and jobs above the queue."""
    (panel,) = app.holds("my-news")["panels"]
    return [line["to"] for block in panel["blocks"] for line in block["lines"]]


def test_audit_with_passages_to_judge_is_listed_on_top(project: Project) -> None:
    fill_audited(project)
    assert not [one for one in visit("my_work").get("bidi_component") if one.proto.id.endswith("my-news")]
    audit.design_audit(project, "first", "P@3", Goal("best"), batch_size=12, seed=3, author="org")
    found = audit.find_audit(project)
    assert audits_to_judge(project, "ann") == {}
    drawn = audit.draw_batch(project, found, "org", doubled=0.5)
    assert audits_to_judge(project, "ann") == {"first": drawn.drawn}
    (address,) = news(visit("my_work"))
    assert address.startswith("audit?") and "view=Judge" in address
    # Second judgments are reserved for another person.
    judge_batch(project, found, "ann")
    left = audits_to_judge(project, "ben")
    assert audits_to_judge(project, "ann") == {} and 0 < left["first"] <= drawn.drawn


def test_finished_jobs_are_listed_for_a_day(project: Project) -> None:
    fill_audited(project)
    bank.save_version(project, [Question("q1/b", "q1", "And what of it?")], "", "bob")
    run_job(project, HashGrader(), Request(), "bob")
    (job,) = [one for one in finished_jobs(project, "ann") if one.done]
    assert job.state == "done" and job.kind == "grading"
    later = datetime.now() + timedelta(hours=25)
    assert finished_jobs(project, "bob", later) == []
    assert [one.partition("?")[0] for one in news(visit("my_work"))] == ["changes"]


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Tokyo"])
def test_age_of_action_is_independent_of_time_zone(tmp_path: Path, zone: str) -> None:
    script = (
        "import sys; from pathlib import Path; from exam_workbench.records import list_actions, set_guidelines;"
        " from exam_workbench.store import create_project;"
        " from pages.parts.home.panels import ago; project = create_project(Path(sys.argv[1]));"
        " set_guidelines(project, 'Read all.', 'ann'); print(ago(list_actions(project).acts[0].happened_at))"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "a.duckdb")]
    environment = os.environ | {"TZ": zone, "PYTHONPATH": str(APP.parent)}
    done = subprocess.run(command, env=environment, cwd=APP.parent, capture_output=True, text=True, check=True)
    # The action is recent, so its age has no number.
    assert done.stdout.strip() and not numbers(done.stdout)
