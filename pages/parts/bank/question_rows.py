"""The questions of one query, edited in place; every change is stored as a draft at once."""

from typing import Any

import streamlit as st

from exam_workbench import bank, study, types
from exam_workbench.records import hidden_questions
from exam_workbench.store import Project
from exam_workbench.text import how_many
from pages.parts.bank import bank_panels as bank_review, editing_window as bank_window
from pages.parts.shared import address, components, presses, ui

LIST = "questions"
"""Key of the component with the questions."""
SEALED = {"text": "Sealed question", "lost": False, "twin": "hidden until an organizer opens it"}
"""Data of a sealed question, for people who did not write it."""


def draw_editor(
    project: Project,
    query: bank.QueryOverview,
    diagnosis: study.QueryDiagnosis | None,
    place: dict[str, Any],
    whole: str | None = None,
) -> None:
    """Draw all questions of the open query.

    Args:
        diagnosis: statistics of the questions; None if no grader has answered them.
        whole: the chosen grader if it grades queries as a whole, otherwise None.
        place: number of the query, number of queries, and ids of the neighbours.
    """
    window, person = bank_window.current_window(), ui.person()
    questions = bank.readable_questions(project, bank.drafted_bank(project, person, query.query_id))
    saved = {
        q.question_id: q
        for q in bank.readable_questions(
            project, bank.list_questions(project, query_id=query.query_id)
        )
    }
    bank_window.note_shown(project, questions)
    hidden = hidden_questions(project)
    subtopics = list(dict.fromkeys(q.subtopic_id for q in questions if q.subtopic_id))
    near = ui.attempt({}, bank.near_duplicates, questions) if window.near else {}
    twins = {
        key: f"near-duplicate (similarity {score:.2f}): {other.text}"
        for key, (other, score) in near.items()
    }
    # Identical questions count twice, so they are always shown.
    twins |= {
        key: f"identical to another question: {(other.text or '').strip()}"
        for key, other in bank.same_wordings(questions).items()
    }
    data = window.describe_state() | {
        "project": project.name,
        "author": person,
        "readonly": not person,
        "query": {"id": query.query_id, "text": ui.shorten_text(query.text, ui.HEADING)} | place,
        "kinds": list(types.KINDS),
        "most": types.MAX_WEIGHT,
        "near": window.near,
        "subtopics": subtopics,
        "subtopic": _chosen_subtopic(subtopics),
        "focus": window.focus,
        "turns": window.turns,
        "about": ""
        if whole is None
        else f"{whole} grades passages for the whole query and uses none of these questions.",
        "rows": [
            _row_data(
                question,
                saved.get(question.question_id),
                diagnosis,
                twins.get(question.question_id),
            )
            | (SEALED if question.question_id in hidden else {})
            for question in questions
        ],
    }
    components.draw("questions", LIST, data)
    _asked_dialog(project, query.query_id, questions)


def _chosen_subtopic(subtopics: list[str]) -> str:
    """Return the subtopic that the address selects; empty for all."""
    here = bank_window.current_window()
    if (chosen := here.subtopic) is not None:
        here.subtopic = None
        address.write_parameters({"subtopic": chosen})
    found = str(st.query_params.get("subtopic", ""))
    return found if found in subtopics else ""


def _row_data(
    question: types.Question,
    saved: types.Question | None,
    diagnosis: study.QueryDiagnosis | None,
    twin: str | None,
) -> dict[str, Any]:
    changed = saved != question or (
        saved is not None and question.position not in (None, saved.position)
    )
    figures = (
        diagnosis.questions.get(question.question_id) if diagnosis and question.active else None
    )
    return {
        "id": question.question_id,
        "text": question.text,
        "weight": question.weight,
        "active": question.active,
        "kind": question.kind,
        "subtopic_id": question.subtopic_id,
        "answer_key": question.answer_key,
        "note": question.note,
        "isNew": saved is None,
        "done": ", ".join(
            "new" if saved is None else one for one in bank.kinds_of_change(saved, question)
        )
        if changed
        else "",
        "lost": saved is not None and saved.text is None,
        "start": question.answer_key if saved is None else None,
        "figures": figures and _figures_data(figures),
        "twin": twin,
        "wordless": saved is not None and bank.is_wordless(question),
    }


NUMBERS = {
    "answered": "of the graded passages answer it at the min rating",
    "non_relevant": "of the judged passages that answer it are non-relevant",
    "only_here": "of the passages judged relevant answer only this question",
    "systems": "of the systems with a usable grade answer it within the cutoff",
}


