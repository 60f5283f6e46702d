"""Passages: one passage of one query in full, what graders and people say of it, and the list to choose it from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeVar

import streamlit as st

from core import bank, judging
from core.errors import WorkbenchError
from core.grades import graders
from core.judging import SCALE
from core.leaderboard import rankings, sources
from core.passage_desk import Desk, read_passage
from core.passage_search import NONE, Filters, Found, Listed, State, judged_values, search
from core.policy import Policy
from core.project import Project
from core.types import RATINGS
from pages import passage_parts, policy_widgets, ui
from pages.passage_html import answer_marks, text_html

T = TypeVar("T")

PASSAGES_A_PAGE = 12
NO_VALUE = {NONE: "none"}
STATES: dict[State, str] = {
    "failed": "Some pairs failed",
    "ungraded": "Some pairs ungraded",
    "complete": "All pairs have a rating",
}


def measured_with(project: Project) -> tuple[Policy | None, list[str]]:
    """The policy, and the graders to look at side by side; no policy where nothing has been graded."""
    known = [grader.spec.name for grader in graders(project) if grader.grades or grader.failures]
    if not any(grader.grades for grader in graders(project)):
        return None, known[:1]
    with st.expander("Policy and graders"):
        policy = policy_widgets.policy(project, judged=True)
        mine = policy.grader or graders(project)[0].spec.name
        others = [name for name in known if name != mine]
        beside = st.multiselect("Beside it", others, key="beside", bind="query-params") if others else []
    return policy, [mine, *beside]


def filters(project: Project, policy: Policy | None, blind: bool) -> Filters:
    """The widgets that say which passages are listed; while blind, none that gives away a rating or a judgment."""
    texts = {query.query_id: query.text for query in bank.overview(project)}
    words = st.text_input(
        "Find in the text", key="words", placeholder="Find in the text", label_visibility="collapsed",
        bind="query-params",
    )  # fmt: skip
    query = st.selectbox(
        "Query", list(texts), index=None, format_func=lambda query_id: texts.get(query_id, query_id), key="of_query",
        placeholder="All queries", label_visibility="collapsed", bind="query-params",
    )  # fmt: skip
    me = judging.source_of(ui.author())
    if blind:
        unjudged = st.checkbox("Not judged by me", key="unjudged", bind="query-params")
        return Filters(query_id=query, words=str(words or ""), unjudged_by=me if unjudged else None)
    with st.expander("More filters"):
        label = _choice("Label", [NONE, *RATINGS], "has_label", NO_VALUE) if policy else None
        rating = _choice("Any question rated", list(RATINGS), "has_rating") if policy else None
        known = sources(project)
        source = st.selectbox("Judged by", known, key="judged_by", bind="query-params") if known else None
        values: list[int | Literal["none"]] = [NONE, *judged_values(project, source)] if source else []
        judgment = _choice("Judgment", values, "judged", NO_VALUE) if source else None
        runs = list(rankings(project))
        run = st.selectbox("Returned by", runs, index=None, key="in_run", placeholder="Any run", bind="query-params")
        depth = st.number_input("in its top", 1, 1000, 10, key="depth", bind="query-params") if run else 10
        state = _choice("Grades", list(STATES), "pairs", STATES) if policy else None
        flagged = bool(policy and source) and st.checkbox(
            "Label and judgment disagree", key="flagged", bind="query-params",
            help="One says relevant and the other does not, by the min rating and the judgment threshold.",
        )  # fmt: skip
        overridden = st.checkbox("Overridden", key="overridden", bind="query-params") if policy else False
        unjudged = st.checkbox("Not judged by me", key="unjudged", bind="query-params")
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
    )


def _choice(label: str, options: Sequence[T], key: str, names: Mapping[Any, str] | None = None) -> T | None:
    return st.selectbox(
        label, options, index=None, key=key, placeholder="Any", bind="query-params",
        format_func=lambda option: (names or {}).get(option, str(option)),
    )  # fmt: skip


def opened() -> tuple[str, str | None] | None:
    """The place that the URL names, or that was open last."""
    query, passage = st.query_params.get("query"), st.query_params.get("passage")
    if query is None:
        return st.session_state.get("last passage")
    return query, passage


def find(project: Project, policy: Policy | None, wanted: Filters, place: tuple[str, str | None] | None) -> Found:
    """The page of the list to show: the one that was turned to, else the one of the open passage."""
    if st.session_state.get("list of") != (wanted, place):
        # Another list has a pager of its own, which begins at the open passage.
        st.session_state["list of"] = (wanted, place)
        st.session_state["lists"] = st.session_state.get("lists", 0) + 1
    return search(project, policy, wanted, PASSAGES_A_PAGE, st.session_state.get(_pager()), place)


def _pager() -> str:
    return f"passages page {st.session_state.get('lists')}"


def passage_list(found: Found, place: tuple[str, str | None] | None, blind: bool, judged: set[tuple[str, str]]) -> None:
    """One page of the passages that were found, under their queries."""
    st.caption(f"{found.total:,} passage{'' if found.total == 1 else 's'}")
    if not found.total:
        st.text("No passage fits. Take a filter away.")
    last = None
    for row in found.rows:
        here = (row.query_id, row.passage_id)
        if row.query_id != last:
            st.caption(f"**{ui.plain(ui.shortened(row.query, 60))}**")
            last = row.query_id
        text = ui.plain(ui.shortened(" ".join((row.excerpt or row.passage_id).split()), 90))
        said = f"  \n:small[{_said(row)}]" if not blind or here in judged else ""
        if st.button(
            text + said,
            key=f"passage {row.query_id} {row.passage_id}",
            type="secondary" if here == place else "tertiary",
            width="stretch",
        ):
            passage_parts.open_passage(*here)
    pages = -(-found.total // PASSAGES_A_PAGE)
    if pages > 1:
        st.pagination(pages, key=_pager(), default=found.page, max_visible_pages=5)


def _said(row: Listed) -> str:
    words = ["no label" if row.label is None else f"label {row.label}"]
    words += [] if row.judgment is None else [f"judged {row.judgment}"]
    words += ["overridden"] if row.overridden else []
    words += [f"{row.ungraded} ungraded"] if row.ungraded else []
    failed = f" :red[· {row.failed} failed]" if row.failed else ""
    return f":gray[{ui.plain(' · '.join(words))}]{failed}"


def neighbours(found: Found) -> None:
    """On to the next passage of the list, or back to the one before."""
    before, after = found.before, found.after
    with st.container(horizontal=True, vertical_alignment="center"):
        back = st.button("Previous", shortcut="Alt+K", disabled=before is None, type="tertiary")
        on = st.button("Next", shortcut="Alt+J", disabled=after is None, type="tertiary")
        st.caption(f"{found.here.place:,} of {found.total:,}" if found.here else "Not among the passages listed")
    if back and before is not None:
        passage_parts.open_passage(before.query_id, before.passage_id)
    if on and after is not None:
        passage_parts.open_passage(after.query_id, after.passage_id)


def judge(project: Project, desk: Desk) -> None:
    """The person's own judgment: give it, replace it, take it back."""
    own = judging.own_judgment(project, desk.query_id, desk.passage_id, ui.author())
    st.markdown("**Your judgment**")
    note = st.text_input(
        "Note", key=f"note {desk.query_id} {desk.passage_id}", placeholder="Note", label_visibility="collapsed"
    )
    try:
        for value, meaning in SCALE.items():
            if st.button(
                meaning.capitalize(),
                key=f"judge {value}",
                shortcut=str(value),
                type="primary" if own == value else "secondary",
                width="stretch",
                disabled=desk.text is None,
            ):
                judging.judge(project, desk.query_id, desk.passage_id, value, ui.author(), str(note or ""))
                st.rerun()
        if own is not None and st.button("Withdraw your judgment", type="tertiary", icon=":material/undo:"):
            judging.withdraw(project, desk.query_id, desk.passage_id, ui.author())
            st.rerun()
    except WorkbenchError as error:
        ui.show_error(error)


