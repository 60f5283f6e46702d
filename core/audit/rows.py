"""Rows of an audited leaderboard: one system, a pair of systems, and the systems of the grader's model family."""

from __future__ import annotations

from dataclasses import dataclass

from ..text import first_few


@dataclass(frozen=True)
class AuditedSystem:
    """A row of the audited leaderboard.

    Args:
        rank, machine_rank: from 1, equal for equal scores; `rank` by the audited score.
        audited: the score from the judgments, unbiased; None before a batch is done, as are the fields that depend on
            it.
        error, low, high: its standard error, and its own interval; None if the error is unknown, because no judged
            passage affects the score.
        worst_low, worst_high: the same for the worst values of passages that people could not judge; None without such
            passages.
        machine: the score by the grader's labels.
        bias, bias_low, bias_high: the grader's score less the audited one, with its interval; that is None if the
            audited score has no interval.
        order: rank from 1 by scores whose residuals are shrunk to their common shift; without an interval.
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
        value: score of the first minus that of the second, with its own interval.
        low, high, p, adjusted: None if no judged passage distinguishes the two.
        p, adjusted: two-sided p value of no difference; the same after Holm over all pairs of systems.
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
    """Whether the grader favours systems with its own model family, or that of the questions' authors.

    Args:
        runs: those systems.
        value: their mean bias minus that of the others, with its interval; that is None if the error is unknown.
    """

    runs: tuple[str, ...]
    value: float
    low: float | None
    high: float | None

    @property
    def says(self) -> str:
        """The finding in words."""
        kin = f"Systems with the same model family as the grader or the questions: {first_few(self.runs)}."
        if self.low is None or self.high is None:
            return f"{kin} No judgments show yet if their scores are too high."
        interval = f"{self.value:+z.4f} [{self.low:+z.4f}, {self.high:+z.4f}]"
        if self.low > 0:
            return f"{kin} The grader favours these systems: {interval}."
        if self.high < 0:
            return f"{kin} The grader scores these systems too low: {interval}."
        return f"{kin} The grader's bias is not significant: {interval}."
