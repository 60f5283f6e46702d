"""What a grading job would cost, before it is started: calls, tokens, money and time, from a sample of its pairs."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from ..catalogue import find_grader, prices
from ..errors import InputError
from ..graders import (
    Call,
    Completion,
    Grader,
    Pair,
    PairsToGrade,
    Price,
    ReadingGrader,
    Steps,
    Tokens,
    fill,
    in_order,
    is_remote,
)
from ..project import Project
from .pairs import pairs_to_grade, with_texts
from .prefixes import CHARACTERS_A_TOKEN, read_before
from .scope import EVERYTHING, Scope

SAMPLE = 200
STRETCHES, STRETCH = 4, 32
"""So many times so many pairs that follow each other show how much of a prompt was read with the one before it."""
WRITTEN = {"rating": 6, "yes-no": 6, "letter": 6, "span": 0, "likelihood": 0}
"""Tokens of a short answer, by its form."""
WRITTEN_JSON = 10
"""Tokens of one in JSON of a schema, with the line breaks and blanks that models put into it."""
TYPICAL_ANSWER = "about three times as much as in the year before"
WRITTEN_TEXT = 30
"""Tokens of an answer in words, which is one phrase or sentence."""


@dataclass(frozen=True)
class PriceTag:
    """What a job would take.

    Args:
        pairs: that would be asked.
        calls: of the model, without retries.
        input_tokens, output_tokens: that it would read and write.
        cost: in the currency of the price table; None where the model has no price there.
        seconds: by the rate of this grader's earlier jobs; None where there was none.
        counted: whether the model's own tokenizer counted; if not, tokens are estimated from characters.
        thinking_tokens: of those written, the ones that a reasoning model writes for itself: by its earlier jobs, or
            all the room that it has for them where there were none.
        cached_tokens: of those read, the ones that an endpoint need not read anew, by the rule of OpenAI's: a prompt
            begins as the one before it for at least `prefixes.CACHED_FROM` tokens. Where the price table has a price
            for them, the cost counts them at that.
        batch_cost: the cost as batches; None where the model has no price, or nobody makes batches of its calls.
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


def price_tag(project: Project, grader: Grader, version: int, scope: Scope = EVERYTHING) -> PriceTag:
    """Estimate what a job would take.

    A grader that checks answers with a second call is counted as if every answer were checked.

    Args:
        version: bank version whose active questions are asked.
        scope: which of the missing pairs it would ask.

    Raises:
        InputError: there is no such run.
    """
    groups = pairs_to_grade(project, grader.spec, version, scope)
    return tag_of(project, grader, [pair for group in groups for pair in group])


def tag_of(project: Project, grader: Grader, pairs: Sequence[Pair]) -> PriceTag:
    """What it would take to ask about pairs; for the rest see `price_tag`."""
    seconds = time_needed(project, grader, len(pairs))
    if not isinstance(grader, ReadingGrader) or not pairs:
        return PriceTag(len(pairs), 0, 0, 0, 0.0, seconds, True)
    sample = random.Random(0).sample(list(pairs), min(SAMPLE, len(pairs)))
    texts = with_texts(project, grader.spec, sample)
    counted = True
    calls = read = written = 0
    for question, passage in texts.pairs:
        for call in _calls(grader.steps(texts.questions[question], texts.passages[passage])):
            tokens, exact = _tokens(grader, call)
            counted = counted and exact
            calls, read, written = calls + 1, read + tokens, written + _written(grader, call)
    scale = len(pairs) / len(sample)
    thinking = round(calls * scale * _thinking(project, grader))
    cached = round(read * scale * _read_before(project, grader, pairs))
    total = Tokens(round(read * scale), round(written * scale) + thinking, cached, thinking)
    price = prices(project).get(grader.spec.model)
    cost = None if price is None else price.of_tokens(total)
    return PriceTag(
        len(pairs),
        round(calls * scale),
        total.read,
        total.written,
        cost,
        seconds,
        counted,
        thinking,
        total.cached,
        None
        if price is None or cost is None or not is_remote(grader)
        else _in_batches(price, cost, round(calls * scale)),
    )