def _figures_data(findings: study.QuestionDiagnosis) -> dict[str, Any]:
    """Return the chip of a question, and the numbers behind it."""
    if not findings.graded:
        return {
            "kind": "ungraded",
            "words": "ungraded",
            "numbers": ["No grades yet. Ungraded does not count as 0."],
        }
    shares = {name: getattr(findings, name) for name in NUMBERS}
    numbers = [
        f"{ui.as_percent(shares[name])} {words}"
        for name, words in NUMBERS.items()
        if shares[name] is not None
    ]
    if findings.verdict:
        meaning = study.verdict_meaning(findings.verdict)
        numbers.append(f"{meaning[0].upper()}{meaning[1:]}.")
    kind, words = ("none", "No passage") if findings.answered == 0 else ("some", "Some systems")
    if kind == "some" and findings.systems == 1:
        kind, words = "every", "Every system"
    part = f"{ui.as_percent(findings.graded)} graded" if findings.graded < 1 else ""
    return {"kind": kind, "words": words, "numbers": numbers, "part": part}


def _asked_dialog(project: Project, query_id: str, questions: list[types.Question]) -> None:
    here = bank_window.current_window()
    name, question_id = here.dialog or ("", "")
    here.dialog = None
    question = next((one for one in questions if one.question_id == question_id), None)
    if name == "paste":
        _draw_paste(project, query_id, questions)
    elif question is not None and name in DIALOGS:
        DIALOGS[name](project, question)


@st.dialog("Split question", width="large")
def _draw_split(project: Project, question: types.Question) -> None:
    st.text(question.shown_text)
    parts = st.text_area("One question per line", question.text or "", height=140)
    st.caption(f"The weight {question.weight:g} is divided equally. You can change it later.")
    if st.button("Split question", type="primary", key="split"):
        with ui.errors(rerun=True):
            bank_window.change_drafts(
                project,
                bank.put_drafts,
                bank.split_question(question, parts.split("\n")),
                author=ui.author(),
            )


@st.dialog("Paste questions", width="large")
def _draw_paste(project: Project, query_id: str, questions: list[types.Question]) -> None:
    text = st.text_area("One question per line. Bullets and numbers are removed.", height=220)
    pasted, again = bank.paste_questions(query_id, text, existing=questions)
    st.caption(
        how_many(len(pasted), "questions")
        + (f", {how_many(again, 'duplicates')} left out" if again else "")
    )
    # The text of the field is known after it loses focus. A disabled button would lose the click
    # that takes the focus.
    if st.button("Add questions", type="primary", key="add pasted"):
        if not pasted:
            st.container(key="error no-new-question 0").error(
                "No new questions in the list. Enter one question per line.",
                icon=":material/error:",
            )
            return
        presses.run_act(bank_window.change_drafts, project, bank.put_drafts, pasted)


def _choose_repaired(project: Project, question: types.Question) -> None:
    bank_window.current_window().repaired = question.question_id


DIALOGS = {
    "split": _draw_split,
    "repair": _choose_repaired,
    "solo": bank_review.draw_alone,
    "history": bank_review.draw_history,
}
"""Dialogs and forms about one question, by name."""


WHOSE = (
    "Only these people can save or discard them. If you made them under another name, enter that"
    " name in the sidebar."
)


def draw_bar(project: Project, query: bank.QueryOverview, previous: str, following: str) -> None:
    """Draw the person's unsaved changes in all queries, and the conflicts that prevent saving.

    Args:
        query: the open query.
        previous, following: ids of its neighbours; empty at an end.
    """
    window, person = bank_window.current_window(), ui.person()
    window.drop_old_result(project, person)
    drafts = bank.list_drafts(project, person)
    undoable, redoable = bank.count_steps(project, person)
    open_conflicts = bank.list_conflicts(project, person) if drafts else []
    name, saved = window.saved or ("", 0)
    data: dict[str, Any] = window.describe_state() | {
        "project": project.name,
        "author": person,
        "version": bank.latest_version(project),
        "saved": saved if name == project.name else 0,
        "unsaved": len(drafts),
        "queries": len({draft.question.query_id for draft in drafts.values()}),
        "undo": undoable > 0,
        "redo": redoable > 0,
        "note": bank.note_written(project, person) if drafts else "",
        "said": window.said,
        "others": _name_others(project, person, query),
        "help": WHOSE,
        "conflicts": len(open_conflicts),
        "previous": previous,
        "next": following,
    }
    # `take_in` reads the state of the component under this key.
    components.draw("bar", bank_window.KEY, data, on_acts_change=lambda: None)
    # This container is there even when empty. If the elements below moved up, the browser would
    # recreate them and the caret would be lost.
    with st.container():
        if window.error is not None:
            ui.show_error(window.error)
        if open_conflicts:
            bank_review.draw_conflicts(project, open_conflicts)


def _name_others(project: Project, person: str, query: bank.QueryOverview) -> str:
    """Return the names of people with unsaved changes, which the person's actions do not touch."""
    every = bank.count_others_drafts(project, person)
    here = bank.count_others_drafts(project, person, query.query_id) if every else {}
    names = [
        f"{name} {count}" + (f" ({here[name]} in this query)" if name in here else "")
        for name, count in every.items()
    ]
    return f"Other people's unsaved changes: {', '.join(names)}." if names else ""
