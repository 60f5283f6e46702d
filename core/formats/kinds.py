"""The table of the kinds of file that a project takes in; each is stated in the module of its format."""

from __future__ import annotations

from . import (
    answer_verdicts,
    answers,
    exam,
    graded,
    leaderboards,
    lm_eval,
    passages,
    queries,
    question_bank,
    responses,
    responses_matrix,
    student_factors,
    trec_qrels,
    trec_run,
)
from .file_kind import FileKind

KINDS_OF_FILE: dict[str, FileKind] = {
    module.KIND.name: module.KIND
    for module in (
        *(
            trec_run,
            trec_qrels,
            lm_eval,
            graded,
            answers,
            answer_verdicts,
            responses,
            exam,
            responses_matrix,
            student_factors,
        ),
        *(question_bank, leaderboards, passages, queries),
    )
}
"""By name. A file is taken for the first kind that it looks like: the more a kind asks of it, the earlier it stands."""
