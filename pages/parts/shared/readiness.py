"""The line that says how far a leaderboard can be trusted, the same on Home, Leaderboard and Export."""

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from exam_workbench.labels import Policy
from exam_workbench.readiness_line import ReadinessLine, publication_checks, readiness_line
from exam_workbench.store import Project
from exam_workbench.text import how_many
from pages.parts.shared import scoring_settings, ui

GREYED = "few-graded"


def draw(project: Project, after_sentence: bool = False) -> ReadinessLine | None:
    """Draw the line, each part with a link to its screen; draw nothing and return None before the first grades.

    Args:
        after_sentence: the sentence of a leaderboard above the line already has the graded share and the audit.
    """
    view = scoring_settings.current_view()
    if view is None:
        return None
    state = readiness_line(project, view.policy, view.measure)
    with st.container(key="readiness", horizontal=True, vertical_alignment="center"):
        if state.needed and not after_sentence:
            _draw_part("grading", f"**{state.graded}** of the pairs that {ui.plain(state.measure)} needs are graded")
        if state.disagreements is not None:
            _draw_part("disagreements", how_many(state.disagreements, "disagreements"))
        if not after_sentence:
            _draw_part("audit", state.audited)
        _draw_part("changes", f"bank version {state.bank_version}")
    return state


def draw_checklist(project: Project, policy: Policy, line: ReadinessLine) -> None:
    """Draw the checklist before a publication, each line with a link to its screen."""
    with st.container(key="checklist", gap=None):
        for check in publication_checks(project, policy, line):
            _draw_part(
                check.screen, f":material/{'check' if check.done else 'warning'}: {ui.plain(check.says)}", **check.place
            )
    st.caption("You can publish with open points. The manifest states the audit and the number of open disagreements.")


def _draw_part(screen: str, words: str, **query: str) -> None:
    if ui.may_see(screen):
        ui.draw_link(screen, words, icon=None, **query)
    else:
        st.markdown(words, width="content")


@contextmanager
def greyed_leaderboard(state: ReadinessLine | None) -> Iterator[None]:
    """Draw a leaderboard in grey with the reason, if too few of its pairs are graded."""
    if state is None or not state.too_few:
        yield
        return
    st.container(key="few-graded-why").markdown(
        f"**Only {state.graded} graded.** The order of the systems can still change."
    )
    with st.container(key=GREYED):
        yield
