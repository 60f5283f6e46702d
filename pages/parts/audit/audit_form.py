"""Planning an audit: its purpose, and the form for its goal and cost."""

import streamlit as st

from exam_workbench import audit as room, bank, labels
from exam_workbench.records import run_names, sources
from exam_workbench.store import Project
from pages.parts.audit import audit_state
from pages.parts.shared import policy_widgets, presses, ui

MEASURES = ("mean judgment@10 (DCG weights)", "mean judgment@5 (DCG weights)", "P@10", "P@5", "RBP(p=0.8)@10")
AIMS: dict[room.Aim, str] = {
    "best": "Best system",
    "pair": "Two systems",
    "width": "All scores",
    "budget": "Fixed budget",
}
OWN = "A new source"
"""A source named after the audit. The option has a fixed text, since a select box would keep an outdated name."""
WHY = (
    "A grader's labels are biased by an unknown amount. In an audit, assessors judge a random sample of passages."
    " Their judgments correct the leaderboard: the audited scores are unbiased and have confidence intervals."
)


def form(project: Project, name: str) -> None:
    """Draw the form for an audit: its goal, the estimated cost, and the button that plans it.

    Args:
        name: default name of the audit.
    """
    policy = policy_widgets.view().policy
    runs = run_names(project)
    if not runs:
        ui.empty("No systems to audit yet.", "Import runs.", "home")
    st.caption("The audit checks the leaderboard of the scoring settings above.")
    lacks = labels.readiness(project, labels.basis(project, policy))
    if lacks.ungraded:
        ui.note(
            f":material/warning: {lacks.ungraded:,} of {lacks.needed:,} pairs are ungraded. Grade them first, because"
            " the audit includes only queries that have labels now.",
            "grading", "Grade the ungraded pairs", "ungraded-before-audit",
        )  # fmt: skip
    left, right = st.container(key="beside-plan").columns([3, 2], gap="large")
    with left:
        goal = _goal(runs)
        with st.container(horizontal=True, vertical_alignment="bottom"):
            measure = st.selectbox(
                "Measure", MEASURES, key="audit-measure", accept_new_options=True, width=280,
                help="Use P@k, RBP(p=0.8)@k, or mean judgment@k (DCG weights), which is DCG@k divided by the sum of"
                " its discounts. nDCG and AP cannot be audited: they are not sums over passages.",
            )  # fmt: skip
            highest = st.number_input(
                "Highest judgment", 1, 20, 3, key="audit-highest", width=150,
                help="Assessors judge from 0 to this value. TREC Deep Learning uses 3.",
            )  # fmt: skip
            called = st.text_input("Name", name, key="audit-name", max_chars=60, width=190)
        with st.expander("Systems, source and batches"):
            chosen = st.multiselect(
                "Systems", runs, key="audit-runs", placeholder=f"All {len(runs)}", help="Systems to compare."
            )
            source = st.selectbox(
                "Source of the judgments", [OWN, *sources(project)], key="audit-source", accept_new_options=True,
                help="Judgments are stored under this source. A new source is named after the audit. The judgments of"
                " an existing source are reused: their passages are not judged again.",
            )  # fmt: skip
            others = [one.spec.name for one in bank.graders(project) if one.grades]
            further = st.multiselect(
                "More graders for prediction", [one for one in others if one != _named(project, policy.grader)],
                key="audit-graders", help="If judgments are predicted well, fewer of them are needed.",
            )  # fmt: skip
            with st.container(horizontal=True):
                asked = (st.session_state.get(key) for key in ("audit-size", "audit-looks"))
                of_batch, batches = room.in_batches(goal or room.Goal("best"), *asked)
                size = st.number_input(
                    "Passages per batch", 1, None, None, key="audit-size", placeholder=str(of_batch), width=170
                )
                looks = st.number_input(
                    "Batch limit", 1, 50, None, key="audit-looks",
                    placeholder=str(batches), width=150,
                    help="You can check the results after every batch and stop early. The intervals allow for this:"
                    " the error of 5% is spread over the batches.",
                )  # fmt: skip
    with right:
        if goal is None or not _foreseen(project, goal, str(measure), policy, chosen, int(highest), looks or batches):
            return

    def plan(author: str) -> None:
        made = room.design(
            project, called, str(measure), goal, policy, runs=chosen, graders=further,
            source=None if source == OWN else str(source), highest=int(highest), batch_size=size, looks=looks,
            author=author,
        )  # fmt: skip
        # The next run opens its leaderboard; the widgets of this run are drawn already.
        st.session_state["planned audit"] = made.name

    presses.doing("Plan audit", plan, at=left, type="primary", icon=":material/how_to_reg:", key="plan audit")


@ui.errors()
def _foreseen(
    project: Project, goal: room.Goal, measure: str, policy: labels.Policy, runs: list[str], highest: int, looks: int
) -> bool:
    """Draw the estimated number of judgments; return whether such an audit is possible."""
    with st.spinner("Forecasting the number of judgments"):
        found = room.foresee(project, measure, goal, policy, runs=runs, highest=highest, looks=looks)
    audit_state.draw_curve(found, goal)
    return True


def _named(project: Project, grader: str | None) -> str:
    known = [one.spec.name for one in bank.graders(project) if one.grades]
    return grader if grader in known else known[0]


def _goal(runs: list[str]) -> room.Goal | None:
    """Draw the goal of the audit; return None if it is incomplete."""
    aim = st.segmented_control(
        "Goal of the audit", list(AIMS), default="best", format_func=AIMS.__getitem__, key="audit-aim",
        required=True,
    )  # fmt: skip
    with st.container(horizontal=True):
        if aim == "pair":
            first = st.selectbox("Is system", runs, index=0, key="audit-first", width=280)
            second = st.selectbox(
                "better than system", runs, index=min(1, len(runs) - 1), key="audit-second", width=280
            )
            if first == second:
                st.caption("Choose two different systems.")
                return None
            return room.Goal("pair", first=first, second=second)
        if aim == "width":
            half = st.number_input("Within ±", 0.001, None, 0.02, step=0.01, format="%.3f", key="audit-half", width=150)
            return room.Goal("width", half_width=float(half))
        if aim == "budget":
            budget = st.number_input("Judgments", 1, None, 200, step=50, key="audit-budget", width=150)
            return room.Goal("budget", budget=int(budget))
    return room.Goal("best")
