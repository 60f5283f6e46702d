"""Which of the missing pairs a grading job is about."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Scope:
    """Which of the pairs that a bank version needs are asked.

    Args:
        queries: ids of the queries to grade; all for None.
        runs: names of the runs of whose rankings the pooled passages are graded; the whole pool for None.
        top: rank down to which each of these runs is graded, or each run if `runs` is None; the pool depth for None.
        retry_failed: whether failed pairs are asked again, beside the ungraded ones.
        only_failed: whether failed pairs are asked again and nothing else is.
        limit: at most this many pairs are asked.
    """

    queries: tuple[str, ...] | None = None
    runs: tuple[str, ...] | None = None
    retry_failed: bool = False
    only_failed: bool = False
    limit: int | None = None
    top: int | None = None

    @property
    def states(self) -> tuple[str, ...]:
        """The states of the pairs that are asked."""
        if self.only_failed:
            return ("failed",)
        return ("ungraded", "failed") if self.retry_failed else ("ungraded",)


EVERYTHING = Scope()
"""All that is ungraded."""
