"""Limits that a person sets for a job."""

from __future__ import annotations

from dataclasses import dataclass

PATIENCE = 3600.0
"""Default number of seconds for which a job waits for an unreachable endpoint."""
LONGEST_PATIENCE = 365 * 24 * PATIENCE
"""Longest allowed waiting time of a job, in seconds: a year."""


@dataclass(frozen=True, kw_only=True)
class Caps:
    """Limits of a job.

    Args:
        max_calls: most model calls, retries included; None for no limit.
        max_cost: most money, in the currency of the price table; None for no limit.
        concurrency: most simultaneous calls, for a model behind an endpoint.
        patience: seconds for which the job waits for an unreachable endpoint before it ends.
    """

    max_calls: int | None = None
    max_cost: float | None = None
    concurrency: int = 8
    patience: float = PATIENCE


UNCAPPED = Caps()


@dataclass(frozen=True, kw_only=True)
class Extent(Caps):
    """Selection of the missing work that a job does, within its limits.

    Args:
        limit: most results; None for all.
        retry_failed: whether to ask again for failed results, too.
        only_failed: whether to ask for failed results only.
    """

    limit: int | None = None
    retry_failed: bool = False
    only_failed: bool = False

    def includes(self, known: bool, failed: bool) -> bool:
        """Return whether the job asks for a result.

        Args:
            known: whether it was asked before.
            failed: whether that call failed.
        """
        if not known:
            return not self.only_failed
        return failed and (self.retry_failed or self.only_failed)


ALL_MISSING = Extent()
