"""How one item is answered: by the likelihood of each choice, by the letter that a model writes, or by a rule."""

from __future__ import annotations

import math
import random
from collections.abc import Generator, Sequence
from dataclasses import replace
from string import ascii_uppercase

import numpy as np

from ..graders import Call, Completion, Prompt, VectorStore, read, sentence_vectors, unit_vectors
from ..limits import limit
from ..project import Answer
from ..sentences import split_sentences
from ..text import normalise
from .items import Context, Task
from .students import Ready, lettered, values, with_worked

LETTER_TOKENS = 64
"""Room for a sentence before or after the letter."""

Answering = Generator[Call, Completion, Answer]
"""Yields calls for a model, is sent the completions, and returns the answer without its text key and context."""

Given = tuple[Task, Context, Sequence[tuple[Task, Context]]]
"""An item, its texts, and the worked items before it with theirs."""


def answering(ready: Ready, given: Given) -> Answering:
    """Answer an item by an examinee with a model.

    By likelihood it chooses argmax over j of log p(choice j | prompt) / length of choice j (Guinet et al., section
    3.3).

    Args:
        ready: the examinee.
        given: the item, its texts and the worked items.
    """
    task, context, worked = given
    prompt = with_worked(ready.prompt, worked)
    return (_by_letter if ready.by == "letter" else _by_likelihood)(ready, prompt, task, context)


def _by_likelihood(ready: Ready, prompt: Prompt, task: Task, context: Context) -> Answering:
    options = lettered(task.choices)
    completion = yield Call(prompt, values(task, context), "likelihood", options=options, per=ready.per)
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
    # A reply may have any length, so only its beginning is stored.
    return _noted(replace(found, raw=completion.text[: limit("ENDPOINT_KEPT")]), completion)


def by_rule(ready: Ready, given: Sequence[Given], store: VectorStore | None = None) -> list[Answer]:
    """Return the answers of an examinee without a language model, in the order of the items.

    Chance depends only on the examinee's seed and the item's words. The first of equally good choices is taken. Shared
    words and the embedding append each choice to the question and take the one that agrees best with a sentence of the
    context. In a closed book they take the choice that agrees best with the question. The agreement of words is the
    share of them that the sentence also has (as `text.normalise` makes them). The agreement of meanings is the cosine
    of their vectors.

    Args:
        ready: the examinee.
        given: the items, their texts and worked items.
        store: where the vectors of texts are kept.

    Raises:
        GradingError: the encoder cannot be loaded.
    """
    if ready.by == "embedding":
        return _by_meaning(given, store)
    if ready.by == "overlap":
        return [_by_words(task, context) for task, context, _ in given]
    if ready.by == "longest":
        return [_chosen(task, _first_longest(task.choices)) for task, _, _ in given]
    seed = ready.student.parameters["seed"]
    return [_chosen(task, random.Random(f"{seed} {task.asked}").randrange(len(task.choices))) for task, _, _ in given]


def _first_longest(choices: Sequence[str]) -> int:
    return max(range(len(choices)), key=lambda at: (len(choices[at]), -at))


def _options(task: Task, context: Context) -> list[str]:
    """Return the text to compare for each choice: appended to the question if there is a context."""
    return [f"{task.text} {choice}" for choice in task.choices] if any(map(str.strip, context)) else list(task.choices)


def _by_words(task: Task, context: Context) -> Answer:
    sentences = [text[begin:end] for text in context for begin, end in split_sentences(text)]
    known = [set(normalise(text).split()) for text in sentences or [task.text]]
    scores = []
    for words in (set(normalise(option).split()) for option in _options(task, context)):
        scores.append(max(len(words & other) for other in known) / len(words) if words else 0.0)
    return _chosen(task, scores.index(max(scores)), scores)


def _by_meaning(given: Sequence[Given], store: VectorStore | None) -> list[Answer]:
    """Answer all items together, so that every distinct text is encoded once."""
    texts = {text: 0 for task, context, _ in given for text in (task.text, *_options(task, context))}
    texts = {text: row for row, text in enumerate(texts)}
    vectors = unit_vectors(list(texts), store)
    passages = list(dict.fromkeys(text for _, context, _ in given for text in context))
    sentences = dict(zip(passages, sentence_vectors(passages, store), strict=True))
    found = []
    for task, context, _ in given:
        options = vectors[[texts[option] for option in _options(task, context)]]
        read = [sentences[text] for text in context if len(sentences[text])]
        others = np.concatenate(read) if read else vectors[[texts[task.text]]]
        # Rounded because batches and their order change the last digits, which must not change answers.
        scores = np.round((options @ others.T).max(axis=1).astype(np.float64), 4).tolist()
        found.append(_chosen(task, scores.index(max(scores)), scores))
    return found


def _chosen(task: Task, position: int, scores: Sequence[float] | None = None) -> Answer:
    return Answer(0, "", position == task.key, chosen=position, scores=None if scores is None else tuple(scores))


def _failed(reason: str) -> Answer:
    return Answer(0, "", None, reason)


def _noted(answer: Answer, completion: Completion) -> Answer:
    """Return an answer with notes on shortened contexts and on the model that replied."""
    cut = completion.shortened
    notes = [f"the context was shortened by {cut} token{'s' if cut > 1 else ''}"] if cut else []
    if completion.model is not None:
        notes.append(f"answered by {completion.model}")
    return replace(answer, note="; ".join(notes) or None)
