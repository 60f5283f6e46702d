"""The questions of one query, edited in place; every change is stored as a draft at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from core import bank
from core.bank import (
    QueryOverview,
    change_draft,
    done,
    drafted_bank,
    duplicated,
    editing,
    moved,
    near_duplicates,
    new_question,
    pasted,
    put_draft,
    put_drafts,
    retired,
    split,
    take_back,
    weighted,
)
from core.errors import WorkbenchError
from core.project import Project
from core.study import QueryDiagnosis, QuestionDiagnosis
from core.types import KINDS, MAX_WEIGHT, Question
from pages.parts.bank import review as bank_review
from pages.parts.bank import window as bank_window
from pages.parts.shared import presses, ui

QUESTIONS_A_PAGE = 12
ROW = (12, 3.1, 2.5, 1.9)
"""Widths of the columns of a question: text, weight, active, more."""

FIELDS = ("text", "weight", "active", "kind", "subtopic_id", "answer_key", "note")
"""What is edited in place."""

DIALOGS = {"Split": ":material/call_split:", "Solo": ":material/filter_1:", "History": ":material/history:"}

FIGURES = """
A weight of 0 keeps a question out of every score; below 0 it marks what a response should not say.

- **answered**: share of the graded pool that answers it at the min rating
- **non-relevant**: share of judged non-relevant passages among the judged ones that answer it
- **only here**: share of the judged relevant passages that answer this question and no other
- **systems**: share of the systems that answer it within the cutoff. Over 80 %: universal, it hardly tells
  systems apart. Under 10 %: hard. Between: discriminative.
