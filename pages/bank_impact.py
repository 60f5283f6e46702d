"""The impact panel of the question bank: what the unsaved changes would do, while they are made."""

from __future__ import annotations

import altair as alt
import pandas as pd
import streamlit as st

from core import drafts, grading
from core.changes import Changes, LabelChange, changes
from core.comparison import Shift, correlation_shift, official_measure
from core.diagnostics import bank_summary
from core.errors import WorkbenchError
from core.graders import make_grader
from core.graders.base import Grader
from core.grades import find_grader
from core.grading import Request
from core.inspection import passage_texts
from core.leaderboard import boards, leaderboard, official_sources, sources
from core.policy import Policy
from core.project import Project
from core.types import Question
from pages import policy_widgets, ui

FLIPS_SHOWN = 6
MOVERS_SHOWN = 6


def controls(project: Project) -> tuple[Policy, str, str | None]:
    """The policy, the measure and the official board that the impact is measured with."""
    sources = official_sources(project)
    with st.expander("Measured with"):
        measure = policy_widgets.measure("Measure", cover=True, key="measure")
        against = st.selectbox("Official board", sources, key="against", bind="query-params") if sources else None
        policy = policy_widgets.policy(project, stacked=True)
    return policy, measure, against


def panel(project: Project, policy: Policy, measure: str, against: str | None) -> None:
    """What this person's drafts would change, against the newest bank version."""
    edits = drafts.drafted_edits(project, ui.author())
    if not edits:
        st.caption("Change a question: what it does to labels and leaderboard shows here before you save.")
        if st.toggle("Sum up the whole bank", key="summary"):
            _summary(project, policy, against)
        return
    try:
        found = changes(project, measure, policy, edits)
    except WorkbenchError as error:
        ui.show_error(error)
        return
    wordings = {question.question_id: question for questions in edits.values() for question in questions}
    _unknown(project, policy, found, wordings)
    _flips(project, found, wordings)
    if against is not None:
        _shift(project, policy, measure, against, found)
    _systems(found)


def _summary(project: Project, policy: Policy, against: str | None) -> None:
    judged = against if against in sources(project) else next(iter(sources(project)), None)
    with st.spinner("Looking at every query"):
        found = bank_summary(project, policy, judged)
    for kind, said in (
        ("universal", "answered by over 80 % of the systems: they hardly tell systems apart"),
        ("discriminative", "answered by some systems and not by others"),
        ("hard", "answered by under 10 % of the systems"),
    ):
        st.metric(f"{kind.capitalize()} questions", f"{found[kind]:,}", help=said.capitalize())


def _unknown(project: Project, policy: Policy, found: Changes, wordings: dict[str, Question]) -> None:
    st.markdown(f"**Needs {found.to_grade:,} gradings**, {found.known:,} already known")
    if not found.to_grade:
        return
    st.caption(
        f":orange[:material/pending:] {found.undecided:,} passages are undecided until these pairs are graded."
        " Ungraded is not zero: what is shown rests on the known grades."
    )
    grader = _runnable(project, policy)
    if grader is None:
        st.caption("The grades came from a file: this grader cannot be run here. See Grading.")
        return
    if st.button("Grade them as a trial", icon=":material/play_arrow:", width="stretch"):
        drafted = tuple(wordings[key] for key in found.edited if key in wordings)
        try:
            grading.start_job(project, grader, Request(trial=drafted), ui.author())
        except WorkbenchError as error:
            ui.show_error(error)
        else:
            st.rerun()


def _runnable(project: Project, policy: Policy) -> Grader | None:
    """The policy's grader, ready to grade; None where only its grades were imported."""
    spec = find_grader(project, policy.grader).spec
    if spec.method != "embedding":
        return None
    grader = make_grader("embedding", {"cuts": spec.parameters["cuts"]})
    return grader if grader.spec.fingerprint == spec.fingerprint else None


@st.fragment(run_every=0.5)
def watch(project: Project) -> None:
    """The trial that runs; the panel is drawn again when it ends."""
    job = grading.current_job(project)
    if job is None or job.progress.over:
        st.rerun()
    else:
        done, total = job.progress.done, job.progress.total
        st.progress(done / total if total else 0.0, text=f"Grading {done:,} of {total:,} pairs")


