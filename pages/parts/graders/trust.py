"""Trust in a grader: its card, its robustness, and the watch for a changed model."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from exam_workbench import audit, bank, grading, jobs
from exam_workbench.graders import Grader
from exam_workbench.store import Project
from exam_workbench.types import GraderSpec
from pages.parts.shared import presses, ui


def draw(project: Project) -> None:
    """Draw what is known about the reliability of one grader with grades."""
    found = {one.spec.name: one for one in bank.graders(project) if one.grades}
    if not found:
        return
    st.header("Trust in a grader", anchor=False)
    name = str(st.selectbox("Grader", list(found), key="trusted", bind="query-params"))
    grader = found[name]
    _card(project, grader)
    _watch(project, grader.spec)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        presses.doing("Make card", audit.make_card, project, grader, icon=":material/badge:", key="make card")
        pairs = st.number_input("Pairs per change", 1, None, grading.PROBED, key="probed", width=150)
        if presses.button("Test robustness", icon=":material/shield:", key="probe"):
            _ask(project, grader.spec, lambda made, control: grading.probe(project, made, ui.author(), control, pairs))
        _watch_button(project, grader.spec)


def _card(project: Project, grader: bank.StoredGrader) -> None:
    card = audit.find_card(project, grader)
    box = st.container(key="card")
    if card is None:
        box.caption("No card yet. A card shows agreement with judgments, failures, consistency, robustness and cost.")
        return
    box.markdown(ui.plain(card.says))
    shown = card.content
    box.caption(
        ui.plain(
            f"Failed {ui.percent(shown['failed'])}, default ratings {ui.percent(shown['defaulted'])}, same rating when"
            f" asked again {ui.percent(shown['consistent'])}, calls {shown['calls'] or 0:,},"
            f" cost {shown['cost'] or 0:.2f}."
        )
    )
    agreement = shown["agreement"] or {"by_label": {}, "by_system": {}}
    left, middle, right = st.columns(3)
    _rates(left, "Share relevant by label", [(f"label {name}", rate) for name, rate in agreement["by_label"].items()])
    _rates(middle, "Kappa by system", list(agreement["by_system"].items()))
    flips = [(one["change"], {**one, "value": one["share"], "judged": one["pairs"]}) for one in shown["flips"]]
    _rates(right, "Flips by change of the passage", flips)


def _rates(place: Any, title: str, rates: list[tuple[str, dict[str, Any]]]) -> None:
    if not rates:
        return
    place.caption(title)
    place.dataframe(
        {
            "": [name for name, _ in rates],
            "Value": [rate["value"] for _, rate in rates],
            "95 % interval": [
                "–" if rate["low"] is None else f"{rate['low']:z.2f} to {rate['high']:z.2f}" for _, rate in rates
            ],
            "Number": [rate["judged"] for _, rate in rates],
        },
        hide_index=True,
        placeholder="–",
        column_config={"Value": st.column_config.NumberColumn(format="%.2f")},
    )


def _watch(project: Project, spec: GraderSpec) -> None:
    state = bank.drift(project, spec)
    box = st.container(key="drift")
    if state is not None:
        box.caption(f":material/{'warning' if state.alarm else 'visibility'}: {ui.plain(state.says)}")
    elif spec.parameters.get("back_end") != "openai":
        box.caption(":material/lock: The model cannot change: the fingerprint contains its weights.")
    else:
        box.caption("Not watched: a change of the model behind the endpoint would go unnoticed.")


def _watch_button(project: Project, spec: GraderSpec) -> None:
    state = bank.drift(project, spec)
    if spec.parameters.get("back_end") != "openai" or (state is not None and state.alarm is not None):
        return
    label = "Watch the model" if state is None else "Check the model now"
    calls = grading.SENTINELS if state is None else grading.AGAIN
    about = f"Asks up to {calls} graded pairs again."
    if presses.button(label, key="watch", icon=":material/visibility:", help=about):
        _ask(project, spec, lambda made, control: grading.watch(project, made, ui.author(), control))


def _ask(project: Project, spec: GraderSpec, act: Callable[[Grader, Any], object]) -> None:
    """Run an act that asks the grader, if it can be made here."""
    with ui.errors(rerun=True), st.spinner("Asking the grader"):
        grader = bank.grader_again(project, spec)
        if grader is None:
            st.warning("The settings of this grader are missing. Set it up above as it was before.")
            st.stop()
        act(grader, jobs.trial_control(project, grader))


def leaderboard_note(project: Project, grader: str | None) -> None:
    """Draw notes under a leaderboard: whether the model behind its grader changed, and how robust it is."""
    notes = bank.trust_notes(project, bank.find_grader(project, grader).spec)
    for at, note in enumerate(notes):
        st.container(key=f"trust {at}").caption(f":material/shield: {ui.plain(note)}")
