"""Passages: a passage of a query in full, its ratings and judgments, and the list to choose it
from.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

import streamlit as st

from exam_workbench import bank, choices, labels, review, types
from exam_workbench.records import (
    judged_values,
    judgment_sources,
    open_double_assignments,
    pooled_queries,
    response_runs,
    run_names,
    source_of,
)
from exam_workbench.store import Project
from pages.parts.review import (
    citation_desk,
    judging,
    passage_panel as beside,
    rating_overrides as desk_parts,
)
from pages.parts.shared import (
    actions,
    address,
    html,
    people_here,
    scoring_settings,
    seen_labels,
    ui,
)

T = TypeVar("T")

NO_VALUE = {review.NONE: "none"}
NO_FILTERS = {
    "words": "",
    **dict.fromkeys(("of_query", "has_label", "has_rating", "judged", "in_run", "pairs")),
    **dict.fromkeys(("flagged", "overridden", "unjudged", "assigned", "speaking"), False),
}
"""Values of the list's widgets without any filter; the source alone does not filter."""

OUTSIDE = (*NO_FILTERS, "judged_by", "depth", "beside_it", "blind", "author", "part")
"""Keys of the widgets around the desk, which is a fragment and redraws without them."""

TO_OPEN = "query to open"
"""Session key of a newly chosen query of the list, until a passage of it is open."""

REVEALS = (
    *("passage", "question", "has_label", "has_rating", "judged", "in_run", "pairs"),
    *("flagged", "overridden", "speaking"),
)
"""Parameters of links to a passage or a list with its labels, which the part Ratings shows."""

STATES: dict[choices.GradingState, str] = {
    "failed": "Some questions failed",
    "ungraded": "Some questions not graded yet",
    "complete": "Every question has a rating",
}


def measured_with(project: Project, part: str) -> tuple[labels.Policy | None, list[str]]:
    """Return the scoring settings and the graders to compare; None for the settings if nothing has
    been graded.
    """
    stored = bank.label_graders(project)
    grader_names = [grader.spec.name for grader in stored if grader.grades or grader.failures]
    if not any(grader.grades for grader in stored):
        return None, grader_names[:1]
    policy = scoring_settings.require_view().policy
    own_grader = policy.grader or stored[0].spec.name
    others = [name for name in grader_names if name != own_grader]
    beside = (
        st.multiselect(
            "Other graders",
            others,
            key="beside_it",
            bind="query-params",
            placeholder="Compare with other graders",
            label_visibility="collapsed",
            width=420,
        )
        if others and part == "Ratings"
        else []
    )
    return policy, [own_grader, *beside]


def part_of(project: Project) -> str:
    """Draw and return the choice of a part of the screen. A link to a passage opens its ratings."""
    parts = [
        "Judge",
        "Ratings",
        *(["Citations"] if any(one.cited for one in response_runs(project)) else []),
    ]
    named = str(
        st.query_params.get("part")
        or ("Ratings" if set(REVEALS) & set(st.query_params) else "Judge")
    )
    st.session_state["part"] = named if named in parts else parts[0]

    def keep_part() -> None:
        # The judging desk goes on from the first unjudged passage.
        gone = {"passage": [], "question": []} if st.session_state["part"] == "Judge" else {}
        st.query_params.update({"part": st.session_state["part"], **gone})

    return str(
        st.segmented_control(
            "Part",
            parts,
            required=True,
            key="part",
            on_change=keep_part,
            label_visibility="collapsed",
        )
    )


def drop_earlier_filters() -> None:
    """Drop the filters of an earlier visit, if the link to this screen brings others."""
    if address.is_new_screen() and NO_FILTERS.keys() & st.query_params.keys():
        st.session_state.update({k: v for k, v in NO_FILTERS.items() if k not in st.query_params})


