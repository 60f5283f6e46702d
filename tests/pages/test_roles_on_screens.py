"""Roles and multiple assessors on the screens: rights, names, claims, assignments and adjudication."""

import re
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest
from playwright.sync_api import Page, expect

from exam_workbench import bank, records
from exam_workbench.review import decide_case, judged_of, list_decisions
from exam_workbench.store import Project
from exam_workbench.types import Query, Question
from pages.parts.shared import login, people_here, visitor
from pages.parts.shared.screens import MENU, SCREENS, entry_of
from tests.made.browser import Server, as_it_is_now, note as box_of, ready, visit as go_to
from tests.made.projects import commit, filled_project, new_project
from tests.made.screens import Screen, keyed, named, numbers, put_small, shown_project, visit

FOR_VIEWERS = ("home", "leaderboard", "measures")
SECRETS = ("What is A?", "What is D?", "text of p1")


def put(project: Project) -> None:
    put_small(project)
    records.set_member(project, "vera@x.org", "viewer", "shell")
    records.set_member(project, "asta@x.org", "assessor", "shell", queries=["q1"])
    records.set_member(project, "olga@x.org", "organizer", "shell", name="Olga O.")


looked_at, peopled = shown_project(put), filled_project(put)


@pytest.fixture
def log_in(monkeypatch: pytest.MonkeyPatch) -> Callable[[str | None], None]:
    """Return a function that simulates a login by name, or no login for None."""
    monkeypatch.setattr(visitor, "server_secrets", lambda: {"auth": {"client_id": "x"}})

    def be(name: str | None, **claims: Any) -> None:
        said = {"email": f"{name}@x.org", "iat": time.time(), "aud": "x", **claims} if name else None
        monkeypatch.setattr(login, "login_claims", lambda: said)

    return be


def everything(app: Screen) -> str:
    """Return all data that is sent to the browser."""
    return "\n".join(str(element.proto) for element in [*app.main, *app.sidebar])


def done_of(app: Screen) -> list[tuple[int, list[float]]]:
    """Return an assessor's progress: percent, then numbers of done and assigned queries."""
    return [(one.proto.value, numbers(one.proto.text)) for one in app.get("progress")]


def menu(app: Screen) -> set[str]:
    """Return the labels of the menu entries."""
    return {element.proto.label for element in app.sidebar.get("page_link")}


def tabs(app: Screen) -> list[str]:
    """Return the screens that the tabs link to."""
    return [element.proto.page for element in app.boxes()["tabs"].get("page_link")]


def test_viewer_sees_only_scores(shared: Project, log_in: Callable[..., None]) -> None:
    log_in("vera")
    for screen in SCREENS:
        app = visit(screen)
        assert menu(app) == {"Home", "Leaderboard"}, screen
        if entry_of(screen) == "Leaderboard":
            assert tabs(app) == ["leaderboard", "measures"], screen
        assert not [secret for secret in SECRETS if secret in everything(app)], screen
        if screen in FOR_VIEWERS:
            assert not app.error, screen
            if screen != "measures":
                # Viewers see the graded share and bank version, but no disagreements or links.
                assert numbers(app.note("readiness")) == ([1] if screen == "leaderboard" else [94, 10, 1])
                assert not app.boxes()["readiness"].get("page_link")
        else:
            app.check_refused("role-needed", "vera", "viewer", "Olga O.")
    app = visit("leaderboard").tell("systems", "open", "good").tell("systems", "ask", "q1")
    assert app.holds("systems")["detail"]["passages"] is None


def test_missing_login_package_is_reported(shared: Project, log_in: Callable[..., None]) -> None:
    log_in(None)
    app = visit("home").press("log in")
    assert app.errors() == ["not-logged-in", "no-logins"]


def test_login_expires_after_twelve_hours_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not login.is_expired({"iat": 1000}, 1000 + 11.9 * 3600)
    assert login.is_expired({"iat": 1000}, 1000 + 12.1 * 3600)
    monkeypatch.setenv(login.HOURS_VARIABLE, "1")
    assert login.is_expired({"iat": 1000}, 1000 + 1.1 * 3600)


def test_each_login_provider_has_its_own_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        visitor, "server_secrets", lambda: {"auth": {"ours": {"client_id": "a"}, "other": {"client_id": "b"}}}
    )
    assert login.is_for_this_app({"provider": "ours", "aud": "a"})
    assert login.is_for_this_app({"provider": "ours", "aud": ["c", "a"]})
    for provider, audience in ("other", "a"), ("third", "a"), (None, "a"), ("ours", ["b"]), ("ours", None):
        assert not login.is_for_this_app({"provider": provider, "aud": audience})


