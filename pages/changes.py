"""Changes: any two states side by side, what differs in labels, questions and boards, and what did it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

from core import bank, labels
from core.bank import latest_version
from core.catalogue import graders
from core.labels import Policy
from core.project import Project
from core.review import StateChanges, flips_csv, state_changes
from core.types import MAX_RATING
from pages.parts.review import changes as change_views
from pages.parts.shared import policy_widgets, ui

SIDES = {"from": "Before", "to": "After"}
YES, NO = "yes", "no"
VIEWS = {"labels": change_views.labels, "questions": change_views.questions, "leaderboard": change_views.boards}


def defaults(project: Project) -> dict[str, Policy]:
    """The two newest bank versions; with one version only, that one without and with overrides."""
    policy = policy_widgets.chosen(project)
    newest = latest_version(project)
    if newest < 2:
        plain = Policy(**(policy.as_dict() | {"overrides": not labels.overrides(project)}))
        return {"from": plain, "to": policy}
    return {"from": Policy(**(policy.as_dict() | {"bank_version": newest - 1})), "to": policy}


def state(project: Project, side: str, default: Policy) -> Policy:
    """The widgets of one state."""
    versions = {version.version: version for version in bank.versions(project)}
    known = [grader.spec.name for grader in graders(project) if grader.grades]

    def version_name(version: int) -> str:
        if version == 0:
            return "0: before the first version"
        saved = versions[version]
        return f"{version}: {ui.shortened(saved.note, 60)} ({saved.author}, {saved.saved_at:%d %b %Y})"

    with st.container(border=True):
        st.markdown(f"**{SIDES[side]}**")
        newest = latest_version(project)
        which, who = st.columns([3, 2])
        with which:
            version = _select(
                "Bank version", [*versions, 0], f"{side}-version", default.bank_version or newest, int, version_name
            )
        with who:
            grader = _select("Grader", known, f"{side}-grader", default.grader or known[0], str)
        tau, rule, checks = st.columns([2, 3, 4], vertical_alignment="bottom")
        with tau:
            min_rating = _select("Min rating", list(range(1, MAX_RATING + 1)), f"{side}-tau", default.min_rating, int)
        with rule:
            rules = list(policy_widgets.LABEL_RULES)
            label = _select("Label", rules, f"{side}-label", default.label, str, policy_widgets.LABEL_RULES.__getitem__)
        with checks.container(horizontal=True):
            weighted = _check("Weights", f"{side}-weights", default.weighted)
            counting = _check("Overrides", f"{side}-overrides", default.overrides)
    return Policy(
        grader=grader,
        bank_version=version,
        min_rating=min_rating,
        cutoff=default.cutoff,
        label=label,
        weighted=weighted,
        skipped=default.skipped,
        min_judgment=default.min_judgment,
        overrides=counting,
    )


def _select(
    label: str,
    options: Sequence[Any],
    key: str,
    default: Any,
    read: Callable[[str], Any],
    format_func: Callable[[Any], str] = str,
) -> Any:
    given = _given(key)
    if given is not None or st.session_state.get(key) not in options:
        wanted = [option for option in options if given == str(option)]
        st.session_state[key] = read(str(wanted[0] if wanted else default))
    return st.selectbox(label, options, key=key, format_func=format_func)


def _check(label: str, key: str, default: bool) -> bool:
    if (given := _given(key)) is not None or key not in st.session_state:
        st.session_state[key] = default if given is None else given == YES
    return st.checkbox(label, key=key)


def _given(key: str) -> str | None:
    """What the address says of a widget where it is another one than before, after a link or a step back; else None."""
    given = st.query_params.get(key)
    return given if given != st.session_state.get("address of the states", {}).get(key) else None


def name_states(states: Mapping[str, Policy]) -> None:
    """Write both states into the address, at once: each change of it is a step for Back."""
    address = {
        f"{side}-{name}": value
        for side, policy in states.items()
        for name, value in {
            "version": str(policy.bank_version),
            "grader": str(policy.grader),
            "tau": str(policy.min_rating),
            "label": policy.label,
            "weights": YES if policy.weighted else NO,
            "overrides": YES if policy.overrides else NO,
        }.items()
    }
    if any(st.query_params.get(key) != value for key, value in address.items()):
        st.query_params.update(address)
    st.session_state["address of the states"] = address


def summary(found: StateChanges, against: str | None) -> None:
    """How much differs, in four numbers and a sentence."""
    flips, moved, up, shifted = st.columns(4)
    share = f"{len(found.flips) / found.compared:.1%}" if found.compared else "none"
    flips.metric("Labels that differ", f"{len(found.flips):,}", help=f"{share} of {found.compared:,} pooled passages")
    higher = sum(
        (flip.after or -1) > (flip.before or -1) for flip in found.flips if None not in (flip.before, flip.after)
    )
    lower = sum((flip.after or 0) < (flip.before or 0) for flip in found.flips if None not in (flip.before, flip.after))
    up.metric("Higher / lower", f"{higher:,} / {lower:,}", help="Labels gained or lost altogether are in neither")
    if found.no_board:
        moved.metric("Systems that change rank", "–")
    else:
        ranks = sum(system.rank_before != system.rank_after for system in found.systems)
        moved.metric("Systems that change rank", f"{ranks} of {len(found.systems)}")
    shift = found.shift
    if shift is not None and shift.before is not None and shift.after is not None:
        difference = shift.after - shift.before
        shifted.metric(
            f"Spearman with {ui.plain(against or '')}",
            f"{shift.before:.3f} → {shift.after:.3f}",
            delta=f"{difference:+.3f}" if abs(difference) >= 0.0005 else None,
            delta_color="off",
        )
    else:
        shifted.metric("Spearman", "–")
    lines = [f"Different: {', '.join(found.differing)}."] if found.differing else []
    if shift is not None:
        interval = ""
        if shift.low is not None and shift.high is not None:
            interval = f"95 % interval of the shift in correlation: {shift.low:+.3f} to {shift.high:+.3f}. "
        lines.append(f"{interval}{shift.says} {shift.queries.says}")
    if found.no_board:
        lines.append(found.no_board)
    if found.before.min_rating != found.after.min_rating:
        lines.append(
            f"The min rating moves no label; by it, {found.relevance:,} passages turn relevant or cease to be."
        )
    st.caption(ui.plain(" ".join(lines)))


ui.begin()
project = ui.project()
if not any(grader.grades for grader in graders(project)):
    ui.empty("Nothing has been graded yet.", "Grade the pool, or import a graded file.", "grading")
looking = policy_widgets.view()
start = defaults(project)
left, right = st.columns(2)
with left:
    before = state(project, "from", start["from"])
with right:
    after = state(project, "to", start["to"])
name_states({"from": before, "to": after})
measure, against = looking.measure, looking.against
if before == after:
    ui.empty(
        "The two states are the same.",
        "Choose another bank version, grader, label rule, min rating, weights or overrides on one side. A new bank"
        " version is made by saving in the question bank.",
        "question_bank",
    )
with st.spinner("Comparing the two states"):
    found = state_changes(project, before, after, measure, against)
with st.container(horizontal=True, horizontal_alignment="right"):
    st.download_button(
        "Labels that differ as CSV",
        lambda: flips_csv(project, found),
        file_name=f"{project.name}-changes.csv",
        mime="text/csv",
        icon=":material/download:",
        on_click="ignore",
        disabled=not found.flips,
    )
summary(found, against)
view = st.segmented_control(
    "Look at", list(VIEWS), default="labels", key="differs", required=True, format_func=str.capitalize,
    bind="query-params", label_visibility="collapsed",
)  # fmt: skip
VIEWS[str(view)](project, found)
