"""The labels that differ between two states: counts by cause and by query, each label, and its
reasons.
"""

from collections.abc import Mapping, Sequence

import streamlit as st

from exam_workbench import bank, review
from exam_workbench.records import passage_texts, pooled_queries
from exam_workbench.store import Project
from exam_workbench.text import how_many
from pages.parts.shared import address, html, scoring_settings, ui

KEY = "flips"
FLIPS_A_PAGE = 50
CAUSE_NAMES = {
    "reworded": "Question reworded",
    "added": "Question added",
    "retired": "Question retired",
    "restored": "Question restored",
    "reweighted": "Question weight changed",
    "answer key": "Answer key changed",
    "kind": "Question kind changed",
    "override": "Override",
    "grader": "Grader changed",
    "label rule": "Label rule changed",
    "weights": "Use of weights changed",
}
CAUSE, QUERY, WHY = "cause", "flips_of", "why"
"""Address parameters of the choices made here."""
FIELDS = {
    "version": "bank_version",
    "grader": "grader",
    "tau": "min_rating",
    "label": "label",
    "weights": "weighted",
    "overrides": "overrides",
}
"""The parts of a state: name in the address, and field of `Policy`."""
VIEW = "differs"
"""Name of the view in the address, and key of its widget."""
NAMES = (*(f"{side}-{name}" for side in ("from", "to") for name in FIELDS), VIEW, CAUSE, QUERY, WHY)
"""Address parameters of the screen."""


def address_places() -> address.ScreenPlaces:
    """Return the states, the view and the choices made here in the address."""
    return address.places_of_screen("changes", NAMES)


@st.fragment
def draw_labels(project: Project, changes: review.StateChanges) -> None:
    """Draw the labels that differ, by cause and by query; each links to its passage."""
    if not changes.flips:
        st.container(
            key=f"no-flips{'-so-far' * any(changes.partial)}{'-but-scores' * changes.scores_differ}"
        ).text(
            ("No labels differ so far." if any(changes.partial) else "No labels differ.")
            + (" The leaderboards differ: choose Leaderboard." if changes.scores_differ else "")
        )
        return
    texts = pooled_queries(project)
    names = ui.distinct_option_texts({key: texts.get(key, key) for key in changes.by_query})
    with st.container(horizontal=True):
        cause = _choose_filter("Cause", CAUSE, changes.by_cause, CAUSE_NAMES)
        query = _choose_filter("Query", QUERY, changes.by_query, names)
    chosen = [
        flip
        for flip in changes.flips
        if (not cause or cause in flip.causes) and (not query or flip.query_id == query)
    ]
    st.container(key="flips-count").caption(
        f"{how_many(len(chosen), 'labels')}. Select one to see its ratings in both states."
    )
    # Each choice of filters has a pager of its own, which begins at the first page.
    pager = f"flips page {cause} {query}"
    part = ui.rows_of_page(pager, chosen, FLIPS_A_PAGE)
    if part:
        _draw_table(project, changes, part, texts)
    ui.draw_pager(pager, len(chosen), FLIPS_A_PAGE)
    for flip in chosen:
        if _place_of(flip) == address_places().part_of_place(WHY):
            _draw_reasons(project, changes, flip)


def _place_of(flip: review.LabelFlip) -> str:
    return f"{flip.query_id} {flip.passage_id}"


def _choose_filter(
    title: str, key: str, counts: Mapping[str, int], names: Mapping[str, str]
) -> str:
    """Draw a filter with the number of labels of each option, and return the chosen option or an
    empty text. Each choice is one step for Back.
    """
    titles = {"": "All"} | {
        option: f"{html.as_shown(names.get(option, option))} ({count:,})"
        for option, count in counts.items()
    }
    places = address_places()
    named = places.part_of_place(key)
    st.session_state[key] = named if named in counts else ""
    return st.selectbox(
        title,
        list(titles),
        key=key,
        on_change=lambda: places.change_parts(**{key: st.session_state[key], WHY: ""}),
        format_func=titles.__getitem__,
    )


def _draw_table(
    project: Project,
    changes: review.StateChanges,
    part: Sequence[review.LabelFlip],
    texts: Mapping[str, str],
) -> None:
    """Draw a page of the labels; a click on a row shows its reasons."""
    passages = passage_texts(project, [flip.passage_id for flip in part])
    questions_by_id = {
        question.question_id: question.shown_text
        for policy in (changes.before, changes.after)
        for query_id in dict.fromkeys(flip.query_id for flip in part if flip.questions)
        for question in bank.readable_questions(
            project, bank.list_questions(project, policy.bank_version, query_id)
        )
    }
    sign = scoring_settings.sign_of_open(changes.after.label)
    rows = []
    for flip in part:
        text = " ".join(passages.get(flip.passage_id, flip.passage_id)[:2_000].split())
        questions = "; ".join(questions_by_id.get(key, key) for key in flip.questions)
        bound = sign if flip.open_pairs and flip.after is not None else ""
        row = {
            "Before": "–" if flip.before is None else flip.before,
            "After": "–" if flip.after is None else f"{bound}{flip.after}",
            "Passage": ui.shorten_text(text, 150),
            "Query": ui.shorten_text(texts.get(flip.query_id, flip.query_id), 100),
            "Cause": " · ".join(CAUSE_NAMES[cause] for cause in flip.causes),
            "Questions": ui.shorten_text(questions, 300),
            "Missing ratings": flip.open_pairs,
        }
        rows.append({name: html.as_shown(str(value)) for name, value in row.items()})

    def open_selected() -> None:
        places = [_place_of(part[at]) for at in st.session_state[KEY].selection.rows]
        address_places().change_parts(**{WHY: "".join(places)})

    st.dataframe(
        rows,
        hide_index=True,
        key=KEY,
        on_select=open_selected,
        selection_mode="single-row",
        column_config={
            "Missing ratings": st.column_config.TextColumn(help="Pairs that are ungraded or failed")
        },
    )


def _passage_place(changes: review.StateChanges, query_id: str, passage_id: str) -> dict[str, str]:
    """Return the place of a passage under the scoring settings of the state after."""
    after = changes.after
    policy = {"grader": str(after.grader), "tau": after.min_rating, "label": after.label}
    # Choices that already hold on all screens are left out, since reading them again would add a
    # step to the history.
    other = {key: str(value) for key, value in policy.items() if st.session_state.get(key) != value}
    return {"query": query_id, "passage": passage_id} | other


def _draw_reasons(project: Project, changes: review.StateChanges, flip: review.LabelFlip) -> None:
    """Draw the ratings behind a label in the two states, beginning with those that changed it."""
    rows = review.why_label(project, changes.before, changes.after, flip.query_id, flip.passage_id)
    rows.sort(
        key=lambda row: (
            row.question_id not in flip.questions,
            -max(row.before or 0, row.after or 0),
        )
    )
    ui.draw_link(
        "passages", "Open passage", **_passage_place(changes, flip.query_id, flip.passage_id)
    )
    st.dataframe(
        {
            "Question": [html.as_shown(row.text) for row in rows],
            "Before": [row.before for row in rows],
            "After": [row.after for row in rows],
            "Cause": [row.question_id in flip.questions for row in rows],
            "Graded": [row.graded for row in rows],
        },
        hide_index=True,
        placeholder="–",
        key="ratings behind a label",
    )
