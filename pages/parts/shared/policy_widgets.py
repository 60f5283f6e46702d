"""Widgets for the policy and the measure; the choice is in the URL and holds on every screen."""

from __future__ import annotations

from typing import cast, get_args

import streamlit as st

from core.catalogue import graders
from core.errors import InputError, WorkbenchError
from core.labels import Policy
from core.leaderboard import QueryChoice
from core.measures import COVER, MEASURES, SIMILARITIES, parse_measure
from core.project import Project
from core.types import MAX_RATING
from pages.parts.shared import ui

LABEL_RULES = {"max": "Best rating", "support:2": "Supported by 2 questions", "mean": "Weighted mean"}


def chosen(project: Project) -> Policy:
    """The policy that the widgets of any screen have set; the default where none has."""
    default = Policy()
    state = st.session_state
    names = [grader.spec.name for grader in graders(project)]
    grader = state.get("grader")
    return Policy(
        grader=grader if grader in names else None,
        min_rating=int(state.get("tau") or default.min_rating),
        cutoff=int(state.get("cutoff") or default.cutoff),
        label=str(state.get("label") or default.label),
        weighted=bool(state.get("weights", True)),
        min_judgment=int(state.get("relevant") or default.min_judgment),
    )


def policy(project: Project, cutoff: bool = False, judged: bool = False, stacked: bool = False) -> Policy:
    """Draw the widgets in one row and return what they say.

    Args:
        cutoff: whether the rank depth of EXAM-Cover matters here.
        judged: whether the relevance threshold of judgments matters here.
        stacked: one under the other, where there is no room for a row.
    """
    known = [grader.spec.name for grader in graders(project) if grader.grades]
    if not known:
        ui.empty("Nothing has been graded yet.", "Grade the pool, or import a graded file.", "grading")
    default = Policy()
    widths = [7, 3, 5, *([3] * (cutoff + judged)), 3]
    columns = iter([st.container() for _ in widths] if stacked else st.columns(widths, vertical_alignment="bottom"))
    next(columns).selectbox("Grader", known, key="grader", bind="query-params")
    next(columns).selectbox(
        "Min rating", range(1, MAX_RATING + 1), index=default.min_rating - 1, key="tau", bind="query-params",
        help="From this rating on a question counts as answered, and a label as relevant in binary measures.",
    )  # fmt: skip
    next(columns).selectbox(
        "Label", list(LABEL_RULES), format_func=LABEL_RULES.__getitem__, key="label", bind="query-params",
        help="How a passage's ratings become its relevance label.",
    )  # fmt: skip
    if cutoff:
        next(columns).number_input(
            "Cutoff", 1, 1000, default.cutoff, key="cutoff", bind="query-params",
            help="EXAM-Cover looks at this many passages of each run.",
        )  # fmt: skip
    if judged:
        next(columns).selectbox(
            "Judged ≥", [1, 2, 3], key="relevant", bind="query-params",
            help="The judgment from which a passage is relevant in binary measures of the official board.",
        )  # fmt: skip
    next(columns).checkbox("Weights", True, key="weights", bind="query-params", help="Use the questions' weights.")
    return chosen(project)


def queries() -> QueryChoice:
    """A choice of the queries that two boards are compared over."""
    picked = st.segmented_control(
        "Queries", get_args(QueryChoice), default="common", key="over-queries", required=True, bind="query-params",
        help="Compare two boards over the queries that both have, or each over its own.",
    )  # fmt: skip
    return cast(QueryChoice, picked)


def measure(
    label: str, cover: bool, key: str, default: str = "nDCG@10", shares: bool = False, gold: bool = False
) -> str:
    """A choice among the standard measures; any other that trec_eval knows can be typed.

    Args:
        cover: whether EXAM-Cover is among them.
        shares: whether normalised coverage and similarity to gold texts may be typed as well.
        gold: whether there are gold texts, so that measures by them are offered.
    """
    names = [name for name, one in MEASURES.items() if one.takes_judgments or (cover and one.basis == "intents")]
    # What was typed for one board is the default of the other.
    by_gold = ["n-EXAM", *SIMILARITIES] if gold else []
    options = list(dict.fromkeys([*([COVER] if cover else []), *by_gold, *names, default]))
    picked = st.selectbox(
        label, options, index=options.index(default), key=key, bind="query-params", accept_new_options=True,
        help="Or type another, such as P@30 or nDCG@5"
        + (", EXAM-Cover@10/pool, n-EXAM@20, ROUGE-1@20 or chrF@20 (these three by gold texts)." if shares else "."),
    )  # fmt: skip
    if picked in options:
        return str(picked)
    try:
        typed = parse_measure(str(picked))
        if not shares and not typed.ranks_passages:
            raise InputError(f"{typed} cannot be shown here.", "Choose a measure of labels, such as nDCG@10.")
        return typed.name
    except WorkbenchError as error:
        ui.show_error(error)
        return default
