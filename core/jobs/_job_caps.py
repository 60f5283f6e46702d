"""Limits that a person sets for a job."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..bank import prices
from ..errors import InputError
from ..graders import BackEnd, Control, Grader, OfferedEndpoint
from ..store import Project

PATIENCE = 3600.0
"""Default number of seconds for which a job waits for an unreachable endpoint."""
LONGEST_PATIENCE = 365 * 24 * PATIENCE
"""Longest allowed waiting time of a job, in seconds: a year."""


@dataclass(frozen=True, kw_only=True)
class Caps:
    """Limits of a job.

    Args:
        max_calls: maximum number of model calls, retries included; None for no limit.
        max_cost: maximum cost, in the currency of the price table; None for no limit.
        concurrency: maximum number of simultaneous calls, for a model behind an endpoint.
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
        limit: maximum number of results; None for all.
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


def job_control(
    project: Project,
    model: str,
    back_end: BackEnd | None,
    caps: Caps = UNCAPPED,
    report: Callable[[str], None] = lambda line: None,
    batch: bool = False,
    **options: Any,
) -> Control:
    """Return the control of a job that asks a model. Each limit is the lower of the person's and the owner's.

    Every model call starts here, so this is also where people whose role excludes spending are refused.

    Args:
        model: its name in the price table.
        back_end: the model; None if the job asks no model, so that no limit applies.
        report: called with a line for every failed call, and when the job waits for an endpoint.
        batch: whether calls have the batch price.
        options: further arguments of `Control`.

    Raises:
        InputError: money is limited and the model has no price.
        NotAllowed: the role of the person does not include asking models.
    """
    if back_end is None:
        return Control(concurrency=caps.concurrency, report=report, **options)
    project.require("ask models")
    offered: OfferedEndpoint | None = getattr(back_end, "offered", None)
    calls = [cap for cap in (caps.max_calls, offered.max_calls if offered else None) if cap is not None]
    costs = [cap for cap in (caps.max_cost, offered.max_cost if offered else None) if cap is not None]
    price = prices(project).get(model)
    if costs and price is None:
        raise InputError(
            "no-price",
            f"No price for {model}, so a cost limit cannot be kept.",
            "Set its price on the Grading screen or with exam prices set MODEL INPUT OUTPUT, or limit the calls.",
        )
    # Local models cost no money.
    endpoint = hasattr(type(back_end), "offered")
    return Control(
        min(calls, default=None),
        min(costs, default=None),
        price.in_batch if price and batch else price,
        caps.concurrency,
        report,
        patience=caps.patience,
        caller=f"{project.path} {project.caller}" if project.caller and endpoint else None,
        **options,
    )


def trial_control(project: Project, grader: Grader) -> Control:
    """Return the control for a person who waits for one call. Only the limits of the endpoint's owner apply.

    Raises:
        InputError: the owner has set a spending limit, but the model has no price.
    """
    # A person who waits can try again.
    return job_control(project, grader.spec.model, getattr(grader, "back_end", None), Caps(patience=0.0), attempts=1)
