"""The part Judge of Passages: a query's passages on the judging desk, blind unless the person
switches that off.
"""

from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from exam_workbench import bank, labels, review
from exam_workbench.records import (
    SCALE,
    find_guidelines,
    judging,
    open_double_assignments,
    own_judgment,
    passage_texts,
)
from exam_workbench.store import Project
from pages.parts.review.passage_panel import draw_guidelines
from pages.parts.shared import actions, address, html, people_here, seen_labels, ui

KEY = "passage-judging"
AHEAD = 6
"""Number of unjudged passages whose texts the browser has already."""
ROWS = 300
"""Largest number of passages in the list of a query."""


@dataclass
class JudgingTabState:
    """The state of a browser tab.

    Args:
        link: the project, query and passage of the link that the person followed.
        query_id, passage_id: the query, and the passage that was last opened or judged.
        start: whether the link named the passage, which the desk then opens first.
        labels: labels that a person asked for, as the desk shows them, by project and person.
    """

    link: tuple[object, ...] = ()
    query_id: str | None = None
    passage_id: str | None = None
    start: bool = False
    labels: dict[tuple[str, str], list[dict[str, Any]]] = field(default_factory=dict)

    def open_query(
        self, query_id: str | None, passage_id: str | None = None, start: bool = False
    ) -> None:
        """Open a query, at a passage if it is given."""
        self.query_id, self.passage_id, self.start = query_id, passage_id, start


def desk_state() -> JudgingTabState:
    """Return the state of this browser tab."""
    return st.session_state.setdefault("judging here", JudgingTabState())


def draw(
    project: Project, policy: labels.Policy | None, filters: review.Filters, blind: bool
) -> None:
    """Draw the desk for the query of the link, or of the filter.

    Args:
        policy: the scoring settings; None if nothing has been graded.
        blind: whether labels are hidden.
    """
    place, query = desk_state(), st.query_params.get("query")
    passage = st.query_params.get("passage")
    link = project.name, query, passage
    if link != place.link:
        place.link = link
        place.open_query(
            query or st.session_state.get("last query"), passage, start=passage is not None
        )
    if filters.query_id not in (None, place.query_id):
        place.open_query(filters.query_id)
    pending, person = actions.pending_actions(KEY), ui.person()
    if pending.acts and not person:
        # A person who has to enter a name first is asked to repeat the action.
        pending.acts.clear()
        ui.author()
    with ui.errors():
        error = pending.do_actions(lambda act: _do_action(project, policy, place, person, act))
        turn = review.next_turn(project, policy, filters, person, blind, place.query_id)
        if turn is None:
            st.container(key="no-matches").caption("No matching passages. Clear a filter.")
            return
        has_guidelines = _draw_notes(project, place, turn.query_id, person)
        data = _desk_data(project, policy, filters, place, turn, blind)
        pending.draw("judging", data | {"home": f"{project.path} {person}", "error": error})
        if not has_guidelines:
            draw_guidelines(project, turn.query_id)
        people_here.draw_people(project, turn.query_id)


def _draw_notes(project: Project, place: JudgingTabState, query_id: str, person: str) -> bool:
    """Draw notes above the desk in one container, so that they do not move the desk; return whether
    it has guidelines.

    Args:
        query_id: the query of the desk.
    """
    texts = find_guidelines(project, query_id)
    with st.container(key="judging-notes"):
        address.begin_at(query=query_id, passage="")
        if place.query_id not in (None, query_id) and place.query_id == st.query_params.get(
            "query"
        ):
            st.container(key="another-query").warning(
                f"No matching passages for query {ui.escape(place.query_id)}. Another"
                " query is shown instead.",
                icon=":material/info:",
            )
        if any(
            one.query_id == query_id and person in one.present
            for one in open_double_assignments(project)
        ):
            st.caption(
                ":material/visibility_off: Other assessors judge passages of this query too. Until"
                " adjudication, you cannot see each other's values, and none of them count."
            )
        if texts.project or texts.query:
            draw_guidelines(project, query_id)
    if query_id != place.query_id:
        place.open_query(query_id)
    st.session_state["last query"] = query_id
    return bool(texts.project or texts.query)


def _do_action(
    project: Project,
    policy: labels.Policy | None,
    place: JudgingTabState,
    person: str,
    act: actions.Act,
) -> None:
    """Do an action of the desk."""
    kind_of_act = act["do"]
    if kind_of_act == "next":
        place.open_query(str(act["query"]) if act.get("query") else None)
        return
    at = str(act["query"]), str(act["passage"])
    place.open_query(*at)
    blind = not act.get("seen") and at not in seen_labels.seen_passages(project, person)
    if kind_of_act == "judge":
        judging.judge_passage(
            project, *at, int(act["value"]), person, str(act.get("note") or ""), blind
        )
    elif kind_of_act == "take back" and own_judgment(project, *at, person) is not None:
        # If another window has withdrawn it already, nothing is left to do.
        judging.undo_judgment(project, *at, person, blind)
    elif kind_of_act == "look" and policy is not None:
        seen_labels.record_shown(project, [at])
        label = review.read_passage(project, policy, *at).label
        label_card = _label_data(
            project, policy, at, label, "Your judgment is recorded as given after seeing it."
        )
        place.labels.setdefault((str(project.path), person), []).append(label_card)


