"""Further lists of the Disagreements screen: two about the bank, and the record of settlements."""

from collections.abc import Callable

import streamlit as st

from exam_workbench import labels, review
from exam_workbench.records import passage_texts
from exam_workbench.store import Project
from exam_workbench.text import how_many
from pages.parts.review import settling_forms as disagreement_settling
from pages.parts.review.case_acts import act_words
from pages.parts.shared import html, look, presses, ui

ROWS_A_PAGE = 10
TEXT_LENGTH = 420
STYLE = """
.pair { line-height: 1.45; overflow-wrap: anywhere; }
.pair .gray { color: var(--ew-dim); font-size: 0.87rem; }
.pair .from { unicode-bidi: plaintext; font-size: 0.9rem; }
.pair .text { unicode-bidi: plaintext; display: -webkit-box; -webkit-box-orient: vertical;
  -webkit-line-clamp: 3; overflow: hidden; margin: 0.15rem 0; }
.pair .text.example { border-left: 2px solid var(--ew-line); padding-left: 0.6rem;
  font-size: 0.93rem; -webkit-line-clamp: 2; }
"""


def page_offset(key: str) -> int:
    """Return the offset of the present page."""
    return (int(st.session_state.get(key, 1)) - 1) * ROWS_A_PAGE


def _text_html(text: str | None, passage_id: str) -> str:
    if text is None:
        return (
            f'<div class="gray">{html.as_html(f"No text imported for passage {passage_id}.")}</div>'
        )
    return (
        '<div class="text"'
        f' dir="auto">{html.as_html(ui.shorten_text(" ".join(text.split()), TEXT_LENGTH))}</div>'
    )


def _later_history(settling: review.SettlingAction) -> str:
    """Return the later history of a case; empty if this settlement still holds or reopened the
    case.
    """
    if settling.settled or (settling.act == "reopen" and settling.next_act is None):
        return ""
    if settling.act == "override" and settling.next_act is None:
        return "Reopened because the override was withdrawn."
    words = (
        "Reopened later." if settling.next_act == "reopen" else "Reopened and resolved again later."
    )
    return (
        f"{words} The override still replaces the grader's rating." if settling.in_force else words
    )


def stray_list(project: Project, policy: labels.Policy, source: str) -> None:
    """Draw questions that are answered by passages judged non-relevant."""
    # A changed list gets a new pager, which begins at the first page.
    key = f"strays page {hash((policy, source))}"
    total, strays = review.list_strays(project, policy, source, ROWS_A_PAGE, page_offset(key))
    st.container(key="strays").caption(
        ui.escape(
            f"{how_many(total, 'questions')} with rating {labels.basis(project, policy).min_rating}"
            f" or more for passages judged below {policy.min_judgment} ({source}). Reword or retire"
            " a question, or override its rating."
        )
    )
    texts = passage_texts(project, [passage for stray in strays for passage in stray.passages[:2]])
    for stray in strays:
        with st.container(key=f"question-stray-{stray.question_id}"):
            examples = "".join(
                '<div class="text'
                f' example">{html.as_html(ui.shorten_text(" ".join(text.split()), 200))}</div>'
                for text in (texts.get(passage, passage) for passage in stray.passages[:2])
            )
            st.container(key=f"stray {stray.question_id}").html(
                '<div class="pair"><div class="gray"'
                f' dir="auto">{html.as_html(stray.query_text)}</div>'
                f'<div dir="auto"><b>{html.as_html(stray.text)}</b></div>'
                f'<div class="from">Answered by {stray.non_relevant:,} non-relevant and'
                f" {stray.relevant:,}"
                f" relevant passages. Examples:</div>{examples}</div>"
            )
            with st.container(horizontal=True, vertical_alignment="center"):
                ui.draw_link(
                    "passages",
                    "Open passage",
                    query=stray.query_id,
                    passage=stray.passages[0],
                    question=stray.question_id,
                )
                _bank_button(
                    f"stray {stray.question_id}",
                    "Edit question",
                    stray.query_id,
                    stray.passages[0],
                    stray.question_id,
                )
    ui.draw_pager(key, total, ROWS_A_PAGE)


