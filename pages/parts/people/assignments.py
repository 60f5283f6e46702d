"""Parts of the People screen: double assignments, due dates of queries, agreement between people."""

from collections.abc import Mapping, Sequence
from datetime import date
from functools import partial

import streamlit as st

from exam_workbench import errors, measures, review
from exam_workbench.records import MOST_WANTED, Double, assign_double, doubles, release_double, sample_of, set_due
from exam_workbench.store import Project
from exam_workbench.text import how_many
from pages.parts.shared import login, presses, ui

ORGANIZERS = "Any organizer"


def due_days(project: Project, texts: Mapping[str, str], found: list[review.Share]) -> None:
    """Draw the progress of each person, and a form for due dates."""
    st.dataframe(
        {
            "Name": [one.member.name for one in found],
            "Queries done": [one.done for one in found],
            "Queries": [one.queries for one in found],
            "Overdue": [one.late for one in found],
            "Next due date": ["" if one.next_due is None else str(one.next_due) for one in found],
            "Passages judged": _numbers([one.judged for one in found]),
            "Passages": [one.pooled for one in found],
        },
        hide_index=True,
    )
    with st.form("due", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        queries = st.multiselect("Queries", list(texts), format_func=lambda query: texts[query], placeholder="All")
        person = st.selectbox(
            "Assessor", [one.member.name for one in found], index=None, placeholder="All assessors", width=180
        )
        day = st.date_input("Due date", None, format="YYYY-MM-DD", width=150)
        if st.form_submit_button("Set due date", icon=":material/event:", key="set adjudicators"):
            chosen, last = queries or list(texts), day if isinstance(day, date) else None
            said = f"Due date of {how_many(len(chosen), 'queries')}: {last or 'none'}."
            presses.do(partial(set_due, name=person), project, chosen, last, said=said)


def double_assignments(project: Project, texts: Mapping[str, str], names: list[str]) -> None:
    """Draw the blind double assignments, and a form that adds one."""
    st.header("Double assignments", anchor=False)
    st.caption(
        "Several assessors judge the same passages without seeing each other's judgments. The judgments count after"
        " adjudication."
    )
    found = doubles(project)
    for one in found:
        row(project, one, texts.get(one.query_id, one.query_id))
    # A query stays in the list if only some of its passages are assigned twice. The rest may be assigned later.
    whole = {one.query_id for one in found if one.passages is None}
    free = {query: text for query, text in texts.items() if query not in whole}
    with st.form(presses.form_key("double"), border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        query = st.selectbox("Query", list(free), index=None, format_func=lambda query: free[query], width=320)
        # Without login, people state their own names.
        anybody = not login.needed()
        people = st.multiselect(
            "Assessors",
            names,
            placeholder="Any assessor can claim it",
            accept_new_options=anybody,
            width=240,
            help="Any assessor can claim the places that you leave free.",
        )
        wanted = st.number_input("Number of assessors", 2, MOST_WANTED, 2, width=110)
        sample = st.number_input(
            "Passages", 1, None, None, placeholder="All", width=130, help="Size of a random sample from the pool."
        )
        decider = st.selectbox(
            "Adjudicator", names, index=None, placeholder=ORGANIZERS, accept_new_options=anybody, width=180
        )
        pressed = st.form_submit_button("Assign", icon=":material/group_add:", key="assign")
        if pressed and query:

            def assign(author: str) -> None:
                drawn = None if sample is None else sample_of(project, query, int(sample))
                assign_double(project, query, author, people, int(wanted), drawn, decider)
                presses.empty("double")

            presses.do(assign, said="Assigned. The assessors see it on My work.")
    if pressed:
        ui.show_error(errors.InputError("no-query-named", "No query is chosen.", "Choose a query, then assign it."))


def row(project: Project, one: Double, text: str) -> None:
    """Draw a double assignment: its assessors, and buttons that end it."""
    with st.container(key=f"person-double-{one.key}", horizontal=True, vertical_alignment="center", border=True):
        about = "" if one.passages is None else f"{how_many(len(one.passages), 'passages')} of "
        judged, of = review.judged_of(project, one)
        turns = [
            f"{name}: {turn}"
            + (f" ({one.reasons[name]})" if name in one.reasons else "")
            + (f", {_how_far(judged[name], of)}" if name in judged else "")
            for name, turn in one.people.items()
        ]
        said = [
            f"{len(one.present)} of {one.wanted} assessors",
            *turns,
            f"adjudicator: {one.adjudicator or 'any organizer'}",
        ]
        st.container(key=f"double {one.key}").markdown(
            f"**{ui.plain(about + ui.shortened(text, ui.LISTED))}**  \n{ui.plain(' · '.join(said))}"
        )
        for name in one.present:
            presses.doing(
                f"Release {name}", partial(release_double, number=one.key), project, one.query_id, name,
                key=f"release {one.key} {name}", type="tertiary",
                said=f"Released {ui.plain(name)} from this assignment.",
            )  # fmt: skip
        presses.confirming(
            "End", "All assessors will see all judgments. Adjudicated decisions stay.",
            partial(review.end_double, number=one.key), project, one.query_id, now="End assignment",
            now_key=f"end {one.key} now", key=f"end {one.key}", type="tertiary", icon=":material/close:",
        )  # fmt: skip


def _how_far(judged: int | None, of: int) -> str:
    return "progress hidden during blind judging" if judged is None else f"{judged:,} of {of:,} judged"


def _numbers(found: Sequence[int | None]) -> list[int] | list[str]:
    """Return a column of numbers, or of texts if some are hidden: an empty cell would look like a missing number."""
    known = [one for one in found if one is not None]
    return known if len(known) == len(found) else ["hidden" if one is None else f"{one:,}" for one in found]


def agreement_between(project: Project) -> None:
    """Draw the agreement on passages and pairs that several people judged or rated; draw nothing if there are none."""
    found = [one for one in review.between_people(project) if one.n]
    if not found:
        return
    st.header("Agreement between assessors", anchor=False)
    for one in found:
        st.container(key=f"agreement {one.kind}").markdown(
            f"**{one.kind.capitalize()}**: {one.n:,} by two or more assessors, {one.same:,} equal."
            f" Krippendorff's alpha: {number(one.alpha)}"
        )
        st.dataframe(
            _table(one),
            hide_index=True,
            column_config={
                "Kappa": st.column_config.Column(help="Cohen's kappa (unweighted)."),
                "Weighted kappa": st.column_config.Column(help="Cohen's kappa with quadratic weights."),
                "Alpha": st.column_config.Column(
                    help="Agreement beyond chance: Krippendorff's alpha with ordinal distances. 1 is perfect."
                ),
            },
        )


def _table(one: review.BetweenPeople) -> dict[str, list[object]]:
    return {
        "People": [f"{pair.left}, {pair.right}" for pair in one.pairs],
        "n": [pair.n for pair in one.pairs],
        "Same": [pair.same for pair in one.pairs],
        "Kappa": [number(pair.kappa) for pair in one.pairs],
        "Weighted kappa": [number(pair.weighted) for pair in one.pairs],
        "Alpha": [number(pair.alpha) for pair in one.pairs],
    }


def number(coefficient: measures.Coefficient) -> str:
    """Return a coefficient as text, or why it is undefined."""
    return f"undefined ({coefficient.undefined})" if coefficient.value is None else f"{coefficient.value:z.3f}"
