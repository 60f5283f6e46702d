"""What a grading job would cost, before it is started: calls, tokens, money and time, from a sample of its pairs."""

from __future__ import annotations

import random
from dataclasses import dataclass

from core.catalogue import find_grader, prices
from core.errors import InputError
from core.graders import Call, Completion, Grader, ReadingGrader, Steps, fill
from core.grading.pairs import pairs_to_grade, with_texts
from core.grading.scope import EVERYTHING, Scope
from core.project import Project

SAMPLE = 200
CHARACTERS_A_TOKEN = 4
"""For a model whose tokenizer is not at hand; about right for English."""
WRITTEN = {"rating": 6, "yes-no": 6, "letter": 6, "span": 0, "likelihood": 0}
"""Tokens of a short answer, by its form, JSON around it included."""
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
    """

    pairs: int
    calls: int
    input_tokens: int
    output_tokens: int
    cost: float | None
    seconds: float | None
    counted: bool


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
    pairs = [pair for group in groups for pair in group]
    seconds = time_needed(project, grader, len(pairs))
    if not isinstance(grader, ReadingGrader) or not pairs:
        return PriceTag(len(pairs), 0, 0, 0, 0.0, seconds, True)
    sample = random.Random(0).sample(pairs, min(SAMPLE, len(pairs)))
    texts = with_texts(project, grader.spec, sample)
    counted = True
    calls = read = written = 0
    for question, passage in texts.pairs:
        for call in _calls(grader.steps(texts.questions[question], texts.passages[passage])):
            tokens, exact = _tokens(grader, call)
            counted = counted and exact
            calls, read, written = calls + 1, read + tokens, written + WRITTEN.get(call.form, WRITTEN_TEXT)
    scale = len(pairs) / len(sample)
    price = prices(project).get(grader.spec.model)
    return PriceTag(
        len(pairs),
        round(calls * scale),
        round(read * scale),
        round(written * scale),
        None if price is None else price.of(round(read * scale), round(written * scale)),
        seconds,
        counted,
    )


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
        "SELECT sum(graded + failed) / sum(epoch(ended_at - started_at)) FROM jobs WHERE grader_key = ?"
        " AND state <> 'imported' AND ended_at > started_at HAVING sum(graded + failed) >= 20",
        [key],
    )
    return pairs / rate if rate else None
