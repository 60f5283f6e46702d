"""Running a cascade: the sample first, then what it says is to be asked again; only what is missing is ever asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from core.cascade.calibrating import calibrate
from core.cascade.facts import Facts, gather
from core.cascade.records import Cascade
from core.catalogue import find_grader, grader_again, how_to_grade
from core.errors import InputError
from core.graders import Control, Grader
from core.grading import Plan, PriceTag, Progress, Request, Scope, make_control, make_plan, price_tag, run_job
from core.labels import basis
from core.project import Project

Part = Literal["sample", "escalated", "baseline"]
PARTS: tuple[Part, Part] = ("sample", "escalated")
"""What a cascade asks, in this order."""


@dataclass(frozen=True)
class Portion:
    """Some of the passages that the expensive grader could be asked, and what that takes.

    Args:
        name: sample, escalated, baseline (the union of what systems have within the cutoff) or pool.
        passages: how many; None for the escalated before the sample is graded, since that says how many.
        plan: in pairs of question and passage; None likewise.
        price: of what is missing; None where it is not known how the grader is asked, and likewise.
    """

    name: str
    passages: int | None
    plan: Plan | None
    price: PriceTag | None


def grader_of(project: Project, cascade: Cascade) -> Grader:
    """The expensive grader, ready to be asked.

    Raises:
        InputError: how it is asked is not known, as for grades that were imported.
    """
    spec = find_grader(project, cascade.expensive).spec
    if (found := grader_again(project, spec)) is None:
        raise InputError(
            "grader-without-requests",
            f"The expensive grader of '{cascade.name}' cannot be asked here.",
            how_to_grade(project, spec),
        )
    return found


def portions(project: Project, cascade: Cascade, grader: Grader | None = None) -> list[Portion]:
    """What the cascade asks of the expensive grader, and what would be asked without one: the price tag.

    Args:
        grader: the expensive one, for prices; without prices for None.
    """
    facts = gather(project, cascade)
    found = [_portion(project, cascade, "sample", facts, facts.learned + facts.tested > 0, grader)]
    if facts.sample_open:
        found.append(Portion("escalated", None, None, None))
    else:
        found.append(
            _portion(project, cascade, "escalated", facts, calibrate(project, cascade).decision.escalated, grader)
        )
    found.append(_portion(project, cascade, "baseline", facts, facts.depth > 0, grader))
    found.append(_portion(project, cascade, "pool", facts, np.ones(len(facts.codes), bool), grader))
    return found


def _portion(
    project: Project, cascade: Cascade, name: str, facts: Facts, chosen: NDArray[np.bool_], grader: Grader | None
) -> Portion:
    base, scope = basis(project, cascade.policy), Scope(passages=facts.pairs(chosen))
    return Portion(
        name,
        int(chosen.sum()),
        make_plan(project, base.grader.spec, base.version, scope),
        None if grader is None else price_tag(project, grader, base.version, scope),
    )


def request_of(project: Project, cascade: Cascade, part: Part, request: Request) -> Request | None:
    """What a job is to ask of the expensive grader for a part of a cascade.

    Args:
        part: sample, escalated, or baseline (the union of what systems have within the cutoff).
        request: caps, calls at once, and whether failed pairs are asked again.

    Returns:
        None where nothing of the part is missing, and of the escalated before the sample has said what they are.
    """
    facts = gather(project, cascade)
    if part == "sample":
        chosen = facts.learned + facts.tested > 0
    elif part == "baseline":
        chosen = facts.depth > 0
    elif facts.sample_open:
        return None
    else:
        chosen = calibrate(project, cascade).decision.escalated
    base = basis(project, cascade.policy)
    asked = replace(
        request,
        scope=replace(request.scope, passages=facts.pairs(chosen)),
        bank_version=cascade.policy.bank_version,
    )
    # A job with nothing to ask would only be noise on record.
    return asked if make_plan(project, base.grader.spec, base.version, asked.scope).to_grade else None


def run(
    project: Project,
    cascade: Cascade,
    grader: Grader,
    request: Request,
    author: str,
    report: Callable[[str, Progress], None] = lambda part, progress: None,
    control: Control | None = None,
) -> dict[str, Progress]:
    """Grade the sample with the expensive grader, and then what that says is to be asked again.

    Stopped at any moment, it goes on where it was: what has a grade is never asked again, whichever job gave it.

    Args:
        request: caps and the number of calls at once, over both portions together; its scope says whether failed pairs
            are asked again.
        report: is told of the progress of `sample` and `escalated` after every commit.
        control: the reins; made of the request for None.

    Returns:
        The final progress by part; without those of which nothing was missing, and without `escalated` where the sample
        was not finished.

    Raises:
        InputError: the grader is not the cascade's.
    """
    if cascade.expensive not in grader.spec.fingerprints:
        raise InputError(
            "not-the-expensive-grader",
            f"'{grader.spec.name}' is not the expensive grader of '{cascade.name}'.",
            "Plan another cascade with it.",
        )
    control = control or make_control(project, grader, request)
    done: dict[str, Progress] = {}

    def told(part: str) -> Callable[[Progress], None]:
        return lambda progress: report(part, progress)

    for name in PARTS:
        if (asked := request_of(project, cascade, name, request)) is None:
            continue
        done[name] = run_job(project, grader, asked, author, told(name), control)
        if done[name].state != "done":
            break
    return done
