"""In a real browser: the one person at the computer may type an address and its key; visitors of a server choose."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from core.types import Question
from tests.made.browser import Server, choose_option, empty_tab, ready, visit
from tests.made.endpoint_server import EndpointServer
from tests.made.projects import fill, new_project


def pick(page: Page, label: str, option: str) -> None:
    choose_option(page, label, option)
    ready(page)


def open_up(page: Page, name: str) -> None:
    """Unfold a part of the page."""
    page.get_by_text(name).click()
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
        pick(page, "Model runs", "Endpoint")
        # The key follows the address at once: nobody waits for a screen between two boxes.
        page.get_by_label("Address", exact=True).fill(endpoint.url)
        write(page.get_by_label("Key for this address", exact=True), "open-sesame")
        expect(page.get_by_text("The key that you typed for 127.0.0.1 is used.")).to_be_visible()
        expect(page.get_by_label("Key for this address", exact=True)).to_have_value("")
        write(page.get_by_label("Model", exact=True), "mini")
        open_up(page, "Ask it one question")
        page.get_by_role("button", name="Ask", exact=True).click()
        expect(page.get_by_text("Answered, word for word")).to_be_visible()
        assert endpoint.seen[0].headers["authorization"] == "Bearer open-sesame"

        # Another tab is another session, which knows nothing of it.
        other = empty_tab(page.context)
        visit(other, f"{here.address}/grading?project=gold&setup=Self-rating")
        pick(other, "Model runs", "Endpoint")
        write(other.get_by_label("Address", exact=True), endpoint.url)
        expect(other.get_by_text("An endpoint on this computer needs no key.")).to_be_visible()
        other.close()

        (tmp_path / "endpoints.toml").write_text(f'[endpoints.Ours]\nbase_url = "{endpoint.url}"\nmodels = ["mini"]\n')
        monkeypatch.setenv("EXAM_ENDPOINTS", str(tmp_path / "endpoints.toml"))
        monkeypatch.setenv("EXAM_SHARED", "1")
        shared = app_server(tmp_path / "projects")
        visit(page, f"{shared.address}/grading?project=gold&setup=Self-rating")
        expect(page.get_by_text("No model on its own computer is offered by this server.")).to_be_visible()
        pick(page, "Model runs", "Endpoint")
        expect(page.get_by_role("combobox", name="Endpoint")).to_be_visible()
        for label in ("Address", "Key for this address"):
            expect(page.get_by_label(label, exact=True)).to_have_count(0)
        open_up(page, "Ask it one question")
        page.get_by_role("button", name="Ask", exact=True).click()
        expect(page.get_by_text("Answered, word for word")).to_be_visible()
        assert endpoint.seen[-1].headers["authorization"] == "Bearer no-key"
