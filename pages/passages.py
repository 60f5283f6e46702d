"""Passages: one passage of one query in full, what graders and people say of it, and the list to choose it from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeVar

import streamlit as st

from core.catalogue import graders
from core.labels import Policy
from core.project import Project, judged_pairs, judged_values, pooled_queries, run_names, source_of, sources
from core.review import NONE, Desk, Filters, Found, Listed, State, read_passage, search
from core.types import RATINGS
from pages.parts.review import beside as passage_beside
from pages.parts.review import desk as passage_parts
from pages.parts.shared import policy_widgets, ui
from pages.parts.shared.html import answer_marks, text_html

T = TypeVar("T")

PASSAGES_A_PAGE = 12
NO_VALUE = {NONE: "none"}
NO_FILTERS = {
    "words": "",
    **dict.fromkeys(("of_query", "has_label", "has_rating", "judged", "in_run", "pairs")),
    **dict.fromkeys(("flagged", "overridden", "unjudged", "speaking"), False),
}
"""What the widgets of the list hold when nothing is asked for; the source alone asks for nothing."""

STATES: dict[State, str] = {
    "failed": "Some pairs failed",
    "ungraded": "Some pairs ungraded",
    "complete": "All pairs have a rating",
}


def measured_with(project: Project) -> tuple[Policy | None, list[str]]:
    """The policy, and the graders to look at side by side; no policy where nothing has been graded."""
    stored = graders(project)
    known = [grader.spec.name for grader in stored if grader.grades or grader.failures]
    if not any(grader.grades for grader in stored):
        return None, known[:1]
    policy = policy_widgets.view().policy
    mine = policy.grader or stored[0].spec.name
    others = [name for name in known if name != mine]
    beside = st.multiselect(
        "Graders beside it", others, key="beside_it", bind="query-params", placeholder="Other graders beside it",
        label_visibility="collapsed", width=420,
    ) if others else []  # fmt: skip
    return policy, [mine, *beside]


def filters(project: Project, policy: Policy | None, blind: bool) -> Filters:
    """The widgets that say which passages are listed; while blind, none that gives away a rating or a judgment."""
    texts = ui.told_apart(pooled_queries(project))
    words = st.text_input(
        "Find in the text", key="words", placeholder="Find in the text", label_visibility="collapsed",
        bind="query-params",
    )  # fmt: skip
    query = st.selectbox(
        "Query", list(texts), index=None, format_func=lambda query_id: texts.get(query_id, query_id), key="of_query",
        placeholder="All queries", label_visibility="collapsed", bind="query-params",
    )  # fmt: skip
    me = source_of(ui.person()) if ui.person() else None
    if blind:
        unjudged = st.checkbox("Not judged by me", key="unjudged", bind="query-params")
        return Filters(query_id=query, words=str(words or ""), unjudged_by=me if unjudged else None)
    with st.popover("More filters", width="stretch"):
        label = _choice("Label", [NONE, *RATINGS], "has_label", NO_VALUE) if policy else None
        rating = _choice("Any question rated", list(RATINGS), "has_rating") if policy else None
        known = sources(project)
        source = st.selectbox("Judged by", known, key="judged_by", bind="query-params") if known else None
        values: list[int | Literal["none"]] = [NONE, *judged_values(project, source)] if source else []
        judgment = _choice("Judgment", values, "judged", NO_VALUE) if source else None
        runs = run_names(project)
        run = st.selectbox("Returned by", runs, index=None, key="in_run", placeholder="Any run", bind="query-params")
        depth = st.number_input("in its top", 1, 1000, 10, key="depth", bind="query-params") if run else 10
        state = _choice("Grades", list(STATES), "pairs", STATES) if policy else None
        flagged = bool(policy and source) and st.checkbox(
            "Label and judgment disagree", key="flagged", bind="query-params",
            help="One says relevant and the other does not, by the min rating and the judgment threshold.",
        )  # fmt: skip
        overridden = st.checkbox("Overridden", key="overridden", bind="query-params") if policy else False
        unjudged = st.checkbox("Not judged by me", key="unjudged", bind="query-params")
        speaking = st.checkbox(
            "Speaks to the grader", key="speaking", bind="query-params",
            help="Asks for a rating, gives orders, plays a role, or says a question over again.",
        )  # fmt: skip
    return Filters(
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
        speaking=speaking,
    )


def _choice(label: str, options: Sequence[T], key: str, names: Mapping[Any, str] | None = None) -> T | None:
    return st.selectbox(
        label, options, index=None, key=key, placeholder="Any", bind="query-params",
        format_func=lambda option: (names or {}).get(option, str(option)),
    )  # fmt: skip


def opened(project: Project) -> tuple[str, str | None] | None:
    """The place that the URL names, or that was open last in this project."""
    last_project, last = st.session_state.get("last passage", (project.name, None))
    query, passage = st.query_params.get("query"), st.query_params.get("passage")
    # After a change of the project the URL still names a passage of the other one.
    if last_project != project.name:
        return None
    if query is not None and passage is None and query not in pooled_queries(project):
        st.warning(f"No passage here is of a query {ui.plain(query)}. This is the first one.", icon=":material/info:")
    return last if query is None else (query, passage)


def find(project: Project, policy: Policy | None, wanted: Filters, place: tuple[str, str | None] | None) -> Found:
    """The page of the list to show: the one that was turned to, else the one of the open passage."""
    if st.session_state.get("passages listed") != (wanted, place):
        # Another list has a pager of its own, which begins at the open passage.
        st.session_state["passages listed"] = (wanted, place)
        st.session_state["passage lists"] = st.session_state.get("passage lists", 0) + 1
    return search(project, policy, wanted, PASSAGES_A_PAGE, st.session_state.get(_pager()), place)


def _pager() -> str:
    return f"passages page {st.session_state.get('passage lists')}"


def _clear() -> None:
    st.session_state.update(NO_FILTERS)


def passage_list(
    found: Found,
    place: tuple[str, str | None] | None,
    blind: bool,
    judged: set[tuple[str, str]],
    filtered: bool,
    graded: bool,
) -> None:
    """One page of the passages that were found, under their queries.

    Args:
        judged: the pairs that this person has judged, which are shown openly even while `blind`.
        filtered: whether any filter is set.
        graded: whether anything has been graded at all.
    """
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(f"{found.total:,} passage{'' if found.total == 1 else 's'}")
        if filtered:
            st.button("Clear filters", type="tertiary", icon=":material/filter_alt_off:", on_click=_clear)
    if not found.total:
        st.text("No passage fits. Take a filter away.")
    last = None
    for row in found.rows:
        here = (row.query_id, row.passage_id)
        if row.query_id != last:
            st.caption(f"**{ui.plain(ui.shortened(row.query, 60))}**")
            last = row.query_id
        text = ui.plain(ui.shortened(" ".join((row.excerpt or row.passage_id).split()), 80))
        said = f"  \n:small[{_said(row, graded)}]" if not blind or here in judged else ""
        st.button(
            text + said,
            key=f"passage {row.query_id} {row.passage_id}",
            type="secondary" if here == place else "tertiary",
            width="stretch",
            on_click=passage_parts.open_passage,
            args=here,
        )
    pages = -(-found.total // PASSAGES_A_PAGE)
    if pages > 1:
        st.pagination(pages, key=_pager(), default=found.page, max_visible_pages=5)


def _said(row: Listed, graded: bool) -> str:
    words = ["no label" if row.label is None else f"label {row.label}"] if graded else []
    words += [] if row.judgment is None else [f"judged {row.judgment}"]
    words += ["overridden"] if row.overridden else []
    words += [f"{row.ungraded} ungraded"] if row.ungraded else []
    failed = f" :red[· {row.failed} failed]" if row.failed else ""
    return f":gray[{ui.plain(' · '.join(words))}]{failed}"


def said_to_grader(desk: Desk) -> None:
    """A calm mark where the text speaks to the grader: what it does and with which words."""
    if desk.signs:
        found = ", ".join(sign.what + (f" (“{sign.words}”)" if sign.words else "") for sign in desk.signs)
        st.caption(f":material/campaign: {ui.plain(f'Speaks to the grader: {found}.')}")


def neighbours(found: Found) -> None:
    """On to the next passage of the list, or back to the one before."""
    with st.container(horizontal=True, vertical_alignment="center"):
        for name, shortcut, row in (("Previous", "Alt+K", found.before), ("Next", "Alt+J", found.after)):
            st.button(
                name,
                shortcut=shortcut,
                disabled=row is None,
                type="tertiary",
                on_click=passage_parts.open_passage,
                args=(row.query_id, row.passage_id) if row else None,
            )
        st.caption(f"{found.here.place:,} of {found.total:,}" if found.here else "Not among the passages listed")


ui.begin()
project = ui.project()
if not pooled_queries(project):
    ui.empty("There are no passages yet.", "Import passages, and runs or judgments that name them.", "home")
policy, shown = measured_with(project)
place = opened(project)
left, middle, right = st.columns([3, 8, 3], gap="medium")
with left, st.container(key="queries-list-passages"):
    blind = st.toggle(
        "Blind", key="blind", persist_state="session",
        help="Hides ratings, labels, ranks and the judgments of others until you have judged the passage yourself.",
    )  # fmt: skip
    wanted = filters(project, policy, blind)
    found = find(project, policy, wanted, place)
    if place is None or place[1] is None:
        first = found.after or next(iter(found.rows), None)
        place = (first.query_id, first.passage_id) if first else None
        found = find(project, policy, wanted, place)
    judged = judged_pairs(project, ui.person()) if blind and ui.person() else set()
    passage_list(found, place, blind, judged, wanted != Filters(source=wanted.source), policy is not None)
if place is None or place[1] is None:
    st.stop()
desk = read_passage(project, policy, place[0], place[1], shown if policy else ())
st.query_params.update(query=place[0], passage=place[1])
st.session_state["last passage"] = (project.name, place)
st.session_state["last query"] = place[0]
hidden = blind and place not in judged
with right:
    passage_beside.judge(project, desk)
    if hidden:
        st.caption("Blind: ratings, labels, ranks and the judgments of others appear once you have judged.")
    else:
        passage_beside.known(project, desk, policy)
with middle:
    neighbours(found)
    st.subheader(ui.plain(ui.shortened(desk.query, ui.HEADING)), anchor=False)
    if desk.narrative:
        st.caption(ui.plain(ui.shortened(desk.narrative, ui.HEADING)))
    with st.container(border=True):
        if desk.text is None:
            st.caption(ui.plain(f"The text of {desk.passage_id} has not been imported."))
        else:
            methods = {grader.spec.name: grader.spec.method for grader in graders(project)}
            st.html(
                text_html(desk.text, [] if hidden or not policy else answer_marks(desk, methods, policy.min_rating))
            )
        said_to_grader(desk)
        st.caption(ui.plain(f"Passage {desk.passage_id}"))
    passage_parts.questions(project, desk, policy, shown, hidden, passage_parts.official(project))
    if not blind:
        passage_parts.override_list(project, policy)
