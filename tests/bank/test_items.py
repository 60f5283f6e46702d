"""Facts of exam items: they come with proposals, changes are logged, and exports contain them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from exam_workbench import bank
from exam_workbench.bank import (
    DraftedItem,
    Generation,
    ItemFacts,
    item_facts,
    list_proposals,
    save_drafts,
    set_categories,
    set_item,
)
from exam_workbench.errors import FileError, InputError
from exam_workbench.exams import Item, exam_items, proposed_items, retire_exam_items
from exam_workbench.exchange import export_project, import_project
from exam_workbench.exchange._integrity import find_faults
from exam_workbench.records import add_passages, add_queries, list_actions
from exam_workbench.store import Project
from exam_workbench.types import Passage, Query, Question
from tests.made.projects import reimported
from tests.made.refusals import refusal

TEXT = "Which sign at the coast tells that the tide is about to turn within the hour?"
CHOICES = ("The moon", "Slack water", "A cold wind", "Foam on the sand")
DRAFTED = Generation(
    "item", "exam", "writer", "exam-item", "f00d" * 8, (TEXT,), "Question: ...", passage_id="tides",
    item=DraftedItem("exam/0123456789ab", CHOICES, "Slack water", "sea", 42),
)  # fmt: skip
ITEM = Item(
    "exam/0123456789ab", "exam", TEXT, CHOICES, "Slack water", "sea", "tides", "Slack water comes first.",
    raw="Question: ...", shuffle_seed=42,
)  # fmt: skip


@pytest.fixture
def coast(project: Project) -> Project:
    """A project with a passage, an exam, and an item that a model drafted from the passage."""
    with project.transaction() as cursor:
        add_queries(cursor, [Query("exam", "Exam"), Query("other", "Another")], replace=True)
        add_passages(cursor, [Passage("tides", "Slack water comes first."), Passage("wind", "It is cold.")])
    project.write(lambda cursor: bank.add_generations(cursor, [DRAFTED], "ann"))
    return project


def accepted(project: Project) -> Project:
    """Accept all proposals, save the items in the bank and return the project."""
    bank.accept_proposals(project, [one.key for one in list_proposals(project)], "ann")
    save_drafts(project, "ann", "the first items")
    return project


def test_item_is_proposed_until_accepted_and_saved(coast: Project) -> None:
    (proposed,) = proposed_items(coast)
    assert replace(proposed, proposal_key=None) == replace(ITEM, raw=None)
    assert exam_items(coast) == []
    (question,) = bank.accept_proposals(coast, [proposed.proposal_key or 0], "ann")
    assert (question.kind, question.answer_key, question.choices) == ("choice", "Slack water", CHOICES)
    assert "drafted by writer, prompt exam-item" in str(question.note) and "from passage tides" in str(question.note)
    assert (exam_items(coast), item_facts(coast), proposed_items(coast)) == ([], {}, [])
    save_drafts(coast, "ann", "")
    assert exam_items(coast) == exam_items(coast, "exam") == [ITEM]
    assert exam_items(coast, "other") == [] and exam_items(coast, version=0) == []
    bank.reopen_proposals(coast, [proposed.proposal_key or 0], "ann")
    assert exam_items(accepted(coast)) == [ITEM], "an item accepted twice appears once"
    assert coast.value("SELECT count(*) FROM items") == 1
    (question,) = bank.list_questions(coast)
    bank.save_version(coast, [replace(question, text=TEXT.replace("hour", "day"), answer_key="b")], "reworded", "ann")
    assert [one.text for one in exam_items(coast, version=1)] == [TEXT]
    now = exam_items(coast)[0]
    assert (now.text, now.key) == (TEXT.replace("hour", "day"), "Slack water"), "a letter means the text of its choice"


def test_question_without_valid_key_is_item_without_key(coast: Project) -> None:
    made = Question("exam/x", "exam", TEXT, "choice", answer_key="The sun", choices=("A) one", "B) two"))
    plain = Question("exam/y", "exam", "No choices?")
    bank.save_version(coast, [made, plain], "by hand", "ann")
    (item,) = exam_items(coast)
    assert (item.question_id, item.key, item.key_position) == ("exam/x", None, None)
    assert item.choices == item.discriminators == ("one", "two")


def test_retiring_goes_through_drafts_and_is_reversible(coast: Project) -> None:
    accepted(coast)
    retire_exam_items(coast, [ITEM.question_id], "bob")
    assert exam_items(coast)[0].active
    save_drafts(coast, "bob", "weak")
    assert exam_items(coast) == [replace(ITEM, active=False)]
    bank.restore_questions(coast, 1, "again", "bob")
    assert exam_items(coast) == [ITEM]
    with refusal("unknown-item", "exam/y"):
        retire_exam_items(coast, ["exam/y"], "bob")


def test_changed_topic_and_source_are_logged(coast: Project) -> None:
    accepted(coast)
    assert set_item(coast, [ITEM.question_id], "ann", topic=" coast \n life ", source_passage_id="wind") == 1
    assert item_facts(coast)[ITEM.question_id] == ItemFacts("wind", "coast life", "Question: ...", 42)
    (act,) = [one for one in list_actions(coast).acts if one.act == "set item"]
    assert act.said == f"set topic; source of question “{TEXT}” to coast life, wind"
    assert act.detail["before"] == {"topic": "sea", "source": "tides"}
    assert set_item(coast, [ITEM.question_id], "ann", topic="coast life") == 0, "the same topic changes nothing"
    set_item(coast, [ITEM.question_id], "ann", topic="")
    assert item_facts(coast)[ITEM.question_id].topic is None


def test_invalid_item_facts_change_nothing(coast: Project) -> None:
    accepted(coast)
    before = (item_facts(coast), list_actions(coast).total)
    for change in (
        lambda: set_item(coast, ["exam/y"], "ann", topic="sea"),
        lambda: set_item(coast, [ITEM.question_id], "ann", topic="x", source_passage_id="nowhere"),
        lambda: set_categories(coast, [ITEM.question_id], "bloom", [" "], "ann"),
        lambda: set_categories(coast, ["exam/y"], "bloom", ["Applying"], "ann"),
    ):
        with pytest.raises(InputError):
            change()
        assert (item_facts(coast), list_actions(coast).total) == before


def test_item_facts_survive_export_and_import(coast: Project, tmp_path: Path) -> None:
    other = replace(DRAFTED, item=DraftedItem("exam/b", CHOICES, "The moon"))
    coast.write(lambda cursor: bank.add_generations(cursor, [other], "ann"))
    bank.accept_proposals(coast, [list_proposals(coast)[0].key], "ann")
    save_drafts(coast, "ann", "one of two")
    set_categories(coast, [ITEM.question_id], "bloom", ["Applying", "Applying"], "ann")
    again = reimported(coast)
    assert exam_items(again) == [ITEM]
    assert proposed_items(again) == proposed_items(coast) != []
    assert bank.item_categories(again, "bloom") == {ITEM.question_id: ("Applying",)}
    again.close()
    with coast.transaction() as cursor:
        cursor.execute("UPDATE items SET topic = ''")
    export_project(coast, tmp_path / "damaged", "ann")
    with refusal("inconsistent-rows", kind=FileError):
        import_project(tmp_path / "damaged", tmp_path / "damaged.duckdb")


def test_invalid_item_rows_are_found(coast: Project) -> None:
    accepted(coast)
    set_categories(coast, [ITEM.question_id], "bloom", ["Applying"], "ann")
    for statement, fault in (
        ("UPDATE items SET source_passage_key = 7777", "items unknown-source-passage-key"),
        ("UPDATE items SET question_key = 7777", "items unknown-question-key"),
        ("UPDATE items SET topic = ' '", "items empty-topic"),
        ("UPDATE items SET shuffle_seed = -1", "items seed-below-0"),
        ("INSERT INTO items FROM items", "items repeated-question-key"),
        ("UPDATE proposed_items SET choices = '[1]'", "proposed_items invalid-choices"),
        ("UPDATE proposed_items SET proposal_key = 7777", "proposed_items unknown-proposal-key"),
        ("UPDATE item_categories SET scheme = 'colour'", "item_categories unknown-scheme"),
    ):
        with pytest.raises(ZeroDivisionError), coast.transaction() as cursor:
            assert list(find_faults(cursor)) == []
            cursor.execute(statement)
            assert fault in {f"{found.table} {found.code}" for found in find_faults(cursor)}
            raise ZeroDivisionError
