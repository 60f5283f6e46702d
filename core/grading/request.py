"""What a grading job is asked to do."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ..jobs import Caps
from ..types import Question
from .scope import EVERYTHING, Scope


@dataclass(frozen=True)
class Request(Caps):
    """What a grading job is asked to do.

    Args:
        scope: which of the missing pairs are asked.
        bank_version: whose active questions are graded; the newest for None.
        trial: questions to grade instead of the bank's, as a draft words them: grades are about texts,
            so what is graded before saving is known after it. None for the bank's.
        batch: whether the calls go in batches, which an endpoint answers within a day at a lower price.
        batch_size: calls of a batch at most; as many as the protocol allows for None.
    """

    scope: Scope = EVERYTHING
    bank_version: int | None = None
    trial: tuple[Question, ...] | None = None
    batch: bool = False
    batch_size: int | None = None


def asked_of(request: Request) -> dict[str, Any]:
    """What the record of a job keeps of its request."""
    given = asdict(request.scope) | {name: getattr(request, name) for name in ("max_calls", "max_cost", "concurrency")}
    asked = {name: value for name, value in given.items() if value not in (None, False)}
    return asked if request.trial is None else asked | {"trial": len(request.trial)}
