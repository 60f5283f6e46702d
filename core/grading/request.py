"""What a grading job is asked to do."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ..types import Question
from .scope import EVERYTHING, Scope

PATIENCE = 3600.0
"""Seconds for which a job waits for an endpoint that is gone, where nobody says otherwise."""
LONGEST_PATIENCE = 365 * 24 * PATIENCE
"""Seconds for which it can be told to wait at most: a year."""


@dataclass(frozen=True)
class Request:
    """What a job is asked to do.

    Args:
        scope: which of the missing pairs are asked.
        bank_version: whose active questions are graded; the newest for None.
        max_calls: calls of the model at most, retries included.
        max_cost: money at most, in the currency of the price table.
        concurrency: calls in flight at most, for a model behind an endpoint.
        trial: questions to grade instead of the bank's, as a draft words them: grades are about texts,
            so what is graded before saving is known after it. None for the bank's.
        batch: whether the calls go in batches, which an endpoint answers within a day at a lower price.
        batch_size: calls of a batch at most; as many as the protocol allows for None.
        patience: seconds for which an endpoint that is gone is waited for before the job ends.
    """

    scope: Scope = EVERYTHING
    bank_version: int | None = None
    max_calls: int | None = None
    max_cost: float | None = None
    concurrency: int = 8
    trial: tuple[Question, ...] | None = None
    batch: bool = False
    batch_size: int | None = None
    patience: float = PATIENCE


def asked_of(request: Request) -> dict[str, Any]:
    """What the record of a job keeps of its request."""
    given = asdict(request.scope) | {name: getattr(request, name) for name in ("max_calls", "max_cost", "concurrency")}
    asked = {name: value for name, value in given.items() if value not in (None, False)}
    return asked if request.trial is None else asked | {"trial": len(request.trial)}
