"""The Question bank screen: edits are drafts at once, saved as versions, and nobody's edits are lost."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from core import bank
from core.bank import drafted_bank, drafts
from core.grading import make_plan
from core.project import Project
from core.types import Question
from pages.parts.shared import presses
from tests.made.projects import SPEC
from tests.made.screens import (
    QUESTIONS,
    as_text,
    holding,
    named,
    opened,
    press,
    said,
    served,
    small,
    sound,
    visit,
)

__all__ = ["served", "small"]


def nothing_to_undo(project: Project) -> bool:
    return not project.value("SELECT count(*) FROM drafts")


class TestQuestionBank:
    def test_an_edit_is_a_draft_in_the_project_at_once(self, small: Project) -> None:
        app = visit("question_bank")
        assert "No unsaved changes." in said(app)
        holding(app.text_area, "What is A?").set_value("Who is A?")
        sound(app.run())
        assert drafts(small, "ann")["q1/a"].question.text == "Who is A?"
        holding(app.number_input, 3.0).set_value(0.5)
        sound(app.run())
        next(box for box in app.checkbox if box.label == "Active").uncheck()
        sound(app.run())
        changed = drafts(small, "ann")["q1/a"].question
        assert (changed.text, changed.weight, changed.active) == ("Who is A?", 0.5, False)
        assert "1 unsaved change" in said(app)
        assert "reworded, weight changed, retired, not saved" in said(app)
        assert bank.questions(small, query_id="q1")[0] == QUESTIONS[0]

    def test_two_edits_that_arrive_together_are_both_kept(self, small: Project) -> None:
        app = visit("question_bank")
        holding(app.text_area, "What is A?").set_value("Who is A?")
        holding(app.number_input, 3.0).set_value(0.5)
        sound(app.run())
        changed = drafts(small, "ann")["q1/a"].question
        assert (changed.text, changed.weight) == ("Who is A?", 0.5)

    def test_a_draft_is_there_for_whoever_comes_back(self, small: Project) -> None:
        app = visit("question_bank")
        holding(app.text_area, "What is A?").set_value("Who is A?")
        sound(app.run())
        again = visit("question_bank")
        assert holding(again.text_area, "Who is A?")
        assert "1 unsaved change" in said(again)

    @pytest.mark.parametrize("pressed", ["Save version", "Discard all"])
    def test_what_was_pressed_before_a_conflict_was_seen_is_not_done_after_it_is_settled(
        self, small: Project, pressed: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(presses, "_place", lambda: None)
        app = visit("question_bank")
        holding(app.text_area, "What is A?").set_value("Who is A?")
        sound(app.run())
        bank.save(small, [replace(QUESTIONS[0], text="Which is A?")], "theirs", "bob")
        sound(app.run())
        # A run that was ended before it drew the button left this to the next.
        app.session_state["presses"].press(pressed)
        press(app, "Keep mine")
        assert drafts(small, "ann")["q1/a"].question.text == "Who is A?"
        assert bank.latest_version(small) == 2

    @pytest.mark.parametrize("button", ["Take back", "Discard all"])
    def test_taking_back_shows_and_has_the_saved_question(self, small: Project, button: str) -> None:
        app = visit("question_bank")
        holding(app.text_area, "What is A?").set_value("Who is A?")
        holding(app.number_input, 3.0).set_value(0.5)
        sound(app.run())
        press(app, button)
        assert nothing_to_undo(small)
        assert holding(app.text_area, "What is A?")
        assert holding(app.number_input, 3.0)
        assert "No unsaved changes." in said(app)

    def test_typing_the_old_words_again_ends_the_draft(self, small: Project) -> None:
        app = visit("question_bank")
        holding(app.text_area, "What is A?").set_value("Who is A?")
        sound(app.run())
        holding(app.text_area, "Who is A?").set_value("What is A?")
        sound(app.run())
        assert nothing_to_undo(small)
        assert "No unsaved changes." in said(app)

    def test_a_question_is_added_and_saved_as_a_version_with_its_note(self, small: Project) -> None:
        app = press(visit("question_bank"), "Add a question")
        named([t for t in app.text_area if not t.value], "Question").set_value("What is new?")
        sound(app.run())
        app.text_input("save note").set_value("one more")
        press(app, "Save version")
        newest = bank.versions(small)[0]
        assert (newest.version, newest.note, newest.author, newest.changed) == (2, "one more", "ann", 1)
        assert [q.text for q in bank.questions(small, query_id="q1")][-1] == "What is new?"
        assert "Bank version 2. No unsaved changes." in said(app)
        versions = next(table.value for table in app.dataframe if "Note" in table.value)
        assert versions["Note"].tolist() == ["one more", "made for a test"]

    def test_new_questions_keep_their_places_while_they_are_written(self, small: Project) -> None:
        app = press(press(visit("question_bank"), "Add a question"), "Add a question")
        first, second = [t for t in app.text_area if t.label == "Question" and not t.value]
        first.set_value("The first?")
        sound(app.run())
        second = next(t for t in app.text_area if t.label == "Question" and not t.value)
        second.set_value("The second?")
        sound(app.run())
        assert [q.text for q in drafted_bank(small, "ann", "q1")][-2:] == ["The first?", "The second?"]

    def test_a_note_may_be_left_empty_and_is_then_written_from_what_changed(self, small: Project) -> None:
        app = visit("question_bank")
        holding(app.text_area, "What is A?").set_value("Who is A?")
        sound(app.run())
        assert app.text_input("save note").placeholder == "1 reworded in query q1"
        press(app, "Save version")
        assert not app.error
        assert bank.versions(small)[0].note == "1 reworded in query q1"

    def test_saving_a_question_without_words_says_so_and_keeps_the_changes(self, small: Project) -> None:
        app = visit("question_bank")
        holding(app.text_area, "What is A?").set_value(" ")
        sound(app.run())
        app.text_input("save note").set_value("emptied")
        press(app, "Save version")
        assert "has no text" in as_text(app.error[0].value)
        assert bank.latest_version(small) == 1
        assert "q1/a" in drafts(small, "ann")

    def test_another_person_sees_none_of_my_drafts(self, small: Project) -> None:
        app = visit("question_bank")
        holding(app.text_area, "What is A?").set_value("Who is A?")
        sound(app.run())
        app.text_input("author").set_value("bob")
        sound(app.run())
        assert "No unsaved changes." in said(app)
        assert holding(app.text_area, "What is A?")
        holding(app.text_area, "What is A?").set_value("Where is A?")
        sound(app.run())
        app.text_input("author").set_value("ann")
        sound(app.run())
        assert holding(app.text_area, "Who is A?")
        assert drafts(small, "bob")["q1/a"].question.text == "Where is A?"

    def test_what_somebody_else_saves_shows(self, small: Project) -> None:
        app = visit("question_bank")
        bank.save(small, [Question("q1/a", "q1", "Saved elsewhere?")], "from afar", "bob")
        sound(app.run())
        assert holding(app.text_area, "Saved elsewhere?")

    def test_a_query_is_found_by_its_words_and_opened(self, small: Project) -> None:
        app = visit("question_bank")
        app.text_input("find").set_value("QUERY Q2")
        sound(app.run())
        assert [b.label for b in app.button if "passages" in b.label] == [
            named(app.button, "query q2").label,
        ]
        press(app, "query q2")
        assert app.subheader[0].value == "query q2"
        assert [t.value for t in app.text_area if t.label == "Question"] == ["What is D?", "What is E?"]
        app.text_input("find").set_value("nothing like it")
        sound(app.run())
        assert "No query has these words." in said(app)

    def test_the_history_of_a_question_has_every_wording(self, small: Project) -> None:
        bank.save(small, [Question("q1/a", "q1", "Who is A?", weight=2.0)], "it is a person", "bob")
        app = visit("question_bank")
        opened(app, "q1/a")
        sound(app.button("history q1/a").click().run())
        told = said(app)
        assert "What is A?" in told
        assert "Who is A?" in told
        assert any(":red[~~What~~] :green[**Who**] is A" in m.value for m in app.markdown)
        assert re.search(r"Version 2 by bob.*it is a person.*weight 2 ", told)
        assert re.search(r"Version 1 by tester.*made for a test.*weight 3 ", told)


def test_after_a_save_exactly_what_the_project_s_own_grader_lacks_is_offered(small: Project) -> None:
    before = make_plan(small, SPEC, 1).to_grade
    app = visit("question_bank")
    holding(app.text_area, "What is A?").set_value("Who is A?")
    sound(app.run())
    app.text_input("save note").set_value("a person")
    press(app, "Save version")
    # Four pooled passages; the other questions keep their grades.
    assert make_plan(small, SPEC, 2).to_grade == before + 4
    assert f"{before + 4} pairs are new and not graded" in said(app)
    assert "came from a file" in said(app)


def test_questions_are_filtered_by_subtopic(small: Project) -> None:
    app = visit("question_bank")
    named(app.selectbox, "Subtopic").set_value("s1")
    sound(app.run())
    assert [box.value for box in app.text_area if box.label == "Question"] == ["What is A?"]
