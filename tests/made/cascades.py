"""A project with a cascade from an earlier version: two graders, a plan with its passages, and its activity."""

import json

from exam_workbench.store import Project, log_action
from exam_workbench.types import GraderSpec, Question
from tests.made.projects import fill, grade

CHEAP = GraderSpec("cheap", "self-rating", "small")
EXPENSIVE = GraderSpec("expensive", "self-rating", "large")
QUERIES = [f"q{i}" for i in range(1, 9)]
DEEP = 12
"""Passages per query; each run ranks all of them."""


def fill_planned(project: Project) -> None:
    """Fill in eight queries of twelve passages in four runs, all grades of two graders, and their cascade."""
    passages = {query: [f"{query}p{i}" for i in range(1, DEEP + 1)] for query in QUERIES}
    questions = [Question(f"{query}/a", query, f"What of {query}?") for query in QUERIES]
    ratings = {
        (f"What of {query}?", passage): (int(passage.rpartition("p")[2]) * 7 + int(query[1:]) * 3) % 6
        for query in QUERIES
        for passage in passages[query]
    }
    runs = {
        name: {query: found[turn:] + found[:turn] for query, found in passages.items()}
        for turn, name in enumerate(("good", "fair", "poor", "lost"))
    }
    fill(project, questions, ratings, runs, CHEAP)
    grade(project, ratings, EXPENSIVE)
    policy = {"grader": EXPENSIVE.fingerprint, "bank_version": 1, "min_rating": 4, "overrides": False}
    with project.transaction() as cursor:
        cursor.execute(
            "INSERT INTO cascades SELECT nextval('keys'), 'first', 'DCG@5', ?, ?, 'relevance', 'all', 0.1, 0.1, 5,"
            " 'org', '2026-10-01 12:00:00'",
            [json.dumps(policy), CHEAP.fingerprint],
        )
        cursor.execute(
            "INSERT INTO cascade_passages SELECT cascade_key, query_key, passage_key, 0.01, min(rank),"
            " (passage_key % 3 = 0)::INTEGER, (passage_key % 3 = 1)::INTEGER FROM rankings, cascades WHERE rank <= 5"
            " GROUP BY ALL"
        )
        log_action(cursor, "org", "plan cascade", name="first", cheap="cheap", expensive="expensive", passages=64)