"""


def editor(project: Project, query: QueryOverview, diagnosis: QueryDiagnosis | None) -> None:
    """All questions of the open query."""
    questions = drafted_bank(project, ui.person(), query.query_id)
    saved = {q.question_id: q for q in bank.questions(project, query_id=query.query_id)}
    st.subheader(ui.plain(ui.shortened(query.text, ui.HEADING)), anchor=False)
    # What was just added is on top, where the eye is.
    shown = sorted(_filtered(questions), key=lambda question: question.question_id in saved)
    if not questions:
        st.text("This query has no questions yet. Each should ask for one essential piece of information.")
    elif not shown:
        st.caption("No question fits.")
    pages = -(-len(shown) // QUESTIONS_A_PAGE)
    page = st.pagination(pages, key=f"questions page {query.query_id}") if pages > 1 else 1
    if shown:
        header = st.columns(ROW)
        header[0].caption("Question", help=FIGURES)
        header[1].caption("Weight")
        header[2].caption("Active")
    near = near_duplicates(questions) if st.session_state.get("near") else {}
    drawn: dict[str, bank_window.Field] = {}
    for question in shown[(page - 1) * QUESTIONS_A_PAGE : page * QUESTIONS_A_PAGE]:
        figures = diagnosis.questions.get(question.question_id) if diagnosis else None
        before, twin = saved.get(question.question_id), near.get(question.question_id)
        _row(project, question, before, figures, questions, twin, drawn)
    bank_window.show(drawn)
    _tools(project, query.query_id, questions)
    _asked_dialog(project, questions)


def _filtered(questions: list[Question]) -> list[Question]:
    subtopics = list(dict.fromkeys(q.subtopic_id for q in questions if q.subtopic_id))
    if len(questions) < 8 and not subtopics:
        return questions
    find, topic = st.columns([3, 2])
    words = find.text_input("Find", key="find question", placeholder="Find a question", label_visibility="collapsed")
    chosen = None
    if subtopics:
        chosen = topic.selectbox(
            "Subtopic", subtopics, index=None, key="subtopic", placeholder="All subtopics",
            label_visibility="collapsed", bind="query-params",
        )  # fmt: skip
    return [
        q
        for q in questions
        if words.lower() in (q.text or q.question_id).lower() and (chosen is None or q.subtopic_id == chosen)
    ]


def _row(
    project: Project,
    question: Question,
    saved: Question | None,
    figures: QuestionDiagnosis | None,
    questions: list[Question],
    near: tuple[Question, float] | None,
    drawn: dict[str, bank_window.Field],
) -> None:
    here = bank_window.window()

    def widget(field: str) -> dict[str, Any]:
        key = f"{field} {question.question_id}"
        stored = getattr(question, field)
        shown = float(stored) if field == "weight" else "" if stored is None else stored
        # The box shows what is stored: undo, or somebody else, may have changed it since it was typed. What could not
        # be stored stays: nobody else has it.
        if st.session_state.get(key) != shown and key not in here.unstored:
            st.session_state[key] = shown
        # A box that is emptied again leaves words that nobody knows as they are.
        unknown = field == "text" and saved is not None and saved.text is None
        optional = unknown or field in ("subtopic_id", "answer_key", "note")
        drawn[key] = bank_window.Field(project, question, field, stored, shown, optional)
        # Should this run be ended before all is drawn, what is typed into a new box is noticed all the same; and what
        # it shows of this project is not taken for something that was typed into another project's box of the key.
        if key not in here.fields or here.fields[key].project is not project:
            here.fields[key] = drawn[key]
        # The stored value is the default, too: a box that is drawn anew in a page whose first run was cut short
        # would else begin empty, and the browser would send that emptiness as if it had been typed.
        default = {"index": KINDS.index(stored)} if field == "kind" else {"value": shown}
        return {"key": key, "on_change": bank_window.take_in, "disabled": not ui.person(), **default}

    changed = saved != question or (saved is not None and question.position not in (None, saved.position))
    state = "changed" if changed else "saved"
    with st.container(key=f"question-{state}-{question.question_id}"):
        text, weight, active, more = st.columns(ROW, vertical_alignment="center")
        text.text_area(
            "Question",
            height="content",
            label_visibility="collapsed",
            placeholder=(
                "Write the question"
                if question.text is not None
                else f"The words of {question.question_id} are not known: import the bank that has them"
            ),
            **widget("text"),
        )
        # An older project may hold a weight beyond the bounds.
        most = max(MAX_WEIGHT, abs(question.weight))
        weight.number_input(
            "Weight", -most, most, step=0.5, format="%g", label_visibility="collapsed", **widget("weight")
        )
        active.checkbox("Active", label_visibility="collapsed", **widget("active"))
        details = more.popover(
            "", icon=":material/more_vert:", type="tertiary", help="Details, split, history",
            key=f"details {question.question_id}", on_change="rerun",
        )  # fmt: skip
        # Drawn only when it is open: a dozen closed ones would be most of the page.
        if details.open:
            with details:
                st.selectbox("Kind", KINDS, **widget("kind"))
                st.text_input("Subtopic", **widget("subtopic_id"))
                st.text_input("Answer key", **widget("answer_key"))
                st.text_area("Note", height=68, **widget("note"))
                _actions(project, question, saved, questions)
        _unstored(question)
        _crossed(project, question)
        if saved is None and question.answer_key:
            st.markdown(f":small[Started from: {ui.plain(question.answer_key)}]")
        st.markdown(f":small[{_facts(question, saved, figures, changed)}]")
        if near is not None:
            st.caption(f":orange[near-duplicate, {near[1]:.2f}:] {ui.plain(near[0].text or '')}")
        if changed and presses.button(
            "Take back", key=f"back {question.question_id}", type="tertiary", icon=":material/undo:"
        ):
            bank_window.act(project, take_back, [question.question_id])
            st.rerun()


def _unstored(question: Question) -> None:
    """Why what stands in a field could not be stored."""
    waiting = bank_window.window().unstored
    for field in FIELDS:
        if (error := waiting.get(f"{field} {question.question_id}")) is not None:
            st.error(f"**Not stored.** {ui.plain(str(error))}", icon=":material/error:")


def _crossed(project: Project, question: Question) -> None:
    """What was typed over an edit of another window that had not been seen: it waits for a choice."""
    waiting = bank_window.window().crossed
    for field in FIELDS:
        key = f"{field} {question.question_id}"
        if (crossed := waiting.get(key)) is None:
            continue
        with st.container(horizontal=True, vertical_alignment="center"):
            given = "nothing" if crossed.given is None else f"“{crossed.given}”"
            st.caption(
                ":orange[Changed in another window of yours meanwhile; it is shown above.]"
                f" {ui.plain(f'Here you gave {given}.')}"
            )
            if presses.button("Take what I gave here", key=f"take {key}", type="tertiary"):
                del waiting[key]
                bank_window.act(project, change_draft, question, field, crossed.given)
                st.rerun()
            if presses.button("Leave it", key=f"leave {key}", type="tertiary"):
                del waiting[key]
                st.rerun()


def _facts(question: Question, saved: Question | None, figures: QuestionDiagnosis | None, changed: bool) -> str:
    states = [f":orange[{_change(question, saved)}]"] if changed else []
    if saved is not None and saved.text is None:
        states.append(":orange[old words not known: what is written here is a new wording, without their grades]")
    said = [ui.plain(f"subtopic {question.subtopic_id}")] if question.subtopic_id else []
    said += [question.kind] if question.kind != "question" else []
    if figures is not None and question.active:
        if not figures.graded:
            states.append(":orange[not graded]")
        else:
            said += [f"{ui.percent(figures.answered)} answered"]
            said += [f"{ui.percent(figures.non_relevant)} non-relevant"] if figures.non_relevant is not None else []
            said += [f"{ui.percent(figures.only_here)} only here"] if figures.only_here is not None else []
            said += [f"{ui.percent(figures.systems)} of systems, {figures.kind}"] if figures.systems is not None else []
            if figures.graded < 1:
                states.append(f":orange[{ui.percent(figures.graded)} graded]")
    return " · ".join([*states, *([f":gray[{' · '.join(said)}]"] if said else [])])


def _change(question: Question, saved: Question | None) -> str:
    return f"{'new' if saved is None else ', '.join(done(saved, question))}, not saved"


def _actions(project: Project, question: Question, saved: Question | None, questions: list[Question]) -> None:
    def act(label: str, icon: str, change: Callable[[], list[Question]]) -> None:
        if presses.button(label, key=f"{label} {question.question_id}", icon=icon, type="tertiary"):
            bank_window.act(project, put_drafts, change())
            st.rerun()

    act("Duplicate", ":material/content_copy:", lambda: [duplicated(question)])
    act("Move up", ":material/arrow_upward:", lambda: moved(questions, question.question_id, -1))
    act("Move down", ":material/arrow_downward:", lambda: moved(questions, question.question_id, 1))
    for name, icon in DIALOGS.items():
        if name == "History" and saved is None:
            continue
        st.button(
            name,
            key=f"{name.lower()} {question.question_id}",
            icon=icon,
            type="tertiary",
            on_click=_close_and_open,
            args=(name, question.question_id),
        )
    st.caption(f"Id {ui.plain(question.question_id)}")


def _close_and_open(name: str, question_id: str) -> None:
    """Close the menu of a question and ask for a dialog, which opens with the next drawing."""
    st.session_state[f"details {question_id}"] = False
    st.session_state["dialog"] = (name, question_id)


def _asked_dialog(project: Project, questions: list[Question]) -> None:
    name, question_id = st.session_state.pop("dialog", (None, None))
    for question in questions:
        if question.question_id == question_id:
            {"Split": _split, "Solo": bank_review.solo, "History": bank_review.history}[str(name)](project, question)


@st.dialog("Split a question", width="large")
def _split(project: Project, question: Question) -> None:
    st.text(question.shown)
    parts = st.text_area("One question a line", question.text or "", height=140)
    if st.button("Split", type="primary"):
        try:
            bank_window.act(project, put_drafts, split(question, parts.splitlines()))
        except WorkbenchError as error:
            ui.show_error(error)
        else:
            st.rerun()


def _tools(project: Project, query_id: str, questions: list[Question]) -> None:
    with st.container(horizontal=True):
        if presses.button("Add a question", icon=":material/add:", shortcut="Alt+N"):
            bank_window.act(project, put_draft, new_question(query_id))
            st.rerun()
        if presses.button("Paste a list", icon=":material/content_paste:") and ui.author():
            _paste(project, query_id)
        st.toggle(
            "Near-duplicates",
            key="near",
            help="Marks questions that nearly say the same, by the embedding model.",
        )
        if len(questions) > 1 and presses.button("Several at once", icon=":material/checklist:") and ui.author():
            _several(project, questions)


@st.dialog("Paste a list of questions", width="large")
def _paste(project: Project, query_id: str) -> None:
    text = st.text_area("One question a line; bullets and numbers are dropped", height=220)
    found = pasted(query_id, text)
    st.caption(f"{len(found)} questions")
    if st.button("Add them", type="primary", disabled=not found):
        bank_window.act(project, put_drafts, found)
        st.rerun()


@st.dialog("Several questions at once", width="large")
def _several(project: Project, questions: list[Question]) -> None:
    texts = ui.told_apart({q.question_id: q.shown for q in questions})
    every = st.checkbox(f"All {len(questions)} questions of this query")
    chosen = st.multiselect("Questions", list(texts), format_func=texts.__getitem__, disabled=every)
    picked = [q for q in questions if every or q.question_id in chosen]
    none = not picked
    weight, retire, restore = st.columns(3, vertical_alignment="bottom")
    value = weight.number_input("Weight", -MAX_WEIGHT, MAX_WEIGHT, 1.0, step=0.5, format="%g")
    change = None
    if weight.button("Set the weight", disabled=none):
        change = weighted(picked, value)
    if retire.button(f"Retire {len(picked)}", disabled=none):
        change = retired(picked)
    if restore.button(f"Restore {len(picked)}", disabled=none):
        change = retired(picked, active=True)
    words = " ".join(q.text for q in questions if q.question_id in chosen and q.text)
    merged = st.text_area("Merge the chosen ones into one question", words, height=80)
    if st.button("Merge", disabled=len(picked) < 2):
        try:
            change = editing.merged(picked, merged)
        except WorkbenchError as error:
            ui.show_error(error)
    if change is not None:
        bank_window.act(project, put_drafts, change)
        st.rerun()
