"""The Audit screen: planning, judging, audited leaderboard, labels, roles, graders and paper."""

from dataclasses import replace

from exam_workbench import audit as room, bank
from exam_workbench.audit import Goal
from exam_workbench.labels import leaderboard
from exam_workbench.records import source_judgments
from exam_workbench.store import Project
from exam_workbench.types import Question
from tests.made.audits import QUERIES, SYSTEMS, deal, fill_audited, judge_batch, next_card, truth
from tests.made.projects import SPEC, filled_project, grade
from tests.made.screens import named, numbers, visit

SECOND = replace(SPEC, name="second", model="second")


def plan(project: Project) -> None:
    fill_audited(project)
    room.design_audit(project, "first", "P@3", Goal("best"), batch_size=12, seed=3, author="org")


def add_judged(project: Project, name: str, measure: str, goal: Goal) -> None:
    """Add an audit, and let ben judge its first batch."""
    audit = room.design_audit(project, name, measure, goal, batch_size=12, seed=3, author="org")
    room.draw_batch(project, audit, "org")
    judge_batch(project, audit, "ben")


def judged(project: Project) -> None:
    fill_audited(project)
    add_judged(project, "first", "P@3", Goal("best"))


plain, planned, done = filled_project(fill_audited), filled_project(plan), filled_project(judged)


def test_unaudited_leaderboard_is_flagged_and_audit_can_be_planned(plain: Project) -> None:
    board = visit("leaderboard")
    assert board.shows("audit none")

    app = visit("audit", project="test")
    assert app.shows("why-audit") and not app.shows("ungraded-before-audit")
    assert numbers(app.note("judgments-needed"))
    app = app.press("plan audit")
    audit = room.find_audit(plain)
    assert audit.measure == "mean judgment@10 (DCG weights)"
    assert (audit.name, audit.runs, audit.author) == ("audit", SYSTEMS, "ann")
    assert app.shows("about-audit", "audit")
    assert app.shows("machine-alone")
    assert app.query_params["project"] == "test"
    assert visit("leaderboard").shows("audit begun", "audit")
    # A link opens the audit that it names, even if another session planned it.
    room.design_audit(plain, "later", "P@2", Goal("best"), batch_size=3, seed=2, author="bob")
    app.query_params["audit"] = "later"
    assert named(app.run().selectbox, "audit").value == "later"


def test_plan_form_shows_defaults_and_audit_keeps_its_name(plain: Project) -> None:
    # The form survives an unusable measure.
    app = visit("audit", measure="n-EXAM@20")
    assert not app.error
    assert named(app.button, "plan audit")
    app = visit("audit")

    def proposed() -> list[str]:
        return [named(app.number_input, name).placeholder for name in ("audit-size", "audit-looks")]

    assert proposed() == ["100", "4"]
    # The two best systems are the default pair.
    app = app.choose("audit-aim", "pair")
    best = [system.run for system in leaderboard(plain, "nDCG@10").systems]
    assert [named(app.selectbox, f"audit-{which}").value for which in ("first", "second")] == best[:2]
    app = app.choose("audit-aim", "budget")
    assert proposed() == ["200", "1"]
    app = app.choose("audit-size", 60)
    assert proposed() == ["60", "4"]
    named(app.text_input, "audit-name").set_value("ours")
    app = app.press("plan audit")
    audit = room.find_audit(plain)
    assert (audit.batch_size, audit.looks, audit.source) == (60, 4, "audit: ours")
    # A later plan warns of ungraded pairs.
    bank.save_version(plain, [Question("q1/new", "q1", "What else of q1?")], "one more", "ann")
    app = visit("audit", view="Plan another audit")
    assert numbers(app.note("ungraded-before-audit")) == [9, 63] and "grading" in app.links()


def test_planning_another_audit_opens_it_and_keeps_project_in_address(planned: Project) -> None:
    app = visit("audit", project="test", view="Plan another audit")
    for name in "audit 2", "audit 3":
        app = app.press("plan audit")
        assert any(name in toast.value for toast in app.toast)
        assert app.shows("about-audit", name) and app.shows("machine-alone")
        assert named(app.selectbox, "audit").value == name
        assert app.query_params["project"] == "test" and "view" not in app.query_params
        app = app.choose("view", "Plan another audit")
    named(app.selectbox, "audit").set_value("first")
    app = app.press("plan audit")
    assert named(app.selectbox, "audit").value == "audit 4"
    assert [one.name for one in room.find_audits(planned)] == ["first", "audit 2", "audit 3", "audit 4"]


def test_drawn_batch_is_judged_blind_and_updates_leaderboard(planned: Project) -> None:
    app = visit("audit")
    app = app.press("draw batch")
    audit = room.find_audit(planned)
    batch = room.list_batches(planned, audit)[-1]
    assert numbers(app.get("progress")[0].proto.text)[1:3] == [0, batch.drawn]

    app = app.press("go to Judge")
    assert app.query_params["view"] == "Judge"
    shown = app.holds("judging")
    assert [one["value"] for one in shown["scale"]] == [0, 1, 2, 3]
    assert "label" not in str(shown["cards"]), "no grader label may reach the desk before it is requested"
    first = shown["cards"][shown["open"][0]]
    place = {"query": first["query"], "passage": first["passage"]}
    app = app.act("judging", {"do": "look", **place})
    label = app.holds("judging")["labels"][0]
    assert (label["passage"], label["highest"]) == (first["passage"], 5)
    app = app.act("judging", {"do": "judge", **place, "value": 3})
    app = app.act("judging", {"do": "take back", **place})
    assert source_judgments(planned, audit.source) == {}

    judge_batch(planned, audit)
    assert app.run().holds("judging")["left"] == 0
    assert [one.looked for one in room.list_audit_assessors(planned, audit)] == [1]

    app = visit("audit")
    assert set(app.board().index) == set(SYSTEMS)
    assert (app.board()["± error"] >= 0).all() and list(app.board()["Official Rank"]) != list(app.board()["Rank"])
    pairs = [app.tell("systems", "open", run).holds("systems")["detail"]["pairs"] for run in SYSTEMS]
    assert [len(found) for found in pairs] == [3] * 4 and app.query_params["followed"] == SYSTEMS[-1]


