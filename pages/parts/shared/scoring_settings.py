"""Widgets for the scoring settings and the measure; the choice is in the URL and holds on every
screen.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal, get_args

import streamlit as st

from exam_workbench import bank, errors, labels, types
from exam_workbench.choices import DEFAULT_MEASURE, Ties
from exam_workbench.measures import COVER, MEASURES, SIMILARITIES, parse_measure
from exam_workbench.records import gold_name, judgment_sources, official_sources
from exam_workbench.store import Project
from pages.parts.shared import address, ui

Choice = Literal[
    "grader", "rating", "tau", "label", "weights", "measure", "against", "cutoff", "relevant"
]
"""The choices in the line, by the key of their widget."""

LABELS: tuple[Choice, ...] = ("grader", "rating", "tau", "label", "weights")
"""The choices that determine labels."""

MATTERS: dict[str, tuple[Choice, ...]] = {
    "home": (*LABELS, "measure", "against", "cutoff", "relevant"),
    "question_bank": (*LABELS, "measure", "against", "cutoff"),
    "passages": (*LABELS, "measure", "against", "relevant"),
    "disagreements": (*LABELS, "relevant"),
    "changes": ("measure", "against", "cutoff", "relevant"),
    "leaderboard": (*LABELS, "measure", "against", "cutoff", "relevant"),
    "audit": (*LABELS, "relevant"),
    "measures": ("against", "relevant"),
    "export": (*LABELS, "measure", "against", "cutoff", "relevant"),
}
"""The choices that affect each screen. Screens without an entry do not show the line, since no
choice affects them.
"""

INLINE = ("leaderboard", "changes", "measures")
"""Screens that show measure and official leaderboard next to the line, since they are changed
often.
"""

SHARES = ("leaderboard", "changes", "export")
"""Screens that can compute measures by shares of a pool or by gold texts."""

INLINE_WIDTH = {"measure": 270, "against": 330}
MIN_RATINGS = range(1, types.MAX_RATING + 1)
MIN_JUDGMENTS = (1, 2, 3)
NO_BOARD = "No official board"

NO_EFFECT = "No effect on this screen."

LABEL_RULES = {
    "max": "Best rating",
    "support:2": "Supported by 2 questions",
    "mean": "Weighted mean",
}

RATING_RULES = {"written": "Written rating", "expected": "Expected rating"}


@dataclass(frozen=True)
class ViewChoices:
    """The present choices.

    Args:
        measure: standard name.
        against: the official leaderboard; None without one.
    """

    policy: labels.Policy
    measure: str
    against: str | None


def sign_of_open(label: str) -> str:
    """Return the sign before a label from incomplete ratings.

    Missing ratings can move a mean up or down, any other label only up.

    Args:
        label: the label rule.
    """
    return "≈" if label == "mean" else "≥"


def chosen_policy(project: Project) -> labels.Policy:
    """Return the scoring settings of the widgets, with defaults for unset ones."""
    default = labels.Policy()
    state = st.session_state
    names = [grader.spec.name for grader in bank.label_graders(project)]
    grader = state.get("grader") if state.get("grader") in names else None
    rating = str(state.get("rating") or default.rating)
    return labels.Policy(
        grader=grader,
        rating=rating if rating in _rating_rules(project, grader, rating) else default.rating,
        min_rating=int(state.get("tau") or default.min_rating),
        cutoff=int(state.get("cutoff") or default.cutoff),
        label=str(state.get("label") or default.label),
        weighted=bool(state.get("weights", True)),
        min_judgment=int(state.get("relevant") or labels.usual_min_judgment(project)),
    )


def _rating_rules(project: Project, grader: str | None, typed: str) -> list[str]:
    """Return the rating rules that the grades of a grader allow: usual ones, and the one that a
    person typed.
    """
    rules = []
    for rule in dict.fromkeys([*RATING_RULES, typed]) if bank.label_graders(project) else ():
        with suppress(errors.InputError):
            labels.check_rating_rule(project, bank.find_grader(project, grader), rule)
            rules.append(rule)
    return rules or [labels.Policy.rating]


def draw_settings_line(screen: str) -> None:
    """Draw the line of the present choices with a popover to change them, on screens that they
    affect.

    The frame draws it, not the screens, because Streamlit drops parameters of one screen's widgets
    on another screen.

    Args:
        screen: its name; choices that do not affect it are disabled with an explanation.
    """
    st.session_state.pop("looking", None)
    # The first project can change with the list of projects, so an address always names its
    # project.
    parameters = {"project": str(st.session_state["project"])} if ui.list_projects() else {}
    usual: dict[Choice, Any] = {}
    project = ui.project_or_none()
    grader_names = (
        [grader.spec.name for grader in bank.label_graders(project) if grader.grades]
        if project
        else []
    )
    if project is not None and grader_names:
        boards = [*official_sources(project), NO_BOARD]
        usual = _set_choices(grader_names, boards, labels.usual_min_judgment(project))
        # A screen without the line keeps the choices for the next screen.
        st.session_state["looking"] = (
            _draw_widgets(project, grader_names, boards, screen)
            if screen in MATTERS
            else _chosen_view(project, str(st.session_state["measure"]))
        )
    chosen = {choice: st.session_state[choice] for choice in usual}
    address.write_choices(parameters | _as_parameters(chosen), _as_parameters(usual))


def _set_choices(
    grader_names: list[str], boards: list[str], min_judgment: int
) -> dict[Choice, Any]:
    """Set every choice from the address if the person followed a link; return the defaults."""
    default = labels.Policy()
    rules = {title: rule for rule, title in LABEL_RULES.items()} | {
        rule: rule for rule in LABEL_RULES
    }
    usual: dict[Choice, Any] = {
        "grader": grader_names[0],
        "rating": default.rating,
        "tau": default.min_rating,
        "label": default.label,
        "weights": True,
        "measure": DEFAULT_MEASURE,
        "against": boards[0],
        "cutoff": default.cutoff,
        "relevant": min_judgment,
    }
    read: dict[Choice, Callable[[str], Any]] = {
        "grader": _reader_of(grader_names),
        "rating": str,
        "tau": _reader_of(MIN_RATINGS),
        "label": rules.__getitem__,
        "weights": lambda text: text != "false",
        "measure": str,
        "against": _reader_of(boards),
        "cutoff": lambda text: min(1000, max(1, int(text))),
        "relevant": _reader_of(MIN_JUDGMENTS),
    }
    for choice, value in usual.items():
        address.set_from_address(choice, read[choice], value)

    # Another project has other graders and leaderboards.
    for choice, there in (("grader", grader_names), ("against", boards)):
        if st.session_state[choice] not in there:
            st.session_state[choice] = there[0]
    return usual


def _chosen_view(project: Project, measure: str) -> ViewChoices:
    against = str(st.session_state["against"])
    return ViewChoices(chosen_policy(project), measure, None if against == NO_BOARD else against)


def _draw_widgets(
    project: Project, grader_names: list[str], boards: list[str], screen: str
) -> ViewChoices:
    """Draw the line and its popover; return the choices.

    Args:
        grader_names: names of the graders that have grades.
        boards: names of the official leaderboards, and of the choice of none.
    """
    matters, inline, shares = MATTERS[screen], screen in INLINE, screen in SHARES
    offered = _offer_measures(True, DEFAULT_MEASURE, gold_name(project) is not None)
    with st.container(key="looking", horizontal=True, vertical_alignment="center"):
        words = st.empty()
        popover = st.popover(
            "Change", type="tertiary", help="Change the scoring settings", key="change scoring"
        )
        beside = (
            st.container(horizontal=True, width="content", key="looking-beside")
            if inline
            else popover
        )

    present: dict[Choice, Any] = {choice: st.session_state[choice] for choice in get_args(Choice)}
    measures = [*offered, *([] if present["measure"] in offered else [present["measure"]])]

    def widget_options(
        choice: Choice, about: str, among: Sequence[Any] | None = None
    ) -> dict[str, Any]:
        idle = choice not in matters
        # The present value is also the default. Otherwise a browser that has not yet drawn the
        # folded widget would use another default.
        now = (
            {"value": present[choice]}
            if among is None
            else {"options": among, "index": among.index(present[choice])}
        )
        fixed = inline and not idle and choice in INLINE_WIDTH
        width = {"width": INLINE_WIDTH[choice]} if fixed else {}
        return {
            "key": choice,
            "disabled": idle,
            "help": f"{NO_EFFECT} {about}" if idle else about,
            **now,
            **width,
        }

    with popover:
        st.selectbox(
            "Grader",
            **widget_options(
                "grader", "Labels are derived from the grades of this grader.", grader_names
            ),
        )
        rules = _rating_rules(project, str(present["grader"]), str(present["rating"]))
        if present["rating"] not in rules:
            st.container(key="no-such-rating").caption(
                f"Rating rule not available: {ui.escape(str(present['rating']))}."
            )
            present["rating"] = st.session_state["rating"] = labels.Policy.rating
        st.selectbox(
            "Rating",
            format_func=lambda rule: RATING_RULES.get(rule, rule),
            accept_new_options=True,
            **widget_options(
                "rating",
                "The rating that the grader wrote, or the expectation over its probabilities."
                " The expectation needs a grader that stored probabilities. Type your own cut"
                " points, such as expected:1,2,3,4,4.8",
                rules,
            ),
        )
        if said := describe_succession(project, str(present["grader"])):
            st.container(key="succeeded-grader").caption(ui.escape(said))
        st.selectbox(
            "Min rating",
            **widget_options(
                "tau",
                "Lowest rating at which a question counts as answered, and lowest label that"
                " counts as relevant in binary measures.",
                MIN_RATINGS,
            ),
        )
        st.selectbox(
            "Label rule",
            format_func=LABEL_RULES.__getitem__,
            **widget_options(
                "label",
                "Derives the relevance label of a passage from its ratings.",
                list(LABEL_RULES),
            ),
        )
        st.checkbox("Weights", **widget_options("weights", "Use the questions' weights."))
        st.number_input(
            "Cutoff",
            1,
            1000,
            **widget_options("cutoff", "EXAM-Cover uses this many top passages per run."),
        )
        st.selectbox(
            "Min judgment",
            **widget_options(
                "relevant",
                "Lowest judgment that counts as relevant in binary measures of the official"
                " leaderboard.",
                MIN_JUDGMENTS,
            ),
        )
    picked = (beside if "measure" in matters else popover).selectbox(
        "Measure",
        accept_new_options=True,
        **widget_options("measure", _measure_help(shares), measures),
    )
    (beside if "against" in matters else popover).selectbox(
        "Official leaderboard",
        format_func=lambda name: "None" if name == NO_BOARD else name,
        **widget_options("against", "From judgments, or imported: compared with yours.", boards),
    )
    # A disabled measure is kept as it is: another screen can show it.
    name = (
        _read_measure(str(picked), offered, DEFAULT_MEASURE, shares)
        if "measure" in matters
        else str(picked)
    )
    view = _chosen_view(project, name)
    words.markdown(f":material/tune: {ui.escape(in_words(project, view))}")
    return view


def _as_parameters(choices: Mapping[Choice, Any]) -> dict[str, str]:
    """Return the choices as address parameters."""
    return {
        choice: str(value).lower() if choice == "weights" else str(value)
        for choice, value in choices.items()
    }


def _reader_of(options: Collection[Any]) -> Callable[[str], Any]:
    """Return a function that returns the option with a text, and raises KeyError without one."""
    return {str(option): option for option in options}.__getitem__


def current_view() -> ViewChoices | None:
    """Return the present choices; None if nothing has been graded."""
    return st.session_state.get("looking")


def current_grader(project: Project) -> types.GraderSpec | None:
    """Return the grader of the present choices; None if nothing has been graded."""
    view_now = current_view()
    return None if view_now is None else bank.find_grader(project, view_now.policy.grader).spec


def require_view() -> ViewChoices:
    """Return the present choices; end the screen if nothing has been graded."""
    if (view_now := current_view()) is None:
        ui.end_empty_screen(
            "No grades yet.",
            "Grade the pool, or import a graded file.",
            "grading",
            code="nothing-graded",
        )
    return view_now


def judged_by(project: Project, *preferred: str | None) -> str | None:
    """Return the judgments to compare with: the first preferred source, else the first source of
    the project; None without judgments.
    """
    known = judgment_sources(project)
    return next((source for source in (*preferred, *known) if source in known), None)


def in_words(project: Project, view: ViewChoices) -> str:
    """Return the choices in words: grader, min rating, label rule, measure, bank version."""
    policy = view.policy
    spec = bank.find_grader(project, policy.grader).spec
    scale = "" if spec.max_rating == types.MAX_RATING else f" of 0–{spec.max_rating}"
    words = [
        spec.name,
        f"min rating {spec.min_rating(policy.min_rating)}{scale}",
        *(
            []
            if policy.rating == labels.Policy.rating
            else [RATING_RULES.get(policy.rating, policy.rating).lower()]
        ),
        LABEL_RULES.get(policy.label, policy.label).lower(),
        *([] if policy.weighted else ["no weights"]),
        *([] if policy.min_judgment == 1 else [f"min judgment {policy.min_judgment}"]),
        view.measure,
        f"bank version {bank.latest_version(project)}",
    ]
    return " · ".join(words)


def describe_succession(
    project: Project, grader: str | None, within: timedelta = timedelta.max
) -> str:
    """Return a sentence if the chosen grader became the default by itself; otherwise an empty text.

    Args:
        within: time after the change for which the sentence is shown.
    """
    change = bank.grader_succession(project)
    if change is None or change.usual != grader or datetime.now() - change.since > within:
        return ""
    return (
        f"Default grader changed from {change.former} to {change.usual} on"
        f" {change.since:%d %B %Y, %H:%M}, when"
        f" {change.usual} had enough grades. To use {change.former} again, press Change and choose"
        " it as the grader."
    )


def choose_queries() -> labels.QueryChoice:
    """Draw the choice of the queries over which two leaderboards are compared, and return it."""
    return st.segmented_control(
        "Queries",
        get_args(labels.QueryChoice),
        default="common",
        key="over-queries",
        required=True,
        bind="query-params",
        help="Queries to compare: those without ungraded pairs in both leaderboards, all queries in"
        " both, or all queries of each leaderboard.",
    )


def choose_ties() -> Ties:
    """Draw the choice of how equal scores are ranked, and return it."""
    return st.segmented_control(
        "Ties",
        get_args(Ties),
        default="average",
        key="ties",
        required=True,
        bind="query-params",
        help=(
            "Average: equal scores share a rank. Random: mean of ten random orders of equal scores."
        ),
    )


def choose_measure(
    label: str,
    cover: bool,
    key: str,
    default: str = DEFAULT_MEASURE,
    shares: bool = False,
) -> str:
    """Draw a choice of the standard measures and return it; other measures of trec_eval can be
    typed.

    Args:
        cover: whether EXAM-Cover is offered.
        shares: whether normalised coverage and similarity to gold texts may be typed as well.
    """
    offered = _offer_measures(cover, default)
    picked = st.selectbox(
        label,
        offered,
        index=offered.index(default),
        key=key,
        bind="query-params",
        accept_new_options=True,
        help=_measure_help(shares),
    )
    return _read_measure(str(picked), offered, default, shares)


def _offer_measures(cover: bool, default: str, gold: bool = False) -> list[str]:
    names = [
        name
        for name, one in MEASURES.items()
        if one.takes_judgments or (cover and one.basis == "intents")
    ]
    by_gold = ["n-EXAM", *SIMILARITIES] if gold else []
    # The default may be a measure that a person typed for another leaderboard, so it is offered
    # too.
    return list(dict.fromkeys([*([COVER] if cover else []), *by_gold, *names, default]))


def _measure_help(shares: bool) -> str:
    gold = (
        ", EXAM-Cover@10/pool, n-EXAM@20, ROUGE-1@20 or chrF@20 (the last three"
        " need gold passages)."
        if shares
        else "."
    )
    return (
        f"Choose a measure or type its name: P@30, nDCG@5{gold} EXAM scores come from the grader's"
        " ratings."
    )


def _read_measure(picked: str, offered: Collection[str], default: str, shares: bool) -> str:
    """Return the standard name of a chosen or typed measure; if it cannot be shown, the default
    with an explanation.
    """
    if picked in offered:
        return picked
    try:
        typed = parse_measure(picked)
    except errors.WorkbenchError as error:
        ui.show_error(error)
        return default
    if not shares and not typed.ranks_passages:
        # It may have been chosen on a screen that can show it.
        st.container(key="other-measure").caption(
            f":material/info: {ui.escape(typed.name)} is not available on this screen, which shows"
            f" {ui.escape(default)}."
        )
        return default
    return typed.name
