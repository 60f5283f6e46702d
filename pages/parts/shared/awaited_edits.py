"""Disagreements that the next save of an edited question settles."""

from dataclasses import dataclass

import streamlit as st

from exam_workbench.review import Case
from exam_workbench.types import Question

TO_EDIT = "question to edit"
"""Session key of the question that the question bank opens next."""


@dataclass(frozen=True)
class AwaitedEdit:
    """A disagreement that an edit of a question will settle.

    Args:
        question_id: None if a question is missing in the bank.
    """

    project: str
    case: Case
    question_id: str | None
    reason: str

    def is_settled_by(self, project: str, question: Question) -> bool:
        """Return whether an edit of this question settles it."""
        here = f"{self.case.query_id}/".startswith(f"{question.query_id}/")
        return self.project == project and (
            here if self.question_id is None else question.question_id == self.question_id
        )


def list_awaited() -> list[AwaitedEdit]:
    """Return the list for this browser tab; all its runs share it."""
    return st.session_state.setdefault("awaited edits", [])
