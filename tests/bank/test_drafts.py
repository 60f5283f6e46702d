"""Drafts: every step can be undone and redone, and edits by two people never overwrite each other."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from exam_workbench import bank
from exam_workbench.bank import editing
from exam_workbench.store import Project, open_project
from exam_workbench.types import Question
from tests.made.projects import examples, fill, filled_project, module_project, new_project
from tests.made.refusals import refusal

A = Question("q1/a", "q1", "What is A?")
B = Question("q1/b", "q1", "What is B?")
C = Question("q2/c", "q2", "What is C?")
NEW = Question("q2/new", "q2", "What is new?")
RUNS = {"one": {"q1": ["p1", "p2"], "q2": ["p3"]}}


def put_banked(project: Project) -> None:
    """Store three questions of two queries."""
    fill(project, [A, B, C], {}, RUNS)


banked = filled_project(put_banked)


def mine(project: Project, author: str = "ann") -> dict[str, Question]:
    return {key: draft.question for key, draft in bank.list_drafts(project, author).items()}


def text_of(project: Project, question_id: str) -> str | None:
    return bank.question_history(project, question_id)[0].question.text


def test_refused_step_changes_nothing(banked: Project):
    bank.put_draft(banked, "ann", replace(A, weight=2.0))
    bank.undo_step(banked, "ann")
    with refusal("unknown-query", "q9"):
        bank.put_drafts(banked, "ann", [replace(B, weight=5.0), bank.new_question("q9")])
    assert (mine(banked), bank.count_steps(banked, "ann")) == ({}, (0, 1))


def test_steps_survive_reopening_and_end_on_save(tmp_path: Path):
    path = tmp_path / "p.duckdb"
    project = new_project(path)
    fill(project, [A, B], {}, RUNS)
    bank.put_draft(project, "ann", replace(A, text="One?", choices=("x", "y")))
    bank.put_draft(project, "ann", replace(A, text="Two?"))
    bank.undo_step(project, "ann")
    project.close()
    project = open_project(path)
    assert bank.redo_step(project, "ann")
    assert mine(project) == {"q1/a": replace(A, text="Two?")}
    bank.undo_step(project, "ann")
    assert mine(project) == {"q1/a": replace(A, text="One?", choices=("x", "y"))}
    bank.save_drafts(project, "ann", "one")
    assert bank.count_steps(project, "ann") == (0, 0)


shared_bank = module_project(put_banked)
"""A project in which many people draft but never save."""


people = (f"person {number}" for number in count())
questions = st.builds(
    replace,
    st.sampled_from([A, B, C, NEW]),
    text=st.sampled_from(["What is A?", "What is B?", "Other?", ""]),
    weight=st.sampled_from([1.0, 2.0]),
    position=st.sampled_from([None, None, 1, 2]),
)
acts = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.lists(questions, max_size=3)),
        st.tuples(st.just("take back"), st.none() | st.lists(st.sampled_from(["q1/a", "q1/b", "q2/new"]), max_size=2)),
        st.tuples(st.sampled_from(["undo", "redo", "undo", "redo"]), st.none()),
    ),
    max_size=12,
)


@settings(max_examples=examples(30), suppress_health_check=[HealthCheck.too_slow])
@given(acts)
def test_edits_move_along_a_list_of_states(shared_bank: Project, acts: list):
    author = next(people)
    saved = {q.question_id: asdict(q) for q in bank.list_questions(shared_bank)}
    states: list[dict[str, dict]] = [{}]
    at = 0
    for act, what in acts:
        now = dict(states[at])
        if act == "undo":
            assert bank.undo_step(shared_bank, author) == (at > 0)
            at = max(at - 1, 0)
        elif act == "redo":
            assert bank.redo_step(shared_bank, author) == (at + 1 < len(states))
            at = min(at + 1, len(states) - 1)
        elif act == "put":
            bank.put_drafts(shared_bank, author, what)
            for question in what:
                values = asdict(question)
                same = saved.get(question.question_id)
                if same is not None and values | {"position": values["position"] or same["position"]} == same:
                    now.pop(question.question_id, None)
                else:
                    now[question.question_id] = values
        else:
            bank.take_back(shared_bank, author, what)
            now = {} if what is None else {key: values for key, values in now.items() if key not in what}
        if act in ("put", "take back") and now != states[at]:
            states, at = [*states[: at + 1], now], at + 1
        found = {key: asdict(question) for key, question in mine(shared_bank, author).items()}
        assert found == states[at]
        assert bank.count_steps(shared_bank, author) == (at, len(states) - 1 - at)


def test_concurrent_edits_from_several_windows_are_all_kept(banked: Project):
    edits = dict(text="What?", weight=2.0, note="n", answer_key="k", subtopic_id="s", active=False, kind="nugget")
    together = threading.Barrier(len(edits))

    def change(field: str) -> None:
        together.wait(30)
        bank.change_draft(banked, "ann", A, field, edits[field])

    with ThreadPoolExecutor(len(edits)) as windows:
        list(windows.map(change, edits))
    assert mine(banked) == {"q1/a": replace(A, **edits)}
    assert bank.count_steps(banked, "ann") == (len(edits), 0)
    bank.undo_step(banked, "ann")
    kept = [field for field in edits if getattr(mine(banked)["q1/a"], field) == edits[field]]
    assert len(kept) == len(edits) - 1
    for field in edits:
        bank.change_draft(banked, "ann", A, field, getattr(A, field))
    assert mine(banked) == {}


def test_edits_of_different_questions_merge(banked: Project):
    bank.put_draft(banked, "ann", replace(A, text="A by Ann?"))
    bank.save_version(banked, [replace(B, text="B by Bob?"), Question("q1/d", "q1", "D by Bob?")], "bob's", "bob")
    bank.save_version(banked, [replace(C, active=False)], "eve's", "eve")
    assert bank.list_conflicts(banked, "ann") == []
    assert bank.save_drafts(banked, "ann", "ann's") == 4
    assert bank.list_questions(banked) == [
        replace(A, text="A by Ann?"),
        replace(B, text="B by Bob?"),
        Question("q1/d", "q1", "D by Bob?"),
        replace(C, active=False),
    ]


@pytest.fixture
def disputed(banked: Project) -> Project:
    """Bob saves a new wording of A while Ann has drafts of A and C."""
    bank.put_draft(banked, "ann", replace(A, text="A by Ann?"))
    bank.put_draft(banked, "ann", replace(C, weight=2.0))
    bank.save_version(banked, [replace(A, text="A by Bob?")], "bob's", "bob")
    return banked


DISPUTE = bank.Conflict(A, replace(A, text="A by Bob?"), replace(A, text="A by Ann?"), "bob", "bob's")


def test_conflicting_question_is_not_saved(disputed: Project):
    assert bank.list_conflicts(disputed, "ann") == [DISPUTE]
    assert bank.list_conflicts(disputed, "bob") == []
    with refusal("open-conflicts", "1"):
        bank.save_drafts(disputed, "ann", "ann's")
    assert bank.latest_version(disputed) == 2
    assert list(mine(disputed)) == ["q1/a", "q2/c"]


def test_keeping_mine_leaves_theirs_in_history(disputed: Project):
    bank.settle_conflict(disputed, "ann", "q1/a", "mine")
    assert bank.list_conflicts(disputed, "ann") == []
    bank.save_version(disputed, [replace(A, text="A by Bob, again?")], "bob's second", "bob")
    (found,) = bank.list_conflicts(disputed, "ann")
    assert (found.base, found.theirs) == (replace(A, text="A by Bob?"), replace(A, text="A by Bob, again?"))
    assert found.mine == DISPUTE.mine
    bank.settle_conflict(disputed, "ann", "q1/a", "mine")
    assert bank.save_drafts(disputed, "ann", "ann's") == 4
    told = [(r.author, r.question.text) for r in bank.question_history(disputed, "q1/a")]
    assert told == [("ann", "A by Ann?"), ("bob", "A by Bob, again?"), ("bob", "A by Bob?"), ("tester", A.text)]


def test_keeping_theirs_drops_mine_until_undone(disputed: Project):
    bank.settle_conflict(disputed, "ann", "q1/a", "theirs")
    assert bank.list_conflicts(disputed, "ann") == []
    assert list(mine(disputed)) == ["q2/c"]
    assert bank.drafted_bank(disputed, "ann", "q1")[0] == DISPUTE.theirs
    bank.undo_step(disputed, "ann")
    assert mine(disputed)["q1/a"] == DISPUTE.mine and bank.list_conflicts(disputed, "ann") == [DISPUTE]
    bank.redo_step(disputed, "ann")
    assert bank.save_drafts(disputed, "ann", "ann's") == 3
    assert (text_of(disputed, "q1/a"), bank.list_questions(disputed)[-1].weight) == ("A by Bob?", 2.0)


def test_redone_draft_conflicts_with_a_later_save(banked: Project):
    # Bob's draft of the same question is his own.
    bank.put_draft(banked, "bob", replace(A, weight=3.0))
    bank.put_draft(banked, "ann", replace(A, text="A by Ann?"))
    assert bank.undo_step(banked, "ann") and not bank.undo_step(banked, "ann")
    assert (mine(banked), mine(banked, "bob")) == ({}, {"q1/a": replace(A, weight=3.0)})
    bank.save_version(banked, [replace(A, text="A by Bob?")], "bob's", "bob")
    bank.redo_step(banked, "ann")
    assert bank.list_conflicts(banked, "ann") == [DISPUTE]


def test_edit_on_outdated_screen_conflicts_with_a_later_save(banked: Project):
    bank.save_version(banked, [replace(A, text="A by Bob?")], "bob's", "bob")
    bank.change_draft(banked, "ann", A, "weight", 2.0)
    (found,) = bank.list_conflicts(banked, "ann")
    assert (found.base, found.theirs, found.mine) == (A, replace(A, text="A by Bob?"), replace(A, weight=2.0))
    bank.put_draft(banked, "ann", replace(B, weight=2.0))
    bank.save_version(banked, [replace(B, active=False)], "bob's", "bob")
    assert [conflict.theirs.active for conflict in bank.list_conflicts(banked, "ann")] == [True, False]


def test_same_change_by_both_makes_no_conflict_or_version(banked: Project):
    both = replace(A, text="A by both?")
    bank.put_draft(banked, "ann", both)
    bank.save_version(banked, [both], "bob's", "bob")
    assert bank.list_conflicts(banked, "ann") == []
    assert bank.save_drafts(banked, "ann", "ann's") is None
    assert (mine(banked), bank.latest_version(banked)) == ({}, 2)


def test_change_they_reverted_is_no_conflict(banked: Project):
    bank.put_draft(banked, "ann", replace(A, text="A by Ann?"))
    bank.save_version(banked, [replace(A, text="A by Bob?")], "bob's", "bob")
    bank.save_version(banked, [A], "back", "bob")
    assert bank.list_conflicts(banked, "ann") == []
    assert bank.save_drafts(banked, "ann", "ann's") == 4
    assert text_of(banked, "q1/a") == "A by Ann?"


def test_moved_question_is_drafted_and_saved_in_place(banked: Project):
    a, b, _ = bank.list_questions(banked)
    bank.put_drafts(banked, "ann", [replace(a, position=b.position), replace(b, position=a.position)])
    assert bank.drafted_bank(banked, "ann", "q1") == [B, A]
    assert bank.list_questions(banked, query_id="q1") == [A, B]
    bank.save_drafts(banked, "ann", "order")
    assert bank.list_questions(banked, query_id="q1") == [B, A]
    assert bank.list_questions(banked, 1, "q1") == [A, B]


def test_edits_hold_all_questions_except_empty_new_ones(banked: Project):
    bank.put_drafts(banked, "ann", [replace(B, weight=2.0), bank.new_question("q1", "  ")])
    assert bank.drafted_edits(banked, "ann") == {"q1": [A, replace(B, weight=2.0)]}
    assert bank.drafted_edits(banked, "bob") == {}


def test_reweighting_keeps_another_authors_move(project: Project) -> None:
    asked = [Question(f"q1/{name}", "q1", f"{name}?") for name in "abc"]
    fill(project, asked, {}, {"x": {"q1": ["p1"]}})
    seen = bank.list_questions(project)
    bank.change_draft(project, "ann", seen[0], "weight", 2.0)
    bank.put_drafts(project, "bob", editing.move_question(bank.list_questions(project), "q1/a", 1))
    bank.save_drafts(project, "bob", "a goes second")
    bank.save_drafts(project, "ann", "a weighs more")
    assert [(q.question_id, q.weight) for q in bank.list_questions(project)] == [
        ("q1/b", 1),
        ("q1/a", 2.0),
        ("q1/c", 1),
    ]


def contents(project: Project) -> dict[str, list[tuple[object, ...]]]:
    """Return all rows of all tables except drafts and settings, which record if the file is closed."""
    tables = [name for (name,) in project.rows("SELECT table_name FROM duckdb_tables()")]
    others = [name for name in tables if "draft" not in name and name != "settings"]
    return {name: sorted(project.rows(f"FROM {name}"), key=repr) for name in others}


def test_edit_writes_only_to_draft_tables(banked: Project):
    before = contents(banked)
    assert len(before) > 20
    bank.put_drafts(banked, "ann", [replace(A, text="One?"), NEW])
    bank.change_draft(banked, "ann", B, "weight", 2.0)
    bank.undo_step(banked, "ann")
    bank.redo_step(banked, "ann")
    bank.take_back(banked, "ann", ["q2/new"])
    assert contents(banked) == before
    bank.save_version(banked, [replace(A, text="Another?")], "", "bob")
    before = contents(banked)
    bank.settle_conflict(banked, "ann", "q1/a", "mine")
    assert contents(banked) == before
    assert mine(banked).keys() == {"q1/a", "q1/b"}
    macros = banked.rows("SELECT function_name, macro_definition FROM duckdb_functions() WHERE NOT internal")
    views = banked.rows("SELECT view_name, sql FROM duckdb_views() WHERE NOT internal")
    assert macros and [name for name, sql in macros + views if "draft" in str(sql)] == []


def test_edit_invalidates_only_cached_drafts(banked: Project, monkeypatch: pytest.MonkeyPatch):
    asked: list[object] = []
    read = Project._read
    monkeypatch.setattr(Project, "_read", lambda project, work: asked.append(work) or read(project, work))
    for text in ("One?", "Two?"):
        bank.put_draft(banked, "ann", replace(A, text=text))
        asked.clear()
        assert (bank.latest_version(banked), text_of(banked, "q1/a")) == (1, A.text)
        assert mine(banked)["q1/a"].text == text
    assert len(asked) == 1
    bank.save_drafts(banked, "ann")
    assert (bank.latest_version(banked), text_of(banked, "q1/a"), mine(banked)) == (2, "Two?", {})
