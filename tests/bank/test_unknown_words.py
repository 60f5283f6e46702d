"""Questions known by id only: imported texts get the grades, and rewordings by people do not."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from exam_workbench import bank
from exam_workbench.bank import drafted_bank, find_grader, put_draft, save_drafts, undo_step
from exam_workbench.exchange import (
    Imported,
    bank_jsonl,
    graded_file,
    import_files,
    publish_qrels,
    qrels_text,
    reproduce_qrels,
)
from exam_workbench.formats import Source
from exam_workbench.grading import count_skipped, make_plan
from exam_workbench.labels import MISSING, Policy, add_override, basis, find_overrides, load_ratings
from exam_workbench.records import list_actions
from exam_workbench.store import Project
from exam_workbench.types import Question
from tests.made.projects import filled_project, import_bank, new_project

BREAD, SALT, YEAST = (Question(f"q1/{name}", "q1", text) for name, text in (
    ("bread", "What is bread made of?"), ("salt", "Why is there salt in bread?"), ("yeast", "What does yeast do?")
))  # fmt: skip
BANK = [BREAD, SALT, YEAST]
RATINGS = {"p1": (5, 0, 3), "p2": (1, 4, 2)}


def graded() -> str:
    """Return a graded file that names the questions by id only."""
    prompt = {"llm": "flan", "prompt_info": {"prompt_class": "SelfRating", "is_self_rated": True}}
    passages = []
    for name, ratings in RATINGS.items():
        rated = [{"question_id": q.question_id, "self_rating": one} for q, one in zip(BANK, ratings, strict=True)]
        entry = {**prompt, "prompt_type": "question", "self_ratings": rated}
        passages.append({"paragraph_id": name, "text": f"text of {name}", "exam_grades": [entry]})
    return json.dumps(["q1", passages]) + "\n"


def take(project: Project, kind: str, content: str, name: str) -> Imported:
    return import_files(project, kind, [Source(name, data=content.encode())], "ann")


def grade_by_id(project: Project) -> None:
    take(project, "queries", "q1\tbaking bread\n", "queries.tsv")
    take(project, "graded", graded(), "graded.jsonl")


by_id = filled_project(grade_by_id)


def ratings_of(project: Project, version: int | None = None) -> dict[str, list[int]]:
    """Return the ratings of a bank version's questions by question id."""
    rows = project.rows(
        "SELECT question_id, list(rating ORDER BY passage_text_key) FROM bank_at($version) JOIN questions"
        " USING (question_key) JOIN grades ON question_text_key = text_key GROUP BY 1 ORDER BY 1",
        {"version": bank.check_version(project, version)},
    )
    return dict(rows)


def to_grade(project: Project) -> int:
    spec = find_grader(project, None).spec
    return make_plan(project, spec, bank.latest_version(project)).to_grade


ALL = {"q1/bread": [5, 1], "q1/salt": [0, 4], "q1/yeast": [3, 2]}


def test_edited_text_is_new_wording_without_grades(by_id: Project) -> None:
    before = qrels_text(by_id, Policy()).encode()
    put_draft(by_id, "ann", replace(BREAD, text="How do I bake bread?"))
    assert save_drafts(by_id, "ann", "clearer") == 2
    assert [q.text for q in bank.list_questions(by_id, 1)] == [None, None, None]
    assert [q.text for q in bank.list_questions(by_id, 2)] == ["How do I bake bread?", None, None]
    assert ratings_of(by_id, 1) == ALL
    assert ratings_of(by_id, 2) == {key: ALL[key] for key in ("q1/salt", "q1/yeast")}
    assert to_grade(by_id) == 2
    assert qrels_text(by_id, Policy(bank_version=1)).encode() == before
    assert list_actions(by_id).acts[0].act == "save bank"
    import_bank(by_id, [replace(BREAD, text=None, weight=2.0)])
    kept = replace(BREAD, text="How do I bake bread?", weight=2.0)
    assert bank.list_questions(by_id)[0] == kept, "a file without texts keeps those of the bank"
    bank.restore_questions(by_id, 1, "back", "ann")
    assert [q.text for q in bank.list_questions(by_id)] == [None, None, None]
    assert ratings_of(by_id) == ALL


def test_first_import_supplies_texts_and_second_is_new_wording(by_id: Project) -> None:
    preview = import_bank(by_id, BANK, preview=True)
    assert preview.counts["questions get their words"] == 3
    assert [q.text for q in bank.list_questions(by_id)] == [None, None, None]
    done = import_bank(by_id, BANK)
    assert done.counts == preview.counts and "bank version" not in done.counts
    assert "words-given" in [note.code for note in done.notes]
    assert bank.list_questions(by_id, 1) == BANK
    assert (bank.latest_version(by_id), ratings_of(by_id), to_grade(by_id)) == (1, ALL, 0)
    assert list_actions(by_id).acts[0].detail["counts"] == done.counts
    done = import_bank(by_id, [replace(BREAD, text="How do I bake bread?"), SALT])
    assert (done.counts["changed questions"], done.counts["bank version"]) == (1, 2)
    assert "questions get their words" not in done.counts
    assert bank.list_questions(by_id, 1) == BANK
    assert ratings_of(by_id, 2) == {key: ALL[key] for key in ("q1/salt", "q1/yeast")}


