"""Dialogs that ask a model for questions, nuggets and answer keys."""

from collections.abc import Callable

import streamlit as st

from exam_workbench.bank import QueryOverview, drafted_bank
from exam_workbench.errors import WorkbenchError
from exam_workbench.grading import (
    DEFAULT_PROMPT,
    KINDS,
    MOST,
    KeyPassage,
    Report,
    Watch,
    draft_answer_key,
    fitting_prompts,
    make_drafter,
    passages_for_key,
    suggest,
)
from exam_workbench.project import Project
from exam_workbench.types import Question
from pages.parts.shared import drafting_model, policy_widgets, ui

WHAT = {"question": "Questions", "nugget": "Nuggets"}
ASKED = (
    "Asking the model. Completed answers are kept. If the endpoint is down, run `exam generate`, which waits for it."
)
USUAL = ""
"""The default choice: no particular prompt."""


@st.dialog("Suggest questions", width="large")
def suggest_dialog(project: Project, query: QueryOverview) -> None:
    """Draw a dialog in which a model drafts questions or nuggets for a query."""
    st.text(query.text)
    kind, number = st.columns([3, 2])
    what = kind.segmented_control("Kind", KINDS, default=KINDS[0], format_func=WHAT.__getitem__, required=True)
    n = number.number_input("Number per subtopic, or per query", 1, MOST, 10, key="drafts wanted")
    titles = {USUAL: "Default: by subtopic if the query has subtopics"}
    titles |= {prompt.name: f"{prompt.name}: {prompt.title}" for prompt in fitting_prompts(project, str(what))}
    prompt = st.selectbox("Prompt", list(titles), format_func=titles.__getitem__, key=f"prompt for {what}")
    settings = drafting_model.choose(project, "drafter")
    if settings is not None and st.button("Ask the model", type="primary", key="ask for questions"):
        _ask(
            query.query_id,
            settings,
            lambda watch: suggest(
                project,
                make_drafter(settings),
                [query.query_id],
                ui.author(),
                what,
                prompt or None,
                int(n),
                watch=watch,
            ),
        )
    st.caption("Suggestions become proposals. To add a proposal to the question bank, accept it and save.")


@st.dialog("Draft answer key", width="large")
def answer_key_dialog(project: Project, query: QueryOverview) -> None:
    """Draw a dialog in which a model drafts the answer key of a question from one of its passages."""
    questions = [q for q in drafted_bank(project, ui.person(), query.query_id) if _keyed(q)]
    if not questions:
        st.text("This query has no active question that can have an answer key. Add a question first.")
        return
    texts = ui.told_apart({q.question_id: q.text or "" for q in questions})
    question = st.selectbox("Question", questions, format_func=lambda q: texts[q.question_id], key="keyed question")
    if question.answer_key:
        st.caption(ui.plain(f"Current answer key: {question.answer_key}"))
    passages: list[KeyPassage] = []
    with ui.errors():
        passages = passages_for_key(project, policy_widgets.chosen(project), question)
    if not passages:
        st.text("No passage answers this question or is judged relevant. Grade the pool or import judgments first.")
        return
    passage = st.selectbox("Passage", passages, format_func=_offered, key="passage for key")
    with st.container(border=True, height=180):
        st.text(passage.text)
    names = [prompt.name for prompt in fitting_prompts(project, "answer key")]
    prompt = st.selectbox("Prompt", names, index=names.index(DEFAULT_PROMPT), key="prompt for key")
    settings = drafting_model.choose(project, "drafter")
    if settings is not None and st.button("Ask the model", type="primary", key="ask for key"):
        _ask(
            query.query_id,
            settings,
            lambda watch: draft_answer_key(
                project, make_drafter(settings), question.question_id, passage.passage_id, ui.author(), prompt
            ),
        )


def _keyed(question: Question) -> bool:
    return question.active and question.kind == "question" and bool((question.text or "").strip())


def _offered(passage: KeyPassage) -> str:
    said = [f"rated {passage.rating}"] if passage.rating is not None else []
    said += [f"judged {passage.judgment}"] if passage.judgment is not None else []
    return f"{', '.join(said)}: {ui.shortened(passage.text, 100)}"


def _ask(query_id: str, settings: dict[str, str], work: Callable[[Watch], Report]) -> None:
    """Ask the model and show the progress; the dialog closes after the answers."""
    drafting_model.remember(settings)
    bar = st.progress(0.0, text=ASKED)

    def watch(done: int, total: int) -> None:
        if done:
            bar.progress(done / total, text=f"{done} of {total} requests answered")

    try:
        report = work(watch)
    except WorkbenchError as error:
        bar.empty()
        ui.show_error(error)
        return
    st.session_state["suggested"] = (query_id, report)
    st.rerun()
