"""The Question bank screen: drafts, versions, names of people, and conflicting edits."""

from dataclasses import replace

import pytest

from exam_workbench import bank
from exam_workbench.bank import change_draft, drafted_bank, list_drafts
from exam_workbench.grading import make_plan
from exam_workbench.labels import Policy
from exam_workbench.records import for_confirming, set_hold_out, source_judgments
from exam_workbench.store import Project
from exam_workbench.study import Examinees, bank_worth
from exam_workbench.types import Question
from pages.parts.bank.editing_window import UNSETTLED
from pages.parts.shared import person
from tests.made.projects import SPEC, fill, judge, new_project
from tests.made.refusals import mentions
from tests.made.screens import MARKUP, QUESTIONS, RATINGS, RUNS, Screen, as_text, named, numbers, visit


def nothing_to_undo(project: Project) -> bool:
    return not project.value("SELECT count(*) FROM drafts")


def act(app: Screen, name: str, /, **more: object) -> Screen:
    return app.in_bank({"act": name, **more})


def unsaved(app: Screen) -> int:
    return int(app.holds("bank")["unsaved"])


def details(app: Screen) -> Screen:
    """Return the screen with the impact details expanded."""
    app.session_state["impact details"] = True
    return app.run()


class TestQuestionBank:
    def test_edit_is_stored_as_a_draft_at_once(self, small: Project) -> None:
        app = visit("question_bank")
        assert unsaved(app) == 0
        # Edits of two fields that arrive together are both kept.
        app.edit("What is A?", text="Who is A?", weight=0.5)
        changed = list_drafts(small, "ann")["q1/a"].question
        assert (changed.text, changed.weight, changed.active) == ("Who is A?", 0.5, True)
        app.edit("Who is A?", active=False)
        changed = list_drafts(small, "ann")["q1/a"].question
        assert (changed.text, changed.weight, changed.active) == ("Who is A?", 0.5, False)
        assert unsaved(app) == 1
        assert app.rows()[0]["done"] == "reworded, reweighted, retired"
        assert bank.list_questions(small, query_id="q1")[0] == QUESTIONS[0]
        again = visit("question_bank")
        assert "Who is A?" in again.texts() and unsaved(again) == 1

    def test_known_and_pending_effects_are_listed_separately(self, small: Project) -> None:
        app = visit("question_bank").edit("What is A?", active=False)
        assert not app.shows("pending")
        assert details(app).shows("reach")
        app = visit("question_bank", query="q2").edit("What is D?", text="Who is D?")
        assert app.shows("changed-queries", "query q1", "query q2") and app.shows("pending")
        assert details(app).shows("reach partial")
        for label, sign in (("best", "≥"), ("mean", "≈")):
            buttons = visit("question_bank", query="q2", label=label).button
            flips = [button.label for button in buttons if (button.key or "").startswith("flip q2 ")]
            assert flips and all(f"→ {sign} " in one for one in flips), flips
        known = [one.key for one in app.button if (one.key or "").startswith("flip q1 ")]
        assert known
        (folded,) = [one for one in app.expander if "query q1" in one.label]
        assert [one.key for one in folded.button] == known

    def test_flips_are_compared_with_judgments_that_are_not_held_out(self, small: Project) -> None:
        app = visit("question_bank").edit("What is A?", active=False)
        # p1: 5 → 1, judged 2. p2: 3 stays. p3: 4 stays. p4: 1 → 0, judged 0.
        assert numbers(app.note("flips")) == [2, 1, 1]
        judged = {one.key: numbers(one.label.split("judged")[1])[0] for one in app.button if "judged" in one.label}
        assert judged == {"flip q1 p1": 2, "flip q1 p4": 0}
        share, kept = 0.5, set(judged)
        set_hold_out(small, share, "olga", 3)
        judgments = source_judgments(for_confirming(small) or small, "assessors")
        held = {f"flip {query} {passage}" for query, passages in judgments.items() for passage in passages}
        assert held & kept and kept - held, "choose a seed that holds out only one of them"
        again = visit("question_bank", query="q1")
        assert {one.key for one in again.button if "judged" in one.label} == kept - held

    def test_flips_without_judgments_are_counted_by_direction(self, project: Project) -> None:
        fill(project, QUESTIONS, RATINGS, RUNS)
        app = visit("question_bank").edit("What is A?", active=False)
        assert numbers(app.note("flips")) == [2, 0, 2]

    def test_bulk_actions_are_single_steps(self, small: Project) -> None:
        def drafted() -> dict[str, tuple[float, bool]]:
            known = drafted_bank(small, "ann", "q1")
            return {one.question_id: (one.weight, one.active) for one in known if one.question_id.count("/") == 1}

        app = visit("question_bank")
        first, second = {"ids": ["q1/a", "q1/b"]}, {"ids": ["q1/b", "q1/c"]}
        act(app, "several", what="weight", value=0.5, **first)
        act(app, "several", what="retire", **second)
        expected = {"q1/a": (0.5, True), "q1/b": (0.5, False), "q1/c": (1.0, False)}
        assert drafted() == expected
        act(app, "undo")
        assert drafted() == expected | {"q1/b": (0.5, True), "q1/c": (1.0, True)}
        act(app, "several", what="retire", **second)
        act(app, "several", what="restore", **second)
        assert drafted() == expected | {"q1/b": (0.5, True), "q1/c": (1.0, True)}
        app = act(app, "several", what="merge", **second)
        (new,) = [one for one in drafted_bank(small, "ann", "q1") if one.question_id not in expected]
        assert (new.text, new.active) == ("What is B? What is C?", True)
        assert app.holds("questions")["focus"] == new.question_id
        assert [key for key, (_, active) in drafted().items() if not active and key in expected] == ["q1/b", "q1/c"]
        act(app, "several", what="merge", ids=["q1/a"])
        app.check_refused("too-few-questions")
        act(app, "several", what="weight", value=None, **first)
        app.check_refused("invalid-field")

    def test_typing_in_one_stint_is_one_undo_step(self, small: Project) -> None:
        app = visit("question_bank")
        for text in ("Who", "Who is", "Who is A?"):
            app.in_bank(app.edited(app.rows()[0]["text"], text=text) | {"stint": 7})
        assert bank.count_steps(small, "ann") == (1, 0)
        # Entering the field again starts another step.
        app.in_bank(app.edited("Who is A?", text="Who was A?") | {"stint": 8})
        assert bank.count_steps(small, "ann") == (2, 0)
        app.in_bank(app.edited("Who was A?", text="Who is A?") | {"stint": 8})
        assert bank.count_steps(small, "ann") == (1, 0)
        act(app, "undo")
        assert app.texts()[0] == "What is A?"

    def test_actions_run_once_in_order_for_known_windows(self, small: Project) -> None:
        app = visit("question_bank")
        app.in_bank(app.edited("What is A?", text="Who is A?"), {"act": "undo"}, app.edited("What is B?", weight=2))
        assert [(row["text"], row["weight"]) for row in app.rows()[:2]] == [("What is A?", 3.0), ("What is B?", 2.0)]
        # The browser resends unconfirmed actions with every run.
        here = app.holds("bank")
        place = {name: here[name] for name in ("window", "project", "author")}
        sent = [{"n": here["done"] + at, "act": "undo", **place} for at in range(2)]
        app.leave("bank", acts=sent)
        app.leave("bank", acts=sent)
        assert bank.count_steps(small, "ann") == (0, 1)
        app.edit("What is A?", text="Who is A?")
        act(app, "undo", window="another")
        assert app.texts()[0] == "Who is A?"

    def test_save_and_discard_wait_for_unseen_conflicts(self, small: Project) -> None:
        app = visit("question_bank")
        app.edit("What is A?", text="Who is A?")
        for version, pressed in enumerate(("save", "discard"), 2):
            bank.save_version(small, [replace(QUESTIONS[0], text=f"Which is A{version}?")], "theirs", "bob")
            act(app, pressed)
            assert UNSETTLED in app.holds("bank")["said"]
            app.press("mine")
            assert list_drafts(small, "ann")["q1/a"].question.text == "Who is A?"
            assert bank.latest_version(small) == version

    def test_draft_ends_when_the_saved_question_is_restored(self, small: Project) -> None:
        app = visit("question_bank")
        ways: list[tuple[str, dict[str, object]]] = [("take back", {"id": "q1/a"}), ("discard", {})]
        for name, more in ways:
            app.edit("What is A?", text="Who is A?", weight=0.5)
            act(app, name, **more)
            assert nothing_to_undo(small)
            assert (app.rows()[0]["text"], app.rows()[0]["weight"], unsaved(app)) == ("What is A?", 3.0, 0)
        app.edit("What is A?", text="Who is A?")
        app.edit("Who is A?", text="What is A?")
        assert nothing_to_undo(small) and unsaved(app) == 0

    def test_duplicate_questions_are_marked_while_typing(self, small: Project) -> None:
        app = visit("question_bank")
        assert not any(row["twin"] for row in app.rows())
        app.edit("What is C?", text=" what is A ")
        twins = {row["id"]: row["twin"].partition(": ")[2] for row in app.rows() if row["twin"]}
        assert twins == {"q1/a": "what is A", "q1/c": "What is A?"}
        # Equal wording under another subtopic is not a duplicate.
        app.edit(" what is A ", subtopic_id="s2")
        assert not any(row["twin"] for row in app.rows())
        app.edit(" what is A ", subtopic_id="s1")
        assert any(row["twin"] for row in app.rows())
        app.edit("What is A?", active=False)
        assert not any(row["twin"] for row in app.rows())

    def test_questions_are_added_and_saved_with_a_note(self, small: Project) -> None:
        app = visit("question_bank")
        for name in ("", "a", "../../q1/a", "0123456789AB", "0123456789abc"):
            act(app, "add", query="q1", name=name)
            assert nothing_to_undo(small)
            assert app.errors() == ["invalid-name"]
        # Questions that are added or typed in together keep their order and text.
        key = "q1/0123456789ab"
        typed = {"act": "edit", "id": key, "field": "text", "value": "What is new?", "base": ""}
        app.in_bank({"act": "add", "query": "q1", "name": key[3:]}, typed)
        assert (app.rows()[-1]["id"], app.rows()[-1]["text"], app.rows()[-1]["done"]) == (key, "What is new?", "new")
        act(app, "add", query="q1", name="000000000001")
        app.edit("", text="What is newer?")
        assert [q.text for q in drafted_bank(small, "ann", "q1")][-2:] == ["What is new?", "What is newer?"]
        act(app, "save", note="two more")
        newest = bank.list_versions(small)[0]
        assert (newest.version, newest.note, newest.author, newest.changed) == (2, "two more", "ann", 2)
        assert [q.text for q in bank.list_questions(small, query_id="q1")][-2:] == ["What is new?", "What is newer?"]
        assert (app.holds("bank")["version"], unsaved(app)) == (2, 0)
        app.session_state["more"] = "versions"
        app.run()
        versions = next(table.value for table in app.dataframe if "Note" in table.value)
        assert versions["Note"].tolist() == ["two more", "made for a test"]

    def test_save_error_clears_when_fixed_in_another_window(self, small: Project) -> None:
        app, other = visit("question_bank"), visit("question_bank")
        app.edit("What is A?", text=" ")
        act(app, "save")
        # A rerun without changes keeps the error.
        app.run().check_refused("empty-question", "q1/a")
        assert bank.latest_version(small) == 1 and "q1/a" in list_drafts(small, "ann")
        assert mentions(app.holds("bank")["said"], "q1/a")
        other.run().edit(" ", text="Who is A?")
        assert not app.run().error
        assert not app.holds("bank")["said"]

    def test_invalid_field_value_is_refused_and_not_stored(self, small: Project) -> None:
        app = visit("question_bank")
        for field, value in (("weight", 1e12), ("weight", "two"), ("kind", "x"), ("nonsense", "")):
            here = app.holds("bank")
            act(app, "edit", id="q1/a", field=field, value=value, base=app.rows()[0].get(field))
            assert nothing_to_undo(small)
            assert app.holds("bank")["refused"][str(here["done"] + 1)]
            # The refusal is dropped when the browser stops sending the edit.
            act(app, "leave")
            assert app.holds("bank")["refused"] == {}

    def test_drafts_belong_to_the_name_they_were_typed_under(self, small: Project) -> None:
        app = visit("question_bank")
        typed = app.edited("What is A?", text="Who is A?") | {"author": "ann"}
        app.choose("author", "bob")
        app.in_bank(typed)
        assert [*list_drafts(small, "ann")] == ["q1/a"] and not list_drafts(small, "bob")
        assert unsaved(app) == 0 and app.texts()[0] == "What is A?"
        app.edit("What is A?", text="Where is A?")
        app.choose("author", "ann")
        assert app.texts()[0] == "Who is A?"
        assert list_drafts(small, "bob")["q1/a"].question.text == "Where is A?"

    def test_queries_are_listed_and_opened(self, small: Project) -> None:
        app = visit("question_bank", query="gone")
        assert app.shows("another-query", "gone")
        listed = app.holds("queries")
        assert [row["text"] for row in listed["rows"]] == ["query q1", "query q2"]
        assert "query=q2" in listed["rows"][1]["href"]
        app.tell("queries", "acts", [{"id": 1, "do": "pick", "choice": "q2"}])
        assert app.query_params["query"] == "q2"
        assert app.texts() == ["What is D?", "What is E?"]
        assert app.holds("questions")["query"]["previous"] == "q1"
        # A rerun does not repeat the earlier choice from the list.
        act(app, "open", query="q1")
        assert app.texts()[0] == "What is A?"
        assert app.run().query_params["query"] == "q1"

    def test_another_project_opens_at_its_first_query(self, small: Project) -> None:
        other = new_project(small.path.with_name("zeta.duckdb"))
        fill(other, [Question("z9/a", "z9", "What is Z?")], {}, {})
        other.close()
        app = act(visit("question_bank"), "open", query="q2")
        app.choose("project", "zeta")
        assert not app.shows("another-query") and app.texts() == ["What is Z?"]

    def test_history_shows_all_wordings_with_their_versions(self, small: Project) -> None:
        bank.save_version(small, [Question("q1/a", "q1", "Who is A?", weight=2.0)], MARKUP, "bob")
        app = act(visit("question_bank"), "dialog", name="history", id="q1/a")
        assert app.shows("wording 1", "What is A?")
        assert app.shows("wording 2", "Who is A?")
        assert "<del>What</del> <ins>Who</ins> is A" in app.markup()
        assert app.shows("version 2", "bob", 2)
        (caption,) = app.boxes()["version 2"].caption
        assert MARKUP in as_text(caption.value)
        assert app.shows("version 1", "tester", "made for a test", 3)

    def test_pasted_questions_arrive_and_an_active_question_is_skipped(self, small: Project) -> None:
        app = visit("question_bank")
        for pasted in ("What is A?", "1. What is new?\n\n- What is A?\n- Who is new?"):
            act(app, "dialog", name="paste", id="")
            app.text_area[0].set_value(pasted)
            named(app.button, "add pasted").click()
            # The harness reruns whole screens, so the dialog is opened again for the click.
            act(app, "dialog", name="paste", id="")
            assert app.errors() == (["no-new-question"] if pasted == "What is A?" else [])
        assert app.texts()[-2:] == ["What is new?", "Who is new?"] and unsaved(app) == 2
        act(app, "save")
        added = bank.list_questions(small, query_id="q1")[-2:]
        assert [question.text for question in added] == ["What is new?", "Who is new?"]
        assert {(question.kind, question.weight, question.active) for question in added} == {("question", 1.0, True)}

    def test_a_question_is_duplicated_and_moved(self, small: Project) -> None:
        app = act(visit("question_bank"), "duplicate", id="q1/b")
        assert app.texts().count("What is B?") == 2
        assert app.holds("questions")["focus"] in [row["id"] for row in app.rows() if row["isNew"]]
        act(app, "undo")
        act(app, "move", id="q1/b", up=True)
        assert app.texts() == ["What is B?", "What is A?", "What is C?"]
        act(app, "move", id="q1/b", up=False)
        assert app.texts() == ["What is A?", "What is B?", "What is C?"]