def test_original_bank_after_edit_restores_texts_and_grades(by_id: Project) -> None:
    bank.save_version(by_id, [replace(BREAD, text="How do I bake bread?")], "clearer", "ann")
    done = import_bank(by_id, BANK)
    assert (done.counts["questions get their words"], done.counts["bank version"]) == (3, 3)
    assert bank.list_questions(by_id, 1) == BANK
    assert bank.list_questions(by_id, 2)[0].text == "How do I bake bread?"
    assert (bank.list_questions(by_id), ratings_of(by_id), to_grade(by_id)) == (BANK, ALL, 0)


def test_reimported_edit_remains_ungraded_wording(by_id: Project) -> None:
    bank.save_version(by_id, [replace(BREAD, text="How do I bake bread?")], "clearer", "ann")
    own = bank_jsonl(by_id, 2)
    done = take(by_id, "bank", own, "own.jsonl")
    assert {"questions get their words", "bank version"}.isdisjoint(done.counts)
    assert "words-apart" in [note.code for note in done.notes]
    assert bank.list_questions(by_id, 1)[0].text is None
    assert "q1/bread" not in ratings_of(by_id)


def test_grade_does_not_follow_reworded_question_of_known_text(by_id: Project) -> None:
    """Two ids share a text; a later wording of the second id must not inherit its grades."""
    same = replace(SALT, text=BREAD.text)
    import_bank(by_id, [BREAD, same])
    import_bank(by_id, [replace(SALT, text="How salty is bread?")])
    assert set(ratings_of(by_id)) == {"q1/bread", "q1/yeast"}
    assert by_id.value("SELECT text FROM question_texts WHERE placeholder = 'q1/salt'") is None


def test_graded_file_with_texts_supplies_them(by_id: Project, tmp_path: Path) -> None:
    other = new_project(tmp_path / "other.duckdb")
    take(other, "graded", graded(), "graded.jsonl")
    import_bank(other, BANK)
    own = graded_file(other)
    other.close()
    done = import_files(by_id, "graded", [Source("own.jsonl.gz", data=own)], "ann")
    assert done.counts["questions get their words"] == 3
    assert (bank.list_questions(by_id, 1), ratings_of(by_id)) == (BANK, ALL)


def test_drafts_that_keep_the_wording_get_texts(by_id: Project) -> None:
    unknown = bank.list_questions(by_id)
    put_draft(by_id, "ann", replace(unknown[0], weight=2.0))
    put_draft(by_id, "ann", replace(unknown[0], weight=3.0))
    put_draft(by_id, "ann", replace(unknown[1], text="My own words?"))
    import_bank(by_id, BANK)
    assert drafted_bank(by_id, "ann", "q1")[:2] == [replace(BREAD, weight=3.0), replace(SALT, text="My own words?")]
    undo_step(by_id, "ann")
    undo_step(by_id, "ann")
    assert drafted_bank(by_id, "ann", "q1")[:2] == [replace(BREAD, weight=2.0), SALT]
    save_drafts(by_id, "ann", "weight")
    assert ratings_of(by_id) == ALL


@pytest.mark.parametrize("words", [BANK, [BREAD, replace(SALT, text=BREAD.text), YEAST]], ids=["each", "shared"])
@pytest.mark.parametrize("policy", [Policy(label="mean"), Policy(label="mean", overrides=False)])
def test_publications_are_reproducible_after_texts_arrive(
    by_id: Project, words: list[Question], policy: Policy
) -> None:
    add_override(by_id, "q1/salt", "p1", 5, "it is there", "ann")
    before = publish_qrels(by_id, policy, "ann")
    import_bank(by_id, words)
    after = publish_qrels(by_id, replace(policy, bank_version=1), "ann")
    bank.save_version(by_id, [replace(YEAST, text="How does dough rise?")], "clearer", "ann")
    for one in (before, after):
        assert reproduce_qrels(by_id, one.manifest, "bob") == one.qrels_bytes
    assert before.manifest["bank"]["version"] == after.manifest["bank"]["version"] == 1
    assert before.manifest["bank"]["sha256"] != after.manifest["bank"]["sha256"]
    if words is BANK:
        assert before.qrels_bytes == after.qrels_bytes


def test_override_follows_question_to_known_text(by_id: Project) -> None:
    add_override(by_id, "q1/salt", "p1", 5, "it is there", "ann")
    import_bank(by_id, [BREAD, replace(SALT, text=BREAD.text)])
    assert [(one.question_id, one.stale) for one in find_overrides(by_id)] == [("q1/salt", False)]


def test_unknown_question_texts_are_not_graded(by_id: Project) -> None:
    spec = replace(find_grader(by_id, None).spec, model="another")
    assert make_plan(by_id, spec, 1).to_grade == 0
    assert count_skipped(by_id, spec, 1).no_text == 3
    bank.save_version(by_id, [replace(BREAD, text="How do I bake bread?")], "clearer", "ann")
    assert make_plan(by_id, spec, 2).to_grade == 2


def test_text_equal_to_id_does_not_match_unknown_text(by_id: Project) -> None:
    base = basis(by_id, Policy())
    known = load_ratings(by_id, base, "q1", [replace(BREAD, text=None), replace(BREAD, text="q1/bread")])
    assert known.select_questions([replace(BREAD, text=None)])[:, 0].tolist() == [5, 1]
    assert (known.select_questions([replace(BREAD, text="q1/bread")]) == MISSING).all()
    bank.save_version(by_id, [replace(BREAD, text="q1/bread")], "odd", "ann")
    assert "q1/bread" not in ratings_of(by_id)
    assert to_grade(by_id) == 2