def draw_filters(project: Project, policy: labels.Policy | None, judges: bool) -> review.Filters:
    """Draw the filters of the list and return them.

    Args:
        judges: whether only filters are offered that do not reveal ratings or judgments.
    """
    texts = ui.distinct_option_texts(pooled_queries(project))
    words = st.text_input(
        "Search in passages",
        key="words",
        placeholder="Search in passages",
        label_visibility="collapsed",
        bind="query-params",
        width=220,
        icon=":material/search:",
    )
    query = st.selectbox(
        "Query",
        list(texts),
        index=None,
        format_func=lambda query_id: texts.get(query_id, query_id),
        key="of_query",
        placeholder="All queries",
        label_visibility="collapsed",
        bind="query-params",
        width=320,
        on_change=_go_to_query,
    )
    me = source_of(ui.person()) if ui.person() else None
    if judges:
        return review.Filters(
            query_id=query,
            words=str(words or ""),
            source=scoring_settings.judged_by(project),
            assigned_to=_choose_assigned(project),
        )
    with st.popover("More filters", key="more filters"):
        label = (
            _choose_value("Label", [review.NONE, *types.RATINGS], "has_label", NO_VALUE)
            if policy
            else None
        )
        rating = (
            _choose_value("Rating of any question", list(types.RATINGS), "has_rating")
            if policy
            else None
        )
        known = judgment_sources(project)
        source = (
            st.selectbox("Judgments of", known, key="judged_by", bind="query-params")
            if known
            else None
        )
        values: list[int | Literal["none"]] = (
            [review.NONE, *judged_values(project, source)] if source else []
        )
        judgment = _choose_value("Judgment", values, "judged", NO_VALUE) if source else None
        run = st.selectbox(
            "Retrieved by run",
            run_names(project),
            index=None,
            key="in_run",
            placeholder="Any run",
            bind="query-params",
        )
        depth = (
            st.number_input("Within its top", 1, 1000, 10, key="depth", bind="query-params")
            if run
            else 10
        )
        state = _choose_value("Grades", list(STATES), "pairs", STATES) if policy else None
        flagged = bool(policy and source) and st.checkbox(
            "Label and judgment disagree",
            key="flagged",
            bind="query-params",
            help="Show passages that are relevant by only one of the two: label or judgment.",
        )
        overridden = (
            st.checkbox("Overridden", key="overridden", bind="query-params") if policy else False
        )
        unjudged = st.checkbox("Not judged by you", key="unjudged", bind="query-params")
        assigned_to = _choose_assigned(project)
        speaking = st.checkbox(
            "Addresses the grader",
            key="speaking",
            bind="query-params",
            help=(
                "Show passages that ask for a rating, give instructions, play a role"
                " or repeat a question."
            ),
        )
    return review.Filters(
        query_id=query,
        words=str(words or ""),
        label=label,
        rating=rating,
        source=source,
        judgment=judgment,
        run=run,
        depth=int(depth),
        state=state,
        flagged=flagged,
        overridden=overridden,
        unjudged_by=me if unjudged else None,
        assigned_to=assigned_to,
        speaking=speaking,
    )


def _choose_assigned(project: Project) -> str | None:
    """Draw a filter for the person's double assignments if there are any; return the person if it
    is on.
    """
    me = ui.person()
    if not any(me in one.present for one in open_double_assignments(project)):
        return None
    only_assigned = st.checkbox(
        "Your double assignments",
        key="assigned",
        bind="query-params",
        help="Show passages that you and other assessors judge independently.",
    )
    return me if only_assigned else None


def _choose_value(
    label: str, options: Sequence[T], key: str, names: Mapping[Any, str] | None = None
) -> T | None:
    return st.selectbox(
        label,
        options,
        index=None,
        key=key,
        placeholder="Any",
        bind="query-params",
        format_func=lambda option: (names or {}).get(option, str(option)),
    )


def find_open_place(project: Project) -> tuple[str, str | None] | None:
    """Return the query and passage in the URL, or those last opened in this project."""
    last_project, last = st.session_state.get("last passage", (project.name, None))
    query, passage = st.query_params.get("query"), st.query_params.get("passage")
    # After a change of the project, the URL still names a passage of the former one.
    if last_project != project.name:
        return None
    if TO_OPEN in st.session_state:
        return st.session_state[TO_OPEN], None
    if query is not None and passage is None and query not in pooled_queries(project):
        st.container(key="another-query").warning(
            f"No passages for query {ui.escape(query)}. The first passage is shown instead.",
            icon=":material/info:",
        )
    # After a link to a query, the browser's address gets its first passage, but Streamlit does not
    # see that.
    if query is None or (last is not None and passage is None and last[0] == query):
        return last
    return query, passage


def find_page(
    project: Project,
    policy: labels.Policy | None,
    filters: review.Filters,
    place: tuple[str, str | None] | None,
    turned: int | None,
) -> review.SearchPage:
    """Return the page of the list that the person turned to, now or before, otherwise the one with
    the open passage.
    """
    if turned is not None:
        st.session_state["passages page"] = (filters, place), turned
    about, page = st.session_state.get("passages page", (None, None))
    return review.search_passages(
        project,
        policy,
        filters,
        beside.PASSAGES_A_PAGE,
        page if about == (filters, place) else None,
        place,
    )


def _go_to_query() -> None:
    """Open the first passage of the query that was just chosen for the list."""
    query = st.session_state.get("of_query")
    if query is not None and query != st.query_params.get("query"):
        st.session_state[TO_OPEN] = query


def outside_values() -> dict[str, object]:
    """Return the values of all widgets outside the desk on which it depends."""
    return {key: st.session_state.get(key) for key in OUTSIDE}


