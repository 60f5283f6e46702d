"""The score of a run by verdicts on its answers: what failed is left out and counted, what the run skipped is 0."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from ..means import mean_and_standard_error

Outcome = float | None
"""Of one query: 1 yes, 0 no, or a number between; None where the comparison failed."""


@dataclass(frozen=True)
class Scored:
    """A mean over queries with what it rests on.

    Args:
        mean: None where no query counts.
        error: sample standard deviation / sqrt(n); None with fewer than two queries.
        queries: n, those that count, the skipped ones among them.
        failed: those whose comparison failed, which are left out.
        skipped: those that the run did not answer, which count 0.
        waiting: those that have not been compared yet, which are left out.
    """

    mean: float | None
    error: float | None
    queries: int
    failed: int
    skipped: int
    waiting: int

    @property
    def complete(self) -> bool:
        """Whether every query counts."""
        return not self.failed and not self.waiting


def score(outcomes: Mapping[str, Outcome], queries: Collection[str], skipped: Collection[str] = ()) -> Scored:
    """Mean over queries of what a judge said.

    Source: llm-reteval specification, section 4.4.

    Args:
        outcomes: by query id; None where the comparison failed, absent where there was none yet.
        queries: those that have gold passages; others in `outcomes` do not count.
        skipped: of these, those that the run has no passage for: each is 0, whatever else is known of it.
    """
    wanted = set(queries)
    left_out = wanted & set(skipped)
    asked = {query: outcomes[query] for query in sorted(wanted - left_out) if query in outcomes}
    values = [float(one) for one in asked.values() if one is not None]
    mean, error = mean_and_standard_error([*values, *(0.0 for _ in left_out)])
    counted = len(values) + len(left_out)
    waiting = len(wanted) - len(left_out) - len(asked)
    return Scored(mean, error, counted, len(asked) - len(values), len(left_out), waiting)
