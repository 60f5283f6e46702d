"""The labels that differ between two states: counts by cause and by query, each label, and its
reasons.
"""

from typing import Any

import streamlit as st

from exam_workbench import bank, review
from exam_workbench.records import passage_texts, pooled_queries
from exam_workbench.store import Project
from exam_workbench.text import how_many
from pages.parts.shared import actions, address, html, scoring_settings, ui

KEY = "flips"
FLIPS_A_PAGE = 12
QUESTIONS_NAMED = 2
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
ADDRESS = {"cause": "cause", "query": "flips_of", "page": "flips-page", "why": "why"}
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
NAMES = (*(f"{side}-{name}" for side in ("from", "to") for name in FIELDS), VIEW, *ADDRESS.values())
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
    asked = actions.pending_actions(KEY)
    for act in asked.pop_actions():
        _do_action(changes, act)
    by_cause, by_query = changes.by_cause, changes.by_query
    cause, query = _chosen_filter("cause", by_cause), _chosen_filter("query", by_query)
    chosen = [
        flip
        for flip in changes.flips
        if (not cause or cause in flip.causes) and (not query or flip.query_id == query)
    ]
    pages = max(1, -(-len(chosen) // FLIPS_A_PAGE))
    said = address_places().part_of_place(ADDRESS["page"])
    page = min(int(said), pages) if said.isdecimal() and int(said) else 1
    part = chosen[(page - 1) * FLIPS_A_PAGE : page * FLIPS_A_PAGE]
    texts = pooled_queries(project)
    names = ui.distinct_option_texts({key: texts.get(key, key) for key in by_query})
    data = {
        "causes": _filter_options(by_cause, CAUSE_NAMES, cause),
        "queries": _filter_options(by_query, names, query),
        "count": how_many(len(chosen), "labels") + ("" if chosen else " match both filters"),
        "rows": _label_rows(project, changes, part, texts),
        "page": page,
        "pages": pages,
    }
    asked.draw("flips", data)


def _do_action(changes: review.StateChanges, act: actions.Act) -> None:
    """Do an action of the component; each choice is one step for Back."""
    what, here = act["do"], address_places()
    if what == "read":
        st.switch_page(
            "pages/passages.py",
            query_params=address.link_parameters(
                **_passage_place(changes, act["query"], act["passage"])
            ),
        )
    elif what == "why":
        opened = f"{act['query']} {act['passage']}" if act["open"] else ""
        here.change_parts(**{ADDRESS["why"]: opened})
    elif what == "page":
        here.change_parts(**{ADDRESS["page"]: str(act["to"])})
    else:
        here.change_parts(**{ADDRESS[what]: act["name"], ADDRESS["page"]: "", ADDRESS["why"]: ""})


def _chosen_filter(what: str, options: dict[str, int]) -> str:
    """Return the chosen filter if some labels match it; otherwise an empty text."""
    named = address_places().part_of_place(ADDRESS[what])
    return named if named in options else ""


def _filter_options(
    counts: dict[str, int], names: dict[str, str], chosen: str
) -> list[dict[str, Any]]:
    return [
        {
            "name": key,
            "title": html.as_shown(names.get(key, key)),
            "count": count,
            "chosen": key == chosen,
        }
        for key, count in counts.items()
    ]


def _label_rows(
    project: Project,
    changes: review.StateChanges,
    part: list[review.LabelFlip],
    texts: dict[str, str],
) -> list[dict[str, Any]]:
    passages = passage_texts(project, [flip.passage_id for flip in part])
    asked = {
        question.question_id: question.shown_text
        for policy in (changes.before, changes.after)
        for query_id in dict.fromkeys(flip.query_id for flip in part if flip.questions)
        for question in bank.readable_questions(
            project, bank.list_questions(project, policy.bank_version, query_id)
        )
    }
    opened = address_places().part_of_place(ADDRESS["why"])
    rows = []
    for flip in part:
        text = passages.get(flip.passage_id, flip.passage_id)[:2_000]
        questions = [
            ui.shorten_text(asked.get(key, key), 140) for key in flip.questions[:QUESTIONS_NAMED]
        ]
        if (more := len(flip.questions) - QUESTIONS_NAMED) > 0:
            questions.append(f"and {more} more")
        causes = " · ".join(CAUSE_NAMES[cause] for cause in flip.causes)
        waiting = (
            f"{how_many(flip.open_pairs, 'ratings')} missing (ungraded or failed)"
            if flip.open_pairs
            else ""
        )
        rows.append(
            {
                "place": {"query": flip.query_id, "passage": flip.passage_id},
                "passage": flip.passage_id,
                "before": flip.before,
                "after": flip.after,
                "bound": scoring_settings.sign_of_open(changes.after.label)
                if flip.open_pairs and flip.after is not None
                else "",
                "text": html.as_shown(ui.shorten_text(" ".join(text.split()), 150)),
                "query": html.as_shown(
                    ui.shorten_text(texts.get(flip.query_id, flip.query_id), 100)
                ),
                "causes": causes,
                "waiting": waiting,
                "questions": [html.as_shown(words) for words in questions],
                "href": address.screen_link(
                    "passages", **_passage_place(changes, flip.query_id, flip.passage_id)
                ),
                "why": _label_reasons(project, changes, flip)
                if opened == f"{flip.query_id} {flip.passage_id}"
                else None,
            }
        )
    return rows


def _passage_place(changes: review.StateChanges, query_id: str, passage_id: str) -> dict[str, str]:
    """Return the place of a passage under the scoring settings of the state after."""
    after = changes.after
    policy = {"grader": str(after.grader), "tau": after.min_rating, "label": after.label}
    # Choices that already hold on all screens are left out, since reading them again would add a
    # step to the history.
    other = {key: str(value) for key, value in policy.items() if st.session_state.get(key) != value}
    return {"query": query_id, "passage": passage_id} | other


def _label_reasons(
    project: Project, changes: review.StateChanges, flip: review.LabelFlip
) -> list[dict[str, Any]]:
    """Return the ratings behind a label in the two states, beginning with those that changed it."""
    rows = review.why_label(project, changes.before, changes.after, flip.query_id, flip.passage_id)
    rows.sort(
        key=lambda row: (
            row.question_id not in flip.questions,
            -max(row.before or 0, row.after or 0),
        )
    )
    return [
        {
            "text": html.as_shown(row.text),
            "before": row.before,
            "after": row.after,
            "did": row.question_id in flip.questions,
            "said": ", ".join(
                words
                for words, so in (
                    ("caused the change", row.question_id in flip.questions),
                    ("ungraded", not row.graded),
                )
                if so
            ),
        }
        for row in rows
    ]
