"""Parts of the People screen: double assignments, due dates, agreement between people."""

from collections.abc import Mapping, Sequence
from datetime import date
from functools import partial

import streamlit as st

from exam_workbench import errors, measures, review
from exam_workbench.records import (
    MOST_WANTED,
    DoubleAssignment,
    assign_double,
    open_double_assignments,
    release_double,
    sample_of,
    set_due,
)
from exam_workbench.store import Project
from exam_workbench.text import how_many
from pages.parts.shared import login, presses, ui


def draw_due_dates(
    project: Project, texts: Mapping[str, str], shares: list[review.AssessorProgress]
) -> None:
    """Draw the progress of each person, and a form for due dates."""
    st.dataframe(
        {
            "Name": [share.member.name for share in shares],
            "Queries done": [share.done for share in shares],
            "Queries": [share.queries for share in shares],
            "Overdue": [share.late for share in shares],
            "Next due date": [
                "" if share.next_due is None else str(share.next_due) for share in shares
            ],
            "Passages judged": _number_column([share.judged for share in shares]),
            "Passages": [share.pooled for share in shares],
        },
        hide_index=True,
    )
    with st.form("due", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        queries = st.multiselect(
            "Queries",
            list(texts),
            format_func=lambda query: texts[query],
            placeholder="All",
            key="due queries",
        )
        person = st.selectbox(
            "Assessor",
            [share.member.name for share in shares],
            index=None,
            placeholder="All assessors",
            width=180,
        )
        day = st.date_input("Due date", None, format="YYYY-MM-DD", width=150)
        pressed = st.form_submit_button("Set due date", icon=":material/event:", key="set due date")
        removed = st.form_submit_button(
            "Remove due date", icon=":material/event_busy:", key="remove due date"
        )
        if removed or (pressed and isinstance(day, date)):
            chosen, last = queries or list(texts), None if removed else day
            message = f"Due date of {how_many(len(chosen), 'queries')}: {last or 'none'}."
            presses.run_act(partial(set_due, name=person), project, chosen, last, message=message)
    if pressed and day is None:
        ui.show_error(
            errors.InputError(
                "no-due-date", "No due date is chosen.", "Choose a date, then set it."
            )
        )


def draw_doubles(project: Project, texts: Mapping[str, str], names: list[str]) -> None:
    """Draw the blind double assignments, and a form that adds one."""
    st.header("Double assignments", anchor=False)
    st.caption(
        "Several assessors judge the same passages without seeing each other's judgments. The"
        " judgments count after adjudication."
    )
    assigned = open_double_assignments(project)
    for double in assigned:
        draw_double(project, double, texts.get(double.query_id, double.query_id))
    # A query stays in the list if only some of its passages are assigned twice. The rest may be
    # assigned later.
    whole = {double.query_id for double in assigned if double.passages is None}
    free = {query: text for query, text in texts.items() if query not in whole}
    form = presses.form_key("double")
    with (
        st.form(form, border=False),
        st.container(horizontal=True, vertical_alignment="bottom"),
    ):
        query = st.selectbox(
            "Query",
            list(free),
            index=None,
            format_func=lambda query: free[query],
            width=320,
            key=f"{form} query",
        )
        # Without login, people state their own names.
        anybody = not login.is_required()
        people = st.multiselect(
            "Assessors",
            names,
            placeholder="Any assessor can claim it",
            accept_new_options=anybody,
            width=240,
            key=f"{form} assessors",
            help="Any assessor can claim the places that you leave free.",
        )
        assessor_count = st.number_input("Number of assessors", 2, MOST_WANTED, 2, width=110)
        sample = st.number_input(
            "Passages",
            1,
            None,
            None,
            placeholder="All",
            width=130,
            help="Size of a random sample from the pool.",
        )
        decider = st.selectbox(
            "Adjudicator",
            names,
            index=None,
            placeholder="Any organizer",
            accept_new_options=anybody,
            width=180,
            key=f"{form} adjudicator",
        )
        pressed = st.form_submit_button("Assign", icon=":material/group_add:", key="assign")
        if pressed and query:

            def assign_assessors(author: str) -> None:
                drawn = None if sample is None else sample_of(project, query, int(sample))
                assign_double(project, query, author, people, int(assessor_count), drawn, decider)
                presses.clear_form("double")

            presses.run_act(assign_assessors, message="Assigned. The assessors see it on My work.")
    if pressed and not query:
        ui.show_error(
            errors.InputError(
                "no-query-named", "No query is chosen.", "Choose a query, then assign it."
            )
        )


def draw_double(project: Project, double: DoubleAssignment, text: str) -> None:
    """Draw a double assignment: its assessors, and buttons that end it."""
    with st.container(
        key=f"person-double-{double.key}", horizontal=True, vertical_alignment="center", border=True
    ):
        about = (
            "" if double.passages is None else f"{how_many(len(double.passages), 'passages')} of "
        )
        judged, of = review.judged_of(project, double)
        turns = [
            f"{name}: {turn}"
            + (f" ({double.reasons[name]})" if name in double.reasons else "")
            + (f", {_how_far(judged[name], of)}" if name in judged else "")
            for name, turn in double.people.items()
        ]
        facts = [
            f"{len(double.present)} of {double.wanted} assessors",
            *turns,
            f"adjudicator: {double.adjudicator or 'any organizer'}",
        ]
        st.container(key=f"double {double.key}").markdown(
            f"**{ui.escape(about + ui.shorten_text(text, ui.LISTED))}** "
            f" \n{ui.escape(' · '.join(facts))}"
        )
        for name in double.present:
            presses.act_button(
                f"Release {name}",
                partial(release_double, number=double.key),
                project,
                double.query_id,
                name,
                key=f"release {double.key} {name}",
                type="tertiary",
                message=f"Released {ui.escape(name)} from this assignment.",
            )
        presses.confirm_button(
            "End",
            "All assessors will see all judgments. Adjudicated decisions stay.",
            partial(review.end_double, number=double.key),
            project,
            double.query_id,
            now="End assignment",
            now_key=f"end {double.key} now",
            key=f"end {double.key}",
            type="tertiary",
            icon=":material/close:",
        )


def _how_far(judged: int | None, total: int) -> str:
    return (
        "progress hidden during blind judging"
        if judged is None
        else f"{judged:,} of {total:,} judged"
    )


def _number_column(numbers: Sequence[int | None]) -> list[int] | list[str]:
    """Return a column of numbers, or of texts if some are hidden: an empty cell would look like a
    missing number.
    """
    known = [number_known for number_known in numbers if number_known is not None]
    return (
        known
        if len(known) == len(numbers)
        else ["hidden" if number_known is None else f"{number_known:,}" for number_known in numbers]
    )


def agreement_between(project: Project) -> None:
    """Draw the agreement on passages and pairs that several people judged or rated; draw nothing if
    there are none.
    """
    if agreements := [agreement for agreement in review.between_people(project) if agreement.n]:
        st.header("Agreement between assessors", anchor=False)
        for agreement in agreements:
            st.container(key=f"agreement {agreement.kind}").markdown(
                f"**{agreement.kind.capitalize()}**: {agreement.n:,} by two or more assessors,"
                f" {agreement.same:,} equal."
                f" Krippendorff's alpha: {format_coefficient(agreement.alpha)}"
            )
            st.dataframe(
                {
                    "People": [f"{pair.left}, {pair.right}" for pair in agreement.pairs],
                    "n": [pair.n for pair in agreement.pairs],
                    "Same": [pair.same for pair in agreement.pairs],
                    "Kappa": [format_coefficient(pair.kappa) for pair in agreement.pairs],
                    "Weighted kappa": [
                        format_coefficient(pair.weighted) for pair in agreement.pairs
                    ],
                    "Alpha": [format_coefficient(pair.alpha) for pair in agreement.pairs],
                },
                hide_index=True,
                column_config={
                    "Kappa": st.column_config.Column(help="Cohen's kappa (unweighted)."),
                    "Weighted kappa": st.column_config.Column(
                        help="Cohen's kappa with quadratic weights."
                    ),
                    "Alpha": st.column_config.Column(
                        help=(
                            "Agreement beyond chance: Krippendorff's alpha with ordinal"
                            " distances. 1 is perfect."
                        )
                    ),
                },
            )


def format_coefficient(coefficient: measures.Coefficient) -> str:
    """Return a coefficient as text, or why it is undefined."""
    return (
        f"undefined ({coefficient.undefined})"
        if coefficient.value is None
        else f"{coefficient.value:z.3f}"
    )
