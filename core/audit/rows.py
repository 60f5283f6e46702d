"""What an audited board says of one system, of two, and of those that are made with the machine's own family."""

from __future__ import annotations

from dataclasses import dataclass

from ..text import first_few


@dataclass(frozen=True)
class AuditedSystem:
    """A row of the audited board.

    Args:
        rank, machine_rank: from 1, equal for equal scores; `rank` by the audited score.
        audited: the score that the judgments give, unbiased; None before a batch is done, as everything of it.
        error, low, high: its standard error, and its interval by itself; None where people judged none of the passages
            that it ranks and that can be off: nothing says how far the score is.
        worst_low, worst_high: the same whatever the values of passages of which people could not say; None where
            there are none.
        machine: the score by the machine's labels.
        bias, bias_low, bias_high: how much the machine's score lies above the audited one, with its interval; that is
            None where the audited score has none.
        order: place from 1 in the order of the scores whose residuals are shrunk to their common shift; it has no
            interval.
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
        value: score of the first minus that of the second, with the interval of this difference by itself.
        low, high, p, adjusted: None where people judged no passage by which the two differ: nothing tells them apart.
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
    """Whether the machine gains the systems that are made with its own family, or that of who wrote the questions.

    Args:
        runs: those systems.
        value: their mean bias minus that of the others, with its interval; that is None where nothing says how far the
            value may be off.
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