@st.fragment
def draw_desk(
    project: Project,
    policy: labels.Policy | None,
    grader_names: list[str],
    filters: review.Filters,
    part: str,
) -> None:
    """Draw the desk of a part.

    A step to the next passage redraws only this fragment.

    Args:
        grader_names: graders to compare.
    """
    if st.session_state["desk outside"] != outside_values():
        # Streamlit joins simultaneous events into one message, and redraws only this fragment if
        # one of them is here.
        st.rerun()
    if part == "Judge":
        judging.draw(project, policy, filters, bool(st.session_state["blind"]))
        return
    with ui.errors():
        desk_parts.do_actions(project)
    with ui.errors():
        _draw_list_and_passage(project, policy, grader_names, filters)
        ui.show_reopened()


def _draw_list_and_passage(
    project: Project, policy: labels.Policy | None, grader_names: list[str], filters: review.Filters
) -> None:
    turned = None
    for act in actions.pending_actions(beside.KEY).pop_actions():
        if act["do"] == "open":
            desk_parts.open_passage(str(act["at"][0]), str(act["at"][1]))
        else:
            turned = int(act["to"])
    place = find_open_place(project)
    if place is None or place[1] is None:
        place = review.where_to_begin(project, policy, filters, None if place is None else place[0])
    listing = find_page(project, policy, filters, place, turned)
    seen_labels.record_shown(project, [(row.query_id, row.passage_id) for row in listing.rows])
    with st.container(key="desk"):
        with st.container(key="desk-list"):
            beside.passage_list(
                project, listing, filters.query_id, filters.source, place, graded=policy is not None
            )
        if place is not None and place[1] is not None:
            _draw_passage(project, policy, grader_names, (place[0], place[1]))
    # Only now: if the run ends earlier, the next one opens the query.
    st.session_state.pop(TO_OPEN, None)
    desk_parts.override_list(project, policy)


def _draw_passage(
    project: Project, policy: labels.Policy | None, grader_names: list[str], at: tuple[str, str]
) -> None:
    read = review.read_passage(project, policy, *at, grader_names if policy else ())
    seen_labels.record_shown(project, [at])
    # The link to the desk opens this passage even if the desk was opened with it before.
    judging.desk_state().link = ()
    named = st.query_params.get("query")
    if "passage" in st.query_params or named not in (None, at[0]):
        st.query_params.update(query=at[0], passage=at[1])
    else:
        address.begin_at(query=at[0], passage=at[1])
    st.session_state["last passage"] = (project.name, at)
    st.session_state["last query"] = at[0]
    with st.container(key="desk-reading"):
        known = {grader.spec.name: grader.spec for grader in bank.label_graders(project)}
        marks = [] if policy is None else html.answer_marks(read, known, policy.min_rating)
        st.html(html.passage_html(read, marks, labelled=policy is not None))
        with st.container(key="desk-questions"):
            foretold = desk_parts.draw_questions(project, read, policy, grader_names)
            if read.asked:
                ui.draw_link(
                    "question_bank",
                    "Open in question bank",
                    query=st.query_params.get("query"),
                    question=st.query_params.get("question"),
                )
    with st.container(key="desk-beside"):
        beside.draw_guidelines(project, read.query_id)
        ui.draw_link("passages", "Judge this passage", part="Judge", query=at[0], passage=at[1])
        people_here.draw_people(project, read.query_id)
        effect = st.container()
        beside.draw_known(project, read)
        with effect:
            desk_parts.draw_effect(project, read, foretold)


project = ui.require_project()
ui.require_content(
    pooled_queries(project),
    "No passages yet.",
    "Import passages, and runs or judgments that refer to them.",
    "home",
    code="no-passages",
)
st.html(Path(__file__).parent / "parts" / "review" / "desk.css")
bar = st.container(horizontal=True, vertical_alignment="center", key="desk-filters")
with bar:
    part = part_of(project)
if part == "Citations":
    citation_desk.draw(project)
    st.stop()
policy, shown = measured_with(project, part)
drop_earlier_filters()
with bar:
    wanted = draw_filters(project, policy, part == "Judge")
    if wanted != review.Filters(source=wanted.source):
        st.button(
            "Clear filters",
            type="tertiary",
            icon=":material/filter_alt_off:",
            on_click=st.session_state.update,
            args=(NO_FILTERS,),
            key="clear filters",
        )
    if part == "Judge":
        st.toggle(
            "Blind",
            True,
            key="blind",
            bind="query-params",
            help=(
                "Hide ratings, labels and other assessors' judgments. Each judgment records"
                " whether it was blind."
            ),
        )
st.session_state["desk outside"] = outside_values()
draw_desk(project, policy, shown, wanted, part)
