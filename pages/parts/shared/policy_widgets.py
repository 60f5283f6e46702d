"""Widgets for the policy and the measure; the choice is in the URL and holds on every screen."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

import streamlit as st

from core.bank import latest_version
from core.catalogue import find_grader, graders
from core.errors import InputError, WorkbenchError
from core.labels import Policy
from core.leaderboard import QueryChoice
from core.measures import COVER, MEASURES, SIMILARITIES, parse_measure
from core.project import Project, official_sources
from core.types import MAX_RATING
from pages.parts.shared import ui

Choice = Literal["grader", "tau", "label", "weights", "measure", "against", "cutoff", "relevant"]
"""What one can choose in the line, by the key of its widget."""

LABELS: tuple[Choice, ...] = ("grader", "tau", "label", "weights")
"""The choices that make labels."""

NO_EFFECT = "Has no effect on what this screen shows."
DEFAULT_MEASURE = "nDCG@10"

LABEL_RULES = {"max": "Best rating", "support:2": "Supported by 2 questions", "mean": "Weighted mean"}


@dataclass(frozen=True)
class View:
    """Under which choices one looks.

    Args:
        measure: standard name.
        against: the official board, None where there is none.
    """

    policy: Policy
    measure: str
    against: str | None


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


def line(
    project: Project,
    matters: Collection[Choice],
    *,
    shares: bool = False,
    drawn: tuple[str, str | None] | None = None,
) -> View:
    """Say in one line under which choices one looks, the same on every screen, with a place to change them.

    Args:
        matters: the choices that have an effect on what this screen shows; the others are disabled and say so.
        shares: whether measures by shares of a pool or by gold texts can be computed here.
        drawn: measure and official board, where the screen has widgets of its own for them.
    """
    known = [grader.spec.name for grader in graders(project) if grader.grades]
    if not known:
        ui.empty("Nothing has been graded yet.", "Grade the pool, or import a graded file.", "grading")
    boards, offered = official_sources(project), _offered(True, DEFAULT_MEASURE)
    with st.container(key="looking", horizontal=True, vertical_alignment="center"):
        said = st.empty()
        place = st.popover("Change", type="tertiary", help="Choose what labels and scores are made with")

    def options(choice: Choice, words: str) -> dict[str, Any]:
        idle = choice not in matters
        return {"disabled": idle, "help": f"{NO_EFFECT} {words}" if idle else words, "bind": "query-params"}

    default = Policy()
    with place:
        st.selectbox("Grader", known, key="grader", **options("grader", "Whose grades the labels are made of."))
        st.selectbox(
            "Min rating", range(1, MAX_RATING + 1), index=default.min_rating - 1, key="tau",
            **options("tau", "From this rating on a question counts as answered, and a label as relevant in binary"
                      " measures."),
        )  # fmt: skip
        st.selectbox(
            "Label", list(LABEL_RULES), format_func=LABEL_RULES.__getitem__, key="label",
            **options("label", "How a passage's ratings become its relevance label."),
        )  # fmt: skip
        st.checkbox("Weights", True, key="weights", **options("weights", "Use the questions' weights."))
        picked, against = drawn or (DEFAULT_MEASURE, None)
        if drawn is None:
            picked = st.selectbox(
                "Measure", offered, index=offered.index(DEFAULT_MEASURE), key="measure", accept_new_options=True,
                **options("measure", _typable(shares)),
            )  # fmt: skip
        if drawn is None and boards:
            against = st.selectbox(
                "Official board", boards, key="against", **options("against", "The board to compare with.")
            )
        st.number_input(
            "Cutoff", 1, 1000, default.cutoff, key="cutoff",
            **options("cutoff", "EXAM-Cover looks at this many passages of each run."),
        )  # fmt: skip
        st.selectbox(
            "Judged ≥", [1, 2, 3], key="relevant",
            **options("relevant", "The judgment from which a passage is relevant in binary measures of the official"
                      " board."),
        )  # fmt: skip
    # What an idle choice holds is said as it is: another screen can show it.
    name = str(picked) if drawn or "measure" not in matters else _read(str(picked), offered, DEFAULT_MEASURE, shares)
    view = View(chosen(project), name, against)
    said.markdown(f":material/tune: {ui.plain(in_words(project, view))}")
    return view


def in_words(project: Project, view: View) -> str:
    """The choices as the line on every screen says them: grader, min rating, label rule, measure, bank version."""
    policy = view.policy
    words = [
        find_grader(project, policy.grader).spec.name,
        f"min rating {policy.min_rating}",
        LABEL_RULES.get(policy.label, policy.label).lower(),
        *([] if policy.weighted else ["without weights"]),
        *([] if policy.min_judgment == 1 else [f"judged ≥ {policy.min_judgment}"]),
        view.measure,
        f"bank {latest_version(project)}",
    ]
    return " · ".join(words)


def queries() -> QueryChoice:
    """A choice of the queries that two boards are compared over."""
    picked = st.segmented_control(
        "Queries", get_args(QueryChoice), default="common", key="over-queries", required=True, bind="query-params",
        help="Compare two boards over the queries that both have, or each over its own.",
    )  # fmt: skip
    return cast(QueryChoice, picked)


def measure(
    label: str, cover: bool, key: str, default: str = DEFAULT_MEASURE, shares: bool = False, gold: bool = False
) -> str:
    """A choice among the standard measures; any other that trec_eval knows can be typed.

    Args:
        cover: whether EXAM-Cover is among them.
        shares: whether normalised coverage and similarity to gold texts may be typed as well.
        gold: whether there are gold texts, so that measures by them are offered.
    """
    offered = _offered(cover, default, gold)
    picked = st.selectbox(
        label, offered, index=offered.index(default), key=key, bind="query-params", accept_new_options=True,
        help=_typable(shares),
    )  # fmt: skip
    return _read(str(picked), offered, default, shares)


def _offered(cover: bool, default: str, gold: bool = False) -> list[str]:
    names = [name for name, one in MEASURES.items() if one.takes_judgments or (cover and one.basis == "intents")]
    by_gold = ["n-EXAM", *SIMILARITIES] if gold else []
    # What was typed for one board is the default of the other.
    return list(dict.fromkeys([*([COVER] if cover else []), *by_gold, *names, default]))


def _typable(shares: bool) -> str:
    gold = ", EXAM-Cover@10/pool, n-EXAM@20, ROUGE-1@20 or chrF@20 (these three by gold texts)." if shares else "."
    return f"Or type another, such as P@30 or nDCG@5{gold}"


def _read(picked: str, offered: Collection[str], default: str, shares: bool) -> str:
    """The standard name of a measure that was picked or typed; the default, and why, where it cannot be shown."""
    if picked in offered:
        return picked
    try:
        typed = parse_measure(picked)
        if not shares and not typed.ranks_passages:
            raise InputError(f"{typed} cannot be shown here.", "Choose a measure of labels, such as nDCG@10.")
        return typed.name
    except WorkbenchError as error:
        ui.show_error(error)
        return default
