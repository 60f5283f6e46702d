"""The leaderboard of an audit and its state: the statement, the present or next batch, and the
assessors.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import streamlit as st

from exam_workbench import audit as room, bank, charts, labels, run_names, study, text
from exam_workbench.measures.audit import Rate
from exam_workbench.store import Project
from pages.parts.shared import chart_display, html, leaderboard_table, presses, ui, view_choice


def draw(project: Project, audit: room.Audit) -> None:
    """Draw the outcome and the next step, the leaderboard, and then the statistics."""
    drawn = room.list_batches(project, audit)
    with st.spinner("Computing the audited leaderboard"):
        board, reached = room.audit_board(project, audit), room.audit_outcome(project, audit)
    _draw_outcome(reached)
    draw_about(project, audit)
    _draw_batch(project, audit, drawn, board)
    _draw_board(audit, board)
    st.subheader("Statistics", anchor=False)
    if reached.pairs:
        st.container(key="separated-pairs").caption(
            f":material/info: Separated: {reached.separated:,} of"
            f" {text.how_many(reached.pairs, 'pairs of systems')} (Holm, alpha {audit.alpha:g})."
        )
    if board.batches:
        st.container(key="looks").caption(
            f":material/info: {ui.escape(describe_rule(audit, board))}"
        )
    _draw_estimates(board)
    draw_curve(room.forecast_audit(project, audit), audit.goal)


def _draw_outcome(reached: room.Outcome) -> None:
    states = {None: ("machine-alone", "warning"), True: ("target reached", "check_circle")}
    key, icon = states.get(reached.reached, ("target missed", "hourglass_top"))
    with st.container(key=key):
        st.markdown(f":material/{icon}: **{ui.escape(reached.description)}**")
        if reached.reached is not None and not reached.decides:
            st.markdown(ui.escape(reached.conclusion))


def describe_rule(audit: room.Audit, board: room.AuditBoard) -> str:
    """Return the basis of the leaderboard, and how often the results may be checked."""
    note = board.statement
    if note.looks == 1 or note.level is None:
        return board.description
    return (
        f"{board.description} Look {note.look} of {note.looks}: this look may use"
        f" {note.level:.2%} of the error rate of {audit.alpha:.0%}. You can stop when the target"
        " is reached."
    )


def _draw_batch(
    project: Project, audit: room.Audit, drawn: list[room.Batch], board: room.AuditBoard
) -> None:
    if audit.ended:
        return
    last = drawn[-1] if drawn else None
    if last is not None and not last.done:
        _draw_open_batch(project, audit, last)
        return
    with st.container(horizontal=True, vertical_alignment="bottom", key="draw-next"):
        size = st.number_input(
            "Passages",
            1,
            None,
            audit.batch_size,
            key=f"size of batch {audit.key} {len(drawn) + 1}",
            width=150,
            help=(
                "The size of the batch varies slightly, because each passage is"
                " drawn independently."
            ),
        )
        twice = st.number_input(
            "Judged twice (%)",
            0,
            100,
            0,
            key="audit-twice",
            width=170,
            help="A second assessor judges this share of the passages, to measure agreement.",
        )
        presses.act_button(
            f"Draw batch {len(drawn) + 1}",
            partial(room.draw_batch, size=int(size), doubled=twice / 100),
            project,
            audit,
            type="secondary" if board.statement.may_stop else "primary",
            icon=":material/casino:",
            key="draw batch",
        )


def _draw_open_batch(project: Project, audit: room.Audit, last: room.Batch) -> None:
    handled = last.judged + last.cannot_say
    people = room.list_audit_assessors(project, audit)
    with st.container(border=True):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.progress(
                handled / last.drawn,
                f"Batch {last.number}: {handled:,} of {last.drawn:,} judged, {last.open:,} left"
                + (f" ({last.skipped:,} skipped)" if last.skipped else "")
                + (
                    f"; {last.judged_twice:,} of {last.doubled:,} judged twice"
                    if last.doubled
                    else ""
                ),
                width=420,
            )
            view_choice.draw_view_button("Judge", "Judge")
            if last.judged:
                presses.confirm_button(
                    "End batch",
                    f"{text.how_many(last.open, 'passages')} would have no judgment. The"
                    " intervals get wider.",
                    room.end_batch,
                    project,
                    audit,
                    now="End batch now",
                    now_key="end batch",
                    type="tertiary",
                    key="ending batch",
                    help="End the batch without the remaining judgments",
                )
        if people:
            st.caption(" · ".join(_describe_assessor(one) for one in people))


def _describe_assessor(assessor: room.Assessor) -> str:
    words = f"{ui.escape(assessor.name)}: {assessor.judged:,}"
    words += f", could not judge {assessor.cannot_say:,}" if assessor.cannot_say else ""
    words += f", saw {text.how_many(assessor.looked, 'labels')}" if assessor.looked else ""
    return words + (" (judging)" if assessor.query_id is not None else "")


def _draw_estimates(board: room.AuditBoard) -> None:
    """Draw further estimates from the sample."""
    about = st.container(key="about-labels")
    if board.labels is not None:
        rates = ", ".join(
            _format_rate(name, getattr(board.labels, name))
            for name in ("precision", "recall", "kappa")
        )
        about.caption(f":material/info: Label quality in the pool: {ui.escape(rates)}.")
    if (
        board.correlation is not None
        and board.correlation.value is not None
        and board.kendall is not None
    ):
        low, high = board.kendall
        pearson = ui.escape(_format_rate("Pearson", board.correlation))
        about.caption(
            ":material/info: Estimated correlation of the grader's leaderboard with a fully judged"
            f" one: {pearson}, Kendall's tau between {low:z.2f} and {high:z.2f}."
        )
    if board.favour is not None:
        about.caption(f":material/info: {ui.escape(board.favour.description)}")
    if board.people is not None and board.people.value is not None:
        about.caption(
            ":material/info: Agreement of first and second judgments: kappa"
            f" {board.people.value:z.2f}."
        )


def _format_rate(name: str, share: Rate) -> str:
    if share.value is None:
        return f"{name} undefined"
    return f"{name} {share.value:.2f} [{ui.as_number(share.low, 2)}, {ui.as_number(share.high, 2)}]"


@st.fragment
def _draw_board(audit: room.Audit, board: room.AuditBoard) -> None:
    """Draw the leaderboard; a click on a system compares it with every other one."""
    systems = board.systems
    graded = [labels.System(one.run, one.machine, None, 0, one.machine_rank) for one in systems]
    grader = leaderboard_table.NamedLeaderboard(
        f"Grader {board.measure}",
        labels.Leaderboard(board.measure, "exam", audit.policy, graded, {}),
        spread="",
        name="Grader",
    )
    followed, _ = leaderboard_table.find_followed()
    opened = compare_system(board, followed) if followed in audit.runs else None
    if not board.batches:
        leaderboard_table.draw(grader, None, None, [], opened)
        return
    scored = [
        labels.System(one.run, one.audited, _half(one.low, one.high), 0, one.rank)
        for one in systems
        if one.audited is not None and one.rank is not None
    ]
    half = f" ± half of its {board.confidence:.0%} interval"
    audited = leaderboard_table.NamedLeaderboard(
        f"Audited {board.measure}",
        labels.Leaderboard(board.measure, board.audit, audit.policy, scored, {}),
        spread=half,
    )
    columns = [
        leaderboard_table.Column(
            "Grader's bias",
            [one.bias for one in systems],
            f"Grader's score minus audited score{half}; significant if it is larger than its ±",
            digits=3,
            errors=[_half(one.bias_low, one.bias_high) for one in systems],
        ),
        leaderboard_table.Column(
            "Shrunk",
            [one.order for one in systems],
            "Rank by shrunk scores: residuals are shrunk to their common shift, so fewer systems"
            " swap by chance",
        ),
    ]
    if board.missed:
        worst = [_interval_text(one.worst_low, one.worst_high) for one in systems]
        about = "Interval that allows for passages that could not be judged"
        columns.append(leaderboard_table.Column("Worst case", worst, about))
    leaderboard_table.draw(audited, grader, find_groups(board), columns, opened)
    unknown = "Without ±, the error is unknown, because no informative passage was judged."
    st.container(key="about-board").caption(
        f"Audited score{half}. Brackets join systems that are not separated."
        f" {unknown if board.untested else ''}"
    )


def _half(low: float | None, high: float | None) -> float | None:
    return None if low is None or high is None else (high - low) / 2


def _interval_text(low: float | None, high: float | None) -> str:
    return "error unknown" if low is None or high is None else f"[{low:z.3f}, {high:z.3f}]"


def find_groups(board: room.AuditBoard) -> study.UnseparatedSystems:
    """Return the groups of systems that are not separated."""
    place = {system.run: at for at, system in enumerate(board.systems)}
    spans = [sorted(map(place.__getitem__, group)) for group in board.groups]
    return study.UnseparatedSystems([(span[0], span[-1]) for span in spans], {}, [])


def compare_system(board: room.AuditBoard, run: str) -> dict[str, Any]:
    """Return the differences of a system from every other one, for the browser. Differences within
    a sample are more precise than two intervals.
    """
    names = run_names.short_names([system.run for system in board.systems], 34)
    rows = []
    for pair in board.differences:
        if run not in (pair.first, pair.second):
            continue
        # The correction is for all pairs, at the level of the whole leaderboard.
        separated = pair.adjusted is not None and pair.adjusted <= 1 - board.confidence
        rows.append(
            (
                html.as_shown(f"{names[pair.first]} − {names[pair.second]}"),
                f"{pair.value:+z.3f}",
                _interval_text(pair.low, pair.high),
                "" if pair.adjusted is None else f"p = {pair.adjusted:.2g}",
                "separated" if separated else "not separated",
            )
        )
    says = "Differences from the other systems. p is corrected for all pairs by Holm's method."
    return {"run": run, "says": says if rows else "Nothing is judged yet.", "pairs": rows}


def draw_curve(forecast: room.Forecast, goal: room.Goal) -> None:
    """Draw the number of judgments needed, and the curve."""
    st.container(key="judgments-needed").markdown(ui.escape(forecast.description))
    chart_display.draw_chart(charts.forecast_chart(forecast, goal))


def choose_audit(audits: Sequence[room.Audit]) -> room.Audit:
    """Return the chosen audit; by default the newest that has not ended."""
    by_name = {audit.name: audit for audit in reversed(audits)}
    if (planned := st.session_state.pop("planned audit", None)) in by_name:
        st.session_state["view"] = "Board"
        # A single audit is shown without a choice. If the session stored it, it would later count
        # as the person's own choice.
        if len(audits) > 1:
            st.session_state["audit"] = planned
        st.toast(f"Planned the audit “{ui.escape(planned)}”.", icon=":material/how_to_reg:")
    usual = next((audit for audit in by_name.values() if not audit.ended), audits[-1])
    if len(audits) == 1:
        # Otherwise the next planned audit would not be opened: the address takes precedence over
        # the session.
        st.query_params.pop("audit", None)
        return usual
    wanted = st.query_params.get("audit")
    if wanted is not None and wanted not in by_name:
        st.warning(
            f"Unknown audit “{ui.escape(wanted)}”. Showing “{ui.escape(usual.name)}” instead.",
            icon=":material/info:",
        )
        del st.query_params["audit"]
    picked = st.selectbox(
        "Audit",
        list(by_name),
        index=list(by_name).index(usual.name),
        key="audit",
        bind="query-params",
        width=260,
    )
    return by_name[str(picked)]


def free_name(audits: Sequence[room.Audit]) -> str:
    """Return an unused name for the next audit."""
    return text.free_name("audit", {"audit", *(one.name for one in audits)}, "{} {}")


def draw_about(project: Project, audit: room.Audit) -> None:
    """Draw a line with the goal of the audit, and the settings of the machine's leaderboard."""
    policy = audit.policy
    spec = bank.find_grader(project, policy.grader).spec
    version = policy.bank_version or 0
    newer = (
        f" (newest: {bank.latest_version(project)})"
        if version < bank.latest_version(project)
        else ""
    )
    caption = " · ".join(
        [
            f"**{ui.escape(audit.name)}**: {ui.escape(audit.goal.description)}",
            ui.escape(audit.measure_title),
            text.how_many(len(audit.runs), "systems"),
            text.how_many(len(audit.queries), "queries"),
            f"labels by {ui.escape(spec.name)}, min rating {spec.min_rating(policy.min_rating)}",
            f"bank version {version}{newer}",
            *(["ended"] if audit.ended else []),
        ]
    )
    st.container(key="about-audit").caption(caption)


def draw_audit_note(
    project: Project, policy: labels.Policy, measure: str, audit: room.Audit | None
) -> None:
    """Draw a note on a leaderboard of machine labels: not audited, or a link to the audited one;
    and model roles.

    Args:
        audit: the audit of these labels with a leaderboard, if any.
    """
    begun, roles = room.under_way(project, policy), room.find_circularity(project, policy)
    if audit is not None:
        result = (
            "corrects these scores"
            if audit.measure == measure
            else f"corrects {ui.escape(audit.measure_title)} for these labels"
        )
        note, link = f"The audit “{ui.escape(audit.name)}” {result}", "Show audited leaderboard"
        state = "corrects" if audit.measure == measure else "of another measure"
    elif begun is not None:
        state = "begun"
        note, link = (
            f"The audit “{ui.escape(begun.name)}” is in progress: no results yet",
            "Show audit",
        )
    else:
        state = "none"
        note, link = "Not audited: the error of these scores is unknown", "Plan an audit"
    named = audit or begun
    ui.draw_note(
        f":material/how_to_reg: {note}.",
        "audit",
        link,
        f"audit {state}",
        audit=named.name if named else None,
    )
    st.caption(ui.escape(" ".join((roles.description, *roles.warnings))))
