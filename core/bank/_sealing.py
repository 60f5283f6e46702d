"""Sealing of questions: a random part of each query's questions, to detect systems that know the public part."""

from __future__ import annotations

import random
import secrets

from ..errors import InputError
from ..records import add_seals, open_seals, sealed_questions
from ..store import Project, log
from ._questions import questions

LEAST, SEALED_PER_QUERY = 2, 3
"""Least and usual number of sealed questions per query. At least as many stay public."""


def seal(
    project: Project, author: str, per_query: int = SEALED_PER_QUERY, seed: int | None = None
) -> dict[str, list[str]]:
    """Seal random questions of every query with enough active questions of positive weight.

    Args:
        per_query: number of sealed questions per query.
        seed: seed of the draw, which is recorded; None for a random one.

    Returns:
        The ids of the sealed questions by query.

    Raises:
        InputError: questions are sealed already, the number is too small, or no query has enough questions.
    """
    if per_query < LEAST:
        raise InputError("too-few-seals", f"Cannot seal {per_query} per query.", f"Seal at least {LEAST}.")
    if sealed_questions(project):
        raise InputError("already-sealed", "Questions are already sealed.", "Open them first: exam bank open")
    seed = secrets.randbelow(2**31) if seed is None else seed
    by_query: dict[str, list[str]] = {}
    for question in questions(project):
        if question.active and question.weight > 0 and question.text:
            by_query.setdefault(question.query_id, []).append(question.question_id)
    drawn = {
        query: sorted(random.Random(f"{seed} {query}").sample(sorted(ids), per_query))
        for query, ids in by_query.items()
        if len(ids) >= 2 * per_query
    }
    if not drawn:
        raise InputError(
            "too-few-questions",
            f"No query has {2 * per_query} active questions of positive weight.",
            "Seal fewer questions per query, or add questions.",
        )
    with project.transaction(act="organize", author=author) as cursor:
        add_seals(cursor, [one for ids in drawn.values() for one in ids], seed, author)
        log(cursor, author, "seal questions", questions=sum(map(len, drawn.values())), queries=len(drawn), seed=seed)
    return drawn


def open_sealed(project: Project, author: str) -> int:
    """Open all sealed questions; return their number."""
    with project.transaction(act="organize", author=author) as cursor:
        opened = open_seals(cursor, author)
        if opened:
            log(cursor, author, "open sealed questions", questions=opened)
    return opened
