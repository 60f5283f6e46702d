"""The screens: every file directly in `pages/`, with its title, its icon and its place in the list."""

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
"""Title and icon of every screen, by the name of its file, under what one does there.

The first is where one arrives.
"""

SCREENS = dict(chain.from_iterable(screens.items() for screens in GROUPS.values()))


_frame = component("frame", "shared/frame.js")


def navigation() -> tuple[str, st.Page, dict[str, st.Page]]:
    """Declare the screens; returns the name of the one that the person is on, that screen, and all of them by name."""
    pages = {
        name: st.Page(f"pages/{name}.py", title=title, icon=icon, default=name == "home")
        for name, (title, icon) in SCREENS.items()
    }
    here = st.navigation(list(pages.values()), position="hidden")
    return next(name for name, page in pages.items() if page is here), here, pages


def first_by_name() -> Route:
    """The way from the first screen's name, which people type as they do those of the others, to its empty address."""

    async def lead(request: Request) -> Response:
        # Seen from here, whatever stands before the name.
        return RedirectResponse(f"./?{request.url.query}" if request.url.query else "./")

    return Route(f"/{next(iter(SCREENS))}", lead)


def menu(pages: Mapping[str, st.Page], choices: Mapping[str, str], visible: Collection[str]) -> None:
    """Links to the screens, in groups.

    Streamlit's own list of them drops what the address says. Each choice would then be written into it anew on the
    next screen, as a step of its own that Back takes back.

    Args:
        pages: the screens as `navigation` declared them: one that is named is looked for among all of them.
        choices: what goes along to the next screen, as the address says it.
        visible: names of the screens that are among them.
    """
    _frame(key="frame")
    with st.container(key="menu"):
        for group, screens in GROUPS.items():
            if not (shown := {name: screen for name, screen in screens.items() if name in visible}):
                continue
            st.caption(group)
            for name, (title, icon) in shown.items():
                st.page_link(pages[name], label=title, icon=icon, query_params=choices, width="stretch")