def uncovered_list(project: Project, policy: labels.Policy, source: str) -> None:
    """Draw passages that are judged relevant and answer no question."""
    key = f"uncovered page {hash((policy, source))}"
    total, rows = review.list_uncovered(project, policy, source, ROWS_A_PAGE, page_offset(key))
    st.caption(
        ui.escape(
            f"{how_many(total, 'graded passages')} judged {policy.min_judgment} or more ({source})"
            f" without any rating of {labels.basis(project, policy).min_rating} or more. Add"
            " questions about their content."
        )
    )
    for row in rows:
        with st.container(key=f"question-uncovered-{row.query_id}-{row.passage_id}"):
            values = (
                f"judgment {look.rating_html(row.judgment)} best rating"
                f" {look.rating_html(row.best)}"
            )
            st.html(
                '<div class="pair"><div class="gray"'
                f' dir="auto">{html.as_html(row.query_text)}</div>'
                f'{_text_html(row.text, row.passage_id)}<div class="from">{values}</div></div>'
            )
            with st.container(horizontal=True, vertical_alignment="center"):
                ui.draw_link("passages", "Open passage", query=row.query_id, passage=row.passage_id)
                _bank_button(
                    f"uncovered {row.query_id} {row.passage_id}",
                    "Add question",
                    row.query_id,
                    row.passage_id,
                )
    ui.draw_pager(key, total, ROWS_A_PAGE)


def _bank_button(
    key: str, label: str, query_id: str, passage_id: str, question_id: str | None = None
) -> None:
    if presses.button(label, key=f"bank {key}", type="tertiary", icon=":material/quiz:"):
        disagreement_settling.to_bank(query_id, passage_id, question_id)


def record_list(project: Project, *_: object) -> None:
    """Draw every action about a disagreement, newest first, and downloads, including the disputed
    judgments.
    """
    total = review.count_actions(project)
    if not total:
        st.container(key="nothing-settled").text(
            "No resolved disagreements yet. To resolve one, choose Disagreements above."
        )
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(f"Actions, newest first: {total:,}")
        st.download_button(
            "Export record as CSV",
            review.record_csv(project),
            "settled.csv",
            "text/csv",
            on_click="ignore",
            key="record",
            type="tertiary",
            icon=":material/download:",
        )
        disputed = len(review.list_disputes(project))
        st.download_button(
            f"Export disputed judgments as CSV ({disputed})",
            review.disputes_csv(project),
            "disputes.csv",
            "text/csv",
            on_click="ignore",
            type="tertiary",
            icon=":material/download:",
            disabled=not disputed,
            key="disputed",
        )
    key = f"record page {project.name}"
    settlings = review.list_settlings(project, ROWS_A_PAGE, page_offset(key))
    texts = passage_texts(project, [settling.case.passage_id for settling in settlings])
    for settling in settlings:
        case = settling.case
        with st.container(key=f"question-act-{settling.key}-{settling.act}"):
            about = act_words(settling)
            reason = "" if settling.reason == review.NO_REASON else settling.reason
            since = _later_history(settling)
            text = texts.get(case.passage_id, case.passage_id)
            st.html(
                '<div class="pair"><div class="gray"'
                f' dir="auto">{html.as_html(settling.query_text)}</div>'
                f'<b dir="auto">{html.as_html(about[:1].upper() + about[1:])}</b>'
                f'<div class="from" dir="auto">{html.as_html(reason)}</div>'
                + (f'<div class="from"><i>{html.as_html(since)}</i></div>' if since else "")
                + f'<div class="gray">{html.as_html(settling.author)},'
                f" {settling.made_at:%d %B %Y %H:%M} ·"
                f" {html.as_html(case.left)}: {case.left_value} · {html.as_html(case.right)}:"
                f" {case.right_value}</div>"
                f"{_text_html(text, case.passage_id)}</div>"
            )
            with st.container(horizontal=True, vertical_alignment="center"):
                ui.draw_link(
                    "passages",
                    "Open passage",
                    query=case.query_id,
                    passage=case.passage_id,
                    question=settling.touched or case.question_id,
                )
                if settling.settled:
                    disagreement_settling.draw_reopener(project, settling)
    ui.draw_pager(key, total, ROWS_A_PAGE)


LISTS: dict[str, Callable[..., None]] = {
    "strays": stray_list,
    "uncovered": uncovered_list,
    "record": record_list,
}
"""Functions that draw the lists, by their name in the address."""
