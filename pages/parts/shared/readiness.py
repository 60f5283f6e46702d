"""The line that says how far a leaderboard can be trusted, the same on Home, Leaderboard and
Export.
"""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import streamlit as st

from exam_workbench.board_summary import Readiness, board_readiness, publication_checks
from exam_workbench.labels import Policy
from exam_workbench.store import Project
from exam_workbench.text import how_many
from pages.parts.shared import scoring_settings, ui

GREYED = "few-graded"
NEEDS = (
    "Some measures, such as nDCG and AP, need labels of the whole pool, not only of the top ranks."
)


def draw(project: Project, state: Readiness | None = None) -> Readiness | None:
    """Draw the line, each part with a link to its screen; draw nothing and return None before the
    first grades.

    Args:
        state: the readiness of the leaderboard whose sentence above the line already has the graded
            share and the audit; None without such a sentence.
    """
    view, below_sentence = scoring_settings.current_view(), state is not None
    if view is None:
        return None
    state = state or board_readiness(project, view.policy, view.measure)
    with st.container(key="readiness", horizontal=True, vertical_alignment="center"):
        if state.needed and not below_sentence:
            _draw_part("grading", ui.escape(state.grading), NEEDS)
        if state.disagreements is not None:
            _draw_part("disagreements", how_many(state.disagreements, "open disagreements"))
        if state.needed and not below_sentence:
            _draw_part("audit", ui.escape(state.audited))
        _draw_part("changes", f"bank version {state.bank_version}")
    return state


def draw_checklist(project: Project, policy: Policy, ready: Readiness) -> None:
    """Draw the checklist before a publication, each line with a link to its screen."""
    with st.container(key="checklist", gap=None):
        for check in publication_checks(project, policy, ready):
            _draw_part(
                check.screen,
                f":material/{'check' if check.done else 'warning'}: {ui.escape(check.says)}",
                **check.place,
            )
    st.caption(
        "Each point links to its screen. You can publish with open points; the manifest states"
        " them."
    )


def _draw_part(screen: str, words: str, about: str | None = None, **query: str) -> None:
    if ui.may_see(screen):
        ui.draw_link(screen, words, icon=None, help=about, **query)
    else:
        st.markdown(words, width="content")


@contextmanager
def greyed_leaderboard(doubt: str) -> Iterator[None]:
    """Draw a leaderboard in grey below the reason, if there is one."""
    if doubt:
        st.container(key="few-graded-why").warning(ui.escape(doubt), icon=":material/warning:")
    with st.container(key=GREYED) if doubt else nullcontext():
        yield
