"""Widgets for the policy and the measure; the choice is in the URL and holds on every screen."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, cast, get_args

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from exam_workbench.bank import latest_version
from exam_workbench.catalogue import find_grader, graders, succession
from exam_workbench.errors import WorkbenchError
from exam_workbench.labels import Policy, usual_min_judgment
from exam_workbench.leaderboard import QueryChoice
from exam_workbench.measures import COVER, MEASURES, SIMILARITIES, parse_measure
from exam_workbench.project import Project, gold_name, official_sources
from exam_workbench.types import MAX_RATING, GraderSpec
from pages.parts.shared import address, ui

Choice = Literal["grader", "tau", "label", "weights", "measure", "against", "cutoff", "relevant"]
"""What one can choose in the line, by the key of its widget."""

LABELS: tuple[Choice, ...] = ("grader", "tau", "label", "weights")
"""The choices that make labels."""

MATTERS: dict[str, tuple[Choice, ...]] = {
    "home": (*LABELS, "measure", "against", "cutoff", "relevant"),
    "question_bank": (*LABELS, "measure", "against", "cutoff"),
    "passages": (*LABELS, "measure", "against", "relevant"),
    "disagreements": (*LABELS, "relevant"),
    "changes": ("measure", "against", "cutoff", "relevant"),
    "leaderboard": (*LABELS, "measure", "against", "cutoff", "relevant"),
    "audit": (*LABELS, "relevant"),
    "measures": ("against", "relevant"),
    "export": (*LABELS, "cutoff"),
}
"""The choices that have an effect on what a screen shows. On a screen that is not here none has any, and nothing is
said of them: they would only seem to be about what one sees."""

INLINE = ("leaderboard", "changes", "measures")
"""Screens on which measure and official board are changed so often that they stand beside the line."""

SHARES = ("leaderboard", "changes")
"""Screens that can compute measures by shares of a pool or by gold texts."""

INLINE_WIDTH = {"measure": 270, "against": 330}
MIN_RATINGS = range(1, MAX_RATING + 1)
MIN_JUDGMENTS = (1, 2, 3)
NO_BOARD = "No official board"

NO_EFFECT = "No effect on this screen."
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


def sign_of_open(label: str) -> str:
    """The sign before a label that rests on a part of its ratings: what is missing moves a mean either way, any other
    label only up.

    Args:
        label: the rule by which it comes of ratings.
    """
    return "≈" if label == "mean" else "≥"


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
        min_judgment=int(state.get("relevant") or usual_min_judgment(project)),
    )


def line(screen: str) -> None:
    """Say in one line under which choices one looks, the same wherever any has an effect, with a place to change them.

    It is drawn by the frame and not by the screens: what one screen has put into the address, another one forgets.

    Args:
        screen: its name; what has no effect on what it shows is disabled and says so.
    """
    st.session_state.pop("looking", None)
    # Which project is the first changes with the projects: an address always names its own.
    said = {"project": str(st.session_state["project"])} if ui.projects() else {}
    usual: dict[str, str] = {}
    try:
        project = ui.chosen_project()
    except WorkbenchError:
        # The screen itself says what is wrong.
        project = None
    known = [grader.spec.name for grader in graders(project) if grader.grades] if project else []
    if project is not None and known:
        st.session_state["looking"], choices, defaults = _draw(project, known, screen)
        said |= choices
        usual |= defaults
    address.write(said, usual)


def _draw(project: Project, known: list[str], screen: str) -> tuple[View, dict[str, str], dict[str, str]]:
    """Draw the line; returns what is chosen, how the address says it, and how it says the defaults.

    Args:
        known: names of the graders that have grades.
    """
    boards = [*official_sources(project), NO_BOARD]
    usual = _take(known, boards, usual_min_judgment(project))
    if screen in MATTERS:
        view = _widgets(project, known, boards, screen)
    else:
        # What is chosen is kept for the next screen all the same.
        measure, against = (str(st.session_state[choice]) for choice in ("measure", "against"))
        view = View(chosen(project), measure, None if against == NO_BOARD else against)
    return view, _said({choice: st.session_state[choice] for choice in usual}), _said(usual)


def _take(known: list[str], boards: list[str], min_judgment: int) -> dict[Choice, Any]:
    """Let every choice hold what the address says, where somebody came by it; returns the defaults."""
    default = Policy()
    rules = {title: rule for rule, title in LABEL_RULES.items()}
    usual: dict[Choice, Any] = {
        "grader": known[0], "tau": default.min_rating, "label": default.label, "weights": True,
        "measure": DEFAULT_MEASURE, "against": boards[0], "cutoff": default.cutoff, "relevant": min_judgment,
    }  # fmt: skip
    read: dict[Choice, Callable[[str], Any]] = {
        "grader": _among(known), "tau": lambda text: _among(MIN_RATINGS)(int(text)),
        "label": lambda text: rules.get(text) or _among(LABEL_RULES)(text), "weights": lambda text: text != "false",
        "measure": str, "against": _among(boards), "cutoff": lambda text: min(1000, max(1, int(text))),
        "relevant": lambda text: _among(MIN_JUDGMENTS)(int(text)),
    }  # fmt: skip
    for choice, value in usual.items():
        address.take(choice, read[choice], value)

    # Another project has other graders and boards.
    for choice, there in (("grader", known), ("against", boards)):
        if st.session_state[choice] not in there:
            st.session_state[choice] = there[0]
    return usual


def _widgets(project: Project, known: list[str], boards: list[str], screen: str) -> View:
    """Draw the line and what is behind it; returns what is chosen."""
    matters, inline, shares = MATTERS[screen], screen in INLINE, screen in SHARES
    offered = _offered(True, DEFAULT_MEASURE, gold_name(project) is not None)
    with st.container(key="looking", horizontal=True, vertical_alignment="center"):
        words = st.empty()
        popover = st.popover("Change", type="tertiary", help="Change the scoring settings", key="change scoring")
        beside = st.container(horizontal=True, width="content", key="looking-beside") if inline else popover

    def place(choice: Choice) -> tuple[DeltaGenerator, dict[str, Any]]:
        here = {"width": INLINE_WIDTH[choice]}
        return (beside, here) if inline and choice in matters else (popover, {})

    held: dict[Choice, Any] = {choice: st.session_state[choice] for choice in get_args(Choice)}
    measures = [*offered, *([] if held["measure"] in offered else [held["measure"]])]

    def options(choice: Choice, about: str, among: Sequence[Any] | None = None) -> dict[str, Any]:
        idle = choice not in matters
        # What is held is the default, too: a browser that has not drawn the widget yet, as it is folded away, would
        # else take another default for a choice that was made.
        now = {"value": held[choice]} if among is None else {"options": among, "index": among.index(held[choice])}
        return {"key": choice, "disabled": idle, "help": f"{NO_EFFECT} {about}" if idle else about, **now}

    with popover:
        st.selectbox("Grader", **options("grader", "Labels are derived from the grades of this grader.", known))
        if said := succeeded(project, str(held["grader"])):
            st.container(key="succeeded-grader").caption(ui.plain(said))
        st.selectbox(
            "Min rating",
            **options("tau", "A question counts as answered from this rating on. A label counts as relevant in"
                      " binary measures from this value on.", MIN_RATINGS),
        )  # fmt: skip
        st.selectbox(
            "Label rule", format_func=LABEL_RULES.__getitem__,
            **options("label", "Derives the relevance label of a passage from its ratings.", list(LABEL_RULES)),
        )  # fmt: skip
        st.checkbox("Weights", **options("weights", "Use the questions' weights."))
        st.number_input("Cutoff", 1, 1000, **options("cutoff", "EXAM-Cover uses this many top passages per run."))
        st.selectbox(
            "Min judgment",
            **options("relevant", "A passage counts as relevant in binary measures of the official leaderboard from"
                      " this judgment on.", MIN_JUDGMENTS),
        )  # fmt: skip
    at, size = place("measure")
    picked = at.selectbox("Measure", accept_new_options=True, **size, **options("measure", _typable(shares), measures))
    at, size = place("against")
    against = at.selectbox(
        "Official leaderboard", format_func=lambda name: "None" if name == NO_BOARD else name, **size,
        **options("against", "The leaderboard to compare with.", boards),
    )  # fmt: skip
    # What an idle choice holds is said as it is: another screen can show it.
    name = _read(str(picked), offered, DEFAULT_MEASURE, shares) if "measure" in matters else str(picked)
    view = View(chosen(project), name, None if against == NO_BOARD else str(against))
    words.markdown(f":material/tune: {ui.plain(in_words(project, view))}")
    return view


def _said(choices: Mapping[Choice, Any]) -> dict[str, str]:
    """Choices as the address says them."""
    return {choice: str(value).lower() if choice == "weights" else str(value) for choice, value in choices.items()}


def _among(options: Collection[Any]) -> Callable[[Any], Any]:
    """A function that gives back one of the options, and raises ValueError for anything else."""

    def read(value: Any) -> Any:
        if value not in options:
            raise ValueError(value)
        return value

    return read


def seen() -> View | None:
    """Under which choices one looks; None where nothing has been graded, so that there is nothing to choose."""
    return cast(View | None, st.session_state.get("looking"))


def grader(project: Project) -> GraderSpec | None:
    """The grader under which one looks; None where nothing has been graded."""
    found = seen()
    return None if found is None else find_grader(project, found.policy.grader).spec


def view() -> View:
    """Under which choices one looks; the screen ends here where nothing has been graded."""
    found = seen()
    if found is None:
        ui.empty("No grades yet.", "Grade the pool, or import a graded file.", "grading", code="nothing-graded")
    return cast(View, found)


def in_words(project: Project, view: View) -> str:
    """The choices as the line on every screen says them: grader, min rating, label rule, measure, bank version."""
    policy = view.policy
    spec = find_grader(project, policy.grader).spec
    scale = "" if spec.max_rating == MAX_RATING else f" of 0–{spec.max_rating}"
    words = [
        spec.name,
        f"min rating {spec.min_rating(policy.min_rating)}{scale}",
        LABEL_RULES.get(policy.label, policy.label).lower(),
        *([] if policy.weighted else ["no weights"]),
        *([] if policy.min_judgment == 1 else [f"min judgment {policy.min_judgment}"]),
        view.measure,
        f"bank version {latest_version(project)}",
    ]
    return " · ".join(words)


def succeeded(project: Project, grader: str | None, within: timedelta = timedelta.max) -> str:
    """That the usual grader became that by itself, where it is the one that is chosen, as a sentence; else empty.

    Args:
        within: for how long it is said.
    """
    found = succession(project)
    if found is None or found.usual != grader or datetime.now(UTC).replace(tzinfo=None) - found.since > within:
        return ""
    return (
        f"Default grader changed from {found.former} to {found.usual} on {found.since:%d %B %Y, %H:%M}, when"
        f" {found.usual} had enough grades. To use {found.former} again, press Change and choose it as the grader."
    )


def queries() -> QueryChoice:
    """A choice of the queries that two boards are compared over."""
    picked = st.segmented_control(
        "Queries", get_args(QueryChoice), default="common", key="over-queries", required=True, bind="query-params",
        help="Queries to compare: those without ungraded pairs in both leaderboards, all queries in both, or all"
        " queries of each leaderboard.",
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
    gold = (
        ", EXAM-Cover@10/pool, n-EXAM@20, ROUGE-1@20 or chrF@20 (the last three need gold passages)." if shares else "."
    )
    return f"Choose a measure or type its name: P@30, nDCG@5{gold}"


def _read(picked: str, offered: Collection[str], default: str, shares: bool) -> str:
    """The standard name of a measure that was picked or typed; the default, and why, where it cannot be shown."""
    if picked in offered:
        return picked
    try:
        typed = parse_measure(picked)
    except WorkbenchError as error:
        ui.show_error(error)
        return default
    if not shares and not typed.ranks_passages:
        # It may have come along from a screen that can show it.
        st.container(key="other-measure").caption(
            f":material/info: {ui.plain(typed.name)} is not available on this screen, which shows {ui.plain(default)}."
        )
        return default
    return typed.name
