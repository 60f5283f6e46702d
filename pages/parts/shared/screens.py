"""The screens: every file directly in `pages/`, with its title, its icon and its place in the menu."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import chain

import streamlit as st
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from pages.parts.shared.components import component

GROUPS = {
    "Project": {
        "home": ("Home", ":material/home:"),
        "activity": ("Activity", ":material/history:"),
        "people": ("People", ":material/group:"),
    },
    "Curate": {
        "my_work": ("My work", ":material/checklist_rtl:"),
        "question_bank": ("Question bank", ":material/quiz:"),
        "prompts": ("Prompts", ":material/edit_note:"),
        "grading": ("Grading", ":material/fact_check:"),
    },
    "Review": {
        "passages": ("Passages", ":material/article:"),
        "disagreements": ("Disagreements", ":material/compare_arrows:"),
        "adjudication": ("Adjudication", ":material/balance:"),
        "changes": ("Changes", ":material/difference:"),
    },
    "Exams": {
        "exam": ("Exam", ":material/school:"),
        "students": ("Examinees", ":material/groups:"),
        "items": ("Items", ":material/checklist:"),
        "improve": ("Improve", ":material/trending_up:"),
    },
    "Answers": {
        "answers": ("Answers", ":material/forum:"),
        "cases": ("Cases", ":material/rule:"),
        "judges": ("Answer checks", ":material/gavel:"),
    },
    "Publish": {
        "leaderboard": ("Leaderboard", ":material/leaderboard:"),
        "audit": ("Audit", ":material/how_to_reg:"),
        "measures": ("Meta-evaluation", ":material/table_chart:"),
        "export": ("Export", ":material/download:"),
    },
}
"""Title and icon of every screen by file name, grouped by task. The first is the start screen."""

SCREENS = dict(chain.from_iterable(screens.items() for screens in GROUPS.values()))


_frame = component("frame", "shared/frame.js")


def navigation() -> tuple[str, st.Page, dict[str, st.Page]]:
    """Declare the screens; return the name of the open screen, its page, and all pages by name."""
    pages = {
        name: st.Page(f"pages/{name}.py", title=title, icon=icon, default=name == "home")
        for name, (title, icon) in SCREENS.items()
    }
    here = st.navigation(list(pages.values()), position="hidden")
    return next(name for name, page in pages.items() if page is here), here, pages


def first_by_name() -> Route:
    """Return a redirect from the first screen's name, which people may type, to its empty address."""

    async def lead(request: Request) -> Response:
        # A relative address, so that it works under any path prefix.
        return RedirectResponse(f"./?{request.url.query}" if request.url.query else "./")

    return Route(f"/{next(iter(SCREENS))}", lead)


def menu(pages: Mapping[str, st.Page], choices: Mapping[str, str], visible: Collection[str]) -> None:
    """Draw links to the screens, in groups.

    Streamlit's own menu drops the parameters of the address. The next screen would then write each choice again, as a
    separate step of the browser's history.

    Args:
        pages: the screens as `navigation` declared them.
        choices: address parameters that links keep.
        visible: names of the screens to show.
    """
    _frame(key="frame")
    with st.container(key="menu"):
        for group, screens in GROUPS.items():
            if not (shown := {name: screen for name, screen in screens.items() if name in visible}):
                continue
            st.caption(group)
            for name, (title, icon) in shown.items():
                st.page_link(pages[name], label=title, icon=icon, query_params=choices, width="stretch")
