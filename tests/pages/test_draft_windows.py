"""Two windows of one person, and two people at one bank: nobody's edits go without being seen."""

from __future__ import annotations

from dataclasses import replace

import pytest

from exam_workbench import bank
from exam_workbench.bank import summary_of_changes
from exam_workbench.store import Project
from exam_workbench.types import Question
from tests.made.projects import fill

A = Question("q1/a", "q1", "What is A?", answer_key="a")
B = Question("q1/b", "q1", "What is B?")
C = Question("q2/c", "q2", "What is C?")


@pytest.fixture
def banked(project: Project) -> Project:
    """A project with three questions of two queries."""
    fill(project, [A, B, C], {}, {"one": {"q1": ["p1", "p2"], "q2": ["p3"]}})
    return project


def text(project: Project) -> str | None:
    return bank.list_drafts(project, "ann")["q1/a"].question.text


def test_typing_over_what_another_window_wrote_is_refused_and_loses_neither(banked: Project):
    bank.change_draft(banked, "ann", A, "text", "From the first window?", over=A.text)
    with pytest.raises(bank.CrossedEdit) as crossed:
        bank.change_draft(banked, "ann", A, "text", "From the second window?", over=A.text)
    assert (crossed.value.stored, crossed.value.given) == ("From the first window?", "From the second window?")
    assert (text(banked), bank.count_steps(banked, "ann")) == ("From the first window?", (1, 0))
    bank.change_draft(banked, "ann", A, "text", "From the second window?", over="From the first window?")
    assert text(banked) == "From the second window?"
    bank.undo_step(banked, "ann")
    assert text(banked) == "From the first window?"


def test_the_same_words_from_two_windows_do_not_cross(banked: Project):
    for _ in range(2):
        bank.change_draft(banked, "ann", A, "text", "The same?", over=A.text)
    assert text(banked) == "The same?"


def test_every_act_of_another_window_moves_the_mark(banked: Project):
    marks = [bank.draft_mark(banked, "ann")]

    def moved() -> bool:
        marks.append(bank.draft_mark(banked, "ann"))
        return marks[-1] not in marks[:-1]

    bank.put_draft(banked, "ann", replace(A, text="One?"))
    assert moved()
    bank.put_draft(banked, "ann", replace(A, text="Two?"))
    assert moved()
    bank.undo_step(banked, "ann")
    assert moved()
    bank.put_draft(banked, "ann", replace(A, text="Three?"))
    assert moved()
    bank.undo_step(banked, "ann")
    bank.redo_step(banked, "ann")
    assert moved()
    bank.take_back(banked, "ann")
    assert moved()
    assert bank.draft_mark(banked, "ann") == bank.draft_mark(banked, "ann")


def test_what_others_draft_moves_no_mark_of_mine_and_is_counted_by_name(banked: Project):
    mine = bank.draft_mark(banked, "ann")
    bank.put_drafts(banked, "bob", [replace(A, weight=2.0), replace(C, weight=2.0)])
    bank.put_draft(banked, "eve", replace(C, active=False))
    bank.put_draft(banked, "ann", B)
    assert bank.draft_mark(banked, "ann") == mine
    assert bank.count_others_drafts(banked, "ann") == {"bob": 2, "eve": 1}
    assert bank.count_others_drafts(banked, "ann", "q1") == {"bob": 1}
    assert bank.count_others_drafts(banked, "bob") == {"eve": 1}


def test_discarding_takes_nobody_elses_drafts(banked: Project):
    bank.put_draft(banked, "ann", replace(A, weight=2.0))
    bank.put_draft(banked, "bob", replace(A, weight=3.0))
    bank.take_back(banked, "ann")
    assert bank.count_others_drafts(banked, "ann") == {"bob": 1}
    assert bank.count_others_drafts(banked, "bob") == {}


def test_a_note_counts_every_question_once_and_names_the_query(banked: Project):
    a, b, c = bank.list_questions(banked)
    new = Question("q1/n", "q1", "New?")
    assert summary_of_changes(banked, []) == ""
    both = [(a, replace(a, text="X?", active=False)), (b, replace(b, text="Y?"))]
    assert summary_of_changes(banked, [*both, (None, new)]) == "2 reworded, 1 added in query q1"
    assert summary_of_changes(banked, [(a, replace(a, active=False)), (c, replace(c, note="why"))]) == (
        "1 retired, 1 changed in detail in 2 queries"
    )


def test_a_long_query_is_shortened_in_a_note(banked: Project):
    with banked.transaction() as cursor:
        cursor.execute("UPDATE queries SET text = repeat('word ', 40) WHERE query_id = 'q1'")
    said = summary_of_changes(banked, [(A, replace(A, weight=2.0))])
    assert said.endswith(" word…") and len(said) < 90
