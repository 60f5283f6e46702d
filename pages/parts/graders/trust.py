"""Trust in a grader: its card, its robustness, and the watch for a changed model."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from exam_workbench import audit, bank, choices, graders, grading, jobs, types
from exam_workbench.store import Project
from pages.parts.shared import presses, ui


def draw(project: Project) -> None:
    """Draw what is known about the reliability of one grader with grades."""
    graded = {
        grader_row.spec.name: grader_row
        for grader_row in bank.label_graders(project)
        if grader_row.grades
    }
    if not graded:
        return
    st.header("Trust in a grader", anchor=False)
    name = str(st.selectbox("Grader", list(graded), key="trusted", bind="query-params"))
    grader = graded[name]
    _draw_card(project, grader)
    watch = bank.grader_drift(project, grader.spec)
    _draw_watch(watch, grader.spec)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        presses.act_button(
            "Make card", audit.make_card, project, grader, icon=":material/badge:", key="make card"
        )
        pairs = st.number_input(
            "Pairs per change", 1, None, choices.PROBED_PAIRS, key="probed", width=150
        )
        if presses.button("Test robustness", icon=":material/shield:", key="probe"):
            _ask_grader(
                project,
                grader.spec,
                lambda made, control: audit.probe_robustness(
                    project, made, ui.author(), control, pairs
                ),
            )
        _watch_button(project, grader.spec, watch)


def _draw_card(project: Project, grader: bank.StoredGrader) -> None:
    card = audit.find_card(project, grader)
    box = st.container(key="card")
    if card is None:
        box.caption(
            "No card yet. A card shows agreement with judgments, failures, consistency,"
            " robustness and cost."
        )
        return
    box.markdown(ui.escape(card.description))
    content = card.content
    box.caption(
        ui.escape(
            f"Failed {ui.as_percent(content['failed'])}, default ratings"
            f" {ui.as_percent(content['defaulted'])}, same rating when asked again"
            f" {ui.as_percent(content['consistent'])}, calls {content['calls'] or 0:,},"
            f" cost {content['cost'] or 0:.2f}."
        )
    )
    agreement = content["agreement"] or content.get("unsampled") or {"by_label": {}}
    left, middle, right = st.columns(3)
    sampled = "" if content["agreement"] else " (judgments that no audit sampled)"
    by_label = [(f"label {name}", rate) for name, rate in agreement["by_label"].items()]
    _draw_rates(left, f"Share relevant by label{sampled}", by_label)
    _draw_rates(middle, "Kappa by system", list(agreement.get("by_system", {}).items()))
    flips = [
        (one["change"], {**one, "value": one["share"], "judged": one["pairs"]})
        for one in content["flips"]
    ]
    _draw_rates(right, "Changed answers by kind of changed passage", flips)


def _draw_rates(place: Any, title: str, rates: list[tuple[str, dict[str, Any]]]) -> None:
    if rates:
        place.caption(title)
        place.dataframe(
            {
                "": [name for name, _ in rates],
                "Value": [rate["value"] for _, rate in rates],
                "95 % interval": [
                    "–" if rate["low"] is None else f"{rate['low']:z.2f} to {rate['high']:z.2f}"
                    for _, rate in rates
                ],
                "Number": [rate["judged"] for _, rate in rates],
            },
            hide_index=True,
            placeholder="–",
            column_config={"Value": st.column_config.NumberColumn(format="%.2f")},
        )


def _draw_watch(state: bank.Drift | None, spec: types.GraderSpec) -> None:
    box = st.container(key="drift")
    if state is not None:
        box.caption(
            f":material/{'warning' if state.alarm else 'visibility'}:"
            f" {ui.escape(state.description)}"
        )
    elif spec.parameters.get("back_end") != "openai":
        box.caption(
            ":material/lock: The model cannot change: the fingerprint contains its weights."
        )
    else:
        box.caption("Not watched: a change of the model behind the endpoint would go unnoticed.")


def _watch_button(project: Project, spec: types.GraderSpec, state: bank.Drift | None) -> None:
    if spec.parameters.get("back_end") != "openai" or (
        state is not None and state.alarm is not None
    ):
        return
    label = "Watch the model" if state is None else "Check the model now"
    calls = grading.SENTINELS if state is None else grading.AGAIN
    if presses.button(
        label,
        key="watch",
        icon=":material/visibility:",
        help=f"Asks up to {calls} graded pairs again.",
    ):
        _ask_grader(
            project,
            spec,
            lambda made, control: grading.watch_grader(project, made, ui.author(), control),
        )


def _ask_grader(
    project: Project, spec: types.GraderSpec, act: Callable[[graders.Grader, Any], object]
) -> None:
    """Run an act that asks the grader, if it can be made here."""
    with ui.errors(rerun=True), st.spinner("Asking the grader"):
        grader = bank.grader_again(project, spec)
        if grader is None:
            st.warning("The settings of this grader are missing. Set it up above as it was before.")
            st.stop()
        act(grader, jobs.trial_control(project, grader))


def leaderboard_note(project: Project, grader: str | None) -> None:
    """Draw notes under a leaderboard: whether the model behind its grader changed, and how robust
    it is.
    """
    notes = bank.trust_notes(project, bank.find_grader(project, grader).spec)
    for at, note in enumerate(notes):
        st.container(key=f"trust {at}").caption(f":material/shield: {ui.escape(note)}")
