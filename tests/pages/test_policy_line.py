"""The line that says on every screen under which choices one looks."""

from __future__ import annotations

import pytest

from exam_workbench.bank import save_version
from exam_workbench.bank._asked_questions import question_text_key
from exam_workbench.labels import Policy, basis, label_qrels
from exam_workbench.store import Project
from exam_workbench.types import GraderSpec, Question
from pages.parts.shared import scoring_settings
from pages.parts.shared.scoring_settings import LABEL_RULES
from tests.bank.test_succession import FORMER, LATER, work
from tests.made.projects import SPEC, fill, grade
from tests.made.refusals import mentions
from tests.made.screens import (
    choose,
    holds,
    keyed,
    looked_at,
    metric,
    named,
    note,
    numbers,
    said,
    served,
    shared,
    shows,
    sound,
    visit,
)

__all__ = ["looked_at", "served", "shared"]

SCREENS = ("question_bank", "passages", "disagreements", "leaderboard", "export")


@pytest.mark.parametrize("screen", SCREENS)
def test_every_screen_says_the_same_of_the_same_choices(shared: Project, screen: str) -> None:
    app = visit(screen, tau="3", label="Weighted mean", weights="false", measure="AP")
    assert shows(app, "looking", "test grader", "AP") and numbers(note(app, "looking").splitlines()[0]) == [3, 1]


def test_a_direct_judge_has_its_own_scale_and_is_asked_no_question(project: Project) -> None:
    judge = GraderSpec("a judge", "direct", "a model", max_rating=3)
    fill(project, [Question("q1/a", "q1", "What is A?")], {}, {"run": {"q1": ["p1"]}})
    with project.transaction() as cursor:
        question_text_key(cursor, "query q1")
    grade(project, {("query q1", "p1"): 3}, judge)
    app = visit("question_bank")
    assert shows(app, "looking", "a judge") and numbers(note(app, "looking").splitlines()[0])[:3] == [3, 0, 3]
    bank = holds(app, "questions")
    assert mentions(bank["about"], "a judge")
    assert [row["figures"] for row in bank["rows"]] == [None]
    # A min rating within the scale is the one that the labels are cut at.
    for asked in 1, 2, 3:
        chosen = visit("question_bank", tau=str(asked))
        assert shows(chosen, "looking", "a judge") and numbers(note(chosen, "looking").splitlines()[0])[:3] == [
            asked,
            0,
            3,
        ]
    # The qrels say the threshold of that scale, too: no label is above 3.
    assert [numbers(box.label)[-2:] for box in visit("export").checkbox if box.key == "binary"] == [[3, 0]]


def test_what_has_no_effect_here_is_disabled_and_says_so(shared: Project) -> None:
    app = visit("disagreements")
    assert not named(app.selectbox, "tau").disabled
    assert named(app.selectbox, "measure").disabled
    assert named(app.selectbox, "measure").help.startswith(scoring_settings.NO_EFFECT)
    assert not named(visit("question_bank").selectbox, "measure").disabled


def test_a_choice_goes_along_to_the_next_screen(shared: Project) -> None:
    app = choose(visit("passages"), "tau", 2)
    assert numbers(note(app.switch_page("pages/export.py").run(), "looking").splitlines()[0])[0] == 2


def test_where_no_choice_has_an_effect_none_is_said_and_none_is_lost(shared: Project) -> None:
    app = choose(visit("passages"), "tau", 2)
    app = app.switch_page("pages/activity.py").run()
    assert not shows(app, "looking") and not keyed(app.selectbox, "tau")
    assert app.query_params["tau"] == "2"
    assert numbers(note(app.run().switch_page("pages/export.py").run(), "looking").splitlines()[0])[0] == 2


def test_a_measure_that_a_screen_cannot_show_is_named_and_the_usual_one_taken(shared: Project) -> None:
    app = visit("question_bank", measure="n-EXAM@20")
    assert shows(app, "other-measure", "n-EXAM@20", "nDCG@10")
    assert not app.error


def test_links_take_the_choices_along_and_the_address_says_each_once(shared: Project) -> None:
    app = choose(visit("passages", measure="AP"), "tau", 2)
    menu = {element.proto.page: element.proto.query_string for element in app.sidebar.get("page_link")}
    assert set(menu["export"].split("&")) == {"project=test", "tau=2", "measure=AP"}
    assert app.query_params["tau"] == "2"
    choose(app, "tau", 4)
    assert app.query_params["tau"] == "4"


def test_a_browser_that_is_behind_takes_no_choice_back(shared: Project) -> None:
    app = choose(visit("passages"), "tau", 2)
    # The next click was made before the address of the first had come.
    del app.query_params["tau"]
    app = choose(app, "label", "Weighted mean")
    assert numbers(note(app, "looking").splitlines()[0])[0] == 2


def test_a_browser_that_did_not_name_the_project_yet_takes_no_choice_back(shared: Project) -> None:
    app = choose(visit("passages"), "tau", 2)
    app.query_params.clear()
    app = choose(app, "label", "Weighted mean")
    assert numbers(note(app, "looking").splitlines()[0])[0] == 2
    assert app.query_params["project"] == "test"


