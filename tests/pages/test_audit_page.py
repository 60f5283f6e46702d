"""The Audit screen: the plan, the desk where people judge, the board, labels, roles, and what goes out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core import audit as room
from core import bank
from core.audit import Goal
from core.project import Project, judgments
from core.types import Question
from tests.made.audits import SYSTEMS, deal, fill_audited, judge_batch, next_card, truth
from tests.made.projects import copy_of
from tests.made.screens import holds, links, named, press, served, sound, tell, visit
from tests.made.screens import said as said_escaped

__all__ = ["served"]  # fixtures


def said(app: AppTest) -> str:
    """All sentences of the screen, as they are read."""
    return said_escaped(app).replace("\\", "")


def plan(project: Project) -> None:
    fill_audited(project)
    room.design(project, "first", "P@3", Goal("best"), batch_size=12, seed=3, author="org")


def judged(project: Project) -> None:
    plan(project)
    audit = room.find_audit(project)
    room.draw(project, audit, "org")
    judge_batch(project, audit, "ben")


@pytest.fixture
def planned(tmp_path: Path) -> Any:
    yield from copy_of(plan, tmp_path)


@pytest.fixture
def done(tmp_path: Path) -> Any:
    yield from copy_of(judged, tmp_path)


@pytest.fixture
def plain(tmp_path: Path) -> Any:
    yield from copy_of(fill_audited, tmp_path)


def act(app: AppTest, *acts: dict[str, object]) -> AppTest:
    """Have the desk report what was done there."""
    taken = holds(app, "judging")["taken"]
    return tell(app, "judging", "acts", [{"id": taken + at, **one} for at, one in enumerate(acts, 1)])


def test_a_board_without_an_audit_says_so_and_leads_to_planning_one(plain: Project) -> None:
    board = visit("leaderboard")
    assert "No audit: nobody knows how far these scores are off" in said(board)

    app = visit("audit", project="test")
    assert "never held the true score" in said(app) and "ungraded" not in said(app)
    assert "judgments are needed" in said(app), "before anything is planned one sees what it takes"
    app = press(app, "Plan the audit")
    audit = room.find_audit(plain)
    assert audit.measure == "mean judgment@10 (DCG weights)"
    assert (audit.name, audit.runs, audit.author) == ("audit", SYSTEMS, "ann")
    assert "“audit” is planned." in said(app) and "These scores are the machine's alone" in said(app)
    assert app.query_params["project"] == "test"
    assert "No audit yet, though “audit” is under way" in said(visit("leaderboard"))
    # One that was planned elsewhere since is the one that a link to it opens.
    room.design(plain, "later", "P@2", Goal("best"), batch_size=3, seed=2, author="bob")
    app.query_params["audit"] = "later"
    assert named(sound(app.run()).selectbox, "Audit").value == "later"


def test_what_is_taken_where_nobody_says_it_stands_in_the_fields_of_batches(plain: Project) -> None:
    app = visit("audit")

    def proposed() -> list[str]:
        return [named(app.number_input, name).placeholder for name in ("Passages of a batch", "Batches at most")]

    assert proposed() == ["100", "4"]
    named(app.get("button_group"), "What do you want to know?").set_value("budget")
    app = sound(app.run())
    assert proposed() == ["200", "1"]
    named(app.number_input, "Passages of a batch").set_value(60)
    app = sound(app.run())
    assert proposed() == ["60", "4"]
    app = press(app, "Plan the audit")
    audit = room.find_audit(plain)
    assert (audit.batch_size, audit.looks) == (60, 4)


def test_who_plans_on_a_pool_that_is_not_graded_is_told_first(plain: Project) -> None:
    bank.save(plain, [Question("q1/new", "q1", "What else of q1?")], "one more", "ann")
    app = visit("audit")
    assert "9 of 63 pairs are ungraded" in said(app) and "grading" in links(app)


def test_judgments_are_kept_under_the_name_that_the_audit_gets(plain: Project) -> None:
    app = visit("audit")
    named(app.text_input, "Name").set_value("ours")
    app = press(app, "Plan the audit")
    assert room.find_audit(plain).source == "audit: ours"


def test_whoever_planned_one_more_lands_on_it_and_the_address_keeps_the_project(planned: Project) -> None:
    app = visit("audit", project="test", view="Plan another")
    for name in "audit 2", "audit 3":
        app = press(app, "Plan the audit")
        assert f"“{name}” is planned." in said(app)
        assert f"**{name}**: " in said(app) and "These scores are the machine's alone" in said(app)
        assert named(app.selectbox, "Audit").value == name
        assert app.query_params["project"] == "test" and "view" not in app.query_params
        named(app.get("button_group"), "View").set_value("Plan another")
        app = sound(app.run())
    named(app.selectbox, "Audit").set_value("first")
    app = press(app, "Plan the audit")
    assert named(app.selectbox, "Audit").value == "audit 4"
    assert [one.name for one in room.audits(planned)] == ["first", "audit 2", "audit 3", "audit 4"]


def test_people_judge_what_was_drawn_blind_and_the_board_follows(planned: Project) -> None:
    app = visit("audit")
    app = press(app, "Draw batch 1")
    audit = room.find_audit(planned)
    batch = room.batches(planned, audit)[-1]
    assert f"0 of {batch.drawn} said" in app.get("progress")[0].proto.text

    app = press(app, "Judge")
    assert app.query_params["view"] == "Judge"
    shown = holds(app, "judging")
    assert [one["value"] for one in shown["scale"]] == [0, 1, 2, 3]
    assert "label" not in str(shown["cards"]), "the desk has no machine's label until somebody asks for one"
    first = shown["cards"][shown["open"][0]]
    place = {"query": first["query"], "passage": first["passage"]}
    app = act(app, {"do": "look", **place})
    label = holds(app, "judging")["labels"][0]
    assert (label["passage"], label["highest"]) == (first["passage"], 5)
    app = act(app, {"do": "judge", **place, "value": 3})
    app = act(app, {"do": "take back", **place})
    assert judgments(planned, audit.source) == {}

    seen: list[tuple[str, str]] = []
    while (shown := holds(app, "judging"))["open"]:
        cards = [shown["cards"][at] for at in shown["open"]]
        # At first one by one; what is said quickly arrives together.
        said_now = [(card["query"], card["passage"]) for card in (cards if len(seen) > 2 else cards[:1])]
        seen += said_now
        app = act(app, *({"do": "judge", "query": q, "passage": p, "value": truth(q, p)} for q, p in said_now))
    assert len(seen) == len(set(seen)) == batch.drawn
    assert shown["left"] == 0
    assert [one.looked for one in room.assessors(planned, audit)] == [1]

    board = holds(visit("audit"), "audited")
    assert {one["run"] for one in board["systems"]} == set(SYSTEMS)
    assert all(one["low"] <= one["audited"] <= one["high"] for one in board["systems"])
    assert len(board["differences"]) == 6


def test_what_cannot_be_done_at_the_desk_is_said_with_the_passage_it_is_about(planned: Project) -> None:
    audit = room.find_audit(planned)
    room.draw(planned, audit, "org")
    app = visit("audit", view="Judge")
    shown = holds(app, "judging")
    mine = {one["query"] for one in shown["cards"]}
    found = deal(planned, audit, "ben")
    assert found is not None and next_card(found) is not None and found.query.query_id not in mine
    app = act(app, {"do": "judge", "query": found.query.query_id, "passage": next_card(found).passage_id, "value": 1})
    error = holds(app, "judging")["error"]
    assert error["message"] == f"Query {found.query.query_id} is being judged by ben."
    assert error["passage"] == next_card(found).passage_id


def test_second_judgments_are_dealt_also_once_everything_was_judged_by_somebody(planned: Project) -> None:
    audit = room.find_audit(planned)
    room.draw(planned, audit, "org", doubled=0.5)
    judge_batch(planned, audit, "ben")
    while True:
        app = visit("audit", view="Judge")
        shown = holds(app, "judging")
        if not shown["open"]:
            break
        one = shown["cards"][shown["open"][0]]
        assert one["again"]
        about = {"query": one["query"], "passage": one["passage"]}
        app = act(app, {"do": "judge", **about, "value": 1} if shown["left"] > 1 else {"do": "cannot say", **about})
    batch = room.batches(planned, audit)[-1]
    assert batch.doubled > 1 and batch.judged_twice == batch.doubled - 1
    assert holds(app, "judging")["left"] == 0


def test_the_board_says_what_holds_and_under_which_rule_one_may_stop(done: Project) -> None:
    app = visit("audit")
    assert "Look 1 of 4" in said(app) and "power family" in said(app)
    assert "The labels of the pool: precision" in said(app)
    assert [one.label for one in app.button if one.label.startswith("Draw")] == ["Draw batch 2"]
    measure = room.find_audit(done).measure
    assert "corrects these scores" in said(visit("leaderboard", measure=measure))
    other = said(visit("leaderboard", measure="nDCG@5"))
    assert f"audited {measure} by these labels" in other and "corrects these scores" not in other
    # Where several did, the one of this measure is named, whichever is the newest.
    later = room.design(done, "later", "DCG@3", Goal("best"), seed=3, author="org")
    room.draw(done, later, "org")
    judge_batch(done, later, "ben")
    assert "“first” corrects these scores" in said(visit("leaderboard", measure=measure))
    assert "“later” audited mean judgment@3 (DCG weights) by these labels" in said(
        visit("leaderboard", measure="nDCG@5")
    )


def test_a_spent_budget_is_no_finding_and_it_is_said_what_is_known(done: Project) -> None:
    audit = room.design(done, "few", "P@3", Goal("budget", budget=10), seed=3, author="org")
    room.draw(done, audit, "org")
    judge_batch(done, audit, "ben")
    shown = said(visit("audit", audit="few"))
    assert "**Target reached:**" in shown and "It holds" not in shown
    assert room.told_apart(done, audit) in shown.replace("\\", "")


def test_labels_are_explained_and_a_min_rating_is_proposed_and_never_set(done: Project) -> None:
    app = visit("audit", view="Labels")
    tables = [str(one.proto.body) for one in app.get("html") if "ew-shares" in str(one.proto.body)]
    assert "judged 3" in "".join(tables) and "Min rating" in "".join(tables)
    found = room.calibration(done, room.find_audit(done))
    assert ("nearest to each other" in said(app)) == (found.balanced is not None)
    assert "min rating 4" in said(app)


def test_a_model_that_plays_two_roles_is_warned_of_once_somebody_says_so(done: Project) -> None:
    app = visit("audit", view="Roles")
    assert "No model is known to play two roles." in said(app)
    grader = named(app.text_input, "Who graded").value
    named(app.text_input, "Who wrote the questions").set_value(grader)
    app = press(app, "State these roles")
    assert f"{grader} wrote questions and graded the answers to them." in said(app)


def test_the_paragraph_for_a_paper_the_sheet_and_the_end(done: Project) -> None:
    audit = room.find_audit(done)
    app = visit("audit", view="Paper")
    assert app.code[0].value == room.methods(done, audit)
    assert "No batch waits" in said(app)
    room.draw(done, audit, "org")
    app = visit("audit", view="Paper")
    assert "Download the sheet" in [one.proto.label for one in app.get("download_button")]
    app = press(app, "End the audit now")
    assert room.find_audit(done).ended
    assert "This audit is ended." in said(visit("audit", view="Judge"))


def test_another_audit_that_is_planned_opens_also_where_the_address_names_the_one_before(done: Project) -> None:
    app = visit("audit", audit="first")
    room.design(done, "second", "P@3", Goal("best"), seed=4, author="org")
    app.session_state["planned audit"] = "second"
    sound(app.run())
    assert app.selectbox("audit").value == "second"
