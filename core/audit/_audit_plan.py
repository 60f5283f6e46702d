"""Planning of audits: goal, systems, measure and current ranks; the end of batches and audits."""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..bank import find_grader, without_answered_by_topic
from ..choices import AUDIT_ALPHA
from ..errors import InputError, check_not_empty, check_rules
from ..formats import LARGEST
from ..labels import DEFAULT_POLICY, Policy, basis, label_qrels
from ..measures.audit import LinearMeasure, Weights, linear_measure
from ..records import SCALE, check_new, check_runs, judged_values, run_names
from ..store import Project, as_name, log_action
from ._audit_records import Audit, Goal, find_audit, list_batches

BATCH_SIZE, LOOKS = 100, 4
"""Default number of passages per batch, and default number of batches."""
LARGEST_SEED = 2**31 - 1

DESIGN, END_AUDIT, END_BATCH = "design audit", "end audit", "end audit batch"


def in_batches(goal: Goal, batch_size: int | None, looks: int | None) -> tuple[int, int]:
    """Return the number of passages per batch, and the maximum number of batches.

    Args:
        batch_size: passages per batch. None means the goal's budget divided by the looks, or
            `BATCH_SIZE` without a budget.
        looks: number of batches after which the leaderboard may be inspected. None means the number
            that the budget needs, or `LOOKS` without a budget.
    """
    if goal.budget:
        looks = looks or (-(-goal.budget // batch_size) if batch_size else 1)
        return batch_size or -(-goal.budget // looks), looks
    return batch_size or BATCH_SIZE, looks or LOOKS


def design_audit(
    project: Project,
    name: str,
    measure: str,
    goal: Goal,
    policy: Policy = DEFAULT_POLICY,
    *,
    runs: Sequence[str] = (),
    graders: Sequence[str] = (),
    source: str | None = None,
    highest: int | None = None,
    batch_size: int | None = None,
    looks: int | None = None,
    alpha: float = AUDIT_ALPHA,
    seed: int | None = None,
    author: str,
) -> Audit:
    """Plan an audit of the current ranks, which are stored. No passages are drawn yet.

    The audit has the queries of the grader's leaderboard. Overrides do not count, because people
    gave them after seeing the grader's ratings. With them, the ratings would influence the
    predictions twice.

    Args:
        name: name of the audit.
        measure: P@k, mean judgment@k (DCG weights; DCG@k is an alias), or RBP(p=0.8)@k.
        policy: policy of the grader's leaderboard.
        runs: the systems; empty for all.
        graders: graders whose ratings predict judgments, in addition to the policy's grader.
        source: source that gets the judgments; its existing judgments are known. None for `audit:
            NAME`.
        highest: greatest possible judgment; None means the greatest of the source, or else 3.
        batch_size, looks: see `in_batches`.
        alpha: error that is spent over the looks.
        seed: determines, with the chances, which passages are drawn; None for a random seed.

    Raises:
        InputError: the name is empty or taken, the measure is not linear in gains; a run or grader
            is unknown; labels are missing; or a number is out of range.
    """
    project.require("plan audits", author=author)
    name = check_not_empty(
        "empty-name", "The name of the audit is empty.", "Give the audit a name.", as_name(name)
    )
    linear = linear_measure(measure)
    base = basis(project, replace(policy, overrides=False))
    resolved = replace(
        base.policy, grader=base.grader.spec.fingerprint, bank_version=base.version, overrides=False
    )
    further = [find_grader(project, one).spec.fingerprint for one in graders]
    chosen = check_runs(project, list(dict.fromkeys(runs))) if runs else run_names(project)
    check_goal(goal, chosen)
    queries = without_answered_by_topic(project, label_qrels(project, base))
    if not queries:
        raise InputError(
            "no-labels",
            "Nothing to audit: no passage has a label yet.",
            "Grade passages first: exam grade",
        )
    batch_size, looks = in_batches(goal, batch_size, looks)
    source_name = source or f"audit: {name}"
    highest = max(judged_values(project, source_name) or SCALE) if highest is None else highest
    seed = secrets.randbelow(LARGEST_SEED) if seed is None else seed
    check_rules(
        (
            not 1 <= highest <= LARGEST,
            InputError(
                "judgment-out-of-range",
                f"Highest judgment {highest} is out of range.",
                f"Use a number from 1 to {LARGEST:,}.",
            ),
        ),
        (
            not 0 < alpha < 1,
            InputError(
                "level-out-of-range",
                f"Alpha {alpha} is not between 0 and 1.",
                "Use 0.05 for a 5% risk of a wrong conclusion.",
            ),
        ),
        (
            looks < 1 or batch_size < 1,
            InputError(
                "batch-size-out-of-range",
                f"Cannot plan {looks} batches of {batch_size} passages.",
                "Use at least 1 batch and 1 passage per batch.",
            ),
        ),
        (
            not 0 <= seed <= LARGEST_SEED,
            InputError(
                "seed-out-of-range",
                f"Seed {seed} is out of range.",
                f"Use a whole number from 0 to {LARGEST_SEED:,}.",
            ),
        ),
    )
    with project.transaction(act="plan audits", author=author) as cursor:
        if cursor.execute("SELECT 1 FROM audits WHERE name = ?", [name]).fetchall():
            raise InputError(
                "name-taken", f"An audit named '{name}' already exists.", "Choose another name."
            )
        check_new(cursor, "source", [source_name])
        key = cursor.execute(
            "INSERT INTO audits VALUES"
            " (nextval('keys'), ?, ?, ?, ?::VARCHAR[], ?, ?, ?, ?, ?, ?, ?, ?, now()::TIMESTAMP)"
            " RETURNING audit_key",
            [
                name,
                linear.title,
                json.dumps(resolved.as_dict()),
                list(dict.fromkeys([base.grader.spec.fingerprint, *further])),
                json.dumps(goal.as_dict(), ensure_ascii=False),
                source_name,
                highest,
                batch_size,
                looks,
                alpha,
                seed,
                as_name(author),
            ],
        ).fetchall()[0][0]
        for table, row, column, names in (
            ("runs", "run_key", "name", chosen),
            ("queries", "query_key", "query_id", queries),
        ):
            cursor.execute(
                f"INSERT INTO audit_{table} SELECT $key, {row}, list_position($names, {column})"
                f" FROM {table} WHERE list_contains($names, {column}) ORDER BY 3",
                {"key": key, "names": names},
            )
        cursor.execute(
            "INSERT INTO audit_ranks SELECT audit_key, run_key, query_key, passage_key, rank"
            " FROM rankings JOIN audit_runs USING (run_key) JOIN audit_queries"
            " USING (audit_key, query_key) WHERE audit_key = ? AND rank <= ? ORDER BY ALL",
            [key, linear.cutoff],
        )
        if not cursor.execute(
            "SELECT count(*) FROM audit_ranks WHERE audit_key = ?", [key]
        ).fetchall()[0][0]:
            raise InputError(
                "no-labelled-queries",
                "The runs rank no passages for queries with labels.",
                "Import runs for these queries.",
            )
        log_action(
            cursor,
            author,
            DESIGN,
            name=name,
            measure=linear.title,
            goal=goal.description,
            runs=len(chosen),
        )
    return find_audit(project, name)


def check_goal(goal: Goal, chosen: Sequence[str]) -> None:
    """Refuse systems that do not fit a goal.

    Raises:
        InputError: no systems, a single one for a comparison, or not those that the goal names.
    """
    check_rules(
        (
            not chosen,
            InputError("no-runs", "No runs to audit.", "Import runs: exam import runs FILE..."),
        ),
        (
            goal.aim in ("best", "pair") and len(chosen) < 2,
            InputError(
                "single-system",
                "A comparison needs at least two systems.",
                "Name two runs or more, or choose another goal.",
            ),
        ),
        *(
            (
                run is not None and run not in chosen,
                InputError(
                    "goal-run-not-audited",
                    f"Run '{run}' of the goal is not part of the audit.",
                    f"Add --run {run}.",
                ),
            )
            for run in (goal.first, goal.second)
        ),
    )


def end_batch(project: Project, audit: Audit, author: str) -> None:
    """End the newest batch before all passages are judged. The unjudged passages then count as
    "cannot say".

    Raises:
        InputError: the newest batch is not open, or has no judgments.
    """
    existing = list_batches(project, audit)
    if not existing or existing[-1].done:
        raise InputError(
            "no-open-batch",
            f"The audit '{audit.name}' has no open batch to end.",
            f"See exam audit status {audit.option}.",
        )
    if not existing[-1].judged:
        raise InputError(
            "nothing-judged-in-batch",
            f"Batch {existing[-1].number} has no judgments yet.",
            "Judge some of its passages before you end it.",
        )
    with project.transaction(act="plan audits", author=author) as cursor:
        cursor.execute(
            "INSERT INTO audit_ends VALUES (nextval('keys'), ?, ?, ?, now()::TIMESTAMP)",
            [audit.key, existing[-1].key, as_name(author)],
        )
        log_action(
            cursor,
            author,
            END_BATCH,
            audit=audit.name,
            batch=existing[-1].number,
            unjudged=existing[-1].open,
        )


def end_audit(project: Project, audit: Audit, author: str) -> None:
    """End an audit: no further passages are drawn or judged. Its leaderboard stays. Repeated calls
    have no effect.
    """
    if audit.ended:
        return
    with project.transaction(act="plan audits", author=author) as cursor:
        cursor.execute(
            "INSERT INTO audit_ends VALUES (nextval('keys'), ?, NULL, ?, now()::TIMESTAMP)",
            [audit.key, as_name(author)],
        )
        log_action(cursor, author, END_AUDIT, audit=audit.name)


@dataclass(frozen=True)
class DrawableCounts:
    """Numbers of passages that can be drawn.

    Args:
        passages: number of all these passages.
        without_text: number of passages that are known only by their id, and cannot be judged here.
    """

    passages: int
    without_text: int


def count_texts(project: Project, audit: Audit) -> DrawableCounts:
    """Return the number of passages that can be drawn, and of those without a text."""
    row = project.rows(
        "SELECT count(*), count(*) FILTER (text_key IS NULL)"
        " FROM (SELECT DISTINCT query_key, passage_key"
        " FROM audit_ranks WHERE audit_key = ?) JOIN passages USING (passage_key)",
        [audit.key],
    )[0]
    return DrawableCounts(*row)


Ranked = tuple[str, str, str, int]
"""(run, query id, passage id, rank from 1)."""


def ranks_of(project: Project, audit: Audit) -> list[Ranked]:
    """Return the ranks of passages at the time when the audit was planned."""
    return [
        (run, query, passage, rank)
        for run, query, passage, rank in project.rows(
            "SELECT name, query_id, passage_id, rank FROM audit_ranks JOIN runs USING (run_key)"
            " JOIN audit_runs a USING (audit_key, run_key) JOIN queries USING (query_key)"
            " JOIN passages USING (passage_key) WHERE audit_key = ?"
            " ORDER BY a.position, query_id, rank, passage_id",
            [audit.key],
        )
    ]


def weights_from(
    ranks: Sequence[Ranked], runs: Sequence[str], measure: LinearMeasure, queries: int
) -> Weights:
    """Return rank weights of runs over the union of their passages. Ranks that a run lacks have no
    weight.

    A run's weight on a passage is the discount of the passage's rank, divided by the number of
    queries. So a query that a run skipped counts 0.

    Args:
        ranks: ranks down to the measure's cutoff.
        queries: number of queries in the mean.
    """
    items = tuple(sorted({(query, passage) for _, query, passage, _ in ranks}))
    column = {item: i for i, item in enumerate(items)}
    row = {run: i for i, run in enumerate(runs)}
    discounts = measure.discounts() / queries
    w = np.zeros((len(row), len(items)))
    for run, query, passage, rank in ranks:
        w[row[run], column[query, passage]] = discounts[rank - 1]
    return Weights(tuple(runs), items, w, queries)