def test_save_reports_ungraded_pairs_of_the_grader(small: Project) -> None:
    before = make_plan(small, SPEC, 1).to_grade
    app = visit("question_bank")
    app.edit("What is A?", text="Who is A?")
    act(app, "save", note="a person")
    # Four pooled passages; the other questions keep their grades.
    assert make_plan(small, SPEC, 2).to_grade == before + 4
    assert numbers(app.note("saved-to-grade"))[1] == before + 4
    assert app.shows("no-grader-here")
    # The note disappears with the next change.
    app.edit("What is B?", text="Who is B?")
    assert not app.shows("saved-to-grade")


def test_subtopic_filter_is_kept_in_the_url(small: Project) -> None:
    app = visit("question_bank")
    assert (app.holds("questions")["subtopics"], app.holds("questions")["subtopic"]) == (["s1"], "")
    act(app, "subtopic", chosen="s1")
    assert app.query_params["subtopic"] == "s1"
    assert visit("question_bank", subtopic="s1").holds("questions")["subtopic"] == "s1"
    act(app, "open", query="q2")
    assert "subtopic" not in app.query_params
    assert named(app.button, "suggest questions")


def test_item_response_lists_questions_with_suggestions(small: Project) -> None:
    app = visit("question_bank", query="q1")
    app.choose("more", "worth")
    examined: tuple[Examinees, ...] = ("systems", "passages")
    for examinees in examined:
        app.choose("told apart", examinees)
        told = bank_worth(small, Policy(), "q1", examinees).questions
        shown = app.dataframe[0].value
        assert list(shown["Question"]) == [row.text for row in told]
        assert list(app.table[0].value["Suggestion"]) == [row.suggestion for row in told]


