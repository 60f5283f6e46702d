"""Active questions that a grader skips, with reasons. They are missing from its labels, not rated 0."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from ..bank import exam_queries, overview, query_as_question, questions
from ..project import Project
from ..types import GraderSpec


@dataclass(frozen=True)
class LeftOut:
    """Numbers of active questions (queries, for a direct grader) that a grader skips.

    Args:
        other_kind: it does not grade questions of their kind.
        no_text: they are known by id only.
        no_answer_key: it reads the answer key and they have no answer key.
        no_choices: it reads the choices and they have no choices.
    """

    other_kind: int
    no_text: int
    no_answer_key: int
    no_choices: int

    @property
    def total(self) -> int:
        return self.other_kind + self.no_text + self.no_answer_key + self.no_choices


def left_out(project: Project, spec: GraderSpec, version: int, queries: Collection[str] | None = None) -> LeftOut:
    """Count the questions of a bank version that a grader skips, each by the first reason that applies.

    Args:
        queries: ids of the queries to include; None for all.
    """
    if spec.rates_citations:
        return LeftOut(0, 0, 0, 0)
    other_kind = no_text = no_answer_key = no_choices = 0
    # Items of exams are for examinees, so they do not count as skipped.
    sat = set(exam_queries(project, version))
    untitled = {query_id for (query_id,) in project.rows("SELECT query_id FROM queries WHERE text = query_id")}
    if spec.method == "direct":
        ids = [query.query_id for query in overview(project)]
        asked = [query_as_question(project, query_id) for query_id in ids]
    else:
        asked = [question for question in questions(project, version) if question.active]
    for question in asked:
        if question.query_id in sat or (queries is not None and question.query_id not in queries):
            continue
        if spec.method != "direct" and question.kind not in spec.takes:
            other_kind += 1
        elif not question.text or (spec.method == "direct" and question.text in untitled):
            no_text += 1
        elif "answer_key" in spec.reads and not question.answer_key:
            no_answer_key += 1
        elif "choices" in spec.reads and not question.choices:
            no_choices += 1
    return LeftOut(other_kind, no_text, no_answer_key, no_choices)
