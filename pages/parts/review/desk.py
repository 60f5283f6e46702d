"""Parts of the Passages screen: the questions, a closer look at one, overriding it, the list of overrides."""

from __future__ import annotations

import streamlit as st

from core.catalogue import find_grader
from core.errors import WorkbenchError
from core.labels import Override, Policy, confirm, override, withdraw
from core.project import Project, official_sources, passage_texts
from core.review import AskedQuestion, Desk, Effect, label_if, override_labels, rating_effect
from core.types import ANSWERED, MAX_RATING, RATINGS
from pages.parts.shared import presses, ui
from pages.parts.shared.html import question_html, visible

MEASURE = "nDCG@10"
MOVERS_SHOWN = 5
OVERRIDES_A_PAGE = 10


def questions(
    project: Project, desk: Desk, policy: Policy | None, shown: list[str], hidden: bool, measure_against: str | None
) -> None:
    """Every question with what graders and people say; the one that the URL names is open.

    Args:
        hidden: whether nothing but the questions is shown.
        measure_against: the official board that an override's effect is measured with.
    """
    if not desk.asked:
        st.caption("This query has no active question.")
        ui.go("question_bank", query=desk.query_id)
    opened = st.query_params.get("question")
    for one in desk.asked:
        is_open = opened == one.question.question_id
        with st.container(key=f"question-desk-{one.number}"):
            row, more = st.columns([12, 1.3])
            row.html(question_html(one, shown, hidden))
            if hidden:
                continue
            more.button(
                "",
                icon=":material/expand_less:" if is_open else ":material/expand_more:",
                key=f"open {one.number}",
                type="tertiary",
                help="Close" if is_open else "Raw output, and overriding the rating",
                on_click=_open_question,
                args=(None if is_open else one.question.question_id,),
            )
            if is_open:
                _closer(project, desk, policy, one, measure_against)


def _open_question(question_id: str | None) -> None:
    if question_id is None:
        st.query_params.pop("question", None)
    else:
        st.query_params["question"] = question_id


def _closer(
    project: Project, desk: Desk, policy: Policy | None, one: AskedQuestion, measure_against: str | None
) -> None:
    with st.container(border=True):
        for grader, said in one.said.items():
            if said.distribution:
                chances = " · ".join(f"{rating}: {p:.0%}" for rating, p in enumerate(said.distribution))
                st.caption(ui.plain(f"Probability of each rating ({grader}): {chances}"))
            if said.raw:
                st.caption(ui.plain(f"What {grader} wrote"))
                st.code(said.raw, language=None, wrap_lines=True)
        if not any(said.raw for said in one.said.values()):
            st.caption("No raw output is kept of these grades.")
        ui.go("question_bank", "The question in the bank", query=desk.query_id)
        if one.number == 0:
            st.caption("This grader is asked about the query, not about a question: an override has no place here.")
            return
        if one.override is not None:
            _withdraw(project, one.override)
        if policy is not None and desk.text is not None:
            _override(project, desk, policy, one, measure_against)


def _withdraw(project: Project, given: Override) -> None:
    st.caption(
        ui.plain(f"Overridden to {given.rating} by {given.author}, {given.made_at:%d %B %Y %H:%M}: {given.reason}")
    )
    if presses.button("Withdraw the override", key=f"withdraw {given.key}", icon=":material/undo:"):
        withdraw(project, given.key, ui.author())
        st.session_state.pop("override effect", None)
        st.rerun()


def _override(project: Project, desk: Desk, policy: Policy, one: AskedQuestion, against: str | None) -> None:
    # With every override the form begins anew.
    key = f"{one.question.question_id} {desk.passage_id} {one.override.key if one.override else 0}"
    done: tuple[int, Effect] | None = st.session_state.get("override effect")
    if done is not None and one.override is not None and done[0] == one.override.key:
        st.markdown("**What the override did**")
        _label_line(done[1].label_before, done[1].label_after)
        _board_lines(done[1])
    rating = st.segmented_control("Override with", list(RATINGS), key=f"rating {key}", width="stretch")
    if (top := find_grader(project, policy.grader).spec.max_rating) < MAX_RATING:
        st.caption(f"This grader rates 0 to {top}: {ANSWERED} and {MAX_RATING} count as {top}, less in proportion.")
    reason = st.text_input("Reason", key=f"reason {key}", placeholder="Why the rating is wrong")
    effect = None
    if rating is not None and rating != one.rating and one.counts:
        _label_line(desk.label, label_if(project, policy, desk, one.question.question_id, int(rating)))
        try:
            with st.spinner("Scoring the systems again"):
                effect = _effect(project, policy, desk, one, int(rating), against)
        except WorkbenchError as error:
            st.caption(ui.plain(f"Its effect on the leaderboard is unknown: {error}"))
        else:
            _board_lines(effect)
    elif rating is not None and not one.counts:
        st.caption("The policy's grader is not asked this question: an override does not count for its labels.")
    if presses.button("Override", key=f"override {key}", type="primary", disabled=rating is None):
        try:
            made = override(project, one.question.question_id, desk.passage_id, int(rating or 0), reason, ui.author())
        except WorkbenchError as error:
            ui.show_error(error)
            return
        st.session_state["override effect"] = None if effect is None else (made, effect)
        st.toast("The override counts.", icon=":material/gavel:")
        st.rerun()


