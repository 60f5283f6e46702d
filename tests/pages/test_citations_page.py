"""Citations on the Passages screen: a sentence beside its cited passages, valued by key, and the next one opens."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page

from exam_workbench.store import Project
from tests.made.browser import Server, as_it_is_now, button, note as box_of, ready
from tests.made.cited import put_cited, sentence
from tests.made.projects import new_project
from tests.made.screens import keyed, named, note, numbers, press, served, shows, sound, visit

__all__ = ["served"]


def test_a_sentence_is_valued_beside_its_passages(project: Project, tmp_path: Path) -> None:
    put_cited(project, tmp_path)
    assert named(visit("passages").segmented_control, "part").options[-1] == "Citations"
    app = visit("passages", part="Citations")
    assert sorted(one.proto.shortcut for one in keyed(app.button, "support")) == ["0", "1", "2"]
    assert not shows(app, "known support 1")
    press(app, "support 1 2")
    people = {person for (person,) in project.rows("SELECT author FROM support_values")}
    assert project.rows("SELECT value FROM support_values") == [(2,)] and len(people) == 1
    # The next sentence has two citations: the keys set the first one's value, then the second one's.
    assert [bool(one.proto.shortcut) for one in keyed(app.button, "support")] == [True] * 3 + [False] * 3
    press(app, "support 1 2")
    assert [bool(one.proto.shortcut) for one in keyed(app.button, "support")] == [False] * 3 + [True] * 3
    assert numbers(note(app, "known support 1"))[0] == 2
    press(app, "withdraw 1")
    values = project.rows("SELECT value FROM personal_support")
    assert values == [(2,)] and len(project.rows("FROM support_values")) == 3
    sound(app)


@pytest.mark.browser
def test_keys_value_one_citation_after_the_other(
    projects: Path, server: Server, chromium_page: Page, tmp_path: Path
) -> None:
    put_cited(project := new_project(projects / "cited.duckdb"), tmp_path)
    project.close()
    page = chromium_page
    page.goto(f"{server.address}/passages?project=cited&part=Citations")
    ready(page)
    button(page, "support 1 2").wait_for()
    page.keyboard.press("2")
    # Then the second sentence is open: its first citation, and its second one.
    button(page, "support 2 0").wait_for()
    ready(page)
    page.keyboard.press("1")
    box_of(page, "known support 1").wait_for()
    ready(page)
    page.keyboard.press("0")
    button(page, "next response").wait_for()
    ready(page)
    page.keyboard.press("n")
    button(page, "next response").wait_for(state="detached")
    saved = as_it_is_now(projects / "cited.duckdb", tmp_path)
    values = saved.rows(
        "SELECT sentence, cited_id, value FROM support_values"
        " JOIN (SELECT sentence, cited_id, sentence_key, cited_key FROM cited WHERE run = 'good')"
        " ON sentence_key = question_text_key AND cited_key = passage_text_key ORDER BY support_value_key"
    )
    saved.close()
    assert values == [(sentence(0), "d0", 2), (sentence(1), "d1", 1), (sentence(1), "d2", 0)]
