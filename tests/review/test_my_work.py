"""An assessor's work: queries, progress, next steps, guidelines and presence of others."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from exam_workbench.bank import Generation, add_generations, put_draft, reject_proposals, save_drafts
from exam_workbench.errors import NotAllowed
from exam_workbench.records import done_queries, find_guidelines, judging, mark_done, set_guidelines, set_member
from exam_workbench.records._teamwork import Guidelines
from exam_workbench.review import Presence, assessor_shares, my_work
from exam_workbench.store import Project
from exam_workbench.types import Question
from tests.made.projects import fill, filled_project
from tests.made.refusals import refusal

BANK = [Question("q1/a", "q1", "What is A?"), Question("q2/b", "q2", "What is B?")]
RUNS = {"one": {"q1": ["p1", "p2"], "q2": ["p3"]}}


def make(project: Project) -> None:
    fill(project, BANK, {}, RUNS)
    set_member(project, "lea@x.org", "assessor", "shell", queries=["q1"])
    set_member(project, "tom@x.org", "assessor", "shell")


project = filled_project(make)


def next_of(project: Project, name: str = "lea") -> list[str]:
    return [one.next_step.screen for one in my_work(project, name, ("q1",), None)]


def counted(project: Project, name: str = "lea") -> list[str]:
    """Return the number in each next step."""
    return [re.sub(r"\D", "", one.next_step.said) for one in my_work(project, name, ("q1",), None)]


def test_next_step_follows_pending_work(project: Project) -> None:
    assert next_of(project) == ["passages"]
    put_draft(project, "lea", replace(BANK[0], text="Who is A?"))
    assert (next_of(project), counted(project)) == (["question_bank"], ["1"])
    save_drafts(project, "lea")
    made = Generation("question", "q1", "m", "p", "h", ("Why A?",), "raw")
    (key,) = project.write(lambda cursor: add_generations(cursor, [made], "olga"))
    assert (next_of(project), counted(project)) == (["question_bank"], ["1"])
    reject_proposals(project, [key], "lea")
    for passage in ("p1", "p2"):
        judging.judge_passage(project, "q1", passage, 1, "lea")
    assert (next_of(project), counted(project)) == (["question_bank"], [""])
    (one,) = my_work(project, "lea", ("q1",), None)
    assert (one.judged, one.pooled, one.questions, one.done) == (2, 2, 1, False)


def test_queries_are_done_per_assessor_with_done_ones_last(project: Project) -> None:
    mark_done(project, "q1", True, "tom")
    assert [(one.query_id, one.done) for one in my_work(project, "tom", None, None)] == [("q2", False), ("q1", True)]
    judging.judge_passage(project, "q1", "p1", 1, "tom")
    mark_done(project, "q1", True, "lea")
    mark_done(project, "q1", False, "lea")
    assert list(done_queries(project)) == ["tom"]
    assert [(one.member.name, one.done, one.queries, one.judged) for one in assessor_shares(project)] == [
        ("lea", 0, 1, 0),
        ("tom", 1, 2, 1),
    ]
    # Only own queries can be marked done.
    lea = project.acting_as("lea@x.org")
    mark_done(lea, "q1", True, "lea")
    with refusal("query-not-assigned", "q2", "lea", kind=NotAllowed):
        mark_done(lea, "q2", True, "lea")
    with refusal("unknown-query", "q9"):
        mark_done(project, "q9", True, "lea")


def test_project_and_query_guidelines_are_set_and_removed(project: Project) -> None:
    set_guidelines(project, "All of it.", "olga")
    set_guidelines(project, " First.\nThen. ", "olga", "q1")
    assert find_guidelines(project, "q1") == Guidelines("All of it.", "First.\nThen.")
    assert find_guidelines(project, "q2") == find_guidelines(project) == Guidelines("All of it.")
    set_guidelines(project, "", "olga")
    assert find_guidelines(project, "q1") == Guidelines("", "First.\nThen.")
    for text, query, reason in (
        ("x" * 20_001, None, ("guidelines-too-long", "20,001")),
        ("x", "q9", ("unknown-query", "q9")),
    ):
        with refusal(*reason):
            set_guidelines(project, text, "olga", query)


def test_presence_ends_on_leaving_or_inactivity() -> None:
    seen, here = Presence(), Path("a.duckdb")
    assert seen.record_visit(here, "q1", "ann", 0) == []
    assert seen.record_visit(here, "q1", "bob", 10) == ["ann"]
    assert seen.record_visit(here, "q1", "ann", 11) == ["bob"]
    assert seen.record_visit(Path("b.duckdb"), "q1", "cora", 12) == []
    seen.record_visit(here, "q2", "bob", 20)
    assert seen.record_visit(here, "q1", "dan", 21) == ["ann"]
    assert seen.record_visit(here, "q1", "dan", 70) == []
