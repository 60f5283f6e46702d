"""Planning an audit: why a machine's board needs one, and the form that says what is to be known and what it costs."""

from __future__ import annotations

import streamlit as st

from core import audit as room
from core.audit import Aim, Goal
from core.catalogue import graders
from core.errors import WorkbenchError
from core.labels import Policy, basis, readiness
from core.project import Project, run_names, sources
from pages.parts.audit import curve, opened
from pages.parts.shared import policy_widgets, presses, ui

MEASURES = ("mean judgment@10 (DCG weights)", "mean judgment@5 (DCG weights)", "P@10", "P@5", "RBP(p=0.8)@10")
AIMS: dict[Aim, str] = {
    "best": "Which is best",
    "pair": "Is A better than B",
    "width": "All within ±h",
    "budget": "A budget",
}
OWN = "A source of its own"
"""One that has the name of the audit. It is not said here: a box keeps what it said before the name was changed."""
WHY = (
    "A machine's labels are biased, and nobody sees by how much: on TREC Deep Learning 2020 the 95 % intervals of a"
    " board that rests on a large model's labels alone never held the true score, though its order looked right"
    " (tau .90). An audit has people judge a random sample of passages whose chances are known; the board that is"
    " corrected by them is unbiased whatever the machine does, and says how far it may be off."
)


def why() -> None:
    """Why a board needs an audit, in two sentences."""
    st.container(key="why-audit").markdown(WHY)


def form(project: Project, name: str) -> None:
    """Say what is to be known, see what it costs, and plan it.

    Args:
        name: for the audit, where nobody gives another.
    """
    policy = policy_widgets.view().policy
    runs = run_names(project)
    if not runs:
        ui.empty("There are no systems to audit.", "Import runs.", "home")
    st.caption("The machine's board is that of the line above: its grader, min rating, label rule and weights.")
    lacks = readiness(project, basis(project, policy))
    if lacks.ungraded:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.container(key="ungraded-before-audit", width="content").caption(
                f":material/warning: {lacks.ungraded:,} of {lacks.needed:,} pairs are ungraded. An audit takes the"
                " queries that have labels when it is planned: grade the rest first.",
                width="content",
            )
            ui.go("grading", "Grade what is missing")
    with st.container(key="beside-plan"):
        left, right = st.columns([3, 2], gap="large")
    with left:
        goal = _goal(runs)
        with st.container(horizontal=True, vertical_alignment="bottom"):
            measure = st.selectbox(
                "Measure", MEASURES, key="audit-measure", accept_new_options=True, width=280,
                help="One that adds up over the passages of a ranking: P@k, RBP(p=0.8)@k, or the mean judgment of the"
                " first k with the weights of DCG (DCG@k over the sum of its discounts). nDCG and AP do not.",
            )  # fmt: skip
            highest = st.number_input(
                "Judgments from 0 to", 1, 20, 3, key="audit-highest", width=150,
                help="The scale that people judge on, a key for each up to 9. 3 is that of TREC Deep Learning.",
            )  # fmt: skip
            called = st.text_input("Name", name, key="audit-name", max_chars=60, width=190)
        with st.expander("Systems, sources, batches"):
            chosen = st.multiselect(
                "Systems", runs, key="audit-runs", placeholder=f"All {len(runs)}", help="Those that the board compares."
            )
            source = st.selectbox(
                "Judgments are kept under", [OWN, *sources(project)], key="audit-source", accept_new_options=True,
                help="A source of its own is named after the audit. What is judged already in one that has judgments is"
                " known, counts as it is, and is not asked for again.",
            )  # fmt: skip
            others = [one.spec.name for one in graders(project) if one.grades]
            further = st.multiselect(
                "Predict from further graders", [one for one in others if one != _named(project, policy.grader)],
                key="audit-graders", help="The better judgments are predicted, the fewer are needed.",
            )  # fmt: skip
            with st.container(horizontal=True):
                asked = (st.session_state.get(key) for key in ("audit-size", "audit-looks"))
                of_batch, batches = room.in_batches(goal or Goal("best"), *asked)
                size = st.number_input(
                    "Passages of a batch", 1, None, None, key="audit-size", placeholder=str(of_batch), width=170
                )
                looks = st.number_input(
                    "Batches at most", 1, 50, None, key="audit-looks",
                    placeholder=str(batches), width=150,
                    help="You may look after each of them, and stop: the error of 5 % is spent over them.",
                )  # fmt: skip
    with right:
        if goal is not None and not _foreseen(
            project, goal, str(measure), policy, chosen, int(highest), looks or batches
        ):
            goal = None
    with left:
        planned = goal is not None and presses.button(
            "Plan the audit", type="primary", icon=":material/how_to_reg:", key="plan audit"
        )
    if goal is not None and planned:
        with ui.errors():
            made = room.design(
                project, called, str(measure), goal, policy, runs=chosen, graders=further,
                source=None if source == OWN else str(source), highest=int(highest), batch_size=size, looks=looks,
                author=ui.author(),
            )  # fmt: skip
            opened.land(made.name)
            st.rerun()


def _foreseen(
    project: Project, goal: Goal, measure: str, policy: Policy, runs: list[str], highest: int, looks: int
) -> bool:
    """What it would take; whether an audit of that kind can be made at all."""
    try:
        with st.spinner("Looking ahead"):
            found = room.foresee(project, measure, goal, policy, runs=runs, highest=highest, looks=looks)
    except WorkbenchError as error:
        ui.show_error(error)
        return False
    curve.draw(found, goal)
    return True


def _named(project: Project, grader: str | None) -> str:
    known = [one.spec.name for one in graders(project) if one.grades]
    return grader if grader in known else known[0]


def _goal(runs: list[str]) -> Goal | None:
    """What somebody wants to know; None where it is not said whole yet."""
    aim = st.segmented_control(
        "What do you want to know?", list(AIMS), default="best", format_func=AIMS.__getitem__, key="audit-aim",
        required=True,
    )  # fmt: skip
    with st.container(horizontal=True):
        if aim == "pair":
            first = st.selectbox("Is", runs, index=0, key="audit-first", width=280)
            second = st.selectbox("better than", runs, index=min(1, len(runs) - 1), key="audit-second", width=280)
            if first == second:
                st.caption("Name two systems.")
                return None
            return Goal("pair", first=first, second=second)
        if aim == "width":
            half = st.number_input("h", 0.001, None, 0.02, step=0.01, format="%.3f", key="audit-half", width=150)
            return Goal("width", half_width=float(half))
        if aim == "budget":
            budget = st.number_input("Judgments", 1, None, 200, step=50, key="audit-budget", width=150)
            return Goal("budget", budget=int(budget))
    return Goal("best")