def test_an_address_names_its_project_without_a_step_of_the_history(shared: Project) -> None:
    app = visit("export")
    assert holds(app, "place-project")["values"] == {"project": "test"}
    assert all(link.proto.query_string == "project=test" for link in app.sidebar.get("page_link"))
    assert "project" not in app.query_params, "to set it would be a step"


def test_what_an_address_says_wrongly_is_the_default(shared: Project) -> None:
    app = visit("passages", tau="9", label="nothing", relevant="x", grader="none", cutoff="0")
    assert shows(app, "looking", "test grader", "nDCG@10") and numbers(note(app, "looking").splitlines()[0])[0] == 4


def test_a_choice_beside_one_of_the_screen_itself_is_written_into_the_address(shared: Project) -> None:
    app = choose(visit("leaderboard", view="All boards"), "tau", 2)
    assert (app.query_params["tau"], app.query_params["view"]) == ("2", "All boards")
    assert numbers(note(app, "looking").splitlines()[0])[0] == 2


def test_a_grader_that_became_the_usual_one_by_itself_is_said_to_have(project: Project) -> None:
    passages = [f"p{number}" for number in range(4)]
    asked = {("A?", passage): 3 for passage in passages}
    fill(project, [Question("q1/a", "q1", "A?")], asked, {"run": {"q1": passages}}, FORMER)
    assert not shows(visit("home"), "succeeded")
    work(project, LATER, passages[:2])
    for screen in "home", "leaderboard":
        told = said(visit(screen)).replace("\\", "")
        assert mentions(told, "reader")
    assert not shows(visit("home", grader="nearness"), "succeeded")


def test_what_is_folded_away_has_what_is_chosen_as_its_default(shared: Project) -> None:
    """A browser that draws a widget for the first time, long after its value was sent, takes the default."""
    app = visit("question_bank", cutoff="7", tau="2", measure="P@7", label="Weighted mean")
    app = sound(app.run())
    assert named(app.checkbox, "weights").proto.default is True
    assert named(app.number_input, "cutoff").proto.default == 7
    for label, chosen in (("tau", "2"), ("measure", "P@7"), ("label", LABEL_RULES["mean"])):
        box = named(app.selectbox, label)
        assert box.options[box.proto.default] == chosen


def test_a_link_carries_the_rating_rule(project: Project) -> None:
    fill(project, [Question("q1/a", "q1", "What is A?")], {("What is A?", "p1"): 5}, {"run": {"q1": ["p1"]}})
    with project.transaction() as cursor:
        cursor.execute("UPDATE grades SET distribution = [.5, 0, 0, 0, 0, .5]")
    assert visit("leaderboard", rating="expected").selectbox("rating").value == "expected"
    assert visit("leaderboard").selectbox("rating").value == "written"
    cuts = "expected:.5,1,1.5,2,2.4"
    app = visit("export", rating=cuts)
    assert app.selectbox("rating").value == cuts and shows(app, "looking", cuts)
    for wrong in "expected:2,1", "expected:1,2", "mean":
        app = visit("export", rating=wrong)
        assert app.selectbox("rating").value == "written" and shows(app, "no-such-rating", wrong)


def test_changes_compares_labels_by_the_rating_rule_of_the_link(project: Project) -> None:
    asked = [Question(f"q1/{letter}", "q1", f"What is {letter}?") for letter in "AB"]
    fill(project, asked[:1], {("What is A?", "p1"): 5}, {"run": {"q1": ["p1"]}})
    save_version(project, asked[1:], "", "ann")
    grade(project, {("What is B?", "p1"): 5}, SPEC)
    with project.transaction() as cursor:
        cursor.execute("UPDATE grades SET distribution = [.5, 0, 0, 0, 0, .5]")
        cursor.execute(
            "UPDATE grades SET distribution = [0, 0, 0, 0, 0, 1] WHERE question_text_key ="
            " (SELECT text_key FROM question_texts WHERE text = 'What is B?')"
        )
    differing = {
        rule: metric(visit("changes", from_version="1", to_version="2", rating=rule), "metric differing")
        for rule in ("written", "expected")
    }
    assert differing == {"written": "0", "expected": "1"}


def test_cut_points_of_the_embedding_grader_are_typed(project: Project) -> None:
    fill(project, [Question("q1/a", "q1", "What is A?")], {}, {"run": {"q1": ["p1"]}})
    grade(project, {("What is A?", "p1"): 2}, GraderSpec("by meaning", "embedding", "a model"))
    with project.transaction() as cursor:
        cursor.execute("UPDATE grades SET raw = '.55'")
    cuts = "expected:.1,.2,.3,.4,.5"
    app = visit("leaderboard", rating=cuts)
    assert app.selectbox("rating").value == cuts and "Expected rating" not in app.selectbox("rating").options
    assert label_qrels(project, basis(project, Policy(rating=cuts)))["q1"]["p1"] == 5
