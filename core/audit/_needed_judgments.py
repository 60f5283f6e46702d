"""Forecast of the judgments that an audit needs: width of intervals by judgments, with and without
a grader.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..bank import without_answered_by_topic
from ..choices import AUDIT_ALPHA
from ..errors import InputError
from ..labels import DEFAULT_POLICY, Policy, basis, label_qrels
from ..measures.audit import (
    Array,
    Flags,
    estimate_sums,
    expected_spread,
    expected_width,
    guessed_spread,
    judgments_needed,
    judgments_to_separate,
    level_at,
    linear_measure,
    residual_spread,
)
from ..records import SCALE, check_runs, run_names
from ..store import Project
from ._audit_data import (
    AuditNumbers,
    Estimation,
    estimate_gains,
    gather_facts,
    values_of,
    weigh_passages,
)
from ._audit_plan import BATCH_SIZE, LOOKS, check_goal, weights_from
from ._audit_records import Audit, Goal
from ._audited_leaderboard import AuditBoard, audit_board

POINTS = 15
"""Number of points of the curve."""
LEAST = 20
"""Number of judgments at the beginning of the curve."""


@dataclass(frozen=True)
class Width:
    """A point of the curve.

    Args:
        judgments: total number of judgments.
        width: expected width of intervals. For the goal `pair`, it is that of the difference. For
            `best`, it is the median over the differences from the leader. For other goals, it is
            the median over the scores.
        without_machine: this width without predictions from graders.
        uniform: this width without predictions, and with equal chances for all passages.
    """

    judgments: int
    width: float
    without_machine: float
    uniform: float


@dataclass(frozen=True)
class Forecast:
    """The expected needs of an audit.

    Args:
        curve: expected widths by rising numbers of judgments.
        made: number of judgments so far.
        width: current width of intervals; None before a batch is done.
        needed: total number of judgments expected for the goal; None if unknown, as for equal
            systems.
        frame: number of passages that could be drawn, and so the maximum number of judgments.
        guessed: whether the spread of judgments is a guess, because nothing has been judged yet.
        given: whether the goal is a number of judgments.
    """

    curve: list[Width]
    made: int
    width: float | None
    needed: int | None
    frame: int
    guessed: bool
    given: bool

    @property
    def description(self) -> str:
        """The needed judgments, as a sentence."""
        needed, frame, done_count = (
            self.needed or 0,
            f"{self.frame:,} passages",
            f"Judged so far: {self.made:,}.",
        )
        guess = (
            " This forecast rests on labels only. The first batch makes it more reliable."
            if self.guessed
            else ""
        )
        cases = (
            (self.needed is None, "The number of judgments that this goal needs is unknown."),
            (
                self.given and needed > self.frame,
                f"To judge: All {frame} (fewer than the budget). {done_count}{guess}",
            ),
            (self.given, f"To judge: {needed:,} of {frame}. {done_count}{guess}"),
            (
                self.made >= needed,
                f"Judged: {self.made:,} of {frame}. The expected need was {needed:,}.",
            ),
            (needed >= self.frame, f"All {frame} need a judgment.{guess}"),
            (True, f"About {needed:,} of {frame} need a judgment. {done_count}{guess}"),
        )
        return next(sentence for applies, sentence in cases if applies)


def forecast_audit(project: Project, audit: Audit) -> Forecast:
    """Return the forecast of an audit from current data."""
    return project.cached(
        ("audit forecast", audit.key), lambda: forecast_of(gather_facts(project, audit))
    )


def forecast_of(facts: AuditNumbers) -> Forecast:
    """Return the forecast of an audit, computed only from its facts; see `forecast_audit`."""
    estimated, plain = estimate_gains(facts), estimate_gains(facts, machine=False)
    is_known = (
        ~np.isnan(facts.batches[0].known)
        if facts.batches
        else np.zeros(len(facts.weights.items), bool)
    )
    frame = int((~is_known).sum())
    size = weigh_passages(facts)
    spread, without = _gain_spreads(facts, estimated, plain)
    rows = _weight_rows(facts, estimated)
    # If everything was known before, there is nothing to forecast.
    budgets = (
        np.unique(np.geomspace(min(LEAST, frame), frame, POINTS).round().astype(int)).tolist()
        if frame
        else []
    )
    confidence = 1 - facts.alpha
    learnt = size * (spread if isinstance(spread, np.ndarray) else 1.0)
    widths = expected_width(rows, learnt, spread, budgets, known=is_known, confidence=confidence)
    machineless = expected_width(
        rows, size, without, budgets, known=is_known, confidence=confidence
    )
    flat = expected_width(
        rows, np.ones_like(size), without, budgets, known=is_known, confidence=confidence, floor=1.0
    )
    curve = [
        Width(int(n), *(float(np.median(one)) for one in (with_machine, no_machine, uniform)))
        for n, with_machine, no_machine, uniform in zip(
            budgets, widths, machineless, flat, strict=True
        )
    ]
    now = None
    if estimated is not None:
        present_widths = estimate_sums(rows, estimated.corrected, confidence=confidence).width
        known_widths = present_widths[~np.isnan(present_widths)]
        now = float(np.median(known_widths)) if len(known_widths) else None
    made = 0 if estimated is None else estimated.corrected.judged
    needed = _count_needed(facts, estimated, learnt, spread, is_known)
    return Forecast(
        curve, made, now, needed, frame, guessed=estimated is None, given=facts.goal.aim == "budget"
    )


@dataclass(frozen=True)
class Outcome:
    """The outcome of an audit so far.

    Args:
        reached: whether the goal is reached; None before a batch is done.
        conclusion: the conclusion on the goal, as a sentence.
        decides: whether the conclusion is about which system is better, so that it says more than
            the separated pairs.
        leader: the system with the highest audited score.
        unseparated: number of the best systems that are not separated, from 1.
        more: expected number of further judgments that separate the best two systems, or the two of
            the goal; None if it is unknown, or if all passages are judged.
        pairs, separated: numbers of pairs of systems, and of separated ones, at the audit's alpha
            after Holm's correction over all pairs.
    """

    reached: bool | None
    conclusion: str
    decides: bool
    leader: str
    unseparated: int
    more: int | None
    pairs: int
    separated: int

    @property
    def description(self) -> str:
        """The outcome and the next step, in two sentences."""
        if self.reached is None:
            return "Not audited yet. The error of these scores is unknown."
        needed = f"about {self.more or 0:,} more judgments would separate"
        further = f" {needed.capitalize()} them." if self.more and not self.reached else ""
        which = "them" if self.unseparated == 2 else "the best two"
        more = f"; {needed} {which}" if self.more else ""
        cases = (
            (self.decides, f"{self.conclusion}{further}"),
            (self.unseparated < 2 and not self.pairs, ""),
            (self.unseparated < 2, f"{self.leader} is separated from the other systems."),
            (not self.separated, f"No two systems are separated{more}."),
            (True, f"The top {self.unseparated:,} are not separated{more}."),
        )
        outcome = next(sentence for applies, sentence in cases if applies)
        return f"Target {'reached' if self.reached else 'not reached'}. {outcome}".strip()


def audit_outcome(project: Project, audit: Audit) -> Outcome:
    """Return the outcome of an audit from current data."""
    return project.cached(
        ("audit outcome", audit.key),
        lambda: outcome_of(gather_facts(project, audit), audit_board(project, audit)),
    )


def outcome_of(facts: AuditNumbers, board: AuditBoard) -> Outcome:
    """Return the outcome of an audit, computed only from its facts; see `audit_outcome`.

    Args:
        board: leaderboard from the same facts.
    """
    statement, pairs, leader = board.statement, board.differences, board.systems[0].run
    separated = sum(one.adjusted is not None and one.adjusted <= facts.alpha for one in pairs)
    aim, more = facts.goal.aim, None
    if pairs:
        expected = forecast_of(facts if aim == "pair" else replace(facts, goal=Goal("best")))
        # Beyond the passages of the audit, no further judgment helps.
        more = min(expected.needed or 0, expected.frame) - expected.made
    return Outcome(
        statement.holds,
        statement.says,
        aim == "pair" or (aim == "best" and bool(statement.holds)),
        leader,
        max((len(group) for group in board.groups if leader in group), default=1),
        more if more and more > 0 else None,
        len(pairs),
        separated,
    )


def _weight_rows(facts: AuditNumbers, estimated: Estimation | None) -> Array:
    """Return the weights of the quantities with intervals: all scores, or the differences that
    decide the goal.
    """
    goal, w = facts.goal, facts.weights
    if goal.aim == "pair":
        one, other = (w.systems.index(str(name)) for name in (goal.first, goal.second))
        return np.asarray(w.w[one] - w.w[other])[None]
    if goal.aim == "best":
        leader = int(np.argmax(_current_scores(facts, estimated)))
        return np.delete(w.w[leader] - w.w, leader, axis=0)
    return w.w


def _current_scores(facts: AuditNumbers, estimated: Estimation | None) -> Array:
    scores: Array = facts.weights.w @ (
        facts.machine if estimated is None else estimated.corrected.gains
    )
    return scores


def _gain_spreads(
    facts: AuditNumbers, estimated: Estimation | None, plain: Estimation | None
) -> tuple[Array | float, float]:
    """Return the spread of gains around predictions, with and without graders; a guess without
    judgments.
    """
    if estimated is None or plain is None:
        return guessed_spread(0.0, facts.top_gain)
    with_machine = (
        residual_spread(estimated.batches, estimated.planned, estimated.gains, estimated.predicted)
        or 0.0
    )
    without = residual_spread(plain.batches, plain.planned, plain.gains, plain.predicted) or 0.0
    each = expected_spread(
        estimated.pool, estimated.batches, estimated.planned, estimated.gains, estimated.predicted
    )
    # If too few were judged to distinguish passages, all get the observed spread.
    return (each if np.ptp(each) > 0 else with_machine), without


def _count_needed(
    facts: AuditNumbers,
    estimated: Estimation | None,
    size: Array,
    spread: Array | float,
    is_known: Flags,
) -> int | None:
    goal, w = facts.goal, facts.weights.w
    if goal.aim == "budget":
        return goal.budget
    level = level_at(facts.alpha, facts.looks, facts.looks)
    if goal.aim == "width":
        each = 1 - level / len(w)
        return judgments_needed(
            w, size, spread, 2 * float(goal.half_width or 0.0), known=is_known, confidence=each
        )
    scores = _current_scores(facts, estimated)
    if goal.aim == "pair":
        names: Sequence[str] = facts.weights.systems
        system, other = names.index(str(goal.first)), names.index(str(goal.second))
        level_each = level
    else:
        system, other = np.argsort(-scores, kind="stable")[:2].tolist()
        # One-sided, against each other system; see `measures.audit.decide_best`.
        level_each = min(1.0, 2 * level / (len(w) - 1))
    difference = float(scores[system] - scores[other])
    if abs(difference) < 1e-12:
        return None
    return judgments_to_separate(
        w[system] - w[other], size, spread, difference, known=is_known, confidence=1 - level_each
    )


def forecast_plan(
    project: Project,
    measure: str,
    goal: Goal,
    policy: Policy = DEFAULT_POLICY,
    *,
    runs: Sequence[str] = (),
    highest: int = max(SCALE),
    looks: int = LOOKS,
    alpha: float = AUDIT_ALPHA,
) -> Forecast:
    """Return the forecast of an audit with this plan, without using judgments; nothing is written.

    Existing judgments of a source are ignored. With them, the audit would need fewer judgments.

    Args:
        measure, goal, policy, runs, highest, looks, alpha: see `audit.design_audit`.

    Raises:
        InputError: the measure is not linear in gains, a run or grader is unknown, or nothing can
            be audited.
    """
    linear = linear_measure(measure)
    base = basis(project, replace(policy, overrides=False))
    chosen = check_runs(project, list(dict.fromkeys(runs))) if runs else run_names(project)
    check_goal(goal, chosen)

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
            AuditNumbers(
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
                labels=values_of(labels, weights.items),
                top_rating=base.grader.spec.max_rating,
                min_rating=base.min_rating,
                min_judgment=policy.min_judgment,
                top_judgment=highest,
                columns={},
                batches=[],
            )
        )

    key = ("audit foreseen", linear.name, goal, policy, tuple(chosen), highest, looks, alpha)
    return project.cached(key, compute)
