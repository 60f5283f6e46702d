"""Planning an audit: its purpose, and the form for its goal and cost."""

import streamlit as st

from exam_workbench import audit as room, bank, board_summary, choices, labels
from exam_workbench.records import judgment_sources, run_names
from exam_workbench.store import Project
from pages.parts.audit import audit_state
from pages.parts.shared import presses, scoring_settings, ui

MEASURES = (
    "mean judgment@10 (DCG weights)",
    "mean judgment@5 (DCG weights)",
    "P@10",
    "P@5",
    "RBP(p=0.8)@10",
)
AIMS: dict[choices.AuditAim, str] = {
    "best": "Best system",
    "pair": "Two systems",
    "width": "All scores",
    "budget": "Fixed budget",
}
OWN = "A new source"
"""A source named after the audit. The option has a fixed text, since a select box would keep an
outdated name.
"""
WHY = (
    "A grader's labels are biased by an unknown amount. In an audit, assessors judge a random"
    " sample of passages. Their judgments correct the leaderboard: the audited scores are unbiased"
    " and have confidence intervals."
)


def draw_form(project: Project, name: str) -> None:
    """Draw the form for an audit: its goal, the estimated cost, and the button that plans it.

    Args:
        name: default name of the audit.
    """
    view = scoring_settings.require_view()
    policy = view.policy
    leading = board_summary.find_summary(project, policy, view.measure, None)
    # The best systems come first, because their difference is asked for most.
    best = [system.run for system in leading.board.systems] if leading else []
    runs = [*best, *(run for run in run_names(project) if run not in best)]
    ui.require_content(runs, "No systems to audit yet.", "Import runs.", "home")
    st.caption("The audit checks the labels of the scoring settings above by the measure below.")
    lacks = labels.label_readiness(project, labels.basis(project, policy))
    if lacks.ungraded:
        ui.draw_note(
            f":material/warning: {lacks.ungraded:,} of {lacks.needed:,} pairs are ungraded. Grade"
            " them first, because the audit includes only queries that have labels now.",
            "grading",
            "Grade the ungraded pairs",
            "ungraded-before-audit",
        )
    left, right = st.container(key="beside-plan").columns([3, 2], gap="large")
    with left:
        goal = _choose_goal(runs)
        with st.container(horizontal=True, vertical_alignment="bottom"):
            measure = st.selectbox(
                "Measure",
                MEASURES,
                key="audit-measure",
                accept_new_options=True,
                width=280,
                help="Use P@k, RBP(p=0.8)@k, or mean judgment@k (DCG weights), which is DCG@k"
                " divided by the sum of"
                " its discounts. nDCG and AP cannot be audited: they are not sums over passages.",
            )
            highest = st.number_input(
                "Highest judgment",
                1,
                20,
                3,
                key="audit-highest",
                width=150,
                help="Assessors judge from 0 to this value. TREC Deep Learning uses 3.",
            )
            called = st.text_input("Name", name, key="audit-name", max_chars=60, width=190)
        with st.expander("Systems, source and batches"):
            chosen = st.multiselect(
                "Systems",
                runs,
                key="audit-runs",
                placeholder=f"All {len(runs)}",
                help="Systems to compare.",
            )
            source = st.selectbox(
                "Source of the judgments",
                [OWN, *judgment_sources(project)],
                key="audit-source",
                accept_new_options=True,
                help="Judgments are stored under this source. A new source is named after the"
                " audit. The judgments of"
                " an existing source are reused: their passages are not judged again.",
            )
            graders = [one.spec.name for one in bank.label_graders(project) if one.grades]
            usual = policy.grader if policy.grader in graders else next(iter(graders), None)
            further = st.multiselect(
                "More graders for prediction",
                [one for one in graders if one != usual],
                key="audit-graders",
                help="If judgments are predicted well, fewer of them are needed.",
            )
            with st.container(horizontal=True):
                asked = (st.session_state.get(key) for key in ("audit-size", "audit-looks"))
                of_batch, batches = room.in_batches(goal or room.Goal("best"), *asked)
                size = st.number_input(
                    "Passages per batch",
                    1,
                    None,
                    None,
                    key="audit-size",
                    placeholder=str(of_batch),
                    width=170,
                )
                looks = st.number_input(
                    "Batch limit",
                    1,
                    50,
                    None,
                    key="audit-looks",
                    placeholder=str(batches),
                    width=150,
                    help="You can check the results after every batch and stop early. The intervals"
                    " allow for this: the error of 5% is spread over the batches.",
                )
    with right:
        if goal is None or not _draw_forecast(
            project, goal, str(measure), policy, chosen, int(highest), looks or batches
        ):
            return

    def plan_audit(author: str) -> None:
        designed = room.design_audit(
            project,
            called,
            str(measure),
            goal,
            policy,
            runs=chosen,
            graders=further,
            source=None if source == OWN else str(source),
            highest=int(highest),
            batch_size=size,
            looks=looks,
            author=author,
        )
        # The next run opens its leaderboard; the widgets of this run are drawn already.
        st.session_state["planned audit"] = designed.name

    presses.act_button(
        "Plan audit",
        plan_audit,
        at=left,
        type="primary",
        icon=":material/how_to_reg:",
        key="plan audit",
    )


@ui.errors()
def _draw_forecast(
    project: Project,
    goal: room.Goal,
    measure: str,
    policy: labels.Policy,
    runs: list[str],
    highest: int,
    looks: int,
) -> bool:
    """Draw the estimated number of judgments; return whether such an audit is possible."""
    with st.spinner("Forecasting the number of judgments"):
        forecast = room.forecast_plan(
            project, measure, goal, policy, runs=runs, highest=highest, looks=looks
        )
    audit_state.draw_curve(forecast, goal)
    return True


def _choose_goal(runs: list[str]) -> room.Goal | None:
    """Draw the goal of the audit; return None if it is incomplete."""
    aim = st.segmented_control(
        "Goal of the audit",
        list(AIMS),
        default="best",
        format_func=AIMS.__getitem__,
        key="audit-aim",
        required=True,
    )
    with st.container(horizontal=True):
        if aim == "pair":
            first = st.selectbox("Is system", runs, index=0, key="audit-first", width=280)
            second = st.selectbox(
                "better than system",
                runs,
                index=min(1, len(runs) - 1),
                key="audit-second",
                width=280,
            )
            if first == second:
                st.caption("Choose two different systems.")
                return None
            return room.Goal("pair", first=first, second=second)
        if aim == "width":
            half = st.number_input(
                "Within ±", 0.001, None, 0.02, step=0.01, format="%.3f", key="audit-half", width=150
            )
            return room.Goal("width", half_width=float(half))
        if aim == "budget":
            budget = st.number_input(
                "Judgments", 1, None, 200, step=50, key="audit-budget", width=150
            )
            return room.Goal("budget", budget=int(budget))
    return room.Goal("best")
