"""Examinees without a model: every rule, with every kind of context that it can read."""

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
"""Passages of a retrieval that examinees get."""


def sit_by_rules(
    project: Project, author: str, tell: Callable[[str], None] = lambda line: None, query_id: str | None = None
) -> list[str]:
    """Rank passages for the items without a model, add every rule with every context, and run the exam.

    Existing results stay. Existing retrievals of the same names are used as they are.

    Args:
        tell: is given a sentence about each step.
        query_id: the exam; None for the items of all exams.

    Returns:
        The names of the examinees.

    Raises:
        InputError: the project has no items or no passages.
        GradingError: the encoder cannot be loaded, or an examinee could not answer.
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
