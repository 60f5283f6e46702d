"""How one item is answered: by the likelihood of each choice, by the letter that a model writes, or by a rule."""

from __future__ import annotations

import math
import random
from collections.abc import Generator, Sequence
from dataclasses import replace
from string import ascii_uppercase

import numpy as np

from core.graders import Call, Completion, Prompt, load_encoder, model_folder, read
from core.limits import limit
from core.pipelines.exam_prompts import lettered, values, with_worked
from core.pipelines.students import Ready
from core.pipelines.tasks import Context, Task
from core.project import Answer
from core.sentences import split_sentences

LETTER_TOKENS = 64
"""Room for a sentence before or after the letter."""

Answering = Generator[Call, Completion, Answer]
"""Asks a model, is sent what comes back, and returns the answer; without its text key and context."""

Given = tuple[Task, Context, Sequence[tuple[Task, Context]]]
"""An item, the texts that go with it, and the worked items before it with theirs."""


def answering(ready: Ready, given: Given) -> Answering:
    """How a student with a model answers an item.

    By likelihood it chooses argmax over j of log p(choice j | prompt) / length of choice j (Guinet et al., section
    3.3).

    Args:
        ready: the student.
        given: what it is asked, and reads.
    """
    task, context, worked = given
    prompt = with_worked(ready.prompt, worked)
    return (_by_letter if ready.by == "letter" else _by_likelihood)(ready, prompt, task, context)


def _by_likelihood(ready: Ready, prompt: Prompt, task: Task, context: Context) -> Answering:
    options = lettered(task.choices)
    call = Call(prompt, values(task, context), "likelihood", options=options, per=ready.per)
    completion = yield call
    if completion.error is not None:
        return _failed(completion.error)
    given = completion.distribution or {}
    scores = [given.get(option, math.nan) for option in options]
    if not all(map(math.isfinite, scores)):
        return _noted(_failed("a choice has no likelihood"), completion)
    return _noted(_chosen(task, scores.index(max(scores)), scores), completion)


def _by_letter(ready: Ready, prompt: Prompt, task: Task, context: Context) -> Answering:
    letters = tuple(ascii_uppercase[: len(task.choices)])
    call = Call(prompt, values(task, context), "letter", options=letters, max_tokens=LETTER_TOKENS)
    completion = yield call
    if completion.error is not None:
        return _failed(completion.error)
    parsed = read(call, completion)
    found = _failed(parsed.reason or "no letter") if parsed.rating is None else _chosen(task, parsed.rating)
    # The length of an answer is its sender's choice.
    return _noted(replace(found, raw=completion.text[: limit("ENDPOINT_KEPT")]), completion)


def by_rule(ready: Ready, given: Sequence[Given]) -> list[Answer]:
    """How a student without a language model answers items, in their order.

    Chance depends on the student's seed and the item's words and on nothing else; of the longest choices the first is
    taken. The embedding takes the choice that, put behind the question, is nearest to a sentence of the context; in a
    closed book the choice that is nearest to the question.

    Args:
        ready: the student.
        given: what it is asked, and reads.

    Raises:
        GradingError: the encoder cannot be loaded.
    """
    if ready.by == "embedding":
        return _by_meaning(given)
    if ready.by == "longest":
        return [_chosen(task, _first_longest(task.choices)) for task, _, _ in given]
    seed = ready.student.parameters["seed"]
    return [_chosen(task, random.Random(f"{seed} {task.asked}").randrange(len(task.choices))) for task, _, _ in given]


def _first_longest(choices: Sequence[str]) -> int:
    return max(range(len(choices)), key=lambda at: (len(choices[at]), -at))


def _by_meaning(given: Sequence[Given]) -> list[Answer]:
    """Compare in one go: every different text is encoded once."""
    compared: list[tuple[list[str], list[str]]] = []
    for task, context, _ in given:
        sentences = [text[begin:end] for text in context for begin, end in split_sentences(text)]
        options = [f"{task.text} {choice}" for choice in task.choices] if sentences else list(task.choices)
        compared.append((options, sentences or [task.text]))
    rows = {text: 0 for options, others in compared for text in (*options, *others)}
    rows = {text: row for row, text in enumerate(rows)}
    vectors = load_encoder(model_folder()).encode(list(rows))
    found = []
    for (task, _, _), (options, others) in zip(given, compared, strict=True):
        cosines = vectors[[rows[text] for text in options]] @ vectors[[rows[text] for text in others]].T
        # Rounded, so that batches and their order, which change the last digits, change no answer.
        scores = np.round(cosines.max(axis=1).astype(np.float64), 4).tolist()
        found.append(_chosen(task, scores.index(max(scores)), scores))
    return found


def _chosen(task: Task, position: int, scores: Sequence[float] | None = None) -> Answer:
    return Answer(0, "", position == task.key, chosen=position, scores=None if scores is None else tuple(scores))


def _failed(reason: str) -> Answer:
    return Answer(0, "", None, reason)


def _noted(answer: Answer, completion: Completion) -> Answer:
    """An answer with what should be known of how the model was asked."""
    cut = completion.shortened
    notes = [f"the context was shortened by {cut} token{'s' if cut > 1 else ''}"] if cut else []
    if completion.model is not None:
        notes.append(f"answered by {completion.model}")
    return replace(answer, note="; ".join(notes) or None)
