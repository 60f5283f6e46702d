"""Estimate of a grading job's calls, tokens, cost and time, from a sample of its pairs."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeVar

from rapidfuzz.distance import Prefix

from ..bank import grader_key, model_prices
from ..graders import (
    BackEnd,
    Call,
    Completion,
    Grader,
    Pair,
    PairsToGrade,
    ReadingGrader,
    Tokens,
    Usage,
    fill_prompt,
    grader_endpoint,
    is_remote,
    order_pairs,
)
from ..jobs import find_jobs
from ..store import Project
from ..text import how_many
from ._grader_checks import pairs_again
from ._needed_pairs import EVERYTHING, Scope, pairs_to_grade, with_texts
from ._offline_grading import with_kept_replies

CHARACTERS_A_TOKEN = 4
"""Estimated number of characters per token, for estimates without the model's tokenizer; about
right for English.
"""
CACHED_FROM, CACHED_STEP = 1024, 128
"""Minimum and step of the cached tokens of a prompt at OpenAI (its guide to prompt caching, "How it
works").

Other endpoints cache shorter prefixes, such as the blocks of 16 tokens of vLLM.
"""


def read_before(prompts: Sequence[str], least: int = CACHED_FROM, step: int = CACHED_STEP) -> float:
    """Return the share of the tokens that were read with the prompt before, from 0 to 1; 0 for
    fewer than two prompts.

    Args:
        prompts: prompts in the order in which they are asked.
        least: minimum number of shared tokens that counts.
        step: step by which the counted tokens grow.
    """
    tokens = [Prefix.similarity(*two) // CHARACTERS_A_TOKEN for two in pairwise(prompts)]
    kept = sum(least + (number - least) // step * step for number in tokens if number >= least)
    total = sum(len(prompt) // CHARACTERS_A_TOKEN + 1 for prompt in prompts)
    return kept / total if total else 0.0


Called = TypeVar("Called")
SAMPLE = 200
STRETCHES, STRETCH = 4, 32
"""Number of stretches and of consecutive pairs per stretch, for the estimate of cached tokens."""
WRITTEN = {"rating": 6, "yes-no": 6, "letter": 6, "span": 0, "likelihood": 0}
"""Tokens of a short answer, by its form."""
WRITTEN_JSON = 10
"""Tokens of a JSON answer with a schema, including the line breaks and blanks that models add."""
TYPICAL_ANSWER = "about three times as much as in the year before"
WRITTEN_TEXT = 30
"""Tokens of a text answer, which is a phrase or sentence."""


@dataclass(frozen=True)
class PriceTag:
    """Estimated usage of a job.

    Args:
        pairs: number of pairs to ask.
        calls: number of model calls, without retries.
        input_tokens, output_tokens: numbers of tokens read and written.
        cost: in the currency of the price table; None if the model has no price there.
        seconds: by the rate of this grader's earlier jobs; None without any.
        counted: whether the model's own tokenizer counted; if not, tokens are estimated from
            characters.
        thinking_tokens: reasoning tokens among those written: by earlier jobs of the grader, or the
            limit of the model without such jobs.
        cached_tokens: cached tokens among those read, by OpenAI's rule: a prompt shares at least
            `prefixes.CACHED_FROM` tokens with the one before. If the price table has a price for
            them, the cost uses it.
        batch_cost: cost as batches; None if the model has no price, or its calls cannot be batched.
        sentinels: pairs that the drift watch asks again, in addition to `pairs`. Their calls,
            tokens and cost are included.
    """

    pairs: int
    calls: int
    input_tokens: int
    output_tokens: int
    cost: float | None
    seconds: float | None
    counted: bool
    thinking_tokens: int = 0
    cached_tokens: int = 0
    batch_cost: float | None = None
    sentinels: int = 0


def price_tag(
    project: Project, grader: Grader, version: int, scope: Scope = EVERYTHING
) -> PriceTag:
    """Estimate the usage of a job.

    For a grader that checks answers with a second call, the estimate assumes that every answer is
    checked.

    Args:
        version: bank version whose active questions are asked.
        scope: selection of the missing pairs.

    Raises:
        InputError: a run is unknown.
    """
    groups = pairs_to_grade(project, grader.spec, version, scope)
    return price_of_pairs(project, grader, [pair for group in groups for pair in group])


def price_of_pairs(project: Project, grader: Grader, pairs: Sequence[Pair]) -> PriceTag:
    """Estimate the usage of asking about some pairs; see `price_tag`."""
    seconds = time_needed(project, grader, len(pairs))
    grader = with_kept_replies(project, grader, asking=False)
    if not isinstance(grader, ReadingGrader) or not pairs:
        return PriceTag(len(pairs), 0, 0, 0, 0.0, seconds, True)
    sample = random.Random(0).sample(list(pairs), min(SAMPLE, len(pairs)))
    texts = with_texts(project, grader.spec, sample)
    sampled = [call for pair in texts.pairs for call in _typical_calls(grader, texts, pair)]
    counts = [_count_tokens(grader, call) for call in sampled]
    read, counted = sum(tokens for tokens, _ in counts), all(exact for _, exact in counts)
    written = sum(_written_tokens(grader, call) for call in sampled)
    sentinels = pairs_again(project, grader.spec)
    scale = (len(pairs) + sentinels) / len(sample)
    calls = len(sampled) * scale
    thinking = round(calls * _thinking_per_call(project, grader))
    cached = round(read * scale * _read_before(project, grader, pairs))
    total = Tokens(round(read * scale), round(written * scale) + thinking, cached, thinking)
    price = model_prices(project).get(grader.spec.model)
    cost = None if price is None else price.cost_of(*total)
    batch_cost = None
    if price is not None and cost is not None and is_remote(grader):
        # The drift watch and the first call have the full price.
        alone = sentinels / (len(pairs) + sentinels) + 1 / max(round(calls), 1)
        batch_cost = cost * (price.batch + (1 - price.batch) * min(alone, 1))
    return PriceTag(
        len(pairs),
        round(calls),
        total.read,
        total.written,
        cost,
        seconds,
        counted,
        thinking,
        total.cached,
        batch_cost,
        sentinels,
    )


def _read_before(project: Project, grader: ReadingGrader, pairs: Sequence[Pair]) -> float:
    """Return the share of tokens that an endpoint reads with the prompt before; 0 if local."""
    if not is_remote(grader):
        return 0.0
    shares: list[float] = []
    for number in range(STRETCHES if len(pairs) > STRETCH else 1):
        begin = number * max(len(pairs) - STRETCH, 0) // max(STRETCHES - 1, 1)
        stretch = order_pairs(grader, pairs[begin : begin + STRETCH])
        texts = with_texts(project, grader.spec, stretch)
        shares.append(read_before([first_prompt(grader, texts, pair) for pair in stretch]))
    return sum(shares) / len(shares)


def first_prompt(grader: ReadingGrader, texts: PairsToGrade, pair: Pair) -> str:
    """Return the prompt of a pair's first call, as one text; empty if the pair needs no call."""
    calls = _typical_calls(grader, texts, pair)
    return fill_prompt(calls[0].prompt, calls[0].values, calls[0].fence).joined() if calls else ""


def _thinking_per_call(project: Project, grader: ReadingGrader) -> float:
    """Return the reasoning tokens per call: the mean of this grader's earlier jobs, else the limit
    of the model.
    """
    room = grader_endpoint(grader).endpoint.thinking if is_remote(grader) else 0
    if not room:
        return 0.0
    tokens_per_call = project.value(
        "SELECT sum(thinking_tokens) / sum(calls) FROM jobs"
        " JOIN graders ON subject_key = grader_key"
        " WHERE fingerprint = ? AND thinking_tokens IS NOT NULL HAVING sum(calls) >= 20",
        [grader.spec.fingerprint],
    )
    return float(room if tokens_per_call is None else tokens_per_call)


def _typical_calls(grader: ReadingGrader, texts: PairsToGrade, pair: Pair) -> list[Call]:
    """Return the calls for a pair if the model gives a typical answer."""
    calls: list[Call] = []
    steps = grader.next_steps(pair, texts.questions[pair[0]], texts.passages[pair[1]])
    with suppress(StopIteration):
        calls.append(next(steps))
        calls.append(steps.send(Completion(TYPICAL_ANSWER)))
    return calls


def _written_tokens(grader: ReadingGrader, call: Call) -> int:
    in_json = call.form in ("rating", "yes-no", "letter") and getattr(
        grader.back_end, "dialect", {}
    ).get("structured")
    return WRITTEN_JSON if in_json else WRITTEN.get(call.form, WRITTEN_TEXT)


def _count_tokens(grader: ReadingGrader, call: Call) -> tuple[int, bool]:
    text = (
        call.values["context"]
        if call.form == "span"
        else fill_prompt(call.prompt, call.values, call.fence).joined()
    )
    counted = grader.back_end.count_tokens(text)
    return (len(text) // CHARACTERS_A_TOKEN + 1, False) if counted is None else (counted, True)


def time_needed(project: Project, grader: Grader, pairs: int) -> float | None:
    """Return the seconds for some pairs by the rate of this grader's earlier jobs; None without
    enough of them.
    """
    rate = project.value(
        "SELECT sum(done + failed) / sum(epoch(ended_at - started_at)"
        " - coalesce(json_extract(request, '$.paused_seconds')::DOUBLE, 0)) FROM jobs"
        " WHERE subject_key = ?"
        # Waiting for batches and imported answers say nothing about the speed of calls. The end of
        # an interrupted job is unknown.
        " AND state NOT IN ('imported', 'interrupted')"
        " AND json_extract(request, '$.batch') IS NULL"
        " AND json_extract(request, '$.elsewhere') IS NULL"
        " AND ended_at > started_at HAVING sum(done + failed) >= 20",
        [project.read(lambda cursor: grader_key(cursor, grader.spec))],
    )
    return pairs / rate if rate else None


def estimate_record(tag: PriceTag, batch: bool = False) -> dict[str, Any]:
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


def billing_sentence(estimate: Mapping[str, Any] | None, usage: Usage) -> str:
    """Return a sentence that compares billed and estimated usage; empty without calls or without an
    estimate.

    Args:
        estimate: result of `estimate_record`; None for a job of earlier versions.
        usage: usage of the job.
    """
    if not estimate or not usage.calls:
        return ""
    now = {
        "calls": usage.calls,
        "input_tokens": usage.input_tokens,
        "cached_tokens": usage.cached_tokens,
        "output_tokens": usage.output_tokens,
        "thinking_tokens": usage.thinking_tokens,
        "cost": usage.cost if estimate.get("cost") is not None else None,
    }
    return f"Billed: {_usage_text(now)}. Estimated: {_usage_text(estimate)}."


@dataclass(frozen=True)
class Bill:
    """Estimated and billed usage of a job so far.

    Args:
        job, grader, state: facts of the job.
        told: calls, tokens and cost by name, as `estimate_record` returns them; the cost is None
            without a price.
        billed: the billed usage, by the same names.
        tokens_off: billed tokens (read and written) divided by estimated ones, minus 1; None before
            any are billed.
    """

    job: int
    grader: str
    state: str
    told: Mapping[str, Any]
    billed: Mapping[str, Any]
    tokens_off: float | None


def list_bills(project: Project) -> list[Bill]:
    """Return estimated and billed usage for each job that used an endpoint, newest first.

    The bill of a job that was stopped early, or that waits for batches, is lower than its estimate.
    """
    all_bills = []
    for job in find_jobs(project, "grading"):
        if not (estimate := job.request.get("told")):
            continue
        billed: dict[str, Any] = {
            "calls": job.calls or 0,
            "input_tokens": job.input_tokens or 0,
            "cached_tokens": job.cached_tokens or 0,
            "output_tokens": job.output_tokens or 0,
            "thinking_tokens": job.thinking_tokens or 0,
            "cost": job.cost if estimate.get("cost") is not None else None,
        }
        before = estimate["input_tokens"] + estimate["output_tokens"]
        taken = billed["input_tokens"] + billed["output_tokens"]
        off = taken / before - 1 if before and taken else None
        all_bills.append(Bill(job.key, job.name, job.state, estimate, billed, off))
    return all_bills


def _usage_text(usage: Mapping[str, Any]) -> str:
    cached = f" ({usage['cached_tokens']:,} cached)" if usage.get("cached_tokens") else ""
    thinking = f" ({usage['thinking_tokens']:,} thinking)" if usage.get("thinking_tokens") else ""
    cost = usage.get("cost")
    money = "" if cost is None else f", cost {cost:,.4f}" if cost < 1 else f", cost {cost:,.2f}"
    return (
        f"{how_many(usage['calls'], 'calls')}, {usage['input_tokens']:,} tokens read{cached} and"
        f" {usage['output_tokens']:,} written{thinking}{money}"
    )


def sampled_price(
    project: Project,
    back_end: BackEnd,
    model: str,
    calls: Sequence[Called],
    fill_prompts: Callable[[Sequence[Called]], Sequence[str]],
    written: int,
    things: int | None = None,
) -> PriceTag:
    """Estimate the cost of a job from the prompts of a sample of its calls, without calling the
    model.

    Args:
        model: as the price table names it.
        calls: the subjects of the calls, such as passages.
        fill_prompts: returns the prompts of some of the calls.
        written: tokens that the model writes in each.
        things: number of answers that the job makes; None for one from each call.
    """
    if not calls:
        return PriceTag(things or 0, 0, 0, 0, 0.0, None, True)
    texts = fill_prompts(random.Random(0).sample(list(calls), min(SAMPLE, len(calls))))
    counts = [back_end.count_tokens(text) for text in texts]
    read = sum(
        len(text) // CHARACTERS_A_TOKEN + 1 if tokens is None else tokens
        for text, tokens in zip(texts, counts, strict=True)
    )
    tokens_in, tokens_out = round(read * len(calls) / max(1, len(texts))), len(calls) * written
    price = model_prices(project).get(model)
    cost = None if price is None else price.cost_of(tokens_in, tokens_out)
    number = len(calls) if things is None else things
    return PriceTag(number, len(calls), tokens_in, tokens_out, cost, None, None not in counts)
