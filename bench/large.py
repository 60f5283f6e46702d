"""A generated project, by default as large as TREC CAR Y3: 131 queries, 85,000 passages, 4.7 million grades."""

from __future__ import annotations

from math import gcd
from pathlib import Path

from exam_workbench.bank import put_grader
from exam_workbench.records import refresh_pool
from exam_workbench.store import Project, create, log
from exam_workbench.types import GraderSpec

QUERIES = 131
PASSAGES_A_QUERY = 650
QUESTIONS_A_QUERY = 55
RUNS = 30
DEPTH = 100
SPEC = GraderSpec("generated", "self-rating", "generated")


def make_large(
    path: Path, queries: int = QUERIES, passages: int = PASSAGES_A_QUERY, runs: int = RUNS, seed: int = 0
) -> Project:
    """Make the project; ratings come from a hash, so that they are the same every time.

    Args:
        queries: number of queries, each with 55 questions.
        passages: number of passages per query, at least 101; all of them are graded.
        runs: number of systems, each of which ranks 100 passages of every query.
        seed: for the ratings and for the first passage of each ranking.
    """
    # A ranking visits the passages of its query in steps that are coprime to their number. So each is ranked once,
    # without sorting.
    steps = [step for step in range(7, passages) if gcd(step, passages) == 1]
    strides = ", ".join(f"({run}, {steps[run * 37 % len(steps)]})" for run in range(runs))
    project = create(path)
    with project.transaction() as cursor:
        grader = put_grader(cursor, SPEC)
        cursor.execute(
            "INSERT INTO queries SELECT 1000 + q, 'q' || q, 'query number ' || q, NULL, NULL, NULL"
            f" FROM range({queries}) t(q)"
        )
        cursor.execute(
            "INSERT INTO passage_texts SELECT 1000000 + i,"
            " 'Passage ' || i || repeat(' words of a passage of ordinary length', 10)"
            f" FROM range({queries * passages}) t(i)"
        )
        cursor.execute(
            f"INSERT INTO passages SELECT 2000000 + i, 'p' || i, 1000000 + i FROM range({queries * passages}) t(i)"
        )
        cursor.execute(
            f"INSERT INTO listed SELECT 1000 + i // {passages}, 2000000 + i, i FROM range({queries * passages}) t(i)"
        )
        total = queries * QUESTIONS_A_QUERY
        cursor.execute(
            "INSERT INTO question_texts SELECT 3000000 + i, 'What does question number ' || i || ' ask?', NULL"
            f" FROM range({total}) t(i)"
        )
        cursor.execute(
            f"INSERT INTO questions SELECT 4000000 + i, 'question-' || i, 1000 + i // {QUESTIONS_A_QUERY}"
            f" FROM range({total}) t(i)"
        )
        cursor.execute("INSERT INTO bank_versions VALUES (1, 'generated', 'bench', now()::TIMESTAMP)")
        cursor.execute(
            "INSERT INTO question_revisions SELECT 5000000 + i, 4000000 + i, 1, 3000000 + i, 'question', 1.0, true,"
            f" NULL, NULL, '[]', NULL, i, NULL FROM range({total}) t(i)"
        )
        cursor.execute(
            "INSERT INTO grades BY NAME SELECT ? AS grader_key, 3000000 + r AS question_text_key,"
            " 1000000 + p AS passage_text_key,"
            f" least(hash(p + {seed}) % 6, greatest(0, (hash(p * 7919 + r + {seed} * 104729) % 18)::INTEGER - 12))"
            " AS rating, false AS defaulted, 0 AS job_key"
            f" FROM range({queries}) t(q), range(q * {passages}, (q + 1) * {passages}) u(p),"
            f" range(q * {QUESTIONS_A_QUERY}, (q + 1) * {QUESTIONS_A_QUERY}) v(r) ORDER BY q, p, r",
            [grader],
        )
        cursor.execute(f"INSERT INTO runs SELECT 6000000 + i, 'run-' || i, 'run', 'run' FROM range({runs}) t(i)")
        cursor.execute(
            "INSERT INTO rankings SELECT 6000000 + s, 1000 + q,"
            f" 2000000 + q * {passages} + (hash(q * 1009 + s + {seed}) % {passages} + rank * stride) % {passages},"
            f" rank, 1000.0 - rank FROM range({queries}) t(q), (VALUES {strides}) v(s, stride),"
            f" range(1, {DEPTH + 1}) u(rank)"
        )
        cursor.execute("INSERT INTO sources VALUES (7000000, 'judgments')")
        cursor.execute(
            f"INSERT INTO judgments SELECT 7000000, 1000 + i // {passages}, 2000000 + i, (hash(i) % 4)::INTEGER"
            f" FROM range({queries * passages}) t(i) WHERE i % 10 = 0"
        )
        refresh_pool(cursor)
        log(cursor, "bench", "generate")
    return project