def test_refused_judgment_names_query_and_passage(planned: Project) -> None:
    audit = room.find_audit(planned)
    room.draw_batch(planned, audit, "org")
    app = visit("audit", view="Judge")
    shown = app.holds("judging")
    mine = {one["query"] for one in shown["cards"]}
    found = deal(planned, audit, "ben")
    assert found is not None and next_card(found) is not None and found.query.query_id not in mine
    app = app.act(
        "judging", {"do": "judge", "query": found.query.query_id, "passage": next_card(found).passage_id, "value": 1}
    )
    error = app.holds("judging")["error"]
    assert "ben" in error["message"] and found.query.query_id in error["message"]
    assert error["passage"] == next_card(found).passage_id


def test_second_judgments_are_dealt_after_batch_is_fully_judged(planned: Project) -> None:
    audit = room.find_audit(planned)
    room.draw_batch(planned, audit, "org", doubled=0.5)
    judge_batch(planned, audit, "ben")
    while True:
        app = visit("audit", view="Judge")
        shown = app.holds("judging")
        if not shown["open"]:
            break
        one = shown["cards"][shown["open"][0]]
        assert one["again"]
        about = {"query": one["query"], "passage": one["passage"]}
        app = app.act(
            "judging", {"do": "judge", **about, "value": 1} if shown["left"] > 1 else {"do": "cannot say", **about}
        )
    batch = room.list_batches(planned, audit)[-1]
    assert batch.doubled > 1 and batch.judged_twice == batch.doubled - 1
    assert app.holds("judging")["left"] == 0


def test_audit_shows_stopping_rule_and_leaderboard_names_its_audit(done: Project) -> None:
    app = visit("audit")
    assert app.shows("looks", 1, 4)
    assert len(numbers(app.note("about-labels"))) >= 9
    assert [one.key for one in app.button if (one.key or "").startswith("draw")] == ["draw batch"]
    measure = room.find_audit(done).measure
    assert visit("leaderboard", measure=measure).shows("audit corrects")
    other = visit("leaderboard", measure="nDCG@5")
    assert other.shows("audit of another measure", measure)
    # Among several audits, one of the same measure takes precedence over the newest.
    add_judged(done, "few", "P@3", Goal("budget", budget=10))
    later = room.audit_outcome(done, room.find_audit(done, "few"))
    app = visit("audit", audit="few")
    assert app.shows("target reached")
    assert app.shows("separated-pairs", later.separated, later.pairs)
    add_judged(done, "later", "DCG@3", Goal("best"))
    assert visit("leaderboard", measure=measure).shows("audit corrects", "few")
    assert visit("leaderboard", measure="nDCG@5").shows("audit of another measure", "later", "3")


def test_min_rating_is_proposed_and_double_roles_are_flagged(done: Project) -> None:
    app = visit("audit", view="Labels")
    shares, quality = (table.value for table in app.dataframe)
    found = room.calibrate_labels(done, room.find_audit(done))
    assert "Judged 3" in shares and list(quality["Min rating"]) == [one.rating for one in found.min_ratings]
    assert app.shows("balanced") == (found.balanced is not None)
    assert app.shows("about-audit", 4)
    app = visit("audit", view="Roles")
    assert app.shows("no-double-roles")
    grader = named(app.text_input, "roles-grader").value
    named(app.text_input, "roles-questions").set_value(grader)
    app = app.press("state roles")
    assert app.shows("double-roles", grader)


def test_graders_are_compared_once_second_has_labels(done: Project) -> None:
    assert visit("audit", view="Graders").shows("empty")
    pairs = [(f"What of {query}?", f"{query}p{i}") for query in QUERIES for i in range(1, 10)]
    grade(done, {(text, passage): truth(text[8:-1], passage) + 2 for text, passage in pairs}, SECOND)
    add_judged(done, "graded", "DCG@3", Goal("best"))
    app = visit("audit", view="Graders", audit="graded")
    found = room.choose_grader(done, room.find_audit(done, "graded"))
    assert app.shows("chosen-grader", found.chosen)
    assert app.dataframe[0].value["Grader"].tolist() == [one.grader for one in found.graders]


def test_paper_view_offers_methods_and_sheet_and_ends_audit(done: Project) -> None:
    audit = room.find_audit(done)
    app = visit("audit", view="Paper")
    assert app.code[0].value == room.describe_methods(done, audit)
    assert app.shows("no-batch")
    room.draw_batch(done, audit, "org")
    app = visit("audit", view="Paper")
    assert "sheet out" in [one.key for one in app.get("download_button")]
    app = app.press("end audit")
    assert room.find_audit(done).ended
    assert visit("audit", view="Judge").shows("audit-ended")
