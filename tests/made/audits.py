"""A small collection for tests of audits: four systems, six queries, grades with errors, and true judgments."""

import random
from datetime import timedelta
from typing import Any

from exam_workbench.audit import (
    AssignedPassage,
    AssignedQuery,
    Audit,
    Goal,
    Verdict,
    deal_ahead,
    design_audit,
    draw_batch,
)
from exam_workbench.audit._batch_assignment import LEASE, read_state
from exam_workbench.audit._verdicts import write_verdict
from exam_workbench.store import Project
from exam_workbench.types import Question
from tests.made.projects import fill

QUERIES = [f"q{i}" for i in range(1, 7)]
SYSTEMS = ("good", "fair", "poor", "pleasing")


def truth(query: str, passage: str) -> int:
    """Return the true judgment of a passage, 0 to 3, computed from its number."""
    return (int(passage.rpartition("p")[2]) * 7 + int(query[1:]) * 3) % 4


def fill_audited(project: Project) -> None:
    """Fill in six queries of nine passages each; three systems rank by truth with growing noise,
    and a fourth by grades.
    """
    chance = random.Random(1)
    questions = [Question(f"{query}/a", query, f"What of {query}?") for query in QUERIES]
    passages = {query: [f"{query}p{i}" for i in range(1, 10)] for query in QUERIES}
    ratings = {
        (f"What of {query}?", passage): min(5, max(0, truth(query, passage) + chance.choice((0, 0, 1, 1, 2))))
        for query in QUERIES
        for passage in passages[query]
    }
    noise = {"good": 0.5, "fair": 2.0, "poor": 8.0}
    runs = {
        name: {
            query: sorted(passages[query], key=lambda p, q=query: -truth(q, p) + spread * chance.random())  # type: ignore[misc]
            for query in QUERIES
        }
        for name, spread in noise.items()
    }
    runs["pleasing"] = {
        query: sorted(passages[query], key=lambda p, q=query: -ratings[f"What of {q}?", p])  # type: ignore[misc]
        for query in QUERIES
    }
    fill(project, questions, ratings, runs)


def deal(project: Project, audit: Audit, assessor: str, lease: timedelta = LEASE) -> AssignedQuery | None:
    """Return the query that an assessor judges next; None if nothing is left."""
    return next(iter(deal_ahead(project, audit, assessor, 1, lease)), None)


def next_card(dealt: AssignedQuery) -> AssignedPassage | None:
    """Return the first passage without a judgment."""
    return next((card for card in dealt.cards if not card.is_settled), None)


def judge_batch(project: Project, audit: Audit, name: str = "ann") -> None:
    """Judge the open passages of a person truthfully, in one transaction to save time."""
    with project.transaction("judge audits", author=name) as cursor:
        state = read_state(cursor, audit)
        for place in state.places:
            turn = next((turn for turn in (1, 2) if place.open_to(name, turn)), None)
            if turn is not None:
                value = truth(place.query_id, place.passage_id)
                verdict = Verdict(place.query_id, place.passage_id, "judged", value)
                write_verdict(cursor, audit, state, place, turn, verdict, name)


def judged_audit(project: Project, name: str, measure: str, goal: Goal, size: int | None = None, **how: Any) -> Audit:
    """Return a new audit whose first batch, of `size` passages, is judged."""
    audit = design_audit(project, name, measure, goal, author="org", **how)
    draw_batch(project, audit, "org", size)
    judge_batch(project, audit)
    return audit
