"""Accessibility of all screens: axe-core checks in the light and dark themes."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page, expect

from exam_workbench import audit as room, bank
from exam_workbench.bank import save_prompt
from exam_workbench.graders import built_in_prompts
from exam_workbench.labels import add_override
from exam_workbench.store import Project
from pages.parts.shared.screens import SCREENS
from pages.parts.shared.ui import NAME
from tests.made.answered import put_answered, put_verdicts
from tests.made.audits import deal
from tests.made.browser import Server, follow, ready, visit
from tests.made.projects import file_of
from tests.made.screens import put_small

pytestmark = pytest.mark.browser

GRAVE = ("serious", "critical")
LOOKS = 5
STILL = "*, *::before, *::after { animation: none !important; transition: none !important }"
"""Turns off transitions, so that axe never measures a color halfway through a change."""
VIEWS = {
    "leaderboard": ("All leaderboards", "Two leaderboards", "Two systems", "By budget", "Significance"),
    "disagreements": ("Resolved",),
    "changes": ("Questions",),
    "audit": ("Judge", "Labels", "Roles", "Report and files", "Plan another audit"),
    "answers": ("Which evaluation chooses which system", "Generate and compare"),
}
"""Views with kinds of elements that the first view of their screen lacks."""


def found(page: Page, screen: str, theme: str, part: Mapping[str, Any], options: Mapping[str, Any]) -> Iterator[str]:
    """Yield the serious violations that axe-core finds now on a page or a part of it."""
    asked = [part, {"resultTypes": ["violations"], **options}]
    for broken in page.evaluate("async (asked) => (await axe.run(...asked)).violations", asked):
        if broken["impact"] not in GRAVE:
            continue
        for node in broken["nodes"]:
            why = " ".join(node["failureSummary"].split())
            yield f"{screen} ({theme}): {broken['id']} ({broken['help']}): {node['html'][:200]}\n    {why}"


def held(page: Page, screen: str, theme: str, part: Mapping[str, Any], options: Mapping[str, Any]) -> list[str]:
    """Return the violations that remain after repeated checks.

    A page that Streamlit redraws during a check is faded; real violations appear in every check.
    """
    findings: list[str] = []
    for _ in range(LOOKS):
        ready(page)
        findings = list(found(page, screen, theme, part, options))
        if not findings:
            break
    return findings


def put_all_sorts(project: Project) -> None:
    """Fill a project with grades, judgments, a failure, an override, a draft, a prompt and an audit in progress."""
    put_small(project)
    first, second, *_ = bank.list_questions(project)
    add_override(project, first.question_id, "p2", 4, "It says so in the last line.", "ann")
    bank.save_version(
        project, [replace(first, text="What is A, exactly?"), replace(second, weight=2.0)], "sharper", "ann"
    )
    bank.put_draft(project, "tester", replace(second, text="What is B, exactly?"))
    audit = room.design_audit(project, "first", "P@2", room.Goal("best"), batch_size=3, seed=2, author="ann")
    room.draw_batch(project, audit, "ann")
    while (found := deal(project, audit, "ann")) is not None:
        for card in found.cards:
            room.judge_drawn(project, audit, found.query.query_id, card.passage_id, 1, "ann")
    room.draw_batch(project, audit, "ann")
    put_answered(project)
    put_verdicts(project)
    save_prompt(project, replace(built_in_prompts()["self-rating"], name="ours", title="Ours"), "ann")


MENU = "[data-testid=stSidebar]"


def _open(page: Page, view: str) -> None:
    """Choose another view of the open screen; the address changes once the view is drawn."""
    before = page.url
    page.get_by_role("radio", name=view, exact=True).click()
    page.wait_for_url(lambda url: url != before)
    ready(page)


def test_no_screen_has_serious_axe_violations(projects: Path, server: Server, chromium_page: Page) -> None:
    file_of(put_all_sorts).write(projects / "access.duckdb")
    page, here, there = chromium_page, "light", "dark"
    page.emulate_media(color_scheme="light")
    findings: list[str] = []
    for at, name in enumerate(SCREENS):
        address = f"/{'' if name == 'home' else name}?project=access"
        if at == 0:
            visit(page, f"{server.address}{address}")
            page.evaluate(AXE_SCRIPT)
            page.add_style_tag(content=STILL)
        else:
            follow(page, address, SCREENS[name][0])
        expect(page).to_have_title(f"{SCREENS[name][0]} · {NAME}")
        # The menu is the same on all screens.
        part = {"exclude": [MENU] if at else []}
        for view in ("", *VIEWS.get(name, ())):
            if view:
                _open(page, view)
            shown = f"{name} {view}".strip()
            findings += held(page, shown, here, part, {})
            page.emulate_media(color_scheme=there)
            page.wait_for_function(
                "(scheme) => getComputedStyle(document.querySelector('.stApp')).colorScheme === scheme", arg=there
            )
            findings += held(page, shown, there, part, {"runOnly": ["color-contrast"]})
            # The next view opens in the current theme, because each theme switch redraws the whole page.
            here, there = there, here
    page.emulate_media(color_scheme="light")
    assert not findings, "\n".join(findings)
