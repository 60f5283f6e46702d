"""Parts of the Passages screen: overriding ratings, the effect of overrides, and the list of all overrides."""

import streamlit as st

from exam_workbench.catalogue import find_grader
from exam_workbench.errors import WorkbenchError
from exam_workbench.labels import Override, Policy, confirm, override_all, overrides, withdraw, withdraw_all
from exam_workbench.project import Project, passage_texts
from exam_workbench.review import Desk, Effect, label_with, override_labels, ratings_effect
from exam_workbench.types import ANSWERED, MAX_RATING
from pages.parts.review import ratings
from pages.parts.shared import policy_widgets, presses, ui, views
from pages.parts.shared.html import effect_html, override_html

OVERRIDES_A_PAGE = 10
OVERRIDE_LIST = "override list"
WITHDRAWN = "Override withdrawn. The grader's rating counts again."


def questions(
    project: Project, desk: Desk, policy: Policy | None, shown: list[str], hidden: bool
) -> tuple[int | None, int | None] | None:
    """Draw every question with the ratings of graders and people; the one in the URL is open.

    Args:
        hidden: whether only the questions are shown.

    Returns:
        The label before and after the tried ratings; None if no rating is being tried.
    """
    if not desk.asked:
        st.container(key="no-active-question").caption("This query has no active questions.")
        ui.go("question_bank", query=desk.query_id)
        return None
    bench = ratings.bench()
    bench.about((desk.query_id, desk.passage_id))
    foretold = None
    if policy is not None and bench.tried and not hidden:
        foretold = desk.label, label_with(project, policy, desk, bench.tried)
    ratings.ratings(
        desk,
        shown,
        tab=ratings.tab_of(project.name),
        hidden=hidden,
        opened=st.query_params.get("question"),
        can_override=policy is not None and desk.text is not None,
        note="" if policy is None else _about_scale(project, policy),
        foretold=foretold,
        on_act=_note_act,
        on_try=_note_tried,
        on_look=_open_question,
    )
    return foretold


def _about_scale(project: Project, policy: Policy) -> str:
    top = find_grader(project, policy.grader).spec.max_rating
    if top == MAX_RATING:
        return ""
    return (
        f"This grader rates from 0 to {top}. {ANSWERED} and {MAX_RATING} count as {top}; lower ratings are scaled down."
    )


def _note_act() -> None:
    # The run may end at any access to the session state. The component then sends the action again.
    if act := ratings.told("act"):
        ratings.bench().asked = act


def _note_tried() -> None:
    if tried := ratings.told("try"):
        bench = ratings.bench()
        bench.about((str(tried["at"][0]), str(tried["at"][1])))
        bench.tried = ratings.ratings_of(tried["ratings"])


def _open_question() -> None:
    question_id = ratings.told("look")
    if question_id:
        st.query_params["question"] = str(question_id)
    elif question_id is not None:
        st.query_params.pop("question", None)


def act(project: Project) -> None:
    """Do the pending action below the passage once: override, withdraw or confirm."""
    bench = ratings.bench()
    asked = bench.asked
    if asked is None or asked["id"] == bench.handled:
        return
    if not ui.person():
        # The page asks for the name. The typed text stays in the browser and can be sent again.
        bench.handled = asked["id"]
        bench.refused = "no-name", "Your name is not set.", "Enter your name, then try again."
    author = ui.author()
    # The session is not accessed below, so that the run cannot end between the action and its note.
    refused, made = None, None
    try:
        if asked["what"] == "override":
            given = ratings.ratings_of(asked["ratings"])
            made = override_all(project, str(asked["at"][1]), given, str(asked["reason"]), author)
        elif asked["what"] == "confirm":
            confirm(project, int(asked["keys"][0]), author)
        else:
            withdraw_all(project, [int(key) for key in asked["keys"]], author)
    except WorkbenchError as error:
        refused = error.code, error.message, error.hint
    bench.handled, bench.refused = asked["id"], refused
    if refused is not None:
        return
    if asked["what"] == "withdraw":
        st.toast(WITHDRAWN, icon=":material/undo:")
    bench.about((str(asked["at"][0]), str(asked["at"][1])))
    bench.made = made or []
    if made is not None:
        bench.tried = {}