ASKED = [Question("q1/a", "q1", "What is A?"), Question("q1/b", "q1", "What is B?")]
PAIR_RATINGS = {("What is A?", "p1"): 5, ("What is A?", "p2"): 1, ("What is B?", "p1"): 0, ("What is B?", "p2"): 3}


@pytest.fixture
def pair(project: Project) -> Project:
    """Return a project with a query, two questions, two passages, two runs, grades and judgments."""
    fill(project, ASKED, PAIR_RATINGS, {"good": {"q1": ["p1", "p2"]}, "bad": {"q1": ["p2", "p1"]}})
    judge(project, {("q1", "p1"): 1, ("q1", "p2"): 0})
    return project


@pytest.fixture
def new_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate a browser that remembers no name."""
    monkeypatch.setattr(person, "remembered_name", lambda: "")


def give_name(app: Screen, name: str) -> Screen:
    app.text_input("name given").set_value(name)
    return app.press("give name")


READ = ("home", "question_bank", "grading", "passages", "leaderboard", "disagreements", "changes", "export", "activity")


def test_downloads_need_a_name_but_reading_does_not(pair: Project, new_here: None) -> None:
    before = pair.value("SELECT count(*) FROM activity")
    for screen in READ:
        app = visit(screen)
        # The name of the system account is only a suggestion.
        assert app.text_input("name given").value == "ann", screen
        assert app.shows("about-names") and not app.error, screen
        assert pair.value("SELECT count(*) FROM activity") == before, screen
    # A download asks for a name first.
    for screen in ("home", "export"):
        app = visit(screen)
        assert not {"download qrels", "download test.qrels"} & set(app.downloads())
        app.press("name for test.qrels")
        assert app.shows("not-done-yet")
        give_name(app, "zoe")
        assert {"download qrels", "download test.qrels"} & set(app.downloads())


def test_first_action_asks_for_a_name_and_is_not_done(pair: Project, new_here: None) -> None:
    app = visit("question_bank")
    assert app.holds("questions")["readonly"]
    act(app, "add", query="q1", name="")
    assert app.shows("not-done-yet")
    assert not pair.value("SELECT count(*) FROM drafts")
    assert give_name(app, "   ").shows("about-names")
    give_name(app, " zoe ")
    assert app.text_input("author").value == "zoe"
    assert not app.holds("questions")["readonly"]
    act(app, "add", query="q1", name="0123456789ab")
    assert len(list_drafts(pair, "zoe")) == 1


def test_edit_over_an_unseen_edit_waits_for_a_choice(pair: Project) -> None:
    app = visit("question_bank")
    for takes, kept in (False, "Theirs?"), (True, "Mine?"):
        before = app.texts()[0]
        change_draft(pair, "ann", ASKED[0], "text", "Theirs?")
        number = str(app.holds("bank")["done"] + 1)
        app.edit(before, text="Mine?")
        # The stored text is shown. The typed text waits in the browser for a choice.
        assert app.texts()[0] == "Theirs?"
        assert app.holds("bank")["refused"] == {number: None}
        # The same wording from two windows does not cross.
        change_draft(pair, "ann", ASKED[0], "text", "Theirs?", over=ASKED[0].text)
        app.edit("Theirs?", text="Mine?") if takes else act(app, "leave")
        assert app.texts()[0] == list_drafts(pair, "ann")["q1/a"].question.text == kept
        assert app.holds("bank")["refused"] == {}
        act(app, "discard")


def test_edits_of_another_window_are_shown_before_discarding(pair: Project) -> None:
    app = visit("question_bank")
    app.edit("What is A?", text="Who is A?")
    # This edit comes from another window of ann.
    change_draft(pair, "ann", ASKED[1], "text", "Who is B?")
    act(app, "discard")
    assert list(list_drafts(pair, "ann")) == ["q1/a", "q1/b"]
    assert app.texts() == ["Who is A?", "Who is B?"]
    assert app.holds("bank")["said"]
    act(app, "discard")
    assert list_drafts(pair, "ann") == {}
    act(app, "undo")
    assert list(list_drafts(pair, "ann")) == ["q1/a", "q1/b"]


def test_edits_in_one_window_never_conflict_and_saving_includes_them(pair: Project) -> None:
    app = visit("question_bank")
    app.in_bank(app.edited("What is A?", text="Who is A?"), {"act": "save", "note": ""})
    assert bank.latest_version(pair) == 2
    assert bank.list_questions(pair)[0].text == "Who is A?"
    assert (app.holds("bank")["version"], app.holds("bank")["unsaved"]) == (2, 0)
    act(app, "save")
    assert app.holds("bank")["said"] and bank.latest_version(pair) == 2
    for text in ("One?", "Two?", "Three?"):
        app.edit(app.texts()[0], text=text)
    act(app, "undo")
    app.edit("Two?", text="Four?")
    assert list_drafts(pair, "ann")["q1/a"].question.text == "Four?"
    assert app.holds("bank")["note"] == "1 reworded in query q1"
    act(app, "save")
    assert bank.list_versions(pair)[0].note == "1 reworded in query q1"
    bank.save_version(pair, [Question("q1/a", "q1", "Saved elsewhere?")], "from afar", "bob")
    app.run()
    assert app.texts()[0] == "Saved elsewhere?"


def test_split_keeps_line_separators_within_a_question(pair: Project) -> None:
    app = act(visit("question_bank"), "dialog", name="split", id="q1/a")
    app.text_area[0].set_value("Who\u2028is A?\nWhat is A?")
    app.session_state["bank window"].dialog = ("split", "q1/a")
    app.press("split")
    assert {"Who\u2028is A?", "What is A?"} <= {one.text for one in drafted_bank(pair, "ann", "q1")}
