"""Pairs that failed or have a default rating: counts by reason, the pairs, and retries of failed ones."""

from functools import partial

import streamlit as st

from exam_workbench import bank, catalogue, grading
from exam_workbench.project import RATED_BY_HAND, Project, pool_mark
from pages.parts.shared import html, job_plan, look, presses, ui

PAIRS_A_PAGE = 10
REASONS = 12
"""Number of reasons to choose from, since many errors differ only in a number."""
TITLES: dict[grading.Which, str] = {"failed": "Failed", "defaulted": "Default ratings"}
ABOUT: dict[grading.Which, str] = {
    "failed": "The grader gave no usable rating: an error, a refusal, a number off the scale or a cut-off answer. "
    "These pairs have no rating, which is not the same as 0.",
    "defaulted": "The answer has no number. The rating is 0 if the answer says that the question is unanswerable, "
    "else 1. These pairs are not graded again.",
}


def failed_pairs(project: Project, running: bool) -> None:
    """Draw the section, if a grader has such pairs.

    Args:
        running: whether a job runs, so that no other can start.
    """
    version = bank.latest_version(project)
    found = {grader.spec.name: (grader, _counts(project, grader, version)) for grader in catalogue.graders(project)}
    found = {name: (grader, counts) for name, (grader, counts) in found.items() if any(counts.values())}
    if not found:
        return
    st.header("Failed and default ratings", anchor=False)
    left, right = st.columns([3, 2], vertical_alignment="bottom")
    name = left.selectbox("Grader", list(found), key="failed_of", bind="query-params")
    grader, counts = found[name]
    totals = {which: sum(number for _, number in listed) for which, listed in counts.items()}
    kinds: list[grading.Which] = [which for which in TITLES if totals[which]]
    which = right.segmented_control(
        "Pairs", kinds, default=kinds[0], required=True, label_visibility="collapsed",
        format_func=lambda kind: f"{TITLES[kind]}: {totals[kind]:,}", key=f"which pairs {kinds}",
    )  # fmt: skip
    st.caption(ABOUT[which])
    if which == "failed":
        _again(project, grader, totals["failed"], running)
    listed = counts[which]
    by_reason = dict(listed[:REASONS])
    reason = None
    if len(listed) > 1:
        reason = st.selectbox(
            "Reason", list(by_reason), index=None, placeholder=f"All {len(listed):,} reasons",
            format_func=lambda text: f"{by_reason[text]:,} × {text}", key=f"reason {name} {which}",
        )  # fmt: skip
    total = by_reason[reason] if reason else totals[which]
    pages = -(-total // PAIRS_A_PAGE)
    page = st.pagination(pages, key=f"failed page {name} {which} {reason}") if pages > 1 else 1
    offset = (min(page, pages) - 1) * PAIRS_A_PAGE
    for pair in grading.doubtful_pairs(project, grader, which, version, reason, offset, PAIRS_A_PAGE):
        _pair(pair)


def _counts(
    project: Project, grader: catalogue.StoredGrader, version: int
) -> dict[grading.Which, list[tuple[str, int]]]:
    # Most graders never failed; for those, a search through bank and pool is not needed.
    among: dict[grading.Which, int] = {"failed": grader.failures, "defaulted": grader.grades}
    return {
        which: project.remember(
            ("doubtful", grader.key, which, version),
            partial(grading.reasons, project, grader, which, version),
            RATED_BY_HAND,
            pool_mark(project),
        )
        if among[which]
        else []
        for which in TITLES
    }


def _again(project: Project, stored: catalogue.StoredGrader, failed: int, running: bool) -> None:
    grader = catalogue.grader_again(project, stored.spec)
    if grader is None:
        st.container(key="not-asked-again").caption(
            ":material/info: This grader cannot run from here: its grades were imported, or its model is missing. "
            "To retry, set it up above with the same model and prompt."
        )
        return
    with st.expander("Retry of failed pairs"):
        request = grading.Request(grading.Scope(only_failed=True))
        job_plan.tag(project, grader, request, failed)
        request = job_plan.budget(project, grader, request, "failed")
        if running:
            st.caption("A job is running. Wait until it ends, or cancel it.")
        label = f"Retry failed pairs ({failed:,})"
        if presses.button(label, type="primary", disabled=running, key="ask failed"):
            job_plan.start(project, grader, request)


def _pair(pair: grading.Doubtful) -> None:
    times = f" · {pair.attempts:,} attempts" if pair.attempts > 1 else ""
    question, passage = ui.shortened(pair.asked.text, 70), ui.shortened(" ".join(pair.passage.split()), 60)
    label = f"**{ui.plain(question)}** {ui.plain(passage)}"
    with st.expander(label), st.container(key=f"failed {hash((pair.asked, pair.passage_id))}"):
        reason = pair.reason[:1].upper() + pair.reason[1:].rstrip(".")
        if pair.rating is None:
            st.text(f"{reason} · no rating{times}")
        else:
            st.html(f"{look.rating(pair.rating, 'Rating')} {html.visible(reason + times)}")
        if pair.asked.text != question:
            st.text(pair.asked.text)
        if pair.asked.text != pair.query:
            st.caption(f"Query: {ui.plain(pair.query)}")
        if pair.asked.answer_key:
            st.caption(f"Answer key: {ui.plain(pair.asked.answer_key)}")
        st.caption("Answer of the grader" if pair.raw else "No answer")
        if pair.raw:
            st.code(pair.raw, language=None, wrap_lines=True)
        st.caption("Passage")
        st.text(pair.passage)
        ui.go("passages", "Open passage", query=pair.query_id, passage=pair.passage_id)
