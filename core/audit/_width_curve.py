"""Forecast of an audit before it is planned: the curve of widths, and the needed judgments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..bank import without_answered_by_topic
from ..errors import InputError
from ..labels import Policy, basis, label_qrels
from ..measures.audit import linear_measure
from ..records import SCALE, check_runs, run_names
from ..store import Project
from ._audit_data import Facts
from ._audit_plan import ALPHA, BATCH_SIZE, LOOKS, weights_from
from ._audit_records import Goal
from ._needed_judgments import Forecast, forecast_of


def foresee(
    project: Project,
    measure: str,
    goal: Goal,
    policy: Policy | None = None,
    *,
    runs: Sequence[str] = (),
    highest: int = max(SCALE),
    looks: int = LOOKS,
    alpha: float = ALPHA,
) -> Forecast:
    """Return the forecast of an audit with this plan, without using judgments; nothing is written.

    Existing judgments of a source are ignored. With them, the audit would need fewer judgments.

    Args:
        measure, goal, policy, runs, highest, looks, alpha: see `audit.design`.

    Raises:
        InputError: the measure is not linear in gains, a run or grader is unknown, or nothing can be audited.
    """
    linear = linear_measure(measure)
    base = basis(project, replace(policy or Policy(), overrides=False))
    chosen = check_runs(project, list(dict.fromkeys(runs))) if runs else run_names(project)
    for run in (goal.first, goal.second):
        if run is not None and run not in chosen:
            raise InputError(
                "goal-run-not-audited",
                f"Run '{run}' of the goal is not among the systems of the audit.",
                "Add it to the systems of the audit, or change the goal.",
            )

    def compute() -> Forecast:
        labels = label_qrels(project, base)
        queries = without_answered_by_topic(project, labels)
        ranks = [
            (run, query, passage, rank)
            for run, query, passage, rank in project.rows(
                "SELECT name, query_id, passage_id, rank FROM rankings JOIN runs USING (run_key)"
                " JOIN queries USING (query_key) JOIN passages USING (passage_key)"
                " WHERE rank <= ? AND list_contains(?, name) AND list_contains(?, query_id)"
                " ORDER BY run_key, query_id, rank, passage_id",
                [linear.cutoff, chosen, queries],
            )
        ]
        if not ranks:
            raise InputError(
                "no-labelled-queries",
                "The runs rank no passages for queries with labels.",
                "Import runs for these queries, or grade passages first.",
            )
        weights = weights_from(ranks, chosen, linear, len(queries))
        return forecast_of(
            Facts(
                name="",
                measure=linear.name,
                goal=goal,
                source="",
                batch_size=BATCH_SIZE,
                looks=looks,
                alpha=alpha,
                seed=0,
                ranks=ranks,
                weights=weights,
                labels=np.array([labels.get(query, {}).get(passage, np.nan) for query, passage in weights.items]),
                top_rating=base.grader.spec.max_rating,
                min_rating=base.min_rating,
                min_judgment=(policy or Policy()).min_judgment,
                top_judgment=highest,
                columns={},
                batches=[],
            )
        )

    key = ("audit foreseen", linear.name, goal, policy, tuple(chosen), highest, looks, alpha)
    return project.cached(key, compute)
