"""The audited leaderboard: the grader's scores and scores corrected by judgments of a sample, with
intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..choices import AuditAim, AuditVariance
from ..measures import Coefficient, cohen_kappa, cross_table, known_or_none
from ..measures.audit import (
    Array,
    Comparisons,
    Estimates,
    Quality,
    Rate,
    compare_all_systems,
    composite_scores,
    decide_best,
    decide_better,
    decide_precise,
    estimate_sums,
    group_alike,
    group_bias,
    kendall_bounds,
    level_at,
    linear_measure,
    machine_bias,
    missing_bounds,
    simultaneous_intervals,
    true_correlation,
)
from ..store import Project, cached
from ..text import first_few
from ._audit_data import AuditNumbers, Estimation, estimate_gains, gather_facts
from ._audit_records import Audit
from ._calibration import label_quality
from ._grader_cards import find_circularity


@dataclass(frozen=True, kw_only=True)
class AuditedSystem:
    """A row of the audited leaderboard.

    Args:
        rank, machine_rank: ranks by the audited score and by the grader's score, from 1, equal for
            equal scores.
        audited: the unbiased score from the judgments. It is None before a batch is done, like the
            fields that depend on it.
        error, low, high: standard error and interval of the audited score by itself; None if the
            error is unknown, because no judged passage affects the score.
        worst_low, worst_high: the interval for the worst possible values of passages that people
            could not judge; None without such passages.
        machine: the score by the grader's labels.
        bias, bias_low, bias_high: the grader's score minus the audited score, with its interval.
            The interval is None if the audited score has no interval.
        order: rank from 1 by the scores of `measures.audit.composite_scores`, which have no
            intervals.
    """

    run: str
    rank: int | None = None
    audited: float | None = None
    error: float | None = None
    low: float | None = None
    high: float | None = None
    worst_low: float | None = None
    worst_high: float | None = None
    machine: float
    machine_rank: int
    bias: float | None = None
    bias_low: float | None = None
    bias_high: float | None = None
    order: int | None = None


@dataclass(frozen=True)
class Difference:
    """Two systems compared from the same sample.

    Args:
        value: score of the first system minus score of the second.
        low, high: interval of the difference by itself.
        p, adjusted: two-sided p value of no difference, and p after Holm's correction over all
            pairs of systems. These and the interval are None if no judged passage distinguishes the
            two.
    """

    first: str
    second: str
    value: float
    low: float | None
    high: float | None
    p: float | None
    adjusted: float | None


@dataclass(frozen=True)
class FamilyBias:
    """The bias of the grader towards systems that use its own model family, or the model family of
    the questions.

    Args:
        runs: these systems.
        value: the mean bias of these systems minus the mean bias of other systems, with its
            interval. The interval is None if the error is unknown.
    """

    runs: tuple[str, ...]
    value: float
    low: float | None
    high: float | None

    @property
    def description(self) -> str:
        """The finding as a sentence."""
        kin = (
            "Systems with the same model family as the grader or the questions:"
            f" {first_few(self.runs)}."
        )
        if self.low is None or self.high is None:
            return f"{kin} No judgments show yet if their scores are too high."
        interval = f"{self.value:+z.4f} [{self.low:+z.4f}, {self.high:+z.4f}]"
        if self.low > 0:
            return f"{kin} The grader favours these systems: {interval}."
        if self.high < 0:
            return f"{kin} The grader scores these systems too low: {interval}."
        return f"{kin} The grader's bias is not significant: {interval}."


@dataclass(frozen=True)
class Statement:
    """The conclusion of an audit on its goal.

    Args:
        holds: whether the conclusion can be drawn; None before a batch is done.
        says: the conclusion, or the progress towards it, as a sentence.
        look, looks: number of this look, and number of planned looks.
        level: the error that this look may spend; None if no look is left. If people look after
            every batch and stop at a conclusion, it is wrong in at most a share alpha of audits.
        may_stop: whether judging can stop.
    """

    holds: bool | None
    says: str
    look: int
    looks: int
    level: float | None
    may_stop: bool


def statement_of(facts: AuditNumbers, estimated: Estimation | None) -> Statement:
    """Return the conclusion of an audit after its finished batches. It is about exactly the queries
    of the audit.

    Args:
        estimated: the estimated gains; None before a batch is done.
    """
    if estimated is None:
        return Statement(None, "No batch is finished yet.", 0, facts.looks, None, False)
    look = len(estimated.batches)
    if facts.goal.aim == "budget":
        budget = facts.goal.budget or 0
        says = f"Judged: {estimated.corrected.judged:,} of about {budget:,}."
        # The number drawn is random, but the number requested is not.
        asked = sum(batch.size for batch in facts.batches if batch.done)
        spent = asked >= budget or not np.isnan(facts.judged).any()
        return Statement(spent, says, look, facts.looks, None, spent)
    if look > facts.looks:
        says = (
            f"All {facts.looks:,} planned looks are used. Plan another audit with this source to"
            " reuse its judgments."
        )
        return Statement(False, says, look, facts.looks, None, True)
    level = level_at(facts.alpha, facts.looks, look)
    holds, says = _KINDS[facts.goal.aim](facts, estimated, level)
    return Statement(holds, says, look, facts.looks, level, holds)


def _state_best(facts: AuditNumbers, estimated: Estimation, level: float) -> tuple[bool, str]:
    names = facts.weights.systems
    test = decide_best(facts.weights.w, estimated.corrected, level)
    scores = facts.weights.w @ estimated.corrected.gains
    order = sorted(test.systems, key=lambda at: -scores[at])
    if test.holds:
        return True, f"The best of {len(names):,} systems is {names[order[0]]}."
    return (
        False,
        f"{names[order[0]]} leads. Possibly as good: {first_few([names[at] for at in order[1:]])}.",
    )


def _state_pair(facts: AuditNumbers, estimated: Estimation, level: float) -> tuple[bool, str]:
    names = facts.weights.systems
    system, other = names.index(str(facts.goal.first)), names.index(str(facts.goal.second))
    test = decide_better(facts.weights.w, estimated.corrected, system, other, level)
    value = float(
        estimate_sums(facts.weights.w[system] - facts.weights.w[other], estimated.corrected).value[
            0
        ]
    )
    first, second = (names[system], names[other]) if value >= 0 else (names[other], names[system])
    if test.holds:
        return True, f"{first} is better than {second}, by {abs(value):.4f}."
    return (
        False,
        f"{first} leads {second} by {abs(value):.4f}, but the difference is not significant.",
    )


def _state_width(facts: AuditNumbers, estimated: Estimation, level: float) -> tuple[bool, str]:
    goal = float(facts.goal.half_width or 0.0)
    test = decide_precise(facts.weights.w, estimated.corrected, goal, level)
    halves = simultaneous_intervals(facts.weights.w, estimated.corrected, level).width / 2
    if np.isnan(halves).any():
        unknown = [facts.weights.systems[at] for at in np.flatnonzero(np.isnan(halves))]
        return False, (
            f"Scores with an interval wider than ±{goal:g}: {len(test.systems):,} of"
            f" {len(halves):,}."
            f" Unknown error, because no informative passage was judged: {first_few(unknown)}."
        )
    widest = int(np.argmax(halves))
    if test.holds:
        return (
            True,
            f"All scores are within ±{goal:g} (simultaneous intervals). The widest is"
            f" ±{halves[widest]:.4f}.",
        )
    return False, (
        f"Scores with an interval wider than ±{goal:g}: {len(test.systems):,} of {len(halves):,}."
        f" The widest is ±{halves[widest]:.4f}, for {facts.weights.systems[widest]}."
    )


_KINDS: Mapping[AuditAim, Callable[[AuditNumbers, Estimation, float], tuple[bool, str]]] = {
    "best": _state_best,
    "pair": _state_pair,
    "width": _state_width,
}


@dataclass(frozen=True)
class AuditBoard:
    """The results of an audit so far.

    Args:
        systems: the systems, best first by the audited score, or by the grader's score before a
            batch is done.
        groups: groups of runs that are not separated, best first; groups can overlap.
        differences: the difference of every two systems; empty before a batch is done.
        labels: accuracy of the grader's labels for the pool; None before a batch is done.
        statement: the conclusion on the goal.
        correlation: Pearson's correlation of the grader's leaderboard with a fully judged
            leaderboard, corrected for sampling noise; None before a batch is done.
        kendall: bounds of Kendall's tau with a fully judged leaderboard, from the separated pairs
            of systems; None before a batch is done, and with a single system.
        favour: see `FamilyBias`; None if no system, or every system, uses a model family of the
            grader or the questions.
        people: Cohen's kappa of first and second judgments; None without second judgments.
        frame, judged, known, missed: numbers of passages: in the audit, judged in finished batches,
            known before the first batch, and drawn without getting a value.
        waiting: number of passages in a batch that is not done; the leaderboard does not include
            them yet.
        variance: the scope of intervals: these queries (`pool`), or further similar queries
            (`queries`).
    """

    audit: str
    measure: str
    confidence: float
    variance: AuditVariance
    systems: list[AuditedSystem]
    groups: list[list[str]]
    differences: list[Difference]
    statement: Statement
    labels: Quality | None
    correlation: Rate | None
    kendall: tuple[float, float] | None
    favour: FamilyBias | None
    people: Coefficient | None
    batches: int
    frame: int
    judged: int
    known: int
    missed: int
    waiting: int

    @property
    def untested(self) -> list[str]:
        """The systems whose audited score has an unknown error."""
        return [one.run for one in self.systems if one.audited is not None and one.low is None]

    @property
    def description(self) -> str:
        """The numbers of judgments behind the leaderboard, as a sentence."""
        if not self.batches:
            return "Not audited: the error of these scores is unknown."
        waiting = f" Passages of the next batch to judge: {self.waiting:,}." if self.waiting else ""
        missed = f" Passages that could not be judged: {self.missed:,}." if self.missed else ""
        untested = (
            " Unknown error, because no informative passage was judged:"
            f" {first_few(self.untested)}."
            if self.untested
            else ""
        )
        batches = "1 batch" if self.batches == 1 else f"{self.batches:,} batches"
        return (
            f"{self.judged:,} judgments of {self.frame:,} passages in {batches}."
            f" Intervals: {self.confidence:.0%}.{missed}{untested}{waiting}"
        )


@cached()
def audit_board(project: Project, audit: Audit, variance: AuditVariance = "pool") -> AuditBoard:
    """Return the leaderboard of an audit from its current judgments.

    Args:
        variance: `pool` for intervals about exactly these queries; `queries` for wider intervals,
            for which these queries are a sample.
    """
    kin = find_circularity(project, audit.policy, audit.runs).kin
    return board_of(gather_facts(project, audit), variance, kin)


def board_of(
    facts: AuditNumbers, variance: AuditVariance = "pool", kin: Sequence[str] = ()
) -> AuditBoard:
    """Return the leaderboard of an audit, computed only from its facts; see `audit_board`.

    Args:
        kin: systems that use a model family of the grader or of the questions.
    """
    estimated = estimate_gains(facts)
    w, names = facts.weights.w, facts.weights.systems
    machine = w @ facts.machine
    confidence = 1 - facts.alpha
    waiting = sum(
        int((batch.drawn & np.isnan(batch.first)).sum())
        for batch in facts.batches
        if not batch.done
    )
    known_count = int((~np.isnan(facts.batches[0].known)).sum()) if facts.batches else 0
    common: dict[str, Any] = {
        "audit": facts.name,
        "measure": linear_measure(facts.measure).title,
        "confidence": confidence,
        "variance": variance,
        "frame": len(facts.weights.items),
        "known": known_count,
        "waiting": waiting,
        "people": _assessor_agreement(facts),
    }
    if estimated is None:
        ranks = _ranks_of(machine)
        rows = [
            AuditedSystem(run=name, machine=float(score), machine_rank=rank)
            for name, score, rank in zip(names, machine, ranks, strict=True)
        ]
        return AuditBoard(
            **common,
            systems=sorted(rows, key=lambda row: (-row.machine, row.run)),
            groups=[],
            differences=[],
            statement=statement_of(facts, None),
            labels=None,
            correlation=None,
            kendall=None,
            favour=None,
            batches=0,
            judged=0,
            missed=0,
        )
    how: Mapping[str, Any] = {
        "variance": variance,
        "queries": estimated.pool.queries,
        "confidence": confidence,
    }
    scores = estimate_sums(w, estimated.corrected, **how)
    compared = compare_all_systems(w, estimated.corrected, **how)
    bias = machine_bias(w, facts.machine, estimated.corrected, **how)
    members = np.isin(names, kin)
    favour = None
    if members.any() and not members.all():
        group_favour = group_bias(w, facts.machine, estimated.corrected, members, **how)
        favour = FamilyBias(
            tuple(kin),
            float(group_favour.value[0]),
            known_or_none(group_favour.low[0]),
            known_or_none(group_favour.high[0]),
        )
    systems = _audited_systems(estimated, scores, bias, machine, how)
    return AuditBoard(
        **common,
        systems=systems,
        groups=[
            [names[at] for at in group]
            for group in group_alike(scores.value, compared, facts.alpha)
        ],
        differences=_list_differences(names, compared),
        statement=statement_of(facts, estimated),
        labels=label_quality(facts, estimated),
        correlation=true_correlation(machine, w, estimated.corrected, confidence)
        if len(names) > 2
        else None,
        kendall=kendall_bounds(machine, compared, facts.alpha) if len(names) > 1 else None,
        favour=favour,
        batches=len(estimated.batches),
        judged=estimated.corrected.judged,
        missed=estimated.corrected.missed,
    )


def _ranks_of(values: Array) -> list[int]:
    """Return ranks from 1, best first; equal values have equal ranks."""
    return [1 + int((values > value + 1e-12).sum()) for value in values]


def _audited_systems(
    estimated: Estimation,
    scores: Estimates,
    bias: Estimates,
    machine: Array,
    how: Mapping[str, Any],
) -> list[AuditedSystem]:
    facts = estimated.facts
    names, w = facts.weights.systems, facts.weights.w
    worst: tuple[Array, Array] | None = None
    if estimated.corrected.missed:
        least, most = missing_bounds(
            estimated.batches,
            estimated.planned,
            estimated.gains,
            estimated.predicted,
            0.0,
            facts.top_gain,
        )
        worst = estimate_sums(w, least, **how).low, estimate_sums(w, most, **how).high
    ranks, machine_ranks = _ranks_of(scores.value), _ranks_of(machine)
    order = _ranks_of(composite_scores(machine, scores.value, scores.error))
    rows = [
        AuditedSystem(
            run=name,
            rank=ranks[i],
            audited=float(scores.value[i]),
            error=known_or_none(scores.error[i]),
            low=known_or_none(scores.low[i]),
            high=known_or_none(scores.high[i]),
            worst_low=None if worst is None else known_or_none(worst[0][i]),
            worst_high=None if worst is None else known_or_none(worst[1][i]),
            machine=float(machine[i]),
            machine_rank=machine_ranks[i],
            bias=float(bias.value[i]),
            bias_low=known_or_none(bias.low[i]),
            bias_high=known_or_none(bias.high[i]),
            order=order[i],
        )
        for i, name in enumerate(names)
    ]
    return sorted(rows, key=lambda row: (row.rank or 0, row.run))


def _list_differences(names: Sequence[str], compared: Comparisons) -> list[Difference]:
    difference = compared.difference
    # If the error is unknown, p only helps to correct the other pairs, so it is not shown.
    p, adjusted = (
        np.where(np.isnan(difference.error), np.nan, one) for one in (compared.p, compared.adjusted)
    )
    return [
        Difference(names[a], names[b], float(value), *map(known_or_none, numbers))
        for a, b, value, *numbers in zip(
            compared.first,
            compared.second,
            difference.value,
            difference.low,
            difference.high,
            p,
            adjusted,
            strict=True,
        )
    ]


def _assessor_agreement(facts: AuditNumbers) -> Coefficient | None:
    """Return the agreement of first and second judgments; None without second judgments."""
    pairs = [
        (int(first_value), int(other))
        for batch in facts.batches
        for first_value, other in zip(batch.first, batch.second, strict=True)
        if not np.isnan(first_value) and not np.isnan(other)
    ]
    if not pairs:
        return None
    values = sorted({value for pair in pairs for value in pair})
    return cohen_kappa(
        cross_table(
            [first_value for first_value, _ in pairs], [other for _, other in pairs], values, values
        )
    )