def _flips(project: Project, found: Changes, wordings: dict[str, Question]) -> None:
    count = len(found.labels)
    if not count:
        st.markdown("**No label flips**" + (" by what is known" if found.to_grade else ""))
        return
    st.markdown(f"**{count:,} label{'s' if count > 1 else ''} flip{'' if count > 1 else 's'}**")
    ordered = sorted(found.labels, key=lambda c: -abs((c.after or 0) - (c.before or 0)))
    texts = passage_texts(project, [change.passage_id for change in ordered[:FLIPS_SHOWN]])
    for change in ordered[:FLIPS_SHOWN]:
        _flip(change, texts, wordings)
    if count > FLIPS_SHOWN and st.button(f"All {count:,} flips", width="stretch"):
        _all_flips(project, ordered, wordings)


def _flip(change: LabelChange, texts: dict[str, str], wordings: dict[str, Question]) -> None:
    with st.container(key=f"flip-{change.query_id}-{change.passage_id}"):
        open_end = " :orange-badge[open]" if change.unknown else ""
        st.markdown(
            f":violet[**{_label(change.before)} → {_label(change.after)}**]{open_end}"
            f" {ui.plain(_shortened(texts.get(change.passage_id, change.passage_id), 90))}",
            help="Open: some pairs behind the new label are not graded yet." if change.unknown else None,
        )
        causes = [wordings[key].text or key for key in change.questions if key in wordings]
        st.caption(ui.plain("because of: " + "; ".join(_shortened(cause, 70) for cause in causes[:2])))


@st.dialog("Labels that flip", width="large")
def _all_flips(project: Project, flips: list[LabelChange], wordings: dict[str, Question]) -> None:
    texts = passage_texts(project, [change.passage_id for change in flips])
    st.dataframe(
        {
            "Before": [change.before for change in flips],
            "After": [change.after for change in flips],
            "Open pairs": [change.unknown or None for change in flips],
            "Passage": [texts.get(change.passage_id, change.passage_id) for change in flips],
            "Because of": [
                "; ".join(wordings[key].text or key for key in change.questions if key in wordings) for change in flips
            ],
        },
        hide_index=True,
    )


def _label(value: int | None) -> str:
    return "none" if value is None else str(value)


def _shortened(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1].rsplit(" ", 1)[0] + "…"


def _shift(project: Project, policy: Policy, measure: str, against: str, found: Changes) -> None:
    imported = dict(boards(project))
    official = leaderboard(project, imported.get(against, official_measure(measure, policy)), against, policy)
    shift: Shift = correlation_shift(found.before, found.after, official)
    if shift.before is None or shift.after is None:
        st.caption(f"Correlation with {ui.plain(against)}: undefined. {shift.says}")
        return
    st.metric(
        f"Spearman with {against}",
        ui.number(shift.after),
        delta=f"{shift.after - shift.before:+.3f}",
        delta_color="off",
    )
    if shift.low is not None and shift.high is not None:
        st.caption(f"95 % interval of the shift {shift.low:+.3f} to {shift.high:+.3f}. {shift.says}")


def _systems(found: Changes) -> None:
    moved = [s for s in found.systems if s.rank_before != s.rank_after]
    if not moved:
        st.markdown("**No system changes its rank**")
    else:
        st.markdown(f"**{len(moved)} of {len(found.systems)} systems change their rank**")
    shown = sorted(
        (s for s in found.systems if s.score_before != s.score_after),
        key=lambda s: -abs((s.score_after or 0) - (s.score_before or 0)),
    )
    if shown:
        st.altair_chart(_slope(found), key="impact slope")
        st.dataframe(
            {
                "Run": [s.run for s in shown[:MOVERS_SHOWN]],
                "Shift": [(s.score_after or 0) - (s.score_before or 0) for s in shown[:MOVERS_SHOWN]],
                "Rank": [f"{s.rank_before} → {s.rank_after}" for s in shown[:MOVERS_SHOWN]],
            },
            hide_index=True,
            column_config={"Shift": st.column_config.NumberColumn(f"Shift in {found.after.measure}", format="%+.3f")},
        )


def _slope(found: Changes) -> alt.Chart:
    rows = [
        {"run": s.run, "state": state, "rank": rank, "moved": s.rank_before != s.rank_after}
        for s in found.systems
        for state, rank in (("before", s.rank_before), ("after", s.rank_after))
        if rank is not None
    ]
    return (
        alt.Chart(pd.DataFrame(rows, columns=["run", "state", "rank", "moved"]))
        .mark_line(point=True)
        .encode(
            x=alt.X("state", sort=["before", "after"], title=None, axis=alt.Axis(labelAngle=0)),
            y=alt.Y("rank", scale=alt.Scale(reverse=True, zero=False), title="Rank", axis=alt.Axis(tickMinStep=1)),
            color=alt.condition("datum.moved", alt.value("#7a4fb5"), alt.value("#9aa1ab")),
            detail="run",
            tooltip=["run", "state", "rank"],
        )
        .properties(height=230)
    )
