"""The chosen audit, and its description in a line."""

from collections.abc import Sequence

import streamlit as st

from exam_workbench.audit import Audit, Circularity
from exam_workbench.bank import latest_version
from exam_workbench.catalogue import find_grader
from exam_workbench.project import Project
from exam_workbench.text import how_many
from pages.parts.shared import ui


def land(name: str) -> None:
    """Make the next run open the leaderboard of a newly planned audit; the widgets of this run are drawn already."""
    st.session_state["planned audit"] = name


def choose(known: Sequence[Audit]) -> Audit:
    """Return the chosen audit; by default the newest that has not ended."""
    by_name = {one.name: one for one in reversed(known)}
    if (planned := st.session_state.pop("planned audit", None)) in by_name:
        st.session_state["view"] = "Board"
        # A single audit is open without a choice. A noted choice would be taken for the person's own later.
        if len(known) > 1:
            st.session_state["audit"] = planned
        st.toast(f"Planned the audit “{ui.plain(planned)}”.", icon=":material/how_to_reg:")
    usual = next((one for one in by_name.values() if not one.ended), known[-1])
    if len(known) == 1:
        # Otherwise the next planned audit would not be opened: the address takes precedence over the session.
        st.query_params.pop("audit", None)
        return usual
    wanted = st.query_params.get("audit")
    if wanted is not None and wanted not in by_name:
        st.warning(
            f"Unknown audit “{ui.plain(wanted)}”. Showing “{ui.plain(usual.name)}” instead.", icon=":material/info:"
        )
        del st.query_params["audit"]
    picked = st.selectbox(
        "Audit", list(by_name), index=list(by_name).index(usual.name), key="audit", bind="query-params", width=260
    )
    return by_name[str(picked)]


def free_name(known: Sequence[Audit]) -> str:
    """Return an unused name for the next audit."""
    taken = {one.name for one in known}
    return next(name for number in range(2, len(known) + 3) if (name := f"audit {number}") not in taken)


def about(project: Project, audit: Audit) -> None:
    """Draw the goal of the audit, and the settings of the machine's leaderboard."""
    policy = audit.policy
    spec = find_grader(project, policy.grader).spec
    version = policy.bank_version or 0
    newer = f" (newest: {latest_version(project)})" if version < latest_version(project) else ""
    said = " · ".join(
        [
            f"**{ui.plain(audit.name)}**: {ui.plain(audit.goal.says)}",
            ui.plain(audit.measure_title),
            how_many(len(audit.runs), "systems"),
            how_many(len(audit.queries), "queries"),
            f"labels by {ui.plain(spec.name)}, min rating {spec.min_rating(policy.min_rating)}",
            f"bank version {version}{newer}",
            *(["ended"] if audit.ended else []),
        ]
    )
    st.container(key="about-audit").markdown(said)


def says_audit(audit: Audit | None, begun: Audit | None, measure: str, roles: Circularity) -> None:
    """Draw a note next to a leaderboard of machine labels: not audited, or a link to the audited one; and model
    roles.

    Args:
        begun: a running audit without a leaderboard.
    """
    if audit is not None:
        did = (
            "corrects these scores"
            if audit.measure == measure
            else f"corrects {ui.plain(audit.measure_title)} for these labels"
        )
        said, link = f"The audit “{ui.plain(audit.name)}” {did}", "Show audited leaderboard"
        state = "corrects" if audit.measure == measure else "of another measure"
    elif begun is not None:
        state = "begun"
        said, link = f"The audit “{ui.plain(begun.name)}” is in progress: no results yet", "Show audit"
    else:
        state = "none"
        said, link = "Not audited: the error of these scores is unknown", "Plan an audit"
    named = audit or begun
    there = {} if named is None else {"audit": named.name}
    with st.container(horizontal=True, vertical_alignment="center"):
        st.container(key=f"audit {state}", width="content").caption(f":material/how_to_reg: {said}.", width="content")
        ui.go("audit", link, **there)
    st.caption(ui.plain(" ".join((roles.says, *roles.warnings))))
