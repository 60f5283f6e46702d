"""Changes: compare two states of labels, questions and leaderboards, with causes; or two snapshots
of a live target.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from exam_workbench import answers, bank, labels, review, types
from exam_workbench.store import Project
from pages.parts.review import change_views, flips
from pages.parts.shared import address, html, scoring_settings, streamlit_bridge, ui

SIDES = {"from": "Before", "to": "After"}
# A wide window always shows the choices of the states; a narrow one shows them on demand.
STYLE = """
@media (min-width: 1200px) { .st-key-from-state, .st-key-to-state { display: none; } }
@media (max-width: 1199px) { .st-key-from-choices, .st-key-to-choices { display: none; }
  [class*="-choices-opened"] > :first-child > * > * { flex-basis: 100%; } }
.st-key-from-head, .st-key-to-head { flex-wrap: nowrap; align-items: flex-start; gap: 0.6rem; }
.st-key-from-head > :first-child, .st-key-to-head > :first-child { flex: 1; min-width: 0; }
"""
KINDS = {"states": "Question bank and scoring settings", "freezes": "Snapshots of a live target"}
VIEWS = {
    "Labels": flips.draw_labels,
    "Questions": change_views.draw_questions,
    "Leaderboard": change_views.draw_boards,
}


def default_states(project: Project) -> dict[str, labels.Policy]:
    """Return the states before and after the newest bank version.

    If only one version exists, return it without and with overrides.
    """
    policy, newest = scoring_settings.chosen_policy(project), bank.latest_version(project)
    if newest < 2:
        return {"from": replace(policy, overrides=not labels.find_overrides(project)), "to": policy}
    return {"from": replace(policy, bank_version=newest - 1), "to": policy}


def state_options(project: Project) -> dict[str, list[Any]]:
    """Return the options for each part of a state."""
    return {
        "version": [version.version for version in bank.list_versions(project)] + [0],
        "grader": [grader.spec.name for grader in bank.label_graders(project) if grader.grades],
        "tau": list(range(1, types.MAX_RATING + 1)),
        "label": list(scoring_settings.LABEL_RULES),
        "weights": [True, False],
        "overrides": [True, False],
    }


def read_state(project: Project, side: str, default: labels.Policy, anew: bool) -> labels.Policy:
    """Return the state that the widgets or the address name.

    Args:
        anew: whether to set the widgets from the address.
    """
    # By default, the first option of a version is the newest one.
    parts: dict[str, Any] = {
        flips.FIELDS[name]: read_choice(
            f"{side}-{name}", known, getattr(default, flips.FIELDS[name]), anew
        )
        for name, known in state_options(project).items()
    }
    return replace(default, **parts)


def read_choice(key: str, known: Sequence[Any], default: Any, anew: bool) -> Any:
    """Return the value of a widget, set from the address if that is new or the value is unknown."""
    if anew or st.session_state.get(key) not in known:
        named = {_in_address(option): option for option in known}
        usual = default if default in known else known[0]
        st.session_state[key] = named.get(flips.address_places().part_of_place(key), usual)
    return st.session_state[key]


def _in_address(value: Any) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def draw_state(project: Project, side: str, state: labels.Policy, other: labels.Policy) -> None:
    """Draw how one state differs from the other, and the widgets that choose it."""
    versions = {version.version: version for version in bank.list_versions(project)}

    def version_name(version: int) -> str:
        if version == 0:
            return "0: before the first version"
        saved = versions[version]
        return (
            f"{version}: {ui.shorten_text(saved.note, 60)} ({saved.author},"
            f" {saved.saved_at:%d %b %Y})"
        )

    min_rating = labels.basis(project, state).min_rating
    words = [
        (
            f"Bank version {version_name(state.bank_version or 0)}",
            state.bank_version != other.bank_version,
        ),
        (str(state.grader), state.grader != other.grader),
        (f"min rating {min_rating}", state.min_rating != other.min_rating),
        (
            scoring_settings.LABEL_RULES.get(state.label, state.label).lower(),
            state.label != other.label,
        ),
        ("with weights" if state.weighted else "without weights", state.weighted != other.weighted),
        (
            "with overrides" if state.overrides else "without overrides",
            state.overrides != other.overrides,
        ),
    ]
    differing = " · ".join(
        f'<b style="color: var(--ew-changed)">{html.as_html(part)}</b>'
        for part, differs in words
        if differs
    )
    options = state_options(project)
    with st.container(border=True, height="stretch", gap="xsmall"):
        with st.container(
            horizontal=True,
            vertical_alignment="center",
            horizontal_alignment="distribute",
            key=f"{side}-head",
        ):
            st.container(key=f"state {side}").html(
                f"<b>{SIDES[side]}</b>&ensp;{differing or 'No differences.'}"
            )
            opened = st.toggle("Settings", key=f"{side}-state", width="content")
        # Always drawn, so that choices survive a change of the window's width.
        with st.container(key=f"{side}-choices{'-opened' * opened}", gap="xsmall"):
            with st.container(horizontal=True):
                st.selectbox(
                    "Bank version",
                    options["version"],
                    key=f"{side}-version",
                    format_func=version_name,
                )
                st.selectbox("Grader", options["grader"], key=f"{side}-grader")
            with st.container(horizontal=True, vertical_alignment="bottom"):
                st.selectbox("Min rating", options["tau"], key=f"{side}-tau", width=95)
                st.selectbox(
                    "Label rule",
                    options["label"],
                    key=f"{side}-label",
                    format_func=scoring_settings.LABEL_RULES.__getitem__,
                )
                st.checkbox("Weights", key=f"{side}-weights", width="content")
                st.checkbox("Overrides", key=f"{side}-overrides", width="content")


def apply_address(project: Project) -> bool:
    """Apply the address, or the last place if a person returns from another screen by a link that
    names none.

    Returns:
        Whether the widgets must be set again.
    """
    here, back = flips.address_places(), streamlit_bridge.went_back()
    # On the way to a passage, the browser records this screen with the address of the passage.
    returns = address.is_new_screen() and (back or "passage" in st.query_params)
    if returns and here.home == project.name and not here.address_place:
        return True
    if address.is_new_screen():
        here.been.clear()
    return here.apply_address(project.name)


def name_states(states: Mapping[str, labels.Policy], view: str) -> None:
    """Write both states and the view into the address in one step, since each change of it is a
    step for Back.
    """
    here = flips.address_places()
    named = {
        f"{side}-{name}": _in_address(getattr(policy, field))
        for side, policy in states.items()
        for name, field in flips.FIELDS.items()
    } | {flips.VIEW: view}
    if address.is_new_screen():
        address.begin_at(**here.set(**here.present_place | named), query="", passage="")
    else:
        here.change_parts(**named)


def draw_summary(project: Project, changes: review.StateChanges, against: str | None) -> None:
    """Draw the size of the difference: four numbers and a sentence."""
    changed_flips = [flip for flip in changes.flips if None not in (flip.before, flip.after)]
    higher = sum((flip.after or 0) > (flip.before or 0) for flip in changed_flips)
    shift = changes.shift
    share = f"{len(changes.flips) / changes.compared:.1%}" if changes.compared else "none"
    ranks = sum(system.rank_before != system.rank_after for system in changes.systems)
    moved = "–" if changes.no_board else f"{ranks} of {len(changes.systems)}"
    correlation: ui.Fact = ("", "Spearman", "–", None)
    interval = ""
    if shift is not None and shift.before is not None and shift.after is not None:
        change = ui.as_change(shift.before, shift.after)
        title = f"Spearman with {ui.escape(against or '')}"
        correlation = ("", title, f"{shift.before:.3f} → {shift.after:.3f}", None, change)
    if shift is not None and shift.low is not None and shift.high is not None:
        interval = (
            f"95% interval of the change in correlation: {shift.low:+z.3f} to {shift.high:+z.3f}. "
        )
    ui.draw_metrics(
        (
            "differing",
            "Changed labels",
            f"{len(changes.flips):,}",
            f"{share} of {changes.compared:,} pooled passages",
        ),
        (
            "",
            "Higher / lower",
            f"{higher:,} / {len(changed_flips) - higher:,}",
            "New and removed labels are not counted",
        ),
        ("", "Systems with a changed rank", moved, None),
        correlation,
        key="sums",
        width="content",
    )
    lines = [
        "" if shift is None else f"{interval}{shift.says} {shift.queries.description}",
        changes.no_board or "",
        f"The min rating changes no labels. Passages with changed relevance: {changes.relevance:,}."
        * (changes.before.min_rating != changes.after.min_rating),
    ]
    st.container(key="about-change").caption(ui.escape(" ".join(filter(None, lines))))
    if any(changes.partial):
        states = zip(changes.partial, SIDES.values(), (changes.before, changes.after), strict=True)
        lacking = {
            state.bank_version: f"{count:,} {side.lower()}"
            for count, side, state in states
            if count
        }
        note = (
            ":material/info: Labels with missing ratings, which may still change:"
            f" {' and '.join(lacking.values())}."
        )
        if bank.latest_version(project) in lacking:
            ui.draw_note(note, "grading", "Grade ungraded pairs", "partial-labels")
        else:
            # The screen grades only for the newest version.
            st.container(key="partial-labels").caption(note)
            st.container(key="grade-older-version").caption(
                f"To grade them, run `exam grade --bank-version {min(lacking)}`"
            )


project = ui.require_project(STYLE)
if len(frozen := answers.frozen_runs(project)) > 1:
    # Old links have the former name of the view.
    old = st.query_params.get("compared") == "Two freezes of a target"
    linked = "freezes" if old or "freeze-to" in st.query_params else "states"
    compared = st.segmented_control(
        "Compare",
        list(KINDS),
        default=linked,
        key="compared",
        required=True,
        bind="query-params",
        format_func=KINDS.__getitem__,
        label_visibility="collapsed",
    )
    if compared == "freezes":
        with ui.errors():
            change_views.draw_snapshots(project, frozen)
        st.stop()
looking = scoring_settings.require_view()
start = default_states(project)
anew = apply_address(project)
before, after = (read_state(project, side, start[side], anew) for side in SIDES)
left, right = st.columns(2)
with left:
    draw_state(project, "from", before, after)
with right:
    draw_state(project, "to", after, before)
view = str(read_choice(flips.VIEW, list(VIEWS), "Labels", anew))
name_states({"from": before, "to": after}, view)
measure, against = looking.measure, looking.against
ui.require_content(
    before != after,
    "Before and After are the same.",
    "Change a setting on one side. To create a new bank version, save in the question bank.",
    "question_bank",
    code="same-states",
)
with st.spinner("Comparing the two states"):
    found = review.state_changes(project, before, after, measure, against)
draw_summary(project, found, against)
with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
    st.segmented_control(
        "View", list(VIEWS), key=flips.VIEW, required=True, label_visibility="collapsed"
    )
    st.download_button(
        "Export changed labels as CSV",
        lambda: review.flips_csv(project, found),
        file_name=f"{project.name}-changes.csv",
        mime="text/csv",
        icon=":material/download:",
        type="tertiary",
        on_click="ignore",
        disabled=not found.flips,
        key="differing labels",
    )
VIEWS[view](project, found)