def test_actions_are_recorded_under_the_login_name(peopled: Project, log_in: Callable[..., None]) -> None:
    log_in("olga")
    app = visit("people")
    assert menu(app) == set(MENU) and tabs(app) == ["people", "activity"]
    assert not keyed(app.text_input, "author")
    app.text_input("add person 0 name").set_value("Nina")
    app.press("give role")
    assert app.errors() == ["invalid-identity"] and app.text_input("add person 0 name").value == "Nina"
    app.text_input("add person 0 identity").set_value("New@x.org")
    app.press("give role")
    assert peopled.members()["new@x.org"].role == "assessor"
    assert app.text_input("add person 1 name").value == ""
    assert peopled.rows("SELECT author FROM activity ORDER BY activity_key DESC LIMIT 1") == [("Olga O.",)]


def test_people_screen_changes_and_removes_people(peopled: Project, log_in: Callable[..., None]) -> None:
    log_in("olga")
    app = visit("people")
    of_asta = next(box for box in app.multiselect if box.value == ["q1"])
    of_asta.set_value(["q2"])
    app.run()
    assert peopled.members()["asta@x.org"].queries == ("q2",)
    app.press("undo person")
    assert peopled.members()["asta@x.org"].queries == ("q1",)
    role = next(box for box in app.selectbox if str(box.key).startswith("role ") and box.value == "viewer")
    role.set_value("assessor")
    app.run()
    assert peopled.members()["vera@x.org"].role == "assessor"
    app.press("remove olga@x.org")
    app.check_refused("last-organizer", "Olga O.")
    app.press("remove vera@x.org")
    assert "vera@x.org" not in peopled.members()


def test_assessor_starts_at_assigned_work_and_marks_it_done(peopled: Project, log_in: Callable[..., None]) -> None:
    records.set_guidelines(peopled, "Read the *whole* passage.", "shell")
    log_in("asta")
    visit("people").check_refused("role-needed", "asta", "organizer", "assessor")
    app = visit("home")
    # One of the two queries is assigned to asta.
    assert done_of(app) == [(0, [0, 1])]
    assert "Read the *whole* passage." in [text.value for text in app.text]
    # After moving on to Home, the assessor stays there.
    (door,) = app.run().holds("door curate")["panels"]
    assert door["to"].startswith("question_bank?")
    assert not keyed(app.text_input, "name of the new project")
    app = visit("my_work")
    app.choose("done q1", True)
    assert records.done_queries(peopled)["asta"].keys() == {"q1"}
    assert done_of(app) == [(100, [1, 1])]
    app.choose("done q1", False)
    assert records.done_queries(peopled) == {}


def test_passages_show_guidelines_and_other_people_present(peopled: Project, log_in: Callable[..., None]) -> None:
    records.set_guidelines(peopled, "Only what is *said*.", "shell", "q1")
    log_in("olga")
    assert not visit("question_bank", query="q1").shows("others-here")
    log_in("asta")
    app = visit("passages", query="q1", passage="p1")
    assert app.shows("others-here", "Olga O.")
    assert "Only what is *said*." in [text.value for text in app.text]
    assert not keyed(app.button, "save guidelines")
    assert not visit("passages", query="q2", passage="p5").shows("others-here")