def effect(project: Project, desk: Desk, foretold: tuple[int | None, int | None] | None) -> None:
    """Draw the effect of tried or saved ratings on the label and the leaderboard."""
    bench, view = ratings.bench(), policy_widgets.seen()
    kept: tuple[object, Effect] | None = st.session_state.get("override effect")
    if foretold is None or view is None:
        if bench.made and kept is not None and kept[0] == bench.place:
            st.container(key="effect made").html(
                effect_html(kept[1], "Effect of the overrides" if len(bench.made) > 1 else "Effect of the override")
            )
        return
    counted = {one.question.question_id: one.rating for one in desk.asked if one.counts}
    given = {key: (counted[key], rating) for key, rating in bench.tried.items() if key in counted}
    place = bench.place
    if not given:
        return
    try:
        with st.spinner("Recomputing the scores"):
            found = ratings_effect(project, view.measure, view.policy, desk.passage_id, given, view.against)
    except WorkbenchError as error:
        st.caption(ui.plain(f"The effect on the leaderboard is unknown: {error}"))
        return
    st.session_state["override effect"] = place, found
    st.container(key="effect tried").html(effect_html(found, "Expected effect"))


def override_list(project: Project, policy: Policy | None) -> None:
    """Draw every override with its state and its effect on the passage's label; each row links to its passage."""
    if policy is None:
        return
    known = overrides(project)
    stale = sum(one.stale for one in known)
    title = f"All overrides ({len(known)}" + (f", {stale} stale)" if stale else ")")
    views.stays_folded(OVERRIDE_LIST)
    # The effects are computed only when the list is open.
    with st.expander(title, key=OVERRIDE_LIST, on_change="rerun") as folded:
        if not folded.open:
            return
        if not known:
            st.container(key="no-overrides").caption(
                "No overrides yet. To override a rating, focus a question of a passage and press 0 to 5."
            )
            return
        found = override_labels(project, policy)
        pages = -(-len(found) // OVERRIDES_A_PAGE)
        page = st.pagination(pages, key="overrides page") if pages > 1 else 1
        part = found[(page - 1) * OVERRIDES_A_PAGE : page * OVERRIDES_A_PAGE]
        texts = passage_texts(project, [one.passage_id for one, _, _ in part])
        for one, without, now in part:
            _override_row(project, one, without, now, texts.get(one.passage_id, one.passage_id))


def _override_row(project: Project, one: Override, without: int | None, now: int | None, text: str) -> None:
    said, buttons = st.columns([9, 4], vertical_alignment="center")
    said.html(override_html(one, without, now, ui.shortened(" ".join(text.split()), 140)))
    with buttons.container(horizontal=True, horizontal_alignment="right"):
        if one.stale and presses.button(
            "Confirm", key=f"confirm {one.key}", help="Apply the override to the new wording"
        ):
            confirm(project, one.key, ui.author())
            st.rerun()
        if presses.button("Withdraw", key=f"take back {one.key}", type="tertiary"):
            withdraw(project, one.key, ui.author())
            st.toast(WITHDRAWN, icon=":material/undo:")
            st.rerun()
        st.button(
            "Open",
            key=f"go to {one.key}",
            icon=":material/arrow_forward:",
            on_click=open_passage,
            args=(one.query_id, one.passage_id, one.question_id),
        )


def open_passage(query_id: str, passage_id: str, question_id: str | None = None) -> None:
    """Go to a passage, from a button's callback; the place is in the URL."""
    question = {} if question_id is None else {"question": question_id}
    # In one update, so that Back never stops at a query with a passage of another query.
    st.query_params.update(query=query_id, passage=passage_id, **question)
