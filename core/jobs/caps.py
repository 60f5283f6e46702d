"""Limits that a person sets for a job."""

from __future__ import annotations

from dataclasses import dataclass

PATIENCE = 3600.0
"""Default number of seconds for which a job waits for an endpoint that is gone."""
LONGEST_PATIENCE = 365 * 24 * PATIENCE
"""The most seconds that a job can be told to wait: a year."""


@dataclass(frozen=True, kw_only=True)
class Caps:
    """Limits of a job.

    Args:
        max_calls: most calls of the model, retries included; None for no limit.
        max_cost: most money, in the currency of the price table; None for no limit.
        concurrency: most calls in flight, for a model behind an endpoint.
        patience: seconds for which the job waits for an endpoint that is gone before it ends.
    """

    max_calls: int | None = None
    max_cost: float | None = None
    concurrency: int = 8
    patience: float = PATIENCE


UNCAPPED = Caps()


@dataclass(frozen=True, kw_only=True)
class Extent(Caps):
    """How much of the missing work a job does, within its caps.

    Args:
        limit: most results; all for None.
        retry_failed: whether failed results are asked again, too.
        only_failed: whether these are asked again and nothing else.
    """

    limit: int | None = None
    retry_failed: bool = False
    only_failed: bool = False

    def includes(self, known: bool, failed: bool) -> bool:
        """Return whether a result is to be asked.

        Args:
            known: whether it was asked before.
            failed: whether that failed.
        """
        if not known:
            return not self.only_failed
        return failed and (self.retry_failed or self.only_failed)


ALL_MISSING = Extent()
