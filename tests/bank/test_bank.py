"""The question bank: versions, history, wordings and their grades, and drafts."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from exam_workbench import bank
from exam_workbench.bank import drafted_bank, list_drafts, new_question, put_draft, save_drafts, take_back
from exam_workbench.grading import make_plan
from exam_workbench.records import refresh_pool
from exam_workbench.store import Project, cache
from exam_workbench.types import Question
from tests.made.projects import SPEC, examples, fill, filled_project, grade, import_bank, new_project
from tests.made.refusals import refusal

A = Question("q1/a", "q1", "What is A?")
B = Question("q1/b", "q1", "What is B?")
C = Question("q2/c", "q2", "What is C?")
RUNS = {"one": {"q1": ["p1", "p2"], "q2": ["p3"]}}


RATINGS = {(q.text or "", p): 3 for q in (A, B, C) for p in ("p1", "p2", "p3") if (q is C) == (p == "p3")}


banked = filled_project(lambda project: fill(project, [A, B, C], RATINGS, RUNS))


def to_grade(project: Project) -> int:
    return make_plan(project, SPEC, bank.latest_version(project)).to_grade


def everything(project: Project) -> list:
    tables = ("questions", "question_texts", "question_revisions", "bank_versions", "drafts", "activity")
    return [project.rows(f"SELECT * FROM {table} ORDER BY ALL") for table in tables]


def test_versions_and_history_name_authors_and_notes(banked: Project):
    bank.save_version(banked, [replace(A, text="What is A really?", weight=2.0)], "reword a", "ann")
    bank.save_version(banked, [replace(B, active=False), replace(C, note="check")], "retire b", "bob")
    found = [(v.version, v.note, v.author, v.changed) for v in bank.list_versions(banked)]
    assert found == [(3, "retire b", "bob", 2), (2, "reword a", "ann", 1), (1, "made for a test", "tester", 3)]
    assert [(r.version, r.author, r.note, r.question) for r in bank.question_history(banked, "q1/a")] == [
        (2, "ann", "reword a", replace(A, text="What is A really?", weight=2.0)),
        (1, "tester", "made for a test", A),
    ]
    assert bank.question_history(banked, "nobody") == []
    for version in (4, -1):
        with refusal("unknown-bank-version", str(version)):
            bank.list_questions(banked, version)


def test_all_fields_are_saved_and_no_change_makes_no_version(banked: Project):
    full = Question(
        "q1/full", "q1", "Wählen Sie: «a» | b?", "choice", -0.5, False, "s1", "b", ("a, 1", 'b "two"'), "why\nnot"
    )
    bank.save_version(banked, [full], "all of it", "ann")
    assert bank.list_questions(banked, query_id="q1")[-1] == full
    before = everything(banked)
    assert bank.save_version(banked, [A, replace(B, text="  What is B? "), full], "again", "ann") is None
    assert bank.save_version(banked, [], "nothing", "ann") is None
    assert everything(banked) == before


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (replace(A, text="   "), ("empty-question", "q1/a")),
        (replace(A, text=""), ("empty-question", "q1/a")),
        (replace(A, weight=float("nan")), ("weight-out-of-range", "nan")),
        (replace(A, weight=float("inf")), ("weight-out-of-range", "inf")),
        (replace(A, kind="riddle"), ("unknown-kind", "riddle")),
        (Question("q9/a", "q9", "Who?"), ("unknown-query", "q9")),
        (Question("q1/a", "q2", "What is A?"), ("question-of-two-queries", "q1/a")),
        (replace(B, weight=2.0), ("duplicate-question", "q1/b")),
    ],
)
def test_invalid_question_is_refused_and_save_rolled_back(banked: Project, bad: Question, reason: tuple[str, ...]):
    before = everything(banked)
    with refusal(*reason):
        bank.save_version(banked, [replace(B, weight=9.0), bad], "mixed", "ann")
    assert everything(banked) == before


@pytest.fixture
def placeholders(banked: Project) -> Project:
    """Three questions known by id only, graded on passages of their query."""
    bank.save_version(banked, [Question(f"q1/{i}", "q1", None) for i in "xyz"], "ids only", "tester")
    grade(banked, {("q1/x", "p1"): 5, ("q1/y", "p1"): 1, ("q1/y", "p2"): 2, ("q1/z", "p2"): 4})
    return banked


def grades_of(project: Project, text: str) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for passage, rating in project.rows(
        "SELECT passage_id, rating FROM grades g JOIN question_texts t ON t.text_key = question_text_key"
        " JOIN passages p ON p.text_key = passage_text_key WHERE t.text = ? ORDER BY ALL",
        [text],
    ):
        found.setdefault(passage, []).append(rating)
    return found


def test_ids_with_the_same_text_share_one_grade_per_pair(placeholders: Project):
    import_bank(placeholders, [Question(f"q1/{i}", "q1", "Same?") for i in "xyz"])
    assert grades_of(placeholders, "Same?") == {"p1": [5], "p2": [2]}
    texts = [q.text for q in bank.list_questions(placeholders, query_id="q1")]
    assert texts == [A.text, B.text, "Same?", "Same?", "Same?"]
    assert to_grade(placeholders) == 0


def test_id_with_known_text_adds_only_missing_grades(placeholders: Project):
    assert [q.text for q in bank.list_questions(placeholders, query_id="q1")][2:] == [None, None, None]
    import_bank(placeholders, [Question("q1/x", "q1", "Same?")])
    assert (grades_of(placeholders, "Same?"), to_grade(placeholders)) == ({"p1": [5]}, 1)
    assert bank.list_questions(placeholders, query_id="q1")[2].text == "Same?"
    import_bank(placeholders, [Question(f"q1/{i}", "q1", "Same?") for i in "yz"])
    assert grades_of(placeholders, "Same?") == {"p1": [5], "p2": [2]}
    assert bank.list_questions(placeholders, 2, "q1")[2:] == bank.list_questions(placeholders, query_id="q1")[2:]


def test_question_without_text_can_be_retired_and_weighted(placeholders: Project):
    version = bank.save_version(placeholders, [Question("q1/x", "q1", None, weight=0.5, active=False)], "retire", "ann")
    assert version == 3
    assert bank.list_questions(placeholders, query_id="q1")[2] == Question("q1/x", "q1", None, weight=0.5, active=False)


def test_overview_counts_questions_and_passages_per_query(banked: Project):
    bank.save_version(banked, [replace(A, active=False)], "retire", "ann")
    with banked.transaction() as cursor:
        cursor.execute("UPDATE passages SET text_key = NULL WHERE passage_id = 'p3'")
        refresh_pool(cursor)
    found = [(o.query_id, o.questions, o.active, o.pooled, o.without_text) for o in bank.query_overviews(banked)]
    assert found == [("q1", 2, 1, 2, 0), ("q2", 1, 1, 1, 1)]


saves = st.lists(
    st.lists(
        st.builds(
            Question,
            question_id=st.sampled_from(["q1/0", "q1/1", "q1/2", "q1/3"]),
            query_id=st.just("q1"),
            text=st.sampled_from(["One?", "Two?", "Three?"]),
            kind=st.sampled_from(["question", "nugget"]),
            weight=st.sampled_from([-1.0, 0.0, 1.0]),
            active=st.booleans(),
            note=st.sampled_from([None, "a note"]),
            choices=st.sampled_from([(), ("x", "y")]),
        ),
        unique_by=lambda q: q.question_id,
        max_size=3,
    ),
    max_size=6,
)


@settings(max_examples=examples(6), suppress_health_check=[HealthCheck.too_slow])
@given(saves)
def test_every_version_matches_a_plain_model(made: list[list[Question]]):
    with tempfile.TemporaryDirectory() as folder:
        project = new_project(Path(folder) / "p.duckdb")
        fill(project, [], {}, {"one": {"q1": ["p1"]}})
        model: dict[str, Question] = {}
        states = [[]]
        for changed in made:
            after = model | {q.question_id: q for q in changed}
            version = bank.save_version(project, changed, "a save", "tester")
            if after == model:
                assert version is None
            else:
                model = after
                states.append(list(model.values()))
                assert version == len(states) - 1
        assert [bank.list_questions(project, v) for v in range(len(states))] == states
        assert bank.list_questions(project) == states[-1]
        texts = [text for (text,) in project.rows("SELECT text FROM question_texts")]
        assert len(texts) == len(set(texts))
        project.close()


def test_drafts_keep_their_order_until_discarded_or_saved(banked: Project):
    before = banked.version(cache.SCORES)
    put_draft(banked, "bob", replace(A, weight=7.0))
    added = replace(new_question("q1"), text="Something new?")
    for question in (replace(B, weight=2.0), added, replace(A, weight=2.0), replace(B, weight=3.0)):
        put_draft(banked, "ann", question)
    assert list(list_drafts(banked, "ann")) == ["q1/b", added.question_id, "q1/a"]
    assert drafted_bank(banked, "ann", "q1")[-1] == added
    take_back(banked, "ann", ["q1/b"])
    assert list(list_drafts(banked, "ann")) == [added.question_id, "q1/a"]
    take_back(banked, "bob")
    assert (list(list_drafts(banked, "bob")), len(list_drafts(banked, "ann"))) == ([], 2)
    assert drafted_bank(banked, "bob", "q1") == [A, B]
    with refusal("unknown-query", "q9"):
        put_draft(banked, "ann", new_question("q9"))
    put_draft(banked, "bob", replace(B, weight=7.0))
    assert banked.version(cache.SCORES) == before, "drafts change no score"
    assert save_drafts(banked, "ann", "two changes") == 2
    newest = bank.list_versions(banked)[0]
    assert (newest.note, newest.author, newest.changed) == ("two changes", "ann", 2)
    assert [q.text for q in bank.list_questions(banked)] == [A.text, B.text, "Something new?", C.text]
    assert list_drafts(banked, "ann") == {}
    assert list(list_drafts(banked, "bob")) == ["q1/b"]


def test_invalid_drafts_are_kept_when_saving_is_refused(banked: Project):
    empty = replace(new_question("q2"), answer_key="a sentence of a passage")
    put_draft(banked, "ann", empty)
    put_draft(banked, "ann", replace(A, weight=2.0))
    with refusal("new-question-without-words"):
        save_drafts(banked, "ann", "a change")
    assert set(list_drafts(banked, "ann")) == {"q1/a", empty.question_id}
    take_back(banked, "ann", [empty.question_id])
    put_draft(banked, "ann", replace(B, text=" "))
    with refusal("empty-question", "q1/b"):
        save_drafts(banked, "ann", "oops")
    assert list(list_drafts(banked, "ann")) == ["q1/a", "q1/b"]
    assert bank.latest_version(banked) == 1


@pytest.mark.parametrize("note", ["", "  \n"])
def test_save_without_note_summarizes_changes(banked: Project, note: str):
    put_draft(banked, "ann", replace(A, text="A, reworded?", weight=2.0))
    put_draft(banked, "ann", replace(new_question("q1"), text="Something new?"))
    assert save_drafts(banked, "ann", note) == 2
    assert bank.list_versions(banked)[0].note == "1 reworded, 1 added in query q1"
