"""An action on a screen that meets a full disk: one sentence, nothing half saved, and the same action works later."""

from __future__ import annotations

import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from streamlit.testing.v1 import AppTest

from exam_workbench.bank import list_drafts
from exam_workbench.exchange import list_publications
from exam_workbench.records import list_actions
from exam_workbench.store import Project
from tests.made.screens import edited, errors, holds, in_bank, leave, named, press, said, served, small, visit
from tests.pages.test_failures_page import handled

__all__ = ["handled", "served", "small"]

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit for the size of files.")


@contextmanager
def full_disk() -> Iterator[None]:
    """No file may grow beyond a few bytes: the system refuses that as a full disk does."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def refused(app: AppTest) -> list[str]:
    """The codes of the errors that a screen shows; no other failure is on it."""
    assert not app.exception and "Something failed" not in said(app)
    return errors(app)


def test_an_edit_that_meets_a_full_disk_is_refused_in_a_sentence_and_can_be_made_again(
    small: Project, handled: None
) -> None:
    app = visit("question_bank")
    edit, before = edited(app, "What is A?", text="Who is A?"), len(list_actions(small).acts)
    with full_disk():
        in_bank(app, edit)
    assert not app.exception and not list_drafts(small, "ann") and len(list_actions(small).acts) == before
    # The browser keeps what was typed, shows the sentence at the field, and sends it again.
    bank = holds(app, "bank")
    assert [*bank["refused"]] == ["1"] and "disk" in bank["refused"]["1"] and bank["unsaved"] == 0
    place = {name: bank[name] for name in ("window", "project", "author")}
    leave(app, "bank", acts=[{"n": 1, **place, **edit}])
    assert holds(app, "bank")["refused"] == {} and list_drafts(small, "ann")["q1/a"].question.text == "Who is A?"


def test_a_press_that_meets_a_full_disk_says_so_once_and_works_when_there_is_room(
    small: Project, handled: None
) -> None:
    app = visit("export")
    named(app.text_input, "publication note").set_value("for the paper")
    before = len(list_actions(small).acts)
    with full_disk():
        named(app.button, "publish").click()
        app.run()
    assert refused(app) == ["disk-full"], said(app)
    assert list_publications(small) == [] and len(list_actions(small).acts) == before
    # What was typed is there.
    assert named(app.text_input, "publication note").value == "for the paper"
    press(app, "publish")
    assert [one["note"] for one in list_publications(small)] == ["for the paper"] and refused(app) == []
