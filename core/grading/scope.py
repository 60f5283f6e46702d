"""Selection of the missing pairs of a grading job."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Scope:
    """Selection among the pairs that a bank version needs.

    Args:
        queries: ids of the queries to grade; None for all.
        runs: names of the runs whose pooled passages are graded; None for the whole pool.
        top: rank down to which each of these runs is graded, or each run if `runs` is None; None for the pool depth.
        retry_failed: whether to ask for failed pairs again, in addition to ungraded ones.
        only_failed: whether to ask for failed pairs only.
        limit: maximum number of pairs.
    """

    queries: tuple[str, ...] | None = None
    runs: tuple[str, ...] | None = None
    retry_failed: bool = False
    only_failed: bool = False
    limit: int | None = None
    top: int | None = None

    @property
    def states(self) -> tuple[str, ...]:
        if self.only_failed:
            return ("failed",)
        return ("ungraded", "failed") if self.retry_failed else ("ungraded",)


EVERYTHING = Scope()
"""All ungraded pairs."""
