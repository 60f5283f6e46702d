"""The screens: every file directly in `pages/`, with its title, icon and place in the menu."""

from collections.abc import Collection, Mapping, Sequence

import streamlit as st
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from pages.parts.shared import components

MENU = {
    "Home": (":material/home:", {"home": "Home"}),
    "My work": (":material/checklist_rtl:", {"my_work": "My work"}),
    "Questions": (":material/quiz:", {"question_bank": "Question bank", "changes": "Changes"}),
    "Passages": (":material/article:", {"passages": "Passages"}),
    "Disagreements": (
        ":material/compare_arrows:",
        {"disagreements": "Disagreements", "adjudication": "Adjudication"},
    ),
    "Grading": (":material/fact_check:", {"grading": "Grading", "prompts": "Prompts"}),
    "Leaderboard": (
        ":material/leaderboard:",
        {"leaderboard": "Leaderboard", "audit": "Audit", "measures": "Meta-evaluation"},
    ),
    "Export": (":material/download:", {"export": "Export"}),
    "Exams": (
        ":material/school:",
        {"exam": "Exam", "students": "Examinees", "items": "Items", "improve": "Improve"},
    ),
    "Answers": (
        ":material/forum:",
        {"answers": "Answers", "cases": "Cases", "judges": "Answer checks"},
    ),
    "Administration": (":material/settings:", {"people": "People", "activity": "Activity"}),
}
"""The entries of the menu: the icon, and the title of each screen by the name of its file.

The first screen of an entry is the one that its link leads to. Home is the screen where people
arrive.
"""

SCREENS = {
    name: (title, icon) for icon, screens in MENU.values() for name, title in screens.items()
}
"""Title and icon of every screen, by the name of its file."""


ABOUT = {
    "question_bank": "Edit the questions of each query. Assessors and organizers save versions.",
    "changes": "Compare two bank versions: questions, labels and leaderboard.",
    "disagreements": (
        "Assessors resolve cases in which a label and a judgment differ, or two graders."
    ),
    "adjudication": "Organizers decide pairs that two assessors judged or rated independently.",
    "grading": "Organizers set up graders, and grade passages.",
    "prompts": "Organizers write and test the prompts of graders.",
    "leaderboard": "Compare systems by a measure.",
    "audit": (
        "Organizers draw passages, assessors judge them: the error of the leaderboard is estimated."
    ),
    "measures": (
        "Compare leaderboards of several measures and graders with the official leaderboard."
    ),
    "exam": "Compare the scores of examinees.",
    "students": "Sit an exam with an examinee.",
    "items": "Check how difficult each item is, and how well it separates examinees.",
    "improve": "Replace items that separate examinees badly.",
    "answers": "Compare generated answers of runs with answers from gold passages.",
    "cases": "Assessors confirm why an answer and its passages disagree.",
    "judges": "Compare answer checks with each other and with assessors.",
    "people": "Organizers give roles, and assign queries to assessors.",
    "activity": "Show who did each action, and when.",
}
"""Who does what on each screen that shares its entry with others."""


def navigation() -> tuple[str, st.Page, dict[str, st.Page]]:
    """Declare the screens; return the name of the open screen, its page, and all pages by name."""
    pages = {
        name: st.Page(f"pages/{name}.py", title=title, icon=icon, default=name == "home")
        for name, (title, icon) in SCREENS.items()
    }
    here = st.navigation(list(pages.values()), position="hidden")
    return next(name for name, page in pages.items() if page is here), here, pages


def first_by_name() -> Route:
    """Return a redirect from the first screen's name, which people may type, to the empty path."""

    async def redirect_home(request: Request) -> Response:
        # A relative address, so that it works under any path prefix.
        return RedirectResponse(f"./?{request.url.query}" if request.url.query else "./")

    return Route(f"/{next(iter(SCREENS))}", redirect_home)


def entry_of(screen: str) -> str:
    """Return the entry of the menu that a screen belongs to."""
    return next(entry for entry, (_, screens) in MENU.items() if screen in screens)


def menu(
    current_screen: str,
    pages: Mapping[str, st.Page],
    choices: Mapping[str, str],
    visible: Collection[str],
    folded: Collection[str],
) -> None:
    """Draw a link for each entry of the menu.

    Streamlit's own list of screens drops the parameters of the address. The next screen would then
    write each of them into the address again, as a step of its own for the browser's Back.

    Args:
        current_screen: the screen that the person is on.
        pages: the screens by name, as `navigation` declared them.
        choices: parameters of the address that the next screen keeps.
        visible: names of the screens that the person may see.
        folded: entries that the project has no content for.
    """
    components.draw("frame", "frame", {})
    visible_screens = {
        entry: [name for name in screens if name in visible]
        for entry, (_, screens) in MENU.items()
        if screens.keys() & visible
    }
    with st.container(key="menu"):
        for entry in visible_screens:
            if entry not in folded:
                _draw_entry(entry, visible_screens[entry], current_screen, pages, choices)
        if away := [entry for entry in visible_screens if entry in folded]:
            with st.expander("More", key="menu-more"):
                for entry in away:
                    _draw_entry(entry, visible_screens[entry], current_screen, pages, choices)


def _draw_entry(
    entry: str,
    screens: Sequence[str],
    current_screen: str,
    pages: Mapping[str, st.Page],
    choices: Mapping[str, str],
) -> None:
    place = st.container(key="menu-here") if current_screen in screens else st
    place.page_link(
        pages[screens[0]],
        label=entry,
        icon=MENU[entry][0],
        query_params=choices,
        width="stretch",
    )


def tabs(
    current_screen: str,
    pages: Mapping[str, st.Page],
    choices: Mapping[str, str],
    visible: Collection[str],
) -> None:
    """Draw links to the screens of an entry, and who does what there. The arguments are those of
    `menu`.
    """
    screens = {
        name: title for name, title in MENU[entry_of(current_screen)][1].items() if name in visible
    }
    if len(screens) > 1:
        for name, title in screens.items():
            st.page_link(pages[name], label=title, query_params=choices, help=ABOUT[name])
        st.caption(ABOUT[current_screen])
