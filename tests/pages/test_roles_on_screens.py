"""Roles on the screens: what each sees, what a link to another screen says, and whose name is recorded."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from exam_workbench.records import (
    acted_since,
    change_member,
    done_queries,
    latest_act,
    mark_done,
    set_guidelines,
    set_member,
)
from exam_workbench.store import Project
from pages.parts.shared import login, people_here, visitor
from pages.parts.shared.screens import MENU, SCREENS, entry_of
from tests.made.screens import (
    boxes,
    check_refused,
    errors,
    holds,
    keyed,
    looking_at,
    note,
    numbers,
    press,
    put_small,
    served,
    shared,
    shows,
    small,
    sound,
    tell,
    visit,
)

__all__ = ["served", "shared", "small"]

FOR_VIEWERS = ("home", "leaderboard", "measures")
SECRETS = ("What is A?", "What is D?", "text of p1")


def put(project: Project) -> None:
    put_small(project)
    set_member(project, "vera@x.org", "viewer", "shell")
    set_member(project, "asta@x.org", "assessor", "shell", queries=["q1"])
    set_member(project, "olga@x.org", "organizer", "shell", name="Olga O.")


@pytest.fixture(scope="module")
def looked_at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    with looking_at(tmp_path_factory.mktemp("roles"), put) as project:
        yield project


@pytest.fixture
def log_in(monkeypatch: pytest.MonkeyPatch) -> Callable[[str | None], None]:
    """Let the browser be that of somebody who is logged in; None for nobody."""
    monkeypatch.setattr(visitor, "server_secrets", lambda: {"auth": {"client_id": "x"}})

    def be(name: str | None, **claims: Any) -> None:
        said = {"email": f"{name}@x.org", "iat": time.time(), "aud": "x", **claims} if name else None
        monkeypatch.setattr(login, "login_claims", lambda: said)

    return be


def everything(app: AppTest) -> str:
    """All that is sent to the browser."""
    return "\n".join(str(element.proto) for element in [*app.main, *app.sidebar])


def done_of(app: AppTest) -> list[tuple[int, list[float]]]:
    """How far the work of an assessor is: percent, and how many of how many queries are done."""
    return [(one.proto.value, numbers(one.proto.text)) for one in app.get("progress")]


def menu(app: AppTest) -> set[str]:
    """The entries of the menu."""
    return {element.proto.label for element in app.sidebar.get("page_link")}


def tabs(app: AppTest) -> list[str]:
    """The screens that the tabs lead to."""
    return [element.proto.page for element in boxes(app)["tabs"].get("page_link")]


def test_a_viewer_sees_boards_and_is_told_so_elsewhere(shared: Project, log_in: Callable[..., None]) -> None:
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
                # Graded share of nDCG@10 and bank version; the disagreements and the links are for assessors.
                assert numbers(note(app, "readiness")) == ([1] if screen == "leaderboard" else [94, 10, 1])
                assert not boxes(app)["readiness"].get("page_link")
        else:
            check_refused(app, "role-needed", "vera", "viewer", "Olga O.")


def test_a_viewer_gets_no_passage_by_a_link_into_a_board(shared: Project, log_in: Callable[..., None]) -> None:
    log_in("vera")
    app = tell(tell(visit("leaderboard"), "systems", "open", "good"), "systems", "ask", "q1")
    assert holds(app, "systems")["detail"]["passages"] is None
    for view in ("All boards", "Two boards", "Two systems", "By budget", "Significance"):
        app = visit("leaderboard", view=view, compared="q1")
        assert not app.error
        assert not [secret for secret in SECRETS if secret in everything(app)], view


def test_an_assessor_sees_all_but_the_people_and_an_organizer_those_too(
    shared: Project, log_in: Callable[..., None]
) -> None:
    log_in("asta")
    app = visit("activity")
    assert menu(app) == set(MENU) and not tabs(app)
    assert shows(app, "signed-in", "asta", "assessor")
    check_refused(visit("people"), "role-needed", "asta", "organizer", "assessor")
    assert not keyed(app.text_input, "name of the new project")
    log_in("olga")
    app = visit("activity")
    assert menu(app) == set(MENU) and tabs(app) == ["people", "activity"]
    assert shows(app, "signed-in", "Olga O.", "organizer")


def test_somebody_without_a_role_sees_nothing_of_the_project(shared: Project, log_in: Callable[..., None]) -> None:
    log_in("stray")
    for screen in ("home", "leaderboard", "question_bank"):
        app = visit(screen)
        check_refused(app, "no-role", "stray@x.org")
        assert not app.sidebar.selectbox and "test" not in everything(app)
        assert not [secret for secret in ("good", *SECRETS) if secret in everything(app)]


@pytest.mark.parametrize("claims", [None, {"iat": 0}, {"iat": None}])
def test_who_is_not_logged_in_or_no_longer_sees_nothing_but_the_way_in(
    shared: Project, log_in: Callable[..., None], claims: dict[str, Any] | None
) -> None:
    log_in(None) if claims is None else log_in("olga", **claims)
    app = visit("leaderboard")
    assert errors(app) == ["not-logged-in"]
    assert [button.key for button in app.button] == ["log in None"]
    assert "good" not in everything(app) and not app.sidebar.get("page_link")


def test_a_server_without_the_package_for_logins_says_so(shared: Project, log_in: Callable[..., None]) -> None:
    log_in(None)
    app = press(visit("home"), "log in")
    assert errors(app) == ["not-logged-in", "no-logins"]


def test_a_login_is_older_than_allowed_after_half_a_day(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not login.is_expired({"iat": 1000}, 1000 + 11.9 * 3600)
    assert login.is_expired({"iat": 1000}, 1000 + 12.1 * 3600)
    monkeypatch.setenv(login.HOURS_VARIABLE, "1")
    assert login.is_expired({"iat": 1000}, 1000 + 1.1 * 3600)


def test_of_several_providers_each_has_its_own_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        visitor, "server_secrets", lambda: {"auth": {"ours": {"client_id": "a"}, "other": {"client_id": "b"}}}
    )
    assert login.meant_for_us({"provider": "ours", "aud": "a"})
    assert login.meant_for_us({"provider": "ours", "aud": ["c", "a"]})
    for provider, audience in ("other", "a"), ("third", "a"), (None, "a"), ("ours", ["b"]), ("ours", None):
        assert not login.meant_for_us({"provider": provider, "aud": audience})


def test_what_is_done_is_recorded_under_the_login(project: Project, log_in: Callable[..., None]) -> None:
    put(project)
    log_in("olga")
    app = visit("people")
    assert not keyed(app.text_input, "author")
    app.text_input("add person 0 name").set_value("Nina")
    press(app, "give role")
    assert errors(app) == ["invalid-identity"] and app.text_input("add person 0 name").value == "Nina"
    app.text_input("add person 0 identity").set_value("New@x.org")
    press(app, "give role")
    assert project.members()["new@x.org"].role == "assessor"
    assert app.text_input("add person 1 name").value == ""
    assert project.rows("SELECT author FROM activity ORDER BY activity_key DESC LIMIT 1") == [("Olga O.",)]


def test_people_are_changed_undone_and_removed_on_their_screen(project: Project, log_in: Callable[..., None]) -> None:
    put(project)
    log_in("olga")
    app = visit("people")
    of_asta = next(box for box in app.multiselect if box.value == ["q1"])
    of_asta.set_value(["q2"])
    sound(app.run())
    assert project.members()["asta@x.org"].queries == ("q2",)
    press(app, "undo person")
    assert project.members()["asta@x.org"].queries == ("q1",)
    role = next(box for box in app.selectbox if str(box.key).startswith("role ") and box.value == "viewer")
    role.set_value("assessor")
    sound(app.run())
    assert project.members()["vera@x.org"].role == "assessor"
    app.button("remove olga@x.org").click()
    sound(app.run())
    check_refused(app, "last-organizer", "Olga O.")
    app.button("remove vera@x.org").click()
    sound(app.run())
    assert "vera@x.org" not in project.members()


def test_a_role_that_changes_while_somebody_works_counts_at_once(project: Project, log_in: Callable[..., None]) -> None:
    put(project)
    log_in("asta")
    app = visit("question_bank")
    assert not app.error
    change_member(project, "asta@x.org", "shell", role="viewer")
    sound(app.run())
    check_refused(app, "role-needed", "asta", "viewer")
    assert not [secret for secret in SECRETS if secret in everything(app)]


def test_an_assessor_begins_with_their_work_and_says_what_is_done(
    project: Project, log_in: Callable[..., None]
) -> None:
    put(project)
    set_guidelines(project, "Read the *whole* passage.", "shell")
    log_in("asta")
    app = visit("home")
    # Of the two queries one is theirs.
    assert done_of(app) == [(0, [0, 1])]
    assert "Read the *whole* passage." in [text.value for text in app.text]
    # One who goes on to Home stays there.
    (door,) = holds(sound(app.run()), "door curate")["panels"]
    assert door["to"].startswith("question_bank?")
    app = visit("my_work")
    app.checkbox("done q1").check()
    sound(app.run())
    assert done_queries(project)["asta"].keys() == {"q1"}
    assert done_of(app) == [(100, [1, 1])]
    app.checkbox("done q1").uncheck()
    sound(app.run())
    assert done_queries(project) == {}


def test_who_else_is_in_a_query_and_the_guidelines_stand_beside_the_passage(
    project: Project, log_in: Callable[..., None]
) -> None:
    put(project)
    set_guidelines(project, "Only what is *said*.", "shell", "q1")
    log_in("olga")
    assert not shows(visit("question_bank", query="q1"), "others-here")
    log_in("asta")
    app = visit("passages", query="q1", passage="p1")
    assert shows(app, "others-here", "Olga O.")
    assert "Only what is *said*." in [text.value for text in app.text]
    assert not keyed(app.button, "save guidelines")
    assert not shows(visit("passages", query="q2", passage="p5"), "others-here")


def test_what_others_saved_is_told_and_shown_when_one_asks_for_it(
    project: Project, log_in: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    put(project)
    log_in("asta")
    assert not shows(visit("home"), "news-of-others")
    # What the part of the screen sees that looks again after a while.
    monkeypatch.setattr(people_here, "latest_act", lambda found: 0)
    app = visit("home")
    assert shows(app, "news-of-others", "shell", "tester")
    monkeypatch.undo()
    assert acted_since(project, latest_act(project), "asta") == []
    mark_done(project, "q1", True, "asta")
    set_guidelines(project, "New.", "Olga O.")
    assert acted_since(project, latest_act(project) - 2, "asta") == ["Olga O."]


def test_one_person_on_localhost_sees_everything_and_gives_their_name(shared: Project) -> None:
    app = visit("people")
    assert menu(app) == set(MENU)
    assert shows(app, "no-logins")
    assert app.text_input("author").value == "ann"
