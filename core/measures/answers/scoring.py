"""The score of a run from verdicts on its answers: failures are left out and counted, skipped queries are 0."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from ..means import mean_and_standard_error

Outcome = float | None
"""The result of one query: 1 yes, 0 no, or a number between; None if the comparison failed."""


@dataclass(frozen=True)
class Scored:
    """A mean over queries and the numbers of queries behind it.

    Args:
        mean: None if no query counts.
        error: sample standard deviation / sqrt(n); None with fewer than two queries.
        queries: n, the queries that count, including the skipped ones.
        failed: queries whose comparison failed; they are left out.
        skipped: queries that the run did not answer; they count 0.
        waiting: queries that have not been compared yet; they are left out.
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
    """Return the mean over queries of an answer check's verdicts.

    Source: llm-reteval specification, section 4.4.

    Args:
        outcomes: by query id; None if the comparison failed, absent if it is still to be done.
        queries: the queries with gold passages; other queries in `outcomes` do not count.
        skipped: queries of these for which the run has no passage: each counts 0, even if it has an outcome.
    """
    wanted = set(queries)
    left_out = wanted & set(skipped)
    asked = {query: outcomes[query] for query in sorted(wanted - left_out) if query in outcomes}
    values = [float(one) for one in asked.values() if one is not None]
    mean, error = mean_and_standard_error([*values, *(0.0 for _ in left_out)])
    counted = len(values) + len(left_out)
    waiting = len(wanted) - len(left_out) - len(asked)
    return Scored(mean, error, counted, len(asked) - len(values), len(left_out), waiting)
