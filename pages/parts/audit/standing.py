"""The leaderboard of an audit and its state: the statement, the present or next batch, and the assessors."""

import streamlit as st

from exam_workbench import audit as room
from exam_workbench.audit import Audit, AuditBoard, Batch, Share
from exam_workbench.project import Project
from exam_workbench.text import how_many
from pages.parts.audit import board as table
from pages.parts.audit import curve
from pages.parts.shared import presses, ui, views


def draw(project: Project, audit: Audit) -> None:
    """Draw the statement, the batch, and the leaderboard."""
    drawn = room.batches(project, audit)
    with st.spinner("Computing the audited leaderboard"):
        found = room.audit_board(project, audit)
    _statement(project, audit, found)
    _batch(project, audit, drawn, found)
    table.draw(found)
    _about(found)
    st.subheader("Judgments needed", anchor=False)
    curve.draw(room.forecast(project, audit), audit.goal)


def _statement(project: Project, audit: Audit, found: AuditBoard) -> None:
    told = found.statement
    if told.holds is None:
        st.container(key="machine-alone").markdown(
            ":material/warning: **Not audited yet.** The error of these scores is unknown."
        )
        return
    icon = ":material/check_circle:" if told.holds else ":material/hourglass_top:"
    st.container(key=f"target {'reached' if told.holds else 'missed'}").markdown(
        f"{icon} **{'Target reached' if told.holds else 'Target not reached'}:** {ui.plain(told.says)}"
    )
    if apart := room.told_apart(project, audit):
        st.markdown(ui.plain(apart))
    st.container(key="looks").caption(rule(audit, found))


def rule(audit: Audit, found: AuditBoard) -> str:
    """Return how often the results may be checked, and the basis of the leaderboard."""
    told = found.statement
    if told.looks == 1 or told.level is None:
        return found.says
    return (
        f"Look {told.look} of {told.looks}, at level {told.level:.2%} of the error of {audit.alpha:.0%} (power family)."
        f" You can stop when the target is reached. {found.says}"
    )


def _batch(project: Project, audit: Audit, drawn: list[Batch], found: AuditBoard) -> None:
    if audit.ended:
        return
    last = drawn[-1] if drawn else None
    if last is not None and not last.done:
        _waiting(project, audit, last)
        return
    with st.container(horizontal=True, vertical_alignment="bottom", key="draw-next"):
        size = st.number_input(
            "Passages", 1, None, audit.batch_size,
            key=f"size of batch {audit.key} {len(drawn) + 1}", width=150,
            help="The size of the batch varies slightly, because each passage is drawn independently.",
        )  # fmt: skip
        twice = st.number_input(
            "Judged twice (%)", 0, 100, 0, key="audit-twice", width=170,
            help="A second assessor judges this share of the passages, to measure agreement.",
        )  # fmt: skip
        if presses.button(
            f"Draw batch {len(drawn) + 1}", type="secondary" if found.statement.may_stop else "primary",
            icon=":material/casino:", key="draw batch",
        ):  # fmt: skip
            with ui.errors():
                room.draw(project, audit, ui.author(), int(size), twice / 100)
                st.rerun()


def _waiting(project: Project, audit: Audit, last: Batch) -> None:
    said = last.judged + last.cannot_say
    people = room.assessors(project, audit)
    with st.container(border=True):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.progress(
                said / last.drawn,
                f"Batch {last.number}: {said:,} of {last.drawn:,} judged, {last.open:,} left"
                + (f" ({last.skipped:,} skipped)" if last.skipped else "")
                + (f"; {last.judged_twice:,} of {last.doubled:,} judged twice" if last.doubled else ""),
                width=420,
            )
            views.go("Judge", "Judge")
            if last.judged:
                _end_batch(project, audit, last)
        if people:
            st.caption(" · ".join(_person(one) for one in people))


def _person(one: room.Assessor) -> str:
    said = f"{ui.plain(one.name)}: {one.judged:,}"
    said += f", could not judge {one.cannot_say:,}" if one.cannot_say else ""
    said += f", saw {how_many(one.looked, 'labels')}" if one.looked else ""
    return said + (" (judging)" if one.query_id is not None else "")


def _end_batch(project: Project, audit: Audit, last: Batch) -> None:
    with st.popover(
        "End batch", type="tertiary", help="End the batch without the remaining judgments", key="ending batch"
    ):
        st.text(f"{how_many(last.open, 'passages')} would have no judgment. The intervals get wider.")
        if st.button("End batch now", key="end batch"):
            with ui.errors():
                room.end_batch(project, audit, ui.author())
                st.rerun()


def _about(found: AuditBoard) -> None:
    """Draw further estimates from the sample."""
    lines = []
    if found.labels is not None:
        rates = ("precision", "recall", "kappa")
        lines.append(
            "Label quality in the pool: " + ", ".join(_rate(name, getattr(found.labels, name)) for name in rates) + "."
        )
    if found.correlation is not None and found.correlation.value is not None and found.kendall is not None:
        low, high = found.kendall
        lines.append(
            "Estimated correlation of the grader's leaderboard with a fully judged one: "
            + _rate("Pearson", found.correlation)
            + f", Kendall's tau between {low:z.2f} and {high:z.2f}."
        )
    if found.favour is not None:
        lines.append(found.favour.says)
    if found.people is not None and found.people.value is not None:
        lines.append(f"Agreement of first and second judgments: kappa {found.people.value:z.2f}.")
    about = st.container(key="about-labels")
    for line in lines:
        about.caption(f":material/info: {ui.plain(line)}")


def _rate(name: str, share: Share) -> str:
    if share.value is None:
        return f"{name} undefined"
    return f"{name} {share.value:.2f} [{ui.number(share.low, 2)}, {ui.number(share.high, 2)}]"