def test_changes_saved_by_others_are_announced(
    peopled: Project, log_in: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    log_in("asta")
    assert not visit("home").shows("news-of-others")
    # Simulate the fragment that checks for changes after a while.
    monkeypatch.setattr(people_here, "latest_action", lambda found: 0)
    app = visit("home")
    assert app.shows("news-of-others", "shell", "tester")
    monkeypatch.undo()
    assert records.acted_since(peopled, records.latest_action(peopled), "asta") == []
    records.mark_done(peopled, "q1", True, "asta")
    records.set_guidelines(peopled, "New.", "Olga O.")
    assert records.acted_since(peopled, records.latest_action(peopled) - 2, "asta") == ["Olga O."]


def test_local_use_without_login_gives_full_access(shared: Project) -> None:
    app = visit("people")
    assert menu(app) == set(MENU)
    assert app.shows("no-logins")
    assert app.text_input("author").value == "ann"


def put_double(project: Project) -> None:
    put_small(project)
    records.set_member(project, "olga@x.org", "organizer", "shell")
    for name in ("asta", "bo"):
        records.set_member(project, f"{name}@x.org", "assessor", "shell", queries=["q2"])
    records.assign_double(project, "q1", "olga", ["bo"])


doubled = filled_project(put_double)


def test_differing_judgments_are_adjudicated(doubled: Project, log_in: Callable[..., None]) -> None:
    log_in("asta")
    visit("my_work").press("claim")
    assert records.double_of(doubled, "q1").present == ("bo", "asta")
    for name, value in ("asta", 1), ("bo", 3):
        records.judging.judge_passage(doubled.acting_as(f"{name}@x.org"), "q1", "p1", value, name)
    assert (nothing := visit("adjudication")).shows("nothing-to-decide")
    # People who may not assign queries get no link to assigning.
    assert nothing.links() == []
    assert not visit("passages", query="q1", passage="p1").shows("given-values")
    log_in("olga")
    app = visit("adjudication")
    assert app.shows("given-values", "asta", 1, "bo", 3)
    app.press("decide 2")
    app.check_refused("not-saved", 2, "p1")
    named(app.text_input, "reason").set_value("by the guidelines")
    app.press("decide 2")
    assert records.source_judgments(doubled, records.ADJUDICATED) == {"q1": {"p1": 2}}
    assert app.shows("nothing-listed")


def test_claimed_sample_is_listed_separately(small: Project, log_in: Callable[..., None]) -> None:
    for name, role in ("olga", "organizer"), ("asta", "assessor"), ("bo", "assessor"):
        records.set_member(small, f"{name}@x.org", role, "shell")
    records.assign_double(small, "q1", "olga", ["bo"], passages=["p1", "p3"])
    log_in("asta")
    visit("my_work").press("claim")
    app = visit("my_work")
    assert 2 in numbers(app.note("work-q1"))
    title, sample = (one.proto for one in app.get("page_link") if "assigned" in one.proto.query_string)
    assert title.query_string == sample.query_string and numbers(sample.label) == [0, 2]
    given = dict(parse_qsl(sample.query_string))
    listed = visit("passages", **given).holds("passage-judging")
    assert sorted((card["query"], card["passage"]) for card in listed["cards"]) == [("q1", "p1"), ("q1", "p3")]
    for passage_id in ("p1", "p3"):
        records.judging.judge_passage(small.acting_as("asta@x.org"), "q1", passage_id, 1, "asta")
    # The next task is outside the sample, so its link does not select the sample.
    (title, *_) = (one.proto for one in visit("my_work").get("page_link") if "query=q1" in one.proto.query_string)
    assert "assigned" not in title.query_string


def put_differing(project: Project, passages: int = 2) -> None:
    """Let two people judge passages of a query differently, ready for adjudication."""
    put_small(project)
    records.assign_double(project, "q1", "olga", ["asta", "bo"])
    for name, value in ("asta", 1), ("bo", 3):
        for passage_id in ("p1", "p2", "p3")[:passages]:
            records.judging.judge_passage(project, "q1", passage_id, value, name)


differing = filled_project(put_differing)


def give_reason(app: Screen, words: str) -> None:
    named(app.text_input, "reason").set_value(words)


def test_decision_is_saved_if_the_next_case_opens_at_once(differing: Project) -> None:
    app = visit("adjudication")
    assert app.holds("place")["values"] == {"query": "q1", "passage": "p1", "question": ""}
    give_reason(app, "by the guidelines")
    app.button("decide 2").click()
    second = app.holds("deciding")["places"][1]
    app.tell("deciding", "acts", [{"id": 1, "do": "open", "home": differing.name, "place": second}])
    assert records.source_judgments(differing, records.ADJUDICATED) == {"q1": {"p1": 2}}
    assert app.query_params["passage"] == "p2"


def test_queued_keys_apply_to_the_case_open_at_that_time(differing: Project) -> None:
    app = visit("adjudication")
    first, second = app.holds("deciding")["places"]
    give_reason(app, "by the guidelines")
    keys = [("decide", first, 2), ("open", second, None), ("decide", second, 3)]
    acts = [
        {"id": n, "do": do, "home": differing.name, "place": place, "value": value, "over": None}
        for n, (do, place, value) in enumerate(keys, 1)
    ]
    app.tell("deciding", "acts", acts[:2])
    app.tell("deciding", "acts", acts)
    assert records.source_judgments(differing, records.ADJUDICATED) == {"q1": {"p1": 2}}
    assert len(list_decisions(differing, ("q1", "p1", None))) == 1
    app.check_refused("not-saved", 3, "p2")
    # The error stays after moving on, because the run that found it may have been interrupted.
    app.tell("deciding", "acts", [{"id": 4, "do": "open", "home": differing.name, "place": second}])
    app.check_refused("not-saved", 3, "p2")
    give_reason(app, "by the topic's narrative")
    app.tell("deciding", "acts", [acts[2] | {"id": 5}])
    assert records.source_judgments(differing, records.ADJUDICATED) == {"q1": {"p1": 2, "p2": 3}}
    assert not app.error
    app.choose("adjudicated state", "decided").press("undo decision")
    assert len(records.source_judgments(differing, records.ADJUDICATED)["q1"]) == 1


def test_link_opens_the_list_of_its_case_and_url_follows(differing: Project) -> None:
    first, second = ("q1", "p1", None), ("q1", "p2", None)
    decide_case(differing, first, 2, "by the guidelines", "olga")
    app = visit("adjudication")
    assert app.holds("place")["values"]["passage"] == "p2"
    app.query_params.update(query="q1", passage="p2")
    app.choose("adjudicated state", "decided")
    assert app.holds("deciding")["chosen"] == list(first)
    assert app.holds("place")["values"] == {"query": "q1", "passage": "p1", "question": ""}
    app = visit("adjudication", query="q1", passage="p1")
    assert app.holds("deciding")["chosen"] == list(first)
    assert app.segmented_control("adjudicated state").value == "decided"
    # Choosing another list overrides the case of the link. An empty list is reported.
    assert app.choose("adjudicated state", "differs").holds("deciding")["chosen"] == list(second)
    assert app.holds("place")["values"]["passage"] == "p2"
    decide_case(differing, second, 2, "by the guidelines", "olga")
    assert visit("adjudication", query="q1", passage="p2").holds("deciding")["chosen"] == list(second)
    assert visit("adjudication").shows("nothing-listed")


def test_unlisted_case_is_reported_and_outdated_url_ignored(differing: Project) -> None:
    app = visit("adjudication", query="q1", passage="p7")
    assert app.shows("not-listed")
    assert app.holds("deciding")["chosen"][1] == "p1"
    # The warning stays until another case is opened.
    assert app.run().warning
    first, second = app.holds("deciding")["places"]
    opened = {"do": "open", "home": differing.name}
    assert not app.tell("deciding", "acts", [{"id": 1, "place": second} | opened]).warning
    app.tell("deciding", "acts", [{"id": 2, "place": first} | opened])
    # Before the browser knows the second step, it still sends the previous place, which does not reopen.
    app.query_params["passage"] = second[1]
    assert app.run().holds("deciding")["chosen"] == first


def test_next_case_opens_after_a_decision(project: Project) -> None:
    put_differing(project, passages=3)
    app = visit("adjudication", query="q1", passage="p2")
    for here, there in (("p2", "p3"), ("p3", "p1")):
        assert app.holds("deciding")["chosen"][1] == here
        give_reason(app, "by the guidelines")
        app.press("decide 2")
        assert app.holds("deciding")["chosen"][1] == there
        assert app.holds("place")["values"]["passage"] == there


def test_decision_from_another_tab_is_not_replaced(differing: Project) -> None:
    tabs = [visit("adjudication"), visit("adjudication")]
    for value, app in enumerate(tabs, 2):
        give_reason(app, f"reason {value}")
        app.press(f"decide {value}")
    assert not tabs[0].error
    tabs[1].check_refused("not-saved", 3, "p1", "reason 2")
    assert records.source_judgments(differing, records.ADJUDICATED) == {"q1": {"p1": 2}}
    # If one tab sends two decisions in a row, the second corrects the first.
    app, (place, *_) = tabs[0], tabs[0].holds("deciding")["places"]
    give_reason(app, "at a second look")
    acts = [{"id": n, "do": "decide", "home": differing.name, "place": place, "value": n, "over": None} for n in (1, 3)]
    app.tell("deciding", "acts", acts)
    assert records.source_judgments(differing, records.ADJUDICATED) == {"q1": {"p1": 2, "p2": 3}}
    assert not app.error


@pytest.mark.browser
def test_fast_keys_decide_and_open_the_next_case(
    projects: Path, server: Server, chromium_page: Page, tmp_path: Path
) -> None:
    project = new_project(projects / "differing.duckdb")
    put_differing(project)
    project.close()
    page = chromium_page
    go_to(page, f"{server.address}/adjudication?project=differing")
    # A decision needs a reason. Without one, a key moves the focus to its field and shows an error.
    page.keyboard.press("2")
    expect(page.locator("[class*=st-key-reason] input")).to_be_focused()
    page.keyboard.type("by 1 ")
    expect(box_of(page, "error not-saved", "2 p1")).to_be_visible()
    ready(page)
    page.keyboard.type("guideline")
    expect(page.locator("[class*=st-key-reason] input")).to_have_value("by 1 guideline")
    page.locator("[class*=st-key-reason] input").press("Tab")
    for key in ("2", "ArrowRight"):
        page.keyboard.press(key)
    page.locator("[data-testid=stMain]", has_text="text of p2").wait_for()
    page.wait_for_url(lambda url: "query=q1&passage=p2" in url)
    ready(page)
    now = as_it_is_now(projects / "differing.duckdb", tmp_path)
    assert records.source_judgments(now, records.ADJUDICATED) == {"q1": {"p1": 2}}
    now.close()
    # The reason of the next case is reachable by keyboard.
    page.keyboard.press("Tab")
    expect(page.locator("[class*=st-key-reason] input")).to_be_focused()


def test_people_screen_assigns_releases_and_sets_due_dates(doubled: Project, log_in: Callable[..., None]) -> None:
    for name in ("asta", "bo"):
        records.judging.judge_passage(doubled, "q2", "p5", 1, name)
    records.set_due(doubled, ["q2"], date(2026, 12, 24), "olga")
    log_in("olga")
    app = visit("people")
    assert app.shows("agreement") and all(one.is_integer() for one in numbers(app.note("agreement")))
    # Due dates are removed only on request. An exam has no due dates and no double assignments.
    commit(doubled, records.add_queries, [Query("e", "An exam")], replace=False)
    bank.save_version(doubled, [Question("e/1", "e", "Which?", kind="choice", choices=("x", "y"))], "", "olga")
    app = visit("people")
    assert len(named(app.multiselect, "due queries").options) == 2 and len(app.selectbox("double 0 query").options) == 1
    app.press("set due date").check_refused("no-due-date")
    assert records.due_of(records.due_dates(doubled), "q2", "asta") == date(2026, 12, 24)
    app.press("remove due date")
    assert records.due_of(records.due_dates(doubled), "q2", "asta") is None
    named(app.selectbox, "double 0 query").set_value("q2")
    named(app.multiselect, "double 0 assessors").set_value(["asta", "bo"])
    named(app.selectbox, "double 0 adjudicator").set_value("bo")
    app.press("assign").check_refused("adjudicator-takes-part", "bo")
    app.press("release")
    assert records.double_of(doubled, "q1").people == {"bo": "released"}


def test_people_screen_shows_progress_and_ends_double_assignments(small: Project) -> None:
    number = records.assign_double(small, "q1", "olga", ["asta", "bo"], passages=["p1", "p2"])
    records.assign_double(small, "q2", "olga", ["asta"])
    records.judging.judge_passage(small, "q1", "p1", 1, "asta")
    records.judging.judge_passage(small, "q2", "p5", 1, "asta")
    app = visit("people")
    words = app.plain_texts()
    # For each query, the screen shows how many passages each person has judged.
    assert re.search(r"\basta\b\D*1\D+2\b\D*\bbo\b\D*0\D+2\b", words)
    assert re.search(r"\basta\b\D*1\D+3\b", words)
    app.press(f"end {number} now")
    assert [one.query_id for one in records.open_double_assignments(small)] == ["q2"]


def test_participating_organizer_cannot_see_progress_of_others(doubled: Project, log_in: Callable[..., None]) -> None:
    records.set_member(doubled, "cleo@x.org", "assessor", "shell")
    records.judging.judge_passage(doubled, "q1", "p1", 1, "cleo")
    records.assign_double(doubled, "q2", "olga", ["olga", "asta"])
    for name, passage in ("asta", "p5"), ("olga", "p5"), ("olga", "p6"):
        records.judging.judge_passage(doubled, "q2", passage, 1, name)
    log_in("olga")
    app = visit("people")
    words = app.plain_texts()
    assert "2 of 3" in words and "1 of 3" not in words
    hidden = {"asta": "hidden", "bo": "hidden", "cleo": "1"}
    assert judged_by_name(app) == hidden
    # People who do not take part see all numbers.
    assert judged_of(doubled, records.double_of(doubled, "q2")) == ({"olga": 2, "asta": 1}, 3)
    # The progress of a released person stays hidden, too.
    records.release_double(doubled, "q2", "asta", "olga")
    assert judged_by_name(visit("people")) == hidden


def judged_by_name(people: Screen) -> dict[str, str]:
    """Return the shown number of judged passages by assessor."""
    shown = people.dataframe[0].value
    return dict(zip(shown["Name"], shown["Passages judged"], strict=True))


def test_assigning_without_logins_accepts_any_name_but_needs_a_query(small: Project) -> None:
    app = visit("people")
    people = app.multiselect[0]
    assert people.proto.accept_new_options
    app = app.press("assign")
    app.check_refused("no-query-named")
    assert records.open_double_assignments(small) == []
    # If nothing is assigned twice, a link leads to assigning.
    assert visit("adjudication").links() == ["people"]
