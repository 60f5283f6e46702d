"""Students for an exam that need no model: every rule, with every way in which it can be given context."""

from __future__ import annotations

from collections.abc import Callable

from ..errors import GradingError
from ..project import NOT_RETRIEVED, Project
from ..text import how_many
from .retrievals import Retriever, make_retrieval, retrievals
from .sitting import Sit, sit
from .students import READING_RULES, RULES, Plan, add_student

RETRIEVAL_NAMES: dict[Retriever, str] = {"bm25": "BM25", "embedding": "MiniLM"}
DEPTHS = (1, 3)
"""Passages of a retrieval that students are given."""


def sit_by_rules(
    project: Project, author: str, tell: Callable[[str], None] = lambda line: None, query_id: str | None = None
) -> list[str]:
    """Rank passages for the items in the ways that need no model, add every rule with every context, and let them sit.

    What is there already of this stays; retrievals of its names are taken for those that it would make.

    Args:
        tell: is given a sentence about each step.
        query_id: the exam; the items of all for None.

    Returns:
        The names of the students.

    Raises:
        InputError: there are no items or no passages.
        GradingError: the encoder cannot be loaded, or a student could not answer.
    """
    there = {one.name for one in retrievals(project)}
    for retriever, name in RETRIEVAL_NAMES.items():
        if name not in there:
            make_retrieval(project, name, retriever, author, max(DEPTHS), query_id, tell)
    contexts = [(name, 1) for name in NOT_RETRIEVED] + [(name, k) for name in RETRIEVAL_NAMES.values() for k in DEPTHS]
    plans = [Plan(rule) for rule in RULES if rule not in READING_RULES]
    plans += [Plan(rule, retrieval=retrieval, k=k) for rule in READING_RULES for retrieval, k in contexts]
    names = [add_student(project, plan, author).name for plan in plans]
    tell(f"Running the exam for {how_many(len(names), 'examinees')} ...")
    ended = sit(project, Sit(tuple(names), query_id), author)
    if broken := [f"{name}: {one.message}" for name, one in ended.items() if one.state != "done"]:
        raise GradingError("job-failed", broken[0], "The answers so far are kept.")
    tell(f"Answers: {sum(one.graded for one in ended.values()):,}.")
    return names