def _read_before(project: Project, grader: ReadingGrader, pairs: Sequence[Pair]) -> float:
    """The share of what is read that an endpoint had read with the prompt before; 0 where none is asked."""
    if not is_remote(grader):
        return 0.0
    shares: list[float] = []
    for number in range(STRETCHES if len(pairs) > STRETCH else 1):
        begin = number * max(len(pairs) - STRETCH, 0) // max(STRETCHES - 1, 1)
        stretch = in_order(grader, pairs[begin : begin + STRETCH])
        texts = with_texts(project, grader.spec, stretch)
        prompts = [first_prompt(grader, texts, pair) for pair in stretch]
        shares.append(read_before(prompts))
    return sum(shares) / len(shares)


def first_prompt(grader: ReadingGrader, texts: PairsToGrade, pair: Pair) -> str:
    """What a model reads at the first call of a pair, as one text; empty where it is not asked."""
    question, passage = pair
    calls = _calls(grader.steps(texts.questions[question], texts.passages[passage]))
    return fill(calls[0].prompt, calls[0].values, calls[0].fence).joined() if calls else ""


def _in_batches(price: Price, cost: float, calls: int) -> float:
    """What calls cost in batches, of which the first goes alone."""
    return cost * (price.batch + (1 - price.batch) / max(calls, 1))


def _thinking(project: Project, grader: ReadingGrader) -> float:
    """Tokens of a call that are thinking: as in this grader's earlier jobs, else all the room there is for them."""
    room: int = getattr(grader.back_end, "thinking_tokens", 0)
    if not room:
        return 0.0
    known = project.value(
        "SELECT sum(thinking_tokens) / sum(calls) FROM jobs JOIN graders ON subject_key = grader_key"
        " WHERE fingerprint = ? AND thinking_tokens IS NOT NULL HAVING sum(calls) >= 20",
        [grader.spec.fingerprint],
    )
    return float(room if known is None else known)


def _calls(steps: Steps) -> list[Call]:
    """The calls that a pair takes when the model answers as models do."""
    calls: list[Call] = []
    try:
        calls.append(next(steps))
        while len(calls) < 2:
            calls.append(steps.send(Completion(TYPICAL_ANSWER)))
    except StopIteration:
        pass
    finally:
        steps.close()
    return calls


def _written(grader: ReadingGrader, call: Call) -> int:
    """Tokens of the answer to a call."""
    in_json = call.form in ("rating", "yes-no", "letter") and getattr(grader.back_end, "dialect", {}).get("structured")
    return WRITTEN_JSON if in_json else WRITTEN.get(call.form, WRITTEN_TEXT)


def _tokens(grader: ReadingGrader, call: Call) -> tuple[int, bool]:
    text = call.values["context"] if call.form == "span" else fill(call.prompt, call.values, call.fence).joined()
    counted = grader.back_end.count_tokens(text)
    return (len(text) // CHARACTERS_A_TOKEN + 1, False) if counted is None else (counted, True)


def time_needed(project: Project, grader: Grader, pairs: int) -> float | None:
    """Seconds that pairs would take by the rate of this grader's earlier jobs; None where there was none."""
    try:
        key = find_grader(project, grader.spec.fingerprint).key
    except InputError:
        return None
    rate = project.value(
        "SELECT sum(done + failed) / sum(epoch(ended_at - started_at)) FROM jobs WHERE subject_key = ?"
        # What waited for batches says nothing of how fast calls are.
        " AND state <> 'imported' AND json_extract(request, '$.batch') IS NULL AND ended_at > started_at"
        " HAVING sum(done + failed) >= 20",
        [key],
    )
    return pairs / rate if rate else None