def _label_data(
    project: Project, policy: labels.Policy, at: seen_labels.Place, label: int | None, more: str
) -> dict[str, Any]:
    highest = bank.find_grader(project, policy.grader).spec.max_rating
    return {"query": at[0], "passage": at[1], "label": label, "highest": highest, "more": more}


def _desk_data(
    project: Project,
    policy: labels.Policy | None,
    filters: review.Filters,
    place: JudgingTabState,
    turn: review.QueryToJudge,
    blind: bool,
) -> dict[str, Any]:
    query_id, every = turn.query_id, turn.rows
    ids = [row.listed.passage_id for row in every]
    at = ids.index(place.passage_id) if place.passage_id in ids else -1
    # On from the present passage, then from the beginning.
    order = [*range(at + 1, len(ids)), *range(at + 1)]
    waiting = [i for i in order if every[i].own is None]
    first = max(0, min(waiting[0] if waiting else at, len(ids) - ROWS // 2) - ROWS // 2)
    rows = every[first : first + ROWS]
    loaded = [ids[i] for i in waiting[:AHEAD]] + ids[max(at, 0) : at + 1]
    texts = passage_texts(project, loaded)
    labels_seen: list[dict[str, Any]] = []
    if not blind:
        seen_labels.record_shown(project, [(query_id, row.listed.passage_id) for row in rows])
    if not blind and policy is not None:
        judged = {row.listed.passage_id: row.listed for row in rows}
        labels_seen = [
            _label_data(
                project,
                policy,
                (query_id, item),
                judged[item].label,
                _seen_labels_note(filters, judged[item]),
            )
            for item in loaded
            if item in judged
        ]
    query = bank.find_query(project, query_id)
    questions = [
        html.as_shown(item.shown_text)
        for item in bank.readable_questions(
            project, bank.list_questions(project, query_id=query_id)
        )
        if item.active
    ]
    following = turn.following if filters.query_id is None else None
    return {
        "queries": {
            query_id: {
                "text": html.as_shown(query.text),
                "narrative": html.as_shown(query.narrative or ""),
                "questions": questions,
            }
        },
        "cards": [
            _card_data(query_id, row, texts, row.listed.passage_id in loaded, filters)
            for row in rows
        ],
        "open": [i - first for i in waiting if first <= i < first + ROWS],
        "start": {"query": query_id, "passage": place.passage_id}
        if place.start and at >= 0
        else None,
        "scale": [{"value": value, "says": says} for value, says in SCALE.items()],
        "labels": place.labels.get((str(project.path), ui.person()), []) if blind else labels_seen,
        "seen": not blind,
        "latest": {
            "query": query_id,
            "passage": judging.last_judged_passage(project, query_id, ui.person()),
        },
        "tools": ["look"] if blind and policy is not None else [],
        "notes": True,
        "progress": {
            "of": "judged by you",
            "drawn": len(ids),
            "done": turn.judged,
            "mine": None,
            "others": "blind, in your own random order" if blind else "not blind: labels are shown",
        },
        "finished": {
            "title": f"Matching passages of this query: {len(ids):,}. You have judged all.",
            "about": "" if following is None else "Other queries have unjudged passages.",
            "act": following and "next",
            "with": {"query": following},
            "words": "Next query",
        },
    }


def _seen_labels_note(filters: review.Filters, listed: review.ListedPassage) -> str:
    judged = (
        ""
        if listed.judgment is None
        else f"Judged {listed.judgment} by {html.as_shown(filters.source or '')}. "
    )
    return f"{judged}Your judgment is recorded as given after seeing labels."


def _card_data(
    query_id: str,
    row: review.PassageToJudge,
    texts: dict[str, str],
    loaded: bool,
    filters: review.Filters,
) -> dict[str, Any]:
    listed = row.listed
    about = [] if listed.label is None else [f"label {listed.label}"]
    about += [] if listed.judgment is None else [f"{filters.source} judged {listed.judgment}"]
    card = {
        "query": query_id,
        "passage": listed.passage_id,
        "begins": ui.shorten_text(
            html.as_shown(" ".join((listed.excerpt or listed.passage_id).split())), 90
        ),
        "about": html.as_shown(" · ".join(about)),
        "said": None if row.own is None else "judged",
        "value": row.own,
        "settled": row.own is not None,
    }
    if loaded:
        text = texts.get(listed.passage_id)
        card["text"] = None if text is None else html.as_shown(text)
    return card
