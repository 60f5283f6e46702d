"""Edits of questions, and the difference between an old and a new wording."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from exam_workbench import bank
from exam_workbench.bank import (
    duplicate_question,
    merge_questions,
    move_question,
    paste_questions,
    retire_questions,
    reweight_questions,
    split_question,
    word_difference,
)
from exam_workbench.store import Project
from exam_workbench.types import Question
from tests.made.projects import fill
from tests.made.refusals import refusal

FULL = Question("q1/a", "q1", "Who, and when?", "nugget", 2.0, True, "s1", "the key", ("x", "y"), "a note", 7)
OTHER = Question("q1/b", "q1", "Where?", weight=3.0, position=8)

PASTED = """
1. What is salt?
 2) Where is\u2028it from?
(3) Why?\r
- How much of it?
* How old?
• Who eats it?
– Since when?
a) Is it good?
(b) Is it bad?

-
12.
What is 3.5 % of it?
1984. was a year of what?
What is salt?
  3 spoons of what?\t
e.g. what?
"""


def test_pasting_strips_bullets_numbers_blanks_and_duplicates():
    found, again = paste_questions("q1", PASTED, "s1")
    assert [q.text for q in found] == [
        "What is salt?",
        "Where is\u2028it from?",
        "Why?",
        "How much of it?",
        "How old?",
        "Who eats it?",
        "Since when?",
        "Is it good?",
        "Is it bad?",
        "What is 3.5 % of it?",
        "1984. was a year of what?",
        "3 spoons of what?",
        "e.g. what?",
    ]
    settings = {(q.query_id, q.subtopic_id, q.kind, q.active, q.weight) for q in found}
    assert settings == {("q1", "s1", "question", True, 1.0)}
    assert len({q.question_id for q in found}) == len(found)
    assert again == 1
    assert paste_questions("q1", " \n\n- \n") == ([], 0)


def test_pasted_question_already_active_is_skipped():
    retired_one = replace(OTHER, active=False)
    found, again = paste_questions("q1", f"- {FULL.text}\n2. Why?\n{OTHER.text}\nWhy?", existing=[FULL, retired_one])
    assert ([q.text for q in found], again) == (["Why?", OTHER.text], 2)


def test_duplicate_follows_original_before_and_after_saving(project: Project):
    fill(project, [Question(f"q1/{i}", "q1", f"{i}?") for i in range(3)], {}, {})
    copy = duplicate_question(FULL)
    assert copy.question_id not in (FULL.question_id, duplicate_question(FULL).question_id)
    assert replace(copy, question_id=FULL.question_id) == FULL
    copy = replace(duplicate_question(bank.list_questions(project)[0]), text="copy?")
    bank.put_draft(project, "ann", copy)
    expected = ["0?", "copy?", "1?", "2?"]
    assert [q.text for q in bank.drafted_bank(project, "ann", "q1")] == expected
    bank.save_drafts(project, "ann", "copy")
    assert [q.text for q in bank.list_questions(project)] == expected


def test_split_retires_question_and_parts_inherit_settings():
    old, *parts = split_question(FULL, [" Who? ", "", "When?", "  "])
    assert old == replace(FULL, active=False)
    assert [part.text for part in parts] == ["Who?", "When?"]
    for part in parts:
        assert part.weight == FULL.weight / 2
        assert replace(part, question_id=FULL.question_id, text=FULL.text, weight=FULL.weight) == FULL
    assert len({q.question_id for q in (old, *parts)}) == 3
    for too_few in ([], ["Who?"], ["Who?", " \t"]):
        with refusal("too-few-questions"):
            split_question(FULL, too_few)


def test_merge_retires_questions_and_keeps_largest_weight():
    one, *old = merge_questions([FULL, OTHER], " Who, when and where? ")
    assert old == [replace(FULL, active=False), replace(OTHER, active=False)]
    assert (one.text, one.weight, one.active, one.query_id) == ("Who, when and where?", 3.0, True, "q1")
    assert one.question_id not in ("q1/a", "q1/b")
    assert merge_questions([replace(FULL, active=False), OTHER], "Both?")[0].active
    assert not merge_questions(retire_questions([FULL, OTHER]), "Both?")[0].active


@pytest.mark.parametrize(
    ("questions", "text", "reason"),
    [
        ([FULL], "Who?", "too-few-questions"),
        ([], "Who?", "too-few-questions"),
        ([FULL, replace(OTHER, query_id="q2")], "Who?", "too-few-questions"),
        ([FULL, OTHER], "  ", "empty-question"),
    ],
)
def test_invalid_merge_is_refused(questions: list[Question], text: str, reason: str):
    with refusal(reason):
        merge_questions(questions, text)


def test_several_questions_are_changed_at_once():
    assert reweight_questions([FULL, OTHER], -1.0) == [replace(FULL, weight=-1.0), replace(OTHER, weight=-1.0)]
    off = retire_questions([FULL, OTHER])
    assert [q.active for q in off] == [False, False]
    assert retire_questions(off, active=True) == [FULL, OTHER]


def in_order(saved: list[Question], changed: list[Question]) -> list[Question]:
    """Return the questions with changes applied, in screen order: those without a position go last."""
    new = {question.question_id: question for question in changed}
    now = [new.get(question.question_id, question) for question in saved]
    return sorted(now, key=lambda q: float("inf") if q.position is None else q.position)


# Positions of saved questions have gaps, start above 0 and repeat for duplicates. New questions have None.
places = st.tuples(st.lists(st.integers(3, 12), max_size=5).map(sorted), st.integers(0, 3)).map(
    lambda found: [*found[0], *[None] * found[1]]
)


@given(places.filter(len), st.data())
def test_moving_swaps_neighbours_and_moving_back_restores_order(places: list[int | None], data):
    questions = [Question(f"q1/{i}", "q1", f"{i}?", position=place) for i, place in enumerate(places)]
    at = data.draw(st.integers(0, len(questions) - 1))
    by = data.draw(st.sampled_from([-1, 1]))
    ids = [q.question_id for q in questions]
    changed = move_question(questions, ids[at], by)
    if not 0 <= at + by < len(questions):
        assert changed == []
        return
    now = in_order(questions, changed)
    expected = list(ids)
    expected[at], expected[at + by] = expected[at + by], expected[at]
    assert [q.question_id for q in now] == expected
    assert sorted(now, key=lambda q: q.question_id) == questions  # nothing else is changed
    known = [place for place in places if place is not None]
    if len(set(known)) == len(places):
        assert {q.question_id for q in changed} == {ids[at], ids[at + by]}
    back = in_order(now, move_question(now, ids[at], -by))
    assert [q.question_id for q in back] == ids
    if len(set(known)) == len(places):
        assert [q.position for q in back] == places


def test_new_question_moves_one_place_and_keeps_it_when_saved(project: Project):
    fill(project, [Question(f"{q}/{i}", q, f"{i}?") for q in ("q1", "q2") for i in range(3)], {}, {})
    new = bank.new_question("q2", "new?")
    bank.put_draft(project, "ann", new)
    for expected in (["0?", "1?", "new?", "2?"], ["0?", "new?", "1?", "2?"]):
        now = bank.drafted_bank(project, "ann", "q2")
        bank.put_drafts(project, "ann", move_question(now, new.question_id, -1))
        assert [q.text for q in bank.drafted_bank(project, "ann", "q2")] == expected
    bank.undo_step(project, "ann")
    assert [q.text for q in bank.drafted_bank(project, "ann", "q2")] == ["0?", "1?", "new?", "2?"]
    bank.save_drafts(project, "ann", "moved")
    assert [q.text for q in bank.list_questions(project, query_id="q2")] == ["0?", "1?", "new?", "2?"]
    for by in (1, -1):
        bank.put_drafts(project, "ann", move_question(bank.drafted_bank(project, "ann", "q1"), "q1/0", by))
    assert bank.list_drafts(project, "ann") == {}, "moving there and back leaves no draft"


wordings = st.text(alphabet=st.sampled_from("ab é?,. \n\t-_1"), max_size=20) | st.text(max_size=12)


@given(wordings, wordings)
def test_difference_contains_both_wordings(before: str, after: str):
    found = word_difference(before, after)
    assert "".join(text for tag, text in found if tag != "added") == before
    assert "".join(text for tag, text in found if tag != "removed") == after
    assert all(text for _, text in found)
    if before == after:
        assert {tag for tag, _ in found} <= {"same"}


def test_difference_uses_whole_words():
    assert word_difference("Where does salt come from?", "Where does the salt come from, mostly?") == [
        ("same", "Where does"),
        ("added", " the"),
        ("same", " salt come from"),
        ("added", ", mostly"),
        ("same", "?"),
    ]
    assert word_difference("saltier", "salty") == [("removed", "saltier"), ("added", "salty")]
    # Unrelated wordings are not interleaved.
    before, after = "Can caffeine be a narcotic?", "Does the passage name a drug that is one in law?"
    assert word_difference(before, after) == [("removed", before), ("added", after)]
