"""The table of the kinds of file that a project imports; the module of each format defines its kind."""

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
    kind.name: kind
    for kind in (
        trec_run.KIND,
        trec_qrels.KIND,
        trec_qrels.LABELS,
        lm_eval.KIND,
        graded.KIND,
        answers.KIND,
        answer_verdicts.KIND,
        responses.KIND,
        exam.KIND,
        responses_matrix.KIND,
        student_factors.KIND,
        question_bank.KIND,
        leaderboards.KIND,
        passages.KIND,
        queries.KIND,
    )
}
"""Kinds by name. A file is of the first kind that it matches, so kinds with stricter tests come earlier."""
