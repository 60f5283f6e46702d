"""Rows of the Disagreements screen: pairs in the queue, the two queues about the bank, and the record."""

from __future__ import annotations

import html
from collections.abc import Hashable, Sequence

import streamlit as st

from core.labels import Policy
from core.project import Project, find_source, passage_texts, sources
from core.review import (
    NO_REASON,
    Agreement,
    Check,
    CheckNext,
    Giving,
    Judgments,
    Row,
    Settling,
    Side,
    acts,
    disputes,
    disputes_csv,
    record,
    record_csv,
    strays,
    uncovered,
)
from pages.parts.review import settling as disagreement_settling
from pages.parts.shared import presses, ui
from pages.parts.shared.html import visible

ROWS_A_PAGE = 10
TEXT_LENGTH = 420
QUESTIONS_NAMED = 2
ACTS = {
    "override": "override",
    "edit": "edit of the question",
    "dispute": "dispute of the judgment",
    "comment": "comment",
    "reopen": "case reopened",
}


def pager(name: str, listed: Hashable) -> str:
    """The key of the pager of a list; another list has another one, which begins at its first page.

    Args:
        listed: what is listed.
    """
    if st.session_state.get(f"{name} listed") != listed:
        st.session_state[f"{name} listed"] = listed
        st.session_state[f"{name} lists"] = st.session_state.get(f"{name} lists", 0) + 1
    return f"{name} page {st.session_state[f'{name} lists']}"


def offset(key: str) -> int:
    """Where the page of a list begins."""
    return (int(st.session_state.get(key, 1)) - 1) * ROWS_A_PAGE


