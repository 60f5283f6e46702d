"""Rows of an audited leaderboard: one system, a pair of systems, and the systems of the grader's model family."""

from __future__ import annotations

from dataclasses import dataclass

from ..text import first_few


@dataclass(frozen=True)
class AuditedSystem:
    """A row of the audited leaderboard.

    Args:
        rank, machine_rank: ranks by the audited score and by the grader's score, from 1, equal for equal scores.
        audited: the unbiased score from the judgments. It is None before a batch is done, like the fields that depend
            on it.
        error, low, high: standard error and interval of the audited score by itself; None if the error is unknown,
            because no judged passage affects the score.
        worst_low, worst_high: the interval for the worst possible values of passages that people could not judge; None
            without such passages.
        machine: the score by the grader's labels.
        bias, bias_low, bias_high: the grader's score minus the audited score, with its interval. The interval is None
            if the audited score has no interval.
        order: rank from 1 by the scores of `measures.audit.composite`, which have no intervals.
    """

    run: str
    rank: int | None
    audited: float | None
    error: float | None
    low: float | None
    high: float | None
    worst_low: float | None
    worst_high: float | None
    machine: float
    machine_rank: int
    bias: float | None
    bias_low: float | None
    bias_high: float | None
    order: int | None


@dataclass(frozen=True)
class Difference:
    """Two systems compared from the same sample.

    Args:
        value: score of the first system minus score of the second.
        low, high: interval of the difference by itself.
        p, adjusted: two-sided p value of no difference, and p after Holm's correction over all pairs of systems. These
            and the interval are None if no judged passage distinguishes the two.
    """

    first: str
    second: str
    value: float
    low: float | None
    high: float | None
    p: float | None
    adjusted: float | None


@dataclass(frozen=True)
class Favour:
    """The bias of the grader towards systems that use its own model family, or the model family of the questions.

    Args:
        runs: these systems.
        value: the mean bias of these systems minus the mean bias of other systems, with its interval. The interval is
            None if the error is unknown.
    """

    runs: tuple[str, ...]
    value: float
    low: float | None
    high: float | None

    @property
    def says(self) -> str:
        """The finding as a sentence."""
        kin = f"Systems with the same model family as the grader or the questions: {first_few(self.runs)}."
        if self.low is None or self.high is None:
            return f"{kin} No judgments show yet if their scores are too high."
        interval = f"{self.value:+z.4f} [{self.low:+z.4f}, {self.high:+z.4f}]"
        if self.low > 0:
            return f"{kin} The grader favours these systems: {interval}."
        if self.high < 0:
            return f"{kin} The grader scores these systems too low: {interval}."
        return f"{kin} The grader's bias is not significant: {interval}."
