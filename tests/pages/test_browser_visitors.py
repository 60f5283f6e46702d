"""In a real browser: the one person at the computer may type an address and its key; visitors of a server choose."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from exam_workbench.types import Question
from tests.made.browser import Server, button, choose_option, empty_tab, field, note, ready, visit
from tests.made.endpoint_server import EndpointServer
from tests.made.projects import fill, new_project


def pick_endpoint(page: Page) -> None:
    """Choose that the model is behind an endpoint, the second of the places."""
    choose_option(page, "setup/self-rating/ back_end", 1)
    ready(page)


def open_up(page: Page, key: str) -> None:
    """Unfold a part of the page."""
    part = note(page, key)
    part.locator("summary").wait_for()
    ready(page)
    if part.locator("details[open]").count() == 0:
        part.locator("summary").click()
        ready(page)


def write(box: Locator, text: str) -> None:
    box.fill(text)
    box.press("Enter")
    ready(box.page)


@pytest.mark.browser
def test_a_visitor_types_no_address_and_the_one_person_here_does(
    projects: Path,
    server: Server,
    app_server: Callable[[Path], Server],
    chromium_page: Page,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    page, here = chromium_page, server
    for folder in projects, tmp_path / "projects":
        project = new_project(folder / "gold.duckdb")
        fill(project, [Question("q1/a", "q1", "What is gold?")], {}, {"one": {"q1": ["p1"]}})
        project.close()
    with EndpointServer() as endpoint:
        visit(page, f"{here.address}/grading?project=gold&setup=Self-rating")
        pick_endpoint(page)
        # The key follows the address at once: nobody waits for a screen between two boxes.
        field(page, "setup/self-rating//openai base_url").fill(endpoint.url)
        write(field(page, "setup/self-rating//openai key"), "open-sesame")
        expect(note(page, "key typed", "127.0.0.1")).to_be_visible()
        expect(field(page, "setup/self-rating//openai key")).to_have_value("")
        write(field(page, "setup/self-rating//openai model"), "mini")
        open_up(page, "one question")
        button(page, "trial ask").click()
        expect(note(page, "answered")).to_be_visible()
        assert endpoint.seen[0].headers["authorization"] == "Bearer open-sesame"

        # Another tab is another session, which knows nothing of it.
        other = empty_tab(page.context)
        visit(other, f"{here.address}/grading?project=gold&setup=Self-rating")
        pick_endpoint(other)
        write(field(other, "setup/self-rating//openai base_url"), endpoint.url)
        expect(note(other, "key needless")).to_be_visible()
        other.close()

        (tmp_path / "endpoints.toml").write_text(f'[endpoints.Ours]\nbase_url = "{endpoint.url}"\nmodels = ["mini"]\n')
        monkeypatch.setenv("EXAM_ENDPOINTS", str(tmp_path / "endpoints.toml"))
        monkeypatch.setenv("EXAM_SHARED", "1")
        shared = app_server(tmp_path / "projects")
        visit(page, f"{shared.address}/grading?project=gold&setup=Self-rating")
        expect(note(page, "error no-model-offered")).to_be_visible()
        pick_endpoint(page)
        expect(page.locator("[class*=-endpoint] [role=combobox]")).to_be_visible()
        for key in ("base_url", "key"):
            expect(field(page, f"setup/self-rating//openai {key}")).to_have_count(0)
        open_up(page, "one question")
        button(page, "trial ask").click()
        expect(note(page, "answered")).to_be_visible()
        assert endpoint.seen[-1].headers["authorization"] == "Bearer no-key"