def _effect(
    project: Project, policy: Policy, desk: Desk, one: AskedQuestion, rating: int, against: str | None
) -> Effect:
    return rating_effect(
        project,
        str(st.session_state.get("measure") or MEASURE),
        policy,
        one.question.question_id,
        desk.passage_id,
        (one.rating, rating),
        against,
    )


def _label_line(before: int | None, after: int | None) -> None:
    if before == after:
        st.markdown(f"The label stays {_label(before)}.")
    else:
        st.markdown(f":violet[**Label {_label(before)} → {_label(after)}**]")


def _label(value: int | None) -> str:
    return "none" if value is None else str(value)


def _board_lines(effect: Effect) -> None:
    measure = effect.after.measure
    if not effect.systems:
        lines = [f"No system's {measure} changes."]
    else:
        jumped = sum(s.rank_before != s.rank_after for s in effect.systems)
        moves = "No system changes its rank" if not jumped else f"{jumped} change{'s' * (jumped == 1)} rank"
        lines = [f"{moves}, {len(effect.systems)} of {len(effect.after.systems)} change {measure}:"]
        rest = len(effect.systems) - MOVERS_SHOWN
        for s in effect.systems[:MOVERS_SHOWN]:
            rank = f"{s.rank_before} → {s.rank_after}" if s.rank_before != s.rank_after else str(s.rank_after)
            scores = f"{ui.number(s.score_before, 4)} → {ui.number(s.score_after, 4)}"
            lines.append(f"{s.run}: {scores}, rank {rank}")
        if rest > 0:
            lines.append(f"and {rest} more")
    if effect.shift is not None:
        shift = effect.shift
        if shift.before is None or shift.after is None:
            lines.append(f"Correlation with the official board: undefined. {shift.says} {shift.queries.says}")
        else:
            moved = f"{shift.before:.3f} → {shift.after:.3f}"
            lines.append(f"Spearman with the official board {moved}. {shift.says} {shift.queries.says}")
    st.caption(ui.plain("\n".join(lines)))


def override_list(project: Project, policy: Policy | None) -> None:
    """Every override with its state and what it does to its passage's label; each row opens its passage."""
    if policy is None:
        return
    found = override_labels(project, policy)
    stale = sum(one.stale for one, _, _ in found)
    title = f"Overrides ({len(found)}" + (f", {stale} stale)" if stale else ")")
    with st.expander(title):
        if not found:
            st.caption("Nobody has overridden a rating. Open a question of a passage to do so.")
            return
        pages = -(-len(found) // OVERRIDES_A_PAGE)
        page = st.pagination(pages, key="overrides page") if pages > 1 else 1
        part = found[(page - 1) * OVERRIDES_A_PAGE : page * OVERRIDES_A_PAGE]
        texts = passage_texts(project, [one.passage_id for one, _, _ in part])
        for one, without, now in part:
            _override_row(project, one, without, now, texts.get(one.passage_id, one.passage_id))


def _override_row(project: Project, one: Override, without: int | None, now: int | None, text: str) -> None:
    said, buttons = st.columns([9, 4], vertical_alignment="center")
    state = '<span class="stale">stale</span>' if one.stale else "current"
    label = f"label {_label(without)} → {_label(now)}" if without != now else f"label {_label(now)} either way"
    said.html(
        f'<div class="asked"><b>{one.rating}</b> <span class="words">{visible(one.wording_now)}</span>'
        f'<div class="answer">{visible(ui.shortened(" ".join(text.split()), 140))}</div>'
        f'<span class="gray">{state} · {label} · by {visible(one.author)}, {one.made_at:%d %B %Y}:'
        f" {visible(one.reason)}</span></div>"
    )
    with buttons.container(horizontal=True, horizontal_alignment="right"):
        if one.stale and presses.button("Confirm", key=f"confirm {one.key}", help="Let it count for the new wording"):
            confirm(project, one.key, ui.author())
            st.rerun()
        if presses.button("Withdraw", key=f"take back {one.key}", type="tertiary"):
            withdraw(project, one.key, ui.author())
            st.rerun()
        st.button(
            "Open",
            key=f"go to {one.key}",
            icon=":material/arrow_forward:",
            on_click=open_passage,
            args=(one.query_id, one.passage_id, one.question_id),
        )


def open_passage(query_id: str, passage_id: str, question_id: str | None = None) -> None:
    """Go to a passage, as what a button does; the place is in the URL."""
    question = {} if question_id is None else {"question": question_id}
    # At once, so that it is one step for the browser: Back never stops between a query and a passage of another.
    st.query_params.update(query=query_id, passage=passage_id, **question)
    st.session_state.pop("override effect", None)


def official(project: Project) -> str | None:
    """The official board that the other screens compare with, else the first that there is."""
    known = official_sources(project)
    chosen = st.session_state.get("against")
    return chosen if chosen in known else next(iter(known), None)
