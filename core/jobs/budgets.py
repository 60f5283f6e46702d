"""Controls of jobs: a person's limits, combined with those of the endpoint's owner."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..catalogue import prices
from ..errors import InputError
from ..graders import BackEnd, Control, Grader, OfferedEndpoint
from ..project import Project
from .caps import UNCAPPED, Caps


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
        InputError: the owner limits the money, and the model has no price.
    """
    # A person who waits can try again.
    at_once = Caps(patience=0.0)
    return job_control(project, grader.spec.model, getattr(grader, "back_end", None), at_once, attempts=1)