def turn(key: str, total: int) -> None:
    """Turn the pages of a list, where there are several."""
    pages = -(-total // ROWS_A_PAGE)
    if pages > 1:
        st.pagination(pages, key=key)


def explain_order(found: CheckNext, by: str, agreed: Agreement) -> None:
    """What `check next` goes by, and how much of it was tried.

    Args:
        by: board or kappa.
    """
    rater = agreed.left if found.side == "left" else agreed.right
    lines = [
        f"What happens to the board by {found.measure} and to the merged kappa if the {rater.noun} gives way,"
        " one pair at a time."
    ]
    if (tried := len(found.checks)) < found.disagreements:
        which = "runs rank highest" if by == "board" else "change kappa most"
        lines.append(f"Tried were the {tried:,} of {found.disagreements:,} disagreements that {which}.")
    st.caption(ui.plain(" ".join(lines)))


def pair(project: Project, left: Side, right: Side, found: Agreement, row: Row, policy: Policy | None) -> None:
    """One pair: both values, the passage, what gave the label, and what can be done."""
    one = row.pair
    key = f"{one.query_id} {one.passage_id} {one.question_id or ''}"
    with st.container(key=f"question-pair-{key}"):
        values, said, buttons = st.columns([1.6, 9.8, 2.2])
        values.html(
            '<div class="pair"><div class="values">'
            + "<br>".join(
                f"{visible(name)}<b>{value}</b>" for name, value in zip(found.names, (one.left, one.right), strict=True)
            )
            + "</div></div>"
        )
        lines = [f'<div class="gray" dir="auto">{visible(one.query_text)}</div>']
        lines.append(_text(one.passage_text, one.passage_id))
        if one.question_text is not None:
            lines.append(f'<div class="from" dir="auto">{visible(one.question_text)}</div>')
        several = bool(row.left_from and row.right_from)
        for name, given in zip(found.names, (row.left_from, row.right_from), strict=True):
            lines += _given(given, f"{visible(name)}: " if several else "")
        if row.check is not None:
            lines.append(_check(row.check, found))
        if row.settling is not None:
            lines.append(_settled(row.settling))
        said.html(f'<div class="pair">{"".join(lines)}</div>')
        with buttons:
            question = one.question_id or next((g.question_id for g in (*row.left_from, *row.right_from)), None)
            _read(one.query_id, one.passage_id, question)
            if row.settling is not None:
                disagreement_settling.reopener(project, row.settling)
            else:
                disagreement_settling.opener(key)
        if row.settling is None and disagreement_settling.is_open(key):
            disagreement_settling.form(project, left, right, row, policy, key)


def _read(query_id: str, passage_id: str, question_id: str | None) -> None:
    more = {} if question_id is None else {"question": question_id}
    ui.go("passages", "Read", query=query_id, passage=passage_id, **more)


def _text(text: str | None, passage_id: str) -> str:
    if text is None:
        return f'<div class="gray">{visible(f"The text of {passage_id} has not been imported.")}</div>'
    return f'<div class="text" dir="auto">{visible(ui.shortened(" ".join(text.split()), TEXT_LENGTH))}</div>'


def _given(given: Sequence[Giving], place: str) -> list[str]:
    lines = [
        f'<div class="from" dir="auto"><span class="gray">{place}label from</span> {visible(one.text)}'
        f" <b>{one.rating}</b></div>"
        for one in given[:QUESTIONS_NAMED]
    ]
    if (more := len(given) - QUESTIONS_NAMED) > 0:
        lines.append(f'<div class="gray">and {more} more question{"s" * (more > 1)}</div>')
    return lines


def _check(check: Check, found: Agreement) -> str:
    noun = found.left.noun if found.left.noun == "label" else found.right.noun
    noun = noun if "label" in (found.left.noun, found.right.noun) else "judgment"
    swaps = "no systems swap" if not check.swaps else f"{check.swaps} swap{'s' * (check.swaps > 1)} of two systems"
    moved = f"{check.moved} system{'s' * (check.moved != 1)} move by {check.shift:.4f} in sum"
    kappa = "kappa undefined" if check.kappa is None else f"kappa {check.kappa:+.5f}" if check.kappa else "same kappa"
    if check.value == check.target:
        return f'<div class="gray">The {noun} stays {check.value}: no value of its scale is nearer.</div>'
    return (
        f'<div class="from"><span class="gray">If the {noun} were {check.target}:</span>'
        f" {html.escape(' · '.join((swaps, moved, kappa)))}</div>"
    )


def _settled(one: Settling) -> str:
    words = f"Settled by {one.author}, {one.made_at:%d %B %Y}: {_act(one)}"
    return f'<div class="from"><b>{visible(words)}</b> <span dir="auto">{visible(one.reason)}</span></div>'


def _act(one: Settling) -> str:
    """What was done, and about what."""
    if one.act == "dispute":
        return f"{ACTS[one.act]}: {one.source} judged {one.value}"
    words = ACTS[one.act] if one.rating is None else f"{ACTS[one.act]} with rating {one.rating}"
    return words if one.touched is None else f"{words}: “{ui.shortened(one.question_text or one.touched, 160)}”"


def _since(one: Settling) -> str:
    """What became of the case after this; nothing where this settles it now, or brought it back."""
    if one.settled or (one.act == "reopen" and one.next_act is None):
        return ""
    if one.act == "override" and one.next_act is None:
        return "Open again: the override was withdrawn."
    words = "Reopened since." if one.next_act == "reopen" else "Settled anew since."
    return f"{words} An override of the question is still in force." if one.in_force else words


def judged_by(left: Side, right: Side, project: Project, policy: Policy | None) -> str | None:
    """The judgments that say what is relevant: those of a side, else the first; None without any, or without grades."""
    if policy is None:
        return None
    chosen = next((side.source for side in (left, right) if isinstance(side, Judgments)), None)
    return find_source(project, chosen) if chosen else next(iter(sources(project)), None)


def stray_list(project: Project, left: Side, right: Side, policy: Policy | None) -> None:
    """Questions that judged non-relevant passages answer."""
    source = judged_by(left, right, project, policy)
    if policy is None or source is None:
        return
    key = pager("strays", (policy, source))
    total, found = strays(project, policy, source, ROWS_A_PAGE, offset(key))
    st.caption(
        ui.plain(
            f"{total:,} questions are answered (rating {policy.min_rating} or more) by passages judged below"
            f" {policy.min_judgment} ({source}). Reword or drop them, or override single ratings."
        )
    )
    texts = passage_texts(project, [passage for one in found for passage in one.passages[:2]])
    for one in found:
        with st.container(key=f"question-stray-{one.question_id}"):
            said, buttons = st.columns([11.4, 2.2])
            examples = "".join(
                f'<div class="text">{visible(ui.shortened(" ".join(texts.get(passage, passage).split()), 200))}</div>'
                for passage in one.passages[:2]
            )
            said.html(
                f'<div class="pair"><div class="gray" dir="auto">{visible(one.query_text)}</div>'
                f'<div dir="auto"><b>{visible(one.text)}</b></div>'
                f'<div class="from">{one.non_relevant:,} non-relevant and {one.relevant:,} relevant passages'
                f" answer it, such as</div>{examples}</div>"
            )
            with buttons:
                _read(one.query_id, one.passages[0], one.question_id)
                _bank_button(f"stray {one.question_id}", "Edit", one.query_id, one.passages[0])
    turn(key, total)


def uncovered_list(project: Project, left: Side, right: Side, policy: Policy | None) -> None:
    """Judged relevant passages that answer no question."""
    source = judged_by(left, right, project, policy)
    if policy is None or source is None:
        return
    key = pager("uncovered", (policy, source))
    total, found = uncovered(project, policy, source, ROWS_A_PAGE, offset(key))
    st.caption(
        ui.plain(
            f"{total:,} passages judged {policy.min_judgment} or more ({source}) were graded and answer no question"
            f" (rating {policy.min_rating} or more). Write a question for what they say."
        )
    )
    for one in found:
        with st.container(key=f"question-uncovered-{one.query_id}-{one.passage_id}"):
            values, said, buttons = st.columns([1.6, 9.8, 2.2])
            values.html(
                f'<div class="pair"><div class="values">judgment<b>{one.judgment}</b><br>best'
                f"<b>{one.best}</b></div></div>"
            )
            said.html(
                f'<div class="pair"><div class="gray" dir="auto">{visible(one.query_text)}</div>'
                f"{_text(one.text, one.passage_id)}</div>"
            )
            with buttons:
                _read(one.query_id, one.passage_id, None)
                _bank_button(f"uncovered {one.query_id} {one.passage_id}", "Add a question", one.query_id,
                             one.passage_id)  # fmt: skip
    turn(key, total)


def _bank_button(key: str, label: str, query_id: str, passage_id: str) -> None:
    if presses.button(label, key=f"bank {key}", type="tertiary", icon=":material/quiz:"):
        disagreement_settling.to_bank(query_id, passage_id)


def record_list(project: Project) -> None:
    """Every act about any disagreement, newest first, and the disputed judgments as a file."""
    total = acts(project)
    if not total:
        st.text("Nobody has settled a disagreement yet. Choose Settle beside one.")
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(f"{total:,} act{'s' * (total != 1)}, newest first")
        st.download_button(
            "Record as CSV", record_csv(project), "settled.csv", "text/csv", on_click="ignore",
            type="tertiary", icon=":material/download:",
        )  # fmt: skip
        disputed = len(disputes(project))
        st.download_button(
            f"Disputed judgments as CSV ({disputed})", disputes_csv(project), "disputes.csv", "text/csv",
            on_click="ignore", type="tertiary", icon=":material/download:", disabled=not disputed,
        )  # fmt: skip
    key = pager("record", project.name)
    found = record(project, ROWS_A_PAGE, offset(key))
    texts = passage_texts(project, [one.case.passage_id for one in found])
    for one in found:
        case = one.case
        with st.container(key=f"question-act-{one.key}"):
            said, buttons = st.columns([11.4, 2.2])
            about = _act(one)
            reason = "" if one.reason == NO_REASON else one.reason
            since = _since(one)
            text = texts.get(case.passage_id, case.passage_id)
            said.html(
                f'<div class="pair"><div class="gray" dir="auto">{visible(one.query_text)}</div>'
                f'<b dir="auto">{visible(about[:1].upper() + about[1:])}</b>'
                f'<div class="from" dir="auto">{visible(reason)}</div>'
                + (f'<div class="from"><i>{visible(since)}</i></div>' if since else "")
                + f'<div class="gray">{visible(one.author)}, {one.made_at:%d %B %Y %H:%M} · {visible(case.left)}:'
                f" {case.left_value} · {visible(case.right)}: {case.right_value}</div>"
                f"{_text(text, case.passage_id)}</div>"
            )
            with buttons:
                _read(case.query_id, case.passage_id, one.touched or case.question_id)
                if one.settled:
                    disagreement_settling.reopener(project, one)
    turn(key, total)
