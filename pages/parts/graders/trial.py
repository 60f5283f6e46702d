"""Trying a grader on one question and one passage: what it is asked, what comes back, and how that is read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import streamlit as st

from core.bank import overview
from core.errors import WorkbenchError
from core.graders import Grader, Messages, Trial, try_pair
from core.grading import questions_to_try, trial_control
from core.project import Project, passage_texts
from core.review import Filters, search
from core.types import Asked, Grade, Question
from pages.parts.shared import presses, ui

PASSAGES = 500
"""Passages of a query to choose from at most."""
LABEL = 110
"""Characters of a text in a list."""


@dataclass(frozen=True)
class Pair:
    """What a grader or a prompt is tried on."""

    question: Question
    passage_id: str
    passage: str

    @property
    def asked(self) -> Asked:
        """The question as a grader is asked it."""
        return Asked(self.question.text or "", self.question.answer_key or "", self.question.choices)


def questions_of(project: Project, grader: Grader) -> Callable[[str], list[Question]]:
    """Gives the questions of a query that a grader can be asked."""
    return lambda query_id: questions_to_try(project, grader.spec, query_id)


def choose_pair(project: Project, questions: Callable[[str], Sequence[Question]], key: str) -> Pair | None:
    """Choose a query, a question and a passage; None where there is none, which is then said.

    Args:
        questions: gives the questions of a query to choose among.
        key: tells the widgets apart where there are several panels.
    """
    queries = ui.told_apart({query.query_id: query.text for query in overview(project)})
    if not queries:
        st.caption("There is nothing to try it on: the project has no queries.")
        return None
    left, right = st.columns(2)
    query = left.selectbox(
        "Query", list(queries), format_func=queries.__getitem__, key=f"{key} query",
        persist_state="session",
    )  # fmt: skip
    asked = {question.question_id: question for question in questions(query)}
    if not asked:
        st.caption("No question of this query can be asked: choose another query.")
        return None
    if list(asked) != [query]:
        texts = ui.told_apart({name: ui.shortened(one.text or name, LABEL) for name, one in asked.items()})
        question = right.selectbox(
            "Question", list(asked), format_func=texts.__getitem__,
            key=f"{key} question of {query}", persist_state="session",
        )  # fmt: skip
    else:
        question = query
    found = search(project, None, Filters(query_id=query), PASSAGES, page=1).rows
    excerpts = ui.told_apart({row.passage_id: ui.shortened(row.excerpt, LABEL) for row in found if row.excerpt})
    if not excerpts:
        st.caption("No passage of this query has a text: import passages first.")
        return None
    passage = st.selectbox(
        "Passage", list(excerpts), format_func=excerpts.__getitem__,
        key=f"{key} passage of {query}", persist_state="session",
    )  # fmt: skip
    return Pair(asked[question], passage, passage_texts(project, [passage])[passage])


def ask(project: Project, grader: Grader, pair: Pair, key: str, opened: bool = True) -> None:
    """The button that asks, and what came of it as long as grader and pair stay the same.

    Args:
        opened: whether what is asked is in sight at once, and not only when it is opened.
    """
    about = (grader.spec.fingerprint, pair.asked, pair.passage)
    if presses.button("Ask", key=f"{key} ask", icon=":material/play_arrow:"):
        with st.spinner(
            "Asking. A model that is not loaded yet is loaded first, which may take a while.", show_time=True
        ):
            st.session_state[f"{key} answer"] = (about, _asked(project, grader, pair))
    held, answer = st.session_state.get(f"{key} answer", (None, None))
    if held != about:
        return
    if isinstance(answer, WorkbenchError):
        ui.show_error(answer)
    elif isinstance(answer, Trial):
        show_trial(answer, grader, opened)


def _asked(project: Project, grader: Grader, pair: Pair) -> Trial | WorkbenchError:
    try:
        return try_pair(grader, pair.asked, pair.passage, trial_control(project, grader))
    except WorkbenchError as error:
        return error


def show_messages(messages: Messages) -> None:
    """A filled-in prompt, word for word."""
    if messages.system:
        st.caption("System")
        st.code(messages.system, language=None, wrap_lines=True)
        st.caption("User")
    st.code(messages.user, language=None, wrap_lines=True)


def show_trial(trial: Trial, grader: Grader, opened: bool = True) -> None:
    """Everything that was asked and said, then the grade."""
    for number, exchange in enumerate(trial.exchanges, 1):
        which = f" {number} of {len(trial.exchanges)}" if len(trial.exchanges) > 1 else ""
        if exchange.messages is not None:
            with st.expander(f"Asked{which}: {exchange.call.prompt.name}", expanded=opened and number == 1):
                show_messages(exchange.messages)
        st.caption(f"Answered{which}, word for word")
        if exchange.completion.error is not None:
            st.text(f"Nothing: {exchange.completion.error}")
        elif exchange.call.form == "likelihood":
            st.text("It was not asked to write: the choices are weighed.")
        else:
            st.code(exchange.completion.text or " ", language=None, wrap_lines=True)
    st.caption("Read as")
    show_grade(trial.grade, grader.spec.max_rating)


def show_grade(grade: Grade, top: int) -> None:
    """A grade: rating, status, confidence and the probability of each rating where it is known."""
    if grade.status == "failed":
        st.error(
            f"Failed: {ui.plain((grade.reason or 'no usable rating').rstrip('.'))}. No rating is made up.",
            icon=":material/error:",
        )
    else:
        columns = st.columns([1, 1, 1, 3])
        columns[0].metric("Rating", f"{grade.rating} of {top}")
        columns[1].metric(
            "Status", grade.status,
            help="Defaulted: the answer has no number; the rating is 0 where it says that the question is "
            "unanswerable, else 1." if grade.status == "defaulted" else None,
        )  # fmt: skip
        columns[2].metric("Confidence", ui.percent(grade.confidence), help="By the model's own probabilities.")
        if grade.distribution:
            with columns[3]:
                distribution(grade.distribution)
    if grade.answer:
        st.caption("Answer")
        st.text(grade.answer)
    if grade.note:
        st.caption(f":material/info: {ui.plain(grade.note)}")


def distribution(probabilities: Sequence[float]) -> None:
    """The probability of every rating, as bars."""
    st.dataframe(
        {"Rating": [str(rating) for rating in range(len(probabilities))], "Probability": list(probabilities)},
        column_config={
            "Rating": st.column_config.TextColumn(width=60),
            "Probability": st.column_config.ProgressColumn(min_value=0.0, max_value=1.0, format="%.2f"),
        },
        hide_index=True,
        row_height=24,
    )
