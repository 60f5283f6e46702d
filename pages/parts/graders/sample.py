"""Grading a few judged passages before the whole pool: agreement with the assessors, failures and price."""

import streamlit as st

from exam_workbench import grading
from exam_workbench.records import passage_texts, sources
from exam_workbench.store import Project
from exam_workbench.text import how_many
from pages.parts.shared import job_plan, policy_widgets, presses, ui

SIZE = 10


def draw(project: Project, chosen: job_plan.Chosen) -> None:
    """Draw the button that grades the sample, and the result for this grader."""
    judged = sources(project)
    grader = chosen.grader
    sample = grading.judged_sample(project, grader.spec, judged[0], SIZE) if judged else []
    if not sample:
        st.container(key="no-sample").caption(
            "No judged passages with questions. Import judgments to compare this grader with assessors."
        )
        return
    scope = grading.Scope(passages=tuple((query, passage) for query, passage, _ in sample), retry_failed=True)
    found = job_plan.planned(project, grader, scope)
    if found.to_grade:
        # A person waits for the result, so the job does not wait long for an endpoint that is down.
        request = grading.Request(scope, patience=0.0)
        tag = job_plan.price_tag(project, grader, request, found.to_grade)
        calls = f" Calls: {tag.calls:,}." if tag and tag.calls else ""
        cost = f" Estimated cost: {tag.cost:,.4f}." if tag and tag.cost else ""
        what = how_many(len(sample), "judged passages")
        st.caption(
            f"{what} of {ui.plain(judged[0])}, spread over the judgments."
            f" To grade: {how_many(found.to_grade, 'pairs')}.{calls}{cost} The grades are kept."
        )
        retry = f"Retry {how_many(found.to_grade, 'failed pairs')}"
        label = retry if found.failed == found.to_grade else f"Grade {what}"
        presses.doing(
            label, job_plan.remember_and_start, project, chosen, request, icon=":material/science:",
            key="grade sample", disabled=not project.allows("grade"),
        )  # fmt: skip
    outcome = grading.sample_outcome(project, grader.spec, sample, policy_widgets.chosen(project))
    if outcome is not None:
        _outcome(project, outcome, chosen)


def _outcome(project: Project, found: grading.SampleOutcome, chosen: job_plan.Chosen) -> None:
    with st.container(key="sample-outcome"):
        st.markdown(
            f"**{found.agreeing:,} of {how_many(found.labelled, 'passages')} agree** with the assessors on relevance"
            f" (label from {found.min_rating}, judgment from {found.min_judgment})."
        )
        if found.calls:
            rest = job_plan.planned(project, chosen.grader, grading.Scope(retry_failed=True)).to_grade
            cost, whole = found.cost, found.cost_of(rest)
            money = (
                "No price is set for this model."
                if cost is None or whole is None
                else f"Cost: {cost:,.4f}. At this price, the remaining {how_many(rest, 'pairs')} cost {whole:,.2f}."
            )
            st.caption(f"Calls: {found.calls:,}. Failed pairs: {found.failed:,} of {found.pairs:,}. {money}")
    texts = passage_texts(project, [tried.passage_id for tried in found.passages])
    st.dataframe(
        {
            "Judgment": [tried.judgment for tried in found.passages],
            "Label": [tried.label for tried in found.passages],
            "Query": [tried.query_id for tried in found.passages],
            "Passage": [texts.get(tried.passage_id, tried.passage_id) for tried in found.passages],
        },
        hide_index=True, key="sample table", placeholder="–",
        column_config={"Passage": st.column_config.TextColumn(width="large")},
    )  # fmt: skip
