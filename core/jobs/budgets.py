"""Controls of jobs: a person's caps, within those that the owner of an endpoint has set."""

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
    """Return the control of a job that asks a model, with the lower ones of a person's caps and the owner's.

    Every call of a model begins here, so that it is refused here to a person whose role does not include spending.

    Args:
        model: its name in the price table.
        back_end: the model; None if none is asked, so that no cap applies.
        report: gets a line for every call that failed, and when the job waits for an endpoint.
        batch: whether the calls have the price of calls in a batch.
        options: further arguments of `Control`.

    Raises:
        InputError: money is capped and the model has no price.
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
    # A model on this computer costs no money.
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
    """Return the control for a person who asks a grader once and waits: only the owner of the endpoint caps it.

    Raises:
        InputError: the owner caps the money, and the model has no price.
    """
    # A person who waits can ask again.
    at_once = Caps(patience=0.0)
    return job_control(project, grader.spec.model, getattr(grader, "back_end", None), at_once, attempts=1)
