"""What several people judge: claimed on My work, assigned on People, decided on Adjudication."""

from __future__ import annotations

from collections.abc import Callable

from core.project import (
    ADJUDICATED,
    Project,
    assign_double,
    double_of,
    judging,
    judgments,
    set_due,
    set_member,
)
from tests.made.screens import as_text, links, press, put_small, said, served, sound, visit
from tests.pages.test_roles_on_screens import log_in

__all__ = ["log_in", "served"]


def put(project: Project) -> None:
    put_small(project)
    set_member(project, "olga@x.org", "organizer", "shell")
    for name in ("asta", "bo"):
        set_member(project, f"{name}@x.org", "assessor", "shell", queries=["q2"])
    assign_double(project, "q1", "olga", ["bo"])


def test_where_nothing_is_assigned_doubly_a_link_leads_to_where_one_assigns(project: Project) -> None:
    assert links(visit("adjudication")) == ["people"]


def test_what_differs_is_decided_beside_what_both_gave(project: Project, log_in: Callable[..., None]) -> None:
    put(project)
    log_in("asta")
    press(visit("my_work"), "Claim")
    assert double_of(project, "q1").present == ("bo", "asta")
    for name, value in ("asta", 1), ("bo", 3):
        judging.judge(project.acting_as(f"{name}@x.org"), "q1", "p1", value, name)
    assert "nothing here for you to decide" in said(nothing := visit("adjudication"))
    # Who may not assign queries is not sent there.
    assert links(nothing) == []
    assert "perfectly relevant" not in said(visit("passages", query="q1", passage="p1"))
    log_in("olga")
    app = visit("adjudication")
    assert "asta**: 1, related" in said(app) and "bo**: 3, perfectly relevant" in said(app)
    app.button("decide 2").click()
    sound(app.run())
    assert "The reason is empty" in as_text(app.error[0].value)
    next(box for box in app.text_input if box.label == "Reason").set_value("by the guidelines")
    app.button("decide 2").click()
    sound(app.run())
    assert judgments(project, ADJUDICATED) == {"q1": {"p1": 2}}
    assert "Nothing stands so." in said(app)


def test_people_says_how_far_and_how_alike_people_are_and_what_is_late(
    project: Project, log_in: Callable[..., None]
) -> None:
    put(project)
    for name in ("asta", "bo"):
        judging.judge(project, "q2", "p5", 1, name)
    set_due(project, ["q2"], None, "olga")
    log_in("olga")
    app = visit("people")
    assert "Krippendorff's alpha undefined (both sides give everything the same value)" in said(app)
    press(app, "Release bo")
    assert double_of(project, "q1").people == {"bo": "released"}
