"""A generated project, by default as large as TREC CAR Y3: 131 queries, 85,000 passages, 4.7 million grades."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from math import gcd
from pathlib import Path

from exam_workbench.bank import put_grader
from exam_workbench.records import refresh_pool
from exam_workbench.store import Project, create_project, log_action
from exam_workbench.types import GraderSpec

QUERIES = 131
PASSAGES_A_QUERY = 650
QUESTIONS_A_QUERY = 55
RUNS = 30
DEPTH = 100


def large_size(tiny: bool, share: int = 1) -> tuple[int, int, int]:
    """Return numbers of queries, passages per query, and runs of a generated project; `share` divides the queries."""
    queries, *others = (10, 101, 3) if tiny else (QUERIES, PASSAGES_A_QUERY, RUNS)
    return queries // share, *others


@contextmanager
def large_file(size: tuple[int, int, int]) -> Iterator[Path]:
    """Yield the file of a generated project in a folder of its own, until the block ends."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.duckdb"
        make_large(path, *size).close()
        yield path


def make_large(path: Path, queries: int = QUERIES, passages: int = PASSAGES_A_QUERY, runs: int = RUNS) -> Project:
    """Make the project; ratings come from a hash, so that they are the same every time.

    Args:
        queries: number of queries, each with 55 questions.
        passages: number of passages per query, at least 101; all of them are graded.
        runs: number of systems, each of which ranks 100 passages of every query.
    """
    # A ranking visits the passages of its query in steps that are coprime to their number. So each is ranked once,
    # without sorting.
    steps = [step for step in range(7, passages) if gcd(step, passages) == 1]
    strides = ", ".join(f"({run}, {steps[run * 37 % len(steps)]})" for run in range(runs))
    pooled, asked = queries * passages, queries * QUESTIONS_A_QUERY
    project = create_project(path)
    with project.transaction() as cursor:
        grader = put_grader(cursor, GraderSpec("generated", "self-rating", "generated"))
        cursor.execute(f"""
            INSERT INTO queries SELECT 1000 + i, 'q' || i, 'query number ' || i, NULL, NULL, NULL
            FROM range({queries}) t(i);
            INSERT INTO passage_texts
            SELECT 1000000 + i, 'Passage ' || i || repeat(' words of a passage of ordinary length', 10)
            FROM range({pooled}) t(i);
            INSERT INTO passages SELECT 2000000 + i, 'p' || i, 1000000 + i FROM range({pooled}) t(i);
            INSERT INTO listed SELECT 1000 + i // {passages}, 2000000 + i, i FROM range({pooled}) t(i);
            INSERT INTO question_texts SELECT 3000000 + i, 'What does question number ' || i || ' ask?', NULL
            FROM range({asked}) t(i);
            INSERT INTO questions SELECT 4000000 + i, 'question-' || i, 1000 + i // {QUESTIONS_A_QUERY}
            FROM range({asked}) t(i);
            INSERT INTO bank_versions VALUES (1, 'generated', 'bench', now()::TIMESTAMP);
            INSERT INTO question_revisions
            SELECT 5000000 + i, 4000000 + i, 1, 3000000 + i, 'question', 1.0, true, NULL, NULL, '[]', NULL, i, NULL
            FROM range({asked}) t(i);
            INSERT INTO grades BY NAME
            SELECT {grader} AS grader_key, 3000000 + r AS question_text_key, 1000000 + p AS passage_text_key,
                least(hash(p) % 6, greatest(0, (hash(p * 7919 + r) % 18)::INTEGER - 12)) AS rating,
                false AS defaulted, 0 AS job_key
            FROM range({queries}) t(q), range(q * {passages}, (q + 1) * {passages}) u(p),
                range(q * {QUESTIONS_A_QUERY}, (q + 1) * {QUESTIONS_A_QUERY}) v(r) ORDER BY q, p, r;
            INSERT INTO runs SELECT 6000000 + i, 'run-' || i, 'run', 'run' FROM range({runs}) t(i);
            INSERT INTO rankings
            SELECT 6000000 + s, 1000 + q,
                2000000 + q * {passages} + (hash(q * 1009 + s) % {passages} + rank * stride) % {passages},
                rank, 1000.0 - rank
            FROM range({queries}) t(q), (VALUES {strides}) v(s, stride), range(1, {DEPTH + 1}) u(rank);
            INSERT INTO sources VALUES (7000000, 'judgments');
            INSERT INTO judgments SELECT 7000000, 1000 + i // {passages}, 2000000 + i, (hash(i) % 4)::INTEGER
            FROM range({pooled}) t(i) WHERE i % 10 = 0;
        """)
        refresh_pool(cursor)
        log_action(cursor, "bench", "generate")
    return project
