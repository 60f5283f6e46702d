"""Assessors first: suggestions for a query stay hidden until the assessor adds a question."""

from __future__ import annotations

from dataclasses import replace

from exam_workbench import bank
from exam_workbench.store import Project
from exam_workbench.types import Question
from tests.made.projects import fill
from tests.made.screens import served, visit
from tests.made.shell import ShellOn, printed

__all__ = ["served"]


def put(project: Project) -> None:
    fill(project, [Question(f"{query}/a", query, f"What of {query}?") for query in ("q1", "q2")], {}, {})


def test_suggestions_wait_for_own_question(project: Project) -> None:
    put(project)
    assert bank.queries_awaiting_own(project, "ann") == frozenset()
    bank.set_assessors_first(project, True, "olga")
    assert bank.queries_awaiting_own(project, "tester") == frozenset()
    assert bank.queries_awaiting_own(project, "ann") == {"q1", "q2"}
    # Another wording of a known question, or a question without text, does not count as her own.
    bank.put_draft(project, "ann", replace(bank.list_questions(project, query_id="q1")[0], text="What of it?"))
    empty = bank.new_question("q1")
    bank.put_draft(project, "ann", empty)
    assert bank.queries_awaiting_own(project, "ann") == {"q1", "q2"}
    bank.take_back(project, "ann", [empty.question_id])
    bank.put_draft(project, "ann", bank.new_question("q1", "What else of q1?"))
    assert bank.queries_awaiting_own(project, "ann") == {"q2"}
    assert bank.queries_awaiting_own(project, "ben") == {"q1", "q2"}
    bank.save_drafts(project, "ann")
    assert bank.queries_awaiting_own(project, "ann") == {"q2"}
    bank.set_assessors_first(project, False, "olga")
    assert bank.queries_awaiting_own(project, "ann") == frozenset()


def test_screen_hides_suggestions_until_own_question(project: Project) -> None:
    put(project)
    bank.set_assessors_first(project, True, "olga")
    app = visit("question_bank", query="q1")
    assert app.shows("own-first") and "suggest questions" not in [button.key for button in app.button]
    bank.put_draft(project, "ann", bank.new_question("q1", "What else of q1?"))
    app = visit("question_bank", query="q1")
    assert not app.shows("own-first") and "suggest questions" in [button.key for button in app.button]
    app.toggle(key="assessors first True").set_value(False).run()
    assert not bank.assessors_first(project)


def test_cli_turns_assessors_first_on_and_off(shell_on: ShellOn) -> None:
    exam = shell_on(put)
    assert exam("proposals", "assessors-first", "--on")[0] == 0
    assert printed(exam("proposals", "list", "--json"))["proposals"] == []
    assert exam("proposals", "assessors-first", "--off")[0] == 0
