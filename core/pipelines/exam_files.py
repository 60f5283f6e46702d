"""Exams and answers as files: items in the form of exam.json, and a table of examinees by items."""

from __future__ import annotations

import numpy as np

from ..errors import InputError
from ..formats import ExamItem, exam, write_matrix
from ..project import Project, passage_texts, retrieved
from ..text import written_text
from .items import exam_items
from .responses import responses


def exam_json(project: Project, query_id: str | None = None) -> str:
    """Return the active items with a key, with sources, topics and retrieved contexts, as `exam import exam` reads
    them.

    Args:
        query_id: only items of this query; None for all.

    Raises:
        InputError: the exam has no such item.
    """
    items = [item for item in exam_items(project, query_id) if item.active and item.key is not None]
    if not items:
        raise InputError("no-items", "No items to export.", "Import an exam: exam import exam FILE.")
    names = [name for (name,) in project.rows("SELECT name FROM retrievals ORDER BY retrieval_key")]
    found = project.read(lambda cursor: {name: retrieved(cursor, name) for name in names})
    ids = {passage for rankings in found.values() for ranking in rankings.values() for passage, _ in ranking}
    texts = passage_texts(project, list(ids))
    written = []
    for item in items:
        contexts = {
            name: tuple(texts[passage] for passage, _ in rankings[item.question_id] if passage in texts)
            for name, rankings in found.items()
            if item.question_id in rankings
        }
        written.append(
            ExamItem(item.text, item.choices, item.key or "", item.source_text, item.topic, contexts)
        )  # fmt: skip
    return written_text(exam.write_exam, written)


def answers_csv(project: Project, query_id: str | None = None) -> str:
    """Return the answers of examinees to the active items: 1 right, 0 wrong, empty for items not asked and for
    failures.

    Args:
        query_id: only items of this query; None for all.

    Raises:
        InputError: no item has an answer.
    """
    found = responses(project, query_id=query_id)
    if np.isnan(found.correct).all():
        raise InputError(
            "no-answers",
            "No answers to export.",
            "Run the exam (exam examinees run), or import answers (exam import lm-eval FILE).",
        )
    rows = [[None if np.isnan(cell) else bool(cell) for cell in row] for row in found.correct]
    return written_text(write_matrix, found.items, zip(found.names, rows, strict=True))
