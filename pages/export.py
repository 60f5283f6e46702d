"""Export: qrels in one click, publishing with a manifest, and all other files of the project."""

import streamlit as st

from exam_workbench import exchange, labels, text
from exam_workbench.board_summary import Readiness
from exam_workbench.store import Project
from pages.parts.export.export_files import draw_download, draw_other_files, draw_publishing
from pages.parts.shared import readiness, scoring_settings, ui

# Boxes are side by side if they fit, otherwise below each other.
STYLE = """
.st-key-files { flex-wrap: wrap; align-items: stretch; }
.st-key-files > * { flex: 1 1 15rem; min-width: min(100%, 15rem); }
.st-key-rest-on { flex-wrap: wrap; gap: 0.5rem 2.5rem; }
.st-key-rest-on > * { width: auto; flex: none; }
"""


def draw_qrels(project: Project) -> tuple[labels.Policy, bool, Readiness | None]:
    """Draw the qrels of the scoring settings; return the settings, whether the qrels are binary,
    and the readiness.
    """
    st.header("Labels as qrels", anchor=False)
    policy, ready = scoring_settings.require_view().policy, readiness.draw(project)
    base = labels.basis(project, policy)
    labelled = sum(exchange.qrels_counts(project, policy, binary=False).values())
    state = labels.label_readiness(project, base)
    if not labelled:
        _rests_on(state, labelled)
        ui.end_empty_screen("No labels yet.", "Grade the pool first.", "grading", "no-labels")
    with st.container(horizontal=True, vertical_alignment="center"):
        button = st.container(width="content")
        binary = st.checkbox(
            f"Binary: 1 from rating {base.min_rating}, else 0",
            key="binary",
            bind="query-params",
            persist_state="session",
        )
        if ready is not None and project.allows("publish"):
            st.markdown("[Publish them with a manifest](#publish)")
    with button:
        draw_download(
            project,
            "Download qrels",
            "qrels",
            f"{project.name}{'-binary' * binary}.qrels",
            lambda: exchange.exporting.qrels_text(project, policy, binary=binary),
            type="primary",
            icon=":material/download:",
        )
    draw_completeness(state, list(labels.grading_progress(project, base).ungraded_of))
    _rests_on(state, labelled)
    left, right = st.columns(2)
    counted = exchange.qrels_counts(project, policy, binary)
    left.expander("Label distribution", expanded=True).dataframe(
        {"Label": list(counted), "Passages": list(counted.values())},
        hide_index=True,
        column_config={"Passages": st.column_config.NumberColumn(format="localized")},
    )
    right.expander("First lines of the file", expanded=True).code(
        "\n".join(exchange.qrels_text(project, policy, binary=binary, lines=8).splitlines()),
        language=None,
    )
    return policy, binary, ready


def _rests_on(state: labels.Readiness, labelled: int) -> None:
    """Draw the basis of the labels in four numbers."""
    share = labels.graded_share(state.rated, state.needed) if state.needed else "–"
    counts = (
        f"{state.rated:,} of {state.needed:,} pairs, {state.overridden:,} of them by overrides."
        f" Ungraded: {state.ungraded:,}. Failed: {state.failed:,}."
    )
    unlisted = "The file does not list these passages. They do not count as 0."
    partial = "Some pairs of these labels are ungraded or failed."
    ui.draw_metrics(
        ("labels", "Labels", f"{labelled:,}", None),
        ("graded", "Graded in the pool", share, counts),
        ("partial", "Partial labels", f"{state.partial_labels:,}", partial),
        ("unlabelled", "Passages without a label", f"{state.unlabelled_passages:,}", unlisted),
        key="rest-on",
        width="content",
    )


def draw_completeness(state: labels.Readiness, ungraded: list[str]) -> None:
    """Draw the pairs of the file that a person has to act on. The numbers below it and the
    checklist of a publication state the rest.

    Args:
        ungraded: the queries with ungraded pairs.
    """
    notes = (
        (
            ungraded,
            f"The file includes {ui.escape(labels.queries_with_ungraded(ungraded))}. Grade them"
            " first: their labels may change.",
        ),
        (
            state.without_text,
            f"{text.how_many(state.without_text, 'pairs')} cannot be graded without the passage"
            " text. Import it on Home.",
        ),
    )
    said = "\n".join(f"- {note}" for applies, note in notes if applies)
    if said:
        st.container(key="incomplete").warning(said, icon=":material/warning:")
    elif state.complete:
        st.container(key="complete").success(
            f"All {state.needed:,} pairs in the pool are graded.", icon=":material/check:"
        )
    with st.container(horizontal=True):
        if state.ungraded or state.failed:
            ui.draw_link("grading", "Grade the ungraded pairs")
        if state.stale_overrides:
            ui.draw_link("passages", "Check the stale overrides", overridden="true")
    ui.draw_speaking(state.speaking_passages)


project = ui.require_project(STYLE)
policy, binary, ready = draw_qrels(project)
if ready is not None and project.allows("publish"):
    draw_publishing(project, policy, binary, ready)
draw_other_files(project)
