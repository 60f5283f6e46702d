"""What letting a model answer may take: a person's caps, within those that the owner of its endpoint has set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..catalogue import prices
from ..errors import InputError
from ..graders import BackEnd, Control, Grader, OfferedEndpoint, Price
from ..project import Project
from .request import Request


@dataclass(frozen=True)
class Budget:
    """Caps, and the price by which money is counted.

    Args:
        max_calls: calls at most, retries included; None for no cap.
        max_cost: money at most, in the currency of the price table; None for no cap.
        price: of the model; None where the table has none.
        caller: the login or token whose calls of a day are limited; None for no limit.
    """

    max_calls: int | None
    max_cost: float | None
    price: Price | None
    caller: str | None = None


def budget(
    project: Project, model: str, back_end: BackEnd | None, max_calls: int | None = None, max_cost: float | None = None
) -> Budget:
    """The caps under which a model is asked: of a person's and the owner's the lower ones.

    Every call of a model begins here, so that it is refused here to a person whose role does not include spending.

    Args:
        model: its name in the price table.
        back_end: the model; None where none is asked.
        max_calls, max_cost: the person's caps; None for none.

    Raises:
        InputError: money is capped and the model has no price.
        NotAllowed: the role of the person does not include asking models.
    """
    if back_end is not None:
        project.require("ask models")
    offered: OfferedEndpoint | None = getattr(back_end, "offered", None)
    calls = [cap for cap in (max_calls, offered.max_calls if offered else None) if cap is not None]
    costs = [cap for cap in (max_cost, offered.max_cost if offered else None) if cap is not None]
    price = prices(project).get(model)
    if costs and price is None:
        raise InputError(
            "no-price",
            f"No price for {model}, so a cost limit cannot be kept.",
            "Set its price on the Grading screen or with exam prices set MODEL INPUT OUTPUT, or limit the calls.",
        )
    # A model on this computer costs no money.
    caller = f"{project.path} {project.caller}" if project.caller and hasattr(type(back_end), "offered") else None
    return Budget(min(calls, default=None), min(costs, default=None), price, caller)


def job_control(
    project: Project,
    model: str,
    back_end: BackEnd | None,
    max_calls: int | None = None,
    max_cost: float | None = None,
    concurrency: int = Request.concurrency,
    report: Callable[[str], None] = lambda line: None,
    patience: float = Request.patience,
    batch: bool = False,
    **options: Any,
) -> Control:
    """The reins of a job that asks a model: its caps, how many calls at once, and how long it waits for an endpoint.

    Args:
        model: its name in the price table.
        back_end: the model; None where none is asked, so that no cap is in the way.
        max_calls, max_cost: the person's caps; None for none.
        concurrency: calls in flight at most, for a model behind an endpoint.
        report: is told one line for every call that failed, and when an endpoint is waited for.
        patience: seconds for which an endpoint that is gone is waited for.
        batch: whether the calls cost what they cost in a batch.
        options: further arguments of `Control`.

    Raises:
        InputError: money is capped and the model has no price.
    """
    if back_end is None:
        return Control(concurrency=concurrency, report=report)
    caps = budget(project, model, back_end, max_calls, max_cost)
    return Control(
        caps.max_calls,
        caps.max_cost,
        caps.price.in_batch if caps.price and batch else caps.price,
        concurrency,
        report,
        patience=patience,
        caller=caps.caller,
        **options,
    )


def trial_control(project: Project, grader: Grader) -> Control:
    """The reins where a person asks a grader once and waits: nobody caps anything but the owner of the endpoint.

    Raises:
        InputError: the owner caps the money, and the model has no price.
    """
    # A person who waits can ask again.
    return job_control(project, grader.spec.model, getattr(grader, "back_end", None), patience=0.0, attempts=1)
