"""Requests for grading jobs."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ..jobs import Caps
from ..types import Question


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
        passages: (query id, passage id) of the pooled passages to grade; None for all. Unknown ones are ignored.
        sentences: whether to grade the sentences that cite, instead of pooled passages: see `missing_pairs`.
    """

    queries: tuple[str, ...] | None = None
    runs: tuple[str, ...] | None = None
    retry_failed: bool = False
    only_failed: bool = False
    limit: int | None = None
    top: int | None = None
    passages: tuple[tuple[str, str], ...] | None = None
    sentences: bool = False

    @property
    def states(self) -> tuple[str, ...]:
        if self.only_failed:
            return ("failed",)
        return ("ungraded", "failed") if self.retry_failed else ("ungraded",)


EVERYTHING = Scope()
"""All ungraded pairs."""


@dataclass(frozen=True)
class Request(Caps):
    """Request for a grading job.

    Args:
        scope: selection of the missing pairs.
        bank_version: bank version whose active questions are graded; None for the newest.
        trial: drafted questions to grade instead of the bank's; None for the bank's. Grades belong to texts, so grades
            of a draft stay valid after it is saved.
        batch: whether the calls are sent in batches, which an endpoint answers within a day at a lower price.
        batch_size: maximum number of calls per batch; None for the maximum of the protocol.
    """

    scope: Scope = EVERYTHING
    bank_version: int | None = None
    trial: tuple[Question, ...] | None = None
    batch: bool = False
    batch_size: int | None = None


def asked_of(request: Request) -> dict[str, Any]:
    """Return the facts of a request that the record of a job stores."""
    given = asdict(request.scope) | {name: getattr(request, name) for name in ("max_calls", "max_cost", "concurrency")}
    asked = {name: value for name, value in given.items() if value not in (None, False)}
    return asked if request.trial is None else asked | {"trial": len(request.trial)}
