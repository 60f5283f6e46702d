"""Comparison of a job's estimated and billed cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..graders import Usage
from ..jobs import jobs
from ..project import Project
from ..text import how_many
from .price_tag import PriceTag


def told_of(tag: PriceTag, batch: bool = False) -> dict[str, Any]:
    """Return the numbers of a price tag, as the record of a job stores them.

    Args:
        batch: whether the calls are sent as batches, at their price.
    """
    return {
        "calls": tag.calls,
        "input_tokens": tag.input_tokens,
        "cached_tokens": tag.cached_tokens,
        "output_tokens": tag.output_tokens,
        "thinking_tokens": tag.thinking_tokens,
        "cost": tag.batch_cost if batch else tag.cost,
    }


def billed(told: Mapping[str, Any] | None, usage: Usage) -> str:
    """Return a sentence that compares billed and estimated usage; empty without calls or without an estimate.

    Args:
        told: result of `told_of`; None for a job of earlier versions.
        usage: usage of the job.
    """
    if not told or not usage.calls:
        return ""
    now = {
        "calls": usage.calls,
        "input_tokens": usage.input_tokens,
        "cached_tokens": usage.cached_tokens,
        "output_tokens": usage.output_tokens,
        "thinking_tokens": usage.thinking_tokens,
        "cost": usage.cost if told.get("cost") is not None else None,
    }
    return f"Billed: {_sum(now)}. Estimated: {_sum(told)}."


@dataclass(frozen=True)
class Bill:
    """Estimated and billed usage of a job so far.

    Args:
        job, grader, state: facts of the job.
        told: calls, tokens and cost by name, as `told_of` returns them; the cost is None without a price.
        billed: the billed usage, by the same names.
        tokens_off: billed tokens (read and written) divided by estimated ones, minus 1; None before any are billed.
    """

    job: int
    grader: str
    state: str
    told: Mapping[str, Any]
    billed: Mapping[str, Any]
    tokens_off: float | None


def bills(project: Project) -> list[Bill]:
    """Return estimated and billed usage for each job that used an endpoint, newest first.

    The bill of a job that was stopped early, or that waits for batches, is lower than its estimate.
    """
    found = []
    for job in jobs(project, "grading"):
        if not (told := job.request.get("told")):
            continue
        billed: dict[str, Any] = {
            "calls": job.calls or 0,
            "input_tokens": job.input_tokens or 0,
            "cached_tokens": job.cached_tokens or 0,
            "output_tokens": job.output_tokens or 0,
            "thinking_tokens": job.thinking_tokens or 0,
            "cost": job.cost if told.get("cost") is not None else None,
        }
        before = told["input_tokens"] + told["output_tokens"]
        taken = billed["input_tokens"] + billed["output_tokens"]
        off = taken / before - 1 if before and taken else None
        found.append(Bill(job.key, job.name, job.state, told, billed, off))
    return found


def _sum(of: Mapping[str, Any]) -> str:
    cached = f" ({of['cached_tokens']:,} cached)" if of.get("cached_tokens") else ""
    thinking = f" ({of['thinking_tokens']:,} thinking)" if of.get("thinking_tokens") else ""
    cost = of.get("cost")
    money = "" if cost is None else f", cost {cost:,.4f}" if cost < 1 else f", cost {cost:,.2f}"
    return (
        f"{how_many(of['calls'], 'calls')}, {of['input_tokens']:,} tokens read{cached} and"
        f" {of['output_tokens']:,} written{thinking}{money}"
    )