def beside(project: Project, desk: Desk, policy: Policy | None) -> None:
    """The label and where it comes from, judgments by source with their history, and the rank in every run."""
    if policy is not None:
        st.metric("Label", "none" if desk.label is None else desk.label)
        given = [str(one.number) for one in desk.asked if one.gives_label and one.number]
        said = [f"from question{'s' * (len(given) > 1)} {', '.join(given)}"] if given else []
        said += [f"partial: {desk.usable} of {desk.needed} pairs have a rating"] if desk.usable < desk.needed else []
        st.caption(" · ".join(said) if desk.pooled else "The passage is not in the pool: it has no label.")
    if desk.judgments:
        st.markdown("**Judgments**")
        st.dataframe(
            {"Source": [name for name, _ in desk.judgments], "Value": [value for _, value in desk.judgments]},
            hide_index=True,
            column_config={"Value": st.column_config.NumberColumn(width=60)},
        )
    if history := judging.judgment_history(project, desk.query_id, desk.passage_id):
        with st.popover("History of judgments", type="tertiary"):
            for act in history:
                what = "withdrew the judgment" if act.value is None else f"judged {act.value}"
                st.text(f"{act.happened_at:%d %B %Y %H:%M}: {act.author} {what}" + f" ({act.note})" * bool(act.note))
    if desk.ranks:
        st.markdown("**Rank in every run**")
        st.dataframe(
            {"Run": [run for run, _ in desk.ranks], "Rank": [rank for _, rank in desk.ranks]},
            hide_index=True,
            column_config={"Rank": st.column_config.NumberColumn(width=60)},
            height=min(38 + 35 * len(desk.ranks), 390),
        )


ui.begin("Passages")
project = ui.project()
policy, shown = measured_with(project)
place = opened()
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
    judged = judging.judged_pairs(project, ui.author()) if blind else set()
    passage_list(found, place, blind, judged)
if place is None or place[1] is None:
    with middle:
        if wanted == Filters():
            ui.empty("There are no passages yet.", "Import passages, and runs or judgments that name them.", "home")
    st.stop()
st.query_params["query"], st.query_params["passage"] = place[0], place[1]
st.session_state["last passage"] = place
st.session_state["last query"] = place[0]
desk = read_passage(project, policy, place[0], place[1], shown if policy else ())
hidden = blind and place not in judged
with right:
    judge(project, desk)
    if hidden:
        st.caption("Blind: ratings, labels, ranks and the judgments of others appear once you have judged.")
    else:
        beside(project, desk, policy)
with middle:
    neighbours(found)
    st.subheader(ui.plain(desk.query), anchor=False)
    if desk.narrative:
        st.caption(ui.plain(desk.narrative))
    with st.container(border=True):
        if desk.text is None:
            st.caption(ui.plain(f"The text of {desk.passage_id} has not been imported."))
        else:
            methods = {grader.spec.name: grader.spec.method for grader in graders(project)}
            st.html(
                text_html(desk.text, [] if hidden or not policy else answer_marks(desk, methods, policy.min_rating))
            )
        st.caption(ui.plain(f"Passage {desk.passage_id}"))
    passage_parts.questions(project, desk, policy, shown, hidden, passage_parts.official(project))
    if not hidden:
        passage_parts.override_list(project, policy)
